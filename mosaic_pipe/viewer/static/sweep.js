// A sweep: its cells first, its curves when they are read, then every point.

import { h, fill, section, table } from "./dom.js";
import { count, number, short } from "./format.js";
import { poll } from "./net.js";
import { badge, counts, isLive, progress, spectrum } from "./states.js";
import { mean, swatch, together } from "./together.js";

export function show(page, name) {
  const head = h("div", { className: "runhead" });
  const cells = h("div", { className: "cells" }), curves = h("div", {}), points = h("div", {});
  fill(page, head, cells, curves, points);
  const url = `/api/sweeps/${encodeURIComponent(name)}`;
  let live = false, drawn = false;
  document.title = `sweep ${name}`;

  poll(() => url, 3, (sweep) => {
    live = sweep.points.some((point) => isLive(point.state));
    heading(head, sweep, name);
    fill(cells, cellsCard(sweep));
    fill(points, pointsCard(sweep));
    if (!drawn) {
      drawn = true;  // the tables are on the screen before the chart library is asked for
      requestAnimationFrame(() => setTimeout(() => fill(curves, together((metric) => `${url}/curves?metric=${encodeURIComponent(metric)}`, () => live))));
    }
    return live || sweep.states.NEW ? 3 : 20;
  }, (error) => fill(page, h("div", { className: "empty" }, h("p", {}, error.message), h("a", { className: "button", href: "/" }, "All runs"))));
}

function heading(head, sweep, name) {
  fill(head, h("div", { className: "titles" }, h("h1", {}, h("span", { className: "soft" }, "sweep "), name), counts(sweep.states)),
    h("div", { className: "status" }, spectrum(sweep.states), h("a", { className: "button", href: `/wall?sweep=${encodeURIComponent(name)}` }, "Live wall")));
}

function cellsCard(sweep) {
  if (sweep.study) return trials(sweep);
  const rows = sweep.cells.map((cell, index) => ({ ...cell, index }));
  return section("Cells", table([
    { title: "", className: "fit", cell: (cell) => swatch(cell.index) }, { title: "cell", cell: (cell) => cell.name || "all" },
    { title: "completed", number: true, cell: (cell) => `${count(cell.completed)} / ${count(cell.points)}` },
    { title: "return ± 95 %", number: true, cell: (cell) => mean(cell.mean, cell.half_width) },
    { title: "steps/s", number: true, className: "wide", cell: (cell) => count(cell.sps) },
  ], rows));
}

function trials(sweep) {
  const sign = sweep.study.direction === "maximize" ? -1 : 1;
  const best = sweep.points.filter((point) => point.value !== null && point.state === "COMPLETED").sort((a, b) => sign * (a.value - b.value)).slice(0, 10);
  return section(`Best trials by ${sweep.study.metric}`, table([
    { title: sweep.study.metric, number: true, cell: (point) => number(point.value) }, { title: "parameters", cell: (point) => point.point },
    { title: "run", cell: (point) => h("a", { href: `/run/${point.id}` }, h("code", {}, short(point.id))) },
  ], best));
}

function pointsCard(sweep) {
  const link = (point) => (point.has_run ? h("a", { href: `/run/${point.id}` }, point.point || "the only point") : h("span", {}, point.point || "the only point"));
  return section("Points", table([
    { title: "state", cell: (point) => badge(point.state, point.failure) }, { title: "point", cell: link },
    { title: "progress", cell: (point) => (point.has_run ? progress(point.done, point.total) : "") },
    { title: "return", number: true, cell: (point) => number(point.return) }, { title: "steps/s", number: true, className: "wide", cell: (point) => count(point.sps) },
  ], sweep.points));
}
