// Downloads: tables as CSV, figures as SVG and PNG. Files are always in the light colours.
import { h, svg } from "./dom.js";

export function saveFile(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const fileName = (title) => title.replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_|_$/g, "").slice(0, 60) || "comp";

const cell = (value) => {
  const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

// Columns: {title, value(row)}. A number is written in full.
export function csvOf(columns, rows) {
  return [columns.map((c) => cell(c.title)), ...rows.map((row) => columns.map((c) => cell(c.value(row))))].map((line) => line.join(",")).join("\r\n") + "\r\n";
}

// Calls a function while the colours are the light ones. Nothing is painted in between.
export function inLight(make) {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  root.dataset.theme = "light";
  try {
    return make();
  } finally {
    root.dataset.theme = theme;
  }
}

function textOf(picture) {
  const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  picture.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  picture.prepend(svg("rect", { width, height, fill: "#ffffff" }));
  return { width, height, text: new XMLSerializer().serializeToString(picture) };
}

async function pngOf({ width, height, text }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const scale = Math.min(3, 8000 / Math.max(width, height));
  const sheet = h("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => sheet.toBlob(done, "image/png"));
}

// Buttons that save a figure. `make` gives an SVG element with a viewBox; `file` names it where the title is too general.
export function figureButtons(title, make, file = () => title) {
  const button = (kind, act) => h("button", { type: "button", class: "small save", "aria-label": `Download as ${kind}: ${title}`, onclick: act }, kind);
  const light = async () => textOf(await inLight(make));
  return h("span", { class: "saves no-print" }, button("SVG", async () => saveFile(fileName(file()) + ".svg", (await light()).text, "image/svg+xml")), button("PNG", async () => saveFile(fileName(file()) + ".png", await pngOf(await light()))));
}

export const csvButton = (title, make) => h("span", { class: "saves no-print" }, h("button", { type: "button", class: "small save", "aria-label": `Download as CSV: ${title}`, onclick: () => saveFile(fileName(title) + ".csv", make(), "text/csv") }, "CSV"));

// A figure that is drawn again when its place gets another width or the theme changes. `draw(width)` gives an SVG element
// that has a viewBox and an aria-label, or null when there is nothing to draw.
export function figure(title, draw, { width = 720, file } = {}) {
  const holder = h("div", { class: "holder" });
  const element = h("div", { class: "figure" }, holder, figureButtons(title, () => draw(width), file));
  let last = 0;
  function redraw() {
    if (!holder.clientWidth) return;
    last = holder.clientWidth;
    holder.replaceChildren(...[draw(last)].filter(Boolean));
  }
  new ResizeObserver(() => { if (Math.abs(holder.clientWidth - last) > 1) redraw(); }).observe(holder);
  return { element, redraw };
}
