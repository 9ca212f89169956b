/* What the reader chose in a timeline. */
import { Timeline } from "./data.ts";
import { openAtFirst } from "./layout.ts";
import { BlockPlace } from "./scene.ts";
import { bounded, View } from "./view.ts";

/* What stays when the figure is drawn again: kept by timeline. */
export interface Kept {
  view: View;
  open: Set<number>;
  selected: BlockPlace | null;
  range: View | null;
  search: string;
  showsPath: boolean;
}

const keptOf = new WeakMap<Timeline, Kept>();

function firstView(timeline: Timeline): View {
  const step = timeline.written.steps.find((candidate) => candidate.typical);
  if (!step || timeline.written.steps.length < 2)
    return { start: 0, end: timeline.written.duration };
  const margin = (step.end - step.start) * 0.04;
  return bounded({ start: step.start - margin, end: step.end + margin }, timeline.written.duration);
}

export function keptFor(timeline: Timeline): Kept {
  const kept = keptOf.get(timeline) ?? {
    view: firstView(timeline),
    open: openAtFirst(timeline),
    selected: null,
    range: null,
    search: "",
    showsPath: false,
  };
  keptOf.set(timeline, kept);
  return kept;
}
