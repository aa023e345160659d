// The topology as rings: the cloud in the middle, edge servers around it, clients outside. In a graph,
// routers are where they are on the map, and hosts beside them.

function mapped(graph) {
  const xs = graph.routers.map((r) => r[1]), ys = graph.routers.map((r) => r[2]);
  const wide = Math.max(...xs) - Math.min(...xs) || 1, high = Math.max(...ys) - Math.min(...ys) || 1;
  const scale = Math.min(390 / wide, 340 / high);
  const middle = [(Math.max(...xs) + Math.min(...xs)) / 2, (Math.max(...ys) + Math.min(...ys)) / 2];
  return graph.routers.map(([, x, y]) => [(x - middle[0]) * scale, (y - middle[1]) * scale]);
}

// Hosts in a circle around what they are attached to.
function around([x, y], members, radius, spots, start) {
  members.forEach((at, place) => {
    const turn = start + (place / members.length) * 2 * Math.PI;
    spots[at] = [x + radius * Math.cos(turn), y + radius * Math.sin(turn)];
  });
}

function graphLayout(network) {
  const { nodes, graph } = network, spots = new Array(nodes.length), routers = mapped(graph);
  routers.forEach((spot, router) => {
    const members = nodes.map((_, at) => at).filter((at) => graph.at[at] === router);
    around(spot, members, members.length > 12 ? 26 : 17, spots, Math.PI / 2);
  });
  nodes.forEach((node, at) => {
    if (node[1] !== "edge") return;
    const below = nodes.map((_, one) => one).filter((one) => graph.at[one] < 0 && nodes[one][2][0] === at);
    around(spots[at], below, below.length > 12 ? 25 : 18, spots, 0.4);
  });
  return spots.map((spot) => spot || [0, 0]);
}

