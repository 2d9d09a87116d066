// Tests of the report in a browser. Speaks TAP. Finds the program in COMP (../build/comp), chromium in CHROMIUM.
// run.mjs [PART...]: only the tests whose name contains one of these.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { executable, open, ready } from "./browser.mjs";
import { framesWhileDragging, timesOf, watchTimes } from "./measure.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const comp = resolve(process.env.COMP || here("../../build/comp"));
const python = process.env.PYTHON || "/usr/bin/python3";

const tests = [];
const test = (name, run) => tests.push({ name, run });

function skipAll(reason) {
  console.log(`1..0 # SKIP ${reason}`);
  process.exit(0);
}
if (!existsSync(executable)) skipAll(`there is no ${executable} (./dev deps web)`);
if (!existsSync(comp)) skipAll(`there is no ${comp} (./dev build)`);
try {
  execFileSync(python, ["-c", "import anndata"], { stdio: "ignore" });
} catch {
  skipAll("no Python that has anndata, which makes the data (./dev deps oracle)");
}

// ---- data
const folder = mkdtempSync(join(tmpdir(), "comp-web-"));
const file = (name) => join(folder, name);
const run = (...args) => execFileSync(comp, args, { stdio: ["ignore", "pipe", "inherit"] });
const LABELS = 6;
const CELLS = 1200;
run("simulate", "-q", "-o", file("cells.h5ad"), "--cells", String(CELLS), "--genes", "200", "--labels", String(LABELS));
run("prep", "-q", "-i", file("cells.h5ad"), "-o", file("ready.h5ad"), "--normalize-total", "median", "--log1p");
run("train", "-q", "-i", file("ready.h5ad"), "-o", file("model.comp"), "--condition", "condition", "--hidden", "16", "--latent", "4", "--epochs", "12");
for (const [name, ...options] of [["plain"], ["nasty", "--bad"]])
  execFileSync(python, [here("fake.py"), file("ready.h5ad"), file(name + ".h5ad"), "--names", name, "--scores", file(name + ".json"), ...options], { stdio: "inherit" });
writeFileSync(file("diagnose.json"), JSON.stringify({ findings: [{ id: "normality", level: "caution", question: "Is it?", text: "The latents look <b>Gaussian</b>.", advice: "" }] }));
// What comp run --protect --target leaves: classifiers, gaps between groups, and predictions of two changes.
const predicted_by = (embedding, column, levels, majority, list) => ({ embedding, column, samples: CELLS, levels, folds: 5, majority, classifiers: list.map(([classifier, accuracy, balanced_accuracy]) => ({ classifier, accuracy, deviation: 0.01, balanced_accuracy })) });
const gap = (embedding, parity_gap) => ({ embedding, column: "donor", classifier: "forest", accuracy: 0.6, majority: 0.25, parity_gap, odds_gap: 0.0625, accuracy_gap: 0.03125, groups: [{ condition: "control", samples: 100, accuracy: 0.5 }, { condition: "treated", samples: 120, accuracy: 0.625 }] });
const predicted = (from, to, r) => ({ from, to, labels: [{ label: "type1", prediction: { r_de: r } }], mean: { prediction: { r_de: r, mse_de: 0.1 }, no_change: { r_de: 0.5, mse_de: 0.4 }, mean_shift: { r_de: 0.6, mse_de: 0.3 } } });
writeFileSync(file("fair.json"), JSON.stringify({
  condition: "condition", samples: CELLS, drawn_from: 50000, metrics: [{ name: "kbet", better: "lower", summary: "x" }], embeddings: ["X_pca", "X_comp"].map((name) => ({ name, scores: { kbet: { value: name === "X_pca" ? 0.9 : 0.1, chance: 0.125, parts: [{ label: "type1", condition: null, value: 0.3 }] } } })),
  predict: [predicted_by("X_pca", "condition", 2, 0.5, [["logistic", 0.9, 0.9], ["forest", 0.88, 0.88]]), predicted_by("X_comp", "condition", 2, 0.5, [["logistic", 0.5, 0.5], ["forest", 0.734, 0.734]]), predicted_by("X_pca", "donor", 4, 0.25, [["forest", 0.7, 0.7]]), predicted_by("X_comp", "donor", 4, 0.25, [["forest", 0.6, 0.6]])],
  fairness: [gap("X_pca", 0.25), gap("X_comp", 0.125)], counterfactual: predicted("control", "treated", 0.9), more_counterfactuals: [predicted("treated", "control", 0.8)],
}));
// What needs explaining: labels of which one is in fewer conditions, a ceiling, an accuracy below chance.
const parts = (list) => list.map(([label, value]) => ({ label, condition: null, value }));
const ceiling = predicted("control", "treated", 0.9);
ceiling.mean.ceiling = { r_de: 0.95, mse_de: 0.05 };
writeFileSync(file("terms.json"), JSON.stringify({
  condition: "condition", metrics: ["asw_label", "isolated"].map((name) => ({ name, better: "higher", summary: "x" })),
  embeddings: ["X_pca", "X_comp"].map((name) => ({ name, scores: { asw_label: { value: 0.6, parts: parts([["type1", 0.5], ["type2", 0.7]]) }, isolated: { value: 0.5, parts: parts([["type1", 0.5]]) } } })),
  predict: [predicted_by("X_pca", "condition", 2, 0.5, [["logistic", 0.9, 0.9]]), predicted_by("X_comp", "condition", 2, 0.5, [["logistic", 0.48, 0.48], ["forest", 0.41, 0.41]])], fairness: [], counterfactual: ceiling,
}));
const columns = ["--condition", "condition", "--label", "label"];
run("report", "-q", "-i", file("plain.h5ad"), ...columns, "-m", file("model.comp"), "--scores", file("plain.json"), "-o", file("plain.html"));
run("report", "-q", "-i", file("nasty.h5ad"), ...columns, "--scores", file("nasty.json"), "--diagnose", file("diagnose.json"), "--title", "</title><script>alert(3)</script>", "-o", file("nasty.html"));
run("report", "-q", "-i", file("plain.h5ad"), ...columns, "--scores", file("fair.json"), "-o", file("fair.html"));
run("report", "-q", "-i", file("plain.h5ad"), ...columns, "--scores", file("terms.json"), "-o", file("terms.html"));
run("report", "-q", "-i", file("cells.h5ad"), "-o", file("bare.html"));
// So many groups that their names have little room.
run("simulate", "-q", "-o", file("crowd.h5ad"), "--cells", "3000", "--genes", "8", "--labels", "40");
run("prep", "-q", "-i", file("crowd.h5ad"), "-o", file("crowd.h5ad"), "--log1p");
execFileSync(python, [here("fake.py"), file("crowd.h5ad"), file("crowd.h5ad")], { stdio: "inherit" });
run("report", "-q", "-i", file("crowd.h5ad"), ...columns, "-o", file("crowd.html"));
// Each label in one condition only.
writeFileSync(file("apart.csv"), ["," + ["condition", "label", ...Array.from({ length: 12 }, (_, g) => "gene" + g)].join(","), ...Array.from({ length: 300 }, (_, i) => {
  const label = i % 4;
  return [`c${i}`, label < 2 ? "control" : "treated", `type${label}`, ...Array.from({ length: 12 }, (_, g) => (1 + 2 * (g % 4 === label) + ((i * 7 + g * 13) % 17) / 17).toFixed(3))].join(",");
})].join("\n") + "\n");
run("run", "-q", "-i", file("apart.csv"), "--as", "omics", ...columns, "--force", "--epochs", "10", "--hidden", "8", "--latent", "2", "--no-umap", "--no-diagnose", "-o", file("apart"));
copyFileSync(file("apart/report.html"), file("apart.html"));
// One sample, and a million: as data, nothing else.
run("simulate", "-q", "-o", file("few.h5ad"), "--cells", "400", "--genes", "8", "--labels", "12");
run("prep", "-q", "-i", file("few.h5ad"), "-o", file("few.h5ad"), "--log1p");
execFileSync(python, ["-c", "import anndata, sys; anndata.read_h5ad(sys.argv[1])[:1].copy().write_h5ad(sys.argv[2])", file("ready.h5ad"), file("one.h5ad")], { stdio: ["ignore", "ignore", "ignore"] });
run("report", "-q", "-i", file("one.h5ad"), "-o", file("one.html"));
const wanted = process.argv.slice(2);
if (!wanted.length || wanted.some((part) => "1,000,000 samples".includes(part))) {
  execFileSync(python, [here("fake.py"), file("few.h5ad"), file("million.h5ad"), "--cells", "1000000"], { stdio: "inherit" });
  run("report", "-q", "-i", file("million.h5ad"), ...columns, "--max-samples", "1000000", "-o", file("million.html"));
}

