// One round: every node's phases on an axis of time that can be zoomed and moved.

const AXIS = 24; // pixels at the top
const FEW_ROWS = 60;

class Waterfall {
  // view: {from, to} in microseconds from the round's start, kept while the round stays the same.
  constructor(run, settings) {
    this.run = run;
    this.settings = settings;
    this.scrolled = 0;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.spacer = el("div");
    this.frame = el("div", {
      class: "fall", id: "waterfall", tabindex: "0", role: "application",
      "aria-label": "Waterfall of one round: plus and minus zoom, arrow keys move, 0 shows the whole round",
      onkeydown: (event) => this.onKey(event), onscroll: () => { this.scrolled = this.frame.scrollTop; this.paint(); },
    }, this.canvas, this.spacer);
    this.frame.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.canvas.addEventListener("pointermove", (event) => this.onMove(event));
    this.canvas.addEventListener("pointerdown", (event) => this.onDown(event));
    this.canvas.addEventListener("pointerup", () => { this.held = null; });
    this.canvas.addEventListener("pointerleave", () => { this.held = null; hideTip(); });
    this.canvas.addEventListener("dblclick", (event) => this.zoom(2, this.timeAt(event)));
    new ResizeObserver(() => this.paint()).observe(this.frame);
  }

  show(round, onlyPath) {
    const [number, , length, bars, path] = round;
    const again = this.number === number;
    this.number = number;
    this.length = length;
    this.path = chunks(path, 4);
    const onPath = new Set(this.path.map((step) => step[0]));
    const active = new Set(onPath);
    for (let i = 0; i < bars.length; i += 5) active.add(bars[i]);
    this.rows = this.run.order.filter((node) => onlyPath ? onPath.has(node) : active.has(node));
    const place = new Map(this.rows.map((node, at) => [node, at]));
    this.bars = this.rows.map(() => []);
    this.first = 0;
    this.last = length || 1;
    for (let i = 0; i < bars.length; i += 5) {
      this.first = Math.min(this.first, bars[i + 2]);
      this.last = Math.max(this.last, bars[i + 2] + bars[i + 3]);
      const at = place.get(bars[i]);
      if (at !== undefined) this.bars[at].push(bars.slice(i + 1, i + 5));
    }
    this.lanes = this.bars.map(lanes);
    this.steps = this.rows.map((node) => this.path.filter((step) => step[0] === node && step[1] !== WAIT_PHASE));
    if (!again) this.whole();
    else this.paint();
    this.scrollToPath();
  }

  // Among many rows, to where the critical path spent most of the round.
  scrollToPath() {
    const longest = this.steps.map((steps) => Math.max(0, ...steps.map((step) => step[3])));
    const row = longest.indexOf(Math.max(...longest));
    this.frame.scrollTop = AXIS + row * this.rowHeight - this.frame.clientHeight / 2;
  }

  whole() { this.look(this.first, this.last); }

  // As another one of the same round was left: its zoom, and how far its rows were scrolled.
  lookLike(other) {
    if (other.number !== this.number) return;
    if (other.zoomed) this.look(other.from, other.to);
    this.frame.scrollTop = other.scrolled;
  }

  look(from, to) {
    const span = Math.min(Math.max(to - from, 50), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - span);
    this.to = this.from + span;
    this.paint();
    this.settings.onLook(this);
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    this.look(around - (around - this.from) / factor, around + (this.to - around) / factor);
  }

  move(share) {
    const by = share * (this.to - this.from);
    this.look(this.from + by, this.to + by);
  }

  get zoomed() { return this.to - this.from < (this.last - this.first) * 0.999; }
  get left() { return Math.min(110, Math.max(54, this.frame.clientWidth * 0.14)); }
  get rowHeight() { return this.rows.length > FEW_ROWS ? 14 : 20; }

  x(time) { return this.left + ((time - this.from) / (this.to - this.from)) * (this.wide - this.left - 8); }
  timeAt(event) {
    const at = event.clientX - this.canvas.getBoundingClientRect().left;
    return this.from + ((at - this.left) / (this.wide - this.left - 8)) * (this.to - this.from);
  }

