// Bundles src/ into one file, dist/report.html, that the program puts data into. `build.mjs --check` compares only.
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { build } from "esbuild";

const here = (path) => new URL(path, import.meta.url);
const bundle = await build({ entryPoints: [here("src/main.js").pathname], bundle: true, minify: true, write: false, format: "iife", target: "es2022", charset: "ascii", legalComments: "none" });
const style = await build({ stdin: { contents: await readFile(here("src/style.css"), "utf8"), loader: "css" }, minify: true, write: false, target: "es2022" });

let page = await readFile(here("src/index.html"), "utf8");
const put = (mark, text) => {
  if (page.split(mark).length !== 2) throw new Error(`${mark} must be in index.html once`);
  page = page.replace(mark, () => text);
};
put("/*style*/", style.outputFiles[0].text.trim());
put("/*script*/", bundle.outputFiles[0].text.trim().replace(/<\/script/gi, "<\\/script"));
for (const mark of ["<!--comp:title-->", "<!--comp:data-->"]) if (page.split(mark).length !== 2) throw new Error(`${mark} must be in the page once`);

const target = here("dist/report.html");
if (process.argv.includes("--check")) {
  if ((await readFile(target, "utf8").catch(() => "")) !== page) {
    console.error("web/dist/report.html is not what web/src gives: run ./dev web build");
    process.exit(1);
  }
} else {
  await mkdir(here("dist/"), { recursive: true });
  await writeFile(target, page);
  console.log(`dist/report.html: ${(page.length / 1024).toFixed(0)} KB`);
}