// ---- helpers
async function withPage(report, options, body) {
  const { page, seen, close } = await open(options);
  try {
    await ready(page, file(report));
    await body(page, seen);
    assert.deepEqual(seen.errors, [], "console errors");
    assert.deepEqual(seen.requests, [], "network requests");
  } finally {
    await close();
  }
}
const attribute = (page, name) => page.locator("#stages").getAttribute("data-" + name);
const waitFor = (page, name, value) => page.waitForFunction(([n, v]) => document.getElementById("stages").dataset[n] === v, [name, value]);
const rest = (page) => page.waitForFunction(() => !window.compReport.map.board.moving && !window.compReport.map.board.pending);
// The picture of a panel, by what is in its canvas.
const picture = async (page, p = 0) => {
  await rest(page);
  return page.evaluate((k) => document.querySelectorAll(".stage canvas")[k].toDataURL(), p);
};
// Spaces that do not break are spaces.
const spaced = (text) => text.replaceAll("\u00a0", " ");
const columnOf = (page, section, index) => page.locator(`#${section} table`).first().locator(`tbody tr td:nth-child(${index})`).allInnerTexts();

async function lasso(page, share, p = 0) {
  await page.getByRole("button", { name: "Lasso" }).click();
  const stage = page.locator(".stage").nth(p);
  await stage.scrollIntoViewIfNeeded();
  const box = await stage.boundingBox();
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  const [rx, ry] = [(box.width / 2) * share, (box.height / 2) * share];
  const at = (t) => [cx + rx * Math.sign(Math.cos(t)) * Math.min(1, Math.abs(Math.cos(t)) * 1.4), cy + ry * Math.sign(Math.sin(t)) * Math.min(1, Math.abs(Math.sin(t)) * 1.4)];
  await page.mouse.move(...at(0));
  await page.mouse.down();
  for (let k = 1; k <= 40; k++) await page.mouse.move(...at((2 * Math.PI * k) / 40));
  await page.mouse.up();
  await page.waitForFunction(() => Number(document.getElementById("stages").dataset.selected) > 0);
  return Number(await attribute(page, "selected"));
}

// What a click saves: its name and its bytes.
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

// Comma-separated text as rows of cells.
function cellsOf(text) {
  return text.trimEnd().split("\r\n").map((line) => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) => (m[1] !== undefined ? m[1].replaceAll('""', '"') : m[2])));
}

async function seeAll(page) {
  for (const id of await page.locator("main > section").evaluateAll((list) => list.map((s) => s.id))) await page.evaluate((at) => document.getElementById(at).scrollIntoView({ behavior: "instant" }), id);
  if (!(await page.locator("#expression").count())) return;
  await page.locator("#expression").scrollIntoViewIfNeeded(); // it is drawn when it comes into view
  await page.locator("#expression[data-gene]").waitFor();
}

// ---- the map
test("it opens from disk with no request and no error, both maps side by side by the names of the terminal", () =>
  withPage("plain.html", {}, async (page) => {
    assert.equal(await page.locator("html").getAttribute("data-ready"), "yes");
    const text = await page.locator("#summary").innerText();
    assert.match(text, /well mixed in the embedding/);
    assert.match(text, /No sign of over-correction/);
    assert.equal(await attribute(page, "maps"), "before | CoMP");
    assert.equal(await page.locator(".stage").count(), 2);
    assert.deepEqual(await page.locator("#scores table").first().locator("th").allInnerTexts(), ["Metric", "before", "CoMP"]);
  }));

