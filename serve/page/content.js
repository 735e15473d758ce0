// The content of an item: its texts, images, volumes and numbers.

import { get } from "./api.js";
import { h, show, number } from "./dom.js";

// content shows the features of an item.
export function content(item) {
  const few = (kind) => item.features.filter((f) => f.kind === kind);
  const rows = [...item.features.filter((f) => f.kind === "numeric" || f.kind === "categorical" || f.kind === "vector"),
    ...(item.groups ?? []).map((g) => ({ name: g.name, kind: "categorical", text: g.value }))];
  const alone = few("text").length + few("image").length + few("volume").length === 1;
  return [
    few("text").map((f) => h("section", { class: "document" },
      alone ? null : h("h3", {}, h("bdi", {}, f.name)),
      h("div", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": f.name }, f.text || h("span", { class: "muted" }, "no text")))),
    few("image").map((f) => h("figure", { class: "picture" },
      h("img", { src: address(item, f), alt: `Image ${f.name} of item ${item.item}`, width: f.shape[2], height: f.shape[1], class: f.shape[2] < 300 ? "small" : "" }),
      alone ? null : h("figcaption", {}, h("bdi", {}, f.name)))),
    few("volume").map((f) => volume(item, f)),
    rows.length > 0 && h("div", { class: "table" }, h("table", { class: "features" }, h("tbody", {},
      rows.map((f) => h("tr", {}, h("th", { scope: "row" }, h("bdi", {}, f.name)), h("td", {}, value(f))))))),
    item.features.length === 0 && rows.length === 0 && h("p", { class: "muted" }, "The model uses no features of this item."),
  ];
}

function value(f) {
  if (f.kind === "vector") return h("span", { class: "muted" }, f.shape.join(" × ") + " numbers");
  if (f.kind === "categorical") return f.text ? h("bdi", {}, f.text) : h("span", { class: "muted" }, "missing");
  if (f.value === undefined) return h("span", { class: "muted" }, "missing");
  return String(Number(f.value.toPrecision(6))).replace("-", "−");
}

function address(item, f, axis, slice) {
  const q = new URLSearchParams({ id: item.item, part: f.part });
  if (axis !== undefined) {
    q.set("axis", axis);
    q.set("slice", slice);
  }
  return "api/v1/item/image?" + q;
}

const planes = ["sagittal", "coronal", "axial"];

// volume shows three slices that can be moved.
function volume(item, f) {
  return h("figure", { class: "volume" },
    h("div", { class: "slices" }, [2, 1, 0].map((axis) => {
      const n = f.shape[1 + axis];
      const rest = [1, 2, 3].filter((k) => k !== 1 + axis).map((k) => f.shape[k]);
      const at = h("span", { class: "muted" });
      const img = h("img", { alt: "", width: rest[0], height: rest[1], class: "small" });
      const go = (k) => {
        img.src = address(item, f, axis, k);
        img.alt = `${planes[axis]} slice ${k + 1} of ${n} of ${f.name}, item ${item.item}`;
        show(at, `${planes[axis]} ${k + 1} of ${n}`);
      };
      const slider = h("input", { type: "range", min: 0, max: n - 1, value: Math.floor(n / 2), "aria-label": `${planes[axis]} slice`,
        oninput: (event) => go(Number(event.target.value)) });
      go(Math.floor(n / 2));
      return h("div", { class: "slice" }, img, slider, at);
    })));
}

// marked shows the texts of an item with the words that moved the prediction of a class most.
export async function marked(item, cls) {
  const found = await get("item/words", { id: item.item, class: cls });
  const texts = found.texts.filter((t) => t.words.length > 0);
  if (texts.length === 0) return h("p", { class: "muted" }, "No single word moved the prediction by more than half a percentage point.");
  return [h("h3", {}, "Words that moved the prediction most"),
    texts.map((t) => {
      const f = item.features.find((x) => x.part === t.part);
      return h("div", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": `${f.name}, words marked` }, highlight(f.text, t.words));
    }),
    h("p", { class: "muted" }, h("mark", { class: "up" }, "for"), " and ", h("mark", { class: "down" }, "against"), " ", h("bdi", {}, found.class),
      ": ", texts.flatMap((t) => t.words).slice(0, 5).flatMap((w, i) => [i ? ", " : "", h("bdi", {}, w.word), ` ${w.effect > 0 ? "+" : "−"}${number(Math.abs(w.effect))}`]),
      ". The change of the mean probability when the word is left out.")];
}

// highlight marks whole words of a text.
function highlight(text, words) {
  const effects = new Map(words.map((w) => [w.word, w.effect]));
  const quoted = words.map((w) => w.word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).sort((a, b) => b.length - a.length);
  const dense = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
  const spaced = quoted.filter((w) => !new RegExp(`[${dense}]`, "u").test(w));
  const others = quoted.filter((w) => !spaced.includes(w));
  const alternatives = [...(spaced.length ? [`(?<![\\p{L}\\p{M}\\p{Nd}])(?:${spaced.join("|")})(?![\\p{L}\\p{M}\\p{Nd}])`] : []), ...others];
  const out = [];
  let at = 0;
  for (const m of text.matchAll(new RegExp(alternatives.join("|"), "giu"))) {
    const e = effects.get(m[0].toLowerCase());
    if (e === undefined) continue;
    out.push(text.slice(at, m.index), h("mark", { class: e > 0 ? "up" : "down", title: `${e > 0 ? "+" : "−"}${number(Math.abs(e))}` }, m[0]));
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}

// votes lists the number of votes for each class, or reports that they are hidden.
export function votes(item, classes) {
  if (item.hidden) return h("p", { class: "muted" }, "Others have voted on this item. Their votes are shown after you have voted.");
  const v = item.votes;
  const total = v ? v.counts.reduce((a, b) => a + b, 0) : 0;
  if (total === 0 && !v?.cannot_tell) return h("p", { class: "muted" }, "No votes yet.");
  const most = Math.max(...v.counts);
  return h("ul", { class: "votes" }, v.counts.map((n, i) => n > 0 && h("li", {},
    h("bdi", {}, classes[i]), h("progress", { max: most, value: n, "aria-hidden": "true" }), h("b", {}, number(n, Number.isInteger(n) ? 0 : 1)))),
  v.cannot_tell > 0 && h("li", { class: "muted" }, "cannot tell", h("span"), h("b", {}, String(v.cannot_tell))));
}
