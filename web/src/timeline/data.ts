/* The timeline as src/output/reports/html_timeline.c writes it, unpacked into arrays. All times are
 * nanoseconds from the start of the timeline. */

import { formatBytes, formatTime } from "../format.ts";

export interface TimelineClass {
  key: string;
  title: string;
  account: string | null;
}

export interface TimelineStep {
  number: number;
  start: number;
  end: number;
  outlier: boolean;
  typical: boolean;
}

export interface TimelineRegion {
  start: number;
  end: number;
  resolution: number; /* events shorter than this are merged; 0: none */
}

export type LaneKind =
  | "accounts"
  | "stream"
  | "modules"
  | "thread"
  | "python"
  | "phases"
  | "ranges"
  | "allocations"
  | "segments";

export interface WrittenLane {
  kind: LaneKind;
  title: string;
  rows: number;
  events: number;
  hidden: number;
  blocks: string;
}

export interface TimelineSeries {
  key: string;
  title: string;
  unit: string;
  stacked: boolean;
  summed: number; /* the first so many lines add up */
  keys: string[];
  titles: string[];
  moments: number;
  times: number[];
  values: (number | null)[][]; /* by line, then by moment */
}

/* The critical path in one step. */
export interface WrittenPath {
  step: number;
  count: number;
  kinds: string[];
  accounts: string[]; /* by kind: key of the account whose colour it has */
  links: string;
}

export interface WrittenTimeline {
  is_map: boolean; /* of memory: what is called time here is bytes from the start of a segment */
  duration: number;
  step_word: string;
  events: number;
  blocks: number;
  left_out_tracks: number;
  left_out_events: number;
  names: string[];
  modules: string[];
  classes: TimelineClass[];
  labels: number[]; /* name, module, class; name, module, ... */
  steps: TimelineStep[];
  regions: TimelineRegion[];
  lanes: WrittenLane[];
  series: TimelineSeries[];
  path?: WrittenPath | null;
}

/* Links of the critical path, each beginning where the one before it ends. */
export interface Path {
  count: number;
  start: Float64Array;
  end: Float64Array;
  lane: Int32Array; /* -1: in none that is drawn */
  kind: Uint8Array;
}

/* Blocks of one row, by start. */
export interface Row {
  count: number;
  start: Float64Array;
  end: Float64Array;
  filled: Float64Array; /* of several events: the sum of their durations */
  label: Uint32Array;
  events: Uint32Array;
  delay: Float64Array | null; /* of a stream: from the launch call to the start; -1: not known */
  launchLane: Uint16Array | null;
}

export interface Lane {
  kind: LaneKind;
  title: string;
  events: number;
  hidden: number;
  rows: Row[];
}

export interface Timeline {
  written: WrittenTimeline;
  lanes: Lane[];
  path: Path | null;
}

const BLOCK_BYTES_LEAST = 3;

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/* Reads numbers of 7 bits a byte, the lowest first. Those of more than 31 bits don't fit into
 * shifts. */
class Numbers {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  next(): number {
    let number = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++] ?? 0;
      number += (byte & 0x7f) * factor;
      if (byte < 0x80) return number;
      factor *= 128;
    }
  }

  nextSigned(): number {
    const number = this.next();
    return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
  }
}

function readRow(numbers: Numbers, isStream: boolean): Row {
  const count = Math.min(numbers.next(), Math.floor(numbers.left / BLOCK_BYTES_LEAST));
  const row: Row = {
    count,
    start: new Float64Array(count),
    end: new Float64Array(count),
    filled: new Float64Array(count),
    label: new Uint32Array(count),
    events: new Uint32Array(count),
    delay: isStream ? new Float64Array(count).fill(-1) : null,
    launchLane: isStream ? new Uint16Array(count) : null,
  };
  let time = 0;
  for (let i = 0; i < count; i++) {
    time += numbers.nextSigned();
    const duration = numbers.next();
    const label = numbers.next();
    row.start[i] = time;
    row.end[i] = time += duration;
    row.label[i] = Math.floor(label / 2);
    row.events[i] = label % 2 ? numbers.next() : 1;
    row.filled[i] = label % 2 ? numbers.next() : duration;
    if (row.delay && row.launchLane && label % 2 === 0) {
      row.delay[i] = numbers.next() - 1;
      if (row.delay[i]! >= 0) row.launchLane[i] = numbers.next();
    }
  }
  return row;
}

