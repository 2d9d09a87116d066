// A table that sorts by any column and can be saved. Columns: {title, value(row), show(row), number, best(row)}.
// Bold means one thing: a value that is the best of its row.
import { count, h, short } from "./dom.js";
import { csvButton, csvOf } from "./save.js";

const FIRST = 20; // rows that are shown at first

// pick: what choosing a row does; its first cell becomes a button. A caption names the table, also in its file.
export function table(columns, rows, { pick, caption, sorted } = {}) {
  let by = -1;
  let down = false;
  let list = rows;
  let all = rows.length <= FIRST;
  const body = h("tbody");
  const more = h("p", { class: "small no-print" });
  const heads = columns.map((column, k) =>
    h("th", { scope: "col", class: column.number ? "n" : column.class || "", "aria-sort": "none" }, h("button", { type: "button", title: "Sort by " + column.title, onclick: () => sort(k) }, column.title)));

  function cell(column, row, first) {
    const shown = (column.show ? column.show(row) : column.number ? short(column.value(row)) : column.value(row)) ?? "";
    const classes = [column.number ? "n" : "", column.class || "", column.best?.(row) ? "best" : ""].join(" ").trim();
    return h("td", { class: classes }, pick && first ? h("button", { type: "button", class: "pick", onclick: () => pick(row) }, shown) : shown);
  }

  function fill() {
    const shown = all ? list : list.slice(0, FIRST);
    body.replaceChildren(...shown.map((row) => h("tr", {}, columns.map((column, k) => cell(column, row, k === 0)))));
    more.replaceChildren(...(all ? [] : [`${FIRST} of ${count(rows.length)} rows. `, h("button", { type: "button", class: "small", onclick: () => { all = true; fill(); } }, "Show all rows")]));
  }

  function sort(k) {
    down = by === k ? !down : Boolean(columns[k].number);
    by = k;
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== k ? "none" : down ? "descending" : "ascending"));
    const { value, number } = columns[k];
    list = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const [none, other] = [x === null || x === undefined || Number.isNaN(x), y === null || y === undefined || Number.isNaN(y)];
      if (none || other) return none - other; // what is missing stays below
      const order = number ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
      return down ? -order : order;
    });
    fill();
  }

  if (sorted === undefined) fill();
  else sort(sorted);
  const numbers = Math.max(1, columns.filter((c) => c.number).length);
  return h("div", { class: "tabled" },
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, h("table", { style: `--n: ${numbers}` }, h("caption", { class: "hidden" }, caption), h("thead", {}, h("tr", {}, heads)), body)),
    more, csvButton(caption, () => csvOf(columns, list)));
}
