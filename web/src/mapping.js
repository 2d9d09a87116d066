// New samples among those of a reference: how many seem not to be in it, and true against predicted labels.
import { count, counted, h, percent, section, short } from "./dom.js";
import { naturalOrder } from "./names.js";
import { table } from "./table.js";

// A cell: the number, darker the larger its share of the row; the right label has a frame.
function cell(row, n, right) {
  if (!n) return h("span", { class: `share quiet${right ? " right" : ""}` }, "0");
  return h("span", { class: `share${right ? " right" : ""}`, style: { background: `color-mix(in srgb, var(--accent) ${Math.round((45 * n) / row.samples)}%, transparent)` }, title: `${percent(n / row.samples)} of ${row.label}` }, count(n));
}

function confusion(data, mapping) {
  const order = naturalOrder(mapping.rows.map((r) => r.label));
  const rows = order.map((k) => mapping.rows[k]);
  const titles = [...new Set([...mapping.predicted, ...rows.filter((r) => r.in_reference).map((r) => r.label)])]; // a label may be predicted for nobody
  const name = (row) => (row.in_reference ? row.label : h("span", {}, row.label, h("small", {}, "not in the reference")));
  return table([
    { title: `true ${data.label}`, class: "name", value: (row) => row.label, show: name },
    { title: "new samples", number: true, value: (row) => row.samples, show: (row) => count(row.samples) },
    ...naturalOrder(titles).map((l) => ({ title: titles[l], number: true, value: (row) => row.given[l] ?? 0, show: (row) => cell(row, row.given[l] ?? 0, titles[l] === row.label) })),
    { title: "called unknown", number: true, value: (row) => row.unknown, show: (row) => cell(row, row.unknown, !row.in_reference) },
  ], rows, { caption: `True and predicted ${data.label}` });
}

function predictions(data, mapping) {
  const order = naturalOrder(mapping.rows.map((r) => r.label));
  return table([
    { title: `predicted ${data.label}`, class: "name", value: (row) => row.label },
    { title: "new samples", number: true, value: (row) => row.samples, show: (row) => count(row.samples) },
    { title: "of these called unknown", number: true, value: (row) => row.unknown, show: (row) => cell(row, row.unknown, false) },
  ], order.map((k) => mapping.rows[k]), { caption: `Predicted ${data.label}` });
}

// null when the data is no mapping.
export function mappingSection(data) {
  const { mapping } = data;
  if (!mapping) return null;
  const parts = [h("p", {}, `${counted(mapping.query, "new sample")} on the map of ${counted(mapping.reference, "sample")} of the reference. ${count(mapping.unknown)} (${percent(mapping.unknown / mapping.query)}) seem not to be in the reference: their population has no counterpart there. The map shows them when it is coloured by comp_role.`)];
  if (mapping.rows?.length && mapping.truth) {
    const right = typeof mapping.accuracy === "number" ? ` Of the new samples whose true label is in the reference, ${short(100 * mapping.accuracy, 1)}\u00a0% got the right label.` : "";
    parts.push(h("h3", {}, "True and predicted labels"), h("p", {}, `The labels come from the reference. Each row is a true label of the new samples; a frame marks where they should be.${right} Samples that are called unknown are in the last column only.`), confusion(data, mapping));
  } else if (mapping.rows?.length) {
    parts.push(h("h3", {}, "Predicted labels"), h("p", {}, "The labels come from the reference. The new samples have no labels of their own to compare them with."), predictions(data, mapping));
  }
  return { element: section("mapping", "New samples", ...parts) };
}