test("colours change by column, gene and prediction error", () =>
  withPage("plain.html", {}, async (page) => {
    const pictures = [await picture(page)];
    await page.locator("#color-by").selectOption({ label: "label" });
    await waitFor(page, "color", "label");
    assert.equal(await page.locator(".side .legend li").count(), LABELS);
    pictures.push(await picture(page));
    const error = await page.locator("#color-by option", { hasText: "prediction error" }).innerText();
    await page.locator("#color-by").selectOption({ label: error });
    await waitFor(page, "color", error);
    pictures.push(await picture(page));
    const find = page.locator("#map input[role=combobox]");
    await find.fill("gene17");
    await find.press("Enter");
    await waitFor(page, "color", "gene17");
    pictures.push(await picture(page));
    assert.equal(new Set(pictures).size, 4, "all pictures differ");
  }));

test("both maps move, select and point together; one map alone can be shown", () =>
  withPage("plain.html", {}, async (page) => {
    const before = [await picture(page, 0), await picture(page, 1)];
    assert.notEqual(before[0], before[1]);
    await page.locator(".stage canvas").first().focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("+");
    const moved = [await picture(page, 0), await picture(page, 1)];
    assert.ok(moved[0] !== before[0] && moved[1] !== before[1], "both moved");
    await page.keyboard.press("0");
    assert.deepEqual([await picture(page, 0), await picture(page, 1)], before, "both as before");
    const some = await lasso(page, 0.5, 1);
    assert.ok(some > 0 && some < CELLS, `${some} in the lasso`);
    const marked = [await picture(page, 0), await picture(page, 1)];
    assert.ok(marked[0] !== before[0] && marked[1] !== before[1], "marked in both");
    await page.getByRole("button", { name: "Clear" }).click();
    await waitFor(page, "selected", "0");
    await page.getByLabel("Which map").getByRole("button", { name: "CoMP" }).click();
    await waitFor(page, "maps", "CoMP");
    assert.equal(await page.locator(".stage").count(), 1);
  }));

test("a lasso selects, says what it holds, and lets go", () =>
  withPage("plain.html", {}, async (page) => {
    const some = await lasso(page, 0.5);
    assert.match(await page.locator(".selection").innerText(), /samples selected/);
    await page.getByRole("button", { name: "Clear" }).click();
    await waitFor(page, "selected", "0");
    const all = await lasso(page, 0.98);
    assert.ok(all > some, `${all} in the large lasso, ${some} in the small one`);
    const tally = await page.locator(".selection .legend").first().innerText();
    const sum = [...tally.matchAll(/: ([\d,]+) \(/g)].reduce((n, m) => n + Number(m[1].replace(",", "")), 0);
    assert.equal(sum, all, "conditions add up");
    const { name, bytes } = await saved(page, page.getByRole("button", { name: "Save their names" }));
    assert.equal(name, "samples.txt");
    assert.equal(bytes.toString().trim().split("\n").length, all);
    await page.getByRole("button", { name: "Clear" }).click();
    await waitFor(page, "selected", "0");
  }));

test("the legend hides a level, and a sample under the pointer is named", () =>
  withPage("plain.html", {}, async (page) => {
    const before = await picture(page);
    await page.locator(".side .legend button").first().click();
    assert.notEqual(await picture(page), before);
    await page.getByRole("button", { name: "Show all", exact: true }).click();
    assert.equal(await picture(page), before);
    const stage = page.locator(".stage").first();
    await stage.scrollIntoViewIfNeeded();
    const box = await stage.boundingBox();
    const at = await page.evaluate(() => window.compReport.map.board.screen(0, 5));
    await page.mouse.move(box.x + at[0] + 3, box.y + at[1] + 3);
    await page.mouse.move(box.x + at[0], box.y + at[1]);
    await page.locator(".stage .tip").first().waitFor({ state: "visible" });
    assert.match(await page.locator(".stage .tip").first().innerText(), /cell\d+\s+condition: (control|treated)/);
  }));

for (const width of [420, 1000, 1400])
  for (const report of ["plain.html", "crowd.html", "nasty.html"])
    test(`names on the map lie over nothing else and stay inside, in ${report} at ${width} px, wherever it is moved`, () =>
      withPage(report, { width, height: 860 }, async (page) => {
        for (const keys of ["", "+++", "ArrowLeft", "0"]) {
          await page.locator(".stage canvas").first().focus();
          for (const key of keys === "+++" ? [...keys] : keys ? [keys] : []) await page.keyboard.press(key);
          await rest(page);
          for (const p of [0, 1]) {
            const { names, boxes, lines, size } = await page.evaluate((k) => {
              const { map } = window.compReport;
              const { ratio, canvas } = map.board.panels[k];
              const { names, caption } = map.written(k);
              const ruler = document.createElement("canvas").getContext("2d");
              ruler.font = `600 ${13 * ratio}px system-ui, sans-serif`; // as they are written
              const box = (x, y, w, t) => [x - w / 2, y - t / 2, x + w / 2, y + t / 2];
              return { names: names.map((n) => n.name), boxes: [...names.map((n) => box(n.x, n.y, ruler.measureText(n.name).width, 13 * ratio)), box(caption.x, caption.y, 2 * caption.half, 2 * caption.tall)], lines: names.map((n) => n.leader), size: [canvas.width, canvas.height] };
            }, p);
            assert.ok(names.length >= (keys === "" || keys === "0" ? LABELS : 1), `${names.length} names`);
            for (const [i, a] of boxes.entries()) {
              if (i < names.length) assert.ok(a[0] >= 0 && a[1] >= 0 && a[2] <= size[0] && a[3] <= size[1], `${names[i]} is inside`);
              for (const [j, b] of boxes.entries()) if (j > i) assert.ok(a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1], `${names[i]} lies over ${names[j] ?? "the caption"}`);
              // Points along each leader are in no box but the one that it leads to.
              for (const [j, line] of lines.entries()) if (line && i !== j) for (let t = 0; t <= 1; t += 0.05) {
                const [x, y] = [0, 1].map((d) => line[0][d] + t * (line[1][d] - line[0][d]));
                assert.ok(i === names.length || !(x > a[0] && x < a[2] && y > a[1] && y < a[3]), `the line of ${names[j]} crosses ${names[i]}`);
              }
            }
          }
        }
      }));

