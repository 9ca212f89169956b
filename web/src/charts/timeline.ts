/* What ran when: streams, threads, modules and memory on one axis of time. */
import { onGoToStep } from "../links.ts";
import { mapOf, timelineOf } from "../timeline/section.ts";
import { TimelineWidget } from "../timeline/widget.ts";
import { Chart } from "./chart.ts";

let shown: TimelineWidget | null = null;
let wantedStep: number | null = null; /* asked for before the timeline was drawn */

onGoToStep((step) => {
  if (shown) shown.showStepNumber(step);
  else wantedStep = step;
});

export const timeline: Chart = {
  name: "timeline",
  section: "timeline",
  title: "What happened when",
  table: "lanes",
  wide: true,

  has: () => true,

  describe: (context) =>
    `${context.section.intro ?? ""} Its lanes are listed in the table below; ` +
    "sums by account are in the ledger's tables.",

  draw(host, context) {
    const data = timelineOf(context.report, context.rank)!;
    const widget = new TimelineWidget(data, context.filter);
    host.setAttribute("role", "group"); /* it can be used, not only looked at */
    host.appendChild(widget.element);
    widget.resize();
    if (wantedStep !== null) widget.showStepNumber(wantedStep);
    wantedStep = null;
    shown = widget;
    return {
      resize: () => widget.resize(),
      dispose: () => {
        widget.dispose();
        if (shown === widget) shown = null;
      },
    };
  },
};

/* Where the blocks of a snapshot lie in what the allocator has reserved. */
export const memoryMap: Chart = {
  name: "memory_map",
  section: "snapshot_allocator",
  title: "Map of reserved memory",
  table: "pools",
  wide: true,

  has: (context) => mapOf(context.report, context.rank) !== null,

  describe(context) {
    const map = mapOf(context.report, context.rank)!;
    const segments = map.lanes.map((lane) => `${lane.rows.length} ${lane.title}`).join(" and ");
    return (
      `One row for each of ${segments}, with what lies where in it and what is free; ` +
      "its sums are in the table by pool."
    );
  },

  draw(host, context) {
    const widget = new TimelineWidget(mapOf(context.report, context.rank)!, null);
    host.setAttribute("role", "group");
    host.appendChild(widget.element);
    widget.resize();
    return { resize: () => widget.resize(), dispose: () => widget.dispose() };
  },
};
