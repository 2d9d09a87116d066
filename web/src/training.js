// Training curves, by uPlot.
import uPlot from "uplot";
import { count, css, h, section, short } from "./dom.js";

const PARTS = [
  ["total", "Loss", "What is minimised: reconstruction, KL and penalty, each with its weight."],
  ["likelihood", "Reconstruction", "How badly samples are rebuilt (negative log-likelihood)."],
  ["kl", "KL to the prior", "How far the representation is from the prior."],
  ["penalty", "Penalty", "Bounds what the representation tells of the condition: near 0 is aligned."],
];

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

export function trainingSection(data) {
  const history = data.history || [];
  if (!history.length) return { element: section("training", "Training", h("p", { class: "quiet" }, "No model was given, so there are no training curves (comp report --model MODEL).")) };
  const pick = (set, part) => history.map((e) => (Number.isFinite(e[set]?.[part]) ? e[set][part] : null));
  const epochs = history.map((e, i) => e.epoch ?? i + 1);
  const holders = [];
  const charts = h("div", { class: "charts" });
  for (const [part, title, words] of PARTS) {
    const series = [pick("train", part), pick("validation", part)];
    if (!series.flat().some((v) => v)) continue;
    const box = h("div");
    charts.append(h("div", { class: "chart" }, h("h3", {}, title), h("p", { class: "quiet small" }, words), box));
    holders.push({ box, series, plot: null });
  }
  const held = pick("validation", "total").some((v) => v !== null);
  const total = pick(held ? "validation" : "train", "total");
  const best = total.reduce((b, v, i) => (v !== null && (b < 0 || v < total[b]) ? i : b), -1);
  const words = best >= 0 ? `${count(history.length)} epochs. Lowest ${held ? "validation" : "training"} loss: ${short(total[best])}, in epoch ${count(epochs[best])}.` : "";

  function draw(holder) {
    holder.plot?.destroy();
    const width = Math.max(200, holder.box.clientWidth);
    const axis = { stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, font: "12px system-ui, sans-serif" };
    holder.plot = new uPlot({
      width, height: 200,
      scales: { x: { time: false }, y: { range: () => rangeOf(holder.series) } },
      axes: [{ ...axis, size: 34, label: "epoch", labelSize: 18, labelFont: axis.font }, { ...axis, size: 58 }],
      cursor: { drag: { x: true, y: false } },
      legend: { live: true },
      series: [{ label: "epoch" }, { label: "training", stroke: css("--train"), width: 2, value: (_, v) => (v === null || v === undefined ? "" : short(v)), spanGaps: true, points: { show: history.length < 2 } },
        { label: "validation", stroke: css("--validation"), width: 2, dash: [6, 3], value: (_, v) => (v === null || v === undefined ? "" : short(v)), spanGaps: true, show: holder.series[1].some((v) => v !== null), points: { show: history.length < 2 } }],
    }, [epochs, ...holder.series], holder.box);
  }

  return {
    element: section("training", "Training", h("p", {}, words), charts),
    start() {
      holders.forEach(draw);
      let last = charts.clientWidth;
      new ResizeObserver(() => {
        if (Math.abs(charts.clientWidth - last) < 2) return;
        last = charts.clientWidth;
        holders.forEach((holder) => holder.plot.setSize({ width: Math.max(200, holder.box.clientWidth), height: 200 }));
      }).observe(charts);
    },
    retheme() { holders.forEach(draw); },
  };
}
