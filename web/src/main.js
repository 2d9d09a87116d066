// The report: reads its data and builds the page, section by section.
import { count, h, nounOf, section } from "./dom.js";
import { Store, readData } from "./data.js";
import { mapSection } from "./map.js";
import { trainingSection } from "./training.js";
import { scoresSection } from "./scores.js";
import { genesSection } from "./genes.js";
import { classifiersSection } from "./classifiers.js";

// Findings come judged: {id, level, question, text, advice}. Here they only get a place and the words of an answer.
const HEADLINES = {
  mixing: ["Conditions mixed?", { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
  "labels-lost": ["Over-corrected?", { ok: "no sign of it", caution: "possibly", problem: "yes", note: "not known" }],
  hidden: ["Condition hidden?", { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
  predictions: ["Predictions good?", { ok: "yes", caution: "partly", problem: "no", note: "not known" }],
};
const SUMMARY = [...Object.keys(HEADLINES), "composition", "target", "fairness", "target-differs"];
const KIND = { ok: "good", note: "", caution: "fair", problem: "bad" };
const LEVEL = { caution: "Caution", problem: "Problem", note: "Note" };

const serious = (findings) => findings.filter((f) => f.level === "problem" || f.level === "caution");

function chip(title, [kind, text], id) {
  return h("li", { class: `chip ${kind}`, ...(id ? { "data-finding": id } : {}) }, h("b", {}, title), h("span", {}, text));
}

function summarySection(data) {
  const { findings } = data;
  const bad = serious(findings);
  const headlines = Object.entries(HEADLINES).map(([id, [title, answers]]) => [findings.find((f) => f.id === id), title, answers]).filter(([f]) => f);
  const chips = h("ul", { class: "chips" }, headlines.map(([f, title, answers]) => chip(title, [KIND[f.level], answers[f.level]], f.id)),
    chip("Findings to read", bad.length ? [bad.some((f) => f.level === "problem") ? "bad" : "fair", String(bad.length)] : ["good", "none"]), chip("Samples", ["", count(data.samples)]), chip(nounOf(data).title + "s", ["", count(data.features)]));
  const look = [];
  if (data.maps.length) look.push(`the map by condition${data.label ? " and by label" : ""}, before and after`);
  if (data.effects.changes.length) look.push(data.effects.changes.some((c) => c.labels.length > 1) ? "the labels with the lowest r change" : `the ${nounOf(data).many} far from the line, predicted against real`);
  if (data.scores.some((s) => s.label !== undefined)) look.push("labels whose scores stand out");
  return section("summary", "Summary", chips, findings.filter((f) => SUMMARY.includes(f.id)).map((f) => h("p", {}, f.text)), look.length ? h("p", { class: "quiet" }, "What to look at: " + look.join("; ") + ".") : null);
}

function findingItem(f) {
  return h("li", { class: f.level, "data-finding": f.id, "data-level": f.level }, h("b", {}, LEVEL[f.level]), f.question ? f.question + " – " : "", h("span", { class: "said" }, f.text), f.advice ? " What to do: " + f.advice : "");
}

function findingsSection(data) {
  const bad = serious(data.findings);
  const notes = data.findings.filter((f) => f.level === "note");
  const list = (items) => h("ul", { class: "findings" }, items.map(findingItem));
  const said = bad.length ? list([...bad.filter((f) => f.level === "problem"), ...bad.filter((f) => f.level === "caution")]) : h("p", {}, "Nothing was found that needs caution.");
  const good = notes.length ? list(notes) : null;
  return section("findings", "Findings", said, notes.length > 3 ? h("details", {}, h("summary", {}, `${count(notes.length)} notes: good to know`), good) : good);
}

function originSection(data) {
  const p = data.provenance;
  const rows = [["Data", p.source], ["Values, prepared", p.looks], [`Samples × ${nounOf(data).many}, prepared`, `${count(data.samples)} × ${count(data.features)}`], ["Condition", data.condition], ["Label", data.label],
    ["Model", p.model ? `${p.model.model}, latent ${p.model.latent}, hidden ${(p.model.hidden || []).join(", ")}, seed ${p.model.training?.seed}` : null],
    ["Made by", `comp ${p.version}`], ["Libraries", (p.libraries || []).join(", ")], ["Written", p.created]].filter(([, v]) => v);
  const details = [["What was done to the data", p.record], ["All options of the model", p.model], ["Findings of comp diagnose", p.diagnose]].filter(([, v]) => v);
  return section("origin", "Where this comes from", h("dl", {}, rows.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)])), details.map(([title, value]) => h("details", {}, h("summary", {}, title), h("pre", { tabindex: "0" }, JSON.stringify(value, null, 2)))));
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
  document.getElementById("subtitle").textContent = `${count(data.samples)} samples, ${count(data.features)} ${nounOf(data).many}` + (data.condition ? ` · condition: ${data.condition}` : "") + (data.label ? ` · label: ${data.label}` : "");
  const map = mapSection(store);
  const made = [{ element: summarySection(data) }, { element: findingsSection(data) }, map, scoresSection(data), classifiersSection(data), genesSection(store, (name) => map.colorByGene?.(name)), trainingSection(data), { element: originSection(data) }].filter(Boolean);
  document.getElementById("main").replaceChildren(...made.map((part) => part.element));
  const names = { summary: "Summary", findings: "Findings", map: "Map", scores: "Scores", classifiers: data.classifiers?.fairness.length ? "Hidden?" : "Classifiers", genes: nounOf(data).title + "s", training: "Training", origin: "Origin" };
  document.getElementById("nav").replaceChildren(...Object.entries(names).filter(([id]) => document.getElementById(id)).map(([id, name]) => h("a", { href: "#" + id }, name)));
  for (const part of made) {
    await part.start?.();
    if (part === map) performance.mark("comp-map");
  }
  performance.mark("comp-ready");
  parts = made;
  document.documentElement.dataset.ready = "yes";
  window.addEventListener("beforeprint", () => document.querySelectorAll("#scores details, #findings details").forEach((d) => { d.open = true; }));
  window.compReport = { map, store };
}

main().catch((problem) => {
  console.error(problem);
  const text = typeof DecompressionStream === "undefined" ? "This browser is too old to unpack the page's data; any browser since 2023 can." : "This page could not be shown: " + problem.message;
  document.getElementById("main").prepend(h("p", { class: "chip bad" }, text));
  document.documentElement.dataset.ready = "failed";
});
