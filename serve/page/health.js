// Health: whether posted votes still follow the model.

import { get } from "./api.js";
import { h, show, count, plural } from "./dom.js";

const verdicts = { quiet: "As predicted", little: "Off by a little, as expected", note: "Worth a look", alarm: "Alarm" };
const kinds = { votes: "Votes", rater: "Raters", inputs: "Inputs" };

export async function health(main) {
  let r;
  const draw = async () => {
    try {
      r = await get("health");
    } catch (e) {
      if (e.status !== 404 && e.status !== 503 && e.status !== 409) throw e;
      show(main, h("h1", {}, "Health"), h("p", {}, e.message + "."));
      return;
    }
    show(main, h("h1", {}, "Health"),
      h("p", { class: r.level === "alarm" ? "bad" : "", role: r.level === "alarm" ? "alert" : undefined }, h("strong", {}, verdicts[r.level]), ": ", r.level === "quiet" ? `evidence ${odds(r.evidence.tolerant)}` : r.text, "."),
      h("p", { class: "muted" }, `${plural(r.votes, "vote")} on ${plural(r.items, "item")} since this model is in use. Evidence is odds against the model. If the model is right, the chance that it ever exceeds `
        + `${r.alarm_at} is at most 1 in ${r.alarm_at}, however often you look. Beyond a bias of ${r.tolerate} on the logit: ${odds(r.evidence.tolerant)}; against an exact model: ${odds(r.evidence.strict)}.`,
      r.left_out.trained_votes > 0 && ` ${plural(r.left_out.trained_votes, "vote")} on items that the model may have been trained on were left out.`),
      r.alarms.length > 0 && h("section", {}, h("h2", {}, "Alarms"), h("ul", {}, r.alarms.map((a) => h("li", {}, `${kinds[a.kind]}, after ${plural(a.votes, "vote")}: ${a.text}`)))),
      r.advice.length > 0 && h("section", {}, h("h2", {}, "What to do"), h("ul", {}, r.advice.map((a) => h("li", {}, a)))),
      (r.warnings ?? []).length > 0 && h("ul", {}, r.warnings.map((w) => h("li", {}, w))),
      h("figure", {}, chart(r, main.clientWidth), h("figcaption", {}, "Evidence after each vote, on a logarithmic scale: beyond the tolerated bias (dark) and against an exact model (light). The dashed lines are the note and the alarm; the light line ends at 100,000,000.")),
      table("What the votes were compared with", "Alternative", r.bets.map((b) => ({ ...b, name: b.name.replace("-", "−") })), false),
      r.groups && table("Groups", "Group", r.groups, true),
      r.raters && table("Raters", "Rater", r.raters.slice(0, 20), true, `All raters together: ${odds(r.rater_evidence.tolerant)}.`),
      r.inputs && h("section", {}, h("h2", {}, "Inputs"), h("p", {}, `${r.inputs.text}; evidence ${odds(r.inputs.evidence)}.`)),
      h("section", {}, h("h2", {}, "How soon an alarm would come"),
        r.delays ? h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "If from now on …"), h("th", { scope: "col", class: "number" }, "votes to an alarm"))),
          h("tbody", {}, r.delays.map((d) => h("tr", {}, h("th", { scope: "row" }, d.text), h("td", { class: "number" }, d.votes ? count(d.votes) : "more than " + count(d.most)))))))
          : h("p", { class: "muted" }, r.votes ? "Being simulated from the model's own distributions …" : "Simulated from the model's own distributions once there are votes.")));
  };
  await draw();
  const timer = setInterval(() => document.visibilityState === "visible" && draw().catch(() => {}), 5000);
  return { refresh: draw, end: () => clearInterval(timer) };
}

const odds = (x) => (x >= 1e6 ? x.toExponential(0) : x >= 10 ? count(x) : x.toPrecision(2)) + " : 1";

// table lists the evidence of bets, groups or raters.
function table(title, name, list, votes, note) {
  return h("section", {}, h("h2", {}, title), note && h("p", {}, note), h("div", { class: "table" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, name), h("th", { scope: "col" }, votes ? "Leading finding" : "It would mean that"), votes && h("th", { scope: "col", class: "number" }, "Votes"),
      h("th", { scope: "col", class: "number" }, "Beyond tolerance"), h("th", { scope: "col", class: "number" }, "Exact"))),
    h("tbody", {}, list.map((s) => h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, s.name)), h("td", {}, s.text), votes && h("td", { class: "number" }, count(s.votes)),
      h("td", { class: "number" }, odds(s.tolerant)), h("td", { class: "number" }, odds(s.strict))))))));
}

// chart draws the running evidence in the width of the page, so that its text keeps its size.
function chart(r, page) {
  const width = Math.max(300, Math.min(page - 40, 900)), height = 260, left = 56, right = 12, top = 12, bottom = 34;
  const log = (x) => Math.log10(Math.max(x, 1e-3));
  let lo = -1, hi = Math.log10(r.alarm_at) + 0.3;
  for (const p of r.history) [lo, hi] = [Math.min(lo, log(p.tolerant), log(p.strict)), Math.max(hi, log(p.tolerant), Math.min(log(p.strict), 8))];
  const last = Math.max(1, r.votes);
  const x = (n) => left + (n / last) * (width - left - right);
  const y = (v) => top + ((hi - Math.min(hi, v)) / (hi - lo)) * (height - top - bottom);
  const path = (pick) => "M" + r.history.map((p) => `${x(p.votes).toFixed(1)},${y(log(pick(p))).toFixed(1)}`).join("L");
  const ticks = [];
  for (let k = Math.ceil(lo); k <= hi; k += Math.max(1, Math.round((hi - lo) / 6))) ticks.push(k);
  return h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Running evidence over ${r.votes} votes; now ${odds(r.evidence.tolerant)} beyond the tolerated bias` },
    ticks.map((k) => [h("line", { class: "grid", x1: left, x2: width - right, y1: y(k), y2: y(k) }), h("text", { class: "tick last", x: left - 8, y: y(k) + 4 }, k < 0 ? (10 ** k).toFixed(-k) : k < 6 ? count(10 ** k) : "1e" + k)]),
    [[r.note_at, "note"], [r.alarm_at, "alarm"]].map(([at, label]) => [h("line", { class: "level", x1: left, x2: width - right, y1: y(log(at)), y2: y(log(at)) }),
      h("text", { class: "tick last", x: width - right, y: y(log(at)) - 4 }, label)]),
    h("path", { class: "evidence strict", d: path((p) => p.strict) }), h("path", { class: "evidence", d: path((p) => p.tolerant) }),
    h("text", { class: "tick", x: left, y: height - 8 }, "0"), h("text", { class: "tick last", x: width - right, y: height - 8 }, plural(r.votes, "vote")));
}