function readPath(written: WrittenPath): Path {
  const numbers = new Numbers(bytesOf(written.links));
  const { count } = written;
  const path: Path = {
    count,
    start: new Float64Array(count),
    end: new Float64Array(count),
    lane: new Int32Array(count),
    kind: new Uint8Array(count),
  };
  let time = 0;
  for (let i = 0; i < count; i++) {
    time += numbers.nextSigned();
    path.start[i] = time;
    path.end[i] = time += numbers.next();
    path.lane[i] = numbers.next() - 1;
    path.kind[i] = numbers.next();
  }
  return path;
}

/* Index of the first link that ends after `time`. */
export function linkFrom(path: Path, time: number): number {
  let low = 0;
  let high = path.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (path.end[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* How much of a stretch of time the path spends in a lane. */
export function pathTime(path: Path, lane: number, start: number, end: number): number {
  let sum = 0;
  for (let i = linkFrom(path, start); i < path.count && path.start[i]! < end; i++)
    if (path.lane[i] === lane) sum += Math.min(path.end[i]!, end) - Math.max(path.start[i]!, start);
  return sum;
}

export function readTimeline(written: WrittenTimeline): Timeline {
  const lanes = written.lanes.map((lane): Lane => {
    const numbers = new Numbers(bytesOf(lane.blocks));
    const rows: Row[] = [];
    for (let i = 0; i < lane.rows; i++) rows.push(readRow(numbers, lane.kind === "stream"));
    return { kind: lane.kind, title: lane.title, events: lane.events, hidden: lane.hidden, rows };
  });
  return { written, lanes, path: written.path ? readPath(written.path) : null };
}

/* A place on the axis, or a length. */
export function formatAxis(timeline: Timeline, value: number): string {
  return timeline.written.is_map ? formatBytes(Math.round(value)) : formatTime(Math.round(value));
}

export function nameOf(timeline: Timeline, label: number): string {
  return timeline.written.names[timeline.written.labels[3 * label]!] ?? "";
}

export function moduleOf(timeline: Timeline, label: number): string {
  return timeline.written.modules[timeline.written.labels[3 * label + 1]!] ?? "";
}

export function classOf(timeline: Timeline, label: number): TimelineClass {
  return timeline.written.classes[timeline.written.labels[3 * label + 2]!]!;
}

/* Index of the first block that starts at or after `time`; count where none does. */
export function firstFrom(row: Row, time: number): number {
  let low = 0;
  let high = row.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.start[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The block at a moment, or the nearest one not further away than `reach`; -1 where there is
 * none. */
export function blockAt(row: Row, time: number, reach: number): number {
  const next = firstFrom(row, time);
  let best = -1;
  let distance = reach;
  for (let i = Math.max(0, next - 2); i <= Math.min(row.count - 1, next); i++) {
    const away = Math.max(0, row.start[i]! - time, time - row.end[i]!);
    if (away <= distance) {
      best = i;
      distance = away;
    }
  }
  return best;
}

export function stepAt(timeline: Timeline, time: number): TimelineStep | null {
  return timeline.written.steps.find((step) => step.start <= time && time < step.end) ?? null;
}

/* "at::native::vectorized_elementwise_kernel<4, ...>(...)" is shown as
 * "vectorized_elementwise_kernel". */
export function shortName(name: string): string {
  const plain = name.replace(/^void /, "").replace(/[<(].*$/s, "");
  const last = plain.slice(plain.lastIndexOf("::") + 2);
  return plain.includes("::") && name.length > plain.length && last ? last : plain || name;
}
