/* What the page says of one block. */
import { el, swatch } from "../dom.ts";
import { formatCount, formatFraction, formatTime } from "../format.ts";
import {
  classOf,
  formatAxis,
  moduleOf,
  nameOf,
  pathTime,
  stepAt,
  Timeline,
  TimelineStep,
} from "./data.ts";
import { cssColorOfClass } from "./colors.ts";
import { BlockPlace, blockOf } from "./scene.ts";

export function stepName(timeline: Timeline, step: TimelineStep): string {
  return `${timeline.written.step_word} ${step.number}`;
}

function line(title: string, text: string): HTMLElement {
  return el("div", {}, el("dt", {}, title), el("dd", {}, text));
}

function launchText(timeline: Timeline, place: BlockPlace): string {
  const row = blockOf(timeline, place);
  const delay = row.delay?.[place.block] ?? -1;
  if (delay < 0) return "";
  const lane = timeline.lanes[row.launchLane![place.block]!];
  return `${formatTime(delay)} before${lane ? `, on ${lane.title}` : ""}`;
}

/* Of work, how much is on the critical path, where that is known: in one step. */
function pathText(timeline: Timeline, place: BlockPlace): string {
  const { path } = timeline;
  const row = blockOf(timeline, place);
  const start = row.start[place.block]!;
  const end = row.end[place.block]!;
  if (
    !path ||
    timeline.lanes[place.lane]!.kind !== "stream" ||
    start >= path.end[path.count - 1]! ||
    end <= path.start[0]!
  )
    return "";
  const time = pathTime(path, place.lane, start, end);
  return time > 0 ? `${formatTime(time)} of it` : "not on it";
}

export function blockCard(timeline: Timeline, place: BlockPlace): HTMLElement {
  const row = blockOf(timeline, place);
  const lane = timeline.lanes[place.lane]!;
  const label = row.label[place.block]!;
  const start = row.start[place.block]!;
  const duration = row.end[place.block]! - start;
  const events = row.events[place.block]!;
  const name = nameOf(timeline, label);
  const module = moduleOf(timeline, label);
  const kind = classOf(timeline, label);
  const step = stepAt(timeline, start);
  const account = timeline.written.classes.find((candidate) => candidate.key === kind.account);
  const launch = launchText(timeline, place);
  const onPath = pathText(timeline, place);
  const title = name || (lane.kind === "modules" ? module : "") || kind.title;
  const filled = duration > 0 ? Math.min(row.filled[place.block]! / duration, 1) : 0;
  const merged = `${formatCount(events)} events that fill ${formatFraction(filled)} of it`;
  return el(
    "div",
    { class: "block-card" },
    el(
      "p",
      { class: "block-name" },
      swatch(cssColorOfClass(timeline, kind)),
      events > 1 ? `${formatCount(events)} × ${title}` : title,
    ),
    el(
      "dl",
      {},
      line(timeline.written.is_map ? "from" : "start", formatAxis(timeline, start)),
      step ? line(`in ${stepName(timeline, step)}`, `+${formatTime(start - step.start)}`) : null,
      line(timeline.written.is_map ? "size" : "duration", formatAxis(timeline, duration)),
      events > 1 && line("merged", name ? merged : `${merged}; mostly ${kind.title}`),
      module !== "" && lane.kind !== "modules" && line("module", module),
      name !== "" && line("kind", kind.title),
      account &&
        lane.kind !== "accounts" &&
        line(lane.kind === "stream" ? "account" : "idle time it explains", account.title),
      line(
        "on",
        timeline.written.is_map ? `segment ${place.row + 1} of ${lane.title}` : lane.title,
      ),
      launch !== "" && line("launched", launch),
      onPath !== "" && line("critical path", onPath),
    ),
  );
}
