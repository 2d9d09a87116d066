// One gene (or feature) by label and condition: violins, and strips of points where samples are few. Several genes as a
// dot plot.
import { count, css, h, label, nounOf, percent, section, short, svg, textWidth, ticks } from "./dom.js";
import { paletteOf, viridis } from "./colors.js";
import { distinct, naturalOrder } from "./names.js";
import { figure } from "./save.js";
import { picker } from "./picker.js";
import { table } from "./table.js";

const BINS = 64;
const FEW = 40;        // samples of a group up to which each one is a point
const MANY_ROWS = 150; // groups above which only the labels are shown
const DOTS = 12;       // genes of the dot plot

// The groups: every label in every condition, in the order of the page. `of[i]` is the group of sample i, or -1.
async function groupsOf(store) {
  const [condition, byLabel] = await Promise.all([store.role("condition"), store.role("label")]);
  const one = { levels: ["all samples"], codes: null, colors: ["#0072b2"], dark: ["#56b4e9"], kind: "categorical" };
  const rows = byLabel || one;
  const lanes = condition && (!byLabel || rows.levels.length * condition.levels.length <= MANY_ROWS) ? condition : one;
  const order = naturalOrder(rows.levels);
  const place = order.reduce((all, level, k) => ((all[level] = k), all), []);
  const n = store.data.shown;
  const of = new Int32Array(n);
  const sizes = new Uint32Array(rows.levels.length * lanes.levels.length);
  for (let i = 0; i < n; i++) {
    const [r, c] = [rows.codes ? rows.codes[i] : 0, lanes.codes ? lanes.codes[i] : 0];
    of[i] = r < rows.levels.length && c < lanes.levels.length ? place[r] * lanes.levels.length + c : -1;
    if (of[i] >= 0) sizes[of[i]]++;
  }
  return { rows: order.map((k) => rows.levels[k]), lanes: lanes.levels, laneColumn: lanes, of, sizes, single: lanes === one };
}

// Of one gene in every group: how often each value is there, mean, share of samples above 0, and the values of few.
function statisticsOf(gene, groups) {
  const n = groups.sizes.length;
  const zero = gene.min < 0 ? NaN : 0;
  const out = Array.from({ length: n }, (_, g) => ({ n: groups.sizes[g], mean: 0, share: 0, bins: new Float64Array(BINS), points: groups.sizes[g] <= FEW ? [] : null }));
  const value = (code) => gene.min + ((gene.max - gene.min) * code) / 255;
  for (let i = 0; i < groups.of.length; i++) {
    const g = groups.of[i];
    if (g < 0) continue;
    const code = gene.codes[i];
    const group = out[g];
    group.mean += value(code);
    group.share += value(code) > zero;
    group.bins[code >> 2]++;
    group.points?.push(code);
  }
  for (const group of out) {
    group.mean = group.n ? group.mean / group.n : NaN;
    group.share = group.n && !Number.isNaN(zero) ? group.share / group.n : NaN;
  }
  return out;
}

// Three digits at most.
const inFew = (value) => short(value, Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0);

// Counts made smooth, the highest 1.
function smooth(bins) {
  const out = new Float64Array(BINS);
  for (let k = 0; k < BINS; k++) for (let d = -4; d <= 4; d++) {
    const at = Math.min(BINS - 1, Math.max(0, k + d));
    out[k] += bins[at] * Math.exp((-d * d) / 4.5);
  }
  const top = Math.max(...out);
  return out.map((v) => v / (top || 1));
}

