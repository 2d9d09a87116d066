// The terms that this page uses, each in a sentence; only those that it needs.
import { h, nounOf, unbroken } from "./dom.js";

function termsOf(data) {
  const noun = nounOf(data);
  const { condition, label, scores, titles, effects, provenance, classifiers } = data;
  const latent = provenance.model?.latent;
  const has = (name) => scores.some((s) => s.name === name);
  const predicted = effects.changes.length || scores.some((s) => s.change);
  return [
    ["Sample", "One row of the data: a cell, a tissue sample or a person.", true],
    ["Condition", `The column '${condition}': ${classifiers?.protect ? "what z should not reveal" : "the batch, treatment or group whose effect is taken out of z"}.`, condition],
    ["Label", `The column '${label}': the groups that should stay separate, such as cell types. The training does not use it.`, label],
    ["z, embedding", `${latent ? `${latent} numbers` : "A few numbers"} for each sample, computed by the model from its ${noun.many} (also: latent representation, X_comp). Samples that are alike have similar z; the condition should make no difference.`, data.history || classifiers || has("kbet")],
    ["Before, " + titles.X_comp, `“before” is the data without the model, as principal components (X_pca); “${titles.X_comp}” is z.`, data.history && scores.length],
    ["kBET", "The share of samples whose nearest neighbours are not a fair mix of the conditions. 1: separate. Perfect mixing is not 0: by chance about as many fail as the level of the test says (alpha).", has("kbet") || has("kBET")],
    ["Local silhouette", "Compares the distances to near samples of the own and of the other conditions. 0: equally near, so well mixed; 1: separate.", has("s")],
    ["Over-correction", "The model mixed not only conditions but also labels that are different: real differences were lost.", label],
    ["95 % interval", "How far the number may be off by chance, because there are only so many samples.", scores.some((s) => Number.isFinite(s.low)) || classifiers],
    ["Chance", "The accuracy without any knowledge of z: that of always predicting the most common value.", classifiers],
    ["Predicted change, r", `What the model says a sample would be in another condition (counterfactual). r is Pearson's correlation between the predicted and the real change of the mean, over ${noun.many}: 1 is perfect, 0 is no relation.`, predicted],
    [`Top DE ${noun.many}`, `The ${noun.many} with the clearest difference between two conditions (differential expression, Wilcoxon rank-sum test).`, predicted],
  ].filter(([, , used]) => used);
}

export function termsList(data) {
  const terms = termsOf(data);
  return h("details", { class: "terms" }, h("summary", {}, "Terms on this page"), h("dl", {}, terms.map(([term, text]) => [h("dt", {}, unbroken(term)), h("dd", {}, unbroken(text))]).flat()));
}

// In one line what the sentences above it need.
export function termsLine(data) {
  if (!data.findings.some((f) => /\bz\b/.test(f.text))) return null;
  const latent = data.provenance.model?.latent;
  return h("p", { class: "quiet" }, `z is the embedding: ${latent ? `the ${latent} numbers` : "the numbers"} that the model computes for each sample, in place of its ${data.features.toLocaleString("en-US")} ${nounOf(data).many}. It should keep the differences between samples, except those that the condition makes.`);
}
