// shots.mjs REPORT.html FOLDER NAME [webgl|canvas]: pictures of a report and of each of its sections, light and dark,
// wide and narrow, to be looked at.
import { resolve } from "node:path";
import { open, ready } from "./browser.mjs";

const [, , report, folder, name] = process.argv;
for (const dark of [false, true])
  for (const width of [1400, 420]) {
    const { page, seen, close } = await open({ width, height: width === 420 ? 860 : 900, dark });
    await ready(page, resolve(report), process.argv[5]);
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${folder}/${name}-${dark ? "dark" : "light"}-${width}.png`, fullPage: true });
    await page.addStyleTag({ content: ".top { position: static !important; }" }); // it would lie over the pictures of sections
    for (const id of await page.locator("main > section").evaluateAll((list) => list.map((s) => s.id))) await page.locator("#" + id).screenshot({ path: `${folder}/${name}-${dark ? "dark" : "light"}-${width}-${id}.png` });
    if (seen.errors.length) console.log(width, dark, seen.errors);
    await close();
  }
