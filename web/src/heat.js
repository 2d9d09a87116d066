// Scores by label as a heat map: a row for each label, a column for each metric and method.
import { css, h, label, short, svg, textWidth } from "./dom.js";
import { inkOn, viridis } from "./colors.js";
import { cutMiddle, distinct } from "./names.js";
import { figure } from "./save.js";

// The values that have the darkest and the lightest colour: the worst and the best, by the direction that the metric has.
// An error of predictions has no largest value: the worst is the largest that there is.
function endsOf(better, all, predictions) {
  const [least, most] = [Math.min(0, ...all), Math.max(1, ...all)];
  if (better === "lower") return predictions ? [Math.max(...all), least] : [most, least];
  if (better === "zero") return [Math.max(1, ...all.map(Math.abs)), 0];
  return [least, most];
}

// 0 is the worst, 1 the best.
function shade(better, value, [worst, best]) {
  if (worst === best) return 1;
  return Math.min(1, Math.max(0, ((better === "zero" ? Math.abs(value) : value) - worst) / (best - worst)));
}

// What its colours mean for one metric: the two ends as numbers.
function scale(x, y, width, better, [worst, best]) {
  const sign = better === "zero" && worst ? "±" : "";
  const texts = [sign + inCell(worst), inCell(best)];
  const [from, to] = [x + 2 + textWidth(texts[0], 10) + 4, x + width - 6 - textWidth(texts[1], 10)];
  const small = { "font-size": 10, fill: css("--quiet") };
  const step = (to - from) / 16;
  return [label(x + 2, y, texts[0], small), ...Array.from({ length: 16 }, (_, k) => svg("rect", { class: "shade", x: from + k * step, y: y - 7, width: step + 0.3, height: 7, fill: viridis(k / 15) })), label(to + 4, y, texts[1], small)];
}

// Columns in lines of at most `room`; those of one metric stay together where they can.
function blocksOf(columns, room) {
  const blocks = [[]];
  for (let k = 0; k < columns.length; ) {
    const own = columns.filter((c) => c.metric === columns[k].metric);
    if (blocks.at(-1).length && blocks.at(-1).length + own.length > room) blocks.push([]);
    for (const column of own) {
      if (blocks.at(-1).length === room) blocks.push([]);
      blocks.at(-1).push(column);
    }
    k += own.length;
  }
  return blocks;
}

// Two digits after the point; a small number keeps one digit that is not 0, so that 0.002 does not look smaller than 2e−4.
const inCell = (value) => (Number.isFinite(value) && Math.abs(value) >= 1e-4 && Math.abs(value) < 0.005 ? value.toPrecision(1).replace("-", "−") : short(value, 2));

// A text in one line or two; what is still too wide loses its middle.
function inTwo(text, fits) {
  if (fits(text)) return [text];
  const words = text.split(" ");
  let n = words.length - 1;
  while (n > 1 && !fits(words.slice(0, n).join(" "))) n--;
  return [words.slice(0, n).join(" "), words.slice(n).join(" ")].filter(Boolean).map((line) => cutMiddle(line, fits));
}

// `rows`: {name, title, label, better, values by method}.
export function heatMap(rows, methods, labels, about) {
  const metrics = [...new Map(rows.map((row) => [row.name, row])).values()];
  const at = new Map(rows.map((row) => [row.name + "\u0000" + row.label, row]));
  const columns = metrics.flatMap((m) => methods.filter((method) => rows.some((r) => r.name === m.name && Number.isFinite(r.values[method]))).map((method) => ({ metric: m, method })));
  const title = `${about} by label`;

  function draw(width) {
    const left = Math.min(Math.max(...labels.map((l) => textWidth(l))) + 12, width * 0.3);
    const fits = (room) => (text) => textWidth(text, 11) <= room;
    const room = Math.max(1, Math.floor((width - left) / 66));
    const blocks = blocksOf(columns, room);
    const cell = Math.min(84, (width - left) / Math.max(...blocks.map((b) => b.length)));
    const names = distinct(labels, (text) => textWidth(text) <= left - 10);
    const head = 76; // two lines of a metric, its colours, one line of a method
    const tall = head + labels.length * 24 + 14;
    const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${blocks.length * tall}`, role: "img", "aria-label": `${title}: a heat map. The same numbers are in the table below.` });
    blocks.forEach((block, b) => {
      const top = b * tall + head;
      labels.forEach((_, r) => picture.append(label(left - 8, top + r * 24 + 16, names[r], { "text-anchor": "end" })));
      block.forEach(({ metric, method }, c) => {
        const x = left + c * cell;
        const values = rows.filter((r) => r.name === metric.name).flatMap((r) => methods.map((m) => r.values[m])).filter(Number.isFinite);
        const ends = endsOf(metric.better, values, about === "Predictions");
        if (!c || block[c - 1].metric !== metric) {
          const span = block.slice(c).findIndex((d) => d.metric !== metric);
          const wide = (span < 0 ? block.length - c : span) * cell;
          const lines = inTwo(metric.title, fits(wide - 6));
          lines.forEach((line, k) => picture.append(label(x + 2, top - 40 - 14 * (lines.length - 1 - k), line, { "font-size": 11 })));
          picture.append(...scale(x, top - 25, Math.min(wide, 130), metric.better, ends));
        }
        picture.append(label(x + 2, top - 8, distinct([method], fits(cell - 4))[0], { "font-size": 11, fill: css("--quiet") }));
        labels.forEach((name, r) => {
          const value = at.get(metric.name + "\u0000" + name)?.values[method];
          const known = Number.isFinite(value);
          const color = known ? viridis(shade(metric.better, value, ends)) : css("--plot");
          picture.append(svg("rect", { x: x + 1, y: top + r * 24 + 1, width: cell - 2, height: 22, fill: color }), label(x + cell / 2, top + r * 24 + 16, inCell(value), { "text-anchor": "middle", fill: known ? inkOn(color) : css("--quiet") }));
        });
      });
    });
    return picture;
  }

  const made = figure(title + " heat map", draw, { width: 900 });
  return { element: h("div", {}, h("p", { class: "quiet small" }, "Yellow is best, dark blue is worst. The bar below each metric has the values of both ends. A dash (–): not computed."), h("div", { class: "chart" }, made.element)), redraw: made.redraw };
}
