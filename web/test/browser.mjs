// Debian's chromium, headless, without a network and without a graphics card; a fresh profile each time.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const executable = process.env.CHROMIUM || "/usr/bin/chromium";

export async function open({ width = 1400, height = 900, dark = false } = {}) {
  const profile = await mkdtemp(join(tmpdir(), "comp-chromium-"));
  const args = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-gpu", "--disable-3d-apis"];
  const context = await chromium.launchPersistentContext(profile, { executablePath: executable, headless: true, args, viewport: { width, height }, colorScheme: dark ? "dark" : "light", offline: true, acceptDownloads: true });
  const page = context.pages()[0] || (await context.newPage());
  const seen = { errors: [], requests: [] };
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) seen.errors.push(message.text()); });
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
