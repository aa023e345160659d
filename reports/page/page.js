// The page as a whole: what is chosen, and everything drawn from that and the data.

const state = { run: 0, axis: "time", rows: "all", round: new Map() };
let data = null, fall = null;

function verdict(run, short) {
  if (run.headline.failure) return el("span", { class: "verdict failed" }, "failed");
  const found = run.fidelity.verdict;
  return el("span", { class: `verdict ${found || "open"}` }, `${short ? "" : "fidelity: "}${found || "not known"}`);
}

function figures(run) {
  const { headline, curve } = run, scored = curve.filter((row) => row[2] !== null);
  const best = Math.max(...scored.map((row) => row[2])), rounds = Math.max(0, curve.length - 1);
  const figure = (name, value, more) => el("div", null, el("dt", null, name), el("dd", null, value, el("small", null, more)));
  const target = headline.target_accuracy;
  return el("dl", { class: "figures" },
    figure("accuracy", scored.length ? percent(scored.at(-1)[2]) : "not known", scored.length ? `best ${percent(best)}` : ""),
    figure("elapsed time", rounds ? duration(run.elapsed) : "no round finished",
      headline.stopped_at_target ? `${plural(rounds, "round")}, stopped at the target`
        : run.planned_rounds && rounds < run.planned_rounds ? `${rounds} of ${plural(run.planned_rounds, "round")}` : plural(rounds, "round")),
    target ? figure(`time to ${percent(target, 0)}`, headline.time_to_target_seconds === null ? "not reached" : duration(headline.time_to_target_seconds),
      headline.rounds_to_target === null ? "" : `in round ${headline.rounds_to_target}`) : null,
    headline.bytes_on_wire ? figure("on the wire", size(headline.bytes_on_wire),
      `${percent(headline.wire_overhead || 0)} over the models; ${plural(headline.drops || 0, "packet")} dropped`) : null);
}

function headlineSection(run) {
  const { headline } = run;
  const how = [headline.protocol, headline.clock && `${headline.clock} clock`, headline.backend, headline.seed !== null && `seed ${headline.seed}`];
  return el("section", { id: "result", style: { marginTop: 0 }, "aria-label": "Result" },
    data.runs.length === 1 ? el("h1", null, run.label) : el("h2", { style: { marginTop: "2rem" } }, run.label),
    el("p", { class: "quiet" }, how.filter(Boolean).join(", ")),
    verdict(run),
    headline.failure ? el("p", { class: "alarm" }, headline.failure) : null,
    !headline.failure && run.fidelity.reason ? el("p", { class: "alarm" }, run.fidelity.reason) : null,
    figures(run),
    run.bottleneck.sentence ? [el("p", { class: "lede", id: "sentence" }, run.bottleneck.sentence), shareBar(run.bottleneck.by_phase)] : null);
}

function runsSection() {
  if (data.runs.length < 2) return null;
  const rows = data.runs.map((run, at) => {
    const scored = run.curve.filter((row) => row[2] !== null), { headline } = run;
    const name = el("button", { type: "button", "aria-pressed": String(at === state.run), onclick: () => choose({ run: at }) }, run.label);
    return { attributes: at === state.run ? { "aria-current": "true" } : null, cells: [
      el("span", { style: { display: "inline-flex", alignItems: "center", gap: ".5rem" } }, swatch(lineColour(at)), name),
      scored.length ? percent(scored.at(-1)[2]) : "not known", duration(run.elapsed),
      headline.time_to_target_seconds === null || headline.time_to_target_seconds === undefined ? "not reached" : duration(headline.time_to_target_seconds),
      verdict(run, true), run.bottleneck.sentence || ""] };
  });
  return el("section", { id: "runs", style: { marginTop: 0 }, "aria-label": "Runs" }, el("h1", null, plural(data.runs.length, "run")),
    el("div", { class: "table" }, table([["run", "name"], ["accuracy", "number"], ["elapsed", "number"], ["to target", "number"], ["fidelity", ""], ["bottleneck", "name"]], rows, "Runs")));
}

function accuracySection(run) {
  return section("accuracy", "Accuracy", null,
    el("div", { class: "controls" }, choice("axis", "Accuracy against", [["time", "elapsed time"], ["rounds", "rounds"]], state.axis,
      (axis) => { state.axis = axis; replaceChart(run); })),
    el("div", { id: "accuracy-place" }, accuracyChart(data.runs, run, state.axis)));
}

function replaceChart(run) {
  document.getElementById("accuracy-place").replaceChildren(...[accuracyChart(data.runs, run, state.axis)].flat());
}

function chosenRound(run) {
  const rounds = run.waterfall.rounds;
  const wanted = state.round.get(run.directory);
  const at = rounds.findIndex((round) => round[0] === wanted);
  return at >= 0 ? at : wanted === undefined ? Math.min(1, rounds.length - 1) : nearest(rounds, wanted);
}

const nearest = (rounds, number) => rounds.reduce((best, round, at) =>
  Math.abs(round[0] - number) < Math.abs(rounds[best][0] - number) ? at : best, 0);

