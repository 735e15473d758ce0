// Raters, if the model has a rater model: biases and guess rates with their intervals, under pseudonyms.

import { get } from "./api.js";
import { h, show, count, number, percent } from "./dom.js";
import { state } from "./state.js";

const most = 60; // rows of the figure

export async function raters(main) {
  let r;
  try {
    r = await get("models/" + encodeURIComponent(state.model) + "/raters");
  } catch (e) {
    if (e.status !== 404) throw e;
    show(main, h("h1", {}, "Raters"), h("p", {}, e.message + "."));
    return;
  }
  const known = r.raters.filter((x) => x.guess.value !== null);
  const leans = r.modelled && r.lean_sd !== null;
  const worth = (x) => 100 * x.flags.length + Math.abs((x.lean.value ?? 0) / (x.lean.se || 1)) + 10 * (x.guess.lo ?? 0);
  const rows = known.slice().sort((a, b) => worth(b) - worth(a)).slice(0, most);
  show(main, h("h1", {}, "Raters"), h("p", {}, `${r.modelled ? "Votes are weighted by rater" : "All votes count alike"}: ${r.reason}.`),
    r.modelled && rows.length > 0 && h("figure", {},
      h("div", { class: "forest" }, leans && forest(rows, (x) => x.lean, `bias towards ${r.class ?? "the second class"} (logit)`, false),
        forest(rows, (x) => x.guess, "guess rate", true)),
      h("figcaption", {}, "A bias shifts the logit of the probability that a rater votes for the class; the mean over all votes is 0. Guesses are votes that are independent of the item. "
        + "Names are replaced by pseudonyms. A bias that all raters share cannot be seen.", known.length > most ? ` Shown are the ${most} of ${count(known.length)} raters who differ most.` : "")),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table of raters" }, h("table", { class: "raters" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Rater"), h("th", { scope: "col", class: "number" }, "Votes"), leans && h("th", { scope: "col", class: "number" }, "Bias"),
        r.modelled && h("th", { scope: "col", class: "number" }, "Guess rate"), h("th", { scope: "col", class: "number" }, "Agreement (expected)"), h("th", { scope: "col" }, "Flags"))),
      h("tbody", {}, (rows.length ? rows : r.raters.slice(0, most)).map((x) => h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, x.rater)), h("td", { class: "number" }, count(x.votes)),
        leans && h("td", { class: "number" }, estimate(x.lean)), r.modelled && h("td", { class: "number" }, estimate(x.guess)),
        h("td", { class: "number" }, x.agreement === null ? "—" : `${percent(x.agreement)} (${percent(x.expected)})`), h("td", {}, x.flags.join(", ") || "—")))))));
}

const estimate = (e) => (e.value === null ? "—" : `${number(e.value)} (${number(e.lo)} to ${number(e.hi)})`);

// forest draws one estimate of each rater with its interval.
function forest(rows, value, label, share) {
  const width = 380, left = 84, right = 12, line = 20, top = 26;
  const height = top + rows.length * line + 26;
  let lo = share ? 0 : -0.5, hi = share ? 0.2 : 0.5;
  for (const x of rows) [lo, hi] = [Math.min(lo, value(x).lo ?? lo), Math.max(hi, value(x).hi ?? hi)];
  if (share) [lo, hi] = [0, Math.min(1, hi)];
  const x = (v) => left + ((Math.min(hi, Math.max(lo, v)) - lo) / (hi - lo)) * (width - left - right);
  const ticks = share ? [0, hi / 2, hi] : [lo, 0, hi];
  const kind = (r) => (r.flags.includes("guesses") ? "guesses" : r.flags.includes("leans") ? "leans" : "usual");
  return h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}, with 95% intervals; the numbers are in the table` },
    h("text", { x: left, y: 14, class: "title" }, label),
    ticks.map((t) => [h("line", { class: !share && t === 0 ? "rule" : "grid", x1: x(t), x2: x(t), y1: top - 4, y2: height - 22 }),
      h("text", { class: t === ticks[0] ? "tick" : t === hi ? "tick last" : "tick middle", x: x(t), y: height - 7 }, number(t, 2))]),
    rows.map((r, i) => {
      const e = value(r), y = top + (i + 0.5) * line;
      return [h("text", { class: "tick last", x: left - 10, y: y + 4 }, r.rater.slice(0, 12)),
        e.value !== null && [h("line", { class: "end " + kind(r), x1: x(e.lo), x2: x(e.hi), y1: y, y2: y }), h("circle", { class: "mean " + kind(r), cx: x(e.value), cy: y, r: 4 })]];
    }));
}
