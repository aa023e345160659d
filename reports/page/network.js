// The topology as rings: the cloud in the middle, edge servers around it, clients outside.

function layout(network) {
  const nodes = network.nodes, spots = new Array(nodes.length);
  const byRole = (role) => nodes.map((_, at) => at).filter((at) => nodes[at][1] === role);
  const edges = byRole("edge"), clients = byRole("client");
  const count = new Map(edges.map((at) => [at, 1]));
  for (const at of clients) for (const server of nodes[at][2].slice(0, 1)) count.set(server, (count.get(server) || 0) + 1);
  const total = edges.reduce((all, at) => all + count.get(at), 0);
  let passed = 0;
  const angle = new Map();
  for (const at of edges) {
    angle.set(at, ((passed + count.get(at) / 2) / total) * 2 * Math.PI - Math.PI / 2);
    passed += count.get(at);
  }
  const mean = (at) => {
    const around = nodes[at][2].map((server) => angle.get(server) || 0);
    const turn = Math.atan2(sum(around.map(Math.sin)), sum(around.map(Math.cos)));
    return (turn + Math.PI / 2 + 2 * Math.PI) % (2 * Math.PI); // from the top on, as edges are
  };
  const inner = edges.length ? 105 : 0;
  for (const at of byRole("cloud")) spots[at] = [0, 0];
  for (const at of edges) spots[at] = [inner * Math.cos(angle.get(at)), inner * Math.sin(angle.get(at))];
  const order = edges.length ? [...clients].sort((a, b) => mean(a) - mean(b) || a - b) : clients;
  order.forEach((at, place) => {
    const turn = ((place + 0.5) / order.length) * 2 * Math.PI - Math.PI / 2;
    spots[at] = [185 * Math.cos(turn), 185 * Math.sin(turn)];
  });
  return spots.map((spot) => spot || [0, 0]);
}

const SHAPES = { cloud: 13, edge: 9, client: 5 };

function utilisation(link, seconds) {
  const used = (bytes, shape) => shape && shape[0] && seconds ? (bytes * 8) / (shape[0] * seconds) : 0;
  // Background flows use a link as well; they are not in the bytes of the training.
  const [besideUp, besideDown] = [link[11] || 0, link[12] || 0];
  return [used(link[7] + besideUp, link[5]), used(link[8] + besideDown, link[6])];
}

const heat = (share) => `color-mix(in srgb, var(--hot) ${Math.round(100 * Math.min(1, share))}%, var(--cold))`;

function linkWords(link, seconds) {
  const [up, down] = utilisation(link, seconds);
  const way = (words, bytes, share, shape) =>
    `${words} ${size(bytes)}, ${percent(share)} of ${shape ? rate(shape[0]) : "no limit"}`;
  const delay = link[5] ? `, ${duration(link[5][1])} each way` : "";
  return `${link[0]} (${link[4] || link[3]}${delay})\n${way("up", link[7], up, link[5])}\n${way("down", link[8], down, link[6])}`;
}

function drawing(network) {
  const spots = layout(network), { nodes, links, seconds } = network;
  const many = nodes.length > 60;
  const lines = links.filter((link) => link[2] >= 0).map((link) => {
    const [a, b] = [spots[link[1]], spots[link[2]]], share = Math.max(...utilisation(link, seconds));
    const ends = { x1: a[0], y1: a[1], x2: b[0], y2: b[1] };
    return svg("g", { onpointermove: (e) => showTip(linkWords(link, seconds), e), onpointerleave: hideTip },
      svg("line", { ...ends, stroke: "transparent", "stroke-width": 9 }),
      svg("line", { ...ends, style: { stroke: heat(share) }, "stroke-width": (many ? 1.2 : 2) + 3.5 * Math.min(1, share), "stroke-linecap": "round" }));
  });
  const dots = nodes.map(([name, role, , device, samples], at) => {
    const radius = SHAPES[role] - (many && role === "client" ? 1.5 : 0), [x, y] = spots[at];
    const words = `${name}: ${device}${samples ? `, ${plural(samples, "sample")}` : ""}`;
    return svg("g", { onpointermove: (e) => showTip(words, e), onpointerleave: hideTip },
      svg("circle", { cx: x, cy: y, r: radius, fill: role === "client" ? "var(--card)" : "var(--ink)", stroke: "var(--ink)", "stroke-width": 1.5 }),
      label(name, role, x, y, radius, many));
  });
  return el("div", { class: "drawing" },
    svg("svg", { viewBox: "-235 -215 470 430", role: "img", "aria-label": "The network; the table beside it says the same in numbers" }, lines, dots));
}

function label(name, role, x, y, radius, many) {
  if (role === "client") {
    if (many) return null;
    const far = 1 + 13 / Math.hypot(x, y);
    const turned = Math.abs(x) < 30 ? "middle" : x > 0 ? "start" : "end";
    return svg("text", { x: x * far, y: y * far + 4, "text-anchor": turned, style: { fontSize: "10.5px" } }, name.replace(/^client/, ""));
  }
  return svg("text", { x, y: y + radius + 13, "text-anchor": "middle",
    style: { fontSize: "11px", fontWeight: "600", fill: "var(--ink)", paintOrder: "stroke", stroke: "var(--paper)", strokeWidth: "3px" } }, name);
}

function tierRows(network) {
  const tiers = new Map();
  for (const link of network.links) {
    const found = tiers.get(link[3]) || [0, 0, 0];
    tiers.set(link[3], [found[0] + link[7], found[1] + link[8], found[2] + link[9] + link[10]]);
  }
  return [...tiers].map(([tier, [up, down, drops]]) => [tier, size(up), size(down), String(drops)]);
}

function networkSection(run) {
  const network = run.network;
  if (!network) return null;
  const links = [...network.links].sort((a, b) => b[7] + b[8] - a[7] - a[8]);
  const most = Math.max(1, ...links.map((link) => Math.max(link[7], link[8])));
  const rows = links.map((link) => {
    const [up, down] = utilisation(link, network.seconds);
    return [link[0], size(link[7]), size(link[8]), percent(Math.max(up, down)),
      [meter(link[7] / most, "var(--upload)"), meter(link[8] / most, "var(--download)")]];
  });
  return section("network", "The network", `${run.links_in_words}. Links are coloured by how much of their rate they used.`,
    el("div", { class: "wide-left" },
      el("div", null, drawing(network),
        el("div", { class: "key" }, el("span", null, "unused"), el("span", { class: "ramp" }), el("span", null, "all of its rate, all the time"))),
      el("div", null,
        el("div", { class: "table" }, table([["tier", "name"], ["up", "number"], ["down", "number"], ["packets dropped", "number"]], tierRows(network), "Bytes by tier")),
        el("h3", { style: { marginTop: "1.5rem" } }, "Bytes by link"),
        el("div", { class: "tall", tabindex: "0", role: "region", "aria-label": "Bytes by link" },
          table([["link", "name"], ["up", "number"], ["down", "number"], ["used", "number"], ["", "meters"]], rows, "Bytes by link")))));
}
