// measure.mjs REPORT.html [--canvas]: size, time to the first paint and to a usable page, frames a second while panning.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { open, ready } from "./browser.mjs";

const report = resolve(process.argv[2]);
const { page, seen, close } = await open({ webgl: !process.argv.includes("--canvas") });
await ready(page, report);
const times = await page.evaluate(() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return { firstPaint: Math.round(paint ? paint.startTime : -1), ready: Math.round(performance.getEntriesByName("comp-ready")[0]?.startTime ?? -1), mapDrawn: Math.round(performance.getEntriesByName("comp-map")[0]?.startTime ?? -1) };
});
await page.locator(".stage").scrollIntoViewIfNeeded();
await page.waitForTimeout(1500);
const box = await page.locator(".stage").boundingBox();
await page.evaluate(() => {
  window.frames_ = [];
  const step = (t) => { window.frames_.push(t); window.frameId_ = requestAnimationFrame(step); };
  requestAnimationFrame(step);
});
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
await page.mouse.move(x, y);
await page.mouse.down();
const start = Date.now();
for (let k = 0; Date.now() - start < 3000; k++) await page.mouse.move(x + 120 * Math.sin(k / 9), y + 80 * Math.cos(k / 9));
await page.mouse.up();
const frames = await page.evaluate(() => { cancelAnimationFrame(window.frameId_); return window.frames_; });
const gaps = frames.slice(1).map((t, k) => t - frames[k]).sort((a, b) => a - b);
const colour = await page.evaluate(async () => {
  const t = performance.now();
  const select = document.getElementById("color-by");
  select.value = "1";
  select.dispatchEvent(new Event("change"));
  while (document.querySelector(".stage").dataset.color !== select.selectedOptions[0].textContent) await new Promise((r) => setTimeout(r, 5));
  return Math.round(performance.now() - t);
});
console.log(JSON.stringify({ renderer: await page.locator(".stage").getAttribute("data-renderer"), megabytes: +(statSync(report).size / 1e6).toFixed(2), ...times, framesPerSecond: Math.round((1000 * gaps.length) / gaps.reduce((a, b) => a + b, 0)), medianGap: Math.round(gaps[gaps.length >> 1]), worstGap: Math.round(gaps.at(-1)), recolourMs: colour, errors: seen.errors }));
await close();
