// measure.mjs REPORT.html: size, time to the first paint and to a usable page, frames a second while the map is moved,
// without a graphics card.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { open, ready } from "./browser.mjs";

// Frames a second while the map is dragged for `milliseconds`.
export async function framesWhileDragging(page, milliseconds) {
  const stage = page.locator(".stage").first();
  await stage.scrollIntoViewIfNeeded();
  await page.waitForTimeout(800);
  const box = await stage.boundingBox();
  await page.evaluate(() => {
    window.frames_ = [];
    const step = (t) => { window.frames_.push(t); window.frameId_ = requestAnimationFrame(step); };
    requestAnimationFrame(step);
  });
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const start = Date.now();
  for (let k = 0; Date.now() - start < milliseconds; k++) await page.mouse.move(x + 120 * Math.sin(k / 9), y + 80 * Math.cos(k / 9));
  await page.mouse.up();
  const frames = await page.evaluate(() => { cancelAnimationFrame(window.frameId_); return window.frames_; });
  const gaps = frames.slice(1).map((t, k) => t - frames[k]).sort((a, b) => a - b);
  return { framesPerSecond: Math.round((1000 * gaps.length) / gaps.reduce((a, b) => a + b, 0)), medianGap: Math.round(gaps[gaps.length >> 1]), worstGap: Math.round(gaps.at(-1)) };
}

// Milliseconds since the page was asked for; `cpu`: what the page's thread computed until now, however busy the machine.
export async function timesOf(page, client) {
  const { metrics } = await client.send("Performance.getMetrics");
  const cpu = Math.round(1000 * metrics.find((m) => m.name === "TaskDuration").value);
  const marks = await page.evaluate(() => {
    const at = (name) => Math.round(performance.getEntriesByName(name)[0]?.startTime ?? -1);
    return { firstPaint: at("first-contentful-paint"), mapDrawn: at("comp-map"), ready: at("comp-ready") };
  });
  return { ...marks, cpu };
}

// To be called before the page is opened.
export async function watchTimes(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  return client;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const report = resolve(process.argv[2]);
  const { page, seen, close } = await open();
  const client = await watchTimes(page);
  await ready(page, report);
  const times = await timesOf(page, client);
  const frames = await framesWhileDragging(page, 3000);
  const recolourMs = await page.evaluate(async () => {
    const t = performance.now();
    const select = document.getElementById("color-by");
    select.value = "1";
    select.dispatchEvent(new Event("change"));
    while (document.getElementById("stages").dataset.color !== select.selectedOptions[0].textContent) await new Promise((r) => setTimeout(r, 5));
    return Math.round(performance.now() - t);
  });
  console.log(JSON.stringify({ megabytes: +(statSync(report).size / 1e6).toFixed(2), ...times, ...frames, recolourMs, errors: seen.errors }));
  await close();
}
