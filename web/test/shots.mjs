// shots.mjs REPORT.html FOLDER NAME: pictures of a report, light and dark, wide and narrow, to be looked at.
import { resolve } from "node:path";
import { open, ready } from "./browser.mjs";

const [, , report, folder, name] = process.argv;
for (const dark of [false, true])
  for (const width of [1400, 420]) {
    const { page, seen, close } = await open({ width, height: width === 420 ? 860 : 900, dark });
    await ready(page, resolve(report));
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${folder}/${name}-${dark ? "dark" : "light"}-${width}.png`, fullPage: true });
    if (seen.errors.length) console.log(width, dark, seen.errors);
    await close();
  }