export function expressionSection(store, colorByGene) {
  const { data } = store;
  const noun = nounOf(data);
  if (!data.genes.names.length) return null;
  const state = { gene: null, groups: null, stats: null, dots: null };
  const find = picker(`Choose a ${noun.one}`, data.genes.names, (k) => showGene(k), `one of ${count(data.genes.names.length)}`);
  const heading = h("h3", {}, "Violins");
  const tableBox = h("details", { class: "numbers" });
  const dotsTitle = h("h3", {}, "Dot plot");

  function drawViolins(width) {
    if (!state.stats) return null;
    const { groups, stats, gene } = state;
    const lane = 20;
    const step = groups.lanes.length * lane + 8;
    const left = Math.min(Math.max(...groups.rows.map((r) => textWidth(r, 12.5))) + 14, width * 0.36);
    const right = Number.isNaN(stats[0]?.share) ? 12 : 52;
    const top = 8;
    const height = top + groups.rows.length * step + 44;
    const x = (code) => left + (code / 255) * (width - left - right);
    const toCode = (v) => ((v - gene.min) / (gene.max - gene.min || 1)) * 255;
    const palette = paletteOf(groups.laneColumn);
    const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${gene.name} by label and condition. The numbers are in the table below.` });
    for (const t of ticks(gene.min, gene.max, 5)) picture.append(svg("line", { x1: x(toCode(t)), x2: x(toCode(t)), y1: top, y2: height - 40, stroke: css("--line") }), label(x(toCode(t)), height - 25, short(t, 1), { "text-anchor": "middle", fill: css("--quiet") }));
    picture.append(label((left + width - right) / 2, height - 6, `value of ${gene.name}`, { "text-anchor": "middle", fill: css("--quiet") }));
    if (right > 12) picture.append(label(width - 2, height - 25, "above 0", { "text-anchor": "end", "font-size": 11, fill: css("--quiet") }));
    const names = distinct(groups.rows, (text) => textWidth(text, 12.5) <= left - 12);
    groups.rows.forEach((name, r) => {
      const y0 = top + r * step;
      picture.append(label(left - 8, y0 + step / 2 + 1, names[r], { "text-anchor": "end", "font-size": 12.5 }));
      if (r) picture.append(svg("line", { x1: 0, x2: width, y1: y0 - 1, y2: y0 - 1, stroke: css("--line"), "stroke-width": 0.5 }));
      groups.lanes.forEach((_, c) => {
        const group = stats[r * groups.lanes.length + c];
        const y = y0 + 3 + c * lane + lane / 2;
        if (!group.n) return picture.append(label(left + 6, y + 4, "no samples", { "font-size": 11, fill: css("--quiet") }));
        picture.append(group.points ? strip(group, x, y, lane, palette[c]) : violin(group, x, y, lane, palette[c]));
        picture.append(svg("path", { d: `M${x(toCode(group.mean))} ${y - lane / 2 + 1}v${lane - 2}`, stroke: css("--text"), "stroke-width": 2 }));
        if (right > 12) picture.append(label(width - 2, y + 4, percent(group.share), { "text-anchor": "end", "font-size": 11, fill: css("--quiet") }));
      });
    });
    return picture;
  }

  function violin(group, x, y, lane, color) {
    const dense = smooth(group.bins);
    const at = (k) => x(((k + 0.5) * 255) / BINS);
    const half = lane / 2 - 1;
    // From the first to the last value that is there.
    const there = [...group.bins.keys()].filter((k) => group.bins[k]);
    const range = [...dense.keys()].filter((k) => k >= there[0] - 1 && k <= there.at(-1) + 1);
    const upper = range.map((k) => `${at(k).toFixed(1)} ${(y - dense[k] * half).toFixed(1)}`);
    const lower = range.map((k) => `${at(k).toFixed(1)} ${(y + dense[k] * half).toFixed(1)}`).reverse();
    return svg("path", { d: `M${upper.join("L")}L${lower.join("L")}Z`, class: "violin", fill: color, stroke: color });
  }

  // Points beside each other as their number says, always in the same places.
  function strip(group, x, y, lane, color) {
    const dots = group.points.map((code, k) => `M${x(code).toFixed(1)} ${(y + (((k * 0.618) % 1) - 0.5) * (lane - 8)).toFixed(1)}h0`).join("");
    return svg("path", { d: dots, stroke: color, "stroke-width": 5, "stroke-linecap": "round", "stroke-opacity": 0.85, fill: "none" });
  }

  const key = () => (state.groups.single ? null : h("p", { class: "small key" }, state.groups.lanes.map((name, c) => h("span", {}, h("i", { style: { background: paletteOf(state.groups.laneColumn)[c] } }), name))));

  // Rows are groups, columns genes: the larger the dot, the more samples have it; the lighter, the higher its mean among
  // the means of that gene.
  function drawDots(width) {
    if (!state.dots) return null;
    const { groups, dots } = state;
    const lines = groups.rows.flatMap((name, r) => groups.lanes.map((lane, c) => ({ name, lane, first: !c, g: r * groups.lanes.length + c })));
    const own = groups.single ? 0 : Math.min(Math.max(...groups.lanes.map((l) => textWidth(l, 11))) + 10, width * 0.22);
    const left = Math.max(Math.min(Math.max(...groups.rows.map((r) => textWidth(r))) + 12, width * 0.3) + own, textWidth("highest mean", 10) + 8);
    const slant = 34; // what the last name needs beside its dots
    const list = dots.slice(0, Math.max(3, Math.floor((width - left - slant) / 32)));
    const cell = Math.min(52, (width - left - slant) / list.length);
    const top = Math.min(90, Math.max(...list.map((d) => textWidth(d.name)))) + 14;
    const below = top + lines.length * 20;
    const height = below + 100;
    const picture = svg("svg", { width: "100%", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Dot plot of ${list.map((d) => d.name).join(", ")} by label and condition` });
    const names = distinct(groups.rows, (text) => textWidth(text) <= left - own - 10);
    const laneNames = distinct(groups.lanes, (text) => textWidth(text, 11) <= own - 6);
    const radius = (share) => 1.2 + 7.3 * Math.sqrt(Number.isNaN(share) ? 0.6 : share);
    list.forEach((d, k) => picture.append(label(0, 0, distinct([d.name], (t) => textWidth(t) <= 92)[0], { transform: `translate(${left + (k + 0.5) * cell + 4} ${top - 8}) rotate(-60)` })));
    lines.forEach((line, r) => {
      const y = top + r * 20 + 10;
      if (line.first) picture.append(label(left - own - 8, y + 4, names[Math.floor(r / groups.lanes.length)], { "text-anchor": "end" }), svg("line", { x1: 0, x2: width, y1: y - 10, y2: y - 10, stroke: css("--line"), "stroke-width": 0.5 }));
      if (own) picture.append(label(left - 6, y + 4, laneNames[r % groups.lanes.length], { "text-anchor": "end", "font-size": 11, fill: css("--quiet") }));
      list.forEach((d, k) => {
        const { n, mean, share } = d.stats[line.g];
        if (n) picture.append(svg("circle", { cx: left + (k + 0.5) * cell, cy: y, r: radius(share), fill: viridis((mean - d.low) / (d.high - d.low || 1)), stroke: css("--grey"), "stroke-width": 0.6 }));
      });
    });
    // The ends of each column's colours.
    const small = { "font-size": 10, fill: css("--quiet") };
    picture.append(svg("line", { x1: 0, x2: width, y1: below, y2: below, stroke: css("--line"), "stroke-width": 0.5 }));
    [["lowest mean", "low"], ["highest mean", "high"]].forEach(([text, end], row) => {
      picture.append(label(left - 6, below + 15 + 14 * row, text, { ...small, "text-anchor": "end" }));
      list.forEach((d, k) => picture.append(label(left + (k + 0.5) * cell, below + 15 + 14 * row, inFew(d[end]), { ...small, "text-anchor": "middle" })));
    });
    legendOfDots(picture, list, below + 30, radius);
    return picture;
  }

  function legendOfDots(picture, list, top, radius) {
    let x = 4;
    let y = top + 22;
    const say = (text) => { picture.append(label(x, y + 4, text, { "font-size": 11, fill: css("--quiet") })); x += textWidth(text, 11) + 8; };
    if (!Number.isNaN(list[0].stats[0].share)) {
      say("samples above 0:");
      for (const share of [0.1, 0.5, 1]) {
        picture.append(svg("circle", { cx: x + 8, cy: y, r: radius(share), fill: css("--grey") }));
        x += 20;
        say(percent(share));
      }
    }
    [x, y] = [4, top + 46];
    say("colour: lowest mean");
    for (let k = 0; k < 24; k++) picture.append(svg("rect", { x: x + 3 * k, y: y - 6, width: 3.5, height: 12, fill: viridis(k / 23) }));
    x += 78;
    say("highest mean");
  }

  const violins = figure("violins", drawViolins, { file: () => `${state.gene.name} violins` });
  const dotPlot = figure("dot plot", drawDots, { width: 820 });

  function numbers() {
    const { groups, stats, gene } = state;
    const rows = groups.rows.flatMap((name, r) => groups.lanes.map((lane, c) => ({ name, lane, ...stats[r * groups.lanes.length + c] })));
    return [h("summary", {}, "The numbers"), table([{ title: data.label || "Group", class: "name", value: (row) => row.name }, ...(groups.single ? [] : [{ title: data.condition, value: (row) => row.lane }]),
      { title: "samples", number: true, value: (row) => row.n, show: (row) => count(row.n) }, { title: "mean", number: true, value: (row) => row.mean }, ...(Number.isNaN(stats[0].share) ? [] : [{ title: "share above 0", number: true, value: (row) => row.share }])],
    rows, { caption: `${gene.name} by label and condition` })];
  }

  async function showDots() {
    const wanted = [...new Set([state.gene.name, ...data.genes.names])].slice(0, DOTS);
    const dots = await Promise.all(wanted.map(async (name) => {
      const stats = statisticsOf(await store.gene(data.genes.names.indexOf(name)), state.groups);
      const means = stats.map((s) => s.mean).filter((v) => !Number.isNaN(v));
      return { name, stats: stats.map(({ n, mean, share }) => ({ n, mean, share })), low: Math.min(...means), high: Math.max(...means) };
    }));
    state.dots = dots;
    dotsTitle.textContent = data.effects.changes.length ? `${dots[0].name} and top DE ${noun.many}` : `${dots[0].name} and the most variable ${noun.many}`;
    dotPlot.redraw();
  }

  const keyBox = h("div");
  async function showGene(index) {
    state.gene = await store.gene(index);
    state.groups ||= await groupsOf(store);
    state.stats = statisticsOf(state.gene, state.groups);
    find.show(state.gene.name);
    heading.textContent = state.gene.name;
    keyBox.replaceChildren(...[key()].filter(Boolean));
    violins.redraw();
    tableBox.replaceChildren(...numbers());
    element.dataset.gene = state.gene.name;
    await showDots();
  }

  const shown = data.shown < data.samples ? ` They are of the ${count(data.shown)} samples on the map.` : "";
  const element = section("expression", `${noun.title}s by label and condition`,
    h("p", {}, `The values of one ${noun.one} in each label and condition. A violin is wide where many samples have that value; where a group has at most ${FEW} samples, each one is a point. The vertical line is the mean, the number on the right is the share of samples above 0. In the dot plot, a larger dot means that more samples are above 0. Its colour is the mean of the group; each ${noun.one} has its own scale, with the two numbers below it.${shown}`),
    h("div", { class: "bar" }, find.element, h("button", { type: "button", onclick: () => colorByGene(state.gene.name) }, "Colour the map by it")),
    h("div", { class: "explorer" }, h("div", { class: "chart" }, heading, keyBox, violins.element), h("div", { class: "chart" }, dotsTitle, dotPlot.element)), tableBox);
  return {
    element, showGene,
    // Values are unpacked when the section comes into view: opening the page must not wait for them.
    start() {
      new IntersectionObserver((entries, watch) => {
        if (!entries.some((e) => e.isIntersecting)) return;
        watch.disconnect();
        showGene(0);
      }, { rootMargin: "600px" }).observe(element);
    },
    retheme() {
      if (!state.gene) return;
      keyBox.replaceChildren(...[key()].filter(Boolean));
      violins.redraw();
      dotPlot.redraw();
    },
  };
}
