// What the model predicts for another condition, against real samples of it: gene by gene, label by label.
import { count, counted, css, h, label, nounOf, section, short, svg, textWidth, ticks } from "./dom.js";
import { cutMiddle, distinct, naturalOrder } from "./names.js";
import { figure } from "./save.js";
import { picker } from "./picker.js";
import { table } from "./table.js";

const PAD = { left: 50, right: 12, top: 12, bottom: 40 };

export function effectsSection(store, colorByGene) {
  const { genes, changes, total, alone } = store.data.effects;
  const noun = nounOf(store.data);
  if (!changes.length && store.data.classifiers?.protect) return null; // an attribute that is to be hidden: nothing is predicted
  if (!changes.length && alone) return { element: section("effects", "Predicted changes", h("p", {}, `${counted(alone, "change")} of condition ${alone === 1 ? "was" : "were"} predicted, but cannot be compared with real samples: no label is in both conditions.`)) };
  if (!changes.length) return { element: section("effects", "Predicted changes", h("p", { class: "quiet" }, "The file holds no counterfactuals (layers named counterfactual_VALUE). comp counterfactual makes them.")) };
  const several = changes.some((c) => c.labels.length > 1);
  const state = { change: 0, label: 0, gene: -1, means: null, rows: null };
  const tip = h("div", { class: "tip", hidden: true });
  const oneTitle = h("h3");
  const oneKey = h("div");
  const oneMore = h("div");
  const one = h("div", {});
  const tableBox = h("div");
  const deBox = h("div");
  const deTitle = h("h3");
  const chartTitle = h("h3");
  const chartWords = h("p", { class: "small" });
  const labelSelect = h("select", { id: "gene-label", onchange: () => showLabel(Number(labelSelect.value)) });
  const changeSelect = h("select", { id: "gene-change", onchange: () => showChange(Number(changeSelect.value)) }, changes.map((c, k) => h("option", { value: k }, `${c.source} → ${c.target}`)));
  const find = picker("Find a " + noun.one, genes, (k) => showGene(k), `one of ${count(genes.length)}`);
  const nameOf = (entry) => entry.label || "all samples";
  const orderOf = (change) => naturalOrder(change.labels.map(nameOf));
  const entryOf = () => changes[state.change].labels[state.label];

  // ---- predicted against real means
  function frame(width, height) {
    const { target, predicted } = state.means;
    let [min, max] = [Infinity, -Infinity];
    for (let i = 0; i < target.length; i++) {
      min = Math.min(min, target[i], predicted[i]);
      max = Math.max(max, target[i], predicted[i]);
    }
    const pad = (max - min || 1) * 0.04;
    [min, max] = [min - pad, max + pad];
    return { width, height, min, max,
      x: (v) => PAD.left + ((v - min) / (max - min)) * (width - PAD.left - PAD.right),
      y: (v) => height - PAD.bottom - ((v - min) / (max - min)) * (height - PAD.top - PAD.bottom) };
  }

  const wordsOfEntry = (entry) => `Pearson's r of the means: ${short(entry.r_all)} over all ${noun.many}, ${short(entry.r_de)} over the top DE ${noun.many}. Of the changes: ${short(entry.r_change)} and ${short(entry.r_change_de)}.`;

  function drawCloud(width) {
    if (!state.means) return null;
    const entry = entryOf();
    const f = frame(width, Math.min(440, Math.max(300, width * 0.75)));
    const { target, predicted } = state.means;
    const quiet = { fill: css("--quiet") };
    const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${f.height}`, role: "img", "aria-label": `Predicted against real means of ${counted(genes.length, noun.one)} in ${nameOf(entry)}. ${wordsOfEntry(entry)} The table below has the numbers.` });
    for (const t of ticks(f.min, f.max, 5))
      picture.append(svg("path", { d: `M${f.x(t)} ${PAD.top}V${f.height - PAD.bottom}M${PAD.left} ${f.y(t)}H${width - PAD.right}`, stroke: css("--line"), fill: "none" }),
        label(f.x(t), f.height - PAD.bottom + 15, short(t, 1), { "text-anchor": "middle", ...quiet }), label(PAD.left - 6, f.y(t) + 4, short(t, 1), { "text-anchor": "end", ...quiet }));
    picture.append(svg("line", { x1: f.x(f.min), y1: f.y(f.min), x2: f.x(f.max), y2: f.y(f.max), stroke: css("--grey") }),
      label((PAD.left + width - PAD.right) / 2, f.height - 6, cutMiddle(`mean of real samples (${changes[state.change].target})`, (t) => textWidth(t) < width - PAD.left - PAD.right), { "text-anchor": "middle", ...quiet }),
      label(0, 0, "mean predicted", { transform: `translate(12 ${(PAD.top + f.height - PAD.bottom) / 2}) rotate(-90)`, "text-anchor": "middle", ...quiet }));
    const dots = (list) => list.map((i) => `M${f.x(target[i]).toFixed(1)} ${f.y(predicted[i]).toFixed(1)}h0`).join("");
    const marked = new Set(entry.de);
    const rest = genes.map((_, i) => i).filter((i) => !marked.has(i));
    const cloud = (list, size, color) => svg("path", { d: dots(list), stroke: color, "stroke-width": size, "stroke-linecap": "round", fill: "none" });
    picture.append(cloud(rest, 4.4, css("--unmarked")), cloud(entry.de, 6.4, css("--marked")));
    if (state.gene >= 0) {
      const [x, y] = [f.x(target[state.gene]), f.y(predicted[state.gene])];
      const far = x > width * 0.7;
      picture.append(svg("circle", { cx: x, cy: y, r: 7, fill: "none", stroke: css("--text"), "stroke-width": 2 }), label(x + (far ? -11 : 11), Math.max(14, y - 6), genes[state.gene], { "text-anchor": far ? "end" : "start", "font-size": 13, "font-weight": 600, stroke: css("--plot"), "stroke-width": 3, "paint-order": "stroke" }));
    }
    chartTitle.textContent = `${nameOf(entry)}: predicted against real`;
    chartWords.textContent = wordsOfEntry(entry);
    return picture;
  }
  const cloud = figure("predicted against real means", drawCloud, { width: 640, file: () => `${changes[state.change].source} to ${changes[state.change].target} ${nameOf(entryOf())} means` });

  function nearest(event) {
    const picture = cloud.element.querySelector("svg");
    if (!state.means || !picture) return -1;
    const box = picture.getBoundingClientRect();
    const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
    const f = frame(width, height);
    const [px, py] = [((event.clientX - box.left) / box.width) * width, ((event.clientY - box.top) / box.height) * height];
    let best = -1;
    let least = 100;
    for (let i = 0; i < genes.length; i++) {
      const away = (f.x(state.means.target[i]) - px) ** 2 + (f.y(state.means.predicted[i]) - py) ** 2;
      if (away < least) [least, best] = [away, i];
    }
    return best;
  }

  const chart = h("div", { class: "chart" }, chartTitle, chartWords, cloud.element, tip);
  cloud.element.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    tip.hidden = i < 0;
    if (i < 0) return;
    const { source, target, predicted } = state.means;
    tip.replaceChildren(h("span", { class: "tip-name" }, genes[i]), h("div", {}, `real ${short(target[i])}, predicted ${short(predicted[i])}, ${changes[state.change].source} ${short(source[i])}`));
    const box = chart.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 6)) + "px";
    tip.style.top = event.clientY - box.top + 14 + "px";
  });
  cloud.element.addEventListener("pointerleave", () => { tip.hidden = true; });
  cloud.element.addEventListener("click", (event) => { const i = nearest(event); if (i >= 0) showGene(i); });

  // ---- one gene in all labels: what it was, what it became, what was predicted
  function drawGene(width) {
    const { rows } = state;
    if (!rows) return null;
    const left = Math.min(Math.max(...rows.map((r) => textWidth(nameOf(r.entry), 12.5))) + 14, width * 0.42);
    const step = 24;
    const height = rows.length * step + 34;
    const values = rows.flatMap((r) => [r.source, r.target, r.predicted]);
    const min = Math.min(0, ...values);
    const max = Math.max(...values, 1e-9) * 1.04;
    const x = (v) => left + ((v - min) / (max - min)) * (width - left - 12);
    const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${genes[state.gene]} in each ${several ? "label" : "condition"}: real and predicted means` });
    for (const t of ticks(min, max, 4)) picture.append(svg("line", { x1: x(t), x2: x(t), y1: 0, y2: height - 24, stroke: css("--line") }), label(x(t), height - 8, short(t, 2), { "text-anchor": "middle", fill: css("--quiet") }));
    const shown = distinct(rows.map((r) => nameOf(r.entry)), (text) => textWidth(text, 12.5) <= left - 12);
    rows.forEach((r, k) => {
      const y = k * step + 14;
      picture.append(label(left - 8, y + 4, shown[k], { "text-anchor": "end", "font-size": 12.5 }),
        svg("line", { x1: x(r.source), x2: x(r.target), y1: y, y2: y, stroke: css("--grey"), "stroke-width": 2 }),
        svg("circle", { cx: x(r.source), cy: y, r: 4, fill: css("--grey") }),
        svg("circle", { cx: x(r.target), cy: y, r: 5, fill: css("--unmarked") }),
        svg("path", { d: `M${x(r.predicted) - 6} ${y}l6 -6l6 6l-6 6z`, fill: "none", stroke: css("--marked"), "stroke-width": 2.2 }));
    });
    return picture;
  }
  const geneFigure = figure("real and predicted means by label", drawGene, { width: 560, file: () => `${genes[state.gene]} ${changes[state.change].source} to ${changes[state.change].target}` });

  function geneKey(change) {
    const spot = (name, text, open) => h("span", {}, h("i", { class: open ? "open" : "", style: { background: open ? "none" : css(name), borderColor: css(name) } }), text);
    return h("p", { class: "small key" }, spot("--grey", `real ${change.source}`), spot("--unmarked", `real ${change.target}`), spot("--marked", "predicted", true));
  }

  async function readGene() {
    if (state.gene < 0) return;
    const change = changes[state.change];
    const asked = [state.gene, state.change].join();
    const rows = await Promise.all(orderOf(change).map(async (k) => {
      const m = await store.means(state.change, k);
      return { entry: change.labels[k], source: m.source[state.gene], target: m.target[state.gene], predicted: m.predicted[state.gene] };
    }));
    if (asked !== [state.gene, state.change].join()) return;
    state.rows = rows;
    oneTitle.textContent = genes[state.gene];
    oneKey.replaceChildren(geneKey(change));
    geneFigure.redraw();
    oneMore.replaceChildren(store.data.genes.names.includes(genes[state.gene]) ? h("button", { type: "button", onclick: () => colorByGene(genes[state.gene]) }, "Colour the map by it") : h("p", { class: "quiet small" }, `This ${noun.one}'s values are not in the page, so the map cannot be coloured by it.`));
    one.dataset.gene = genes[state.gene];
  }

  function showGene(index) {
    state.gene = index;
    find.show(genes[index]);
    cloud.redraw();
    return readGene();
  }

  // ---- the table of genes
  function deTable() {
    const change = changes[state.change];
    const entry = entryOf();
    const { source, target, predicted, z, p } = state.means;
    const rank = new Map(entry.de.map((g, k) => [g, k + 1]));
    const rows = genes.map((name, g) => ({ g, name, rank: rank.get(g), source: source[g], target: target[g], real: target[g] - source[g], predicted: predicted[g] - source[g], off: predicted[g] - target[g], z: z[g], p: p[g] }));
    const fixed = (v) => v.toFixed(3).replace(/^-(0\.000)$/, "$1").replace("-", "−"); // the page holds them rounded
    const number = (title, key, show = fixed) => ({ title, number: true, value: (row) => row[key], show: (row) => show(row[key]) });
    deTitle.textContent = `Differential expression: ${change.target} against ${change.source}, ${nameOf(entry)}`;
    return table([
      { title: noun.title, class: "gene", value: (row) => row.name }, number(`mean ${change.source}`, "source"), number(`mean ${change.target}`, "target"),
      number("real change", "real"), number("predicted change", "predicted"), number("predicted − real", "off"), number("z-score (Wilcoxon)", "z", (v) => short(v, 1)), number("adjusted p", "p", (v) => (v < 1.01e-37 ? "< 1e−37" : v < 1e-3 ? v.toExponential(1).replace("-", "−") : short(v))), number("DE rank", "rank", (v) => (v === undefined ? "" : count(v))),
    ], rows, { pick: (row) => showGene(row.g), caption: `DE ${change.source} to ${change.target} in ${nameOf(entry)}`, sorted: 6 });
  }

  // ---- what is shown
  async function showLabel(index) {
    state.label = index;
    labelSelect.value = index;
    state.means = await store.means(state.change, index);
    cloud.redraw();
    deBox.replaceChildren(deTable());
  }

  async function showChange(index) {
    state.change = index;
    const labels = changes[index].labels;
    const order = orderOf(changes[index]);
    labelSelect.replaceChildren(...order.map((k) => h("option", { value: k }, nameOf(labels[k]))));
    const [from, to] = distinct([changes[index].source, changes[index].target], (text) => text.length <= 24); // in full in the map's legend
    const number = (title, key) => ({ title, number: true, value: (row) => row[key] });
    tableBox.replaceChildren(table([
      { title: several ? "Label" : "Group", class: "name", value: nameOf }, { ...number(`n ${from}`, "n_source"), show: (row) => count(row.n_source) }, { ...number(`n ${to}`, "n_target"), show: (row) => count(row.n_target) },
      number("r all", "r_all"), number("r DE", "r_de"), number("r change, all", "r_change"), number("r change, DE", "r_change_de"), number("MSE DE", "mse_de"), number("MSE DE, no change", "mse_none"),
    ], order.map((k) => labels[k]), { pick: (row) => showLabel(labels.indexOf(row)), caption: several ? "Predicted means by label" : "Predicted means" }));
    await showLabel(order[0]);
    await readGene();
  }

  const kept = genes.length < total ? h("p", { class: "quiet small" }, `${count(genes.length)} of ${counted(total, noun.one)} are here: the top DE ${noun.many} and the most variable ones. r and MSE are over all of them.`) : null;
  one.append(oneTitle, oneKey, geneFigure.element, oneMore);
  const element = section("effects", `Predicted changes, ${noun.one} by ${noun.one}`,
    h("p", {}, `For each ${noun.one}: its mean over the real samples of a condition, and its mean as the model predicts it from samples of another condition. A point on the line is predicted exactly. Orange points are the top DE ${noun.many} (Wilcoxon, higher in the target condition).`),
    h("div", { class: "bar" }, h("label", { for: "gene-change" }, "Change", changeSelect), h("label", { for: "gene-label" }, several ? "Label" : "Group", labelSelect), find.element),
    h("div", { class: "explorer" }, chart, h("div", { class: "chart" }, one)),
    deTitle, h("p", { class: "quiet small" }, `Choose a ${noun.one} to mark it above. Changes are differences of means. The z-score and the adjusted p (Benjamini-Hochberg) are of the Wilcoxon rank-sum test between the real samples; this z-score has nothing to do with the embedding z.`), deBox, kept,
    h("h3", {}, several ? "By label" : "In numbers"), h("p", { class: "quiet small" }, `r: Pearson's r of predicted and real means, over all ${noun.many} (r all) and over the top DE ${noun.many}${several ? " of the label" : ""} (r DE). r change: the same of the predicted and the real change. MSE: mean squared error over the DE ${noun.many}; “no change” is the error of predicting that nothing changes.${several ? " The summary quotes the mean of r change over labels." : ""}`), tableBox);
  return {
    element,
    async start() {
      await showChange(0);
      const first = entryOf().de[0];
      if (first !== undefined) await showGene(first);
    },
    retheme() {
      cloud.redraw();
      if (state.rows) oneKey.replaceChildren(geneKey(changes[state.change]));
      geneFigure.redraw();
    },
  };
}
