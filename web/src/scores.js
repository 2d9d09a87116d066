// Tables of scores: all samples, and by label.
import { h, section, short } from "./dom.js";
import { table } from "./table.js";

const HINT = { lower: "lower is better", higher: "higher is better", zero: "0 is best" };

function bestOf(better, values) {
  const known = values.filter((v) => Number.isFinite(v));
  if (known.length < 2) return null;
  if (better === "lower") return Math.min(...known);
  if (better === "higher") return Math.max(...known);
  if (better === "zero") return known.reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a));
  return null;
}

const unique = (list) => [...new Set(list)];

// One row a metric (and label), one column a method.
function pivot(scores, key) {
  const rows = new Map();
  for (const score of scores) {
    const id = key(score);
    if (!rows.has(id)) rows.set(id, { name: score.name, label: score.label, better: score.better, summary: score.summary, note: score.note, values: {}, errors: {} });
    rows.get(id).values[score.method] = score.value;
    rows.get(id).errors[score.method] = score.error;
  }
  return [...rows.values()];
}

function methodColumns(methods) {
  return methods.map((method) => ({
    title: method, number: true, value: (row) => row.values[method],
    show: (row) => short(row.values[method]) + (Number.isFinite(row.errors[method]) ? " ± " + short(row.errors[method]) : ""),
    best: (row) => Number.isFinite(row.values[method]) && row.values[method] === bestOf(row.better, methods.map((m) => row.values[m])),
  }));
}

export function scoresSection(data) {
  const scores = data.scores;
  if (!scores.length) return { element: section("scores", "Scores", h("p", { class: "quiet" }, "No scores were given. comp score --json FILE makes them, and comp report --scores FILE shows them here.")) };
  const whole = scores.filter((s) => s.label === undefined);
  const parts = scores.filter((s) => s.label !== undefined);
  const children = [];
  if (whole.length) {
    const methods = unique(whole.map((s) => s.method));
    children.push(table([
      { title: "Metric", class: "name", value: (row) => row.name, show: (row) => h("div", {}, h("b", {}, row.name), " ", HINT[row.better] ? h("span", { class: "quiet small" }, HINT[row.better]) : null, h("small", {}, row.summary), row.note ? h("small", {}, row.note) : null) },
      ...methodColumns(methods),
    ], pivot(whole, (s) => s.name), { caption: "Scores over all samples" }), h("p", { class: "quiet small" }, methods.length > 1 ? "Bold: the best of a row. A column is a representation or a method." : ""));
  }
  if (parts.length) {
    const methods = unique(parts.map((s) => s.method));
    children.push(h("h3", {}, "By label"), h("p", { class: "quiet small" }, "The same within each label: one that stands out is where to look on the map."), table([
      { title: "Label", class: "name", value: (row) => row.label }, { title: "Metric", value: (row) => row.name }, ...methodColumns(methods),
    ], pivot(parts, (s) => s.name + "\u0000" + s.label), { caption: "Scores by label" }));
  }
  return { element: section("scores", "Scores", ...children) };
}