test("names stand on the clusters and can be switched off", () =>
  withPage("plain.html", {}, async (page) => {
    const before = await picture(page, 1);
    await page.locator("#map-names").uncheck();
    assert.notEqual(await picture(page, 1), before);
    await page.locator("#map-names").check();
    const { bytes } = await saved(page, page.getByRole("button", { name: "Download as SVG: map" }));
    const text = bytes.toString();
    for (let k = 1; k <= LABELS; k++) assert.ok(text.includes(`>type${k}<`), `type${k}`);
    assert.ok(text.includes(">before<") && text.includes(">CoMP<") && text.includes("data:image/png"));
  }));

test("the whole map is drawn again when moving ends, the same wherever it was", () =>
  withPage("plain.html", {}, async (page) => {
    const before = await picture(page);
    // As on a machine that is too slow to draw all of them.
    await page.evaluate(() => {
      const { board } = window.compReport.map;
      Object.assign(board, { quick: 50, pace: () => {} });
      const { drawPanel } = board;
      board.drawPanel = function (...all) { // what was drawn while it moved
        window.few_ ||= this.moving;
        return drawPanel.apply(this, all);
      };
    });
    await page.locator(".stage canvas").first().focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => window.few_);
    await page.keyboard.press("ArrowRight");
    assert.ok((await picture(page)) === before, "the same picture");
  }));

// ---- tables and charts
test("tables sort both ways, and missing values stay below", () =>
  withPage("plain.html", {}, async (page) => {
    const head = page.locator("#scores table").first().locator("th button").nth(2);
    const numbers = async () => (await columnOf(page, "scores", 3)).map((t) => Number(t.replace("−", "-")));
    await head.click();
    const down = await numbers();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await head.click();
    assert.deepEqual(await numbers(), [...down].reverse());
    assert.equal(await page.locator("#scores table").first().locator("th").nth(2).getAttribute("aria-sort"), "ascending");
    const genes = page.locator("#effects .tabled").last();
    await genes.locator("th button").first().press("Enter");
    const names = await genes.locator("tbody td:first-child").allInnerTexts();
    assert.equal(names.length, LABELS);
    assert.deepEqual(names, [...names].sort());
  }));

test("a gene is found in the explorer and colours the map", () =>
  withPage("plain.html", {}, async (page) => {
    const find = page.locator("#effects input[role=combobox]");
    await find.fill("GENE42");
    await page.locator("#effects [role=option]").first().waitFor();
    await find.press("Enter");
    await page.locator("#effects [data-gene=gene42]").waitFor();
    assert.equal(await page.locator("#effects [data-gene] svg circle").count(), 2 * LABELS);
    await page.locator("#effects").getByRole("button", { name: "Colour the map by it" }).click();
    await waitFor(page, "color", "gene42");
  }));

test("the numbers of the explorer are those of the data", () =>
  withPage("plain.html", {}, async (page) => {
    const script = `import anndata, json, sys
d = anndata.read_h5ad(sys.argv[1]); l = d.obs['label'] == 'type2'
c = d[l & (d.obs['condition'] == 'control')]; t = d[l & (d.obs['condition'] == 'treated')]
g = list(d.var_names).index('gene42')
print(json.dumps([float(c.X[:, g].mean()), float(t.X[:, g].mean()), float(c.layers['counterfactual_treated'][:, g].mean())]))`;
    const expected = JSON.parse(execFileSync(python, ["-c", script, file("plain.h5ad")], { stdio: ["ignore", "pipe", "ignore"] }));
    const found = await page.evaluate(async () => {
      const { store } = window.compReport;
      const { genes, changes } = store.data.effects;
      const label = changes[0].labels.findIndex((l) => l.label === "type2");
      const means = await store.means(0, label);
      const g = genes.indexOf("gene42");
      return [means.source[g], means.target[g], means.predicted[g]];
    });
    expected.forEach((value, k) => assert.ok(Math.abs(value - found[k]) < 1e-4, `${found[k]}, expected ${value}`));
  }));

test("names that look like code are only text", () =>
  withPage("nasty.html", {}, async (page) => {
    const dialogs = [];
    page.on("dialog", (dialog) => { dialogs.push(dialog.message()); dialog.dismiss(); });
    assert.equal(await page.title(), "</title><script>alert(3)</script>");
    await page.locator("#color-by").selectOption({ label: "label" });
    await waitFor(page, "color", "label");
    const legend = await page.locator(".side .legend").innerText();
    for (const name of ["<script>alert(1)</script>", '"quotes" & \'apostrophes\'', "</script><b>bold</b>", "Ünïcödé → 細胞 🧬", "<img src=x onerror=alert(2)>"]) assert.ok(legend.includes(name), name);
    assert.equal(await page.locator("main img, main b b").count(), 0);
    assert.match(await page.locator("#findings").innerText(), /The latents look <b>Gaussian<\/b>\./);
    assert.match(await page.locator("#summary").innerText(), /Over-correction: the neighbours of/);
    assert.deepEqual(dialogs, []);
  }));

test("a file without maps, scores, labels and model opens and says what would show more", () =>
  withPage("bare.html", {}, async (page) => {
    const text = await page.locator("main").textContent(); /* notes are folded */
    for (const words of ["there are no scores", "comp score", "comp counterfactual", "No condition was named"]) assert.ok(text.includes(words), words);
  }));

