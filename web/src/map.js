// The map: samples as points, before and after, coloured by anything; lasso, hover, legend.
import { count, css, h, nounOf, section, short } from "./dom.js";
import { gradient, paletteOf } from "./colors.js";
import { CanvasScatter, mixed, paint } from "./canvas2d.js";
import { WebGLScatter, webglKind } from "./webgl.js";
import { picker } from "./picker.js";

export function mapSection(store) {
  const { data } = store;
  const noun = nounOf(data);
  if (!data.maps.length) return { element: section("map", "Map", h("p", { class: "quiet" }, "The file holds no map of its samples. comp umap makes one (obsm/X_umap).")) };

  const state = { map: Math.max(0, data.maps.findIndex((m) => m.title === "After")), column: null, hidden: new Set(), mode: "pan", selected: [] };
  const pair = ["Before", "After"].map((title) => data.maps.findIndex((m) => m.title === title));
  const stage = h("div", { class: "stage" });
  const caption = h("div", { class: "caption" });
  const tip = h("div", { class: "tip", hidden: true, role: "status" });
  const legend = h("div", { class: "side" });
  const selection = h("div", { class: "selection", "aria-live": "polite" });
  let plot = null;
  let canvas = null;

  // ---- controls
  const mapButtons = new Map();
  const toggle = h("span", { class: "group", role: "group", "aria-label": "Which map" });
  const others = [];
  data.maps.forEach((m, k) => {
    if (data.maps.length > 2 && !pair.includes(k)) return others.push(k);
    const button = h("button", { type: "button", onclick: () => showMap(k) }, m.title);
    mapButtons.set(k, button);
    toggle.append(button);
  });
  const otherMaps = others.length ? h("label", {}, "Other maps", h("select", { onchange: (event) => event.target.value && showMap(Number(event.target.value)) }, h("option", { value: "" }, "–"), others.map((k) => h("option", { value: k }, data.maps[k].title)))) : null;
  const columnSelect = h("select", { id: "color-by", onchange: () => showColumn(Number(columnSelect.value)) }, data.columns.map((c, k) => h("option", { value: k }, c.name)), h("option", { value: -1, hidden: true }, "a " + noun.one));
  const genes = picker("…or by " + noun.one, data.genes.names, showGene, data.genes.names.length ? `one of ${count(data.genes.names.length)}` : "none");
  const modeButtons = ["pan", "lasso"].map((mode) => h("button", { type: "button", onclick: () => setMode(mode) }, mode === "pan" ? "Move" : "Lasso"));
  const bar = h("div", { class: "bar" },
    h("div", { class: "field" }, h("span", {}, "Map"), toggle), otherMaps,
    h("label", { for: "color-by" }, "Colour by", columnSelect), genes.element,
    h("span", { class: "group", role: "group", "aria-label": "What dragging does" }, modeButtons),
    h("span", { class: "group", role: "group", "aria-label": "Zoom" },
      h("button", { type: "button", "aria-label": "Zoom in", onclick: () => plot.zoom(1.4) }, "+"),
      h("button", { type: "button", "aria-label": "Zoom out", onclick: () => plot.zoom(1 / 1.4) }, "−"),
      h("button", { type: "button", onclick: () => plot.reset() }, "Whole map")));

  // ---- drawing
  function makePlot() {
    canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "Map of the samples. Arrow keys move, plus and minus zoom, 0 shows all, B switches before and after, L switches the lasso, Escape ends a selection." });
    stage.replaceChildren(canvas, caption, tip);
    const events = { select, hover };
    // ?renderer=webgl or ?renderer=canvas decides otherwise, for tests.
    const asked = new URLSearchParams(location.search).get("renderer");
    const wanted = asked ? asked === "webgl" : webglKind() === "hardware";
    try {
      plot = wanted ? new WebGLScatter(canvas, events) : new CanvasScatter(canvas, events);
    } catch (problem) {
      console.info("WebGL cannot be used: " + problem.message);
      const label = canvas.getAttribute("aria-label");
      canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": label });
      stage.replaceChildren(canvas, caption, tip);
      plot = new CanvasScatter(canvas, events);
    }
    stage.dataset.renderer = plot.kind;
    plot.setTheme(css("--plot"), css("--line"), css("--validation"));
    canvas.addEventListener("keydown", keys);
  }

  function keys(event) {
    const step = 0.15;
    const actions = {
      ArrowLeft: () => plot.pan(-step, 0), ArrowRight: () => plot.pan(step, 0), ArrowUp: () => plot.pan(0, step), ArrowDown: () => plot.pan(0, -step),
      "+": () => plot.zoom(1.3), "=": () => plot.zoom(1.3), "-": () => plot.zoom(1 / 1.3), 0: () => plot.reset(),
      b: () => pair.every((k) => k >= 0) && showMap(state.map === pair[1] ? pair[0] : pair[1]),
      l: () => setMode(state.mode === "lasso" ? "pan" : "lasso"), Escape: () => { plot.select([]); select([]); },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  function setMode(mode) {
    state.mode = mode;
    plot.setMode(mode);
    stage.classList.toggle("lasso", mode === "lasso");
    modeButtons.forEach((button, k) => button.setAttribute("aria-pressed", mode === ["pan", "lasso"][k]));
  }

  async function showMap(index) {
    state.map = index;
    for (const [k, button] of mapButtons) button.setAttribute("aria-pressed", k === index);
    const m = data.maps[index];
    caption.textContent = m.title === m.key ? m.title : `${m.title} · ${m.key}`;
    tip.hidden = true;
    await plot.setPoints(await store.map(index), state.column.codes, paletteOf(state.column));
    stage.dataset.map = m.title;
  }

  async function showColumn(index) {
    await recolor(await store.column(index));
    columnSelect.value = index;
    genes.show("");
  }

  async function showGene(index) {
    await recolor(await store.gene(index));
    columnSelect.value = -1;
    genes.show(data.genes.names[index]);
  }

  async function recolor(column) {
    const had = state.hidden.size;
    state.column = column;
    state.hidden = new Set();
    if (had) plot.filter(null);
    await plot.setColors(column.codes, paletteOf(column));
    stage.dataset.color = column.name;
    showLegend();
  }

  // ---- legend
  function showLegend() {
    const column = state.column;
    const children = [h("h3", {}, column.name)];
    if (column.kind === "number") {
      children.push(h("div", { class: "scale", style: { background: gradient() } }), h("div", { class: "ends" }, h("span", {}, short(column.min)), h("span", {}, short(column.max))));
      const missing = column.codes.reduce((n, c) => n + (c === 256), 0);
      if (missing) children.push(h("p", { class: "quiet small" }, `${count(missing)} samples have no value (grey).`));
      if (column.note) children.push(h("p", { class: "quiet small" }, column.note));
    } else {
      const palette = paletteOf(column);
      const list = h("ul", { class: "legend" }, column.levels.map((level, k) => {
        const button = h("button", { type: "button", "aria-pressed": String(!state.hidden.has(k)), title: "Show or hide" }, h("i", { style: { background: palette[k] } }), h("span", {}, level), h("em", {}, count(column.counts[k])));
        button.addEventListener("click", () => {
          if (!state.hidden.delete(k)) state.hidden.add(k);
          button.setAttribute("aria-pressed", String(!state.hidden.has(k)));
          applyFilter();
        });
        return h("li", {}, button);
      }));
      children.push(list, h("div", { class: "bar no-print" }, h("button", { type: "button", class: "small", onclick: () => hideAll(false) }, "Show all"), h("button", { type: "button", class: "small", onclick: () => hideAll(true) }, "Hide all")));
    }
    legend.replaceChildren(...children, selection);
  }

  function hideAll(hide) {
    state.hidden = new Set(hide ? state.column.levels.keys() : []);
    applyFilter();
    showLegend();
  }

  function applyFilter() {
    if (!state.hidden.size) return plot.filter(null);
    plot.filter(Uint8Array.from(state.column.codes, (c) => state.hidden.has(c)));
  }

  // ---- hover and selection
  let hovered = -1;
  async function hover(i) {
    hovered = i;
    if (i < 0) {
      tip.hidden = true;
      return;
    }
    const names = await store.names();
    const shown = [data.condition, data.label].filter(Boolean).map((name) => data.columns.findIndex((c) => c.name === name)).filter((k) => k >= 0);
    const lines = await Promise.all(shown.map(async (k) => [data.columns[k].name, (await store.column(k)).value(i)]));
    if (hovered !== i) return;
    if (!lines.some(([name]) => name === state.column.name)) lines.push([state.column.name, state.column.value(i)]);
    tip.replaceChildren(h("b", {}, names[i]), ...lines.map(([name, value]) => h("div", {}, `${name}: ${value === null ? "missing" : typeof value === "number" ? short(value) : value}`)));
    tip.hidden = false;
    const [x, y] = plot.screen(i);
    tip.style.left = Math.min(x + 12, stage.clientWidth - tip.offsetWidth - 6) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, stage.clientHeight - tip.offsetHeight - 6)) + "px";
  }

  async function select(indices) {
    state.selected = indices;
    if (plot.kind === "webgl") plot.chosen = indices.length ? indices : null;
    stage.dataset.selected = indices.length;
    if (!indices.length) {
      selection.replaceChildren(h("p", { class: "quiet small" }, "Draw around samples with the lasso, or hold Shift and drag, to see what they are."));
      return;
    }
    const parts = [];
    for (const name of [data.condition, data.label].filter(Boolean)) {
      const k = data.columns.findIndex((c) => c.name === name);
      if (k < 0) continue;
      const column = await store.column(k);
      const tally = new Array(column.levels.length + 1).fill(0);
      for (const i of indices) tally[column.codes[i]]++;
      const order = [...tally.keys()].filter((c) => tally[c]).sort((a, b) => tally[b] - tally[a]).slice(0, 8);
      parts.push(h("h3", {}, name), h("ul", { class: "legend" }, order.map((c) => h("li", {}, `${c < column.levels.length ? column.levels[c] : "missing"}: ${count(tally[c])} (${Math.round((100 * tally[c]) / indices.length)} %)`))));
    }
    if (state.column.kind === "number") {
      const values = indices.map((i) => state.column.value(i)).filter((v) => v !== null);
      if (values.length) parts.push(h("p", { class: "small" }, `mean of ${state.column.name}: ${short(values.reduce((a, b) => a + b, 0) / values.length)}`));
    }
    selection.replaceChildren(h("p", {}, h("b", {}, `${count(indices.length)} samples selected`)), ...parts, h("div", { class: "bar" }, h("button", { type: "button", onclick: saveNames }, "Save their names"), h("button", { type: "button", onclick: () => { plot.select([]); select([]); } }, "Clear")));
  }

  async function saveNames() {
    const names = await store.names();
    const url = URL.createObjectURL(new Blob([state.selected.map((i) => names[i]).join("\n") + "\n"], { type: "text/plain" }));
    const link = h("a", { href: url, download: "samples.txt" });
    link.click();
    URL.revokeObjectURL(url);
  }

  // ---- print: WebGL pictures do not print, and a page cannot toggle: both maps as plain images.
  const printed = h("div", { class: "print-only" });
  async function forPrint() {
    const which = pair.every((k) => k >= 0) ? pair : [state.map];
    printed.replaceChildren(...(await Promise.all(which.map(async (k) => {
      const points = await store.map(k);
      const sheet = h("canvas", { width: 900, height: 900 });
      paint(sheet, points, state.column.codes, paletteOf(state.column), mixed(points.x.length), { x: 0, y: 0, zoom: 1 }, Math.min(10, Math.max(2, 500 / Math.sqrt(points.x.length))), { back: "#ffffff" });
      return h("figure", {}, h("figcaption", {}, data.maps[k].title), sheet);
    }))));
  }

  const thinned = data.shown < data.samples ? h("p", { class: "quiet small" }, `The map shows ${count(data.shown)} of ${count(data.samples)} samples, chosen at random.`) : null;
  const element = section("map", "Map", h("p", { class: "quiet no-print" }, "Each point is a sample. Good alignment: conditions lie on each other, labels stay apart."), bar, h("div", { class: "map" }, stage, legend), printed, thinned);

  async function start() {
    makePlot();
    setMode("pan");
    state.column = data.columns.length ? await store.column(0) : { name: "", kind: "categorical", levels: [""], counts: [data.shown], colors: ["#0072b2"], codes: new Uint16Array(data.shown), value: () => "" };
    await showMap(state.map);
    stage.dataset.color = state.column.name;
    showLegend();
    await select([]);
    // Made before printing is asked for, so that it is there at once.
    window.addEventListener("beforeprint", () => { forPrint(); });
    if (window.requestIdleCallback) requestIdleCallback(() => forPrint());
  }

  async function retheme() {
    if (!plot || !state.column) return;
    plot.setTheme(css("--plot"), css("--line"), css("--validation"));
    await plot.setColors(state.column.codes, paletteOf(state.column));
    showLegend();
  }

  return {
    element, start, retheme,
    colorByGene(name) {
      const index = data.genes.names.indexOf(name);
      if (index < 0) return false;
      showGene(index);
      element.scrollIntoView();
      return true;
    },
    get plot() { return plot; },
  };
}
