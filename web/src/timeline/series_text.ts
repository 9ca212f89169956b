/* What the series say at a moment. */
import { el, swatch } from "../dom.ts";
import { formatTime } from "../format.ts";
import { cssColorOfClass } from "./colors.ts";
import { classOf, Timeline, TimelineClass } from "./data.ts";
import { Layout } from "./layout.ts";
import { formatOf, seriesColor } from "./series.ts";

/* NULL where `y` is at no series. */
export function seriesAt(
  timeline: Timeline,
  layout: Layout,
  y: number,
  time: number,
): HTMLElement | null {
  const placed = layout.series.find(
    (candidate) => candidate.top <= y && y < candidate.top + candidate.height,
  );
  if (!placed) return null;
  const series = timeline.written.series[placed.index]!;
  let at = -1;
  while (at + 1 < series.times.length && series.times[at + 1]! <= time) at++;
  if (at < 0) return null;
  const format = formatOf(series);
  return el(
    "div",
    { class: "block-card" },
    el("p", { class: "block-name" }, `${series.title} at ${formatTime(Math.round(time))}`),
    el(
      "dl",
      {},
      ...series.titles.map((title, line) => {
        const value = series.values[line]![at];
        return value === null || value === undefined || value === 0
          ? null
          : el(
              "div",
              {},
              el("dt", {}, swatch(seriesColor(series, line)), title),
              el("dd", {}, format(value)),
            );
      }),
    ),
  );
}

function usedClasses(timeline: Timeline): TimelineClass[] {
  const used = new Set<TimelineClass>();
  for (const lane of timeline.lanes)
    for (const row of lane.rows)
      for (let i = 0; i < row.count; i++) used.add(classOf(timeline, row.label[i]!));
  return timeline.written.classes.filter((kind) => used.has(kind));
}

/* Which colour is which, of series of several lines; lines that are nothing all the time are left
 * out. */
export function seriesLegend(timeline: Timeline): HTMLElement | null {
  const classes = timeline.written.is_map ? usedClasses(timeline) : [];
  const kinds = classes.map((kind) =>
    el("span", {}, swatch(cssColorOfClass(timeline, kind)), kind.title),
  );
  const entries = timeline.written.series
    .filter((series) => series.keys.length > 1)
    .flatMap((series) =>
      series.titles.map((title, line) =>
        series.values[line]!.some((value) => value !== null && value > 0)
          ? el("span", {}, swatch(seriesColor(series, line)), title)
          : null,
      ),
    );
  entries.push(...kinds);
  return entries.some((entry) => entry !== null)
    ? el("div", { class: "timeline-legend" }, ...entries)
    : null;
}
