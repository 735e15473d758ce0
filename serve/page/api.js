// Requests to the server.

import { h, show } from "./dom.js";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// fetchFrom sends a request; without a response it throws an error without status.
async function fetchFrom(method, path, query, body) {
  const url = new URL("api/v1/" + path, document.baseURI);
  url.hash = "";
  for (const [k, v] of Object.entries(query ?? {})) {
    if (v !== undefined && v !== null && v !== "") url.searchParams.set(k, v);
  }
  const response = await fetch(url, {
    method, cache: "no-store", credentials: "same-origin",
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body ? JSON.stringify(body) : undefined,
  });
  if (response.ok) return response.status === 204 ? null : response.json();
  let message = "status " + response.status;
  try {
    const problem = await response.json();
    message = problem.detail ?? problem.error ?? message;
  } catch { /* no JSON: the status says it */ }
  throw new Refused(response.status, message);
}

// asked is the promise of the token dialog while it is shown.
let asked = null;

// call sends a request, and asks the user for the token if the server requires one.
export async function call(method, path, query, body) {
  for (;;) {
    try {
      return await fetchFrom(method, path, query, body);
    } catch (e) {
      if (e.status !== 401) throw e;
      asked ??= askToken().finally(() => { asked = null; });
      await asked;
    }
  }
}

export const get = (path, query) => call("GET", path, query);
export const post = (path, body) => call("POST", path, null, body);

// askToken shows a dialog until the token is correct. The server sets a cookie that scripts cannot
// read.
function askToken() {
  return new Promise((resolve) => {
    const wrong = h("p", { class: "bad", role: "alert" });
    const input = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
    const form = h("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          const r = await fetch(new URL("page/session", document.baseURI), {
            method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token: input.value }),
          });
          if (r.ok) {
            dialog.close();
            dialog.remove();
            resolve();
            return;
          }
          wrong.textContent = r.status === 403 ? "Wrong token." : r.status === 429 ? `Too many wrong tokens: try again in ${r.headers.get("Retry-After")} seconds.` : "The server responded with status " + r.status + ".";
        } catch {
          wrong.textContent = "The server cannot be reached.";
        }
        input.select();
      },
    },
    h("h2", { id: "token-title" }, "Token"),
    h("p", {}, "This server requires a token. You need to enter it once on this device."),
    h("label", { for: "token" }, "Token"), input, wrong,
    h("p", {}, h("button", { type: "submit", class: "strong" }, "Sign in")));
    const dialog = show(h("dialog", { class: "small", "aria-labelledby": "token-title" }), form);
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
}
