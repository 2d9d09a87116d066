// Where to write the names of groups on a map: on the densest places of each, large groups first, none over another.

const GRID = 48;
const APART = 0.3; // two clouds of one group are so far from each other
const CLOUD = 0.4; // how dense a further cloud is at least, of the densest
const FEW = 10;    // samples that a further cloud has around its densest place at least

// The densest places of every level, one for each of its clouds: [[x, y, samples], ...].
export function densest(points, codes, levels) {
  const { x, y } = points;
  const half = GRID / 2;
  const cells = GRID * GRID;
  const counts = new Uint32Array(levels * cells);
  const sums = [new Float64Array(levels * cells), new Float64Array(levels * cells)];
  const total = new Uint32Array(levels);
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] >= levels) continue;
    const key = codes[i] * cells + Math.trunc((y[i] + 1) * half) * GRID + Math.trunc((x[i] + 1) * half); // all are within -1 .. 1
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
  return peaks.map((list, level) => {
    const kept = [];
    for (const peak of list.sort((a, b) => b.weight - a.weight)) {
      if (kept.length && (peak.weight < Math.max(CLOUD * list[0].weight, 2 * FEW) || kept.length === 3)) break;
      if (kept.every((k) => Math.hypot(k.x - peak.x, k.y - peak.y) > APART)) kept.push(peak);
    }
    return kept.map((k) => [k.x, k.y, total[level]]);
  });
}

// Of places with names, those that can be written without touching: [{name, x, y}], in pixels. `measure` gives a width.
export function withoutOverlap(list, measure, height, width, tall) {
  const kept = [];
  for (const item of [...list].sort((a, b) => b.samples - a.samples)) {
    const half = measure(item.name) / 2 + 3;
    if (item.x < 0 || item.y < 0 || item.x > width || item.y > tall) continue;
    const x = half * 2 > width ? width / 2 : Math.min(width - half, Math.max(half, item.x));
    const y = Math.min(tall - height / 2, Math.max(height / 2, item.y));
    // A little up or down is still on the group.
    const free = [0, -0.9, 0.9, -1.8, 1.8].map((d) => y + d * height).find((v) => v >= height / 2 && v <= tall - height / 2 && !kept.some((k) => Math.abs(k.x - x) < k.half + half && Math.abs(k.y - v) < height));
    if (free !== undefined) kept.push({ ...item, x, y: free, half });
  }
  return kept;
}
