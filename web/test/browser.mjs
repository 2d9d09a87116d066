// Debian's chromium, headless, without a network; a fresh profile each time.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const executable = process.env.CHROMIUM || "/usr/bin/chromium";

// webgl: false makes the page fall back to its canvas.
export async function open({ webgl = true, width = 1400, height = 900, dark = false } = {}) {
  const profile = await mkdtemp(join(tmpdir(), "comp-chromium-"));
  const args = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"];
  args.push(...(webgl ? ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"] : ["--disable-gpu", "--disable-3d-apis"]));
  const context = await chromium.launchPersistentContext(profile, { executablePath: executable, headless: true, args, viewport: { width, height }, colorScheme: dark ? "dark" : "light", offline: true });
  const page = context.pages()[0] || (await context.newPage());
  // On a busy machine the process that draws WebGL needs a while; a page that asks too early is told that there is none.
  if (webgl) await page.waitForFunction(() => document.createElement("canvas").getContext("webgl"), null, { timeout: 60000, polling: 250 });
  const seen = { errors: [], requests: [] };
  page.on("console", (message) => {
    // A screenshot makes the WebGL driver say that it had to wait: not the page's doing.
    if (["error", "warning"].includes(message.type()) && !message.text().includes("GL Driver Message")) seen.errors.push(message.text());
  });
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) seen.requests.push(request.url()); });
  const close = async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  };
  return { page, seen, close };
}

export async function ready(page, path) {
  await page.goto("file://" + path);
  await page.waitForFunction(() => document.documentElement.dataset.ready, null, { timeout: 60000 });
}
