/* What a stretch of time consists of, by account. */
import { classOf, firstFrom, Timeline } from "./data.ts";
import { View } from "./view.ts";

export interface AccountSum {
  key: string;
  title: string;
  ns: number;
}

export interface RangeSums {
  accounts: AccountSum[]; /* the largest first */
  isExact: boolean; /* nothing in it was merged */
  deviceEvents: number; /* that start in it */
}

export function sumRange(timeline: Timeline, range: View): RangeSums {
  const sums = new Map<string, AccountSum>();
  let isExact = true;
  let deviceEvents = 0;
  for (const lane of timeline.lanes) {
    for (const row of lane.rows) {
      if (lane.kind !== "accounts" && lane.kind !== "stream") continue;
      for (
        let i = Math.max(firstFrom(row, range.start) - 1, 0);
        i < row.count && row.start[i]! < range.end;
        i++
      ) {
        if (lane.kind === "stream") {
          if (row.start[i]! >= range.start) deviceEvents += row.events[i]!;
          continue;
        }
        const inside = Math.min(row.end[i]!, range.end) - Math.max(row.start[i]!, range.start);
        if (inside <= 0) continue;
        const { key, title } = classOf(timeline, row.label[i]!);
        const sum = sums.get(key) ?? { key, title, ns: 0 };
        sum.ns += inside;
        sums.set(key, sum);
        if (row.events[i]! > 1) isExact = false;
      }
    }
  }
  return { accounts: [...sums.values()].sort((a, b) => b.ns - a.ns), isExact, deviceEvents };
}
