// Names that must fit a width and stay distinct.

// The order in which to show names: where they stand in the plain order of text, numbers in them count as numbers (1, 2, 10).
// Any other order is the data's own (an ordered column), and stays. Gives indices.
export function naturalOrder(names) {
  const indices = names.map((_, k) => k);
  if (names.some((name, k) => k > 0 && names[k - 1] > name)) return indices;
  return indices.sort((a, b) => names[a].localeCompare(names[b], undefined, { numeric: true }) || a - b);
}

// A name that is too wide loses its middle: names of one family often differ at their end.
export function cutMiddle(name, fits) {
  if (fits(name)) return name;
  const letters = [...name];
  let keep = letters.length - 1;
  const cut = () => letters.slice(0, Math.ceil(keep * 0.6)).join("") + "…" + letters.slice(letters.length - Math.floor(keep * 0.4)).join("");
  while (keep > 2 && !fits(cut())) keep--;
  return cut();
}

// What names share at their start and at their end is left out where needed; where they differ stays.
function cutShared(names, fits) {
  const lists = names.map((name) => [...name]);
  const least = Math.min(...lists.map((l) => l.length));
  const same = (at) => lists.every((l) => l.at(at) === lists[0].at(at));
  let head = 0;
  let tail = 0;
  while (head < least && same(head)) head++;
  while (tail < least - head && same(-1 - tail)) tail++;
  return lists.map((letters) => {
    let [from, to] = [head, letters.length - tail];
    const cut = () => (from > 0 ? "…" : "") + letters.slice(from, to).join("") + (to < letters.length ? "…" : "");
    // As much as fits of what is before and after, so that it can be read.
    for (let more = true; more; ) {
      more = false;
      for (const [a, b] of [[-1, 0], [0, 1]]) {
        const [oldFrom, oldTo] = [from, to];
        [from, to] = [Math.max(0, from + a), Math.min(letters.length, to + b)];
        if (from === oldFrom && to === oldTo) continue;
        if (fits(cut())) more = true;
        else [from, to] = [oldFrom, oldTo];
      }
    }
    return cutMiddle(cut(), fits);
  });
}

// One text for each name, all different: cut in the middle, else to what differs, else with a number.
export function distinct(names, fits) {
  const short = names.map((name) => cutMiddle(name, fits));
  const groups = new Map();
  short.forEach((text, k) => groups.set(text, [...(groups.get(text) || []), k]));
  for (const list of groups.values()) {
    if (list.length < 2 || new Set(list.map((k) => names[k])).size < 2) continue;
    cutShared(list.map((k) => names[k]), fits).forEach((text, i) => { short[list[i]] = text; });
  }
  if (new Set(short).size === new Set(names).size) return short;
  return names.map((name, k) => `${k + 1}: ` + cutMiddle(name, (text) => fits(`${k + 1}: ` + text)));
}
