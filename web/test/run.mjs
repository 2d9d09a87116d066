// Tests of the report in a browser. Speaks TAP. Finds the program in COMP (../build/comp), chromium in CHROMIUM.
// run.mjs [PART...]: only the tests whose name contains one of these.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { executable, open, ready } from "./browser.mjs";

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
  condition: "condition", metrics: [{ name: "kbet", better: "lower", summary: "x" }], embeddings: ["X_pca", "X_comp"].map((name) => ({ name, scores: { kbet: { value: name === "X_pca" ? 0.9 : 0.1, parts: [{ label: "type1", condition: null, value: 0.3 }] } } })),
  predict: [predicted_by("X_pca", "condition", 2, 0.5, [["logistic", 0.9, 0.9], ["forest", 0.88, 0.88]]), predicted_by("X_comp", "condition", 2, 0.5, [["logistic", 0.5, 0.5], ["forest", 0.734, 0.734]]), predicted_by("X_pca", "donor", 4, 0.25, [["forest", 0.7, 0.7]]), predicted_by("X_comp", "donor", 4, 0.25, [["forest", 0.6, 0.6]])],
  fairness: [gap("X_pca", 0.25), gap("X_comp", 0.125)], counterfactual: predicted("control", "treated", 0.9), more_counterfactuals: [predicted("treated", "control", 0.8)],
}));
const columns = ["--condition", "condition", "--label", "label"];
run("report", "-q", "-i", file("plain.h5ad"), ...columns, "-m", file("model.comp"), "--scores", file("plain.json"), "-o", file("plain.html"));
run("report", "-q", "-i", file("nasty.h5ad"), ...columns, "--scores", file("nasty.json"), "--diagnose", file("diagnose.json"), "--title", "</title><script>alert(3)</script>", "-o", file("nasty.html"));
run("report", "-q", "-i", file("plain.h5ad"), ...columns, "--scores", file("fair.json"), "-o", file("fair.html"));
run("report", "-q", "-i", file("cells.h5ad"), "-o", file("bare.html"));

// ---- helpers
async function withPage(report, options, body) {
  const { page, seen, close } = await open(options);
  try {
    await ready(page, file(report), options.webgl ? "webgl" : undefined);
    await body(page, seen);
    assert.deepEqual(seen.errors, [], "console errors");
    assert.deepEqual(seen.requests, [], "network requests");
  } finally {
    await close();
  }
}
const attribute = (page, name) => page.locator(".stage").getAttribute("data-" + name);
const waitFor = (page, name, value) => page.waitForFunction(([n, v]) => document.querySelector(".stage").dataset[n] === v, [name, value]);
const picture = async (page) => (await page.locator(".stage").screenshot()).toString("base64");
const columnOf = (page, section, index) => page.locator(`#${section} table`).first().locator(`tbody tr td:nth-child(${index})`).allInnerTexts();

async function lasso(page, share) {
  await page.getByRole("button", { name: "Lasso" }).click();
  await page.locator(".stage").scrollIntoViewIfNeeded();
  const box = await page.locator(".stage").boundingBox();
  const [cx, cy] = [box.x + box.width / 2, box.y + box.height / 2];
  const [rx, ry] = [(box.width / 2) * share, (box.height / 2) * share];
  const at = (t) => [cx + rx * Math.sign(Math.cos(t)) * Math.min(1, Math.abs(Math.cos(t)) * 1.4), cy + ry * Math.sign(Math.sin(t)) * Math.min(1, Math.abs(Math.sin(t)) * 1.4)];
  await page.mouse.move(...at(0));
  await page.mouse.down();
  for (let k = 1; k <= 40; k++) await page.mouse.move(...at((2 * Math.PI * k) / 40));
  await page.mouse.up();
  await page.waitForFunction(() => Number(document.querySelector(".stage").dataset.selected) > 0);
  return Number(await attribute(page, "selected"));
}

