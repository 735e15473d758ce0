// The first view: the model in brief, how far it can be trusted, what needs attention.

import { get } from "./api.js";
import { h, show, count, plural, percent, number } from "./dom.js";
import { rater } from "./votes.js";

const symbols = { good: "✓", careful: "!", bad: "✗", unknown: "?" };
const spoken = { good: "good", careful: "caution", bad: "bad", unknown: "unknown" };

const mark = (kind) => h("span", { class: "mark " + kind, role: "img", "aria-label": spoken[kind] }, symbols[kind]);

export async function overview(main) {
  const o = await get("overview", { rater: rater() });
  show(main,
    h("h1", {}, h("bdi", {}, o.model)),
    h("p", { class: "lead" }, `A model of ${plural(o.classes.length, "class", "classes")}, trained on ${plural(o.trained_votes, "vote")} on ${plural(o.trained_items, "item")}. `
      + "For each item it predicts the distribution of the class probabilities, with credible intervals."),
    o.queue && o.takes_votes && h("p", {}, h("a", { class: "button strong", href: "#queue" }, "Label the most informative items")),
    o.verdicts.length > 0 && h("section", {}, h("h2", {}, "Can its intervals be relied on?"),
      h("ul", { class: "verdicts" }, o.verdicts.map((v) => h("li", {}, mark(v.mark), h("span", {}, h("b", {}, v.question), v.answer))))),
    o.verdicts.length === 0 && h("section", {}, h("h2", {}, "Can its intervals be relied on?"),
      h("p", { class: "muted" }, "The run has no report. ", h("code", {}, "credence report"), " or ", h("code", {}, "credence evaluate"), " with held-out votes writes one.")),
    attention(o),
    h("section", {}, h("h2", {}, "The model"), pairs(o)));
}

function attention(o) {
  if (!o.has_items) {
    return h("section", {}, h("h2", {}, "Items"), h("p", {}, "This server has no items. Start it with ",
      h("code", {}, "credence serve RUN --items items.csv --vote-log new-votes.csv"), " to see predictions and to vote."));
  }
  if (!o.queue) return null;
  const p = o.queue.progress;
  return h("section", {}, h("h2", {}, "What needs attention"),
    h("ul", { class: "verdicts" }, o.queue.attention.map((a) => h("li", {}, mark(a.mark),
      h("span", {}, a.text, a.filter ? [" ", h("a", { href: "#items?" + a.filter }, "Show them")] : null)))),
    o.takes_votes && h("p", { class: "muted" }, p.votes === 0 ? "No votes have been cast here yet." :
      `Cast here so far: ${plural(p.votes, "vote")} by ${plural(p.raters, "rater")}. Since the server started, the sum of variances has changed from ${number(p.variance_first, 3)} to ${number(p.variance, 3)}.`));
}

function pairs(o) {
  const row = (name, ...value) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value));
  const few = 12;
  return h("div", { class: "table" }, h("table", { class: "pairs" }, h("tbody", {},
    row("Classes", o.classes.slice(0, 20).flatMap((c, i) => [i ? ", " : "", h("bdi", {}, c)]), o.classes.length > 20 ? ` and ${o.classes.length - 20} more` : ""),
    row("Trained on", `${plural(o.trained_items, "item")}, ${plural(o.trained_votes, "vote")}`),
    row("Features", o.features.length === 0 ? "none" : [o.features.slice(0, few).flatMap((f, i) => [i ? "; " : "", h("bdi", {}, f)]), o.features.length > few ? `; and ${o.features.length - few} more` : ""]),
    row("Networks", `${plural(o.networks, "network")}, ${count(o.parameters)} parameters, method ${o.method}`),
    row("Intervals", `${percent(o.level)} by default` + (o.resolution ? `; ends closer than ${number(o.resolution, 3)} to 0 or 1 are extended to it` : "")),
    o.scale ? row("Calibration", `the variance was multiplied by ${number(o.scale)}, as estimated from pairs of held-out votes`) : null,
    row("Raters", o.raters ? "modelled: votes are weighted by rater" : "not modelled: all votes count alike"),
    row("Version", h("code", {}, o.version)),
    o.warnings.map((w) => row("Warning", w)))));
}
