// Where to write the names of groups on a map: beside the densest places of each, large groups first, none over another.

const GRID = 48;
const APART = 0.3; // two clouds of one group are so far from each other
const CLOUD = 0.4; // how dense a further cloud is at least, of the densest
const FEW = 10;    // samples that a further cloud has around its densest place at least

const cellOf = (x, y) => Math.trunc((y + 1) * (GRID / 2)) * GRID + Math.trunc((x + 1) * (GRID / 2)); // all are within -1 .. 1

// `places`: the densest places of every level, one for each of its clouds: [[x, y, samples], ...]. `filled`: which cells
// of a grid over the map have samples.
export function densest(points, codes, levels) {
  const { x, y } = points;
  const cells = GRID * GRID;
  const counts = new Uint32Array(levels * cells);
  const sums = [new Float64Array(levels * cells), new Float64Array(levels * cells)];
  const total = new Uint32Array(levels);
  const filled = new Uint8Array(cells);
  for (let i = 0; i < codes.length; i++) {
    const cell = cellOf(x[i], y[i]);
    filled[cell] = 1;
    if (codes[i] >= levels) continue;
    const key = codes[i] * cells + cell;
    total[codes[i]]++;
    counts[key]++;
    sums[0][key] += x[i];
    sums[1][key] += y[i];
  }
  const peaks = Array.from({ length: levels }, () => []);
  for (let key = 0; key < counts.length; key++) {
    if (!counts[key]) continue;
    const level = Math.floor(key / cells);
    const [row, column] = [Math.floor((key % cells) / GRID), key % GRID];
    let around = 0;
    for (const [dr, dc] of [[-1, 0], [1, 0], [0, -1], [0, 1]]) {
      const [r, c] = [row + dr, column + dc];
      if (r >= 0 && c >= 0 && r < GRID && c < GRID) around += counts[level * cells + r * GRID + c];
    }
    peaks[level].push({ weight: 2 * counts[key] + around, x: sums[0][key] / counts[key], y: sums[1][key] / counts[key] });
  }
  const places = peaks.map((list, level) => {
    const kept = [];
    for (const peak of list.sort((a, b) => b.weight - a.weight)) {
      if (kept.length && (peak.weight < Math.max(CLOUD * list[0].weight, 2 * FEW) || kept.length === 3)) break;
      if (kept.every((k) => Math.hypot(k.x - peak.x, k.y - peak.y) > APART)) kept.push(peak);
    }
    return kept.map((k) => [k.x, k.y, total[level]]);
  });
  return { places, filled };
}

// Whether the grid has samples at a place of the map.
export const isFilled = (filled, x, y) => Math.abs(x) < 1 && Math.abs(y) < 1 && filled[cellOf(x, y)] === 1;

// ---- Names without overlap

const TURNS = [12, 4, 0, 8, 14, 10, 2, 6, 15, 9, 1, 7, 13, 11, 3, 5]; // sixteenths of a circle: above, below, right, left, between
const AWAY = [0.35, 1, 1.8, 2.8, 4, 5.5, 7.5, 10]; // how far from its place a name may be, in heights of a line
const NEAR = 1;       // a further cloud of the same group is named so near, or not at all
const COVERING = 3;   // what covering samples costs, in heights of a line
const LEADER = 0.6;   // from this distance on, a line joins a name and its place

const over = (a, b) => Math.abs(a.x - b.x) < a.half + b.half && Math.abs(a.y - b.y) < a.tall + b.tall;

const turn = (p, q, r) => (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
const crosses = ([a, b], [c, d]) => turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;

function lineOver(line, box) {
  const [l, r, t, b] = [box.x - box.half, box.x + box.half, box.y - box.tall, box.y + box.tall];
  const within = ([x, y]) => x > l && x < r && y > t && y < b;
  return line.some(within) || crosses(line, [[l, t], [r, b]]) || crosses(line, [[l, b], [r, t]]);
}

// The line from a place to the nearest point of a name's box; null where they are near.
function leaderOf(item, box, height) {
  const end = [Math.min(box.x + box.half, Math.max(box.x - box.half, item.x)), Math.min(box.y + box.tall, Math.max(box.y - box.tall, item.y))];
  return Math.hypot(end[0] - item.x, end[1] - item.y) > LEADER * height ? [[item.x, item.y], end] : null;
}

// Where a name may be: over its place first, then around it, farther and farther.
function* candidates(item, half, tall, height, { width, deep, most }) {
  const inside = (v, edge, size) => (2 * edge > size ? size / 2 : Math.min(size - edge, Math.max(edge, v)));
  yield { x: inside(item.x, half, width), y: inside(item.y - 0.65 * height, tall, deep), half, tall, cost: 0, own: true };
  for (const away of AWAY.filter((v) => v <= most))
    for (const sixteenth of TURNS) {
      const angle = (sixteenth * Math.PI) / 8;
      const x = item.x + Math.cos(angle) * (half + away * height);
      const y = item.y + Math.sin(angle) * (tall + away * height);
      if (x - half >= 0 && x + half <= width && y - tall >= 0 && y + tall <= deep) yield { x, y, half, tall, cost: away };
    }
}

// Names in pixels of a panel of `width` and `deep`: {name, x, y, half, tall, leader}, none over another, over a leader or
// over the boxes `taken`. `list`: {name, x, y, samples, further}; `further`: not the first of its group. The largest groups
// come first. What has no room is left out. `measure` gives a width, `covers(x, y)` whether samples are there.
export function withoutOverlap(list, measure, height, { width, deep, taken = [], covers = () => false }) {
  const kept = [];
  const tall = height / 2;
  const share = (box) => {
    let n = 0;
    for (let k = 0; k < 15; k++) n += covers(box.x + box.half * ((k % 5) / 2 - 1), box.y + tall * (Math.floor(k / 5) - 1));
    return n / 15;
  };
  for (const item of [...list].sort((a, b) => (a.further || 0) - (b.further || 0) || b.samples - a.samples)) {
    if (item.x < 0 || item.y < 0 || item.x > width || item.y > deep) continue;
    const half = measure(item.name) / 2 + 3;
    let best = null;
    for (const box of candidates(item, half, tall, height, { width, deep, most: item.further ? NEAR : Infinity })) {
      if (best && box.cost >= best.cost) break; // all that follow are farther
      if (taken.some((t) => over(box, t)) || kept.some((k) => over(box, k) || (k.leader && lineOver(k.leader, box)))) continue;
      const cost = box.cost + (box.own ? 0 : COVERING * share(box));
      if (best && cost >= best.cost) continue;
      const leader = leaderOf(item, box, height);
      if (leader && kept.some((k) => lineOver(leader, k) || (k.leader && crosses(leader, k.leader)))) continue;
      best = { ...box, cost, leader };
    }
    if (best) kept.push({ name: item.name, samples: item.samples, ...best });
  }
  return kept;
}
