// The scatter plot on WebGL, by regl-scatterplot.
import createScatterplot from "regl-scatterplot";

export function hasWebGL() {
  try {
    const context = document.createElement("canvas").getContext("webgl");
    return Boolean(context && context.getExtension("OES_texture_float"));
  } catch {
    return false;
  }
}

export class WebGLScatter {
  constructor(canvas, events) {
    this.kind = "webgl";
    this.events = events;
    this.plot = createScatterplot({
      canvas,
      width: "auto",
      height: "auto",
      pointColor: ["#777777"],
      colorBy: "valueA",
      lassoInitiator: false,
      lassoLineWidth: 2,
      pointSize: 3,
      opacity: 1,
      pointSizeSelected: 1,
      pointOutlineWidth: 1,
      deselectOnDblClick: false,
    });
    this.plot.subscribe("select", ({ points }) => events.select(points));
    this.plot.subscribe("deselect", () => events.select([]));
    this.plot.subscribe("pointover", (i) => events.hover(i));
    this.plot.subscribe("pointout", () => events.hover(-1));
  }

  options(palette) {
    const n = this.points.x.length;
    return { pointColor: palette, pointColorActive: palette, pointSize: Math.min(8, Math.max(1.6, 260 / Math.sqrt(n))), opacity: 1, opacityInactiveMax: 1, opacityInactiveScale: 0.35 };
  }

  async setPoints(points, codes, palette) {
    const same = this.points && this.points.x.length === points.x.length;
    this.points = points;
    this.codes = codes;
    this.plot.set(this.options(palette));
    await this.plot.draw({ x: points.x, y: points.y, z: codes }, { zDataType: "categorical", transition: false, preventFilterReset: same });
    if (this.chosen) this.plot.select(this.chosen, { preventEvent: true });
  }

  // Only colours change: the index over the places is kept.
  async setColors(codes, palette) {
    this.codes = codes;
    this.plot.set(this.options(palette));
    await this.plot.draw({ x: this.points.x, y: this.points.y, z: codes }, { zDataType: "categorical", preventFilterReset: true, spatialIndex: this.plot.get("spatialIndex") });
    if (this.chosen) this.plot.select(this.chosen, { preventEvent: true });
  }

  setTheme(back, faint, accent) {
    this.plot.set({ backgroundColor: back, lassoColor: accent, pointColorHover: accent });
  }

  setMode(mode) {
    this.plot.set({ mouseMode: mode === "lasso" ? "lasso" : "panZoom" });
  }

  select(indices) {
    this.chosen = indices && indices.length ? indices : null;
    if (this.chosen) this.plot.select(indices, { preventEvent: true });
    else this.plot.deselect({ preventEvent: true });
  }

  filter(hidden) {
    if (!hidden) return this.plot.unfilter({ preventEvent: true });
    const shown = [];
    for (let i = 0; i < hidden.length; i++) if (!hidden[i]) shown.push(i);
    return this.plot.filter(shown, { preventEvent: true });
  }

  move(dx, dy, factor) {
    const [x, y] = this.plot.get("cameraTarget");
    const distance = this.plot.get("cameraDistance");
    this.plot.zoomToLocation([x + dx * distance, y + dy * distance], distance / factor);
  }

  pan(dx, dy) {
    this.move(dx, dy, 1);
  }

  zoom(factor) {
    this.move(0, 0, factor);
  }

  reset() {
    this.plot.reset();
  }

  screen(i) {
    return this.plot.getScreenPosition(i);
  }

  destroy() {
    this.plot.destroy();
  }
}