test("classifiers: the strongest is named, chance and gaps are there, with a sentence each", () =>
  withPage("fair.html", {}, async (page) => {
    const summary = await page.locator("#summary").innerText();
    assert.match(spaced(summary), /'condition' can be predicted from z: best accuracy 0.734 \(95 % interval 0.708 to 0.758; random forest\)/);
    assert.match(spaced(summary), /groups of 'condition' differ by up to 12.5 points/);
    assert.match(spaced(await page.locator("main").textContent()), /kBET 0.100 \(perfect mixing: 0.125; before: 0.900\)/);
    assert.equal(await page.locator("#scores small", { hasText: /^perfect mixing 0.125$/ }).count(), 2);
    assert.match(await page.locator("#scores").innerText(), /spread more evenly than at random/);
    assert.match(spaced(await page.locator("#scores").innerText()), /scored on 1,200 of 50,000 samples, drawn at random/);
    assert.match(await page.locator("#scores caption").first().textContent(), /^Scores over 1,200 of 50,000 samples/);
    assert.match(await page.locator(".chip", { hasText: "hidden?" }).innerText(), /no/);
    assert.match(await page.locator("#findings").innerText(), /cannot be predicted by logistic regression, but it can by random forest/);
    assert.equal(await page.locator("#nav a[href='#classifiers']").count(), 1);
    const section = await page.locator("#classifiers").innerText();
    for (const words of ["Always predicting the most common value", "Chance", "Demographic parity gap", "Equalised odds gap", "Accuracy gap", "Is 'donor' kept?", "a stronger one may find more"]) assert.ok(section.includes(words), words);
    // rows: two classifiers, the floor, and a guess by donor; the strongest of X_comp is marked
    const table = page.locator("#classifiers table").first();
    assert.deepEqual(await table.locator("tbody td:nth-child(3)").allInnerTexts().then((list) => list.map((t) => t.split("\n")[0]).slice(0, 3)), ["0.500", "0.734", "0.500"]);
    assert.deepEqual(await table.locator("tbody td:nth-child(3)", { hasText: "strongest" }).allInnerTexts().then((list) => list.map((t) => t.split("\n")[0])), ["0.734"]);
    assert.equal(await page.locator("#classifiers .best").count(), 0, "bold is for the best of a row only");
    const small = await page.locator("#classifiers table", { hasText: "Demographic parity gap" }).locator("tbody tr").count();
    assert.equal(small, 4, "three gaps and the real difference");
  }));

test("a confounded run: said first and in red, nothing looks like success, and predictions are not denied", () =>
  withPage("apart.html", {}, async (page) => {
    const first = page.locator("#findings li").first();
    assert.equal(await first.getAttribute("data-finding"), "confounded");
    assert.equal(await first.getAttribute("data-level"), "problem");
    assert.match(await page.locator("#summary p").first().innerText(), /^Every label is in one condition only/);
    assert.equal(await page.locator(".chip.good").count(), 0);
    assert.match(await page.locator(".chip", { hasText: "Conditions mixed?" }).innerText(), /cannot be judged/);
    assert.match(spaced(await page.locator("#effects").innerText()), /2 changes of condition were predicted, but cannot be compared/);
    assert.equal(await page.locator("td.best").count(), 0, "nothing is marked as the best");
    assert.match(await page.locator("#scores").innerText(), /No number is marked as the best/);
    assert.match(await page.locator("#scores td.name", { hasText: "m_kbet" }).innerText(), /Not computed: it compares conditions within a label, and every label is in one condition only\./);
    const bold = await page.locator("main td, main td *, main th, main p, main li, main dd").evaluateAll((list) => list.filter((e) => Number(getComputedStyle(e).fontWeight) > 400).map((e) => e.textContent));
    assert.deepEqual(bold, [], "no other words are bold");
    // All labels are in equally many conditions: the silhouette of labels is not shown twice.
    assert.equal(await page.locator("#scores td.name", { hasText: "isolated labels isolated" }).count(), 0);
    assert.match(await page.locator("#scores td.name", { hasText: "asw_label" }).first().innerText(), /“isolated labels” of scib is the mean of this silhouette over labels: 0\.\d+ \(before\), 0\.\d+ \(CoMP\)/);
    assert.ok(!(await page.locator("#scores .chart text").allTextContents()).includes("isolated labels"));
    const all = await page.locator("main").innerText();
    for (const words of ["Name a column", "holds no counterfactuals", "raise --gamma"]) assert.ok(!all.includes(words), words);
  }));

test("what is seen are the findings of the library: ids, levels and sentences", () =>
  withPage("fair.html", {}, async (page) => {
    const findings = await page.evaluate(() => window.compReport.store.data.findings);
    const seen = await page.locator("#findings li").evaluateAll((items) => items.map((e) => [e.dataset.finding, e.dataset.level, e.querySelector(".said").textContent.replaceAll("\u00a0", " ").replaceAll("−", "-")]));
    const expected = ["problem", "caution", "note"].flatMap((level) => findings.filter((f) => f.level === level)).map((f) => [f.id, f.level, f.text]);
    assert.ok(expected.length > 3);
    assert.deepEqual(seen, expected);
    for (const f of findings.filter((x) => ["caution", "problem"].includes(x.level))) assert.ok(f.advice, `${f.id} says what to do`);
    const kinds = { ok: "good", note: "", caution: "fair", problem: "bad" };
    const chips = await page.locator(".chip[data-finding]").evaluateAll((items) => items.map((e) => [e.dataset.finding, e.className.replace("chip", "").trim()]));
    const order = ["note", "ok", "caution", "problem"];
    for (const [ids, kind] of chips) {
      const levels = findings.filter((f) => ids.split(" ").includes(f.id)).map((f) => f.level);
      assert.equal(kind, kinds[levels.sort((a, b) => order.indexOf(b) - order.indexOf(a))[0]], ids);
    }
  }));

test("without classifiers there is no section and no link of them", () =>
  withPage("plain.html", {}, async (page) => {
    assert.equal(await page.locator("#classifiers").count(), 0);
    assert.equal(await page.locator("#nav a[href='#classifiers']").count(), 0);
    assert.equal(await page.locator(".chip", { hasText: "hidden?" }).count(), 0);
  }));

