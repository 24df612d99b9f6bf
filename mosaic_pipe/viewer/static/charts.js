// Charts by plotly, which is loaded when the first one is drawn: tables come first.

let loading = null;
const drawn = new Map();

function library() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; reject(new Error("the chart library did not load")); };
    document.head.append(script);
  });
  return loading;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const color = (index) => css(`--series-${index % 10}`);

function faint(hex, part) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${part})`;
}

// lines: [{name, x, y, low, high, color, band, smooth}]; stages: [{name, step}].
export async function chart(element, lines, { stages = [], legend = false, unit = "steps", small = false } = {}) {
  drawn.set(element, () => chart(element, lines, { stages, legend, unit, small }));
  const Plotly = await library();
  const grid = css("--line"), ink = css("--soft"), card = css("--card");
  const axis = { gridcolor: grid, zeroline: false, linecolor: grid, tickfont: { color: ink, size: 11 }, automargin: true, fixedrange: false };
  const names = labels(element, lines, stages);
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: css("--font"), size: 12, color: css("--ink") },
    margin: { l: 8, r: 12, t: 8, b: small ? 4 : 8 }, hovermode: "x unified", showlegend: legend, uirevision: "keep",
    hoverlabel: { bgcolor: card, bordercolor: grid, font: { color: css("--ink"), size: 12 } },
    legend: { orientation: "h", y: -0.18, yanchor: "top", x: 0, font: { size: 12, color: css("--ink") }, bgcolor: "rgba(0,0,0,0)" },
    xaxis: { ...axis, title: small ? undefined : { text: unit, font: { size: 11, color: ink }, standoff: 6 }, showgrid: false, nticks: small ? 4 : undefined, exponentformat: "SI" },
    yaxis: { ...axis, nticks: small ? 4 : 6 },
    shapes: stages.slice(1).map((stage) => ({ type: "line", x0: stage.step, x1: stage.step, yref: "paper", y0: 0, y1: 1, line: { color: css("--accent"), width: 1, dash: "dot" } })),
    annotations: small ? [] : stages.map((stage, i) => ({ x: i ? stage.step : 0, xanchor: "left", yref: "paper", y: 1, yanchor: "top", text: plain(names[i]), showarrow: false, font: { size: 10, color: ink }, xshift: 3 })),
  };
  const options = { responsive: true, displaylogo: false, scrollZoom: false, doubleClick: "reset",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"], displayModeBar: small ? false : "hover" };
  element.classList.add("chart");
  await Plotly.react(element, lines.flatMap((line) => traces(line)), layout, options);
}

function traces(line) {
  const base = { x: line.x, type: "scatter", mode: line.x.length < 2 ? "markers" : "lines", legendgroup: line.name };
  const found = [];
  const smoothed = line.smooth && line.x.length > 40 ? moving(line.y, Math.round(line.x.length / 25)) : null;
  if (line.band) {
    const edge = { ...base, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false };
    found.push({ ...edge, y: line.low }, { ...edge, y: line.high, fill: "tonexty", fillcolor: faint(line.color, 0.16) });
  }
  if (smoothed) found.push({ ...base, y: line.y, line: { color: faint(line.color, 0.32), width: 1 }, hoverinfo: "skip", showlegend: false });
  found.push({ ...base, y: smoothed ?? line.y, name: plain(line.name), line: { color: line.color, width: 1.8 }, marker: { color: line.color },
    hovertemplate: `%{y:.5~g}<extra>${plain(line.name)}</extra>` });
  return found;
}

// What to write where a stage begins; nothing where there is no room for it.
function labels(element, lines, stages) {
  const end = Math.max(...lines.map((line) => line.x.at(-1) ?? 0), 1);
  return apart(stages.map((stage) => stage.name)).map((name, at) => {
    const part = ((stages[at + 1]?.step ?? end) - stages[at].step) / end;
    return part * element.clientWidth > 6 * name.length + 8 ? name : "";
  });
}

// Names without the words that they all begin with.
function apart(names) {
  const parts = names.map((name) => name.split(/(?<=[-_/ ])/));
  let same = 0;
  while (names.length > 1 && parts.every((part) => part.length > same + 1 && part[same] === parts[0][same])) same += 1;
  return parts.map((part) => part.slice(same).join(""));
}

// Means of so many values on either side.
function moving(values, reach) {
  const sums = [0];
  for (const value of values) sums.push(sums.at(-1) + value);
  return values.map((_, at) => {
    const from = Math.max(0, at - reach), to = Math.min(values.length, at + reach + 1);
    return (sums[to] - sums[from]) / (to - from);
  });
}

// Plotly reads a few tags and %{…} in texts.
const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("%{", "% {");

document.addEventListener("theme", () => { for (const [element, again] of drawn) if (element.isConnected) again(); });
