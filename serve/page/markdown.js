// Instructions for raters: a subset of Markdown as elements, so that nothing in the file is parsed as HTML.

import { h } from "./dom.js";

// inline returns a line with emphasis, code and links.
function inline(text) {
  const parts = [];
  const pattern = /\*\*(.+?)\*\*|\*(.+?)\*|_(.+?)_|`(.+?)`|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;
  let at = 0;
  for (const m of text.matchAll(pattern)) {
    parts.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1] !== undefined) parts.push(h("b", {}, m[1]));
    else if (m[2] !== undefined || m[3] !== undefined) parts.push(h("em", {}, m[2] ?? m[3]));
    else if (m[4] !== undefined) parts.push(h("code", {}, m[4]));
    else parts.push(h("a", { href: m[6], rel: "noreferrer", target: "_blank" }, m[5]));
  }
  parts.push(text.slice(at));
  return parts;
}

// markdown returns elements for headings, lists, quotes, rules and paragraphs.
export function markdown(text) {
  const out = [];
  let list = null, lines = [];
  const flush = () => {
    if (lines.length > 0) out.push(h("p", {}, inline(lines.join(" "))));
    lines = [];
  };
  for (const line of text.split(/\r?\n/)) {
    const item = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/.exec(line);
    const heading = /^(#{1,6})\s+(.*?)#*$/.exec(line);
    if (item) {
      flush();
      const tag = item[1] ? "ol" : "ul";
      if (list?.localName !== tag) {
        list = h(tag, item[1] && item[1] !== "1" ? { start: item[1] } : {});
        out.push(list);
      }
      list.append(h("li", {}, inline(item[2])));
      continue;
    }
    if (list && /^\s+\S/.test(line)) { // a list item goes on
      list.lastChild.append(" ", ...inline(line.trim()));
      continue;
    }
    if (heading || line.trim() === "" || /^\s*(-{3,}|\*{3,})\s*$/.test(line)) {
      flush();
      list = null;
      if (heading) out.push(h(heading[1].length === 1 ? "h3" : "h4", {}, inline(heading[2].trim())));
      continue;
    }
    list = null;
    lines.push(line.replace(/^>\s?/, "").trim());
  }
  flush();
  return out;
}
