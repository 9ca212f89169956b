/* What is on the screen, in words. */
import { formatAxis, Timeline } from "./data.ts";
import { View } from "./view.ts";

/* For those who can't see it, and where events are merged. */
export function viewStatus(timeline: Timeline, { start, end }: View): string {
  const { is_map: isMap, regions } = timeline.written;
  const show = (value: number) => formatAxis(timeline, value);
  if (isMap) return `${show(end - start)} from ${show(start)} of each segment.`;
  const shown = regions.filter((region) => region.start < end && region.end > start);
  const coarsest = Math.max(0, ...shown.map((region) => region.resolution));
  const merged = `events shorter than ${show(coarsest)} are merged`;
  const isInPart = shown.some((region) => region.resolution === 0);
  const detail =
    coarsest === 0 ? "every event is there" : isInPart ? `in part of it ${merged}` : merged;
  return `${show(end - start)} from ${show(start)}: ${detail}.`;
}
