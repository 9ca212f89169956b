/* Where the lanes stand, one below the other. Deep lanes can be closed: then their rows are
 * thin. */
import { Lane, LaneKind, Timeline } from "./data.ts";

const ROW_HEIGHTS: Record<LaneKind, number> = {
  accounts: 20,
  stream: 20,
  modules: 16,
  thread: 15,
  python: 14,
  phases: 18,
  ranges: 18,
  allocations: 12,
  segments: 14,
};
const CLOSED_ROW_HEIGHT = 4;
const CLOSED_LANE_MIN = 16;
const LANE_GAP = 7;
const SERIES_HEIGHT = 84;
const STACK_HEIGHT = 132; /* several lines, one on the other */
const ROWS_OPEN_AT_FIRST = 26;
const ROWS_CROWDED = 30;
const CROWDED_ROW_HEIGHT = 7;

export interface PlacedLane {
  lane: Lane;
  index: number;
  top: number;
  height: number;
  rowHeight: number;
  isOpen: boolean;
}

export interface PlacedSeries {
  index: number;
  top: number;
  height: number;
}

export interface Layout {
  lanes: PlacedLane[];
  series: PlacedSeries[];
  height: number;
}

/* The lanes that are open at first: as many rows as fit on a screen, the first lanes before the
 * later ones; Python frames only on demand. */
export function openAtFirst(timeline: Timeline): Set<number> {
  const open = new Set<number>();
  let rows = 0;
  timeline.lanes.forEach((lane, index) => {
    if (
      lane.kind === "python" ||
      (lane.kind !== "segments" && rows + lane.rows.length > ROWS_OPEN_AT_FIRST)
    )
      return;
    open.add(index);
    rows += lane.rows.length;
  });
  return open;
}

export function layOut(timeline: Timeline, open: ReadonlySet<number>): Layout {
  let top = 0;
  const lanes = timeline.lanes.map((lane, index): PlacedLane => {
    const isOpen = open.has(index);
    const isCrowded = lane.kind === "segments" && lane.rows.length > ROWS_CROWDED;
    const rowHeight = isCrowded
      ? CROWDED_ROW_HEIGHT
      : isOpen || lane.rows.length === 1
        ? ROW_HEIGHTS[lane.kind]
        : CLOSED_ROW_HEIGHT;
    const height = Math.max(rowHeight * lane.rows.length, CLOSED_LANE_MIN);
    const placed = { lane, index, top, height, rowHeight, isOpen };
    top += height + LANE_GAP;
    return placed;
  });
  const series = timeline.written.series.map((series, index): PlacedSeries => {
    const height = series.stacked ? STACK_HEIGHT : SERIES_HEIGHT;
    const placed = { index, top, height };
    top += height + LANE_GAP;
    return placed;
  });
  return { lanes, series, height: top };
}

export function laneAt(layout: Layout, y: number): PlacedLane | null {
  return layout.lanes.find((lane) => lane.top <= y && y < lane.top + lane.height) ?? null;
}
