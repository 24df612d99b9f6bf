// Live frames of many runs: those on the screen, and no others.

import { h, fill } from "./dom.js";
import { number, short } from "./format.js";
import { Frames, paint } from "./frames.js";
import { poll } from "./net.js";
import { badge, isLive, progress } from "./states.js";

const AT_ONCE = 48;

export function show(page) {
  const sweep = new URLSearchParams(location.search).get("sweep");
  const title = sweep ? [h("span", { className: "soft" }, "wall of "), h("a", { href: `/sweep/${encodeURIComponent(sweep)}` }, sweep)] : ["Wall", h("span", { className: "on" }, "all that runs")];
  const grid = h("div", { className: "wall" });
  const said = h("span", { className: "soft" });
  fill(page, h("div", { className: "runhead" }, h("h1", {}, title), said), grid);
  document.title = sweep ? `wall of ${sweep}` : "wall";

  const tiles = new Map(), seen = new Set();
  const frames = new Frames(picture);
  const watcher = new IntersectionObserver((changes) => {
    for (const change of changes) {
      if (change.isIntersecting) seen.add(change.target.dataset.run);
      else seen.delete(change.target.dataset.run);
    }
    look();
  }, { rootMargin: "80px" });

  const look = () => frames.look({ runs: [...seen].filter((id) => isLive(tiles.get(id)?.state)).slice(0, AT_ONCE), side: 320, lane: null });

  function picture(header, bitmap) {
    const tile = tiles.get(header.run);
    if (!tile) return;
    tile.note.hidden = Boolean(bitmap);
    tile.note.textContent = header.note;
    if (bitmap) { paint(tile.canvas, bitmap); tile.canvas.dataset.token = header.token; tile.canvas.hidden = false; }
  }

  function draw(runs) {
    for (const [id, tile] of tiles) if (!runs.some((run) => run.id === id)) { watcher.unobserve(tile.element); tile.element.remove(); tiles.delete(id); seen.delete(id); }
    for (const run of runs) {
      if (!tiles.has(run.id)) make(run.id);
      const tile = tiles.get(run.id);
      tile.state = run.state;
      if (!isLive(run.state)) { tile.note.hidden = !tile.canvas.hidden; tile.note.textContent = run.state === "NEW" ? "not started" : "no frames: the run has ended"; }
      tile.element.classList.toggle("over", !isLive(run.state));
      fill(tile.words, h("span", { className: "wallname", title: run.name }, run.name), h("span", { className: "number" }, number(run.return)));
      fill(tile.foot, badge(run.state, run.failure), run.total ? progress(run.done, run.total) : null);
    }
    grid.append(...[...runs].sort((a, b) => isLive(b.state) - isLive(a.state)).map((run) => tiles.get(run.id).element).filter((one, i) => grid.children[i] !== one));
    said.textContent = runs.length ? "" : "";
    if (!runs.length && !grid.children.length) fill(grid, h("div", { className: "empty" }, h("p", {}, "Nothing runs."), h("p", { className: "soft" }, "A run that starts appears here by itself.")));
    else grid.querySelector(".empty")?.remove();
    look();
  }

  function make(id) {
    const canvas = h("canvas", { width: 16, height: 9, hidden: true }), note = h("p", { className: "note" }, "waiting for a frame …");
    const words = h("div", { className: "tilehead" }), foot = h("div", { className: "tilefoot" });
    const element = h("a", { className: "tile card", href: `/run/${id}`, "data-run": id }, h("div", { className: "stage" }, canvas, note), words, foot);
    tiles.set(id, { element, canvas, note, words, foot, state: "" });
    watcher.observe(element);
  }

  if (sweep) {
    poll(() => `/api/sweeps/${encodeURIComponent(sweep)}`, 3, (answer) => { draw(answer.points.map((point) => ({ ...point, name: point.point || short(point.id) })).filter((point) => point.has_run)); return 3; },
      (error) => fill(page, h("div", { className: "empty" }, error.message)));
  } else {
    poll(() => "/api/runs?state=RUNNING&limit=200", 2, (answer) => draw(answer.page.map((run) => ({ ...run, name: `${run.algo} · ${run.env} · seed ${run.seed}` }))));
  }
}
