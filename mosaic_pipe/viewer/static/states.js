// How a state looks: a word with a colour, and how far a run is.

import { h } from "./dom.js";
import { count, steps } from "./format.js";

const WORDS = {
  NEW: "not started", PENDING: "pending", PROVISIONING: "starting", RUNNING: "running", COMPLETED: "completed",
  FAILED: "failed", CANCELLED: "cancelled", TIMED_OUT: "timed out", PREEMPTED: "preempted", PRUNED: "pruned",
};
export const ORDER = ["RUNNING", "PROVISIONING", "PENDING", "COMPLETED", "FAILED", "TIMED_OUT", "PREEMPTED",
  "CANCELLED", "PRUNED", "NEW"];

export const word = (state) => WORDS[state] ?? String(state).toLowerCase();

export const isLive = (state) => ["RUNNING", "PROVISIONING", "PENDING"].includes(state);

export function badge(state, failure = null) {
  const why = failure ? h("span", { className: "why" }, failure.replaceAll("_", " ")) : null;
  return h("span", { className: "state", "data-state": state }, h("i"), word(state), why);
}

export function progress(done, total, unit = "steps") {
  const part = total > 0 ? Math.min(1, done / total) : 0;
  const title = `${count(done)} of ${count(total)} ${unit}`;
  return h("span", { className: "progress", title }, h("span", { className: "bar" },
    h("span", { style: { width: `${part * 100}%` } })), h("span", { className: "part" }, `${steps(done)} / ${steps(total)}`));
}

// A bar of the states of many runs.
export function spectrum(states) {
  const total = Object.values(states).reduce((sum, one) => sum + one, 0) || 1;
  const known = [...ORDER, ...Object.keys(states)].filter((state, i, all) => states[state] && all.indexOf(state) === i);
  const bar = known.map((state) => h("span", {
    "data-state": state, style: { width: `${(100 * states[state]) / total}%` }, title: `${states[state]} ${word(state)}` }));
  return h("span", { className: "spectrum" }, bar);
}

export function counts(states) {
  const known = [...ORDER, ...Object.keys(states)].filter((state, i, all) => states[state] && all.indexOf(state) === i);
  return h("span", { className: "counts" }, known.map((state) =>
    h("span", { className: "state", "data-state": state }, h("i"), `${count(states[state])} ${word(state)}`)));
}
