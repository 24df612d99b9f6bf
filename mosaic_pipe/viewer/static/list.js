// The list of runs: filtered and sorted by the server, a hundred at a time.

import { h, fill } from "./dom.js";
import { age, count, number, short } from "./format.js";
import * as keys from "./keys.js";
import { poll } from "./net.js";
import { ORDER, badge, counts, progress, spectrum, word } from "./states.js";

const SIZE = 100;
const SORTS = { return: "return", sps: "steps/s", created: "started", seed: "seed" };
const chosen = new Set();

export function show(page) {
  const asked = new URLSearchParams(location.search);
  if (!asked.has("grouped")) asked.set("grouped", "1");
  let found = null;

  const search = h("input", { type: "search", placeholder: "Search: words of an id, algorithm, environment, sweep", "aria-label": "search",
    value: asked.get("text") ?? "", oninput: () => set("text", search.value) });
  const chips = h("div", { className: "chips" });
  const selects = h("div", { className: "selects" });
  const body = h("div", {});
  const foot = h("div", { className: "foot" });
  fill(page, h("div", { className: "tools" }, search, selects), chips, body, foot);

  let timer = null;
  function set(name, value) {
    if (value) asked.set(name, value);
    else asked.delete(name);
    if (name !== "offset") asked.delete("offset");
    history.replaceState(null, "", `?${asked}`);
    clearTimeout(timer);
    timer = setTimeout(() => list.again(), name === "text" ? 150 : 0);
  }

  const list = poll(() => `/api/runs?${asked}&limit=${SIZE}`, 2, (answer) => { found = answer; draw(); });

  function draw() {
    const states = Object.fromEntries(found.facets.state);
    fill(chips, chip("", `all ${count(found.runs)}`, !asked.get("state")), ORDER.filter((one) => states[one])
      .map((one) => chip(one, `${count(states[one])} ${word(one)}`, asked.get("state") === one)));
    if (!selects.contains(document.activeElement)) fill(selects, ["worker", "algo", "env", "sweep"].map(select), group());
    fill(body, found.page.length ? rows() : empty());
    fill(foot, pager(), selection());
  }

  function chip(state, text, on) {
    return h("button", { className: "chip", "data-state": state || null, "aria-pressed": String(on),
      onclick: () => set("state", on ? "" : state) }, state && h("i"), text);
  }

  function select(name) {
    const options = found.facets[name];
    if (options.length < 2 && !asked.get(name)) return null;
    const box = h("select", { "aria-label": name, onchange: () => set(name, box.value) }, h("option", { value: "" }, `any ${name}`),
      options.map(([value, n]) => h("option", { value, selected: asked.get(name) === value }, `${value} (${n})`)));
    return box;
  }

  function group() {
    if (!found.facets.sweep.length) return null;
    const box = h("input", { type: "checkbox", checked: asked.get("grouped") === "1",
      onchange: () => set("grouped", box.checked ? "1" : "0") });
    return h("label", {}, box, "group sweeps");
  }

  function rows() {
    const head = h("tr", {}, h("th", { className: "pick" }), h("th", {}, "state"), h("th", {}, "run"), h("th", { className: "wide" }, "worker"),
      sorted("seed", "wide"), h("th", {}, "progress"), sorted("return"), sorted("sps", "wide"), sorted("created", "wide"));
    const lines = found.page.map((row) => (row.group ? sweepLine(row) : runLine(row)));
    return h("div", { className: "card flush" }, h("div", { className: "scroll" },
      h("table", { className: "runs" }, h("thead", {}, head), h("tbody", {}, lines))));
  }

  function sorted(name, extra = "") {
    const on = (asked.get("sort") ?? "created") === name;
    const rising = asked.get("rising") === "1";
    const arrow = on ? (rising ? " ↑" : " ↓") : "";
    const turn = () => { asked.set("rising", on && !rising ? "1" : "0"); set("sort", name); };
    return h("th", { className: `number ${extra}`, "aria-sort": on ? (rising ? "ascending" : "descending") : null },
      h("button", { className: "sort", onclick: turn }, SORTS[name] + arrow));
  }

  function runLine(row) {
    const url = `/run/${row.id}`;
    const box = h("input", { type: "checkbox", checked: chosen.has(row.id), "aria-label": "choose for comparison",
      onclick: (event) => event.stopPropagation(), onchange: () => pick(row.id, box.checked) });
    const mode = row.mode === "train" ? null : h("span", { className: "tag" }, row.mode.replaceAll("_", " "));
    const name = h("a", { href: url }, h("strong", {}, row.algo), h("span", { className: "on" }, row.env));
    const sweep = row.sweep && asked.get("grouped") !== "1" ? h("a", { className: "tag", href: `/sweep/${encodeURIComponent(row.sweep)}` }, row.sweep) : null;
    return h("tr", { "data-url": url, "data-run": row.id, onclick: go(url) }, h("td", { className: "pick" }, box),
      h("td", {}, badge(row.state, row.failure)), h("td", {}, h("span", { className: "name" }, name, mode, sweep,
        h("code", { title: row.id }, short(row.id)))), h("td", { className: "wide soft" }, row.worker),
      h("td", { className: "number wide soft" }, row.seed), h("td", {}, progress(row.done, row.total, row.unit)),
      h("td", { className: "number" }, number(row.return)), h("td", { className: "number wide soft" }, count(row.sps)),
      h("td", { className: "number wide soft" }, age(row.created)));
  }

  function sweepLine(row) {
    const url = `/sweep/${encodeURIComponent(row.group)}`;
    return h("tr", { className: "group", "data-url": url, onclick: go(url) }, h("td", { className: "pick" }, "▤"),
      h("td", {}, h("span", { className: "soft" }, "sweep")), h("td", {}, h("span", { className: "name" }, h("a", { href: url }, h("strong", {}, row.group),
        h("span", { className: "on" }, `${count(row.runs)} runs`)))), h("td", { colspan: 5, className: "wide" }, h("span", { className: "line" }, spectrum(row.states), counts(row.states))),
      h("td", { className: "narrow", colspan: 2 }, spectrum(row.states)), h("td", { className: "number wide soft" }, age(row.created)));
  }

  const go = (url) => (event) => { if (!event.target.closest("a, input, button") && !String(getSelection())) location.href = url; };

  function pick(id, on) {
    if (on) chosen.add(id);
    else chosen.delete(id);
    fill(foot, pager(), selection());
  }

  function selection() {
    if (!chosen.size) return null;
    return h("div", { className: "selection" }, `${chosen.size} chosen`, h("a", { className: "button", href: compareUrl() }, "Compare"),
      h("button", { className: "quiet", onclick: () => { chosen.clear(); draw(); } }, "Clear"));
  }

  const compareUrl = () => `/compare?runs=${[...chosen].join(",")}`;

  function pager() {
    const offset = Number(asked.get("offset") ?? 0);
    if (found.entries <= SIZE) return h("span", { className: "soft" }, `${count(found.found)} ${found.found === 1 ? "run" : "runs"}`);
    const to = (value) => () => { set("offset", String(Math.max(0, value))); scrollTo(0, 0); };
    return h("span", { className: "pager" }, h("button", { onclick: to(offset - SIZE), disabled: offset === 0, "aria-label": "page before" }, "‹"),
      `${count(offset + 1)}–${count(Math.min(offset + SIZE, found.entries))} of ${count(found.entries)}`,
      h("button", { onclick: to(offset + SIZE), disabled: offset + SIZE >= found.entries, "aria-label": "next page" }, "›"));
  }

  function empty() {
    if (found.runs) return h("div", { className: "empty" }, h("p", {}, "No run is like that."),
      h("button", { onclick: () => { location.href = "/"; } }, "Show all"));
    return h("div", { className: "empty" }, h("p", {}, "There are no runs yet. This starts one:"),
      h("pre", {}, "mosaic-pipe worker=cleanrl algo=ppo env=cartpole"), h("p", { className: "soft" }, "It appears here by itself."));
  }

  function move(by) {
    const lines = [...page.querySelectorAll("tbody tr")];
    const at = lines.findIndex((line) => line.classList.contains("at"));
    const next = lines[Math.max(0, Math.min(lines.length - 1, at + by))];
    lines[at]?.classList.remove("at");
    next?.classList.add("at");
    next?.scrollIntoView({ block: "nearest" });
  }

  const current = () => page.querySelector("tr.at");
  keys.on("/", "search", () => search.focus());
  keys.on("j", "next line", () => move(1));
  keys.on("k", "line before", () => move(-1));
  keys.on("Enter", "open the line", () => { if (current()) location.href = current().dataset.url; });
  keys.on("x", "choose the line for comparison", () => current()?.querySelector("input")?.click());
  keys.on("c", "compare what is chosen", () => { if (chosen.size) location.href = compareUrl(); });
}
