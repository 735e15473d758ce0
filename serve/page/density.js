// The distribution of a probability, drawn: its density, and below it the interval with the mean.

import { h, number, percent, interval } from "./dom.js";

const height = 200, left = 8, right = 8, top = 10, floor = 132;

// Narrow screens get a narrower drawing, not the same one with smaller letters.
const narrow = matchMedia("(max-width:760px)");
const width = () => (narrow.matches ? 360 : 560);

const x = (p) => left + p * (width() - left - right);

// outline returns the path of a density in equal pieces, as steps joined in their middles.
function outline(values, most) {
  const y = (f) => floor - (floor - top) * Math.min(1, f / most);
  const n = values.length;
  let d = `M${x(0)} ${y(values[0]).toFixed(1)}`;
  for (let k = 0; k < n; k++) d += `L${x((k + 0.5) / n).toFixed(1)} ${y(values[k]).toFixed(1)}`;
  return d + `L${x(1)} ${y(values[n - 1]).toFixed(1)}`;
}

// of returns the class whose density is drawn.
export function of(dist) { return dist.classes.find((c) => c.class === dist.of); }

// density draws a distribution, and another in outline behind it: what it was before votes, say.
export function density(dist, { before = null, beforeLabel = "before" } = {}) {
  const c = of(dist), b = before && of(before);
  const most = 1.05 * quantile([...dist.density, ...(before?.density ?? [])], 0.995);
  const says = (y) => `mean ${number(y.mean)}, ${percent(dist.level)} interval ${interval(y)}`;
  const text = `Distribution of the probability of ${dist.of}: ${says(c)}.` + (b ? ` ${beforeLabel}: ${says(b)}.` : "");
  const bar = (y, at, kind) => [
    h("line", { class: "end " + kind, x1: x(y.lower), x2: x(y.upper), y1: at, y2: at }),
    h("line", { class: "end " + kind, x1: x(y.lower), x2: x(y.lower), y1: at - 5, y2: at + 5 }),
    h("line", { class: "end " + kind, x1: x(y.upper), x2: x(y.upper), y1: at - 5, y2: at + 5 }),
    h("circle", { class: "mean " + kind, cx: x(y.mean), cy: at, r: 4.5 }),
  ];
  return h("svg", { class: "density", viewBox: `0 0 ${width()} ${height}`, role: "img", "aria-label": text },
    [0, 0.25, 0.5, 0.75, 1].map((p) => [
      h("line", { class: "grid", x1: x(p), x2: x(p), y1: top, y2: height - 22 }),
      h("text", { x: x(p), y: height - 6, class: p === 0 ? "tick" : p === 1 ? "tick last" : "tick middle" }, String(p)),
    ]),
    before && h("path", { class: "was", d: outline(before.density, most) }),
    h("path", { class: "area", d: outline(dist.density, most) + `L${x(1)} ${floor}L${x(0)} ${floor}Z` }),
    h("path", { class: "curve", d: outline(dist.density, most) }),
    h("line", { class: "rule", x1: x(0), x2: x(1), y1: floor, y2: floor }),
    b && bar(b, 148, "was"),
    bar(c, b ? 166 : 154, "is"));
}

// quantile returns a value below which a share of the values lies.
function quantile(values, share) {
  const sorted = values.slice().sort((a, b) => a - b);
  return Math.max(1e-9, sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
}

// table lists the classes with means and intervals, and what they were before.
export function table(dist, before) {
  const cells = (c) => [
    h("td", { class: "number" }, number(c.mean)),
    h("td", { class: "number" }, (c.at_least ? "≥ " : "") + interval(c)),
    h("td", { class: "number" }, number(c.upper - c.lower)),
    h("td", { class: "number" }, number(c.p_top)),
  ];
  return h("div", { class: "table" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Class"), h("th", { scope: "col", class: "number" }, "Mean"),
      h("th", { scope: "col", class: "number" }, percent(dist.level) + " interval"), h("th", { scope: "col", class: "number" }, "Width"),
      h("th", { scope: "col", class: "number", title: "Probability that the class is the top class" }, "p_top"))),
    h("tbody", {}, dist.classes.map((c, i) => [
      before && h("tr", { class: "was" }, h("th", { scope: "row" }, h("bdi", {}, c.class), h("span", { class: "muted" }, " before")), cells(before.classes[i])),
      h("tr", { class: c.class === dist.predicted ? "strong" : "" },
        h("th", { scope: "row" }, h("bdi", {}, c.class), before ? h("span", { class: "muted" }, " after") : null), cells(c)),
    ]))));
}
