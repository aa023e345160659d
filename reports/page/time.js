// Where the time went: by phase and round, by place, what would help, who was waited for.

function shareBar(shares) {
  const entries = Object.entries(shares).filter(([, share]) => share > 0.0005);
  return [
    el("div", { class: "bar", role: "img", "aria-label": "Shares of the elapsed time by phase" },
      entries.map(([phase, share]) => el("span", { style: { flexGrow: String(share), background: `var(--${phase})` } }))),
    el("ul", { class: "key" }, entries.map(([phase, share]) =>
      el("li", null, swatch(`var(--${phase})`), PHASE_WORDS[phase] || phase, el("b", null, percent(share, share < 0.1 ? 1 : 0))))),
  ];
}

// A column for each round, its phases on the critical path stacked; a click picks the round.
function roundsChart(run, chosen, pick) {
  const { phases, rounds } = run.spent;
  if (!rounds.length) return null;
  const width = room(), height = 200, left = 46, bottom = height - 24, top = 8;
  const [unit, name] = timeUnit(Math.max(...rounds.map((row) => sum(row.slice(1)))) / 1e6);
  const longest = Math.max(...rounds.map((row) => sum(row.slice(1)))) / 1e6 / unit;
  const y = (value) => bottom - (value / longest) * (bottom - top);
  const step = (width - left - 8) / rounds.length, gap = step > 6 ? Math.min(3, step / 5) : 0;
  const parts = ticks(0, longest, 4).flatMap((at) => [
    svg("line", { class: "gridline", x1: left, x2: width - 8, y1: y(at), y2: y(at) }),
    svg("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, String(at))]);
  parts.push(svg("text", { x: left - 8, y: bottom + 18, "text-anchor": "end" }, name));
  rounds.forEach(([number, ...spent], at) => {
    let reached = 0;
    const x = left + at * step + gap / 2;
    const wide = Math.min(step - gap, 64), shift = (step - gap - wide) / 2;
    const bars = phases.map((phase, which) => {
      const from = reached;
      reached += spent[which] / 1e6 / unit;
      return svg("rect", { x: x + shift, width: wide, y: y(reached), height: y(from) - y(reached), fill: `var(--${phase})` });
    });
    const words = `round ${number}: ${duration(sum(spent) / 1e6)}\n` + phases.filter((_, i) => spent[i])
      .map((phase) => `${PHASE_WORDS[phase]} ${duration(spent[phases.indexOf(phase)] / 1e6)}`).join("\n");
    parts.push(svg("g", { class: "pick", onclick: () => pick(number), onpointermove: (e) => showTip(words, e), onpointerleave: hideTip },
      bars, svg("rect", { x: x - gap / 2, width: step, y: top, height: bottom - top, fill: "transparent" }),
      number === chosen ? svg("rect", { class: "chosen", x: x + shift - 1, width: wide + 2, y: y(reached) - 1, height: bottom - y(reached) + 2 }) : null));
  });
  for (const at of ticks(rounds[0][0], rounds.at(-1)[0], Math.max(3, width / 90), true)) {
    const place = rounds.findIndex((row) => row[0] === at);
    if (place >= 0) parts.push(svg("text", { x: left + (place + 0.5) * step, y: bottom + 18, "text-anchor": "middle" }, String(at)));
  }
  return el("div", { class: "chart" },
    svg("svg", { width, height, role: "img", "aria-label": "Time of every round by phase" }, parts));
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const TIER_WORDS = { client: "clients' devices", edge: "edge servers' devices", cloud: "cloud's device" };

function placeRows(shares, words, paint, most) {
  return Object.entries(shares).filter(([, share]) => share >= 0.0005).slice(0, most).map(([key, share]) =>
    [words(key), percent(share), meter(share, paint)]);
}

function places(run) {
  const found = run.bottleneck;
  const columns = (name) => [[name, "name"], ["of the time", "number"], ["", "meters"]];
  const links = Object.fromEntries(Object.entries(found.by_link).flatMap(([link, ways]) =>
    Object.entries(ways).map(([way, share]) => [`${link}, ${way}`, share])).sort((a, b) => b[1] - a[1]));
  const some = (title, shares, words) => {
    const rows = placeRows(shares, words, "var(--c0)", room() < 600 ? 4 : 8);
    return rows.length ? el("div", { class: "table" }, el("h3", null, `By ${title}`), table(columns(title), rows, `Time by ${title}`)) : null;
  };
  return el("div", { class: "columns" },
    some("tier", found.by_tier, (tier) => TIER_WORDS[tier] || `${tier} links`),
    some("link", links, (name) => name), some("node", found.by_node, (name) => name));
}

function wayOf(factors) {
  if (factors.rate_up && factors.rate_down) return "links, both ways";
  if (factors.rate_up) return "links, up";
  if (factors.rate_down) return "links, down";
  return factors.delay ? "links" : "devices";
}

function whatIf(run) {
  const tried = run.bottleneck.what_if.filter((what) => what.saving >= 0.005).slice(0, 6);
  if (!tried.length) return null;
  return el("div", { class: "table" }, el("h3", null, "What would help"),
    table([["change", "name"], ["run would take", "number"], ["less", "number"], ["", "meters"]],
      tried.map((what) => [
        `${what.place} ${wayOf(what.factors)}: ${what.words.replace(" both ways", "")}`,
        duration(what.elapsed_seconds), `${what.rough ? "about " : ""}${percent(what.saving, 0)}`,
        meter(what.saving, "var(--c2)")]), "What would help"));
}

function lateNodes(run) {
  const late = run.bottleneck.stragglers.filter((one) => one.others_waited_seconds > 0).slice(0, 8);
  if (!late.length) return null;
  return el("div", { class: "table" }, el("h3", null, "Who was waited for"),
    table([["node", "name"], ["came last", "number"], ["and set the round", "number"], ["others waited", "number"]],
      late.map((one) => [[one.node, one.link, one.device].filter(Boolean).join(", "), `${one.last} of ${one.rounds}`, String(one.on_critical_path),
        duration(one.others_waited_seconds)]), "Stragglers"));
}

function timeSection(run, chosen, pick) {
  if (!run.bottleneck.by_phase) return null;
  return section("time", "Where the time went",
    "Every round is as long as its slowest chain of phases, the critical path. Pick a round by its column.",
    roundsChart(run, chosen, pick), el("div", { class: "columns" }, whatIf(run), lateNodes(run)), places(run));
}
