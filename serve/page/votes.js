// Votes are stored on this device before they are sent, so that a dropped connection loses none. Each has a
// unique key, so that a vote that is sent twice counts once.

import { call } from "./api.js";
import { notice, plural } from "./dom.js";

const prefix = "credence-vote-";

// tab distinguishes the votes of this tab from those of others, which send theirs themselves.
const tab = sessionStorage.getItem("credence-tab") ?? String(Math.random());
sessionStorage.setItem("credence-tab", tab);

// orphaned is after how many milliseconds a vote of another tab, which may be closed, is sent by this.
const orphaned = 15000;

// waiting returns the votes that are not acknowledged yet, in order.
export function waiting() {
  const list = [];
  for (let i = 0; i < localStorage.length; i++) {
    const k = localStorage.key(i);
    if (!k.startsWith(prefix)) continue;
    try {
      const vote = JSON.parse(localStorage.getItem(k));
      if (vote.tab === tab || Date.now() - vote.at > orphaned) list.push(vote);
    } catch { /* not ours */ }
  }
  return list.sort((a, b) => a.at - b.at);
}

let clock = 0; // two votes within a millisecond keep their order

// say stores the vote of a rater on an item and starts sending it: a label, "cannot tell", or nothing,
// which takes back what was said before.
export function say(item, rater, what) {
  clock = Math.max(clock + 1, Date.now());
  const vote = { item, rater, ...what, key: crypto.randomUUID?.() ?? String(clock) + Math.random(), at: clock, tab };
  localStorage.setItem(prefix + vote.key, JSON.stringify(vote));
  send();
  return vote;
}

const listeners = new Set();

// onSent calls f(vote, error) when the server has a vote, or refuses it.
export function onSent(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

let sending = false;
let again = 0;
let pause = 500;

// send sends what waits, one after the other. Without a connection it tries again.
export async function send() {
  if (sending) return;
  sending = true;
  clearTimeout(again);
  try {
    for (let list = waiting(); list.length > 0; list = waiting()) {
      const vote = list[0];
      let refused = null;
      try {
        if (vote.undo) await call("DELETE", "votes", { item: vote.item, rater: vote.rater, key: vote.key });
        else await call("POST", "votes", null, { item: vote.item, rater: vote.rater, label: vote.label ?? "", cannot_tell: vote.cannot_tell, key: vote.key });
      } catch (e) {
        if (!(e.status >= 400 && e.status < 500) || e.status === 429) {
          wait(list.length, e);
          return;
        }
        refused = e; // sent again it would be refused again
      }
      localStorage.removeItem(prefix + vote.key);
      if (pause > 500) notice("");
      pause = 500;
      if (refused) notice("A vote was rejected: " + refused.message, "bad");
      for (const f of listeners) f(vote, refused);
    }
  } finally {
    sending = false;
  }
}

function wait(n, e) {
  const why = e.status ? `The server does not accept votes at the moment (${e.message})` : "No connection";
  notice(`${why}: ${plural(n, "vote is", "votes are")} stored on this device and sent as soon as the server ${e.status ? "accepts them" : "responds"}.`, "careful");
  again = setTimeout(send, pause);
  pause = Math.min(2 * pause, 8000);
}

addEventListener("online", () => { pause = 500; send(); });

// who votes in this tab: the name is kept with the tab, and offered to the next one.
export function rater() { return sessionStorage.getItem("credence-rater") ?? ""; }

export function setRater(text) {
  if (text) {
    sessionStorage.setItem("credence-rater", text);
    localStorage.setItem("credence-last-rater", text);
  } else {
    sessionStorage.removeItem("credence-rater");
  }
}

// suggested is the name that was last used on this device, or a random one.
export function suggested() {
  const last = localStorage.getItem("credence-last-rater");
  if (last) return last;
  const letters = "abcdefghjkmnpqrstuvwxyz23456789";
  return "rater-" + Array.from(crypto.getRandomValues(new Uint8Array(4)), (b) => letters[b % letters.length]).join("");
}