test("scores of predictions have a table of their own, change by change", () =>
  withPage("fair.html", {}, async (page) => {
    assert.deepEqual(await page.locator("#scores table").first().locator("th").allInnerTexts(), ["Metric", "before", "X_comp"]);
    const heads = page.locator("#scores table", { hasText: "mean shift" });
    assert.deepEqual(await heads.first().locator("th").allInnerTexts(), ["Metric", "prediction", "no change", "mean shift"]);
    const value = () => heads.first().locator("tbody tr", { hasText: "r_de" }).locator("td").nth(1).innerText();
    assert.equal(await value(), "0.900");
    await page.locator("#score-change").selectOption({ label: "treated → control" });
    assert.equal(await value(), "0.800");
    await page.locator("#scores summary").first().click();
    assert.ok(await page.locator("#scores details table").first().isVisible());
  }));

test("light, dark and system themes", () =>
  withPage("plain.html", { dark: true }, async (page) => {
    const theme = () => page.locator("html").getAttribute("data-theme");
    assert.equal(await theme(), "dark");
    await page.locator("#theme").click();
    assert.equal(await theme(), "light");
    await page.locator("#theme").click();
    assert.equal(await theme(), "dark");
  }));

test("nothing is wider than a phone, and numbers do not break", () =>
  withPage("fair.html", { width: 420, height: 860 }, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
    const broken = await page.evaluate(() => [...document.querySelectorAll("#classifiers td.n small")].filter((e) => e.getClientRects()[0].height > 30).length);
    assert.equal(broken, 0);
  }));

test("names that are long or no names are not wider than a phone either", () =>
  withPage("nasty.html", { width: 420, height: 860 }, async (page) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0);
  }));

test("every control can be reached by keyboard and has a name", () =>
  withPage("plain.html", {}, async (page) => {
    const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, select, input, canvas[tabindex]")].filter((e) => e.getClientRects().length && !(e.textContent || e.getAttribute("aria-label") || e.labels?.length || e.closest("label"))).map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(unnamed, []);
    const reached = new Set();
    for (let k = 0; k < 60; k++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
    }
    for (const id of ["theme", "color-by", "map-names", "CANVAS"]) assert.ok(reached.has(id), id);
  }));

test("in print both maps are there, on white", () =>
  withPage("plain.html", { dark: true }, async (page) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("#scores details:not([open])").count(), 0, "what is folded is printed");
    assert.equal(await page.locator(".print-only svg image").count(), 2);
    assert.ok(await page.locator(".print-only").isVisible());
    const corners = await page.locator(".print-only svg image").evaluateAll((list) => Promise.all(list.map(async (e) => {
      const image = new Image();
      image.src = e.getAttribute("href");
      await image.decode();
      const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
      context.drawImage(image, 0, 0);
      return [...context.getImageData(0, 0, 1, 1).data].join();
    })));
    assert.deepEqual(corners, ["255,255,255,255", "255,255,255,255"], "the maps are on white");
    assert.ok(!(await page.locator("#stages").isVisible()));
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  }));

// What a program that knows nothing of the page finds in the data.
const fromData = (script) => JSON.parse(execFileSync(python, ["-c", "import anndata, json, sys\nd = anndata.read_h5ad(sys.argv[1])\n" + script, file("plain.h5ad")], { stdio: ["ignore", "pipe", "ignore"] }));

test("violins and dots of a gene: the numbers by label and condition are those of the data", () =>
  withPage("plain.html", {}, async (page) => {
    await page.locator("#expression").scrollIntoViewIfNeeded();
    await page.locator("#expression[data-gene]").waitFor();
    const find = page.locator("#expression input[role=combobox]");
    await find.fill("gene42");
    await find.press("Enter");
    await page.locator("#expression[data-gene=gene42]").waitFor();
    assert.equal(await page.locator("#expression .chart").first().locator("svg path.violin").count(), 2 * LABELS, "a violin for each group");
    assert.ok((await page.locator("#expression .chart").nth(1).locator("svg circle").count()) > 2 * LABELS * 5, "dots");
    await page.locator("#expression summary").click();
    const expected = fromData(`g = list(d.var_names).index('gene42')
m = d[(d.obs['label'] == 'type2') & (d.obs['condition'] == 'treated')].X[:, g].toarray().ravel()
print(json.dumps([len(m), float(m.mean()), float((m > 0).mean())]))`);
    const { name, bytes } = await saved(page, page.getByRole("button", { name: "Download as CSV: gene42 by label and condition" }));
    assert.equal(name, "gene42_by_label_and_condition.csv");
    const rows = cellsOf(bytes.toString());
    assert.deepEqual(rows[0], ["label", "condition", "samples", "mean", "share above 0"]);
    assert.equal(rows.length, 1 + 2 * LABELS);
    const row = rows.find((r) => r[0] === "type2" && r[1] === "treated");
    assert.equal(Number(row[2]), expected[0]);
    assert.ok(Math.abs(Number(row[3]) - expected[1]) < 0.02, `mean ${row[3]}, expected ${expected[1]}`); // 8 bits a value
    assert.ok(Math.abs(Number(row[4]) - expected[2]) < 0.02, `share ${row[4]}, expected ${expected[2]}`);
  }));

