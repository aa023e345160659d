// Elements, the tip that follows the pointer, and colours as the style sheet has them.

const SVG = "http://www.w3.org/2000/svg";

// Text only ever becomes text: names in records cannot be taken for markup.
function build(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

const el = (name, attributes, ...children) =>
  build(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) =>
  build(document.createElementNS(SVG, name), attributes, children);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const lineColour = (index) => `var(--c${index % 7})`;
const swatch = (paint) => el("span", { class: "swatch", style: { background: paint }, "aria-hidden": "true" });

const main = document.getElementById("main");
const tip = document.getElementById("tip");

function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
  const below = event.clientY + 16;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below + box.height > innerHeight ? event.clientY - box.height - 12 : below}px`;
}

const hideTip = () => { tip.hidden = true; };

// A choice of a few words: radio buttons, so that arrow keys work.
function choice(name, legend, options, chosen, act) {
  return el("fieldset", { class: "switch", id: name }, el("legend", null, legend),
    options.map(([value, words]) => el("label", null,
      el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => act(value) }),
      el("span", null, words))));
}

function table(columns, rows, caption) {
  return el("table", { "aria-label": caption },
    el("thead", null, el("tr", null, columns.map(([words, kind]) => el("th", { class: kind, scope: "col" }, words)))),
    el("tbody", null, rows.map((row) => el("tr", row.attributes || null,
      (row.cells || row).map((cell, at) => el("td", { class: columns[at][1] }, cell))))));
}

function meter(share, paint) {
  return el("span", { class: "meter", style: { width: `${Math.max(0, Math.min(1, share)) * 100}%`, background: paint } });
}

// Charts are drawn as wide as there is room, so that their text keeps its size.
function room(least = 0) {
  const style = getComputedStyle(main);
  const whole = main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  return least && whole > 2 * least + 40 ? (whole - 40) / 2 : whole;
}

function section(id, title, about, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), about ? el("p", { class: "quiet" }, about) : null, children);
}
