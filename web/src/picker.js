// A field that finds a name among many while one types. Keyboard: arrows, Enter, Escape.
import { h } from "./dom.js";

let serial = 0;

export function picker(title, names, pick, placeholder) {
  const id = "picker" + serial++;
  let found = [];
  let at = 0;
  const list = h("ul", { role: "listbox", id: id + "-list", hidden: true });
  const input = h("input", { id, type: "search", autocomplete: "off", role: "combobox", "aria-expanded": "false", "aria-controls": id + "-list", placeholder });
  const lower = names.map((name) => name.toLowerCase());

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  function choose(index) {
    input.value = names[index];
    close();
    pick(index);
  }

  function mark() {
    [...list.children].forEach((item, k) => item.setAttribute("aria-selected", k === at));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    if (list.children[at]) input.setAttribute("aria-activedescendant", list.children[at].id);
  }

  function search() {
    const wanted = input.value.trim().toLowerCase();
    found = [];
    for (const test of [(n) => n === wanted, (n) => n !== wanted && n.startsWith(wanted), (n) => !n.startsWith(wanted) && n.includes(wanted)])
      for (let i = 0; i < lower.length && found.length < 40; i++) if (test(lower[i])) found.push(i);
    at = 0;
    list.replaceChildren(...(found.length ? found.map((i, k) => h("li", { role: "option", id: `${id}-${k}`, onmousedown: (event) => { event.preventDefault(); choose(i); } }, names[i])) : [h("li", { class: "quiet" }, "nothing found")]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark();
  }

  input.addEventListener("input", search);
  input.addEventListener("focus", () => { if (names.length) { input.select(); search(); } });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = Math.min(found.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)));
      mark();
      event.preventDefault();
    } else if (event.key === "Enter" && found.length) {
      choose(found[at]);
      event.preventDefault();
    } else if (event.key === "Escape") close();
  });
  const element = h("div", { class: "picker" }, h("label", { for: id }, title, input), list);
  return { element, show: (name) => { input.value = name; } };
}
