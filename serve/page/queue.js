// The queue: items by the value of a vote, one at a time, voted on by keyboard or touch. Neither the votes
// of others nor the prediction of the model are shown before the rater has voted.

import { get, post } from "./api.js";
import { h, show, count, plural, number, percent, notice } from "./dom.js";
import { content, votes, marked } from "./content.js";
import { density, of } from "./density.js";
import { rater, setRater, suggested, say, onSent, waiting } from "./votes.js";
import { state } from "./state.js";
import { assign } from "./keys.js";
import { markdown } from "./markdown.js";

const ahead = 3; // items that are loaded in advance

class Queue {
  constructor(main) {
    this.main = main;
    this.loaded = new Map(); // id → promise of the item
    this.list = [];
    this.front = null; // an item that comes before all others, after undo
    this.current = null;
    this.shortcuts = assign(state.classes);
    this.progress = h("div", { class: "progress" });
    this.card = h("section", { class: "card ask", "aria-label": "Item to vote on", "aria-live": "polite" });
    this.choices = h("div", { class: "choices", role: "group", "aria-label": "Your vote" });
    this.last = h("section", { class: "last", "aria-label": "Your last vote", "aria-live": "polite" });
  }

  // done is what the rater did in this tab, the last at the end, so that it can be undone.
  get done() {
    try { return JSON.parse(sessionStorage.getItem("credence-done-" + rater())) ?? []; } catch { return []; }
  }

  set done(list) { sessionStorage.setItem("credence-done-" + rater(), JSON.stringify(list.slice(-100))); }

  async start() {
    if (!rater()) {
      await this.askName();
      return;
    }
    const how = await instructions();
    show(this.main, h("h1", {}, "Queue"), this.progress, how && h("details", { class: "card how" }, h("summary", {}, "Instructions"), markdown(how)),
      h("div", { class: "columns queue" }, h("div", {}, this.card, this.choices), this.last),
      h("p", { class: "muted export" }, "Votes of all raters: ", h("a", { href: "api/v1/votes/export?format=csv", download: "votes.csv" }, "CSV"), " for ",
        h("code", {}, "credence train --votes"), ", or ", h("a", { href: "api/v1/votes/export?format=labelstudio", download: "votes-labelstudio.json" }, "Label Studio JSON"), "."));
    show(this.last, h("h2", {}, "After you vote"), h("p", { class: "muted" },
      "The distribution of the item you voted on appears here, before and after your vote, with the votes of others. It is hidden until then, so that it does not influence you."));
    this.offer();
    this.stop = onSent((vote, refused) => this.sent(vote, refused));
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
    await this.refresh();
  }

  end() {
    this.stop?.();
    clearTimeout(this.retry);
    document.removeEventListener("keydown", this.keys);
  }

  // askName asks under which name votes are cast; one is offered.
  async askName() {
    const [known, how] = await Promise.all([get("queue/raters"), instructions()]);
    const input = h("input", { id: "rater", list: "raters", value: suggested(), maxlength: 64, required: true, autocomplete: "nickname", spellcheck: "false", oninput: () => { asked = ""; show(wrong); } });
    const wrong = h("div", { class: "same", role: "alert" });
    let asked = ""; // a name that resembles a known one, and that the rater was asked about
    const begin = (name) => {
      setRater(name);
      dispatchEvent(new Event("hashchange"));
    };
    show(this.main, h("h1", {}, "Queue"),
      h("form", { class: "card name", onsubmit: async (event) => {
        event.preventDefault();
        const text = input.value.trim();
        if (!text || /[\u0000-\u001f\u007f]/.test(text)) {
          show(wrong, h("p", { class: "bad" }, "Please enter a name without control characters."));
          return;
        }
        const { like } = await get("queue/raters", { name: text });
        if (like && asked !== text) {
          asked = text;
          show(wrong, h("p", {}, "There are votes of ", h("b", {}, h("bdi", {}, like)), ". Is that you? Votes under another name count as those of another person."),
            h("p", {}, h("button", { type: "button", id: "same", class: "strong", onclick: () => begin(like) }, "Yes, I am ", h("bdi", {}, like)), " ",
              h("button", { type: "button", id: "different", onclick: () => begin(text) }, "No, I am ", h("bdi", {}, text))));
          return;
        }
        begin(text);
      } },
      h("p", {}, "The most informative items come first. You vote under a name, so that your vote counts once and you can withdraw it."),
      how && h("section", { class: "how", "aria-label": "Instructions" }, markdown(how)),
      h("label", { for: "rater" }, "Your name"), input, h("datalist", { id: "raters" }, known.names.map((n) => h("option", { value: n }))), wrong,
      h("p", {}, h("button", { type: "submit", class: "strong", autofocus: true }, "Start voting"))));
    this.main.querySelector("button[type=submit]").focus({ preventScroll: true });
    document.documentElement.dataset.ready = "queue";
  }

