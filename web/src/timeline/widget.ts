/* The timeline on the page: a canvas, what is around it, and what the reader does with it. */
import { el, replace } from "../dom.ts";
import { Filter } from "../filter.ts";
import { blockCard } from "./cards.ts";
import { labelColors, LabelColors } from "./colors.ts";
import { blockAt, Timeline, TimelineStep } from "./data.ts";
import { Kept, keptFor } from "./kept.ts";
import { Keys } from "./keys.ts";
import { laneAt, Layout, layOut } from "./layout.ts";
import { Minimap } from "./minimap.ts";
import { Painter } from "./painter.ts";
import { howToUse, selectedBlock, selectedRange } from "./panel.ts";
import { pathStatus } from "./path_text.ts";
import { countMatches, firstShown, matchFrom, neighborOf, placeBeside } from "./places.ts";
import { Pointer } from "./pointer.ts";
import { AXIS_HEIGHT, BlockPlace, blockOf, Scene } from "./scene.ts";
import { seriesAt, seriesLegend } from "./series_text.ts";
import { makePathButton, toolbar } from "./tools.ts";
import { bounded, panned, View, zoomed } from "./view.ts";
import { viewStatus } from "./view_text.ts";

const GUTTER = 168;
const GUTTER_ON_A_PHONE = 84;
const PHONE_WIDTH = 560;
const HEIGHT_SHARE = 0.72; /* of the window */
const HEIGHT_LEAST = 260;
const REACH = 3; /* pixels around the pointer */

let widgets = 0; /* made so far, for ids */

export class TimelineWidget {
  readonly element: HTMLElement;
  private readonly statusId = `timeline-status-${++widgets}`;
  private readonly canvas = el("canvas", {
    tabindex: "0",
    role: "application",
    "aria-label":
      "Timeline. Keys: W and S or up and down zoom, A and D or left and right move, " +
      "brackets go to the block before and behind, Enter shows it, F fits it, 0 shows all, " +
      "C shows the critical path.",
    "aria-describedby": this.statusId,
  });
  private readonly scroller = el("div", { class: "timeline-scroller" });
  private readonly spacer = el("div", { class: "timeline-spacer" });
  private readonly card = el("div", { class: "timeline-card floating", "aria-hidden": "true" });
  private readonly panel = el("div", { class: "timeline-panel" });
  private readonly status = el("p", {
    class: "timeline-status",
    id: this.statusId,
    role: "status",
  });
  private readonly found = el("span", { class: "timeline-found", role: "status" });
  private readonly painter: Painter;
  private readonly minimap: Minimap;
  private readonly keys: Keys;
  private readonly pointer: Pointer;
  private readonly kept: Kept;
  private readonly pathButton: HTMLElement | null;
  private layout: Layout;
  private colors: LabelColors;
  private cursor: number | null = null;
  private frame = 0;
  private statusTimer = 0;

  constructor(
    readonly timeline: Timeline,
    private readonly filter: Filter | null,
  ) {
    this.kept = keptFor(timeline);
    this.layout = layOut(timeline, this.kept.open);
    this.colors = this.makeColors();
    this.painter = new Painter(this.canvas, this.canvas.getContext("2d")!);
    this.minimap = new Minimap(timeline, (view) => this.setView(view));
    this.keys = new Keys(this.canvas, this);
    this.pointer = new Pointer(this.canvas, this);
    this.pathButton = makePathButton(this, this.kept.showsPath);
    this.element = this.build();
    this.scroller.addEventListener("scroll", () => this.redraw(), { passive: true });
    this.resize();
    this.showPanel();
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    window.clearTimeout(this.statusTimer);
    this.keys.dispose();
    this.pointer.dispose();
    this.card.remove();
  }

  /* ---- how it is built ---- */

  private build(): HTMLElement {
    this.scroller.append(this.canvas, this.spacer);
    return el(
      "div",
      { class: "timeline" },
      toolbar(this, this.kept.search, this.found, this.pathButton),
      this.timeline.written.is_map ? null : this.minimap.canvas,
      this.scroller,
      seriesLegend(this.timeline),
      this.status,
      this.panel,
    );
  }

  /* Shown, it comes onto the screen. */
  togglePath(): void {
    const { path } = this.timeline;
    if (!path || !this.pathButton) return;
    this.kept.showsPath = !this.kept.showsPath;
    this.pathButton.setAttribute("aria-pressed", String(this.kept.showsPath));
    const { start, end } = this.view;
    if (this.kept.showsPath && (path.end[path.count - 1]! <= start || path.start[0]! >= end))
      this.showStepNumber(this.timeline.written.path!.step);
    window.clearTimeout(this.statusTimer);
    this.status.textContent = this.kept.showsPath
      ? pathStatus(this.timeline, path)
      : "The critical path is hidden.";
    this.redraw();
  }

