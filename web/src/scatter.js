// Points on a canvas, written into an image pixel by pixel. One Board draws several panels of the same samples in one
// view: what is moved, chosen or pointed at in one panel is so in all.

// What drawing may take while the map moves, in milliseconds, and how many points of a panel are drawn at least.
const FRAME = 9;
const FEWEST = 4000;
const ZOOM = { least: 0.3, most: 200 };

// A colour of the form #rrggbb as a pixel.
const word = (color) => {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
};

// A disc as places of its pixels beside that of its middle, for 4 x 4 positions of the middle within a pixel.
function stampsOf(size, reach, width) {
  const half = Math.max(0.5, size / 2);
  const stamps = [];
  for (let s = 0; s < 16; s++) {
    const [fx, fy] = [((s & 3) + 0.5) / 4, ((s >> 2) + 0.5) / 4];
    const offsets = [];
    for (let y = -reach; y <= reach; y++) for (let x = -reach; x <= reach; x++) if ((x + 0.5 - fx) ** 2 + (y + 0.5 - fy) ** 2 <= half * half) offsets.push(y * width + x);
    stamps.push(Int32Array.from(offsets.length ? offsets : [0]));
  }
  return stamps;
}

// Draws points into a canvas. `view`: {x, y, zoom} of the middle. `colors`: a pixel for each code, 0 for a code that is
// hidden. `chosen`: null, or which points keep their colour. Only the first `most` points.
export function paint(canvas, { x, y }, { codes, colors, back, faint, chosen, most, view, size, memo = {} }) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  // A margin on all sides, so that a disc at the edge needs no care.
  const reach = Math.ceil(Math.max(0.5, size / 2)) + 1;
  const [wide, tall] = [width + 2 * reach, height + 2 * reach];
  if (memo.wide !== wide || memo.tall !== tall) Object.assign(memo, { wide, tall, image: new ImageData(wide, tall) });
  const pixels = new Uint32Array(memo.image.data.buffer);
  const stamps = stampsOf(size, reach, wide);
  pixels.fill(back);
  const scale = (Math.min(width, height) / 2) * view.zoom;
  const [x0, y0] = [reach + width / 2 - view.x * scale, reach + height / 2 + view.y * scale];
  const [right, bottom] = [wide - reach, tall - reach];
  const n = Math.min(most ?? x.length, x.length);
  const single = stamps.every((s) => s.length === 1 && s[0] === 0);
  for (let pass = chosen ? 0 : 1; pass < 2; pass++)
    for (let k = 0; k < n; k++) {
      const own = colors[codes[k]];
      if (own === 0 || (chosen && chosen[k] !== pass)) continue;
      const cx = x0 + x[k] * scale;
      const cy = y0 - y[k] * scale;
      if (!(cx >= reach && cy >= reach && cx < right && cy < bottom)) continue;
      const [px, py] = [cx | 0, cy | 0];
      const at = py * wide + px;
      const color = pass ? own : faint;
      if (single) {
        pixels[at] = color;
        continue;
      }
      const stamp = stamps[((((cy - py) * 4) | 0) << 2) | (((cx - px) * 4) | 0)];
      for (let s = 0; s < stamp.length; s++) pixels[at + stamp[s]] = color;
    }
  context.putImageData(memo.image, -reach, -reach);
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

// All numbers below n, in steps of the golden ratio: no group covers another, and the first of them are a fair sample of
// all, also where samples are sorted or alternate.
export function mixed(n) {
  const order = new Uint32Array(n);
  let step = Math.max(1, Math.round(n * 0.6180339887));
  while (gcd(step, n) !== 1) step++;
  for (let k = 0, i = 0; k < n; k++) {
    order[k] = i;
    i += step;
    if (i >= n) i -= n;
  }
  return order;
}

