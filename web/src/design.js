// How many samples of each label are in each condition: whether label and condition can be separated.
import { count, h, section } from "./dom.js";
import { naturalOrder } from "./names.js";
import { table } from "./table.js";

export function designSection(data) {
  const { conditions, columns } = data.design;
  if (!conditions?.length || !columns?.length) return null;
  const parts = columns.map(({ column, values }) => {
    const rows = naturalOrder(values.map((v) => v.value)).map((k) => values[k]);
    const sum = (row) => row.samples.reduce((a, b) => a + b, 0);
    return [h("h3", {}, `'${column}' by '${data.design.condition}'`), table([
      { title: column, class: "name", value: (row) => row.value },
      ...conditions.map((c, k) => ({ title: c.value, number: true, value: (row) => row.samples[k], show: (row) => (row.samples[k] ? count(row.samples[k]) : h("span", { class: "zero" }, "0")) })),
      { title: "all", number: true, value: sum, show: (row) => count(sum(row)) },
    ], rows, { caption: `Samples by ${column} and ${data.design.condition}` })];
  });
  return { element: section("design", "Design: which samples are where", h("p", {}, "The number of samples of each group in each condition. Where a group is in one condition only (0 in the others), nothing in the data separates the group from the condition."), ...parts.flat()) };
}