  onKey(event) {
    const acts = {
      "+": () => this.zoom(1.6), "=": () => this.zoom(1.6), "-": () => this.zoom(1 / 1.6), "0": () => this.whole(),
      ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  onWheel(event) {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !event.metaKey && !sideways) return; // scrolls the page, or the rows
    event.preventDefault();
    if (sideways) this.move(event.deltaX / this.wide);
    else this.zoom(Math.exp(-event.deltaY / 200), this.timeAt(event));
  }

  onDown(event) {
    this.held = { at: event.clientX, from: this.from, to: this.to };
    this.canvas.setPointerCapture(event.pointerId);
  }

  onMove(event) {
    if (this.held && event.buttons) {
      const by = ((this.held.at - event.clientX) / (this.wide - this.left - 8)) * (this.held.to - this.held.from);
      hideTip();
      return this.look(this.held.from + by, this.held.to + by);
    }
    const row = Math.floor((event.clientY - this.canvas.getBoundingClientRect().top - AXIS + this.frame.scrollTop) / this.rowHeight);
    const time = this.timeAt(event), slack = ((this.to - this.from) / this.wide) * 2;
    const hit = (this.bars[row] || []).findLast((bar) => bar[1] - slack <= time && time <= bar[1] + bar[2] + slack);
    if (!hit) return hideTip();
    showTip(this.words(this.rows[row], hit), event);
  }

  words(node, [phase, start, length, peer]) {
    const name = this.run.waterfall.phases[phase], other = this.run.names[peer];
    const way = !other ? "" : name === "upload" ? ` to ${other}` : name === "compute" ? ` for ${other}` : ` from ${other}`;
    return `${this.run.names[node]}: ${PHASE_WORDS[name]}${way}\n${duration(length / 1e6)}, from ${duration(start / 1e6)} to ${duration((start + length) / 1e6)}`;
  }

  paint() {
    const tall = this.rows ? this.rows.length * this.rowHeight + AXIS + 6 : 0;
    const high = Math.min(tall, 520);
    this.wide = this.frame.clientWidth;
    if (!this.wide || !tall) return;
    this.frame.style.height = `${high + 2}px`;
    this.spacer.style.height = `${tall - high}px`;
    const dense = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(this.wide * dense) || this.canvas.height !== Math.round(high * dense)) {
      this.canvas.width = Math.round(this.wide * dense);
      this.canvas.height = Math.round(high * dense);
      this.canvas.style.width = `${this.wide}px`;
      this.canvas.style.height = `${high}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, this.wide, high);
    pen.font = `${this.rowHeight > 14 ? 12 : 11}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    this.paintRows(pen, high);
    this.paintAxis(pen, high);
  }

  paintRows(pen, high) {
    const ink = colour("ink"), soft = colour("soft"), grid = colour("grid");
    const paints = this.run.waterfall.phases.map(colour);
    const top = AXIS - this.frame.scrollTop, tall = this.rowHeight;
    const first = Math.max(0, Math.floor((AXIS - top) / tall)), last = Math.min(this.rows.length, Math.ceil((high - top) / tall));
    for (let row = first; row < last; row += 1) {
      const y = top + row * tall, node = this.rows[row], steps = this.steps[row];
      pen.fillStyle = grid;
      pen.fillRect(this.left, y + tall - 1, this.wide - this.left, 1);
      pen.save();
      pen.beginPath();
      pen.rect(this.left, y, this.wide - this.left, tall);
      pen.clip();
      const thick = (tall - 5) / this.lanes[row];
      for (const [phase, start, length, , lane] of this.bars[row]) {
        if (start > this.to || start + length < this.from) continue;
        pen.fillStyle = paints[phase];
        pen.globalAlpha = steps.length ? 1 : 0.55;
        pen.fillRect(this.x(start), y + 2 + lane * thick, Math.max(1, this.x(start + length) - this.x(start) - 0.5), thick);
      }
      pen.globalAlpha = 1;
      pen.fillStyle = ink;
      for (const [, , start, length] of steps) pen.fillRect(this.x(start), y + tall - 4, Math.max(1, this.x(start + length) - this.x(start)), 2.5);
      pen.restore();
      pen.fillStyle = steps.length ? ink : soft;
      pen.fillText(this.run.names[node], 8 + 8 * this.run.depth[node] * (this.left > 70), y + tall / 2, this.left - 12);
    }
  }

  paintAxis(pen, high) {
    pen.fillStyle = colour("card");
    pen.fillRect(0, 0, this.wide, AXIS - 2);
    const [unit, name] = timeUnit((this.to - this.from) / 1e6), scale = unit * 1e6;
    pen.fillStyle = colour("soft");
    pen.textAlign = "center";
    for (const at of ticks(this.from / scale, this.to / scale, Math.max(4, (this.wide - this.left) / 90))) {
      const x = this.x(at * scale);
      if (x > this.wide - 40) continue; // the unit's place
      pen.fillText(String(at), Math.max(x, this.left + 6), AXIS / 2);
      pen.globalAlpha = 0.25;
      pen.fillRect(x, AXIS - 4, 1, high);
      pen.globalAlpha = 1;
    }
    pen.textAlign = "right";
    pen.fillText(name, this.wide - 8, AXIS / 2);
    pen.textAlign = "left";
    if (this.length !== null) {
      pen.fillStyle = colour("ink");
      for (const edge of [0, this.length]) {
        const x = this.x(edge);
        if (x >= this.left - 1 && x <= this.wide) pen.fillRect(x - (edge ? 1 : 0), AXIS - 4, 1, high);
      }
    }
  }
}

const WAIT_PHASE = 5;

// A node may do several things at once: each bar gets a lane of its own then; returns how many.
function lanes(bars) {
  const ends = [];
  for (const bar of bars.sort((a, b) => a[1] - b[1] || a[2] - b[2])) {
    const free = ends.findIndex((end) => end <= bar[1] + 1);
    bar[4] = free < 0 ? ends.length : free;
    ends[bar[4]] = bar[1] + bar[2];
  }
  return Math.max(1, ends.length);
}

function chunks(flat, width) {
  const found = [];
  for (let i = 0; i < flat.length; i += width) found.push(flat.slice(i, i + width));
  return found;
}

// The chain that set the round's length, in words.
function pathList(run, round) {
  const steps = chunks(round[4], 4).filter((step) => step[3] > 0);
  const shown = steps.length > 40 ? steps.filter((step) => step[3] > round[2] / 200) : steps;
  return el("ol", { class: "path", "aria-label": "What set the round's length" },
    shown.map(([node, phase, , length]) => el("li", { style: { "--of": "" } },
      el("b", null, run.names[node] || "?"), ` ${PHASE_WORDS[run.waterfall.phases[phase]]} ${duration(length / 1e6)}`)).map((item, at) => {
      item.style.setProperty("--of", `var(--${run.waterfall.phases[shown[at][1]]})`);
      return item;
    }));
}
