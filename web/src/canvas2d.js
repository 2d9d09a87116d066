// A scatter plot without WebGL: the same interface as webgl.js. Points are written into an image, pixel by pixel.

// What drawing may take while the map moves, in milliseconds, and how many points are drawn at least.
const FRAME = 10;
const FEWEST = 5000;

const rgb = (color) => [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));

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

// Draws points into a canvas. `view`: {x, y, zoom} of the middle; colours by code; `hidden` and `chosen`: masks or null;
// of `order` only the first `most` samples.
export function paint(canvas, points, codes, palette, order, view, size, { back, hidden, chosen, faint, most = order.length } = {}) {
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  // A margin on all sides, so that a disc at the edge needs no care.
  const reach = Math.ceil(Math.max(0.5, size / 2)) + 1;
  const margin = reach + 1;
  const wide = width + 2 * margin;
  const tall = height + 2 * margin;
  const stamps = stampsOf(size, reach, wide);
  if (!paint.pixels || paint.pixels.length < wide * tall) paint.pixels = new Uint32Array(wide * tall);
  const pixels = paint.pixels.subarray(0, wide * tall);
  const word = (color) => {
    const [r, g, b] = rgb(color);
    return (255 << 24) | (b << 16) | (g << 8) | r;
  };
  const colors = Uint32Array.from(palette, word);
  pixels.fill(word(back || "#ffffff"));
  const scale = (Math.min(width, height) / 2) * view.zoom;
  const [x0, y0] = [margin + width / 2 - view.x * scale, margin + height / 2 + view.y * scale];
  const grey = word(faint || "#cccccc");
  const { x, y } = points;
  const put = (i, color) => {
    const cx = x0 + x[i] * scale;
    const cy = y0 - y[i] * scale;
    if (!(cx >= reach && cy >= reach && cx < wide - reach && cy < tall - reach)) return;
    const px = cx | 0;
    const py = cy | 0;
    const stamp = stamps[((((cy - py) * 4) | 0) << 2) | (((cx - px) * 4) | 0)];
    const at = py * wide + px;
    for (let k = 0; k < stamp.length; k++) pixels[at + stamp[k]] = color;
  };
  const n = Math.min(most, order.length);
  for (let k = 0; k < n; k++) {
    const i = order[k];
    if (hidden && hidden[i]) continue;
    put(i, chosen && !chosen[i] ? grey : colors[codes[i]]);
  }
  if (chosen) for (let k = 0; k < n; k++) if (chosen[order[k]] && !(hidden && hidden[order[k]])) put(order[k], colors[codes[order[k]]]);
  const image = context.createImageData(width, height);
  const out = new Uint32Array(image.data.buffer);
  for (let row = 0; row < height; row++) out.set(pixels.subarray((row + margin) * wide + margin, (row + margin) * wide + margin + width), row * width);
  context.putImageData(image, 0, 0);
}

