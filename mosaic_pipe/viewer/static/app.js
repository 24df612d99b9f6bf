// Which page this is, what all pages share: theme, keys, the way back.

import { h, fill } from "./dom.js";
import * as keys from "./keys.js";

const root = document.documentElement;
const page = document.getElementById("page");

function theme(choice) {
  if (choice) root.dataset.theme = choice;
  else delete root.dataset.theme;
  document.dispatchEvent(new Event("theme"));
}

function turn() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const choice = dark ? "light" : "dark";
  try { localStorage.setItem("theme", choice); } catch { /* private window */ }
  theme(choice);
}

async function open() {
  const [, kind, name] = location.pathname.split("/").map(decodeURIComponent);
  const pages = { "": "list", run: "run", sweep: "sweep", compare: "compare", wall: "wall" };
  const shown = pages[kind] ?? "list";
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === shown) link.setAttribute("aria-current", "page");
  }
  page.className = `page page-${shown}`;
  const { show } = await import(`./${shown}.js`);
  show(page, name);
}

try { theme(localStorage.getItem("theme")); } catch { /* private window */ }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("theme")));
document.getElementById("theme").addEventListener("click", turn);
document.getElementById("help").addEventListener("click", keys.showHelp);
keys.start();
keys.on("t", "light or dark", turn);
keys.on("l", "list of runs", () => { location.href = "/"; });
keys.on("w", "wall of live frames", () => { location.href = "/wall"; });
open().catch((error) => { console.error(error); fill(page, h("p", { className: "empty" }, "This page did not load. Reload it.")); });
