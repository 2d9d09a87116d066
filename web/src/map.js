// The map: samples as points, before and after side by side in one view; colours, names, lasso, legend.
import { count, counted, css, h, label, nounOf, percent, section, short, svg, textWidth } from "./dom.js";
import { gradient, paletteOf, viridis } from "./colors.js";
import { Board, paint } from "./scatter.js";
import { densest, isFilled, withoutOverlap } from "./clusters.js";
import { distinct } from "./names.js";
import { figureButtons, inLight, saveFile } from "./save.js";
import { picker } from "./picker.js";

const NAME = 13; // size of names on the map, pixels
const WEIGHT = 600;
const MANY = 60; // levels above which names are not written
const HELP = "Arrow keys move, plus and minus zoom, 0 shows all, L switches the lasso, Enter selects the samples in view, Escape ends a selection.";

export function mapSection(store) {
  const { data } = store;
  const noun = nounOf(data);
  if (!data.maps.length) return { element: section("map", "Map", h("p", { class: "quiet" }, "The file holds no map of its samples. comp umap makes one (obsm/X_umap).")) };

  const pair = ["before", "after"].map((role) => data.maps.findIndex((m) => m.role === role));
  const linked = pair.every((k) => k >= 0);
  const state = { shown: linked ? pair : [Math.max(0, pair[1])], column: null, hidden: new Set(), selected: [], points: [], names: [] };
  const stages = h("div", { class: "stages", id: "stages" });
  const side = h("div", { class: "side" });
  const selection = h("div", { class: "selection", "aria-live": "polite" });
  const board = new Board(data.shown, { select, hover, drawn: writeNames });
  let panels = [];

  // ---- controls
  const choices = [...(linked ? [["Side by side", pair]] : []), ...pair.filter((k) => k >= 0).map((k) => [data.maps[k].title, [k]])];
  const choiceButtons = choices.map(([title, which]) => h("button", { type: "button", onclick: () => showMaps(which) }, title));
  const others = data.maps.map((_, k) => k).filter((k) => !pair.includes(k));
  const otherMaps = others.length ? h("label", {}, "Other maps", h("select", { onchange: (event) => event.target.value && showMaps([Number(event.target.value)]) }, h("option", { value: "" }, "–"), others.map((k) => h("option", { value: k }, data.maps[k].title)))) : null;
  const columnSelect = h("select", { id: "color-by", onchange: () => showColumn(Number(columnSelect.value)) }, data.columns.map((c, k) => h("option", { value: k }, c.name)), h("option", { value: -1, hidden: true }, "a " + noun.one));
  const genes = picker("…or by " + noun.one, data.genes.names, showGene, data.genes.names.length ? `one of ${count(data.genes.names.length)}` : "none");
  const modeButtons = ["pan", "lasso"].map((mode) => h("button", { type: "button", onclick: () => setMode(mode) }, mode === "pan" ? "Move" : "Lasso"));
  const namesBox = h("input", { type: "checkbox", id: "map-names", checked: true, onchange: () => board.redraw() });
  const bar = h("div", { class: "bar" },
    choices.length > 1 ? h("div", { class: "field" }, h("span", {}, "Show"), h("span", { class: "group", role: "group", "aria-label": "Which map" }, choiceButtons)) : null, otherMaps,
    h("label", { for: "color-by" }, "Colour by", columnSelect), genes.element,
    h("span", { class: "group", role: "group", "aria-label": "What dragging does" }, modeButtons),
    h("span", { class: "group", role: "group", "aria-label": "Zoom" },
      h("button", { type: "button", "aria-label": "Zoom in", onclick: () => board.zoom(1.4) }, "+"),
      h("button", { type: "button", "aria-label": "Zoom out", onclick: () => board.zoom(1 / 1.4) }, "−"),
      h("button", { type: "button", onclick: () => board.reset() }, "Whole map")),
    h("label", { class: "check", for: "map-names" }, namesBox, "Names"));

  function setMode(mode) {
    board.mode = mode;
    stages.classList.toggle("lasso", mode === "lasso");
    modeButtons.forEach((button, k) => button.setAttribute("aria-pressed", mode === ["pan", "lasso"][k]));
  }

  function keys(event, p) {
    const step = 0.15;
    const actions = {
      ArrowLeft: () => board.pan(-step, 0), ArrowRight: () => board.pan(step, 0), ArrowUp: () => board.pan(0, step), ArrowDown: () => board.pan(0, -step),
      "+": () => board.zoom(1.3), "=": () => board.zoom(1.3), "-": () => board.zoom(1 / 1.3), 0: () => board.reset(),
      l: () => setMode(board.mode === "lasso" ? "pan" : "lasso"), Enter: () => board.chooseVisible(p), Escape: clear,
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  // ---- maps
  async function showMaps(which) {
    state.shown = which;
    choiceButtons.forEach((button, k) => button.setAttribute("aria-pressed", String(choices[k][1].join() === which.join())));
    if (otherMaps) otherMaps.querySelector("select").value = others.includes(which[0]) ? which[0] : "";
    state.points = await Promise.all(which.map((k) => store.map(k)));
    panels = which.map((k, p) => {
      const m = data.maps[k];
      const canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": `Map of the samples, ${m.title}. ${HELP}` });
      const tip = h("div", { class: "tip", hidden: true });
      canvas.addEventListener("keydown", (event) => keys(event, p));
      const caption = h("div", { class: "caption" }, m.title, m.key && m.key !== m.title ? h("small", {}, m.key) : null);
      return { canvas, tip, caption, stage: h("div", { class: "stage" }, canvas, caption, tip) };
    });
    stages.replaceChildren(...panels.map((panel) => panel.stage));
    stages.classList.toggle("two", panels.length === 2);
    board.setPanels(panels.map(({ canvas }, p) => ({ canvas, points: state.points[p] })));
    await placeNames();
    stages.dataset.maps = which.map((k) => data.maps[k].title).join(" | ");
  }

  // ---- names of groups: of the column that colours, or of the labels where that is the condition or a number
  async function placeNames() {
    const own = state.column.kind === "categorical" && state.column.name !== data.condition ? state.column : await store.role("label");
    state.named = own && own.levels.length <= MANY && own.levels.length > 1 ? own : null;
    state.names = state.named ? state.points.map((points) => densest(points, state.named.codes, state.named.levels.length)) : [];
    namesBox.disabled = !state.named;
    board.redraw();
  }

  // The names of a panel. `taken`: boxes that stay free. Names at the edge, or of groups that are many, may be cut.
  function namesOn(p, width, height, size, view, taken) {
    if (!state.named || !namesBox.checked || !state.names[p]) return [];
    const scale = (Math.min(width, height) / 2) * view.zoom;
    const measure = (text) => textWidth(text, size, WEIGHT);
    const { column, wide, texts } = state.written?.[size] || {};
    if (column !== state.named || wide !== width) {
      state.written = { ...state.written, [size]: { column: state.named, wide: width, texts: distinct(state.named.levels, (text) => measure(text) <= Math.max(90, width * 0.34)) } };
      return namesOn(p, width, height, size, view, taken);
    }
    const { places, filled } = state.names[p];
    const isHidden = (level) => state.named === state.column && state.hidden.has(level);
    const list = places.flatMap((own, level) => (isHidden(level) ? [] : own.map((at, k) => ({ name: texts[level], samples: at[2], further: k > 0, x: width / 2 + (at[0] - view.x) * scale, y: height / 2 - (at[1] - view.y) * scale }))));
    const covers = (x, y) => isFilled(filled, view.x + (x - width / 2) / scale, view.y - (y - height / 2) / scale);
    return withoutOverlap(list, measure, size * 1.25, { width, deep: height, taken, covers });
  }

  // What is written on a panel now, in its pixels: names, and the box of its caption.
  function written(p) {
    const { canvas, ratio } = board.panels[p];
    const { offsetLeft, offsetTop, offsetWidth, offsetHeight } = panels[p].caption;
    const caption = { x: (offsetLeft + offsetWidth / 2) * ratio, y: (offsetTop + offsetHeight / 2) * ratio, half: (offsetWidth / 2) * ratio, tall: (offsetHeight / 2) * ratio };
    return { names: namesOn(p, canvas.width, canvas.height, NAME * ratio, board.view, [caption]), caption };
  }

  function writeNames(p, context) {
    const { ratio } = board.panels[p];
    const { names } = written(p);
    Object.assign(context, { strokeStyle: css("--quiet"), lineWidth: ratio });
    for (const { leader } of names) if (leader) {
      context.beginPath();
      leader.forEach(([x, y]) => context.lineTo(x, y));
      context.stroke();
    }
    context.font = `${WEIGHT} ${NAME * ratio}px system-ui, sans-serif`;
    Object.assign(context, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 * ratio, strokeStyle: css("--plot"), fillStyle: css("--text") });
    for (const { name, x, y } of names) {
      context.strokeText(name, x, y);
      context.fillText(name, x, y);
    }
  }

  // ---- colours
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
    state.column = column;
    state.hidden = new Set();
    board.hide(state.hidden);
    board.setColors(column.codes, paletteOf(column));
    await placeNames();
    stages.dataset.color = column.name;
    showLegend();
  }

  // ---- legend
  function showLegend() {
    const column = state.column;
    const children = [h("h3", {}, column.name)];
    if (column.kind === "number") {
      children.push(h("div", { class: "scale", style: { background: gradient() } }), h("div", { class: "ends" }, h("span", {}, short(column.min)), h("span", {}, short(column.max))));
      const missing = column.codes.reduce((n, c) => n + (c === 256), 0);
      if (missing) children.push(h("p", { class: "quiet small" }, `${counted(missing, "sample")} without a value (grey).`));
      if (column.note) children.push(h("p", { class: "quiet small" }, column.note));
    } else {
      const palette = paletteOf(column);
      const list = h("ul", { class: "legend" }, column.levels.map((level, k) => {
        const button = h("button", { type: "button", "aria-pressed": String(!state.hidden.has(k)), title: "Show or hide" }, h("i", { style: { background: palette[k] } }), h("span", {}, level), h("em", {}, count(column.counts[k])));
        button.addEventListener("click", () => {
          if (!state.hidden.delete(k)) state.hidden.add(k);
          button.setAttribute("aria-pressed", String(!state.hidden.has(k)));
          board.hide(state.hidden);
        });
        return h("li", {}, button);
      }));
      children.push(list, h("div", { class: "bar no-print" }, h("button", { type: "button", class: "small", onclick: () => hideAll(false) }, "Show all"), h("button", { type: "button", class: "small", onclick: () => hideAll(true) }, "Hide all")));
    }
    side.replaceChildren(...children, selection);
  }

  function hideAll(hide) {
    state.hidden = new Set(hide ? state.column.levels.keys() : []);
    board.hide(state.hidden);
    showLegend();
  }

  // ---- hover and selection
  let hovered = -1;
  async function hover(p, i) {
    hovered = i;
    panels.forEach(({ tip }) => { tip.hidden = true; });
    if (i < 0) return;
    const { tip, stage } = panels[p];
    const roles = (await Promise.all([store.role("condition"), store.role("label")])).filter(Boolean);
    const lines = [...roles, ...(roles.some((c) => c.name === state.column.name) ? [] : [state.column])].map((c) => [c.name, c.value(i)]);
    const name = await store.name(i);
    if (hovered !== i) return;
    tip.replaceChildren(h("span", { class: "tip-name" }, name), ...lines.filter(([title]) => title).map(([title, value]) => h("div", {}, `${title}: ${value === null ? "missing" : typeof value === "number" ? short(value) : value}`)));
    tip.hidden = false;
    const [x, y] = board.screen(p, i);
    tip.style.left = Math.max(4, Math.min(x + 12, stage.clientWidth - tip.offsetWidth - 6)) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, stage.clientHeight - tip.offsetHeight - 6)) + "px";
  }

  function clear() {
    board.select([]);
    return select([]);
  }

  async function select(indices) {
    state.selected = indices;
    if (!indices.length) {
      selection.replaceChildren(h("p", { class: "quiet small" }, `Draw around samples with the lasso, or hold Shift and drag${linked ? ". A selection is marked in both maps" : ""}. On the keyboard: zoom in, then Enter.`));
      stages.dataset.selected = 0;
      return;
    }
    const parts = [];
    for (const column of (await Promise.all([store.role("condition"), store.role("label")])).filter(Boolean)) {
      const tally = new Array(column.levels.length + 1).fill(0);
      for (const i of indices) tally[column.codes[i]]++;
      const order = [...tally.keys()].filter((c) => tally[c]).sort((a, b) => tally[b] - tally[a]).slice(0, 8);
      parts.push(h("h3", {}, column.name), h("ul", { class: "legend" }, order.map((c) => h("li", {}, `${c < column.levels.length ? column.levels[c] : "missing"}: ${count(tally[c])} (${percent(tally[c] / indices.length)})`))));
    }
    if (state.column.kind === "number") {
      let [sum, n] = [0, 0];
      for (const i of indices) if (state.column.value(i) !== null) [sum, n] = [sum + state.column.value(i), n + 1];
      if (n) parts.push(h("p", { class: "small" }, `mean of ${state.column.name}: ${short(sum / n)}`));
    }
    selection.replaceChildren(h("p", { class: "total" }, `${counted(indices.length, "sample")} selected`), ...parts, h("div", { class: "bar" }, h("button", { type: "button", onclick: saveNames }, "Save their names"), h("button", { type: "button", onclick: clear }, "Clear")));
    stages.dataset.selected = indices.length;
  }

  async function saveNames() {
    const names = [];
    for (const i of state.selected) names.push(await store.name(i));
    saveFile("samples.txt", names.join("\n") + "\n", "text/plain");
  }

  // ---- the map as a figure: the points of each panel as an image, words and legend as text
  function drawFigure() {
    const [size, gap, top] = [420, 20, 34];
    const n = state.shown.length;
    const width = n * size + (n - 1) * gap + 20;
    const column = state.column;
    const palette = paletteOf(column);
    board.setTheme(css("--plot"), css("--line"));
    board.palette = palette;
    const parts = state.shown.flatMap((k, p) => {
      const sheet = h("canvas", { width: 2 * size, height: 2 * size });
      paint(sheet, board.panels[p].points, board.look(undefined, board.view, board.pointSize(2)));
      const x0 = 10 + p * (size + gap);
      const names = namesOn(p, size, size, NAME, board.view);
      return [label(x0, 22, data.maps[k].title, { "font-size": 15, "font-weight": 600 }), svg("image", { x: x0, y: top, width: size, height: size, href: sheet.toDataURL() }), svg("rect", { x: x0, y: top, width: size, height: size, fill: "none", stroke: css("--line") }),
        ...names.filter((n) => n.leader).map(({ leader: [from, to] }) => svg("line", { x1: x0 + from[0], y1: top + from[1], x2: x0 + to[0], y2: top + to[1], stroke: css("--quiet") })),
        ...names.map(({ name, x, y }) => label(x0 + x, top + y + 4, name, { "text-anchor": "middle", "font-size": NAME, "font-weight": WEIGHT, stroke: css("--plot"), "stroke-width": 3, "paint-order": "stroke", "stroke-linejoin": "round" }))];
    });
    const { marks, height } = legendFor(column, palette, width, top + size + 26);
    return svg("svg", { width: "100%", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": figureTitle() }, ...parts, ...marks);
  }

  const figureTitle = () => `Map, ${state.shown.map((k) => data.maps[k].title).join(" and ")}, coloured by ${state.column.name || "nothing"}`;

  function legendFor(column, palette, width, y) {
    const marks = [label(10, y, column.name, { "font-weight": 600 })];
    y += 20;
    if (column.kind === "number") {
      for (let k = 0; k < 64; k++) marks.push(svg("rect", { x: 10 + 3 * k, y: y - 10, width: 3.5, height: 12, fill: viridis(k / 63) }));
      marks.push(label(10, y + 18, short(column.min)), label(202, y + 18, short(column.max), { "text-anchor": "end" }));
      return { marks, height: y + 30 };
    }
    let x = 10;
    column.levels.forEach((level, k) => {
      if (state.hidden.has(k)) return;
      const wide = textWidth(level) + 36;
      if (x > 10 && x + wide > width) [x, y] = [10, y + 19];
      marks.push(svg("circle", { cx: x + 5, cy: y - 4, r: 5, fill: palette[k] }), label(x + 15, y, level));
      x += wide;
    });
    return { marks, height: y + 14 };
  }

  // A figure is drawn in the light theme: what the board took from it is given back.
  function lightFigure() {
    const { back, faint, palette } = board;
    const picture = drawFigure();
    Object.assign(board, { back, faint, palette });
    board.redraw();
    return picture;
  }

  // ---- print: a page cannot be moved: the maps as a figure.
  const printed = h("div", { class: "print-only" });
  const forPrint = () => printed.replaceChildren(inLight(lightFigure));

  const thinned = data.shown < data.samples ? h("p", { class: "quiet small" }, `The map shows ${count(data.shown)} of ${counted(data.samples, "sample")}, chosen at random.`) : null;
  const element = section("map", "Map", h("p", { class: "quiet no-print" }, `Each point is a sample.${linked ? " Both maps move together; a sample that you point at is marked in both." : ""} Good integration: conditions are mixed, labels stay separate.`),
    bar, h("div", { class: "map" }, h("div", {}, stages, figureButtons("map", lightFigure)), side), printed, thinned);

  async function start() {
    setMode("pan");
    board.setTheme(css("--plot"), css("--line"));
    state.column = data.columns.length ? await store.column(0) : { name: "", kind: "categorical", levels: [""], counts: [data.shown], colors: ["#0072b2"], dark: ["#56b4e9"], codes: new Uint16Array(data.shown), value: () => "" };
    board.setColors(state.column.codes, paletteOf(state.column));
    await showMaps(state.shown);
    stages.dataset.color = state.column.name;
    showLegend();
    await select([]);
    window.addEventListener("beforeprint", forPrint);
  }

  function retheme() {
    if (!state.column) return;
    board.setTheme(css("--plot"), css("--line"));
    board.setColors(state.column.codes, paletteOf(state.column));
    showLegend();
  }

  return {
    element, start, retheme, board, written,
    colorByGene(name) {
      const index = data.genes.names.indexOf(name);
      if (index < 0) return false;
      showGene(index);
      element.scrollIntoView();
      return true;
    },
  };
}
