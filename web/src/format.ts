/* Numbers as text, by the rules of src/base/text/format.c: the page says what the terminal says. */

const THIN = "\u00a0"; /* between a number and its unit, where no line may break */

function grouped(digits: string): string {
  const [whole = "", fraction] = digits.split(".");
  const groups = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

function fixed(number: number, decimals: number): string {
  if (!Number.isFinite(number) || Math.abs(number) >= 1e15) return number.toPrecision(4);
  const text = grouped(number.toFixed(decimals));
  return /[1-9]/.test(text) ? text : text.replace("-", "");
}

/* Decimals of a time are cut from integers, and rounded half away from zero. */
export function formatTime(ns: number): string {
  const size = Math.abs(ns);
  const [unit, factor, decimals] =
    size >= 1e9
      ? ["s", 1e9, 3]
      : size >= 1e6
        ? ["ms", 1e6, 3]
        : (["µs", 1e3, size % 1000 ? 3 : 0] as const);
  const steps = 10 ** (decimals as number);
  const rounded = Math.floor((size * steps) / (factor as number) + 0.5) / steps;
  return `${ns < 0 ? "-" : ""}${fixed(rounded, decimals as number)}${THIN}${unit}`;
}

/* A label of an axis: no zeros behind the point. */
export function shortened(text: string): string {
  return text
    .replace(/(\.\d*?)0+(?=\D|$)/, "$1")
    .replace(/\.(?=\D|$)/, "")
    .replace(/^0\u00a0.*/, "0");
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let power = 0;
  let size = Math.abs(bytes);
  while (power < 4 && size >= 1024) {
    size = Math.floor(size / 1024);
    power++;
  }
  return `${fixed(bytes / 1024 ** power, power === 0 ? 0 : 1)}${THIN}${units[power]}`;
}

function formatDecimal(number: number, unit: string): string {
  const prefixes = ["", "k", "M", "G", "T", "P"];
  const size = Math.abs(number);
  let factor = 1;
  let power = 0;
  while (power < 5 && size >= 1000 * factor) {
    factor *= 1000;
    power++;
  }
  const decimals = power === 0 ? 0 : size >= 100 * factor ? 1 : 2;
  return `${fixed(number / factor, decimals)}${THIN}${prefixes[power]}${unit}`;
}

export function formatCount(count: number): string {
  return fixed(count, 0);
}

/* One decimal, or as many as two digits of less than 1 % need. */
function percentDecimals(fraction: number): number {
  let percent = Math.abs(fraction) * 100;
  let decimals = 1;
  while (percent > 0 && percent < 0.995 && decimals < 8) {
    percent *= 10;
    decimals++;
  }
  return decimals;
}

export function formatFraction(fraction: number): string {
  return `${fixed(fraction * 100, percentDecimals(fraction))}${THIN}%`;
}

export function formatNumber(number: number): string {
  const size = Math.abs(number);
  const isWhole = size < 1e15 && Number.isInteger(number);
  return fixed(number, isWhole ? 0 : size >= 1000 ? 1 : size >= 1 ? 2 : 3);
}

const FORMATS: Record<string, (number: number) => string> = {
  count: formatCount,
  ns: formatTime,
  bytes: formatBytes,
  fraction: formatFraction,
  number: formatNumber,
  "bytes/s": (rate) => formatDecimal(rate, "B/s"),
  flop: (flops) => formatDecimal(flops, "FLOP"),
  "flop/s": (rate) => formatDecimal(rate, "FLOP/s"),
};

/* A cell of a column, or the value of a number; "" for an empty one. */
export function formatValue(value: unknown, unit: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return (FORMATS[unit] ?? formatNumber)(value);
  return String(value);
}
