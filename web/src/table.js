// A table that sorts by any column. Columns: {title, value(row), show(row), number}.
import { count, h, short } from "./dom.js";

export function table(columns, rows, { pick, caption } = {}) {
  let by = -1;
  let down = false;
  const body = h("tbody");
  const heads = columns.map((column, k) =>
    h("th", { scope: "col", class: column.number ? "n" : column.class || "", "aria-sort": "none" }, h("button", { type: "button", title: "Sort by " + column.title, onclick: () => sort(k) }, column.title)));

  function cell(column, row) {
    const shown = column.show ? column.show(row) : column.number ? short(column.value(row)) : column.value(row);
    return h("td", { class: [column.number ? "n" : "", column.class || "", column.best?.(row) ? "best" : ""].join(" ").trim() }, shown ?? "");
  }

  function fill(list) {
    body.replaceChildren(...list.map((row) => {
      const line = h("tr", { class: pick ? "pick" : "" }, columns.map((column) => cell(column, row)));
      if (pick) line.addEventListener("click", () => pick(row));
      return line;
    }));
  }

  function sort(k) {
    down = by === k ? !down : Boolean(columns[k].number);
    by = k;
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== k ? "none" : down ? "descending" : "ascending"));
    const value = columns[k].value;
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const [none, other] = [x === null || x === undefined || Number.isNaN(x), y === null || y === undefined || Number.isNaN(y)];
      if (none || other) return none - other; // what is missing stays below
      const order = columns[k].number ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
      return down ? -order : order;
    });
    fill(sorted);
  }

  fill(rows);
  const tall = rows.length > 25;
  const box = h("div", { class: tall ? "scroll tall" : "scroll", tabindex: "0", role: "region", "aria-label": caption || "table" }, h("table", { style: `--n: ${Math.max(1, columns.filter((c) => c.number).length)}` }, h("thead", {}, h("tr", {}, heads)), body));
  return tall ? h("div", {}, box, h("p", { class: "quiet small no-print" }, `${count(rows.length)} rows; scroll for more.`)) : box;
}
