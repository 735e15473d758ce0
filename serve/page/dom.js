// Helpers that build elements without HTML, so that names and texts are never parsed as markup.

const svgNames = new Set(["svg", "g", "path", "line", "rect", "text", "circle", "title", "desc"]);

// h makes an element. Properties are attributes, but for those that begin with "on", which are
// listeners, and "value", "checked" and the like, which inputs have as properties. Children are elements, texts, or
// lists of them; null and false are left out.
export function h(tag, properties, ...children) {
  const svg = svgNames.has(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (!svg && (name === "value" || name === "checked" || name === "disabled" || name === "selected")) e[name] = value;
    else e.setAttribute(name, value === true ? "" : value);
  }
  add(e, children);
  return e;
}

function add(e, children) {
  for (const c of children) {
    if (Array.isArray(c)) add(e, c);
    else if (c !== null && c !== undefined && c !== false) e.append(c);
  }
}

// show replaces what an element holds.
export function show(e, ...children) {
  e.replaceChildren();
  add(e, children);
  return e;
}

// name shows the name of an item, class or person, in whatever direction it is written.
export function name(text) { return h("bdi", { class: "name" }, text); }

// number writes x with a number of decimals and a true minus.
export function number(x, decimals = 2) {
  if (x === null || x === undefined || Number.isNaN(x)) return "—";
  const s = x.toFixed(decimals);
  return (Number(s) === 0 ? s.replace("-", "") : s).replace("-", "−");
}

// count writes a whole number with commas between thousands.
export function count(n) { return Math.round(n).toLocaleString("en-US"); }

// plural writes a count of things.
export function plural(n, noun, many = noun + "s") { return count(n) + " " + (n === 1 ? noun : many); }

// percent writes a share.
export function percent(x, decimals = 0) { return number(100 * x, decimals) + "%"; }

// interval writes the ends of one.
export function interval(c) { return `${number(c.lower)} to ${number(c.upper)}`; }

// later calls f once after calls have stopped for a while.
export function later(f, ms) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), ms);
  };
}

// notice shows a message at the foot of the page, also to screen readers.
export function notice(text, kind = "") {
  const e = document.getElementById("notice");
  e.className = text ? "on " + kind : "";
  e.textContent = text;
}
