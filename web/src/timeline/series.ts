/* Counters over time, as areas and lines below the lanes. */
import { accountColor } from "../accounts.ts";
import { formatBytes, formatNumber } from "../format.ts";
import { memoryColor } from "../memory_colors.ts";
import { placeColor } from "./colors.ts";
import { TimelineSeries } from "./data.ts";
import { PlacedSeries } from "./layout.ts";
import { AXIS_HEIGHT, Brush, FONT, Scene, xOf, yOf } from "./scene.ts";
import { View } from "./view.ts";

const SERIES_COLORS = [
  "matrix",
  "other_compute",
  "exposed_communication",
  "exposed_copy",
  "idle_data",
  "idle_operator",
  "idle_python",
  "idle_nothing",
  "step",
];

export function seriesColor(series: TimelineSeries, line: number): string {
  const place = placeColor(series.keys[line]!);
  if (place) return place;
  if (series.key === "memory")
    return memoryColor(series.keys[line] === "place_other" ? "other" : series.keys[line]!);
  return accountColor(SERIES_COLORS[line % SERIES_COLORS.length]!);
}

export function formatOf(series: TimelineSeries): (value: number) => string {
  if (series.unit === "bytes") return formatBytes;
  return (value) => `${formatNumber(value)} ${series.unit}`.trim();
}

const mosts = new WeakMap<TimelineSeries, number>();

/* The largest sum of the lines that add up, or the largest of all. */
export function mostOf(series: TimelineSeries): number {
  const known = mosts.get(series);
  if (known !== undefined) return known;
  let most = 0;
  for (let i = 0; i < series.times.length; i++) {
    let sum = 0;
    series.values.forEach((values, line) => {
      const value = values[i] ?? 0;
      if (series.stacked && line < series.summed) sum += value;
      else most = Math.max(most, value);
    });
    most = Math.max(most, sum);
  }
  mosts.set(series, most);
  return most;
}

/* Indices of the first and last moments on the screen, and one more on either side. */
function visiblePoints(series: TimelineSeries, view: View): [number, number] {
  const after = (time: number) => {
    let low = 0;
    let high = series.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (series.times[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [Math.max(after(view.start) - 1, 0), Math.min(after(view.end), series.times.length - 1)];
}

export function drawSeries(brush: Brush, scene: Scene, placed: PlacedSeries): void {
  const { context } = brush;
  const series = scene.timeline.written.series[placed.index]!;
  const top = yOf(scene, placed.top) + 2;
  const bottom = yOf(scene, placed.top + placed.height);
  const most = mostOf(series);
  if (bottom < AXIS_HEIGHT || top > scene.height || most <= 0) return;
  const y = (value: number) => bottom - (value / most) * (bottom - top);
  const below = new Float64Array(series.times.length);
  context.save();
  context.beginPath();
  context.rect(scene.gutter, AXIS_HEIGHT, scene.width - scene.gutter, scene.height - AXIS_HEIGHT);
  context.clip();
  series.values.forEach((values, line) => {
    if (series.stacked && line < series.summed)
      fillLine(brush, scene, series, values, below, y, seriesColor(series, line));
    else strokeLine(brush, scene, series, values, y, seriesColor(series, line));
  });
  context.restore();
  context.font = FONT;
  context.fillStyle = brush.color("--muted");
  context.fillText(formatOf(series)(most), scene.gutter + 4, top + 8);
}

/* Steps: a value holds until the next moment. */
function fillLine(
  brush: Brush,
  scene: Scene,
  series: TimelineSeries,
  values: (number | null)[],
  below: Float64Array,
  y: (value: number) => number,
  fill: string,
): void {
  const { context } = brush;
  const [first, last] = visiblePoints(series, scene.view);
  context.beginPath();
  for (let i = first; i <= last; i++) {
    const top = y(below[i]! + (values[i] ?? 0));
    context.lineTo(xOf(scene, series.times[i]!), top);
    context.lineTo(xOf(scene, series.times[i + 1] ?? scene.timeline.written.duration), top);
  }
  for (let i = last; i >= first; i--) {
    const bottom = y(below[i]!);
    context.lineTo(xOf(scene, series.times[i + 1] ?? scene.timeline.written.duration), bottom);
    context.lineTo(xOf(scene, series.times[i]!), bottom);
  }
  context.fillStyle = fill;
  context.fill();
  for (let i = 0; i < series.times.length; i++) below[i]! += values[i] ?? 0;
}

function strokeLine(
  brush: Brush,
  scene: Scene,
  series: TimelineSeries,
  values: (number | null)[],
  y: (value: number) => number,
  stroke: string,
): void {
  const { context } = brush;
  const [first, last] = visiblePoints(series, scene.view);
  context.beginPath();
  for (let i = first; i <= last; i++) {
    if (values[i] === null || values[i] === undefined) continue;
    context.lineTo(xOf(scene, series.times[i]!), y(values[i]!));
    context.lineTo(
      xOf(scene, series.times[i + 1] ?? scene.timeline.written.duration),
      y(values[i]!),
    );
  }
  context.strokeStyle = stroke;
  context.lineWidth = 1.25;
  context.stroke();
}
