// Numbers as people say them; the same as reports/wording.py.

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "not known";
  if (seconds !== 0 && Math.abs(seconds) < 0.1) return `${(seconds * 1000).toPrecision(3).replace(/\.?0+$/, "")} ms`;
  if (seconds < 1) return `${seconds.toFixed(2)} s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(seconds / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function scaled(value, unit, digits) {
  for (const [limit, prefix] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= limit) return `${trim(value / limit, digits)} ${prefix}${unit}`;
  }
  return `${trim(value, digits)} ${unit}`;
}

const trim = (value, digits) => String(Number(value.toFixed(digits)));
const size = (count) => scaled(count, "B", 1);
const rate = (bits) => bits === null ? "no limit" : scaled(bits, "bit/s", 2);
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits).replace(/^-(0\.?0*)$/, "$1")} %`;
const plural = (count, one, many) => `${count} ${count === 1 ? one : many || `${one}s`}`;

const PHASE_WORDS = {
  download: "download", compute: "computing", upload: "upload", aggregate: "aggregation",
  supply: "data sent ahead", wait: "waiting",
};

// The unit for an axis as long as that: its length in seconds, and its name.
function timeUnit(seconds) {
  for (const [limit, length, name] of [[259200, 86400, "days"], [10800, 3600, "h"], [300, 60, "min"]]) {
    if (seconds >= limit) return [length, name];
  }
  return seconds > 0 && seconds < 0.5 ? [0.001, "ms"] : [1, "s"];
}

// Round positions of about so many grid lines from low to high.
function ticks(low, high, count, whole) {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  if (whole) step = Math.max(1, Math.round(step));
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at += 1) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}
