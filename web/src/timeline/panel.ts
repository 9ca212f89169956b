/* What stands below the canvas: what is selected, or how to select something. */
import { accountColor } from "../accounts.ts";
import { Child, el, swatch } from "../dom.ts";
import { formatCount, formatFraction } from "../format.ts";
import { blockCard } from "./cards.ts";
import { formatAxis, Timeline } from "./data.ts";
import { BlockPlace } from "./scene.ts";
import { sumRange } from "./sums.ts";
import { View } from "./view.ts";

/* What the buttons do. */
export interface Selection {
  readonly timeline: Timeline;
  fitSelected(): void;
  clear(): void;
}

function buttons(selection: Selection): Child[] {
  const clear = { type: "button", class: "quiet", onclick: () => selection.clear() };
  return [
    el("button", { type: "button", onclick: () => selection.fitSelected() }, "Zoom to it (F)"),
    " ",
    el("button", clear, "Clear (Esc)"),
  ];
}

export function selectedBlock(selection: Selection, place: BlockPlace): HTMLElement {
  return el("div", {}, blockCard(selection.timeline, place), el("p", {}, ...buttons(selection)));
}

export function howToUse(timeline: Timeline): HTMLElement {
  return el(
    "p",
    { class: "hint" },
    "Drag to move, Ctrl and wheel (or the wheel after a click) to zoom, " +
      "drag with Shift or in the axis to add up an interval, " +
      "click a block for where it comes from. " +
      "Keys: W A S D or arrows, [ ] to go from block to block, F to fit, " +
      `0 for all${timeline.path ? ", C for the critical path" : ""}.`,
  );
}

/* What the time of a range consists of. */
export function selectedRange(selection: Selection, range: View): HTMLElement {
  const { timeline } = selection;
  const sums = sumRange(timeline, range);
  const hasStreams = timeline.lanes.some((lane) => lane.kind === "stream");
  const length = range.end - range.start;
  const rest = length - sums.accounts.reduce((sum, account) => sum + account.ns, 0);
  const row = (key: string, title: string, ns: number) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, swatch(accountColor(key)), title),
      el("td", {}, formatAxis(timeline, ns)),
      el("td", {}, formatFraction(ns / length)),
    );
  return el(
    "div",
    { class: "timeline-range" },
    el(
      "p",
      {},
      el("strong", {}, formatAxis(timeline, length)),
      ` from ${formatAxis(timeline, range.start)}`,
      hasStreams ? `, ${formatCount(sums.deviceEvents)} kernels and copies start in it` : "",
      sums.isExact ? "" : "; about, as short intervals are merged here",
      " ",
      ...buttons(selection),
    ),
    sums.accounts.length > 0 &&
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "account"),
            el("th", { scope: "col" }, "time"),
            el("th", { scope: "col" }, "share"),
          ),
        ),
        el(
          "tbody",
          {},
          ...sums.accounts.map((account) => row(account.key, account.title, account.ns)),
          rest > 0.5 && row("step", "outside of steps", rest),
        ),
      ),
  );
}
