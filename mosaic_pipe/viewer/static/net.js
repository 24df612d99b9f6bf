// Asking the server: again and again while the page is seen, not at all while it is not.

const trouble = document.getElementById("trouble");

export class Missing extends Error {}

export async function get(url) {
  const response = await fetch(url, { cache: "no-cache" });
  if (response.status === 404) throw new Missing("There is nothing here: it may have been deleted.");
  if (response.status === 403) throw new Error("This viewer was started anew: open the address that it printed.");
  if (!response.ok) throw new Error(`The viewer answered ${response.status}.`);
  return response.text();
}

export function say(text) {
  trouble.hidden = !text;
  trouble.textContent = text;
}

// Calls show(value) at once and whenever the answer changed. url: a function. Returns {again, stop}.
export function poll(url, seconds, show, missing = null) {
  let timer = null, last = null, asked = 0, stopped = false;
  const pause = () => { clearTimeout(timer); timer = null; };

  async function ask() {
    pause();
    const mine = ++asked;
    let wait = seconds;
    try {
      const text = await get(url());
      if (mine !== asked || stopped) return;
      say("");
      if (text !== last) {
        last = text;
        const said = show(JSON.parse(text));
        if (said === false) { stopped = true; return; }
        if (typeof said === "number") wait = said;
      }
    } catch (error) {
      if (mine !== asked || stopped) return;
      if (error instanceof Missing && missing) { stopped = true; missing(error); return; }
      if (!(error instanceof TypeError) && !(error instanceof Missing)) console.error(error);
      say(error instanceof TypeError ? "The viewer does not answer. Start it again: mosaic-pipe view" : error.message);
      wait = 3;
    }
    if (!document.hidden && !stopped) timer = setTimeout(ask, wait * 1000);
  }

  document.addEventListener("visibilitychange", () => {
    if (stopped) return;
    if (document.hidden) pause();
    else if (timer === null) ask();
  });
  ask();
  return { again: () => { last = null; stopped = false; ask(); }, stop: () => { stopped = true; pause(); } };
}
