// The report: reads its data and builds the page, section by section.
import { count, h, nounOf, section } from "./dom.js";
import { Store, readData } from "./data.js";
import { mapSection } from "./map.js";
import { trainingSection } from "./training.js";
import { scoresSection } from "./scores.js";
import { genesSection } from "./genes.js";
import { toldSection } from "./told.js";

const ALIGNED = { yes: ["good", "yes"], partly: ["fair", "partly"], no: ["bad", "no"], unknown: ["", "not known"] };
const OVER = { no: ["good", "no sign of it"], partly: ["fair", "possibly"], yes: ["bad", "likely"], unknown: ["", "not known"] };

const HIDDEN = { yes: ["good", "as far as tried"], partly: ["fair", "partly"], no: ["bad", "no"] };

function chip(title, [kind, text]) {
  return h("li", { class: `chip ${kind}` }, h("b", {}, title), h("span", {}, text));
}

function summarySection(data) {
  const { words } = data;
  const serious = words.warnings.filter((w) => w.kind === "warning").length;
  const chips = h("ul", { class: "chips" }, chip("Conditions aligned?", ALIGNED[words.aligned] || ALIGNED.unknown), chip("Over-corrected?", OVER[words.overcorrected] || OVER.unknown),
    HIDDEN[words.hidden] ? chip(`'${data.condition}' hidden?`, HIDDEN[words.hidden]) : null,
    chip("Warnings", serious ? ["bad", String(serious)] : ["good", "none"]), chip("Samples", ["", count(data.samples)]), chip(nounOf(data).title + "s", ["", count(data.features)]));
  const look = [];
  if (data.maps.length) look.push(`the map by condition${data.label ? " and by label" : ""}, before and after`);
  if (data.effects.changes.length) look.push(data.effects.changes.some((c) => c.labels.length > 1) ? "the labels with the lowest r change" : `the ${nounOf(data).many} far from the line, predicted against real`);
  if (data.scores.some((s) => s.label !== undefined)) look.push("labels whose scores stand out");
  return section("summary", "Summary", chips, words.summary.map((text) => h("p", {}, text)), look.length ? h("p", { class: "quiet" }, "What to look at: " + look.join("; ") + ".") : null);
}

function warningsSection(data) {
  const serious = data.words.warnings.filter((w) => w.kind === "warning");
  const notes = data.words.warnings.filter((w) => w.kind !== "warning");
  const list = (kind, word, items) => h("ul", { class: "warnings" }, items.map((w) => h("li", { class: kind }, h("b", {}, word), w.text)));
  const said = serious.length ? list("warning", "Warning", serious) : h("p", {}, "Nothing was found that needs a warning.");
  const good = notes.length ? list("note", "Note", notes) : null;
  return section("warnings", "Warnings", said, notes.length > 3 ? h("details", {}, h("summary", {}, `${count(notes.length)} notes: good to know`), good) : good);
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
  const made = [{ element: summarySection(data) }, { element: warningsSection(data) }, map, scoresSection(data), toldSection(data), genesSection(store, (name) => map.colorByGene?.(name)), trainingSection(data), { element: originSection(data) }].filter(Boolean);
  document.getElementById("main").replaceChildren(...made.map((part) => part.element));
  const names = { summary: "Summary", warnings: "Warnings", map: "Map", scores: "Scores", told: data.told?.fairness.length ? "Hidden?" : "Classifiers", genes: nounOf(data).title + "s", training: "Training", origin: "Origin" };
  document.getElementById("nav").replaceChildren(...Object.entries(names).filter(([id]) => document.getElementById(id)).map(([id, name]) => h("a", { href: "#" + id }, name)));
  for (const part of made) {
    await part.start?.();
    if (part === map) performance.mark("comp-map");
  }
  performance.mark("comp-ready");
  parts = made;
  document.documentElement.dataset.ready = "yes";
  window.addEventListener("beforeprint", () => document.querySelectorAll("#scores details, #warnings details").forEach((d) => { d.open = true; }));
  window.compReport = { map, store };
}

main().catch((problem) => {
  console.error(problem);
  const text = typeof DecompressionStream === "undefined" ? "This browser is too old to unpack the page's data; any browser since 2023 can." : "This page could not be shown: " + problem.message;
  document.getElementById("main").prepend(h("p", { class: "chip bad" }, text));
  document.documentElement.dataset.ready = "failed";
});
