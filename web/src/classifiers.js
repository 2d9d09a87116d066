// What classifiers predict from an embedding: is the condition hidden, are other columns kept, are groups treated alike.
import { counted, h, section, short } from "./dom.js";
import { isConfounded } from "./data.js";
import { table } from "./table.js";

// What each classifier can find; their names come with the data.
const KINDS = {
  logistic: "Draws one straight border: it finds only a difference along a single direction.",
  forest: "Many decision trees that vote. It finds borders of any shape.",
  boosted: "Trees that correct each other. Often the strongest on tables.",
};
const GAPS = [
  ["parity_gap", "Demographic parity gap", "The largest difference between two groups in how often a value is predicted. 0: the prediction does not depend on the group."],
  ["odds_gap", "Equalised odds gap", "The largest difference between two groups in the rates of true or of false positives. 0: samples with the same true value get the same prediction equally often in every group."],
  ["accuracy_gap", "Accuracy gap", "The largest difference between two groups in how often the prediction is right."],
];

const nameOf = (data, kind) => data.classifiers.names[kind] || kind;
const titleOf = (data, kind) => nameOf(data, kind).replace(/^./, (c) => c.toUpperCase());
const known = (v) => typeof v === "number" && Number.isFinite(v);
const unique = (list) => [...new Set(list)];

// Rows of {name, words, values by embedding}; the highest value of a column among the rows that have `rival` is marked.
function grid(data, title, rows, embeddings, caption) {
  const best = Object.fromEntries(embeddings.map((e) => [e, Math.max(...rows.filter((r) => r.rival).map((r) => r.values[e]).filter(known))]));
  const isStrongest = (row, e) => Boolean(row.rival) && rows.filter((r) => r.rival).length > 1 && row.values[e] === best[e];
  const shown = (row, e) => [short(row.values[e]), row.ranges?.[e] ? h("small", { class: "range" }, `${short(row.ranges[e][0])} to ${short(row.ranges[e][1])}`) : known(row.errors?.[e]) ? h("small", {}, "± " + short(row.errors[e])) : null, isStrongest(row, e) ? h("small", { class: "strongest" }, "strongest") : null];
  return table([
    { title, class: "name", value: (row) => row.name, show: (row) => h("div", {}, h("span", { class: row.floor ? "quiet" : "" }, row.name), row.words ? h("small", {}, row.words) : null) },
    ...embeddings.map((e) => ({ title: data.titles[e] || e, number: true, value: (row) => row.values[e], show: (row) => h("span", {}, shown(row, e)) })),
  ], rows, { caption });
}

const spread = (embeddings, value) => Object.fromEntries(embeddings.map((e) => [e, value]));

// One column predicted by all classifiers: accuracy, then balanced accuracy.
function accuracies(data, entries, guesses) {
  const embeddings = unique(entries.map((e) => e.embedding));
  const kinds = unique(entries.flatMap((e) => e.classifiers.map((c) => c.classifier)));
  const pick = (kind, key) => Object.fromEntries(entries.map((e) => [e.embedding, e.classifiers.find((c) => c.classifier === kind)?.[key]]));
  const ranges = (kind) => Object.fromEntries(entries.map((e) => {
    const c = e.classifiers.find((one) => one.classifier === kind);
    return [e.embedding, known(c?.low) && known(c?.high) ? [c.low, c.high] : null];
  }));
  const floor = (name, words, value) => ({ name, words, floor: true, values: spread(embeddings, value) });
  const plain = kinds.map((kind) => ({ name: titleOf(data, kind), words: KINDS[kind], rival: true, values: pick(kind, "accuracy"), errors: pick(kind, "deviation"), ranges: ranges(kind) }));
  const majority = { name: "Always predicting the most common value", words: "Needs no embedding: chance.", floor: true, values: Object.fromEntries(entries.map((e) => [e.embedding, e.majority])) };
  const balanced = kinds.map((kind) => ({ name: titleOf(data, kind), rival: true, values: pick(kind, "balanced_accuracy") })).filter((r) => Object.values(r.values).some(known));
  const chance = floor("Chance", "A random guess.", 1 / entries[0].levels);
  const byOther = guesses.filter((g) => g.accuracy > entries[0].majority + 0.005).map((g) => floor(`From '${g.column}' alone`, `An embedding that keeps '${g.column}' predicts the condition at least this well.`, g.accuracy));
  const byOtherBalanced = guesses.filter((g) => g.balanced > 1.01 / entries[0].levels).map((g) => floor(`From '${g.column}' alone`, `An embedding that keeps '${g.column}' predicts the condition at least this well.`, g.balanced));
  return { embeddings, plain: [...plain, majority, ...byOther], balanced: balanced.length ? [...balanced, chance, ...byOtherBalanced] : [] };
}

// An accuracy below chance looks like a mistake, or like a success. The balanced accuracy has the same chance everywhere.
function belowChance(data, entries) {
  const found = entries.flatMap((e) => e.classifiers.map((c) => ({ e, value: known(c.balanced_accuracy) ? c.balanced_accuracy : c.accuracy, chance: known(c.balanced_accuracy) ? 1 / e.levels : e.majority })))
    .filter(({ e, value, chance }) => known(value) && value < chance - Math.max(0.01, 1 / Math.sqrt(e.samples || 1)));
  if (!found.length) return null;
  const least = found.reduce((a, b) => (b.value - b.chance < a.value - a.chance ? b : a));
  const reverse = least.e.levels === 2 ? ` Whoever reverses these predictions is right for ${short(1 - least.value)}: it is not hidden better than at chance.` : " It is not hidden better than at chance.";
  return h("p", { class: "below-chance" }, `An accuracy below chance (here ${short(least.value)}, chance ${short(least.chance)}) is no mistake. The training mixes the conditions so evenly that the neighbours of a sample are of another condition a little more often than of its own, and classifiers learn from neighbours.${isConfounded(data) ? " This is no success: each label is in one condition only, so different labels were mixed." : data.classifiers.protect ? reverse : " Read it as chance. Samples that the model did not see may be predicted a little better: test it on such samples."}`);
}