function roundSection(run) {
  const { rounds, of } = run.waterfall;
  if (!rounds.length) return null;
  const button = (id, words, name, act) => el("button", { type: "button", id, "aria-label": name, title: name, onclick: act }, words);
  const step = (by) => pickRound(run, rounds[Math.min(rounds.length - 1, Math.max(0, chosenRound(run) + by))][0]);
  fall = new Waterfall(run, { onLook: (view) => {
    view.frame.dataset.from = Math.round(view.from);
    view.frame.dataset.to = Math.round(view.to);
    document.getElementById("zoom-out")?.toggleAttribute("disabled", !view.zoomed);
    document.getElementById("zoom-all")?.toggleAttribute("disabled", !view.zoomed);
  } });
  const left = of > rounds.length ? ` The page holds ${rounds.length} of the ${of} rounds.` : "";
  return section("round", "One round", `Every node's phases; what is blank was waiting. The dark line below bars is the critical path.${left}`,
    el("div", { class: "controls" },
      el("span", { class: "pair" }, button("round-before", "‹", "The round before", () => step(-1)), button("round-after", "›", "The round after", () => step(1))),
      el("input", { type: "range", id: "round-picker", min: 0, max: rounds.length - 1, step: 1, "aria-label": "Round",
        disabled: rounds.length < 2, oninput: (event) => pickRound(run, rounds[Number(event.target.value)][0]) }),
      el("output", { id: "round-words", for: "round-picker" })),
    el("div", { class: "controls" },
      el("span", { class: "pair" }, button("zoom-in", "+", "Zoom in", () => fall.zoom(2)), button("zoom-out", "−", "Zoom out", () => fall.zoom(0.5)),
        button("zoom-all", "whole round", "Show the whole round", () => fall.whole())),
      choice("rows", "Nodes", [["all", "all nodes"], ["path", "critical path"]], state.rows, (rows) => { state.rows = rows; drawRound(run); }),
      el("ul", { class: "key", style: { margin: 0 } }, ["download", "compute", "upload", "aggregate"].map((phase) => el("li", null, swatch(`var(--${phase})`), PHASE_WORDS[phase])))),
    fall.frame,
    el("h3", { style: { marginTop: "1rem" } }, "What set its length"), el("div", { id: "path-place" }));
}

function pickRound(run, number) {
  state.round.set(run.directory, number);
  drawRound(run);
  const old = document.getElementById("time");
  if (old) old.replaceWith(timeSection(run, number, (other) => pickRound(run, other)));
}

function drawRound(run) {
  const at = chosenRound(run), round = run.waterfall.rounds[at];
  if (!round) return;
  fall.show(round, state.rows === "path");
  fall.frame.dataset.round = round[0];
  fall.frame.dataset.rows = fall.rows.length;
  const words = round[2] === null ? "not finished" : duration(round[2] / 1e6);
  document.getElementById("round-words").textContent = `Round ${round[0]}: ${words}`;
  const picker = document.getElementById("round-picker");
  picker.value = at;
  picker.setAttribute("aria-valuetext", `round ${round[0]}, ${words}`);
  document.getElementById("round-before").disabled = at === 0;
  document.getElementById("round-after").disabled = at === run.waterfall.rounds.length - 1;
  document.getElementById("path-place").replaceChildren(pathList(run, round));
}

// What drawing needs besides: names, the order of rows (everybody below their server), depths.
function prepare(run) {
  const nodes = run.network ? run.network.nodes : [];
  run.names = nodes.map((node) => node[0]);
  run.depth = nodes.map(() => 0);
  run.order = [];
  run.repaint = [];
  const below = new Map();
  nodes.forEach((node, at) => { const above = node[2].length ? node[2][0] : -1; below.set(above, [...(below.get(above) || []), at]); });
  const visit = (at, depth) => { run.order.push(at); run.depth[at] = depth; for (const child of below.get(at) || []) visit(child, depth + 1); };
  for (const top of below.get(-1) || []) visit(top, 0);
}

function choose(change) {
  Object.assign(state, change);
  draw();
}

function draw() {
  const refused = (data.refused || []).map((words) => el("p", { class: "alarm refused" }, words));
  if (!data.runs.length) return main.replaceChildren(...refused, el("p", { id: "nothing" }, "No run has begun yet."));
  const focused = document.activeElement?.id;
  state.room = room();
  const run = data.runs[Math.min(state.run, data.runs.length - 1)];
  const round = run.waterfall.rounds.length ? run.waterfall.rounds[chosenRound(run)][0] : null;
  const sections = [runsSection(), headlineSection(run), accuracySection(run),
    timeSection(run, round, (other) => pickRound(run, other)), roundSection(run), networkSection(run), dataSection(run),
    decisionsSection(run), timelineSection(run), fidelitySection(run), scenarioSection(run)].filter(Boolean);
  main.replaceChildren(...refused, ...sections);
  document.getElementById("contents").replaceChildren(...sections.filter((one) => one.querySelector(":scope > h2[id]"))
    .map((one) => el("a", { href: `#${one.id}` }, one.querySelector("h2").textContent)));
  drawRound(run);
  for (const paint of run.repaint) paint();
  if (focused) document.getElementById(focused)?.focus();
}

// Draws the page, or draws it anew with fresher data; what was chosen stays chosen, and in sight.
function show(fresh) {
  const chosen = data?.runs[state.run]?.directory, seen = { top: scrollY, fall };
  data = fresh;
  data.runs.forEach(prepare);
  state.run = Math.max(0, data.runs.findIndex((run) => run.directory === chosen));
  draw();
  if (chosen === undefined) return;
  if (fall !== seen.fall && seen.fall?.run.directory === fall.run.directory) fall.lookLike(seen.fall);
  scrollTo({ top: seen.top, behavior: "instant" });
}

let drawnAt = 0;

addEventListener("resize", () => {
  clearTimeout(drawnAt);
  drawnAt = setTimeout(() => { if (room() !== state.room) draw(); }, 120);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
show(JSON.parse(document.getElementById("records").textContent));
window.metronome = { show };
