// One run: what it shows, how it learns, what it is, why it failed.

import { chart, color } from "./charts.js";
import { h, fill, section, table } from "./dom.js";
import { age, bytes, count, duration, moment, number, steps } from "./format.js";
import * as keys from "./keys.js";
import { poll } from "./net.js";
import { screen } from "./screen.js";
import { badge, isLive, progress } from "./states.js";

const FIRST = ["episode_return", "eval/episode_return", "eval/return_mean"];

export function show(page, id) {
  const head = h("div", { className: "runhead" });
  const failure = h("div", {});
  const left = h("div", { className: "column" });
  const facts = h("div", {});
  const main = h("section", { className: "card" }, h("h2", {}, "Return of episodes"), h("div", { className: "plot tall" }));
  const others = h("div", { className: "small" });
  const log = h("pre", { className: "log", tabindex: 0 });
  const logCard = section("Log", log);
  const details = h("div", { className: "stack" });
  fill(page, head, failure, h("div", { className: "two" }, left, facts), main, others, logCard, details);

  let frames = null, final = false, unit = "steps", title = "";

  const missing = (error) => fill(page, h("div", { className: "empty" }, h("p", {}, error.message), h("a", { className: "button", href: "/" }, "All runs")));

  poll(() => `/api/runs/${id}`, 2, (run) => {
    const manifest = run.manifest, state = manifest.state;
    final = run.is_final;
    unit = run.unit;
    title = run.title;
    document.title = `${state.toLowerCase()} · ${run.title}`;
    heading(head, run, id);
    fill(failure, whyFailed(manifest));
    fill(facts, summaryCard(run), stagesCard(manifest));
    if (!frames && manifest.spec.fastlane.mode !== "off" && !final) {
      frames = screen(id);
      fill(left, frames.card);
    }
    if (final && frames) { frames.stop(); frames = null; fill(left); }
    left.hidden = !frames;
    const open = [...details.querySelectorAll("details[open]")].map((one) => one.dataset.name);
    fill(details, checkpointsCard(manifest), attemptsCard(manifest), configCard(manifest), manifestCard(manifest));
    for (const name of open) details.querySelector(`details[data-name="${name}"]`)?.setAttribute("open", "");
    return final ? 15 : 2;
  }, missing);

  const plots = new Map();
  poll(() => `/api/runs/${id}/curves`, 1.5, (curves) => {
    const names = Object.keys(curves.series);
    const first = FIRST.find((name) => curves.series[name]);
    main.hidden = !first;
    if (first) {
      main.querySelector("h2").textContent = first === "episode_return" ? "Return of episodes" : first.replace("eval/", "evaluation: ").replaceAll("_", " ");
      main.dataset.points = curves.series[first].x.length;
      chart(main.querySelector(".plot"), [{ ...line(first, curves.series[first], 0), band: false, smooth: true }], { stages: curves.stages, unit });
    }
    const rest = names.filter((name) => name !== first).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
    rest.forEach((name, index) => draw(name, curves, index + 1));
    return final ? 15 : 1.5;
  }, () => {});

  function draw(name, curves, index) {
    if (!plots.has(name)) {
      const plot = h("div", { className: "plot" }), value = h("span", { className: "value" });
      const card = h("figure", { className: "card" }, h("figcaption", {}, h("span", {}, name), value), plot);
      others.append(card);
      plots.set(name, { plot, value, seen: false });
      new IntersectionObserver((seen, watcher) => {  // a run may have two hundred of these
        if (!seen.some((one) => one.isIntersecting)) return;
        watcher.disconnect();
        plots.get(name).seen = true;
        plots.get(name).again?.();
      }, { rootMargin: "300px" }).observe(card);
    }
    const one = plots.get(name), series = curves.series[name];
    one.value.textContent = number(series.y.at(-1));
    one.again = () => chart(one.plot, [line(name, series, index)], { stages: curves.stages, unit, small: true });
    if (one.seen) one.again();
  }

  const line = (name, series, index) => ({ name, ...series, color: color(index), band: series.x.length > 1 && series.low.some((low, i) => low !== series.high[i]) });

  poll(() => `/api/runs/${id}/log?lines=300`, 2, ({ lines }) => {
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 30;
    log.textContent = lines.join("\n");
    logCard.hidden = !lines.length;
    if (atEnd) log.scrollTop = log.scrollHeight;
    return final ? 15 : 2;
  }, () => {});

  keys.on("e", "end of the log", () => { logCard.scrollIntoView(); log.scrollTop = log.scrollHeight; });
}

function rank(name) {
  if (name.startsWith("eval")) return 0;
  if (name === "episode_length") return 1;
  if (name.startsWith("episode_return")) return 2;
  if (name.includes("loss")) return 3;
  return name === "sps" ? 5 : 4;
}

function heading(head, run, id) {
  const { spec, state, failure, sweep } = run.manifest;
  const stage = spec.curriculum.stages.length ? run.manifest.stages.at(-1) : null;
  const parts = [spec.worker.name, `seed ${spec.seed}`, spec.mode === "train" ? null : spec.mode.replaceAll("_", " ")].filter(Boolean);
  fill(head, h("div", { className: "titles" }, h("h1", {}, spec.worker.script?.split("/").pop() ?? spec.algo.name, h("span", { className: "on" }, stage?.env_id ?? spec.env.id)),
    h("p", { className: "soft" }, parts.join(" · "), sweep && [" · ", h("a", { href: `/sweep/${encodeURIComponent(sweep)}` }, `sweep ${sweep}`)], " · ", h("code", {}, id))),
    h("div", { className: "status" }, badge(state, failure?.class), progress(run.done, run.total, run.unit)));
}

