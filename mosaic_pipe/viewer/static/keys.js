// Keys: pages say which they know; "?" shows them.

import { h, fill } from "./dom.js";

const known = new Map();

export function on(key, words, act) {
  known.set(key, { words, act });
}

function typing(target) {
  return target instanceof HTMLElement && (target.matches("input, select, textarea") || target.isContentEditable);
}

const dialog = h("dialog", { id: "keys" });

export function showHelp() {
  const rows = [...known].map(([key, { words }]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, words)));
  fill(dialog, h("h2", {}, "Keys"), h("table", {}, rows));
  dialog.showModal();
}

export function start() {
  document.body.append(dialog);
  dialog.addEventListener("click", () => dialog.close());
  on("?", "show this", showHelp);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (dialog.open) { if (event.key === "?") { dialog.close(); event.preventDefault(); } return; }
    const found = known.get(event.key);
    if (found) { event.preventDefault(); found.act(); }
  });
}
