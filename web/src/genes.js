// Predicted against real means of genes (or features), label by label; one of them over all labels.
import { count, css, h, nounOf, section, short, svg, ticks } from "./dom.js";
import { cutMiddle, distinct, naturalOrder } from "./names.js";
import { picker } from "./picker.js";
import { table } from "./table.js";

const PAD = { left: 46, right: 12, top: 12, bottom: 40 };

const ruler = document.createElement("canvas").getContext("2d");
function isAsWide(width) {
  ruler.font = "12.5px system-ui, sans-serif";
  return (text) => ruler.measureText(text).width <= width;
}

export function genesSection(store, colorByGene) {
  const { genes, changes, total } = store.data.effects;
  const noun = nounOf(store.data);
  if (!changes.length && store.data.classifiers?.fairness.length) return null; // an attribute that is to be hidden: nothing is predicted
  if (!changes.length) return { element: section("genes", noun.title + "s", h("p", { class: "quiet" }, "The file holds no counterfactuals (layers named counterfactual_VALUE). comp counterfactual makes them.")) };
  const several = changes.some((c) => c.labels.length > 1);
  const state = { change: 0, label: 0, gene: -1, means: null };
  const canvas = h("canvas", { class: "plot", role: "img", tabindex: "0" });
  const tip = h("div", { class: "tip", hidden: true });
  const one = h("div", {}, h("p", { class: "quiet" }, `Search a ${noun.one}, or click a point, to see it${several ? " in every label" : ""}.`));
  const tableBox = h("div");
  const chartTitle = h("h3");
  const labelSelect = h("select", { id: "gene-label", onchange: () => showLabel(Number(labelSelect.value)) });
  const changeSelect = h("select", { id: "gene-change", onchange: () => showChange(Number(changeSelect.value)) }, changes.map((c, k) => h("option", { value: k }, `${c.source} → ${c.target}`)));
  const find = picker("Find a " + noun.one, genes, (k) => showGene(k), `one of ${count(genes.length)}`);
  const nameOf = (entry) => entry.label || "all samples";
  const orderOf = (change) => naturalOrder(change.labels.map(nameOf));

  function frame() {
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const { target, predicted } = state.means;
    let min = Infinity;
    let max = -Infinity;
    for (let i = 0; i < target.length; i++) {
      min = Math.min(min, target[i], predicted[i]);
      max = Math.max(max, target[i], predicted[i]);
    }
    const pad = (max - min || 1) * 0.04;
    min -= pad;
    max += pad;
    return { width, height, min, max,
      x: (v) => PAD.left + ((v - min) / (max - min)) * (width - PAD.left - PAD.right),
      y: (v) => height - PAD.bottom - ((v - min) / (max - min)) * (height - PAD.top - PAD.bottom) };
  }

  function draw() {
    if (!state.means || !canvas.clientWidth) return;
    const change = changes[state.change];
    const entry = change.labels[state.label];
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    const f = frame();
    c.font = "12px system-ui, sans-serif";
    c.strokeStyle = css("--line");
    c.fillStyle = css("--quiet");
    for (const t of ticks(f.min, f.max, 5)) {
      c.beginPath();
      c.moveTo(f.x(t), PAD.top);
      c.lineTo(f.x(t), f.height - PAD.bottom);
      c.moveTo(PAD.left, f.y(t));
      c.lineTo(f.width - PAD.right, f.y(t));
      c.stroke();
      const text = short(t, 1);
      c.textAlign = "center";
      c.fillText(text, f.x(t), f.height - PAD.bottom + 15);
      c.textAlign = "right";
      c.fillText(text, PAD.left - 6, f.y(t) + 4);
    }
    c.strokeStyle = css("--grey");
    c.beginPath();
    c.moveTo(f.x(f.min), f.y(f.min));
    c.lineTo(f.x(f.max), f.y(f.max));
    c.stroke();
    c.textAlign = "center";
    c.fillText(cutMiddle(`mean of real samples (${change.target})`, (text) => c.measureText(text).width < f.width - PAD.left - PAD.right), (PAD.left + f.width - PAD.right) / 2, f.height - 8);
    c.save();
    c.translate(12, (PAD.top + f.height - PAD.bottom) / 2);
    c.rotate(-Math.PI / 2);
    c.fillText("mean predicted", 0, 0);
    c.restore();
    const marked = new Set(entry.de);
    const { target, predicted } = state.means;
    const dot = (i, radius, color) => {
      c.fillStyle = color;
      c.beginPath();
      c.arc(f.x(target[i]), f.y(predicted[i]), radius, 0, 2 * Math.PI);
      c.fill();
    };
    for (let i = 0; i < target.length; i++) if (!marked.has(i)) dot(i, 2.2, css("--unmarked"));
    for (const i of entry.de) dot(i, 3.2, css("--marked"));
    if (state.gene >= 0) {
      const [x, y] = [f.x(target[state.gene]), f.y(predicted[state.gene])];
      c.strokeStyle = css("--text");
      c.lineWidth = 2;
      c.beginPath();
      c.arc(x, y, 7, 0, 2 * Math.PI);
      c.stroke();
      c.fillStyle = css("--text");
      c.font = "bold 13px system-ui, sans-serif";
      c.textAlign = x > f.width * 0.7 ? "right" : "left";
      c.fillText(genes[state.gene], x + (x > f.width * 0.7 ? -11 : 11), Math.max(14, y - 6));
    }
    chartTitle.textContent = `${nameOf(entry)}: r all ${short(entry.r_all)}, r DE ${short(entry.r_de)}, r change ${short(entry.r_change)} (all), ${short(entry.r_change_de)} (DE)`;
    canvas.setAttribute("aria-label", `Predicted against real means of ${genes.length} ${noun.many} in ${nameOf(entry)}; ${chartTitle.textContent}`);
  }

  function nearest(event) {
    if (!state.means) return -1;
    const box = canvas.getBoundingClientRect();
    const f = frame();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let least = 100;
    for (let i = 0; i < genes.length; i++) {
      const away = (f.x(state.means.target[i]) - px) ** 2 + (f.y(state.means.predicted[i]) - py) ** 2;
      if (away < least) [least, best] = [away, i];
    }
    return best;
  }

  canvas.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    tip.hidden = i < 0;
    if (i < 0) return;
    const { source, target, predicted } = state.means;
    tip.replaceChildren(h("b", {}, genes[i]), h("div", {}, `real ${short(target[i])}, predicted ${short(predicted[i])}, ${changes[state.change].source} ${short(source[i])}`));
    const box = canvas.parentElement.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 6)) + "px";
    tip.style.top = event.clientY - box.top + 14 + "px";
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => { const i = nearest(event); if (i >= 0) showGene(i); });

  // One gene in all labels: what it was, what it became, what was predicted.
  async function drawGene() {
    if (state.gene < 0) return;
    const change = changes[state.change];
    const rows = await Promise.all(orderOf(change).map(async (k) => {
      const entry = change.labels[k];
      const m = await store.means(state.change, k);
      return { entry, source: m.source[state.gene], target: m.target[state.gene], predicted: m.predicted[state.gene] };
    }));
    const width = Math.max(260, one.clientWidth);
    const widest = Math.max(...change.labels.map((entry) => { ruler.font = "12.5px system-ui, sans-serif"; return ruler.measureText(nameOf(entry)).width; }));
    const left = Math.min(widest + 14, width * 0.42);
    const step = 24;
    const height = rows.length * step + 34;
    const values = rows.flatMap((r) => [r.source, r.target, r.predicted]);
    const min = Math.min(0, ...values);
    const max = Math.max(...values, 1e-9) * 1.04;
    const x = (v) => left + ((v - min) / (max - min)) * (width - left - 12);
    const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${genes[state.gene]} in each ${several ? "label" : "condition"}` });
    for (const t of ticks(min, max, 4)) picture.append(svg("line", { x1: x(t), x2: x(t), y1: 0, y2: height - 24, stroke: css("--line") }), svg("text", { x: x(t), y: height - 8, "text-anchor": "middle", "font-size": 12, fill: css("--quiet") }, short(t, 2)));
    const shown = distinct(rows.map((r) => nameOf(r.entry)), isAsWide(left - 12));
    rows.forEach((r, k) => {
      const y = k * step + 14;
      const name = nameOf(r.entry);
      picture.append(svg("text", { x: left - 8, y: y + 4, "text-anchor": "end", "font-size": 12.5, "font-family": "system-ui, sans-serif", fill: css("--text") }, shown[k], svg("title", {}, name)),
        svg("line", { x1: x(r.source), x2: x(r.target), y1: y, y2: y, stroke: css("--grey"), "stroke-width": 2 }),
        svg("circle", { cx: x(r.source), cy: y, r: 4, fill: css("--grey") }),
        svg("circle", { cx: x(r.target), cy: y, r: 5, fill: css("--unmarked") }),
        svg("path", { d: `M${x(r.predicted) - 6} ${y}l6 -6l6 6l-6 6z`, fill: "none", stroke: css("--marked"), "stroke-width": 2.2 }));
    });
    const key = (color, text, open) => h("span", { style: { display: "inline-flex", gap: ".35rem", alignItems: "center", marginRight: "1rem" } }, h("i", { style: { width: ".7rem", height: ".7rem", flex: "none", borderRadius: open ? "0" : "50%", transform: open ? "rotate(45deg) scale(.8)" : "", background: open ? "none" : color, border: `2px solid ${color}` } }), text);
    one.replaceChildren(h("h3", {}, genes[state.gene]), h("p", { class: "small" }, key(css("--grey"), `real ${change.source}`), key(css("--unmarked"), `real ${change.target}`), key(css("--marked"), "predicted", true)), picture,
      store.data.genes.names.includes(genes[state.gene]) ? h("button", { type: "button", onclick: () => colorByGene(genes[state.gene]) }, "Colour the map by it") : h("p", { class: "quiet small" }, `This ${noun.one}'s values are not in the page, so the map cannot be coloured by it.`));
    one.dataset.gene = genes[state.gene];
  }

  function showGene(index) {
    state.gene = index;
    find.show(genes[index]);
    draw();
    return drawGene();
  }

  async function showLabel(index) {
    state.label = index;
    labelSelect.value = index;
    state.means = await store.means(state.change, index);
    draw();
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
    ], order.map((k) => labels[k]), { pick: (row) => showLabel(labels.indexOf(row)), caption: several ? "Predictions by label" : "Predictions" }));
    await showLabel(order[0]);
    await drawGene();
  }

  const kept = genes.length < total ? h("p", { class: "quiet small" }, `${count(genes.length)} of ${count(total)} ${noun.many} are here: the most differing and the most variable ones. r and MSE are over all of them.`) : null;
  const element = section("genes", `Predicted effects, ${noun.one} by ${noun.one}`,
    h("p", {}, `Each ${noun.one}'s mean over the real samples of a condition, against its mean over samples of another condition that the model moved there. On the line: predicted right. Orange: the ${noun.many} that differ most between the conditions (DE: the highest test statistics, ${noun.many} that are higher in the target condition).`),
    h("div", { class: "bar" }, h("label", { for: "gene-change" }, "Change", changeSelect), h("label", { for: "gene-label" }, several ? "Label" : "Group", labelSelect), find.element),
    h("div", { class: "explorer" }, h("div", { class: "chart" }, chartTitle, canvas, tip), h("div", { class: "chart" }, one)),
    h("h3", {}, several ? "By label" : "In numbers"), h("p", { class: "quiet small" }, `r: Pearson's r of predicted and real means over all ${noun.many} (r all) and over the ${noun.many} that differ most${several ? " in the label" : ""} (r DE); and of the predicted with the real change, likewise. MSE: mean squared error over the DE ${noun.many}; “no change” is what saying that nothing changes would give.${several ? " The summary quotes the mean of r change over labels." : ""}`), tableBox, kept);
  return {
    element,
    async start() {
      await showChange(0);
      const first = changes[0].labels[state.label].de[0];
      if (first !== undefined) await showGene(first);
      new ResizeObserver(() => { draw(); drawGene(); }).observe(canvas);
    },
    retheme() { draw(); drawGene(); },
  };
}
