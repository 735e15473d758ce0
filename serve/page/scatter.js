// Probability against the width of the interval, one point per item, colored by how votes agree:
// on a canvas, so that 50,000 points are drawn quickly. Dragging selects a region.

import { h, count, number } from "./dom.js";

const pad = { left: 46, right: 10, top: 10, bottom: 38 };

// groups are the colors, by the code of agreement.
export const groups = [
  { color: "--s0", label: (c) => `all for ${c}` },
  { color: "--s1", label: (c) => `all against ${c}` },
  { color: "--s2", label: () => "mixed" },
  { color: "--s5", label: () => "fewer than two votes" },
  { color: "--s3", label: () => "hidden until you vote" },
];

export class Scatter {
  // onBrush gets {mean: [lo, hi], width: [lo, hi]}, or null if nothing is chosen any more; onOpen the
  // number of a point.
  constructor({ onBrush, onOpen }) {
    this.onBrush = onBrush;
    this.onOpen = onOpen;
    this.canvas = h("canvas", { class: "points", role: "img", tabindex: "-1" });
    this.box = h("div", { class: "brush", hidden: true });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.element = h("div", { class: "scatter" }, this.canvas, this.box, this.tip);
    this.data = null;
    this.shown = null;
    this.brush = null;
    this.most = 1;
    this.listen();
    this.sized = new ResizeObserver(() => this.draw());
    this.sized.observe(this.element);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.draw());
    addEventListener("beforeprint", () => this.draw());
  }

  // show draws the items of data whose numbers are in shown.
  show(data, shown, brush) {
    if (data !== this.data) {
      let most = 0.05;
      for (let i = 0; i < data.items.length; i++) most = Math.max(most, data.upper[i] - data.lower[i]);
      this.most = Math.min(1, 1.05 * most);
    }
    this.data = data;
    this.shown = shown;
    this.brush = brush;
    this.canvas.setAttribute("aria-label", `Figure: probability of ${data.class} against the width of its interval, of ${count(shown.length)} items. The same items are in the table.`);
    this.draw();
  }

  size() { return { w: this.element.clientWidth, h: this.element.clientHeight }; }

  x(p) { return pad.left + p * (this.size().w - pad.left - pad.right); }

  y(width) {
    const { h: high } = this.size();
    return high - pad.bottom - (width / this.most) * (high - pad.top - pad.bottom);
  }

  // at returns the probability and the width of a place.
  at(px, py) {
    const { w, h: high } = this.size();
    const p = (px - pad.left) / (w - pad.left - pad.right);
    const width = ((high - pad.bottom - py) / (high - pad.top - pad.bottom)) * this.most;
    return [Math.min(1, Math.max(0, p)), Math.min(this.most, Math.max(0, width))];
  }

  draw() {
    const { w, h: high } = this.size();
    if (!this.data || w === 0) return;
    const scale = devicePixelRatio || 1;
    this.canvas.width = Math.round(w * scale);
    this.canvas.height = Math.round(high * scale);
    const g = this.canvas.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, w, high);
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    this.axes(g, color);
    const d = this.data, n = this.shown.length;
    const size = n > 20000 ? 1.8 : n > 3000 ? 2.6 : 4;
    g.globalAlpha = n > 20000 ? 0.45 : n > 3000 ? 0.6 : 0.8;
    // Colors take turns in the order of the points, so that none covers all others.
    const xs = (w - pad.left - pad.right), ys = (high - pad.top - pad.bottom) / this.most, base = high - pad.bottom;
    const fills = groups.map((x) => color(x.color));
    let last = -1;
    for (let k = 0; k < n; k++) {
      const i = this.shown[k];
      if (d.agreement[i] !== last) g.fillStyle = fills[last = d.agreement[i]];
      g.fillRect(pad.left + d.mean[i] * xs - size / 2, base - (d.upper[i] - d.lower[i]) * ys - size / 2, size, size);
    }
    g.globalAlpha = 1;
    this.placeBrush();
  }

  axes(g, color) {
    const { w, h: high } = this.size();
    g.font = '11px "Helvetica Neue", Helvetica, Arial, sans-serif';
    g.lineWidth = 1;
    g.strokeStyle = color("--grid");
    g.fillStyle = color("--muted");
    const line = (x1, y1, x2, y2) => { g.beginPath(); g.moveTo(x1, y1); g.lineTo(x2, y2); g.stroke(); };
    g.textAlign = "center";
    for (const p of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
      const x = Math.round(this.x(p)) + 0.5;
      line(x, pad.top, x, high - pad.bottom);
      g.fillText(String(p), Math.min(x, w - 8), high - pad.bottom + 15);
    }
    g.textAlign = "right";
    const step = this.most > 0.5 ? 0.2 : this.most > 0.2 ? 0.1 : 0.02;
    for (let v = 0; v <= this.most + 1e-9; v += step) {
      const y = Math.round(this.y(v)) + 0.5;
      line(pad.left, y, w - pad.right, y);
      g.fillText(number(v, step < 0.1 ? 2 : 1), pad.left - 6, y + 4);
    }
    g.textAlign = "center";
    g.fillText(`probability of ${this.data.class.slice(0, 40)} (mean)`, (pad.left + w - pad.right) / 2, high - 6);
    g.save();
    g.translate(11, (pad.top + high - pad.bottom) / 2);
    g.rotate(-Math.PI / 2);
    g.fillText("width of the interval", 0, 0);
    g.restore();
  }

  placeBrush() {
    const b = this.brush;
    this.box.hidden = !b;
    if (!b) return;
    const x1 = this.x(b.mean[0]), x2 = this.x(b.mean[1]), y1 = this.y(Math.min(this.most, b.width[1])), y2 = this.y(b.width[0]);
    Object.assign(this.box.style, { left: x1 + "px", top: y1 + "px", width: x2 - x1 + "px", height: y2 - y1 + "px" });
  }

  // nearest returns the point next to a place, −1 if none is near.
  nearest(px, py) {
    let best = -1, least = 12 * 12;
    const d = this.data;
    const { w, h: high } = this.size();
    const xs = (w - pad.left - pad.right), ys = (high - pad.top - pad.bottom) / this.most, base = high - pad.bottom;
    for (const i of this.shown) {
      const dx = pad.left + d.mean[i] * xs - px, dy = base - (d.upper[i] - d.lower[i]) * ys - py;
      const r = dx * dx + dy * dy;
      if (r < least) [best, least] = [i, r];
    }
    return best;
  }

  listen() {
    let from = null;
    const place = (event) => {
      const r = this.canvas.getBoundingClientRect();
      return [event.clientX - r.left, event.clientY - r.top];
    };
    const range = (a, b) => {
      const [p, q] = [this.at(...a), this.at(...b)];
      return { mean: [Math.min(p[0], q[0]), Math.max(p[0], q[0])], width: [Math.min(p[1], q[1]), Math.max(p[1], q[1])] };
    };
    const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) > 6;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.data) return;
      from = place(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const to = place(event);
      if (from && far(from, to)) {
        this.brush = range(from, to);
        this.placeBrush();
      } else if (!from && event.pointerType === "mouse" && this.data) {
        this.point(to);
      }
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const to = place(event);
      if (from && far(from, to)) this.onBrush(range(from, to));
      else if (from) {
        const i = this.nearest(...to);
        if (i >= 0) this.onOpen(i);
        else this.onBrush(null);
      }
      from = null;
    });
    this.canvas.addEventListener("pointercancel", () => { from = null; });
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
  }

  // point returns the item under the mouse.
  point(to) {
    const i = this.nearest(...to);
    this.tip.hidden = i < 0;
    this.canvas.classList.toggle("on", i >= 0);
    if (i < 0) return;
    const d = this.data;
    this.tip.textContent = `${d.items[i].slice(0, 60)}: ${number(d.mean[i])} [${number(d.lower[i])} to ${number(d.upper[i])}]`;
    const left = Math.min(to[0] + 12, this.size().w - this.tip.offsetWidth - 4);
    Object.assign(this.tip.style, { left: Math.max(0, left) + "px", top: Math.max(0, to[1] - 34) + "px" });
  }
}
