// shots.mjs REPORT.html FOLDER NAME [WIDTH...]: pictures of a report, of each of its sections and of each chart, light and
// dark, to be looked at. Widths are 1400, 1000 and 420 unless given.
import { resolve } from "node:path";
import { open, ready } from "./browser.mjs";

const [, , report, folder, name, ...asked] = process.argv;
const widths = asked.length ? asked.map(Number) : [1400, 1000, 420];
for (const dark of process.env.THEME ? [process.env.THEME === "dark"] : [false, true])
  for (const width of widths) {
    const { page, seen, close } = await open({ width, height: width === 420 ? 860 : 900, dark });
    await ready(page, resolve(report));
    // What is drawn when it comes into view.
    for (const id of await page.locator("main > section").evaluateAll((list) => list.map((s) => s.id))) {
      await page.evaluate((at) => document.getElementById(at).scrollIntoView({ behavior: "instant" }), id);
      await page.waitForTimeout(150);
    }
    await page.waitForTimeout(400);
    await page.addStyleTag({ content: ".top { position: static !important; }" }); // it would lie over the pictures of sections
    await page.screenshot({ path: `${folder}/${name}-${dark ? "dark" : "light"}-${width}.png`, fullPage: true });
    for (const id of await page.locator("main > section").evaluateAll((list) => list.map((s) => s.id))) {
      const charts = page.locator(`#${id} .chart`);
      for (let k = 0; k < (await charts.count()); k++) await charts.nth(k).screenshot({ path: `${folder}/${name}-${dark ? "dark" : "light"}-${width}-${id}-${k}.png` });
      await page.locator("#" + id).screenshot({ path: `${folder}/${name}-${dark ? "dark" : "light"}-${width}-${id}.png` });
    }
    if (seen.errors.length) console.log(width, dark, seen.errors);
    await close();
  }
