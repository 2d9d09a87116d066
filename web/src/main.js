// The report: reads its data and builds the page, section by section.
import { count, counted, h, nounOf, prose, section } from "./dom.js";
import { Store, isConfounded, readData } from "./data.js";
import { mapSection } from "./map.js";
import { trainingSection } from "./training.js";
import { scoresSection } from "./scores.js";
import { designSection } from "./design.js";
import { expressionSection } from "./expression.js";
import { effectsSection } from "./effects.js";
import { classifiersSection } from "./classifiers.js";
import { mappingSection } from "./mapping.js";
import { termsLine, termsList } from "./terms.js";

// Findings come judged: {id, level, question, text, advice}. Here they only get a place and the words of an answer: an
// answer is that of the first of its findings, or of the worst of them.
const LEVELS = ["note", "ok", "caution", "problem"];
const HEADLINES = [
  ["Label and condition separable?", ["confounded"], { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
  ["Conditions mixed?", ["mixing"], { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
  ["Over-corrected?", ["labels-lost"], { ok: "no sign of it", caution: "possibly", problem: "yes", note: "not known" }],
  ["Condition hidden?", ["hidden", "hidden-from-some"], { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
  ["Target kept?", ["target"], { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
  ["Groups treated alike?", ["fairness"], { ok: "yes", caution: "less than before", problem: "no", note: "see below" }],
  ["Predictions good?", ["predictions", "predictions-low", "predictions-worse", "predictions-shift"], { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
];
// Where an attribute is to be hidden, labels that are lost are no over-correction.
const LABELS_KEPT = ["Labels kept?", ["labels-lost"], { ok: "yes", caution: "partly", problem: "no", note: "not known" }];
const SUMMARY = [...HEADLINES.flatMap(([, ids]) => ids), "composition", "target-differs"];
const KIND = { ok: "good", note: "", caution: "fair", problem: "bad" };
const LEVEL = { caution: "Caution", problem: "Problem", note: "Note" };

const serious = (findings) => findings.filter((f) => f.level === "problem" || f.level === "caution");

function chip(title, [kind, text], id) {
  return h("li", { class: `chip ${kind}`, ...(id ? { "data-finding": id } : {}) }, h("span", { class: "asked" }, title), h("span", { class: "answer" }, text));
}

// Problems first, whatever they are about; then what answers the main questions.
function saidFirst(findings) {
  const problems = findings.filter((f) => f.level === "problem");
  return [...problems, ...findings.filter((f) => f.level !== "problem" && SUMMARY.includes(f.id))];
}

function summarySection(data) {
  const { findings } = data;
  const bad = serious(findings);
  const headlines = HEADLINES.map((line) => (data.classifiers?.protect && line[1].includes("labels-lost") ? LABELS_KEPT : line)).map(([title, ids, answers]) => [title, findings.filter((f) => ids.includes(f.id)), answers]).filter(([, own]) => own.length);
  const hopeless = isConfounded(data);
  const answer = (own, answers) => (hopeless && ["mixing", "hidden", "predictions"].includes(own[0].id) ? ["bad", "cannot be judged"] : [KIND[worst(own)], answers[worst(own)]]);
  const worst = (own) => own.reduce((a, b) => (LEVELS.indexOf(b.level) > LEVELS.indexOf(a.level) ? b : a)).level;
  const chips = h("ul", { class: "chips" }, headlines.map(([title, own, answers]) => chip(title, answer(own, answers), own.map((f) => f.id).join(" "))),
    chip("Problems and cautions", bad.length ? [bad.some((f) => f.level === "problem") ? "bad" : "fair", String(bad.length)] : ["good", "none"]), chip("Samples", ["", count(data.samples)]), chip(nounOf(data).title + "s", ["", count(data.features)]));
  const look = [];
  if (data.maps.length) look.push(`the map by condition${data.label ? " and by label" : ""}, before and after`);
  if (data.effects.changes.length) look.push(data.effects.changes.some((c) => c.labels.length > 1) ? "the labels with the lowest r change" : `the ${nounOf(data).many} far from the line, predicted against real`);
  if (data.scores.some((s) => s.label !== undefined)) look.push("labels with unusual scores in the heat map");
  return section("summary", "Summary", chips, saidFirst(findings).map((f) => h("p", { class: `said-${f.level}` }, prose(f.text))), termsLine(data), look.length ? h("p", { class: "quiet" }, "What to look at: " + look.join("; ") + ".") : null, termsList(data));
}

// Of the checks of the model the first sentence says what it means; the others are for those who know the theory.
const THEORY = ["normality", "components", "symmetry"];
function saidOf(f) {
  const end = THEORY.includes(f.id) ? f.text.indexOf(". ") + 1 : 0;
  return end ? [...prose(f.text.slice(0, end)), h("small", { class: "quiet" }, prose(f.text.slice(end)))] : prose(f.text);
}

function findingItem(f) {
  return h("li", { class: f.level, "data-finding": f.id, "data-level": f.level }, h("span", { class: "level" }, LEVEL[f.level]), f.question ? h("span", { class: "quiet" }, f.question + " ") : null, h("span", { class: "said" }, saidOf(f)), f.advice ? h("div", { class: "advice" }, prose("What to do: " + f.advice)) : null);
}

function findingsSection(data) {
  const bad = serious(data.findings);
  const notes = data.findings.filter((f) => f.level === "note");
  const list = (items) => h("ul", { class: "findings" }, items.map(findingItem));
  const said = bad.length ? list([...bad.filter((f) => f.level === "problem"), ...bad.filter((f) => f.level === "caution")]) : h("p", {}, "Nothing was found that needs caution.");
  const good = notes.length ? list(notes) : null;
  return section("findings", "Findings", h("p", { class: "quiet small" }, "Problem: do not use the result before it is solved. Caution: check it first. Note: good to know."), said, notes.length > 3 ? h("details", {}, h("summary", {}, `${counted(notes.length, "note")}`), good) : good);
}

// Where the page comes from, in sentences that can be copied.
function originWords(data) {
  const p = data.provenance;
  const noun = nounOf(data);
  const m = p.model;
  return [
    `The data is ${p.source || "not named"}: ${counted(data.samples, "sample")} and ${counted(data.features, noun.one)} after preparation.` + (p.looks ? ` The prepared values are ${p.looks}.` : ""),
    data.condition ? `The condition is '${data.condition}'${data.label ? `, the label is '${data.label}'` : ""}.` : null,
    m ? `The model is ${data.titles.X_comp} with ${m.latent} latent dimensions and hidden layers of ${(m.hidden || []).join(", ")}; its seed is ${m.training?.seed}.` : null,
    `comp ${p.version} made this page${p.created ? ` on ${p.created}` : ""}${p.libraries?.length ? `, with ${p.libraries.join(", ")}` : ""}.`,
  ].filter(Boolean).map((text) => h("p", {}, text));
}

function originSection(data) {
  const p = data.provenance;
  const details = [["What was done to the data", p.record], ["All options of the model", p.model], ["Findings of comp diagnose", p.diagnose]].filter(([, v]) => v);
  return section("origin", "How this was made", originWords(data), p.command ? [h("p", {}, "The command, without its output (-o):"), h("pre", { class: "command", tabindex: "0", role: "region", "aria-label": "The command line" }, p.command)] : null,
    details.map(([title, value]) => h("details", {}, h("summary", {}, title), h("pre", { tabindex: "0", role: "region", "aria-label": title }, JSON.stringify(value, null, 2)))));
}

// Light, dark, or as the system has it. Kept only while the page is open: file:// pages share no storage worth trusting.
function themes(changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choices = ["system", "light", "dark"];
  let choice = 0;
  const button = document.getElementById("theme");
  function apply() {
    const dark = choices[choice] === "dark" || (choices[choice] === "system" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" }[choices[choice]];
    changed();
  }
  button.addEventListener("click", () => { choice = (choice + 1) % 3; apply(); });
  system.addEventListener("change", apply);
  apply();
}

async function main() {
  let parts = [];
  themes(() => parts.forEach((part) => part.retheme?.()));
  const data = readData();
  const store = new Store(data);
  document.title = data.title;
  document.getElementById("title").textContent = data.title;
  document.getElementById("subtitle").textContent = `${counted(data.samples, "sample")}, ${counted(data.features, nounOf(data).one)}` + (data.condition ? ` · condition: ${data.condition}` : "") + (data.label ? ` · label: ${data.label}` : "");
  const map = mapSection(store);
  const toMap = (name) => map.colorByGene?.(name);
  const made = [{ element: summarySection(data) }, { element: findingsSection(data) }, map, mappingSection(data), designSection(data), scoresSection(data), classifiersSection(data), expressionSection(store, toMap), effectsSection(store, toMap), trainingSection(data), { element: originSection(data) }].filter(Boolean);
  document.getElementById("main").replaceChildren(...made.map((part) => part.element));
  const names = { summary: "Summary", findings: "Findings", map: "Map", mapping: "New samples", design: "Design", scores: "Scores", classifiers: data.classifiers?.protect ? "Hidden?" : "Classifiers", expression: nounOf(data).title + "s", effects: "Predictions", training: "Training", origin: "Origin" };
  document.getElementById("nav").replaceChildren(...Object.entries(names).filter(([id]) => document.getElementById(id)).map(([id, name]) => h("a", { href: "#" + id }, name)));
  for (const part of made) {
    await part.start?.();
    if (part === map) performance.mark("comp-map");
  }
  performance.mark("comp-ready");
  parts = made;
  document.documentElement.dataset.ready = "yes";
  window.addEventListener("beforeprint", () => document.querySelectorAll("#summary details, #scores details, #findings details").forEach((d) => { d.open = true; }));
  window.compReport = { map, store };
}

main().catch((problem) => {
  console.error(problem);
  const text = typeof DecompressionStream === "undefined" ? "This browser is too old to unpack the page's data; any browser since 2023 can." : "This page could not be shown: " + problem.message;
  document.getElementById("main").prepend(h("p", { class: "chip bad" }, text));
  document.documentElement.dataset.ready = "failed";
});
