/* Blocks beside others, and those that a search finds. */
import { formatCount } from "../format.ts";
import { LabelColors } from "./colors.ts";
import { blockAt, firstFrom, Timeline } from "./data.ts";
import { BlockPlace, blockOf } from "./scene.ts";

/* The block before or behind `place` in its row. */
export function neighborOf(timeline: Timeline, place: BlockPlace, by: number): BlockPlace {
  const block = Math.min(Math.max(place.block + by, 0), blockOf(timeline, place).count - 1);
  return { ...place, block };
}

/* The first block of the first stream or thread that starts at `time` or later. */
export function firstShown(timeline: Timeline, time: number): BlockPlace | null {
  const lane = timeline.lanes.findIndex(({ kind }) => kind === "stream" || kind === "thread");
  const row = timeline.lanes[lane]?.rows[0];
  if (!row || row.count === 0) return null;
  return { lane, row: 0, block: Math.min(firstFrom(row, time), row.count - 1) };
}

/* The nearest block of the row or lane above (`by` is -1) or below (1) that has any. */
export function placeBeside(timeline: Timeline, place: BlockPlace, by: number): BlockPlace | null {
  const time = blockOf(timeline, place).start[place.block]!;
  let { lane, row } = place;
  for (;;) {
    row += by;
    if (row < 0 || row >= timeline.lanes[lane]!.rows.length) {
      lane += by;
      const next = timeline.lanes[lane];
      if (!next) return null;
      row = by > 0 ? 0 : next.rows.length - 1;
    }
    const block = blockAt(timeline.lanes[lane]!.rows[row]!, time, timeline.written.duration);
    if (block >= 0) return { lane, row, block };
  }
}

export function countMatches(timeline: Timeline, colors: LabelColors): string {
  let events = 0;
  for (const lane of timeline.lanes)
    for (const row of lane.rows)
      for (let i = 0; i < row.count; i++)
        if (colors.isMatch[row.label[i]!]) events += row.events[i]!;
  return events === 0 ? "nothing found" : `${formatCount(events)} events`;
}

/* The next match in time behind `from` (`by` is 1), or before it (-1). `isBehind`: what starts at
 * `from` itself is none. */
export function matchFrom(
  timeline: Timeline,
  colors: LabelColors,
  from: number,
  by: number,
  isBehind: boolean,
): BlockPlace | null {
  let best: BlockPlace | null = null;
  let bestTime = by > 0 ? Infinity : -Infinity;
  timeline.lanes.forEach((lane, laneIndex) =>
    lane.rows.forEach((row, rowIndex) => {
      const first = firstFrom(row, from);
      let i = by > 0 ? first : Math.min(first, row.count - 1);
      for (; i >= 0 && i < row.count; i += by) {
        const start = row.start[i]!;
        const isPast = by > 0 ? start <= from && isBehind : start >= from;
        if (!colors.isMatch[row.label[i]!] || isPast) continue;
        if (by > 0 ? start < bestTime : start > bestTime) {
          best = { lane: laneIndex, row: rowIndex, block: i };
          bestTime = start;
        }
        break;
      }
    }),
  );
  return best;
}