test("the DE table: changes are those of the data, z and p those of comp de, and all of it can be saved", () =>
  withPage("plain.html", {}, async (page) => {
    await page.locator("#gene-label").selectOption({ label: "type2" });
    const button = page.getByRole("button", { name: "Download as CSV: DE control to treated in type2" });
    await button.waitFor();
    const rows = cellsOf((await saved(page, button)).bytes.toString());
    assert.equal(rows.length, 201, "all genes");
    assert.deepEqual(rows[0], ["Gene", "mean control", "mean treated", "real change", "predicted change", "predicted − real", "z-score (Wilcoxon)", "adjusted p", "DE rank"]);
    const z = rows.slice(1).map((r) => Number(r[6]));
    assert.deepEqual(z, [...z].sort((a, b) => b - a), "the strongest first");
    assert.equal(rows[1][8], "1");
    const expected = fromData(`l = d.obs['label'] == 'type2'
c = d[l & (d.obs['condition'] == 'control')]; t = d[l & (d.obs['condition'] == 'treated')]
print(json.dumps({n: [float(t.X[:, i].mean() - c.X[:, i].mean()), float(c.layers['counterfactual_treated'][:, i].mean() - c.X[:, i].mean())] for i, n in enumerate(d.var_names)}))`);
    for (const row of rows.slice(1)) [0, 1].forEach((k) => assert.ok(Math.abs(Number(row[3 + k]) - expected[row[0]][k]) < 2e-4, row.join()));
    const de = String(run("de", "-q", "-i", file("plain.h5ad"), "--groupby", "condition", "--label", "label", "--target", "treated", "--reference", "control")).trim().split("\n").map((line) => line.split("\t"));
    const at = (name) => de[0].indexOf(name);
    const known = new Map(de.slice(1).filter((r) => r.includes("type2")).map((r) => [r[at("names")], r]));
    let seen = 0;
    for (const row of rows.slice(1, 40)) {
      const own = known.get(row[0]);
      if (!own) continue;
      seen++;
      assert.ok(Math.abs(Number(row[6]) - Number(own[at("scores")])) <= 1e-3 * Math.abs(Number(own[at("scores")])) + 1e-6, `${row[0]}: z ${row[6]}, ${own[at("scores")]}`);
      assert.ok(Math.abs(Math.log(Number(row[7]) / Math.max(1e-37, Number(own[at("pvals_adj")])))) < 2e-3, `${row[0]}: p ${row[7]}, ${own[at("pvals_adj")]}`);
    }
    assert.ok(seen >= 20, `${seen} genes compared`);
    await page.locator("#effects td button.pick").first().press("Enter");
    await page.locator(`#effects [data-gene="${rows[1][0]}"]`).waitFor();
  }));

test("the table of labels by conditions has the numbers of the data", () =>
  withPage("plain.html", {}, async (page) => {
    const expected = fromData(`t = d.obs.groupby(['label', 'condition'], observed=False).size()
print(json.dumps([[l, str(t[l, 'control']), str(t[l, 'treated'])] for l in d.obs['label'].cat.categories]))`);
    const rows = await page.locator("#design tbody tr").evaluateAll((list) => list.map((r) => [...r.cells].slice(0, 3).map((c) => c.textContent)));
    assert.deepEqual(rows, expected);
  }));

test("scores by label are a heat map with the numbers in it", () =>
  withPage("plain.html", {}, async (page) => {
    const figure = page.locator("#scores .chart svg").first();
    assert.equal(await figure.locator("rect:not(.shade)").count(), 2 * LABELS);
    assert.equal(await figure.locator("rect.shade").count(), 16, "one metric, one scale");
    const scores = await page.evaluate(() => window.compReport.store.data.scores.filter((s) => s.label === "type2").map((s) => s.value.toFixed(2)));
    const texts = await figure.locator("text").allTextContents();
    for (const value of scores) assert.ok(texts.includes(value), value);
    const all = await page.evaluate(() => window.compReport.store.data.scores.filter((s) => s.label !== undefined).map((s) => s.value));
    assert.deepEqual(texts.slice(texts.indexOf("kBET") + 1).slice(0, 2), [Math.max(1, ...all).toFixed(2), "0"], "the ends of the colours: worst and best"); // made up: some are above 1
  }));

test("the dot plot has a legend with numbers: sizes, and the lowest and the highest mean of each gene", () =>
  withPage("plain.html", {}, async (page) => {
    await seeAll(page);
    const find = page.locator("#expression input[role=combobox]");
    await find.fill("gene42");
    await find.press("Enter");
    await page.locator("#expression[data-gene=gene42]").waitFor();
    await page.locator("#expression h3", { hasText: "gene42 and" }).waitFor();
    const texts = (await page.locator("#expression .chart").nth(1).locator("svg text").allTextContents()).map(spaced);
    for (const words of ["samples above 0:", "10 %", "50 %", "100 %", "colour: lowest mean", "highest mean"]) assert.ok(texts.includes(words), words);
    const [low, high] = fromData(`g = list(d.var_names).index('gene42')
m = d.obs.assign(v=d.X[:, g].toarray().ravel()).groupby(['label', 'condition'], observed=True)['v'].mean()
print(json.dumps([float(m.min()), float(m.max())]))`);
    const first = (words) => Number(texts[texts.lastIndexOf(words, texts.indexOf("samples above 0:")) + 1]);
    assert.ok(Math.abs(first("lowest mean") - low) < 0.02 && Math.abs(first("highest mean") - high) < 0.02, `${first("lowest mean")} to ${first("highest mean")}, expected ${low} to ${high}`);
  }));

test("what needs explaining is explained where it is: z, ceiling, an accuracy below chance, isolated labels", () =>
  withPage("terms.html", {}, async (page) => {
    assert.match(spaced(await page.locator("#summary").innerText()), /z is the embedding: the numbers that the model computes for each sample, in place of its 200 genes\./);
    await page.locator("#summary summary").click();
    const terms = await page.locator(".terms dt").allInnerTexts();
    for (const term of ["Sample", "Condition", "Label", "z, embedding", "Over-correction"]) assert.ok(terms.includes(term), term);
    assert.match(await page.locator("#scores").innerText(), /“ceiling” is the noise ceiling: one half of the real samples predicts the other half\./);
    assert.match(await page.locator(".below-chance").innerText(), /here 0\.410, chance 0\.500\) is no mistake/);
    assert.match(await page.locator("#scores td.name", { hasText: "isolated" }).innerText(), /Here: type1\./);
    assert.ok(!(await page.locator("#scores .chart text").allTextContents()).some((t) => t.includes("isolated")), "its values are those of the silhouette");
  }));

for (const report of ["fair.html", "plain.html", "apart.html", "terms.html"])
  test(`a number and its percent sign stay in one line in ${report}`, () =>
    withPage(report, {}, async (page) => {
      await seeAll(page);
      const text = await page.locator("main").textContent();
      assert.match(text, /\d\u00a0%/);
      assert.deepEqual(text.match(/.{0,30}\d %.{0,10}/g), null);
    }));