function whyFailed(manifest) {
  if (!manifest.failure) return null;
  const { reason, log_tail: tail } = manifest.failure;
  return h("section", { className: "card failure" }, h("h2", {}, `Why it ${manifest.state === "TIMED_OUT" ? "timed out" : "ended"}: ${manifest.failure.class.replaceAll("_", " ")}`),
    h("p", {}, reason), tail.length ? h("pre", { className: "log" }, tail.join("\n")) : null);
}

function summaryCard(run) {
  const { summary, attempts, resources, provenance, state, spec } = run.manifest;
  const last = attempts.at(-1);
  const left = summary.sps && run.unit === "steps" && isLive(state) ? (run.total - run.done) / summary.sps : null;
  const rss = resources.peak_rss_mb ?? last?.peak_rss_mb, cpu = resources.cpu_seconds ?? last?.cpu_seconds;
  const evaluation = Object.entries(summary.eval ?? {}).filter(([, value]) => typeof value === "number");
  return section("Summary", h("dl", { className: "facts" },
    fact("mean return", number(summary.episode_return_mean), "of the last 100 episodes"), fact("mean length", number(summary.episode_length_mean)),
    fact("episodes", count(summary.episodes || summary.eval_episodes)), fact("speed", summary.sps ? `${count(summary.sps)} steps/s` : "–"),
    fact("time", duration(summary.wall_time)), left === null ? null : fact("time left", duration(left)),
    cpu ? fact("CPU time", duration(cpu)) : null, rss ? fact("memory", bytes(rss * 2 ** 20), "peak of the largest process") : null,
    fact("CPUs", spec.resources.cpus), spec.resources.gpus ? fact("GPUs", spec.resources.gpus) : null,
    fact("machine", last?.host ?? "–"), fact("started", age(provenance.created), moment(provenance.created))),
    evaluation.length ? [h("h3", {}, "Evaluation"), h("dl", { className: "facts" }, evaluation.map(([name, value]) => fact(name.replaceAll("_", " "), number(value))))] : null,
    (run.manifest.telemetry?.warnings ?? []).map((text) => h("p", { className: "warning" }, text)));
}

const fact = (name, value, title = null) => h("div", { title }, h("dt", {}, name), h("dd", {}, value));

function stagesCard(manifest) {
  const planned = manifest.spec.curriculum.stages, entered = manifest.stages;
  if (!planned.length && !entered.length) return null;
  const rows = Array.from({ length: Math.max(planned.length, entered.length) }, (_, index) => {
    const one = entered.find((stage) => stage.index === index);
    const current = one && entered.at(-1) === one && isLive(manifest.state);
    return h("li", { className: one ? (current ? "current" : "done") : "coming" }, h("span", {}, one?.name ?? one?.env_id ?? planned[index]?.env_id),
      h("span", { className: "soft" }, one ? `from step ${steps(one.env_steps)}` : planned[index - 1]?.until ? `after ${planned[index - 1].until}` : ""));
  });
  return section("Curriculum", h("ol", { className: "stages" }, rows));
}

function checkpointsCard(manifest) {
  if (!manifest.checkpoints.length) return null;
  return section("Checkpoints", table([
    { title: "file", cell: (one) => h("code", {}, one.path) }, { title: "steps", number: true, cell: (one) => count(one.updates ?? one.env_steps) },
    { title: "size", number: true, cell: (one) => bytes(one.size) }, { title: "sha256", className: "wide", cell: (one) => h("code", { title: one.sha256 }, one.sha256.slice(0, 16)) },
  ], manifest.checkpoints));
}

function attemptsCard(manifest) {
  if (manifest.attempts.length < 2) return null;
  return section("Attempts", table([
    { title: "", cell: (one) => one.number }, { title: "state", cell: (one) => (one.state ? badge(one.state, one.failure) : badge(manifest.state)) },
    { title: "machine", cell: (one) => one.host }, { title: "started", cell: (one) => moment(one.started) },
    { title: "took", number: true, cell: (one) => (one.ended ? duration(one.ended - one.started) : "–") },
    { title: "from step", number: true, cell: (one) => count(one.resumed_at ?? 0) },
  ], manifest.attempts));
}

function configCard(manifest) {
  const groups = Object.entries(manifest.spec).filter(([, value]) => value !== null && typeof value === "object" && Object.keys(value).length);
  const plain = Object.entries(manifest.spec).filter(([, value]) => value === null || typeof value !== "object");
  const block = (name, pairs) => h("div", {}, h("h3", {}, name), h("dl", { className: "config" }, pairs.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, said(value))))));
  return folded("config", "Config", h("div", { className: "configs" }, block("run", plain), groups.map(([name, value]) => block(name, Object.entries(value)))));
}

const said = (value) => (value === null ? "null" : typeof value === "object" ? JSON.stringify(value) : String(value));

function manifestCard(manifest) {
  return folded("manifest", "Manifest", h("pre", { className: "log" }, JSON.stringify(manifest, null, 2)));
}

function folded(name, title, ...children) {
  return h("details", { className: "card", "data-name": name }, h("summary", {}, h("h2", {}, title)), ...children);
}