function mapTests(kind, options) {
  test(`${kind}: it opens from disk with no request and no error, and draws with ${kind}`, () =>
    withPage("plain.html", options, async (page) => {
      assert.equal(await page.locator("html").getAttribute("data-ready"), "yes");
      assert.equal(await attribute(page, "renderer"), kind);
      const text = await page.locator("#summary").innerText();
      assert.match(text, /well mixed/);
      assert.match(text, /No sign of over-correction/);
    }));
  test(`${kind}: colours change by column, gene and prediction error`, () =>
    withPage("plain.html", options, async (page) => {
      const pictures = [await picture(page)];
      await page.locator("#color-by").selectOption({ label: "label" });
      await waitFor(page, "color", "label");
      assert.equal(await page.locator(".side .legend li").count(), LABELS);
      await page.waitForTimeout(300);
      pictures.push(await picture(page));
      const error = await page.locator("#color-by option", { hasText: "prediction error" }).innerText();
      await page.locator("#color-by").selectOption({ label: error });
      await waitFor(page, "color", error);
      await page.waitForTimeout(300);
      pictures.push(await picture(page));
      const find = page.locator("#map input[role=combobox]");
      await find.fill("gene17");
      await find.press("Enter");
      await waitFor(page, "color", "gene17");
      await page.waitForTimeout(300);
      pictures.push(await picture(page));
      assert.equal(new Set(pictures).size, 4, "all pictures differ");
    }));
  test(`${kind}: before and after differ, by button and by key`, () =>
    withPage("plain.html", options, async (page) => {
      const after = await picture(page);
      await page.getByRole("button", { name: "Before" }).click();
      await waitFor(page, "map", "Before");
      await page.waitForTimeout(300);
      assert.notEqual(await picture(page), after);
      await page.locator(".stage canvas").focus();
      await page.keyboard.press("b");
      await waitFor(page, "map", "After");
    }));
  test(`${kind}: a lasso selects, tells what it holds, and lets go`, () =>
    withPage("plain.html", options, async (page) => {
      const some = await lasso(page, 0.5);
      assert.ok(some > 0 && some < CELLS, `${some} in the small lasso`);
      assert.match(await page.locator(".selection").innerText(), /samples selected/);
      await page.getByRole("button", { name: "Clear" }).click();
      await waitFor(page, "selected", "0");
      const all = await lasso(page, 0.98);
      assert.ok(all > some, `${all} in the large lasso, ${some} in the small one`);
      const tally = await page.locator(".selection .legend").first().innerText();
      const sum = [...tally.matchAll(/: ([\d,]+) \(/g)].reduce((n, m) => n + Number(m[1].replace(",", "")), 0);
      assert.equal(sum, all, "conditions add up");
      await page.getByRole("button", { name: "Clear" }).click();
      await waitFor(page, "selected", "0");
    }));
  test(`${kind}: the legend hides a level, and a sample under the pointer is named`, () =>
    withPage("plain.html", options, async (page) => {
      const before = await picture(page);
      await page.locator(".side .legend button").first().click();
      await page.waitForTimeout(300);
      assert.notEqual(await picture(page), before);
      await page.getByRole("button", { name: "Show all" }).click();
      await page.waitForTimeout(300);
      await page.locator(".stage").scrollIntoViewIfNeeded();
      const box = await page.locator(".stage").boundingBox();
      const at = await page.evaluate(() => window.compReport.map.plot.screen(5));
      await page.mouse.move(box.x + at[0] + 3, box.y + at[1] + 3);
      await page.mouse.move(box.x + at[0], box.y + at[1]);
      await page.locator(".stage .tip").waitFor({ state: "visible" });
      assert.match(await page.locator(".stage .tip").innerText(), /cell\d+\s+condition: (control|treated)/);
    }));
}
mapTests("webgl", { webgl: true });
mapTests("canvas", { webgl: false });

test("tables sort both ways, and missing values stay below", () =>
  withPage("plain.html", { webgl: false }, async (page) => {
    const head = page.locator("#scores table").first().locator("th button").nth(2);
    const numbers = async () => (await columnOf(page, "scores", 3)).map((t) => Number(t.replace("−", "-")));
    await head.click();
    const down = await numbers();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await head.click();
    assert.deepEqual(await numbers(), [...down].reverse());
    assert.equal(await page.locator("#scores table").first().locator("th").nth(2).getAttribute("aria-sort"), "ascending");
    await page.locator("#genes table th button").first().press("Enter");
    const names = await columnOf(page, "genes", 1);
    assert.deepEqual(names, [...names].sort());
  }));

test("a gene is found in the explorer and colours the map", () =>
  withPage("plain.html", { webgl: false }, async (page) => {
    const find = page.locator("#genes input[role=combobox]");
    await find.fill("GENE42");
    await page.locator("#genes [role=option]").first().waitFor();
    await find.press("Enter");
    await page.locator("#genes [data-gene=gene42]").waitFor();
    assert.equal(await page.locator("#genes svg circle").count(), 2 * LABELS);
    await page.getByRole("button", { name: "Colour the map by it" }).click();
    await waitFor(page, "color", "gene42");
  }));

test("the numbers of the explorer are those of the data", () =>
  withPage("plain.html", { webgl: false }, async (page) => {
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
  withPage("nasty.html", { webgl: true }, async (page) => {
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
  withPage("bare.html", { webgl: true }, async (page) => {
    const text = await page.locator("main").textContent(); /* notes are folded */
    for (const words of ["there are no scores", "comp score", "comp counterfactual", "No condition was named"]) assert.ok(text.includes(words), words);
  }));

test("classifiers: the strongest is named, chance and gaps are there, with a sentence each", () =>
  withPage("fair.html", { webgl: false }, async (page) => {
    const summary = await page.locator("#summary").innerText();
    assert.match(summary, /'condition' can be predicted from z: best accuracy 0.734 \(random forest\)/);
    assert.match(summary, /groups of 'condition' differ by up to 12.5 points/);
    assert.match(await page.locator(".chip", { hasText: "hidden?" }).innerText(), /no/);
    assert.match(await page.locator("#findings").innerText(), /cannot be predicted by logistic regression, but it can by random forest/);
    assert.equal(await page.locator("#nav a[href='#classifiers']").count(), 1);
    const section = await page.locator("#classifiers").innerText();
    for (const words of ["Always predicting the most common value", "Chance", "Demographic parity gap", "Equalised odds gap", "Accuracy gap", "Is 'donor' kept?", "a stronger one may find more"]) assert.ok(section.includes(words), words);
    // rows: two classifiers, the floor, and a guess by donor; the strongest of X_comp is marked
    const table = page.locator("#classifiers table").first();
    assert.deepEqual(await table.locator("tbody td:nth-child(3)").allInnerTexts().then((list) => list.map((t) => t.split("\n")[0]).slice(0, 3)), ["0.500", "0.734", "0.500"]);
    assert.deepEqual(await table.locator("tbody td:nth-child(3).best").allInnerTexts().then((list) => list.map((t) => t.split("\n")[0])), ["0.734"]);
    const small = await page.locator("#classifiers table", { hasText: "Demographic parity gap" }).locator("tbody tr").count();
    assert.equal(small, 4, "three gaps and the real difference");
  }));

test("what is seen are the findings of the library: ids, levels and sentences", () =>
  withPage("fair.html", { webgl: false }, async (page) => {
    const findings = await page.evaluate(() => window.compReport.store.data.findings);
    const seen = await page.locator("#findings li").evaluateAll((items) => items.map((e) => [e.dataset.finding, e.dataset.level, e.querySelector(".said").textContent]));
    const expected = ["problem", "caution", "note"].flatMap((level) => findings.filter((f) => f.level === level)).map((f) => [f.id, f.level, f.text]);
    assert.ok(expected.length > 3);
    assert.deepEqual(seen, expected);
    const kinds = { ok: "good", note: "", caution: "fair", problem: "bad" };
    const chips = await page.locator(".chip[data-finding]").evaluateAll((items) => items.map((e) => [e.dataset.finding, e.className.replace("chip", "").trim()]));
    for (const [id, kind] of chips) assert.equal(kind, kinds[findings.find((f) => f.id === id).level], id);
  }));

test("without classifiers there is no section and no link of them", () =>
  withPage("plain.html", { webgl: false }, async (page) => {
    assert.equal(await page.locator("#classifiers").count(), 0);
    assert.equal(await page.locator("#nav a[href='#classifiers']").count(), 0);
    assert.equal(await page.locator(".chip", { hasText: "hidden?" }).count(), 0);
  }));

test("scores of predictions have a table of their own, change by change", () =>
  withPage("fair.html", { webgl: false }, async (page) => {
    assert.deepEqual(await page.locator("#scores table").first().locator("th").allInnerTexts(), ["Metric", "X_pca", "X_comp"]);
    const heads = page.locator("#scores table", { hasText: "mean shift" });
    assert.deepEqual(await heads.first().locator("th").allInnerTexts(), ["Metric", "prediction", "no change", "mean shift"]);
    const value = () => heads.first().locator("tbody tr", { hasText: "r_de" }).locator("td").nth(1).innerText();
    assert.equal(await value(), "0.900");
    await page.locator("#score-change").selectOption({ label: "treated → control" });
    assert.equal(await value(), "0.800");
    await page.locator("#scores summary").first().click();
    assert.ok(await page.locator("#scores details table").first().isVisible());
  }));

test("canvas: the whole map is drawn again when moving ends, the same wherever it was", () =>
  withPage("plain.html", { webgl: false }, async (page) => {
    const rest = () => page.waitForFunction(() => !window.compReport.map.plot.moving && !window.compReport.map.plot.pending);
    const drawn = () => page.evaluate(() => document.querySelector(".stage canvas").toDataURL());
    await rest();
    const before = await drawn();
    // As on a machine that is too slow to draw all of them.
    await page.evaluate(() => { window.compReport.map.plot.quick = 50; window.compReport.map.plot.pace = () => {}; });
    await page.locator(".stage canvas").focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => window.compReport.map.plot.moving && window.compReport.map.plot.most === 50);
    await page.keyboard.press("ArrowRight");
    await rest();
    assert.ok((await drawn()) === before, "the same picture");
  }));

test("light, dark and system themes", () =>
  withPage("plain.html", { webgl: true, dark: true }, async (page) => {
    const theme = () => page.locator("html").getAttribute("data-theme");
    assert.equal(await theme(), "dark");
    await page.locator("#theme").click();
    assert.equal(await theme(), "light");
    await page.locator("#theme").click();
    assert.equal(await theme(), "dark");
  }));

test("nothing is wider than a phone, and numbers do not break", () =>
  withPage("fair.html", { webgl: false, width: 420, height: 860 }, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0);
    const broken = await page.evaluate(() => [...document.querySelectorAll("#classifiers td.n small")].filter((e) => e.getClientRects()[0].height > 30).length);
    assert.equal(broken, 0);
  }));

test("names that are long or no names are not wider than a phone either", () =>
  withPage("nasty.html", { webgl: true, width: 420, height: 860 }, async (page) => {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0);
  }));

test("every control can be reached by keyboard and has a name", () =>
  withPage("plain.html", { webgl: false }, async (page) => {
    const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, select, input, canvas[tabindex]")].filter((e) => e.getClientRects().length && !(e.textContent || e.getAttribute("aria-label") || e.labels?.length || e.closest("label"))).map((e) => e.outerHTML.slice(0, 80)));
    assert.deepEqual(unnamed, []);
    const reached = new Set();
    for (let k = 0; k < 60; k++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
    }
    for (const id of ["theme", "color-by", "CANVAS", "gene-label"]) assert.ok(reached.has(id), id);
  }));

test("in print both maps are there, on white", () =>
  withPage("plain.html", { webgl: true, dark: true }, async (page) => {
    await page.waitForFunction(() => document.querySelectorAll(".print-only canvas").length === 2);
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("#scores details:not([open])").count(), 0, "what is folded is printed");
    assert.equal(await page.locator(".print-only canvas").count(), 2);
    assert.ok(await page.locator(".print-only").isVisible());
    assert.ok(!(await page.locator(".stage").isVisible()));
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  }));

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
