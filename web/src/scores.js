// Tables of scores: all samples, and by label.
import { count, h, nounOf, section, short, unbroken } from "./dom.js";
import { isConfounded } from "./data.js";
import { heatMap } from "./heat.js";
import { naturalOrder } from "./names.js";
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
    if (!rows.has(id)) rows.set(id, { name: score.name, title: score.title || score.name, label: score.label, better: score.better, summary: score.summary, note: score.note, values: {}, errors: {}, ranges: {}, chances: {} });
    rows.get(id).values[score.method] = score.value;
    rows.get(id).errors[score.method] = score.error;
    rows.get(id).chances[score.method] = score.chance;
    rows.get(id).ranges[score.method] = Number.isFinite(score.low) && Number.isFinite(score.high) ? [score.low, score.high] : null;
  }
  return [...rows.values()];
}

// Where no label is in two conditions, mixing is no success: nothing is the best.
function methodColumns(methods, comparable) {
  return methods.map((method) => ({
    title: method, number: true, value: (row) => row.values[method],
    show: (row) => {
      const value = short(row.values[method]) + (Number.isFinite(row.errors[method]) ? " ± " + short(row.errors[method]) : "");
      const [range, chance] = [row.ranges[method], row.chances[method]];
      if (!Number.isFinite(row.values[method]) || !(range || Number.isFinite(chance))) return value;
      return h("span", {}, value, range ? h("small", { class: "range" }, `${short(range[0])} to ${short(range[1])}`) : null,
        Number.isFinite(chance) ? h("small", { class: "range" }, `perfect mixing ${short(chance)}`) : null);
    },
    best: (row) => comparable && method !== "ceiling" && Number.isFinite(row.values[method]) && row.values[method] === bestOf(row.better, methods.filter((m) => m !== "ceiling").map((m) => row.values[m])),
  }));
}

const sentence = (text) => (/^[a-z][A-Z]/.test(text) ? text : text[0].toUpperCase() + text.slice(1)) + (/[.!?]$/.test(text) ? "" : ".");

function metricCell(row) {
  return h("div", {}, row.title, " ", row.title === row.name ? null : h("code", { class: "quiet small" }, row.name), " ", HINT[row.better] ? h("span", { class: "hint" }, HINT[row.better]) : null,
    row.summary ? h("small", {}, unbroken(sentence(row.summary))) : null, row.note ? h("small", {}, unbroken(sentence(row.note))) : null);
}

const bold = (methods, comparable, rows = []) => {
  const ranged = rows.some((row) => Object.values(row.ranges).some(Boolean));
  const without = ranged && rows.some((row) => !Object.values(row.ranges).some(Boolean));
  const words = [methods.length > 1 ? (comparable ? "Bold numbers: the best in their row." : "No number is marked as the best: each label is in one condition only, so conditions are mixed only where different labels are mixed.") : null, ranged ? "Small numbers: the 95\u00a0% interval, where other samples of the same conditions and labels would score." : null, rows.some((row) => Object.values(row.chances).some(Number.isFinite)) ? "\u201cperfect mixing\u201d: the score where the condition has nothing to do with who is near whom. Lower than that: samples are spread more evenly than at random." : null, without ? "Rows without an interval compare whole distributions, or are means of other rows." : null].filter(Boolean);
  return words.length ? h("p", { class: "quiet small" }, words.join(" ")) : null;
};

// “isolated labels” is the silhouette of the labels that the fewest conditions have. Where all labels are in equally many,
// these are all labels: what it would show is there already, and a note says its value. Otherwise it names its labels.
function withoutRepeats(scores) {
  const labelsOf = (name) => unique(scores.filter((s) => s.name === name && s.label !== undefined).map((s) => s.label));
  const [isolated, all] = [labelsOf("isolated"), labelsOf("asw_label")];
  const rest = scores.filter((s) => s.name !== "isolated" || s.label === undefined);
  const whole = rest.filter((s) => s.name === "isolated");
  if (!whole.length || !all.length) return scores;
  if (isolated.length < all.length) return rest.map((s) => (s.name === "isolated" ? { ...s, note: [s.note, `Here: ${isolated.join(", ")}.`].filter(Boolean).join(" ") } : s));
  const values = whole.map((s) => `${short(s.value)} (${s.method})`).join(", ");
  const note = `No label is in fewer conditions than the others. So the metric “isolated labels” of scib is the mean of this silhouette over labels: ${values}. It is part of the totals.`;
  return rest.filter((s) => s.name !== "isolated").map((s) => (s.name === "asw_label" && s.label === undefined ? { ...s, note } : s));
}

