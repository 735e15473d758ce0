// All items: the figure, filters, and the list.

import { get } from "./api.js";
import { h, show, count, plural, number, later, percent } from "./dom.js";
import { rater } from "./votes.js";
import { Scatter, groups } from "./scatter.js";
import { openItem } from "./item.js";

const pageSize = 50;

const orders = {
  value: { label: "value of a vote, largest first", key: (d, i) => d.gain[i] },
  width: { label: "width, largest first", key: (d, i) => d.upper[i] - d.lower[i] },
  mean: { label: "probability, largest first", key: (d, i) => d.mean[i] },
  unsure: { label: "p_top, smallest first", key: (d, i) => -d.p_top[i] },
  input: { label: "order of the file", key: null },
};

// ranges are the filters by a number.
const ranges = [
  { name: "mean", label: "Probability", of: (d, i) => d.mean[i] },
  { name: "width", label: "Width", of: (d, i) => d.upper[i] - d.lower[i] },
  { name: "top", label: "p_top", title: "Probability that the predicted class is the top class", of: (d, i) => d.p_top[i] },
];

class Items {
  constructor(main, query) {
    this.main = main;
    this.filter = { class: query.get("class") ?? "", order: "value", shown: pageSize, facets: {} };
    for (const r of ranges) {
      this.filter[r.name] = [Number(query.get("min_" + r.name) ?? 0), Number(query.get("max_" + r.name) ?? 1)];
    }
    this.filter.agreement = query.get("agreement") ?? "";
    this.filter.predicted = query.get("predicted") ?? "";
    this.filter.contains = "";
    this.scatter = new Scatter({
      onBrush: (b) => this.brushed(b),
      onOpen: (i) => this.open(this.data.items[i]),
    });
    this.status = h("p", { class: "found", role: "status", "aria-live": "polite" });
    this.legend = h("ul", { class: "legend" });
    this.list = h("div", { class: "table" });
    this.soon = later(() => this.apply(), 30);
    this.found = null; // the items that contain what was searched for
    this.searchSoon = later(() => this.search(), 150);
  }

  async start() {
    this.data = await get("items/points", { class: this.filter.class, rater: rater() });
    if (this.data.items.length === 0) {
      show(this.main, h("h1", {}, "Items"), h("p", {}, "None of the items can be predicted: see the overview for the reason."));
      return;
    }
    this.controls = this.filters();
    show(this.main, h("h1", {}, "Items"),
      h("div", { class: "split" },
        h("div", {},
          h("figure", {}, this.scatter.element, this.legend,
            h("figcaption", {}, "Each point is an item; narrow intervals are at the bottom. Drag to select a region, click a point to open the item."))),
        this.controls),
      this.status, this.list);
    this.apply();
  }

  // refresh takes in what changed on the server.
  async refresh() {
    this.data = await get("items/points", { class: this.filter.class, rater: rater() });
    this.apply();
  }

  // search asks the server which items contain a string, in their ids or texts.
  async search() {
    const f = this.filter, text = f.contains;
    if (text === "") {
      this.found = null;
    } else {
      const { items } = await get("items/search", { contains: text });
      if (text !== f.contains) return; // another search has begun
      this.found = new Set(items);
    }
    f.shown = pageSize;
    this.apply();
  }

