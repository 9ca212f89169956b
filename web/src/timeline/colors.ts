/* The colour of each label: that of its account, with a shade for each class of kernel; paler where
 * it is not what the reader looks for. */
import { accountColor } from "../accounts.ts";
import { color, currentTheme } from "../theme.ts";
import { classOf, moduleOf, nameOf, Timeline, TimelineClass } from "./data.ts";
import { parseColor, pixelOf, Rgb } from "./raster.ts";

/* Light and dark: what is no account. */
const OWN: Record<string, readonly [string, string]> = {
  host_operator: ["#5f86b3", "#4d78a8"],
  host_runtime: ["#c48a4a", "#b07c42"],
  host_sync: ["#d9534f", "#d1453f"],
  host_allocator: ["#e58a6b", "#b5654a"],
  host_data: ["#b3261e", "#f2726a"],
  host_garbage: ["#8c3b2a", "#c98572"],
  host_range: ["#9d8bc4", "#7d6bab"],
  host_python: ["#7ea58a", "#5c8a6c"],
  host_other: ["#a5adb8", "#5c6675"],
  phase_forward: ["#5a9bc4", "#4486b0"],
  phase_backward: ["#c48a4a", "#b07c42"],
  phase_recompute: ["#c9b037", "#b8a038"],
  place_other: ["#9aa3b2", "#667085"],
  map_free: ["#eceff4", "#202a38"],
  map_pending: ["#d8a13a", "#e0b358"],
  phase_outside: ["#c9cfd9", "#4d5768"],
  phase_optimizer: ["#8a77b8", "#7a66aa"],
};
const SHADES = 5;

/* Of places in the program, by their rank in the memory at the peak. */
const PLACES: readonly (readonly [string, string])[] = [
  ["#4c78a8", "#6a97c9"],
  ["#59a14f", "#74b96a"],
  ["#e0913a", "#e8a55c"],
  ["#b07aa1", "#c493b6"],
  ["#5aa7a7", "#74bcbc"],
  ["#c25b5b", "#d57676"],
  ["#8c7a4f", "#a8966b"],
  ["#7d6fb8", "#988bcf"],
  ["#a3b84c", "#b7ca68"],
  ["#d07f9b", "#dd98b0"],
  ["#4f8f6a", "#68a883"],
  ["#b99b3a", "#ccb158"],
];
const PLACE = /^place_(\d+)$/;

/* As text: "#4c78a8". NULL where the key is of no place. */
export function placeColor(key: string): string | null {
  const index = PLACE.exec(key)?.[1];
  return index === undefined
    ? null
    : PLACES[Number(index) % PLACES.length]![currentTheme() === "dark" ? 1 : 0];
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) =>
    Math.round(from[i]! * (1 - share) + to[i]! * share),
  ) as unknown as Rgb;
}

/* Of one account, kernels of different classes differ a little. */
export function colorOfClass(timeline: Timeline, index: number): Rgb {
  const { key, account } = timeline.written.classes[index]!;
  const place = placeColor(key);
  if (place) return parseColor(place);
  const own = OWN[key];
  if (own) return parseColor(own[currentTheme() === "dark" ? 1 : 0]);
  const base = parseColor(accountColor(account ?? key));
  if (key === account) return base;
  const shade = (index % SHADES) / SHADES;
  return mixed(base, currentTheme() === "dark" ? [255, 255, 255] : [0, 0, 0], shade * 0.28);
}

export function cssColorOfClass(timeline: Timeline, kind: TimelineClass): string {
  return `rgb(${colorOfClass(timeline, timeline.written.classes.indexOf(kind)).join(" ")})`;
}

export interface LabelColors {
  pixels: Uint32Array; /* by label */
  isLight: Uint8Array; /* dark text is readable on it */
  isMatch: Uint8Array; /* what the reader looks for; 1 for all where nothing is looked for */
  back: number;
}

export interface Wanted {
  text: string; /* in lower case; "": all */
  accounts: ReadonlySet<string> | null;
}

function matches(timeline: Timeline, label: number, wanted: Wanted): boolean {
  const kind = classOf(timeline, label);
  if (wanted.accounts && !(kind.account && wanted.accounts.has(kind.account))) return false;
  if (!wanted.text) return true;
  return [nameOf(timeline, label), moduleOf(timeline, label), kind.title].some((text) =>
    text.toLowerCase().includes(wanted.text),
  );
}

export function labelColors(timeline: Timeline, wanted: Wanted): LabelColors {
  const count = timeline.written.labels.length / 3;
  const back = parseColor(color("--card"));
  const classes = timeline.written.classes.map((_, index) => colorOfClass(timeline, index));
  const colors = {
    pixels: new Uint32Array(count),
    isLight: new Uint8Array(count),
    isMatch: new Uint8Array(count),
    back: pixelOf(back),
  };
  for (let label = 0; label < count; label++) {
    const isMatch = matches(timeline, label, wanted);
    const own = classes[timeline.written.labels[3 * label + 2]!]!;
    const shown = isMatch ? own : mixed(own, back, 0.82);
    colors.pixels[label] = pixelOf(shown);
    colors.isLight[label] = 0.299 * shown[0] + 0.587 * shown[1] + 0.114 * shown[2] > 140 ? 1 : 0;
    colors.isMatch[label] = isMatch ? 1 : 0;
  }
  return colors;
}
