// The dialog of one item: content, distribution, votes, and the effect of hypothetical votes.

import { get, post } from "./api.js";
import { h, show, later, number, percent } from "./dom.js";
import { density, table, of } from "./density.js";
import { content, votes, marked } from "./content.js";
import { rater, say, onSent } from "./votes.js";
import { state } from "./state.js";

// openItem shows an item in a dialog.
export async function openItem(id, { onClose, onVote }) {
  const body = h("div", { class: "item" }, h("p", { class: "muted" }, "Loading …"));
  const close = h("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×");
  const dialog = h("dialog", { class: "wide", "aria-labelledby": "item-title" },
    h("header", {}, h("h2", { id: "item-title" }, "Item ", h("bdi", {}, id)), close), body);
  let stop = () => {};
  dialog.addEventListener("close", () => {
    stop();
    dialog.remove();
    onClose?.();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  const view = new ItemView(id, body);
  stop = onSent((vote) => {
    if (vote.item !== id) return;
    if (vote.label) view.class = vote.label;
    view.load();
    onVote?.();
  });
  await view.load();
  document.documentElement.dataset.item = id;
}

class ItemView {
  constructor(id, body) {
    this.id = id;
    this.body = body;
    this.more = {};
    this.class = "";
    this.ask = later(() => this.whatIf(), 40);
    this.asked = 0;
  }

  async load() {
    let item;
    try {
      item = await get("item", { id: this.id, rater: rater(), class: this.class });
    } catch (e) {
      show(this.body, h("p", { class: "bad", role: "alert" }, e.status ? e.message : "The server cannot be reached."));
      return;
    }
    this.item = item;
    this.figure = h("div", { class: "dist" });
    this.words = h("div", { class: "moved" });
    const classes = state.classes;
    show(this.body,
      h("div", { class: "columns" },
        h("div", {}, content(item), this.words),
        h("div", {},
          item.error ? h("p", { class: "bad" }, "No prediction: " + item.error) : this.figure,
          h("h3", {}, "Votes so far"), votes(item, classes),
          this.vote(),
          item.now && this.whatIfForm(classes))));
    if (item.now) this.draw(item.now, item.before);
    if (item.now && item.features.some((f) => f.kind === "text")) {
      try {
        show(this.words, await marked(item, item.now.of));
      } catch { /* the text itself is shown */ }
    }
  }

  draw(dist, before, beforeLabel = "before your vote") {
    const c = of(dist);
    show(this.figure,
      state.classes.length > 2 && h("label", {}, "Probability of ", h("select", { id: "density-class", onchange: (e) => { this.class = e.target.value; this.load(); } },
        state.classes.map((x) => h("option", { value: x, selected: x === dist.of }, x)))),
      h("figure", {}, density(dist, { before, beforeLabel }),
        h("figcaption", {}, "Probability of ", h("b", {}, h("bdi", {}, dist.of)), `: mean ${number(c.mean)}, ${percent(dist.level)} interval ${number(c.lower)} to ${number(c.upper)}.`,
          before ? ` Dashed: ${beforeLabel}.` : null,
          this.item.hidden ? " The votes of others are hidden until you vote and not included." : null)),
      table(dist, before));
  }

  // vote offers to vote on the item, if the server keeps votes and knows who asks.
  vote() {
    if (!state.takesVotes || this.item.error) return null;
    const me = rater();
    if (!me) return h("p", { class: "muted" }, "To vote, go to the ", h("a", { href: "./#queue" }, "queue"), " and enter your name.");
    const own = this.item.own;
    const before = own?.earlier ? "You voted earlier: " : "You voted: ";
    const label = own ? (own.cannot_tell ? before + "cannot tell." : [before, h("bdi", {}, own.label), own.earlier ? ". A vote here replaces it:" : "."]) : "Your vote:";
    return h("div", { class: "own" }, h("p", {}, label),
      h("div", { class: "choices" }, own && !own.earlier
        ? h("button", { type: "button", onclick: () => say(this.id, me, { undo: true }) }, "Withdraw")
        : [state.classes.map((c) => h("button", { type: "button", onclick: () => say(this.id, me, { label: c }) }, h("bdi", {}, c))),
          h("button", { type: "button", class: "plain", onclick: () => say(this.id, me, { cannot_tell: true }) }, "Cannot tell")]));
  }

  // whatIfForm asks how many more votes for each class are to be imagined.
  whatIfForm(classes) {
    const few = classes.length <= 8 ? classes : this.item.now.classes.slice().sort((a, b) => b.mean - a.mean).slice(0, 8).map((c) => c.class);
    const row = (c) => {
      const n = h("output", {}, String(this.more[c] ?? 0));
      const step = (by) => () => {
        this.more[c] = Math.min(50, Math.max(0, (this.more[c] ?? 0) + by));
        n.textContent = String(this.more[c]);
        this.ask();
      };
      return h("li", {}, h("bdi", {}, c), h("span", { class: "stepper" },
        h("button", { type: "button", "aria-label": "one fewer for " + c, onclick: step(-1) }, "−"), n,
        h("button", { type: "button", "aria-label": "one more for " + c, onclick: step(1) }, "+")));
    };
    return h("section", { class: "whatif", "aria-label": "What if" }, h("h3", {}, "What if more raters voted …"), h("ul", {}, few.map(row)));
  }

  async whatIf() {
    const votes = Object.fromEntries(Object.entries(this.more).filter(([, n]) => n > 0));
    const turn = ++this.asked;
    if (Object.keys(votes).length === 0) {
      this.draw(this.item.now, this.item.before);
      return;
    }
    try {
      const dist = await post("item/posterior", { item: this.id, rater: rater() || undefined, votes, class: this.class || this.item.now.of });
      if (turn === this.asked) this.draw(dist, this.item.now, "current");
    } catch (e) {
      if (turn === this.asked) show(this.figure, h("p", { class: "bad", role: "alert" }, e.status ? e.message : "The server cannot be reached."));
    }
  }
}