function inside(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

const permuted = (array, order, Kind = array.constructor) => {
  const out = new Kind(order.length);
  for (let k = 0; k < order.length; k++) out[k] = array[order[k]];
  return out;
};

export class Board {
  // events: select(indices), hover(panel, index or -1), drawn(panel, context) to draw over a panel's points.
  constructor(n, events) {
    this.n = n;
    this.events = events;
    this.order = mixed(n);
    this.panels = [];
    this.view = { x: 0, y: 0, zoom: 1 };
    this.mode = "pan";
    this.hidden = new Set();
    this.watch = new ResizeObserver(() => this.redraw());
  }

  // One canvas for each map of [{canvas, points}].
  setPanels(list) {
    this.watch.disconnect();
    this.panels = list.map(({ canvas, points }) => ({ canvas, points: { x: permuted(points.x, this.order), y: permuted(points.y, this.order) }, memo: {} }));
    this.panels.forEach((panel, p) => {
      this.listen(panel, p);
      this.watch.observe(panel.canvas);
    });
    this.redraw();
  }

  setColors(codes, palette) {
    this.codes = permuted(codes, this.order, Uint16Array);
    this.palette = palette;
    this.redraw();
  }

  // Codes that are not drawn.
  hide(hidden) {
    this.hidden = hidden;
    this.redraw();
  }

  setTheme(back, faint) {
    Object.assign(this, { back: word(back), faint: word(faint) });
    this.redraw();
  }

  select(indices) {
    this.chosen = null;
    if (indices.length) {
      const own = new Uint8Array(this.n);
      for (const i of indices) own[i] = 1;
      this.chosen = permuted(own, this.order);
    }
    this.redraw();
  }

  pan(dx, dy) {
    this.view.x += dx / this.view.zoom;
    this.view.y += dy / this.view.zoom;
    this.move();
  }

  zoom(factor, [x, y] = [this.view.x, this.view.y]) {
    const zoom = Math.min(ZOOM.most, Math.max(ZOOM.least, this.view.zoom * factor));
    const ratio = this.view.zoom / zoom;
    this.view = { x: x + (this.view.x - x) * ratio, y: y + (this.view.y - y) * ratio, zoom };
    this.move();
  }

  reset() {
    this.view = { x: 0, y: 0, zoom: 1 };
    this.redraw();
  }

  pointSize(ratio, zoom = this.view.zoom) {
    return Math.min(9, Math.max(1, 260 / Math.sqrt(this.n))) * ratio * Math.min(3, Math.sqrt(zoom));
  }

  // What paint() needs beside the points.
  look(most, view, size) {
    const colors = Uint32Array.from(this.palette, (color, code) => (this.hidden.has(code) ? 0 : word(color)));
    return { codes: this.codes, colors, back: this.back, faint: this.faint, chosen: this.chosen, most, view, size };
  }

  redraw() {
    if (!this.codes || this.back === undefined || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      const start = performance.now();
      for (const [p, panel] of this.panels.entries()) this.drawPanel(panel, p);
      if (this.moving) this.pace(performance.now() - start);
    });
  }

  drawPanel(panel, p) {
    const { canvas } = panel;
    panel.ratio = Math.min(2, window.devicePixelRatio || 1);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((v) => Math.max(1, Math.round(v * panel.ratio)));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    paint(canvas, panel.points, { ...this.look(this.moving ? this.quick : undefined, this.view, this.pointSize(panel.ratio)), memo: panel.memo });
    const context = canvas.getContext("2d");
    this.events.drawn(p, context);
    if (this.lasso?.panel === p) this.drawLasso(panel, context);
    if (this.pointed !== undefined && this.pointed >= 0) this.drawRing(panel, context);
  }

  // While the map moves, as many points are drawn as there is time for; all of them when it rests.
  move() {
    this.moving = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.moving = false;
      this.redraw();
    }, 160);
    this.redraw();
  }

  pace(milliseconds) {
    const wanted = Math.round(((this.quick ?? this.n) * FRAME) / Math.max(0.5, milliseconds));
    this.quick = Math.min(this.n, Math.max(FEWEST, wanted));
  }

  drawLasso(panel, context) {
    context.beginPath();
    for (const [x, y] of this.lasso.polygon) context.lineTo(...this.toPixels(panel, x, y));
    context.closePath();
    context.strokeStyle = "#d55e00";
    context.lineWidth = 2 * panel.ratio;
    context.stroke();
  }

  drawRing(panel, context) {
    context.beginPath();
    context.arc(...this.toPixels(panel, panel.points.x[this.pointed], panel.points.y[this.pointed]), this.pointSize(panel.ratio) / 2 + 4 * panel.ratio, 0, 2 * Math.PI);
    context.strokeStyle = "#d55e00";
    context.lineWidth = 2 * panel.ratio;
    context.stroke();
  }

  scale(panel) {
    return (Math.min(panel.canvas.width, panel.canvas.height) / 2) * this.view.zoom;
  }

  toPixels(panel, x, y) {
    return [panel.canvas.width / 2 + (x - this.view.x) * this.scale(panel), panel.canvas.height / 2 - (y - this.view.y) * this.scale(panel)];
  }

  toData(panel, event) {
    const box = panel.canvas.getBoundingClientRect();
    const [px, py] = [(event.clientX - box.left) * panel.ratio, (event.clientY - box.top) * panel.ratio];
    return [this.view.x + (px - panel.canvas.width / 2) / this.scale(panel), this.view.y - (py - panel.canvas.height / 2) / this.scale(panel)];
  }

  // Where a sample is on a panel, in CSS pixels.
  screen(p, i) {
    const panel = this.panels[p];
    const k = this.order.indexOf(i);
    return this.toPixels(panel, panel.points.x[k], panel.points.y[k]).map((v) => v / panel.ratio);
  }

  isShown(k) {
    return !this.hidden.has(this.codes[k]);
  }

  nearest(panel, x, y) {
    const { x: px, y: py } = panel.points;
    let best = -1;
    let least = ((this.pointSize(panel.ratio) + 6 * panel.ratio) / this.scale(panel)) ** 2;
    for (let k = 0; k < this.n; k++) {
      const away = (px[k] - x) ** 2 + (py[k] - y) ** 2;
      if (away < least && this.isShown(k)) [least, best] = [away, k];
    }
    return best;
  }

  choose(panel, holds) {
    const { x, y } = panel.points;
    const found = [];
    for (let k = 0; k < this.n; k++) if (this.isShown(k) && holds(x[k], y[k])) found.push(this.order[k]);
    found.sort((a, b) => a - b);
    this.select(found);
    this.events.select(found);
  }

  // All that can be seen on a panel: the lasso of the keyboard.
  chooseVisible(p) {
    const panel = this.panels[p];
    const [w, t] = [panel.canvas.width, panel.canvas.height].map((v) => v / 2 / this.scale(panel));
    this.choose(panel, (x, y) => Math.abs(x - this.view.x) <= w && Math.abs(y - this.view.y) <= t);
  }

  point(p, k) {
    if (this.pointed === k) return;
    this.pointed = k;
    this.redraw();
    this.events.hover(p, k < 0 ? -1 : this.order[k]);
  }

  listen(panel, p) {
    const { canvas } = panel;
    let last = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      if (this.mode === "lasso" || event.shiftKey) this.lasso = { panel: p, polygon: [this.toData(panel, event)] };
      last = [event.clientX, event.clientY];
      this.point(p, -1);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!last) return this.point(p, this.nearest(panel, ...this.toData(panel, event)));
      if (this.lasso) {
        this.lasso.polygon.push(this.toData(panel, event));
        return this.redraw();
      }
      const unit = (panel.ratio / this.scale(panel)) * this.view.zoom;
      this.pan(-(event.clientX - last[0]) * unit, (event.clientY - last[1]) * unit);
      last = [event.clientX, event.clientY];
    });
    const end = () => {
      last = null;
      if (!this.lasso) return;
      const { polygon } = this.lasso;
      this.lasso = null;
      this.choose(panel, polygon.length > 2 ? (x, y) => inside(polygon, x, y) : () => false);
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => this.point(p, -1));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * 0.0015), this.toData(panel, event));
    }, { passive: false });
  }
}
