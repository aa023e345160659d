// The quieter sections: data, decisions, timeline, fidelity, the scenario.

// A square for each client and class, the stronger its colour the more samples there are.
function dataSection(run) {
  const data = run.data;
  if (!data) return null;
  const most = Math.max(1, ...data.counts.flat());
  const canvas = el("canvas", { class: "heat", role: "img", "aria-label": "Samples of each class at each client" });
  const wide = data.clients.length, tall = data.classes.length;
  const cell = Math.max(3, Math.min(22, Math.floor(960 / wide)));
  const left = 34, bottom = 22;
  canvas.width = left + wide * cell;
  canvas.height = tall * cell + bottom;
  run.repaint.push(() => {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = colour("soft");
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    data.classes.forEach((name, row) => { if (cell > 9 || row % 10 === 0) pen.fillText(name, 0, (row + 0.5) * cell, left - 6); });
    pen.fillText(`${wide} clients, ${data.clients[0]} to ${data.clients.at(-1)}`, left, tall * cell + 12);
    data.counts.forEach((own, column) => own.forEach((count, row) => {
      pen.globalAlpha = 1;
      pen.fillStyle = colour("grid");
      pen.fillRect(left + column * cell, row * cell, cell - 1, cell - 1);
      pen.globalAlpha = Math.sqrt(count / most);
      pen.fillStyle = colour("c0");
      pen.fillRect(left + column * cell, row * cell, cell - 1, cell - 1);
    }));
    pen.globalAlpha = 1;
  });
  canvas.addEventListener("pointermove", (event) => {
    const frame = canvas.getBoundingClientRect(), scale = canvas.width / frame.width;
    const column = Math.floor(((event.clientX - frame.left) * scale - left) / cell);
    const row = Math.floor(((event.clientY - frame.top) * scale) / cell);
    const count = (data.counts[column] || [])[row];
    if (count === undefined) return hideTip();
    showTip(`${data.clients[column]}: ${plural(count, "sample")} of class ${data.classes[row]}`, event);
  });
  canvas.addEventListener("pointerleave", hideTip);
  return section("data", "The data", "A column for each client, a row for each class; the stronger its colour, the more samples.", canvas);
}

function decisionsSection(run) {
  if (!run.decisions.length) return null;
  return section("decisions", "What the method decided", null, el("div", { class: "columns" }, run.decisions.map((found) => {
    const children = Object.entries(found.children);
    const series = children.map(([child, points], at) => ({
      label: child, paint: lineColour(at),
      points: points.map(([round, value]) => [round, value, `round ${round}: ${trim(value, 4)}`]),
    }));
    const highest = Math.max(...series.flatMap((one) => one.points.map((point) => point[1])), 0) || 1;
    const title = run.decisions.some((other) => other.server !== found.server) ? `${found.words} (${found.server})` : found.words;
    return el("div", null, el("h3", null, title),
      lineChart({ series, whole: true, y: [0, highest * 1.08], yWords: (value) => String(value), label: "global rounds", height: 260, width: room(320), words: title }),
      children.length <= 10 ? legend(series) : null);
  })));
}

function timelineSection(run) {
  const { rows, of } = run.timeline;
  if (!rows.length) return null;
  const more = of > rows.length ? ` The first ${rows.length} of ${of}.` : "";
  return section("timeline", "What happened", `${plural(of, "event")} on the way.${more}`,
    el("div", { class: "tall", tabindex: "0", role: "region", "aria-label": "Events" },
      table([["at", "number"], ["what", ""], ["who", "name"], ["", "name"]],
        rows.map(([start, , kind, who, words]) => [duration(start), kind, who, words]), "Events")));
}

function fidelitySection(run) {
  const found = run.fidelity;
  if (!found.links.length) return null;
  const words = {
    exact: "Every link within 2 % of its rate and 0.1 ms of its round trip, no computing overrun: trust the times.",
    good: "Every link within 5 % of its rate and 2 ms (or 10 %) of its round trip, overruns at most 2 % of computing.",
    distorted: "Do not trust the times.",
  };
  const ratio = (probe) => probe.rate_error === null ? "no limit" : percent(probe.rate_error, 2) + (erratic(probe) ? " *" : "");
  return section("fidelity", "How far to trust it", null,
    el("p", null, verdict(run), ` ${found.reason || words[found.verdict] || ""}`),
    el("div", { class: "table" }, table(
      [["link measured", "name"], ["profile", ""], ["rate up", "number"], ["measured", "number"], ["rate down", "number"], ["measured", "number"], ["off by", "number"], ["round trip", "number"], ["measured", "number"]],
      found.links.map((p) => [p.link, p.profile || p.tier, rate(p.rate_up_asked), rate(p.rate_up_measured), rate(p.rate_down_asked),
        rate(p.rate_down_measured), ratio(p), duration(p.round_trip_asked), duration(p.round_trip_measured)]), "Links as measured before training")),
    el("p", { class: "quiet", style: { marginTop: ".75rem" } }, overrunWords(run),
      found.links.some(erratic) ? " * With jitter or loss a link is not judged by its rate: what TCP reaches over it is what the run is there to find out." : ""));
}

const erratic = (probe) => probe.jitter > 0 || probe.loss > 0;

function overrunWords(run) {
  const late = run.headline.overruns;
  if (!late || late.share === null) return "";
  return late.nodes ? `${plural(late.nodes, "node")} computed longer than modelled: ${duration(late.seconds)} in all, ${percent(late.share)} of all computing.`
    : "No node computed longer than modelled.";
}

function scenarioSection(run) {
  const command = el("pre", { id: "command", tabindex: "0" }, run.command);
  const copy = (text) => (event) => {
    const button = event.currentTarget, done = () => { button.textContent = "Copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => getSelection().selectAllChildren(command));
    else getSelection().selectAllChildren(command);
  };
  return section("scenario", "Run it again", "The scenario below is complete: same scenario, same seed, same result.",
    el("div", { class: "command" }, command, el("button", { type: "button", style: { marginTop: ".5rem" }, onclick: copy(run.command) }, "Copy")),
    el("details", null, el("summary", null, "The scenario, with every default"), el("pre", { tabindex: "0" }, run.scenario || "not kept")),
    el("details", { id: "provenance" }, el("summary", null, "What made this run"), provenanceTable(run.provenance)));
}

// The program and the machine behind a run: what can differ between runs of one scenario and seed.
function provenanceTable(made) {
  const changed = { true: ", with uncommitted changes", false: "" }[made.changed] ?? "";
  const rows = [["version", made.version], ["commit", made.commit + changed], ["kernel", made.kernel], ["engine", made.engine],
    ["torch", made.torch], ["processor", made.processor], ["Python", made.python], ["schema of the records", String(made.schema)],
    ...made.plugins.map(one => [`plug-in ${one.name}`, `${one.path}, ${one.digest.slice(0, 12)}`])];
  return el("div", { class: "table" }, table([["what", "name"], ["value", "name"]], rows, "What made this run"));
}