  filters() {
    const d = this.data, f = this.filter;
    const change = (set) => (event) => {
      set(event.target);
      f.shown = pageSize;
      this.soon();
    };
    const select = (id, label, value, options, set) => h("label", {}, label,
      h("select", { id, onchange: change((t) => set(t.value)) },
        options.map(([v, text]) => h("option", { value: v, selected: v === value }, text))));
    this.inputs = {};
    const range = (r) => {
      const end = (k) => this.inputs[r.name + k] = h("input", { type: "number", min: 0, max: 1, step: 0.01, value: f[r.name][k],
        "aria-label": `${r.label}, ${k === 0 ? "at least" : "at most"}`,
        oninput: change((t) => { f[r.name][k] = t.value === "" ? k : Math.min(1, Math.max(0, Number(t.value))); }) });
      return h("fieldset", { class: "range", title: r.title }, h("legend", {}, r.label), end(0), h("span", { "aria-hidden": "true" }, "to"), end(1));
    };
    return h("form", { class: "filters", "aria-label": "Filters", onsubmit: (e) => e.preventDefault() },
      h("label", {}, "Item or text contains", h("input", { type: "search", id: "contains", value: f.contains, maxlength: 200, oninput: (event) => { f.contains = event.target.value.trim(); this.searchSoon(); } })),
      d.classes.length > 2 && select("class", "Probability of", d.class, d.classes.map((c) => [c, c]), (v) => { f.class = v; this.refresh(); }),
      select("predicted", "Predicted class", f.predicted, [["", "any"], ...d.classes.map((c) => [c, c])], (v) => { f.predicted = v; }),
      select("agreement", "Votes so far", f.agreement, [["", "any"], ...groups.map((g, i) => [String(i), g.label(d.class)])], (v) => { f.agreement = v; }),
      d.facets.map((x, k) => select("facet" + k, x.name, f.facets[k] ?? "", [["", "any"], ...x.levels.map((l, c) => [String(c), l])], (v) => { f.facets[k] = v; })),
      ranges.map(range),
      h("button", { type: "button", onclick: () => this.clear() }, "Clear filters"));
  }

  clear() {
    const f = this.filter;
    Object.assign(f, { agreement: "", predicted: "", contains: "", facets: {}, shown: pageSize });
    for (const r of ranges) f[r.name] = [0, 1];
    this.found = null;
    const fresh = this.filters();
    this.controls.replaceWith(fresh);
    this.controls = fresh;
    this.apply();
  }

  brushed(b) {
    const f = this.filter;
    const outward = (range) => [Math.floor(100 * range[0]) / 100, Math.ceil(100 * range[1]) / 100];
    f.mean = b ? outward(b.mean) : [0, 1];
    f.width = b ? outward(b.width) : [0, 1];
    f.shown = pageSize;
    for (const r of ["mean", "width"]) [0, 1].forEach((k) => { this.inputs[r + k].value = f[r][k]; });
    this.apply();
  }

  // pass returns the numbers of the items that pass all filters.
  pass() {
    const d = this.data, f = this.filter;
    const tests = [];
    for (const r of ranges) {
      const [lo, hi] = f[r.name];
      if (lo > 0 || hi < 1) tests.push((i) => { const x = r.of(d, i); return x >= lo - 1e-9 && x <= hi + 1e-9; });
    }
    if (f.predicted !== "") {
      const c = d.classes.indexOf(f.predicted);
      tests.push((i) => d.predicted[i] === c);
    }
    if (f.agreement !== "") tests.push((i) => d.agreement[i] === Number(f.agreement));
    for (const [k, v] of Object.entries(f.facets)) if (v !== "") tests.push((i) => d.facets[k].codes[i] === Number(v));
    if (this.found) tests.push((i) => this.found.has(d.items[i]));
    const list = [];
    for (let i = 0; i < d.items.length; i++) if (tests.every((t) => t(i))) list.push(i);
    return list;
  }

  apply() {
    const began = performance.now();
    const d = this.data, f = this.filter;
    const list = this.pass();
    const b = f.mean[0] > 0 || f.mean[1] < 1 || f.width[0] > 0 || f.width[1] < 1 ? { mean: f.mean, width: f.width } : null;
    this.scatter.show(d, list, b);
    const sums = groups.map(() => 0);
    for (const i of list) sums[d.agreement[i]]++;
    show(this.legend, groups.map((g, k) => sums[k] > 0 && h("li", {}, h("span", { class: "dot s" + k, "aria-hidden": "true" }), h("bdi", {}, g.label(d.class)), ` (${count(sums[k])})`)));
    show(this.status, list.length === d.items.length ? plural(list.length, "item") : `${count(list.length)} of ${plural(d.items.length, "item")}`,
      d.without_prediction > 0 && h("span", { class: "muted" }, `; ${count(d.without_prediction)} cannot be predicted`));
    this.rows(list);
    const root = document.documentElement.dataset;
    root.filterMs = (performance.now() - began).toFixed(1);
    root.ready = "items";
  }