// Metrics as they come, labels of each in their natural order.
function byLabel(rows) {
  const labels = unique(rows.map((row) => row.label));
  const rank = new Map(naturalOrder(labels).map((k, place) => [labels[k], place]));
  const names = unique(rows.map((row) => row.name));
  return rows.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name) || rank.get(a.label) - rank.get(b.label));
}

// One table over all samples; by label a heat map and a table, of scores that have the same methods to compare. Figures
// that must be drawn again with the page go to `figures`.
function tables(scores, about, figures, comparable = true, over = "over all samples") {
  const whole = scores.filter((s) => s.label === undefined);
  const parts = scores.filter((s) => s.label !== undefined);
  const children = [];
  if (whole.length) {
    const methods = unique(whole.map((s) => s.method));
    const rows = pivot(whole, (s) => s.name);
    children.push(bold(methods, comparable, rows), table([{ title: "Metric", class: "name", value: (row) => row.title, show: metricCell }, ...methodColumns(methods, comparable)], rows, { caption: `${about} ${over}` }));
  }
  if (parts.length) {
    const methods = unique(parts.map((s) => s.method));
    const rows = byLabel(pivot(parts, (s) => s.name + "\u0000" + s.label));
    const heat = heatMap(rows, methods, unique(rows.map((row) => row.label)), about);
    figures.push(heat);
    children.push(h("h3", {}, about + " by label"), heat.element, h("details", {}, h("summary", {}, about + " by label, as a table"), bold(methods, comparable), table([
      { title: "Label", class: "name", value: (row) => row.label }, { title: "Metric", class: "metric", value: (row) => row.title }, ...methodColumns(methods, comparable),
    ], rows, { caption: about + " by label" })));
  }
  return children;
}

// With one group only, the mean of all is the mean of the group: “mean shift” cannot miss it.
function aboutPredictions(data, scores) {
  const noun = nounOf(data);
  const several = new Set(scores.filter((s) => s.label !== undefined).map((s) => s.label)).size > 1;
  return "Real samples of a condition, compared with predictions from samples of another condition" + (several ? "; mean over labels" : "") +
    ". “no change” leaves samples as they are. “mean shift” adds the same mean change to every sample. " +
    (scores.some((s) => s.method === "ceiling") ? "“ceiling” is the noise ceiling: one half of the real samples predicts the other half. A prediction that is as good as this agrees with the data as well as the data agrees with itself. It can be above the ceiling, since halves are smaller and noisier than the whole. " : "") +
    (several ? "A prediction should be better than “no change” and “mean shift”." : "A prediction should be better than “no change”. With one group only, “mean shift” has the right means by construction.") +
    ` DE ${noun.many} are the top ${noun.many} by the Wilcoxon test that are higher in the target condition.`;
}

// Embeddings, and predictions of another condition, change by change: what cannot be compared is not in one table.
export function scoresSection(data) {
  const scores = data.scores;
  const figures = { own: [], change: [] };
  if (!scores.length) {
    const words = data.classifiers ? "Only classifiers were tried: see below." : "No scores were given. comp score --json FILE makes them, and comp report --scores FILE shows them here.";
    return { element: section("scores", "Scores", h("p", { class: "quiet" }, words)) };
  }
  const changes = unique(scores.map((s) => s.change).filter(Boolean));
  const confounded = isConfounded(data);
  const own = withoutRepeats(scores.filter((s) => !s.change)).map((s) => (confounded && s.note === "every label was left out" ? { ...s, note: "Not computed: it compares conditions within a label, and every label is in one condition only." } : s));
  const drawn = data.drawn_from ? `${count(data.scored)} of ${count(data.drawn_from)} samples` : null;
  const children = tables(own, "Scores", figures.own, !confounded, drawn ? `over ${drawn}` : undefined);
  if (drawn) children.unshift(h("p", {}, `Embeddings were scored on ${drawn}, drawn at random. On all of them, kBET may be higher.`));
  if (changes.length) {
    const box = h("div");
    const about = h("p");
    const show = (change) => {
      const own = scores.filter((s) => s.change === change);
      about.textContent = aboutPredictions(data, own);
      figures.change = [];
      box.replaceChildren(...tables(own, "Predictions", figures.change).filter(Boolean));
    };
    children.push(h("h3", {}, "Predictions of another condition"),
      about,
      changes.length > 1 ? h("div", { class: "bar" }, h("label", { for: "score-change" }, "Change", h("select", { id: "score-change", onchange: (event) => show(event.target.value) }, changes.map((c) => h("option", { value: c }, c))))) : h("p", {}, changes[0]), box);
    show(changes[0]);
  }
  return { element: section("scores", "Scores", ...children), retheme() { [...figures.own, ...figures.change].forEach((made) => made.redraw()); } };
}
