// Lines over an axis, with a readout at the nearest point.

// options: series [{label, paint, points: [[x, y, words]]}], label (of x), whole, y: [low, high],
// yWords(value), target: {at, words}, marks: [[start, end, words]], height.
function lineChart(options) {
  const width = options.width || room(), height = options.height || (width > 600 ? 340 : 260);
  const box = { left: 46, right: width - 12, top: 12, bottom: height - 38 };
  const [low, high] = options.y;
  const last = Math.max(...options.series.flatMap((s) => s.points.map((p) => p[0])), 0) || 1;
  const x = (value) => box.left + (value / last) * (box.right - box.left);
  const y = (value) => box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top);
  const parts = [];
  for (const at of ticks(low, high, 5)) {
    parts.push(svg("line", { class: "gridline", x1: box.left, x2: box.right, y1: y(at), y2: y(at) }),
      svg("text", { x: box.left - 8, y: y(at) + 4, "text-anchor": "end" }, options.yWords(at)));
  }
  for (const at of ticks(0, last, Math.max(3, Math.min(10, width / 80)), options.whole)) {
    parts.push(svg("line", { class: "axis", x1: x(at), x2: x(at), y1: box.bottom, y2: box.bottom + 4 }),
      svg("text", { x: x(at), y: box.bottom + 18, "text-anchor": "middle" }, String(at)));
  }
  parts.push(svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    svg("text", { x: box.right, y: height - 4, "text-anchor": "end" }, options.label));
  for (const [start, end, words] of options.marks || []) {
    if (start > last) continue;
    const title = svg("title", null, words);
    const until = Math.min(end, last);
    parts.push(until - start > last / 200
      ? svg("rect", { class: "span", x: x(start), width: x(until) - x(start), y: box.top, height: box.bottom - box.top }, title)
      : svg("line", { class: "mark", x1: x(start), x2: x(start), y1: box.bottom - 14, y2: box.bottom }, title));
  }
  if (options.target && options.target.at >= low && options.target.at <= high) {
    const at = y(options.target.at);
    parts.push(svg("line", { class: "target", x1: box.left, x2: box.right, y1: at, y2: at }),
      svg("text", { x: box.right, y: at - 6, "text-anchor": "end" }, options.target.words));
  }
  for (const series of options.series) parts.push(...curve(series, x, y));
  const dot = svg("circle", { r: 5, fill: "none", stroke: "currentColor", "stroke-width": 2, visibility: "hidden" });
  const drawing = svg("svg", { width, height, role: "img", "aria-label": options.words }, parts, dot);
  readOut(drawing, dot, options.series, x, y);
  return el("div", { class: "chart" }, drawing);
}

function curve(series, x, y) {
  const points = series.points.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`);
  const line = svg("polyline", { class: "curve", points: points.join(" "), stroke: series.paint });
  if (series.points.length > 40) return [line];
  return [line, ...series.points.map(([px, py]) => svg("circle", { cx: x(px), cy: y(py), r: 3.2, fill: series.paint }))];
}

function readOut(drawing, dot, series, x, y) {
  drawing.addEventListener("pointermove", (event) => {
    const frame = drawing.getBoundingClientRect();
    const px = event.clientX - frame.left, py = event.clientY - frame.top;
    let best = null, nearest = 60 * 60;
    for (const one of series) {
      for (const point of one.points) {
        const far = (x(point[0]) - px) ** 2 + (y(point[1]) - py) ** 2;
        if (far < nearest) { nearest = far; best = [one, point]; }
      }
    }
    dot.setAttribute("visibility", best ? "visible" : "hidden");
    if (!best) return hideTip();
    dot.setAttribute("cx", x(best[1][0]));
    dot.setAttribute("cy", y(best[1][1]));
    showTip(`${best[0].label}\n${best[1][2]}`, event);
  });
  drawing.addEventListener("pointerleave", () => { dot.setAttribute("visibility", "hidden"); hideTip(); });
}

function legend(series) {
  return el("ul", { class: "key" }, series.map((one) => el("li", null, swatch(one.paint), one.label)));
}

// Accuracy of all runs over elapsed time or over rounds.
function accuracyChart(runs, current, axis) {
  const overTime = axis === "time";
  const seconds = Math.max(...runs.map((run) => run.elapsed), 0);
  const [unit, name] = timeUnit(seconds);
  const series = runs.map((run, at) => ({
    label: run.label,
    paint: lineColour(at),
    points: run.curve.filter((row) => row[2] !== null).map(([round, time, accuracy]) => [
      overTime ? time / unit : round, accuracy,
      `${percent(accuracy)} after ${plural(round, "round")}, ${duration(time)}`]),
  }));
  const values = series.flatMap((one) => one.points.map((point) => point[1]));
  if (!values.length) return el("p", null, "No model was evaluated.");
  const target = current.headline.target_accuracy;
  const high = Math.min(1, Math.ceil(Math.max(...values, target || 0) * 10 + 0.3) / 10);
  const chart = lineChart({
    series, whole: !overTime, y: [0, high], yWords: (value) => percent(value, 0),
    label: overTime ? `elapsed time (${name})` : "global rounds",
    words: `Accuracy against ${overTime ? "elapsed time" : "rounds"}`,
    target: target ? { at: target, words: `target ${percent(target, 0)}` } : null,
    marks: overTime ? current.timeline.rows.filter((row) => MARKED.includes(row[2]))
      .map(([start, end, kind, who, words]) => [start / unit, end / unit, `${kind} at ${duration(start)}: ${who} ${words}`]) : [],
  });
  chart.dataset.axis = axis;
  chart.id = "accuracy-chart";
  return runs.length > 1 ? [chart, legend(series)] : chart;
}

const MARKED = ["handover", "outage", "link", "crash", "restart"];
