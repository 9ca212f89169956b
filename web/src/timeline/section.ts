/* The section of the timeline: its data is a block of its own in the page, beside the report. */
import { formatCount, formatTime } from "../format.ts";
import { Rank, readBlock, Report, Section } from "../report.ts";
import { readTimeline, Timeline, WrittenTimeline } from "./data.ts";

const KIND_TITLES: Record<string, string> = {
  accounts: "what the ledger attributed",
  stream: "stream of a device",
  modules: "modules",
  thread: "host thread",
  python: "Python frames",
  phases: "phases of training",
  ranges: "annotations",
  allocations: "large allocations",
  segments: "segments of reserved memory",
};

/* What blocks of a map lie in. */
export function mapOf(report: Report, rank: Rank): Timeline | null {
  const known = maps.get(rank);
  if (known !== undefined) return known;
  const map = readBlock<WrittenTimeline>(`memory-map-${report.ranks.indexOf(rank)}`);
  const unpacked = map ? readTimeline(map) : null;
  maps.set(rank, unpacked);
  return unpacked;
}

const maps = new WeakMap<Rank, Timeline | null>();
const written = new WeakMap<Rank, WrittenTimeline | null>();
const read = new WeakMap<Rank, Timeline>();

function writtenOf(report: Report, rank: Rank): WrittenTimeline | null {
  let timeline = written.get(rank);
  if (timeline === undefined) {
    timeline = readBlock<WrittenTimeline>(`timeline-${report.ranks.indexOf(rank)}`);
    written.set(rank, timeline);
  }
  return timeline;
}

/* NULL where the page has none. Unpacked when it is first drawn. */
export function timelineOf(report: Report, rank: Rank): Timeline | null {
  const known = read.get(rank);
  if (known) return known;
  const timeline = writtenOf(report, rank);
  if (!timeline) return null;
  const unpacked = readTimeline(timeline);
  read.set(rank, unpacked);
  return unpacked;
}

/* What is merged, and what is left out. */
function introOf({
  regions,
  steps,
  step_word: word,
  events,
  blocks,
  ...rest
}: WrittenTimeline): string {
  const coarsest = Math.max(0, ...regions.map((region) => region.resolution));
  const isWhole = (step: { start: number; end: number }) =>
    regions.some(
      (region) => region.resolution === 0 && region.start <= step.start && step.end <= region.end,
    );
  const whole = steps.filter(isWhole).map((step) => step.number);
  const hidden = rest.lanes.reduce((sum, lane) => sum + lane.hidden, 0);
  const isOfSnapshot = rest.lanes.some((lane) => lane.kind === "allocations");
  const sentences = [
    isOfSnapshot
      ? "What is allocated over time, by the line of code that allocated it, " +
        "and the largest allocations one by one."
      : rest.lanes.every((lane) => lane.kind === "phases")
        ? "What is alive over time, by kind."
        : coarsest === 0
          ? `All ${formatCount(events)} events and intervals of accounts.`
          : `${formatCount(events)} events and intervals of accounts, ` +
            `drawn as ${formatCount(blocks)} blocks: ` +
            `those shorter than ${formatTime(coarsest)} are merged` +
            (whole.length > 0
              ? `, but for ${word} ${whole.join(", ")}, where every event is there.`
              : ", but for a slice in the middle."),
    rest.left_out_tracks > 0
      ? `Left out: ${formatCount(rest.left_out_tracks)} more threads and streams ` +
        `with ${formatCount(rest.left_out_events)} events.`
      : "",
    hidden > 0
      ? `${formatCount(hidden)} ${isOfSnapshot ? "allocations" : "events"} ` +
        "for which there is no row are left out."
      : "",
  ];
  return sentences.filter((sentence) => sentence !== "").join(" ");
}

export function timelineSection(report: Report, rank: Rank): Section | null {
  const timeline = writtenOf(report, rank);
  if (!timeline) return null;
  const column = (key: string, title: string, unit: string) => ({ key, title, unit });
  return {
    title: "Timeline",
    intro: introOf(timeline),
    numbers: {},
    findings: [],
    tables: {
      lanes: {
        title: "Lanes of the timeline",
        rows_in_all: timeline.lanes.length,
        columns: [
          column("lane", "lane", "text"),
          column("kind", "shows", "text"),
          column("rows", "rows", "count"),
          column("events", "events", "count"),
        ],
        rows: timeline.lanes.map((lane) => ({
          depth: 0,
          lane: lane.title,
          kind: KIND_TITLES[lane.kind] ?? lane.kind,
          rows: lane.rows,
          events: lane.events,
        })),
      },
    },
  };
}