  rows(list) {
    const d = this.data, f = this.filter, o = orders[f.order];
    if (o.key) {
      const keys = new Float64Array(d.items.length);
      for (const i of list) keys[i] = o.key(d, i);
      list = Uint32Array.from(list).sort((a, b) => keys[b] - keys[a] || a - b);
    }
    const order = h("label", {}, "Order ", h("select", { id: "order", onchange: (e) => { f.order = e.target.value; this.apply(); } },
      Object.entries(orders).map(([k, x]) => h("option", { value: k, selected: k === f.order }, x.label))));
    const head = (text, title) => h("th", { scope: "col", class: "number", title }, text);
    const some = Array.from(list.slice(0, f.shown));
    show(this.list, h("div", { class: "listhead" }, order),
      h("table", { class: "items" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Item"), h("th", { scope: "col" }, "Predicted"), head("Mean"),
          head(percent(d.level) + " interval"), head("p_top", "Probability that the predicted class is the top class"),
          head("Votes"), head("Value of a vote", "Expected reduction in variance by one more vote"))),
        h("tbody", {}, some.map((i) => h("tr", {},
          h("th", { scope: "row" }, h("button", { type: "button", class: "link", title: d.items[i], onclick: () => this.open(d.items[i]) }, h("bdi", {}, d.items[i]))),
          h("td", {}, h("bdi", {}, d.classes[d.predicted[i]])),
          h("td", { class: "number" }, number(d.mean[i])),
          h("td", { class: "number" }, h("span", { class: "nowrap" }, `${number(d.lower[i])} to ${number(d.upper[i])}`)),
          h("td", { class: "number" }, number(d.p_top[i])),
          h("td", { class: "number" }, d.agreement[i] === 4 ? h("span", { class: "muted" }, "hidden") : number(d.votes[i], Number.isInteger(d.votes[i]) ? 0 : 1)),
          h("td", { class: "number" }, number(d.gain[i], 4)))))),
      list.length > f.shown && h("p", {}, h("button", { type: "button", onclick: () => { f.shown += pageSize; this.apply(); } }, `Show ${Math.min(pageSize, list.length - f.shown)} more`)));
  }

  // open shows an item. The address names it, as an entry of its own in the history, so that the browser's Back
  // returns to the list as it was.
  open(id) {
    const q = new URLSearchParams(location.hash.split("?")[1] ?? "");
    if (q.get("item") !== id) {
      q.set("item", id);
      history.pushState({ opened: true }, "", "#items?" + q);
    }
    this.shownItem = id;
    openItem(id, {
      onClose: () => {
        if (this.shownItem === id) this.shownItem = null;
        const [view, query] = location.hash.split("?");
        const rest = new URLSearchParams(query ?? "");
        if (view !== "#items" || rest.get("item") !== id) return; // the reader has gone elsewhere
        if (history.state?.opened) {
          history.back();
          return;
        }
        rest.delete("item");
        history.replaceState(null, "", "#items" + (rest.size ? "?" + rest : ""));
      },
      onVote: () => this.refresh(),
    });
  }

  // moved follows the address from the list to an item or back, and reports whether nothing else has changed.
  moved(before, query) {
    const rest = (q) => { const r = new URLSearchParams(q); r.delete("item"); return r.toString(); };
    if (rest(before) !== rest(query)) return false;
    const id = query.get("item");
    if (id === this.shownItem) return true;
    this.shownItem = null;
    for (const d of document.querySelectorAll("dialog.wide")) {
      d.close();
      d.remove(); // its close event comes later
    }
    if (id) this.open(id);
    return true;
  }
}

export async function items(main, query) {
  const view = new Items(main, query);
  await view.start();
  if (query.get("item")) view.open(query.get("item"));
  return { refresh: () => view.refresh(), moved: (before, now) => view.moved(before, now) };
}
