// site.mjs SITE: tests the documentation site, opened from file:// in chromium without a network. Speaks TAP.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { executable, open } from "../../web/test/browser.mjs";

const site = resolve(process.argv[2]);
const shots = process.argv[3]; // a folder for pictures, to be looked at
const pages = readdirSync(site, { recursive: true }).map(String).filter((name) => name.endsWith(".html"));
const url = (name) => pathToFileURL(join(site, name)).href;
const texts = new Map(pages.map((name) => [name, readFileSync(join(site, name), "utf8")]));
const wide = ["index", "start", "choose", "faq", "glossary", "cite", "user", "python", "r", "formats", "experiments", "maths", "tutorials/integration", "tutorials/perturbation", "tutorials/fairness", "howto/integrate",
  "howto/counterfactuals", "howto/c", "reference/index", "reference/options", "reference/commands/train", "reference/c/task", "reference/python", "reference/r"].map((name) => name + ".html");

const tests = [];
const test = (name, run) => tests.push({ name, run });
const decoded = (text) => text.replaceAll("&amp;", "&").replaceAll("&quot;", '"');

test("the pages are there", () => {
  for (const name of wide) assert.ok(texts.has(name), name);
  assert.ok(pages.length > 70, `${pages.length} pages`);
});

test("links lead to pages and places that exist", () => {
  const wrong = [];
  for (const [name, text] of texts) {
    if (name === "404.html") continue;
    for (const [, link] of text.matchAll(/<a[^>]* href="([^"]*)"/g)) {
      if (/^(https?|mailto):/.test(link)) continue;
      const [path, place] = decodeURIComponent(decoded(link)).split("#");
      const target = path === "" ? name : relative(site, join(site, dirname(name), path === "." || path.endsWith("/") ? join(path, "index.html") : path));
      if (!existsSync(join(site, target))) wrong.push(`${name}: ${link}`);
      else if (place && texts.has(target) && !texts.get(target).includes(`id="${place}"`) && !texts.get(target).includes(`id="${place.replaceAll('"', "&quot;")}"`)) wrong.push(`${name}: ${link}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("nothing comes from the network", () => {
  const wrong = [];
  for (const [name, text] of texts) for (const [all] of text.matchAll(/<(?:script|img|iframe|link)[^>]* (?:src|href)="(?:https?:)?\/\/[^"]*"/g)) if (!/rel="(canonical|next|prev)"/.test(all)) wrong.push(`${name}: ${all}`);
  assert.deepEqual(wrong, []);
});

// One browser for all that follows; the colours are those of a dark system.
let browser;

async function background(page) {
  const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const [red, green, blue] = colour.match(/[\d.]+/g).map(Number);
  return (red + green + blue) / 3;
}

test("search finds a page", async () => {
  const { page } = browser;
  await page.goto(url("index.html"));
  await page.click(".md-search__input");
  await page.type(".md-search__input", "noise ceiling");
  await page.waitForSelector(".md-search-result__link", { timeout: 60000 });
  const found = await page.$$eval(".md-search-result__link", (links) => links.map((a) => a.getAttribute("href") || a.href));
  assert.ok(found.some((link) => link.includes("glossary.html")), found.join(" "));
  if (shots) await page.screenshot({ path: join(shots, "search.png") });
  await page.goto(new URL(found.find((link) => link.includes("glossary.html")), page.url()).href);
  assert.match(await page.title(), /Glossary/);
});

test("search takes any first letter", async () => {
  const { page, seen } = browser;
  await page.goto(url("index.html"));
  await page.click(".md-search__input");
  const type = async (text) => {
    await page.fill(".md-search__input", ""); // which the page does not notice: it looks after each key
    await page.type(".md-search__input", text);
  };
  for (const letter of "abcdefghijklmnopqrstuvwxyz0123456789") {
    await type(letter);
    await page.waitForTimeout(100);
  }
  await type("arm64");
  await page.waitForFunction(() => [...document.querySelectorAll(".md-search-result__link")].some((a) => a.href.includes("developer.html")), null, { timeout: 60000 });
  assert.deepEqual(seen.errors, []);
});

test("dark colours with a dark system, light ones on request", async () => {
  const { page } = browser;
  await page.goto(url("start.html"));
  assert.ok((await background(page)) < 80, "not dark");
  if (shots) await page.screenshot({ path: join(shots, "dark.png") });
  await page.click("label[title='Use light colours']:not([hidden])");
  await page.waitForTimeout(400);
  assert.ok((await background(page)) > 200, "not light");
  if (shots) await page.screenshot({ path: join(shots, "light.png") });
});

test("tabs show one language at a time, the same everywhere on the page", async () => {
  const { page } = browser;
  await page.goto(url("start.html"));
  const visible = () => page.$$eval(".tabbed-block", (all) => all.filter((one) => one.offsetParent !== null && one.getBoundingClientRect().height > 0).map((one) => one.textContent));
  assert.ok((await visible()).every((text) => !text.includes("library(comp)")));
  await page.click(".tabbed-labels label:text('R')");
  await page.waitForTimeout(300);
  const shown = await visible();
  assert.ok(shown.some((text) => text.includes("library(comp)")) && shown.some((text) => text.includes("RunComp")), shown.join("\n"));
  assert.ok(shown.every((text) => !text.includes("import comp")));
});

test("pages fit a width of 420 px", async () => {
  const { page } = browser;
  await page.setViewportSize({ width: 420, height: 800 });
  const wrong = [];
  for (const name of wide) {
    await page.goto(url(name));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 420) wrong.push(`${name}: ${width}`);
    if (shots && ["index.html", "choose.html", "reference/options.html"].includes(name)) await page.screenshot({ path: join(shots, `420-${name.replace("/", "-")}.png`) });
  }
  await page.setViewportSize({ width: 1400, height: 900 });
  assert.deepEqual(wrong, []);
});

test("no errors, no requests", () => {
  assert.deepEqual(browser.seen.errors, []);
  assert.deepEqual(browser.seen.requests, []);
});

if (!existsSync(executable)) {
  console.log(`1..0 # SKIP there is no ${executable} (./dev deps web)`);
  process.exit(0);
}
console.log(`1..${tests.length}`);
browser = await open({ dark: true });
let failed = 0;
for (const [i, { name, run }] of tests.entries()) {
  try {
    await run();
    console.log(`ok ${i + 1} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${i + 1} - ${name}`);
    console.log(String(error.message || error).split("\n").slice(0, 60).map((line) => "# " + line).join("\n"));
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