  // offer shows the buttons.
  offer() {
    const key = (text) => h("kbd", {}, text);
    show(this.choices,
      h("div", { class: "classes" }, state.classes.map((c, i) => h("button", { type: "button", class: "class", "data-class": c, "aria-keyshortcuts": this.shortcuts.classes[i], onclick: () => this.vote({ label: c }) },
        this.shortcuts.classes[i] && key(this.shortcuts.classes[i]), h("bdi", {}, c)))),
      h("div", { class: "others" },
        h("button", { type: "button", id: "cannot-tell", "aria-keyshortcuts": this.shortcuts.cannotTell, onclick: () => this.vote({ cannot_tell: true }) }, key(this.shortcuts.cannotTell), "Cannot tell"),
        h("button", { type: "button", id: "skip", "aria-keyshortcuts": "S", onclick: () => this.skip() }, key("S"), "Skip"),
        h("button", { type: "button", id: "undo", "aria-keyshortcuts": "U", onclick: () => this.undo() }, key("U"), "Undo")));
  }

  key(event) {
    const t = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || document.querySelector("dialog[open]")) return;
    if (t instanceof Element && (t.matches("select, textarea") || t.matches("input") && t.type !== "range")) return;
    const voted = this.shortcuts.classes.indexOf(event.key);
    if (voted >= 0) this.vote({ label: state.classes[voted] });
    else if (event.key.toUpperCase() === this.shortcuts.cannotTell) this.vote({ cannot_tell: true });
    else if (event.key === "s" || event.key === "S") this.skip();
    else if (event.key === "u" || event.key === "U" || event.key === "Backspace") this.undo();
    else return;
    event.preventDefault();
  }

  // refresh asks for the queue as it is now, and shows its first item if none is shown.
  async refresh() {
    let q;
    try {
      q = await get("queue", { rater: rater(), limit: 20 });
    } catch (e) {
      // Without an answer, or while a server that was started again predicts the items, the next
      // turn may do better.
      if (!e.status || e.status === 503 || e.status === 429) this.stuck();
      else notice(e.message, "bad");
      return;
    }
    const kept = new Set(waiting().filter((v) => v.rater === rater()).map((v) => v.item));
    this.list = q.items.filter((x) => !kept.has(x.item));
    this.showProgress(q.progress);
    for (const x of this.list.slice(0, ahead)) this.load(x.item);
    if (!this.current) await this.next();
    document.documentElement.dataset.ready = "queue";
  }

  showProgress(p) {
    const less = p.variance_first > 0 ? Math.max(0, 1 - p.variance / p.variance_first) : 0;
    show(this.progress,
      h("p", {}, "You: ", h("b", {}, plural(p.own, "item")), ", ", h("span", {}, count(p.left) + " left"),
        h("span", { class: "muted" }, `. All raters: ${plural(p.votes, "vote")} by ${plural(p.raters, "rater")}.`)),
      h("p", { class: "muted" }, "Uncertainty removed so far: ", h("b", {}, percent(less, 1)), h("progress", { max: 1, value: less, "aria-label": "uncertainty removed" })),
      p.left > 0 ? h("p", { class: "muted" }, "Expected reduction by the next vote: ", h("b", {}, percent(p.variance > 0 ? p.next_gain / p.variance : 0, p.items > 500 ? 3 : 2)), " of the remaining uncertainty") : null);
  }

  load(id) {
    if (!this.loaded.has(id)) {
      const p = get("item", { id, rater: rater() });
      p.catch(() => this.loaded.delete(id));
      this.loaded.set(id, p);
      if (this.loaded.size > 40) this.loaded.delete(this.loaded.keys().next().value);
    }
    return this.loaded.get(id);
  }

  // next shows the item that comes first.
  async next() {
    const id = this.front ?? this.list.find((x) => x.item !== this.current?.item)?.item;
    this.front = null;
    if (id === undefined) {
      this.current = null;
      this.choices.hidden = true;
      show(this.card, h("h2", {}, "All done"), h("p", {}, "No items are left for you: you have voted on them, or they have as many votes as were asked for. Undo withdraws your last vote."),
        h("button", { type: "button", onclick: () => this.undo() }, "Undo"));
      return;
    }
    this.choices.hidden = false;
    this.current = { id };
    const rank = this.list.find((x) => x.item === id)?.rank;
    try {
      const item = await this.load(id);
      if (this.current?.id !== id) return;
      this.current = item;
      show(this.card, h("header", {}, h("h2", {}, h("bdi", {}, id)),
        h("p", { class: "muted" }, rank === 1 ? "Most informative item." : rank ? `Rank ${count(rank)} of all items by the value of a vote.` : "")),
      content(item));
      this.card.dataset.item = id;
      scrollTo({ top: 0 });
    } catch (e) {
      if (e.status && e.status !== 503 && e.status !== 429) show(this.card, h("p", { class: "bad" }, e.message));
      else this.stuck();
    }
  }

  // stuck shows that nothing can be loaded, and continues when it can.
  stuck() {
    if (!this.current?.item) {
      this.current = null;
      show(this.card, h("p", {}, "The server cannot be reached. Your votes are stored on this device; the next item appears as soon as the server responds."));
    }
    clearTimeout(this.retry);
    this.retry = setTimeout(() => { if (document.contains(this.card)) this.refresh(); }, 1500);
  }

  vote(what) {
    if (!this.current?.item) return;
    const id = this.current.item;
    this.done = [...this.done, { item: id, ...what }];
    say(id, rater(), what);
    this.leave(id);
    show(this.last, h("h2", {}, "Your last vote"), this.said(id, what), h("p", { class: "muted" }, "Sending …"));
  }

  async skip() {
    if (!this.current?.item) return;
    const id = this.current.item;
    this.done = [...this.done, { item: id, skip: true }];
    this.leave(id);
    show(this.last, h("h2", {}, "Skipped"), h("p", {}, h("bdi", {}, id), " will be shown again after all others."));
    try {
      await post("queue/skip", { item: id, rater: rater() });
    } catch (e) {
      if (e.status) show(this.last, h("p", { class: "bad" }, e.message));
    }
    this.refresh();
  }

  // leave goes on to the next item.
  leave(id) {
    this.list = this.list.filter((x) => x.item !== id);
    this.loaded.delete(id);
    this.next();
  }

  undo() {
    const done = this.done, what = done.pop();
    if (!what) {
      show(this.last, h("h2", {}, "Undo"), h("p", { class: "muted" }, "There is nothing to undo in this tab."));
      return;
    }
    this.done = done;
    if (!what.skip) say(what.item, rater(), { undo: true });
    show(this.last, h("h2", {}, "Withdrawn"), h("p", {}, h("bdi", {}, what.item), what.skip ? " is shown again." : [" is shown again. Your vote was ", h("b", {}, what.cannot_tell ? "cannot tell" : what.label), "."]));
    this.loaded.delete(what.item);
    this.front = what.item;
    this.list = this.list.filter((x) => x.item !== what.item);
    this.next();
  }

  said(id, what) {
    return h("p", {}, h("bdi", {}, id), ": ", h("b", {}, what.cannot_tell ? "cannot tell" : h("bdi", {}, what.label)));
  }

  // sent shows what a vote changed, once the server has it.
  async sent(vote, refused) {
    if (vote.rater !== rater() || refused) return;
    this.refresh();
    if (vote.undo) return;
    try {
      const item = await get("item", { id: vote.item, rater: rater(), class: vote.label });
      show(this.last, h("h2", {}, "Your last vote"), this.said(vote.item, vote),
        item.before ? this.change(item) : null,
        vote.label && item.features.some((f) => f.kind === "text") ? h("div", { class: "moved" }, await marked(item, vote.label)) : null,
        h("h3", {}, "Votes so far"), votes(item, state.classes));
      document.documentElement.dataset.sent = vote.key;
    } catch {
      show(this.last, h("h2", {}, "Your last vote"), this.said(vote.item, vote), h("p", { class: "muted" }, "Saved. Its effect cannot be shown right now."));
    }
  }

  change(item) {
    const a = of(item.before), b = of(item.now);
    const less = (a.upper - a.lower) - (b.upper - b.lower);
    return h("figure", { class: "shrinks" }, density(item.now, { before: item.before, beforeLabel: "before your vote" }),
      h("figcaption", {}, "Probability of ", h("b", {}, h("bdi", {}, item.now.of)), `: the ${percent(item.now.level)} interval was ${number(a.lower)} to ${number(a.upper)} (dashed), and is `,
        h("b", {}, `${number(b.lower)} to ${number(b.upper)}`), Math.abs(less) < 0.005 ? ", as wide as before." : less > 0 ? `, ${number(less)} narrower.` : `, ${number(-less)} wider: your vote was unexpected.`));
  }
}

// instructions returns the text for raters, "" if there is none.
async function instructions() {
  try {
    return (await get("queue/instructions")).text;
  } catch (e) {
    notice("The instructions cannot be shown: " + (e.status ? e.message : "no connection"), "bad");
    return "";
  }
}

export async function queue(main) {
  if (!state.hasItems || !state.takesVotes) {
    show(main, h("h1", {}, "Queue"), h("p", {}, "This server does not accept votes. Start it with ",
      h("code", {}, "credence serve RUN --items items.csv --vote-log new-votes.csv"), "."));
    document.documentElement.dataset.ready = "queue";
    return {};
  }
  const view = new Queue(main);
  await view.start();
  return { refresh: () => rater() && view.refresh(), end: () => view.end() };
}