function hiddenPart(data, entries) {
  const { embeddings, plain, balanced } = accuracies(data, entries, data.classifiers.guesses);
  const { protect } = data.classifiers;
  return [
    h("h3", {}, `Can '${data.condition}' be predicted from z?`),
    h("p", {}, `Each classifier learns to predict '${data.condition}' from an embedding, and is tested on samples that it did not see (${entries[0].folds} folds; ${entries.some((e) => e.classifiers.some((c) => known(c.low))) ? "small numbers are the 95\u00a0% interval" : "± their standard deviation"}). The closer the accuracy is to chance, the better the condition is hidden. The strongest classifier counts: one that finds nothing proves little.`),
    grid(data, "Accuracy", plain, embeddings, `Accuracy of ${data.condition}`),
    balanced.length ? h("p", {}, "Balanced accuracy is the mean of the accuracies within each value. Where one value is common, it shows whether the rare values are predicted, too.") : null,
    balanced.length ? grid(data, "Balanced accuracy", balanced, embeddings, `Balanced accuracy of ${data.condition}`) : null,
    belowChance(data, entries),
    protect ? h("p", { class: "quiet small" }, "These classifiers are no proof: a stronger one may find more.") : null,
  ];
}

function targetPart(data, column, entries) {
  const { embeddings, plain } = accuracies(data, entries, []);
  return [h("h3", {}, `Is '${column}' kept?`), h("p", {}, `The same classifiers predict '${column}'. Higher is better.`), grid(data, "Accuracy", plain, embeddings, `Accuracy of ${column}`)];
}

// The classifier that predicts the condition best: the adversary to reckon with.
function strongest(hidden) {
  const tried = ((hidden.find((e) => e.embedding === "X_comp") || hidden.at(-1))?.classifiers || []).filter((c) => known(c.accuracy));
  return tried.length ? tried.reduce((a, b) => (b.accuracy > a.accuracy ? b : a)).classifier : null;
}

function fairnessPart(data, column, all, adversary) {
  const used = all.some((e) => e.classifier === adversary) ? adversary : all[0].classifier;
  const entries = all.filter((e) => e.classifier === used);
  const embeddings = unique(entries.map((e) => e.embedding));
  const by = `the classifier “${nameOf(data, used)}”` + (adversary && used === adversary ? `, the one that predicts '${data.condition}' best,` : "");
  const rows = GAPS.map(([key, name, words]) => ({ name, words, values: Object.fromEntries(entries.map((e) => [e.embedding, e[key]])) }));
  const real = data.classifiers.guesses.find((g) => g.column === column);
  if (real) rows.splice(1, 0, { name: "Real difference in the data", words: `The largest difference between two groups in how often a value of '${column}' is there, in the data itself. Where it is not 0, no useful classifier can have both a parity gap and an odds gap of 0.`, floor: true, values: spread(embeddings, real.gap) });
  const groups = unique(entries.flatMap((e) => e.groups.map((g) => g.condition)));
  const groupRows = groups.map((name) => {
    const of = (e) => e.groups.find((g) => g.condition === name);
    return { name, words: `${counted(of(entries[0])?.samples ?? 0, "sample")} tested`, values: Object.fromEntries(entries.map((e) => [e.embedding, of(e)?.accuracy])) };
  });
  return [
    h("h3", {}, `Are groups of '${data.condition}' treated alike?`),
    h("p", {}, `How ${by} treats each group when it predicts '${column}', on samples that it did not see. 0 is best.`),
    grid(data, "Difference between groups", rows, embeddings, "Differences between groups"),
    h("p", { class: "small quiet" }, `Its accuracy for '${column}' in each group:`),
    grid(data, "Group", groupRows, embeddings, `Accuracy of ${column} by group`),
  ];
}

// null when no classifier was tried.
export function classifiersSection(data) {
  const { classifiers } = data;
  const usable = (classifiers?.predict || []).filter((e) => typeof e.column === "string" && e.embedding && e.classifiers?.length && e.levels);
  if (!usable.length) return null;
  const of = (column) => usable.filter((e) => e.column === column);
  const hidden = of(data.condition);
  const others = unique(usable.map((e) => e.column)).filter((c) => c !== data.condition);
  const parts = hidden.length ? hiddenPart(data, hidden) : [];
  if (classifiers.audited) parts.unshift(h("p", {}, "The findings on hiding and use are of comp audit, whose attackers learn from the samples of the training, too: take these. The classifiers below learn and are tested among the samples that were held out, which are few, so their numbers differ."));
  for (const column of others) {
    parts.push(...targetPart(data, column, of(column)));
    const gaps = classifiers.fairness.filter((e) => e.column === column && e.groups);
    if (gaps.length) parts.push(...fairnessPart(data, column, gaps, strongest(hidden)));
  }
  return { element: section("classifiers", classifiers.protect ? (classifiers.fairness.length ? "Hidden, useful, fair?" : "Hidden?") : "What classifiers predict", ...parts) };
}
