// Several runs in one chart; those that differ in their seed alone are one line.

import { h, fill, section, table } from "./dom.js";
import { number, short } from "./format.js";
import { swatch, together } from "./together.js";

export function show(page) {
  const ids = new URLSearchParams(location.search).get("runs") ?? "";
  if (!ids) {
    fill(page, h("div", { className: "empty" }, h("p", {}, "Choose runs in the list, then Compare."), h("a", { className: "button", href: "/" }, "List of runs")));
    return;
  }
  const groups = h("div", {});
  const card = together((metric) => `/api/compare?runs=${encodeURIComponent(ids)}&metric=${encodeURIComponent(metric)}`, () => true, (answer) => {
    fill(groups, section("Runs", table([
      { title: "", className: "fit", cell: (row) => swatch(row.index) }, { title: "what", cell: (row) => row.name },
      { title: "last value", number: true, cell: (row) => number(row.y.at(-1)) },
      { title: "range", number: true, className: "wide", cell: (row) => (row.seeds > 1 ? `${number(row.low.at(-1))} to ${number(row.high.at(-1))}` : "–") },
      { title: "runs", cell: (row) => h("span", { className: "links" }, row.ids.map((id) => h("a", { href: `/run/${id}` }, h("code", {}, short(id))))) },
    ], answer.groups.map((group, index) => ({ ...group, index })))));
  });
  fill(page, h("div", { className: "runhead" }, h("h1", {}, "Comparison")), card, groups);
}
