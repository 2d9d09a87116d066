// Small helpers. Text from the data only ever becomes text nodes, never HTML.

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key === "style" && typeof value === "object") Object.assign(element.style, value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

export function svg(tag, properties, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(properties || {})) element.setAttribute(key, value);
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

export const section = (id, title, ...children) => h("section", { id, "aria-labelledby": id + "-title" }, h("h2", { id: id + "-title" }, title), ...children);

export const count = (n) => Number(n).toLocaleString("en-US");

// A number and its unit stay in one line: the space between them does not break.
const NBSP = "\u00a0";
export const counted = (n, one) => `${count(n)}${NBSP}${one}${n === 1 ? "" : "s"}`; // "1 sample", "2 samples"
export const percent = (share) => `${Math.round(100 * share)}${NBSP}%`;

// The same in a text that was made elsewhere, where a minus is a hyphen, after which lines may break.
export const unbroken = (text) => text?.replace(/(?<=[\s(])-(?=\d)/g, "−").replace(/(\d) (?=(%|points?|samples?|genes?|features?|labels?|epochs?|conditions?)(?![\w-]))/g, "$1" + NBSP);

// A text of ours as nodes: names of options (--gamma) do not break at their hyphens.
export const prose = (text) => unbroken(text).split(/(--[a-z][a-z-]*)/).map((part, k) => (k % 2 ? h("span", { class: "option" }, part) : part));

export function short(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) < 1e-9) return "0"; // what rounding leaves of nothing
  if (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3)) return value.toExponential(1).replaceAll("-", "−");
  const text = Number.isInteger(value) ? String(value) : value.toFixed(digits);
  return text.replace("-", "−");
}

// What features are called: "gene" or "feature", with "genes" or a capital as asked.
export const nounOf = (data) => {
  const one = data.noun || "gene";
  return { one, many: one + "s", title: one[0].toUpperCase() + one.slice(1) };
};

// Text in a figure.
export const label = (x, y, text, properties = {}) => svg("text", { x, y, "font-size": 12, "font-family": "system-ui, sans-serif", fill: css("--text"), ...properties }, text);

const ruler = document.createElement("canvas").getContext("2d");
export function textWidth(text, size = 12, weight = 400) {
  ruler.font = `${weight} ${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Round numbers within a range.
export function ticks(min, max, wanted) {
  const rough = (max - min) / wanted;
  if (!(rough > 0)) return [min];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((s) => s * power).find((s) => s >= rough * 0.999);
  const out = [];
  for (let k = Math.ceil(min / step - 1e-9); k * step <= max + 1e-9 * step; k++) out.push(Number((k * step).toPrecision(12)));
  return out;
}