function layout(network) {
  if (network.graph) return graphLayout(network);
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
  const spots = layout(network), { nodes, links, seconds, graph } = network;
  const many = nodes.length > 60, routers = graph ? mapped(graph) : [];
  const line = (link, a, b, least) => {
    const share = Math.max(...utilisation(link, seconds));
    const ends = { x1: a[0], y1: a[1], x2: b[0], y2: b[1] };
    return svg("g", { onpointermove: (e) => showTip(linkWords(link, seconds), e), onpointerleave: hideTip },
      svg("line", { ...ends, stroke: "transparent", "stroke-width": 9 }),
      svg("line", { ...ends, style: { stroke: heat(share) }, "stroke-width": least + 3.5 * Math.min(1, share), "stroke-linecap": "round" }));
  };
  const across = (link) => graph && graph.at[link[1]] >= 0 ? routers[graph.at[link[1]]] : spots[link[2]];
  const lines = [
    ...(graph ? graph.trunks.map((trunk) => line(trunk, routers[trunk[1]], routers[trunk[2]], 2)) : []),
    ...links.filter((link) => link[2] >= 0).map((link) => line(link, spots[link[1]], across(link), many ? 1.2 : 2)),
    ...(graph ? nodes.map((node, at) => [node, at]).filter(([node, at]) => node[1] === "cloud" && graph.at[at] >= 0).map(([, at]) =>
      svg("line", { x1: spots[at][0], y1: spots[at][1], x2: routers[graph.at[at]][0], y2: routers[graph.at[at]][1], style: { stroke: "var(--cold)" }, "stroke-width": 2 })) : []),
    ...routers.map(([x, y], at) => svg("g", { onpointermove: (e) => showTip(graph.routers[at][0], e), onpointerleave: hideTip },
      svg("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7, fill: "var(--card)", stroke: "var(--ink)" }),
      routers.length > 20 ? null : svg("text", { x, y: y - 8, "text-anchor": "middle", style: { fontSize: "9px" } }, graph.routers[at][0]))),
  ];
  // What a server shares among all that cross it: a ring around the server.
  const rings = network.shared.map((link) => {
    const [x, y] = spots[link[1]], share = Math.max(...utilisation(link, seconds));
    return svg("circle", { cx: x, cy: y, r: SHAPES[nodes[link[1]][1]] + 5, fill: "none", style: { stroke: heat(share) }, "stroke-width": 3 + 2 * Math.min(1, share),
      onpointermove: (e) => showTip(linkWords(link, seconds), e), onpointerleave: hideTip });
  });
  const kinds = kindsOf(network);
  const dots = nodes.map(([name, role, , device, samples], at) => {
    const small = many && role === "client", [x, y] = spots[at];
    const radius = Math.max(2.2, SHAPES[role] - (small ? 1.5 : 0) - (graph ? 2 : 0));
    const ownKind = network.kinds && network.kinds[at], known = kinds.indexOf(ownKind);
    const words = `${name}: ${device}${ownKind ? ` on ${ownKind}` : ""}${samples ? `, ${plural(samples, "sample")}` : ""}`;
    const paint = role !== "client" ? "var(--ink)" : known >= 0 ? lineColour(known) : "var(--card)";
    return svg("g", { onpointermove: (e) => showTip(words, e), onpointerleave: hideTip },
      svg("circle", { cx: x, cy: y, r: radius, fill: paint, stroke: "var(--ink)", "stroke-width": small ? 0.5 : 1.5 }),
      graph && role === "client" ? null : label(name, role, x, y, radius + (graph && role === "edge" ? 11 : 0), many));
  });
  return el("div", { class: "drawing" },
    svg("svg", { viewBox: "-235 -215 470 430", role: "img", "aria-label": "The network; the table beside it says the same in numbers" }, lines, rings, dots));
}

// The kinds of links that clients have, where there are few enough to tell them apart by colour.
function kindsOf(network) {
  const found = [...new Set(network.kinds || [])].filter((kind) => kind).sort();
  return found.length <= 7 ? found : [];
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
  for (const link of [...network.links, ...network.shared, ...(network.graph ? network.graph.trunks : [])]) {
    const found = tiers.get(link[3]) || [0, 0, 0];
    tiers.set(link[3], [found[0] + link[7], found[1] + link[8], found[2] + link[9] + link[10]]);
  }
  return [...tiers].map(([tier, [up, down, drops]]) => [tier, size(up), size(down), String(drops)]);
}

function networkSection(run) {
  const network = run.network;
  if (!network) return null;
  const links = [...network.links, ...network.shared, ...(network.graph ? network.graph.trunks : [])].sort((a, b) => b[7] + b[8] - a[7] - a[8]);
  const most = Math.max(1, ...links.map((link) => Math.max(link[7], link[8])));
  const rows = links.map((link) => {
    const [up, down] = utilisation(link, network.seconds);
    return [link[0], size(link[7]), size(link[8]), percent(Math.max(up, down)),
      [meter(link[7] / most, "var(--upload)"), meter(link[8] / most, "var(--download)")]];
  });
  return section("network", "The network", `${run.links_in_words}. Links are coloured by how much of their rate they used.`,
    el("div", { class: "wide-left" },
      el("div", null, drawing(network),
        el("div", { class: "key" }, el("span", null, "unused"), el("span", { class: "ramp" }), el("span", null, "all of its rate, all the time"),
          network.shared.length ? el("span", null, "ring: what a server shares") : null,
          kindsOf(network).map((kind, at) => el("span", { class: "kind" }, swatch(lineColour(at)), kind)))),
      el("div", null,
        el("div", { class: "table" }, table([["tier", "name"], ["up", "number"], ["down", "number"], ["packets dropped", "number"]], tierRows(network), "Bytes by tier")),
        el("h3", { style: { marginTop: "1.5rem" } }, "Bytes by link"),
        el("div", { class: "tall", tabindex: "0", role: "region", "aria-label": "Bytes by link" },
          table([["link", "name"], ["up", "number"], ["down", "number"], ["used", "number"], ["", "meters"]], rows, "Bytes by link")))));
}
