/* What ran when: streams, threads, modules and memory on one axis of time. */
import { onGoToStep } from "../links.ts";
import { timelineOf } from "../timeline/section.ts";
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
  title: "What ran when",
  table: "lanes",
  wide: true,

  has: () => true,

  describe: (context) => `${context.section.intro ?? ""} Its lanes are listed in the table below; sums by account are in the ledger's tables.`,

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
