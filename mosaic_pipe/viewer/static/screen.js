// The frames of one run: all environments or one, with what each says, and a button to keep a picture.

import { h, fill, table } from "./dom.js";
import { count, number } from "./format.js";
import { Frames, paint } from "./frames.js";
import * as keys from "./keys.js";

const LANES = [
  { title: "", className: "fit soft", cell: (one) => one.lane }, { title: "environment", cell: (one) => one.label || "–" },
  { title: "last reward", number: true, cell: (one) => number(one.last_reward) },
  { title: "return, smoothed", number: true, cell: (one) => number(one.rolling_return) },
  { title: "steps/s", number: true, cell: (one) => count(one.step_rate_hz) },
];

export function screen(id) {
  const canvas = h("canvas", { width: 16, height: 9, "aria-label": "live frames" });
  const boxes = h("div", { className: "boxes" });
  const note = h("p", { className: "note" }, "waiting for a frame …");
  const stage = h("div", { className: "stage" }, h("div", { className: "picture" }, canvas, boxes), note);
  const lanes = h("div", { className: "lanes" });
  const all = h("button", { hidden: true, onclick: () => choose(null) }, "all environments");
  const large = h("button", { title: "larger or smaller (f)", onclick: () => grow() }, "Enlarge");
  const keep = h("a", { className: "button", title: "keep this picture (s)", download: "" }, "Snapshot");
  const card = h("section", { className: "card frames" },
    h("div", { className: "cardhead" }, h("h2", {}, "Frames"), h("span", { className: "gap" }), all, large, keep), stage, lanes);
  let lane = null, side = 640;
  const frames = new Frames(show, (text) => say(text));

  function show(header, bitmap) {
    if (!bitmap) { say(header.note); return; }
    note.hidden = true;
    canvas.dataset.token = header.token;
    paint(canvas, bitmap);
    stage.classList.add("shown");
    overlay(header.metrics, bitmap);
  }

  function say(text) {
    note.hidden = !text;
    note.textContent = text;
    stage.classList.toggle("shown", false);
    fill(boxes);
    fill(lanes);
  }

  function overlay(metrics, bitmap) {
    const part = (value, whole) => `${(100 * value) / whole}%`;
    const many = metrics.length > 1;
    fill(boxes, metrics.map((one) => {
      const [left, top, width, height] = one.box ?? [0, 0, bitmap.width, bitmap.height];
      const style = { left: part(left, bitmap.width), top: part(top, bitmap.height), width: part(width, bitmap.width), height: part(height, bitmap.height) };
      return h("button", { className: "box", style, title: many ? `${one.label}: look at this one alone` : one.label, onclick: () => choose(many ? one.lane : null) });
    }));
    fill(lanes, metrics.length ? table(LANES, metrics) : null);
  }

  function choose(chosen) {
    lane = chosen;
    all.hidden = lane === null;
    look();
  }

  function grow() {
    side = side === 640 ? 1280 : 640;
    card.classList.toggle("large", side === 1280);
    large.textContent = side === 1280 ? "Reduce" : "Enlarge";
    look();
  }

  function look() {
    frames.look({ runs: [id], side, lane });
    keep.href = `/run/${id}/snapshot.jpg${lane === null ? "" : `?lane=${lane}`}`;
  }

  keys.on("f", "larger or smaller frames", grow);
  keys.on("s", "keep a picture of the frames", () => keep.click());
  keys.on("a", "frames of all environments", () => choose(null));
  look();
  return { card, stop: () => frames.look({ runs: [], side, lane }) };
}
