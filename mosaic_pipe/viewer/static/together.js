// A chart of several runs or cells, read by the server little by little, with a choice of the metric.

import { chart, color } from "./charts.js";
import { h, fill } from "./dom.js";
import { count, number } from "./format.js";
import { poll } from "./net.js";

// url(metric); busy(): whether something still runs; onread(answer).
export function together(url, busy, onread = () => {}) {
  const select = h("select", { "aria-label": "metric", onchange: () => { metric = select.value; source.again(); } });
  const reading = h("span", { className: "soft" });
  const plot = h("div", { className: "plot tall" });
  const hint = h("p", { className: "soft hint" });
  const card = h("section", { className: "card" }, h("div", { className: "cardhead" }, h("h2", {}, "Curves"), reading, h("span", { className: "gap" }), select), plot, hint);
  let metric = "";

  const source = poll(() => url(metric), 3, (answer) => {
    const names = answer.metrics.length ? answer.metrics : [answer.metric];
    if (document.activeElement !== select) fill(select, names.map((name) => h("option", { value: name, selected: name === answer.metric }, name)));
    const shown = answer.groups.filter((group) => group.x.length);
    reading.textContent = answer.read < answer.of ? `reading ${count(answer.read)} of ${count(answer.of)} runs …` : "";
    const lines = shown.map((group) => ({ ...group, color: color(answer.groups.indexOf(group)), band: group.seeds > 1 }));
    card.dataset.points = shown.reduce((sum, group) => sum + group.x.length, 0);
    hint.textContent = shown.length ? [shown.some((group) => group.seeds > 1) ? "A line is the mean of the seeds, its band their range." : "",
      answer.left_out ? `${answer.left_out} more are left out of the chart.` : ""].join(" ") : "Nothing is known of this metric yet.";
    plot.hidden = !shown.length;
    if (shown.length) chart(plot, lines, { legend: shown.length > 1 && shown.length <= 16 });
    onread(answer);
    if (answer.read < answer.of) return 0.05;
    return busy() ? 3 : 30;
  });
  return card;
}

export function swatch(index) {
  return h("i", { className: "swatch", style: { background: `var(--series-${index % 10})` } });
}

export const mean = (value, half) => (half === null || half === undefined ? number(value) : `${number(value)} ± ${number(half)}`);
