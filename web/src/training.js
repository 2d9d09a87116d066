// Training curves.
import { counted, count, css, h, label, section, short, svg, ticks } from "./dom.js";
import { csvButton, csvOf, figure } from "./save.js";

const PARTS = [
  ["total", "Loss", "What is minimised: reconstruction, KL and penalty, each with its weight. It can be below 0."],
  ["likelihood", "Reconstruction", "How far decoded samples are from the data (negative log-likelihood). Lower is better; it can be below 0."],
  ["kl", "KL to the prior", "How far the embedding is from its prior, a standard normal distribution: how much z says about each sample."],
  ["penalty", "Penalty", "An upper bound on what the embedding says about the condition."],
];
const SETS = [["train", "training", ""], ["validation", "validation", "6 3"]];
const PAD = { left: 56, right: 18, top: 8, bottom: 40 };

// A penalty that sees the embedding through less and less noise rises though conditions are mixed no less.
const BLURRED = " It sees the embedding with noise that decreases from epoch to epoch. So it rises even where conditions become better mixed: do not compare epochs; kBET says whether conditions are mixed.";
const PLAIN = " Near 0: conditions are mixed.";

// The first epochs can be far above the rest: they may leave the picture when they would flatten it.
function rangeOf(lists) {
  const all = lists.flat().filter((v) => v !== null);
  const late = lists.flatMap((list) => list.slice(Math.floor(list.length / 20))).filter((v) => v !== null);
  const span = (v) => [v.reduce((a, b) => Math.min(a, b), Infinity), v.reduce((a, b) => Math.max(a, b), -Infinity)];
  let [min, max] = span(late);
  const [low, high] = span(all);
  if (high - low < 3 * (max - min)) [min, max] = [low, high];
  const pad = (max - min || Math.abs(max) || 1) * 0.06;
  return [min - pad, max + pad];
}

// Whether the curves leave the frame, which is that of the later epochs.
const beyond = (series) => series.flat().some((v) => v !== null && v > rangeOf(series)[1]);

function drawCurves(width, title, epochs, series) {
  const height = 210;
  const [min, max] = rangeOf(series);
  const [first, last] = [epochs[0], Math.max(epochs.at(-1), epochs[0] + 1)];
  const x = (e) => PAD.left + ((e - first) / (last - first)) * (width - PAD.left - PAD.right);
  const y = (v) => Math.max(PAD.top, Math.min(height - PAD.bottom, height - PAD.bottom - ((v - min) / (max - min)) * (height - PAD.top - PAD.bottom)));
  const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title} by epoch; the last values are ${SETS.map(([, name], k) => [name, series[k].at(-1)]).filter(([, v]) => v !== null).map(([name, v]) => `${short(v)} (${name})`).join(", ")}` });
  const quiet = { fill: css("--quiet") };
  for (const t of ticks(min, max, 4)) picture.append(svg("line", { x1: PAD.left, x2: width - PAD.right, y1: y(t), y2: y(t), stroke: css("--line") }), label(PAD.left - 6, y(t) + 4, short(t, max - min < 1 ? 2 : 1), { "text-anchor": "end", ...quiet }));
  for (const t of ticks(first, last, 4).filter(Number.isInteger)) picture.append(label(x(t), height - PAD.bottom + 15, count(t), { "text-anchor": "middle", ...quiet }));
  picture.append(label((PAD.left + width - PAD.right) / 2, height - 8, "epoch", { "text-anchor": "middle", ...quiet }));
  series.forEach((list, k) => {
    const path = list.flatMap((v, i) => (v === null ? [] : [`${x(epochs[i]).toFixed(1)} ${y(v).toFixed(1)}`]));
    if (path.length) picture.append(svg("path", { d: "M" + path.join("L") + (path.length === 1 ? "h0" : ""), fill: "none", stroke: css(k ? "--validation" : "--train"), "stroke-width": path.length === 1 ? 6 : 2, "stroke-linecap": "round", "stroke-dasharray": SETS[k][2] }));
  });
  return picture;
}

export function trainingSection(data) {
  const history = data.history || [];
  if (!history.length) return { element: section("training", "Training", h("p", { class: "quiet" }, "No model was given, so there are no training curves (comp report --model MODEL).")) };
  const pick = (set, part) => history.map((e) => (Number.isFinite(e[set]?.[part]) ? e[set][part] : null));
  const epochs = history.map((e, i) => e.epoch ?? i + 1);
  const blurred = history.length > 1 && (history[0].blur ?? 0) !== (history.at(-1).blur ?? 0);
  const figures = [];
  const charts = h("div", { class: "charts row" });
  for (const [part, title, words] of PARTS) {
    const series = SETS.map(([set]) => pick(set, part));
    if (!series.flat().some((v) => v)) continue;
    const made = figure("training " + title, (width) => drawCurves(width, title, epochs, series), { width: 480 });
    const ends = SETS.map(([, name], k) => [name, series[k].findLast((v) => v !== null), k]).filter(([, v]) => v !== undefined);
    charts.append(h("div", { class: "chart" }, h("h3", {}, title), h("p", { class: "quiet small" }, words, part === "penalty" ? (blurred ? BLURRED : PLAIN) : "", beyond(series) ? " Values of the first epochs that are much larger are cut off." : ""), h("p", { class: "small key" }, ends.map(([name, v, k]) => h("span", {}, h("i", { class: k ? "dash validation" : "dash train" }), `${name}: ${short(v)} at the end`))), made.element));
    figures.push(made);
  }
  const held = pick("validation", "total").some((v) => v !== null);
  const total = pick(held ? "validation" : "train", "total");
  const best = total.reduce((b, v, i) => (v !== null && (b < 0 || v < total[b]) ? i : b), -1);
  const words = best < 0 ? "" : `${counted(history.length, "epoch")}. ` + (blurred ? "Losses of different epochs cannot be compared here: they include the penalty, which rises as its noise decreases (see below)." : `The lowest ${held ? "validation" : "training"} loss is ${short(total[best])}, in epoch ${count(epochs[best])}.`);
  const columns = [{ title: "epoch", value: (k) => epochs[k] }, ...PARTS.flatMap(([part, title]) => SETS.map(([set, name]) => ({ title: `${title} (${name})`, value: (k) => pick(set, part)[k] })))];
  return {
    element: section("training", "Training", h("p", {}, words), charts, csvButton("training", () => csvOf(columns, [...epochs.keys()]))),
    start() { figures.forEach((made) => made.redraw()); },
    retheme() { figures.forEach((made) => made.redraw()); },
  };
}