test("every figure can be saved as SVG and PNG and every table as CSV, in light colours also when the page is dark", () =>
  withPage("fair.html", { dark: true }, async (page) => {
    await seeAll(page);
    await page.locator("details").evaluateAll((list) => list.forEach((d) => { d.open = true; }));
    const names = await page.locator("button.save").evaluateAll((list) => list.map((b) => b.getAttribute("aria-label")));
    assert.equal(await page.locator("main table").count(), names.filter((n) => n.includes("CSV")).length, "a button for each table");
    assert.equal(new Set(names).size, names.length, "each has a name of its own: " + names.join("; "));
    for (const [k, name] of names.entries()) {
      const { bytes } = await saved(page, page.locator("button.save").nth(k));
      if (name.includes("SVG")) {
        const text = bytes.toString();
        assert.match(text, /^<svg [^]*<\/svg>$/, name);
        assert.ok(text.includes('fill="#ffffff"') && !text.includes("#e8eaed"), name + ": light");
      } else if (name.includes("PNG")) {
        assert.deepEqual([...bytes.subarray(1, 4)], [80, 78, 71], name);
        assert.ok(bytes.readUInt32BE(16) >= 1000, name + ": wide enough for print");
      } else assert.ok(cellsOf(bytes.toString()).length > 1, name);
    }
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  }));

test("the command line and the versions are there in words, without folders of this machine", () =>
  withPage("plain.html", {}, async (page) => {
    const text = await page.locator("#origin").innerText();
    assert.match(text, /comp report -i plain.h5ad -m model.comp --scores plain.json --condition condition --label label\n/);
    assert.match(text, /comp \d+\.\d+\.\d+ made this page on 2/);
    assert.ok(!readFileSync(file("plain.html"), "utf8").includes(folder), "no absolute path");
  }));

test("one is not several", () =>
  withPage("one.html", {}, async (page) => {
    const text = await page.locator("body").innerText();
    assert.ok(!/\b1\s(samples|genes|labels|epochs|notes)\b/.test(text), text.match(/.{20}\b1\s(samples|genes|labels|epochs|notes)\b/)?.[0]);
    assert.match(spaced(text), /1 sample, 200 genes/);
  }));

// ---- for everybody
for (const width of [420, 1000, 1400])
  for (const dark of [false, true])
    test(`axe finds nothing serious at ${width} px, ${dark ? "dark" : "light"}; nothing is wider than the window`, () =>
      withPage("fair.html", { width, height: 860, dark }, async (page) => {
        await seeAll(page);
        await page.locator("details").evaluateAll((list) => list.forEach((d) => { d.open = true; }));
        await page.addStyleTag({ content: ".scroll { background: none !important; }" }); // axe does not judge text on shades
        // By hand: the page's own policy lets no other script in.
        await page.evaluate(readFileSync(here("../node_modules/axe-core/axe.min.js"), "utf8"));
        const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(" | ")}`));
        assert.deepEqual(found, []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
        if (width < 1000) return; // what is scrolled out of sight cannot be judged
        const open = await page.evaluate(async () => (await window.axe.run(document, { runOnly: ["color-contrast"] })).incomplete.flatMap((v) => v.nodes.map((n) => n.html.slice(0, 100)).filter((html) => /^<(td|th|p|li|summary|h[123])/.test(html))));
        assert.deepEqual(open.slice(0, 5), [], "contrast that is not decided");
      }));

test("by keyboard alone: colour, gene, zoom, selection, sorting, theme", () =>
  withPage("plain.html", {}, async (page) => {
    const to = async (selector) => {
      for (let k = 0; k < 120; k++) {
        await page.keyboard.press("Tab");
        if (await page.evaluate((s) => document.activeElement.matches(s), selector)) return;
      }
      assert.fail(`Tab does not reach ${selector}`);
    };
    await to("#theme");
    await page.keyboard.press("Enter");
    assert.match(await page.locator("#theme").innerText(), /light/);
    await to("#color-by");
    await page.keyboard.press("ArrowDown");
    await waitFor(page, "color", "label");
    await to("#map input[role=combobox]");
    await page.keyboard.type("gene17");
    await page.keyboard.press("Enter");
    await waitFor(page, "color", "gene17");
    await to(".stage canvas");
    for (let k = 0; k < 4; k++) await page.keyboard.press("+");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => Number(document.getElementById("stages").dataset.selected) > 0);
    assert.ok(Number(await attribute(page, "selected")) < CELLS);
    await page.keyboard.press("Escape");
    await waitFor(page, "selected", "0");
    await to("#scores th button");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#scores th").first().getAttribute("aria-sort"), "ascending");
    await to("#effects td button.pick");
    await page.keyboard.press("Enter");
  }));

test("1,000,000 samples open in 3 s and move at 30 frames a second", async () => {
  const { page, seen, close } = await open();
  try {
    const client = await watchTimes(page);
    await ready(page, file("million.html"));
    const times = await timesOf(page, client);
    const frames = await framesWhileDragging(page, 3000);
    const busy = loadavg()[0] > availableParallelism();
    console.log("# " + JSON.stringify({ ...times, ...frames, load: loadavg()[0] }));
    const spent = busy ? times.cpu : times.ready; // where others use the CPUs, the clock says little
    assert.ok(spent <= 3000, `ready after ${times.ready} ms, of which ${times.cpu} ms were computed`);
    assert.ok(frames.framesPerSecond >= (busy ? 15 : 30), `${frames.framesPerSecond} frames a second`);
    assert.deepEqual(seen.errors, []);
  } finally {
    await close();
  }
});

test("web/dist/report.html is what web/src gives", () => {
  execFileSync(process.execPath, [here("../build.mjs"), "--check"], { stdio: ["ignore", "ignore", "pipe"] });
});

// ---- run
const only = process.argv.slice(2);
const chosen = tests.filter((t) => !only.length || only.some((part) => t.name.includes(part)));
console.log(`1..${chosen.length}`);
let bad = 0;
for (const [k, { name, run: body }] of chosen.entries()) {
  try {
    await body();
    console.log(`ok ${k + 1} - ${name}`);
  } catch (error) {
    bad++;
    console.log(`not ok ${k + 1} - ${name}`);
    console.log(String(error.stderr || error.stack || error).split("\n").slice(0, 12).map((line) => "# " + line).join("\n"));
  }
}
rmSync(folder, { recursive: true, force: true });
process.exit(bad ? 1 : 0);
