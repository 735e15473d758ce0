// The page: which view is shown, who looks, and what has changed on the server since.

import { get } from "./api.js";
import { h, show, notice, count } from "./dom.js";
import { state } from "./state.js";
import { rater, setRater, send, waiting } from "./votes.js";
import { overview } from "./overview.js";
import { items } from "./items.js";
import { queue } from "./queue.js";
import { raters } from "./raters.js";
import { health } from "./health.js";

const views = { overview, items, queue, raters, health };
const main = document.getElementById("main");
const who = document.getElementById("who");
const root = document.documentElement;

let view = {};
let turn = 0;
let place = { at: "", query: new URLSearchParams() };

// route shows the view that the address names.
async function route() {
  const [name, query] = location.hash.slice(1).split("?");
  if (name === "main") return;
  const at = views[name] ? name : "overview";
  const now = new URLSearchParams(query);
  if (at === place.at && view.moved?.(place.query, now)) {
    place = { at, query: now };
    return;
  }
  place = { at, query: now };
  const mine = ++turn;
  view.end?.();
  view = {};
  for (const d of document.querySelectorAll("dialog.wide")) d.close();
  for (const a of document.querySelectorAll("nav a")) {
    if (a.hash === "#" + at) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  document.title = `${{ overview: "Overview", items: "Items", queue: "Queue", raters: "Raters", health: "Health" }[at]} · Credence`;
  nameShown();
  delete root.dataset.ready;
  try {
    if ((at === "items" || at === "queue") && state.hasItems && !(await ready(mine))) return;
    if (at === "items" && !state.hasItems) {
      show(main, h("h1", {}, "Items"), h("p", {}, "This server has no items. Start it with ", h("code", {}, "credence serve RUN --items items.csv"), "."));
    } else {
      const shown = (await views[at](main, now)) ?? {};
      if (mine !== turn) shown.end?.();
      else view = shown;
    }
    root.dataset.ready = at;
  } catch (e) {
    if (mine === turn) failed(e);
  }
}

function failed(e) {
  show(main, h("h1", {}, "This page cannot be shown"), h("p", { class: "bad", role: "alert" }, e.status ? e.message : "The server cannot be reached."),
    h("button", { type: "button", onclick: () => begin() }, "Try again"));
  if (!e.status) console.error(e);
}

// ready waits until the server has predicted the items, and shows how far it is.
async function ready(mine) {
  for (;;) {
    const p = await get("items/progress");
    if (mine !== turn) return false;
    state.version = p.version;
    if (p.ready) return true;
    if (p.error) throw Object.assign(new Error("The items cannot be read: " + p.error), { status: 409 });
    show(main, h("h1", {}, "Predicting items"), h("p", {}, h("progress", p.total ? { max: p.total, value: p.done } : {}), " ",
      p.total ? `${count(p.done)} of ${count(p.total)}` : count(p.done)));
    await new Promise((go) => setTimeout(go, 400));
  }
}

function nameShown() {
  const me = rater();
  who.hidden = !me;
  show(who, me ? h("span", {}, "as ", h("bdi", {}, me)) : null);
  who.setAttribute("aria-label", me ? `You are voting as ${me}. Change the name` : "");
}

who.addEventListener("click", () => {
  setRater("");
  if (location.hash === "#queue") route();
  else location.hash = "#queue";
});

const out = document.getElementById("sign-out");
out.addEventListener("click", async () => {
  try {
    await fetch(new URL("page/session", document.baseURI), { method: "DELETE" });
  } catch {
    notice("The server cannot be reached: you are still signed in.", "bad");
    return;
  }
  setRater("");
  location.hash = "";
  location.reload();
});

// watch asks now and then whether others have voted.
async function watch() {
  if (document.visibilityState === "visible" && state.hasItems && view.refresh && !document.querySelector("dialog[open]")) {
    try {
      const p = await get("items/progress");
      if (p.ready && p.version !== state.version) {
        state.version = p.version;
        await view.refresh();
      }
    } catch { /* the next turn tries again */ }
  }
  setTimeout(watch, 4000);
}

async function begin() {
  try {
    const o = await get("overview");
    Object.assign(state, { classes: o.classes, takesVotes: o.takes_votes, hasItems: o.has_items, model: o.model });
    show(document.getElementById("model"), o.model);
    out.hidden = !o.token;
    document.querySelector('nav a[href="#raters"]').hidden = !o.raters;
    document.querySelector('nav a[href="#health"]').hidden = !(o.has_items && o.takes_votes);
  } catch (e) {
    failed(e);
    return;
  }
  await route();
}

addEventListener("hashchange", route);
document.querySelector(".jump").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("unhandledrejection", (event) => notice(event.reason?.status ? event.reason.message : "The server cannot be reached.", "bad"));
await begin();
if (waiting().length > 0) send();
watch();