  private makeColors(): LabelColors {
    return labelColors(this.timeline, {
      text: this.kept.search.trim().toLowerCase(),
      accounts: this.filter && this.filter.key !== "step" ? this.filter.keys : null,
    });
  }

  /* ---- drawing ---- */

  resize(): void {
    const width = this.element.clientWidth || 800;
    const height = Math.min(
      this.layout.height + AXIS_HEIGHT + 4,
      Math.max(window.innerHeight * HEIGHT_SHARE, HEIGHT_LEAST),
    );
    this.scroller.style.height = `${height}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.width = `${width}px`;
    this.spacer.style.height = `${Math.max(this.layout.height + AXIS_HEIGHT + 4 - height, 0)}px`;
    this.minimap.resize(width, this.gutter());
    this.redraw();
  }

  private gutter(): number {
    return this.element.clientWidth < PHONE_WIDTH ? GUTTER_ON_A_PHONE : GUTTER;
  }

  redraw(): void {
    if (!this.frame)
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.painter.draw(this.scene());
        this.minimap.draw(this.kept.view);
      });
  }

  scene(): Scene {
    return {
      timeline: this.timeline,
      layout: this.layout,
      colors: this.colors,
      view: this.kept.view,
      width: this.canvas.clientWidth,
      height: this.canvas.clientHeight,
      gutter: this.gutter(),
      scroll: this.scroller.scrollTop,
      selected: this.kept.selected,
      range: this.kept.range,
      showsPath: this.kept.showsPath,
      cursor: this.cursor,
    };
  }

  /* ---- where the reader is ---- */

  get view(): View {
    return this.kept.view;
  }

  setView(view: View): void {
    this.kept.view = bounded(view, this.timeline.written.duration);
    this.redraw();
    window.clearTimeout(this.statusTimer);
    this.statusTimer = window.setTimeout(() => {
      this.status.textContent = viewStatus(this.timeline, this.view);
    }, 250);
  }

  timeAt(x: number): number {
    const { view, width, gutter } = this.scene();
    return view.start + ((x - gutter) / (width - gutter)) * (view.end - view.start);
  }

  nsOfPixels(pixels: number): number {
    const { view, width, gutter } = this.scene();
    return (pixels / (width - gutter)) * (view.end - view.start);
  }

  zoom(factor: number, at = (this.view.start + this.view.end) / 2): void {
    this.setView(zoomed(this.view, factor, at, this.timeline.written.duration));
  }

  pan(ns: number): void {
    this.setView(panned(this.view, ns, this.timeline.written.duration));
  }

  scrollBy(pixels: number): void {
    this.scroller.scrollTop += pixels;
  }

  showAll(): void {
    this.setView({ start: 0, end: this.timeline.written.duration });
  }

  showStep(step: TimelineStep): void {
    const margin = (step.end - step.start) * 0.04;
    this.setView({ start: step.start - margin, end: step.end + margin });
  }

  showStepNumber(number: number): void {
    const step = this.timeline.written.steps.find((candidate) => candidate.number === number);
    if (step) this.showStep(step);
  }

  /* ---- what is under the pointer ---- */

  placeAt(x: number, y: number): BlockPlace | null {
    const { gutter, scroll } = this.scene();
    const lane =
      x < gutter || y < AXIS_HEIGHT ? null : laneAt(this.layout, y - AXIS_HEIGHT + scroll);
    if (!lane) return null;
    const row = Math.min(
      Math.floor((y - AXIS_HEIGHT + scroll - lane.top) / lane.rowHeight),
      lane.lane.rows.length - 1,
    );
    const block = blockAt(lane.lane.rows[row]!, this.timeAt(x), this.nsOfPixels(REACH));
    return block < 0 ? null : { lane: lane.index, row, block };
  }

  hover(x: number, y: number, page: { x: number; y: number } | null): void {
    const { gutter, scroll } = this.scene();
    this.cursor = page && x >= gutter ? this.timeAt(x) : null;
    this.redraw();
    const place = page && this.placeAt(x, y);
    const series =
      page && !place && x >= gutter
        ? seriesAt(this.timeline, this.layout, y - AXIS_HEIGHT + scroll, this.timeAt(x))
        : null;
    this.canvas.style.cursor = place ? "pointer" : "";
    if (!page || (!place && !series)) {
      this.card.remove();
      return;
    }
    replace(this.card, place ? blockCard(this.timeline, place) : series);
    document.body.appendChild(this.card);
    const { offsetWidth: width, offsetHeight: height } = this.card;
    const left = page.x + 16 + width > window.innerWidth ? page.x - width - 12 : page.x + 16;
    this.card.style.left = `${Math.max(4, left)}px`;
    const top = Math.min(page.y + 16, window.innerHeight - height - 8);
    this.card.style.top = `${Math.max(4, top)}px`;
  }

  /* A title opens or closes its lane, a step in the axis is shown whole, a block is selected. */
  click(x: number, y: number): void {
    const { gutter, scroll } = this.scene();
    if (y < AXIS_HEIGHT && x >= gutter) {
      const time = this.timeAt(x);
      const step = this.timeline.written.steps.find(
        (candidate) => candidate.start <= time && time < candidate.end,
      );
      if (step) this.showStep(step);
      return;
    }
    if (x < gutter) {
      const lane = laneAt(this.layout, y - AXIS_HEIGHT + scroll);
      if (lane) this.toggleLane(lane.index);
      return;
    }
    this.select(this.placeAt(x, y));
  }

  toggleLane(index: number): void {
    if (!this.kept.open.delete(index)) this.kept.open.add(index);
    this.layout = layOut(this.timeline, this.kept.open);
    this.resize();
  }

  /* ---- selection ---- */

  select(place: BlockPlace | null): void {
    this.kept.selected = place;
    this.kept.range = null;
    this.showPanel();
    this.redraw();
  }

  selectRange(range: View | null): void {
    this.kept.range =
      range && range.end > range.start ? bounded(range, this.timeline.written.duration) : null;
    if (this.kept.range) this.kept.selected = null;
    this.showPanel();
    this.redraw();
  }

  get selected(): BlockPlace | null {
    return this.kept.selected;
  }

  /* The block before or behind the selected one in its row; without one the first that is on the
   * screen. */
  selectNeighbor(by: number): void {
    const { timeline, view, kept } = this;
    const place = kept.selected
      ? neighborOf(timeline, kept.selected, by)
      : firstShown(timeline, view.start);
    if (place) this.select(place);
    this.bringIntoView();
  }

  /* The nearest block of the row or lane above or below. */
  selectRow(by: number): void {
    const { selected } = this.kept;
    if (!selected) return this.selectNeighbor(0);
    const place = placeBeside(this.timeline, selected, by);
    if (!place) return;
    this.select(place);
    this.bringIntoView();
  }

  fitSelected(): void {
    const { selected, range } = this.kept;
    if (range) this.setView(range);
    if (!selected) return;
    const row = blockOf(this.timeline, selected);
    const start = row.start[selected.block]!;
    const length = Math.max(row.end[selected.block]! - start, 1);
    this.setView({ start: start - length * 1.5, end: start + length * 2.5 });
  }

  private bringIntoView(): void {
    const { selected } = this.kept;
    if (!selected) return;
    const start = blockOf(this.timeline, selected).start[selected.block]!;
    const { view } = this;
    const length = view.end - view.start;
    if (start < view.start || start > view.end)
      this.setView({ start: start - length / 2, end: start + length / 2 });
  }

  clear(): void {
    this.select(null);
    this.card.remove();
  }

  /* ---- search ---- */

  search(text: string): void {
    this.kept.search = text;
    this.colors = this.makeColors();
    this.redraw();
    this.found.textContent = text.trim() ? countMatches(this.timeline, this.colors) : "";
  }

  /* From the selected block, or what is on the screen, to the next match in time. */
  goToMatch(by: number): void {
    if (!this.kept.search.trim()) return;
    const { selected } = this.kept;
    const from = selected
      ? blockOf(this.timeline, selected).start[selected.block]!
      : by > 0
        ? this.view.start
        : this.view.end;
    const best = matchFrom(this.timeline, this.colors, from, by, selected !== null);
    if (!best) return;
    this.select(best);
    this.bringIntoView();
  }

  /* ---- below the canvas ---- */

  private showPanel(): void {
    const { selected, range } = this.kept;
    replace(
      this.panel,
      selected
        ? selectedBlock(this, selected)
        : range
          ? selectedRange(this, range)
          : howToUse(this.timeline),
    );
  }
}
