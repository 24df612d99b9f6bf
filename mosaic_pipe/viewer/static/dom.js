// Elements. Text from runs goes into text nodes only: nothing here can become markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "className") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function fill(element, ...children) {
  const fragment = document.createDocumentFragment();
  add(fragment, children);
  element.replaceChildren(fragment);
}

export function section(title, ...children) {
  return h("section", { className: "card" }, h("h2", {}, title), ...children);
}

// A table from columns {title, cell(row), number, className}.
export function table(columns, rows, onrow = () => ({})) {
  const head = h("tr", {}, columns.map((column) => h("th", { className: kind(column), scope: "col" }, column.title)));
  const body = rows.map((row) =>
    h("tr", onrow(row), columns.map((column) => h("td", { className: kind(column) }, column.cell(row)))));
  return h("div", { className: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, body)));
}

function kind(column) {
  return [column.number && "number", column.className].filter(Boolean).join(" ");
}
