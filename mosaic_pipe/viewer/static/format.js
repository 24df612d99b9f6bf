// Numbers, times and names for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size >= 1e6) return compact.format(value);
  if (size >= 1000) return whole.format(value);
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  if (size >= 100) return value.toFixed(1).replace("-", "−");
  if (size >= 0.01) return value.toFixed(2).replace("-", "−");
  return (size >= 0.001 ? value.toPrecision(2) : value.toExponential(2)).replaceAll("-", "−");
}

export const count = (value) => (value === null || value === undefined ? "–" : whole.format(value));

export const steps = (value) => (value >= 10000 ? compact.format(value).replace("K", "k") : whole.format(value ?? 0));

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export function age(time) {
  const seconds = Math.max(0, Date.now() / 1000 - time);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

export const moment = (time) => (time ? new Date(time * 1000).toLocaleString() : "–");

export function bytes(size) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${unit ? size.toFixed(1) : size} ${units[unit]}`;
}

export const short = (id) => id.slice(-6);