// All numbers below n, mixed, always the same way: no group covers another, and the first of them are a fair sample.
export function mixed(n) {
  const order = Uint32Array.from({ length: n }, (_, i) => i);
  let seed = 1;
  for (let i = n - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
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

export class CanvasScatter {
  constructor(canvas, events) {
    this.kind = "canvas";
    this.canvas = canvas;
    this.events = events;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.mode = "pan";
    this.lasso = null;
    this.listen();
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(canvas);
    this.resize();
  }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.redraw();
  }

  async setPoints(points, codes, palette) {
    Object.assign(this, { points, codes, palette });
    if (!this.order || this.order.length !== points.x.length) this.order = mixed(points.x.length);
    this.redraw();
  }

  async setColors(codes, palette) {
    Object.assign(this, { codes, palette });
    this.redraw();
  }

  setTheme(back, faint) {
    Object.assign(this, { back, faint });
    this.redraw();
  }

  setMode(mode) {
    this.mode = mode;
  }

  select(indices) {
    this.chosen = indices && indices.length ? new Uint8Array(this.order.length) : null;
    if (this.chosen) for (const i of indices) this.chosen[i] = 1;
    this.redraw();
  }

  filter(hidden) {
    this.hidden = hidden;
    this.redraw();
  }

  pan(dx, dy) {
    this.view.x += dx / this.view.zoom;
    this.view.y += dy / this.view.zoom;
    this.move();
  }

  zoom(factor) {
    this.view.zoom = Math.min(200, Math.max(0.3, this.view.zoom * factor));
    this.move();
  }

  reset() {
    this.view = { x: 0, y: 0, zoom: 1 };
    this.redraw();
  }

  pointSize() {
    const n = this.order ? this.order.length : 1;
    return Math.min(9, Math.max(1.6, 260 / Math.sqrt(n))) * this.ratio * Math.min(3, Math.sqrt(this.view.zoom));
  }

  redraw() {
    if (!this.points || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      const start = performance.now();
      paint(this.canvas, this.points, this.codes, this.palette, this.order, this.view, this.pointSize(), this);
      if (this.lasso && this.lasso.length > 1) this.drawLasso();
      if (this.moving) this.pace(performance.now() - start);
    });
  }

  // While the map moves, as many points are drawn as there is time for; all of them when it rests.
  move() {
    this.moving = true;
    this.most = this.quick;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.moving = false;
      this.most = undefined;
      this.redraw();
    }, 160);
    this.redraw();
  }

  pace(milliseconds) {
    const drawn = this.most ?? this.order.length;
    const wanted = Math.round((drawn * FRAME) / Math.max(0.5, milliseconds));
    this.quick = this.most = Math.min(this.order.length, Math.max(FEWEST, wanted));
  }

  drawLasso() {
    const context = this.canvas.getContext("2d");
    context.beginPath();
    for (const [x, y] of this.lasso) context.lineTo(...this.toPixels(x, y));
    context.closePath();
    context.strokeStyle = "#d55e00";
    context.lineWidth = 2 * this.ratio;
    context.stroke();
  }

  scale() {
    return (Math.min(this.canvas.width, this.canvas.height) / 2) * this.view.zoom;
  }

  toPixels(x, y) {
    return [this.canvas.width / 2 + (x - this.view.x) * this.scale(), this.canvas.height / 2 - (y - this.view.y) * this.scale()];
  }

  toData(event) {
    const box = this.canvas.getBoundingClientRect();
    const px = (event.clientX - box.left) * this.ratio;
    const py = (event.clientY - box.top) * this.ratio;
    return [this.view.x + (px - this.canvas.width / 2) / this.scale(), this.view.y - (py - this.canvas.height / 2) / this.scale()];
  }

  screen(i) {
    const [x, y] = this.toPixels(this.points.x[i], this.points.y[i]);
    return [x / this.ratio, y / this.ratio];
  }

  nearest(x, y) {
    let best = -1;
    let least = ((this.pointSize() + 6 * this.ratio) / this.scale()) ** 2;
    for (let i = 0; i < this.order.length; i++) {
      if (this.hidden && this.hidden[i]) continue;
      const away = (this.points.x[i] - x) ** 2 + (this.points.y[i] - y) ** 2;
      if (away < least) [least, best] = [away, i];
    }
    return best;
  }

  listen() {
    let last = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      if (this.mode === "lasso" || event.shiftKey) this.lasso = [this.toData(event)];
      last = [event.clientX, event.clientY];
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.points) return;
      if (!last) return this.events.hover(this.nearest(...this.toData(event)));
      if (this.lasso) {
        this.lasso.push(this.toData(event));
        return this.redraw();
      }
      const unit = this.ratio / this.scale();
      this.pan(-(event.clientX - last[0]) * unit * this.view.zoom, (event.clientY - last[1]) * unit * this.view.zoom);
      last = [event.clientX, event.clientY];
    });
    this.canvas.addEventListener("pointerup", () => {
      last = null;
      if (!this.lasso) return;
      const polygon = this.lasso;
      this.lasso = null;
      const found = [];
      if (polygon.length > 2)
        for (let i = 0; i < this.order.length; i++) if (!(this.hidden && this.hidden[i]) && inside(polygon, this.points.x[i], this.points.y[i])) found.push(i);
      this.select(found);
      this.events.select(found);
    });
    this.canvas.addEventListener("pointerleave", () => this.events.hover(-1));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = this.toData(event);
      const factor = Math.exp(-event.deltaY * 0.0015);
      const zoom = Math.min(200, Math.max(0.3, this.view.zoom * factor));
      const ratio = this.view.zoom / zoom;
      this.view = { x: x + (this.view.x - x) * ratio, y: y + (this.view.y - y) * ratio, zoom };
      this.move();
    }, { passive: false });
  }

  destroy() {
    this.watch.disconnect();
    clearTimeout(this.resting);
    cancelAnimationFrame(this.pending);
  }
}
