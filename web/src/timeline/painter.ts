/* Draws the timeline: the axis with its steps, the lanes, the series, and what is selected. */
import { formatBytes, formatNumber } from "../format.ts";
import { color as readColor } from "../theme.ts";
import { accountColor } from "../accounts.ts";
import { memoryColor } from "../memory_colors.ts";
import { LabelColors, placeColor } from "./colors.ts";
import { firstFrom, formatAxis, moduleOf, nameOf, classOf, Row, shortName, Timeline, TimelineSeries } from "./data.ts";
import { Layout, PlacedLane, PlacedSeries } from "./layout.ts";
import { drawPath } from "./path.ts";
import { parseColor, pixelOf, RowPainter } from "./raster.ts";
import { roundStep, View } from "./view.ts";

export const AXIS_HEIGHT = 40;
const STEP_BAND = 18;
const TEXT_FROM = 34; /* pixels: narrower blocks get no text */
const TEXT_ROW_FROM = 12;
const CHARACTER = 5.9; /* pixels, about, at the size below */
const FONT = "10.5px system-ui, sans-serif";
const TITLE_FONT = "11px system-ui, sans-serif";
const SERIES_COLORS = ["matrix", "other_compute", "exposed_communication", "exposed_copy", "idle_data", "idle_operator", "idle_python", "idle_nothing", "step"];

/* A block, by where it lies. */
export interface BlockPlace {
  lane: number;
  row: number;
  block: number;
}

export interface Scene {
  timeline: Timeline;
  layout: Layout;
  colors: LabelColors;
  view: View;
  width: number; /* of the canvas, in pixels of the page */
  height: number;
  gutter: number; /* titles of lanes, left of the lanes */
  scroll: number; /* pixels of lanes above the visible ones */
  showsPath: boolean;
  selected: BlockPlace | null;
  range: View | null; /* a stretch of time that the reader marked */
  cursor: number | null; /* where the pointer is, in time */
}

/* Where a moment, and what lies so far below the first lane, stand on the canvas. */
export function xOf(scene: Scene, time: number): number {
  return scene.gutter + ((time - scene.view.start) / (scene.view.end - scene.view.start)) * (scene.width - scene.gutter);
}

export function yOf(scene: Scene, top: number): number {
  return AXIS_HEIGHT + top - scene.scroll;
}

export function seriesColor(series: TimelineSeries, line: number): string {
  const place = placeColor(series.keys[line]!);
  if (place) return place;
  if (series.key === "memory") return memoryColor(series.keys[line] === "place_other" ? "other" : series.keys[line]!);
  return accountColor(SERIES_COLORS[line % SERIES_COLORS.length]!);
}

export function formatOf(series: TimelineSeries): (value: number) => string {
  if (series.unit === "bytes") return formatBytes;
  return (value) => `${formatNumber(value)} ${series.unit}`.trim();
}

export function blockOf(timeline: Timeline, place: BlockPlace): Row {
  return timeline.lanes[place.lane]!.rows[place.row]!;
}

/* What a block is called on the screen. */
export function titleOfBlock(timeline: Timeline, row: Row, block: number): string {
  const label = row.label[block]!;
  const name = nameOf(timeline, label);
  const module = moduleOf(timeline, label);
  const title = name ? shortName(name) : module ? module.slice(module.lastIndexOf(".") + 1) : classOf(timeline, label).title;
  return row.events[block]! > 1 ? `${row.events[block]} × ${title}` : title;
}

export class Painter {
  private readonly rows = new RowPainter();
  private image: ImageData | null = null;
  private readonly colors = new Map<string, string>(); /* of the style sheet; a painter is made anew with each theme */

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly context: CanvasRenderingContext2D,
  ) {}

  private color(name: string): string {
    let value = this.colors.get(name);
    if (value === undefined) {
      value = readColor(name);
      this.colors.set(name, value);
    }
    return value;
  }

  draw(scene: Scene): void {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(scene.width * ratio);
    const height = Math.round(scene.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.drawLanes(scene, ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawTexts(scene);
    for (const series of scene.layout.series) this.drawSeries(scene, series);
    if (scene.showsPath) drawPath(this.context, scene, this.color("--path"), this.color("--card"));
    this.drawArrow(scene);
    this.drawSelected(scene);
    this.drawGutter(scene);
    this.drawAxis(scene);
    this.drawRange(scene);
  }

  x(scene: Scene, time: number): number {
    return xOf(scene, time);
  }

  y(scene: Scene, top: number): number {
    return yOf(scene, top);
  }

  /* All blocks go into one image, row by row. */
  private drawLanes(scene: Scene, ratio: number): void {
    const width = Math.max(Math.round((scene.width - scene.gutter) * ratio), 1);
    const height = Math.max(Math.round(scene.height * ratio), 1);
    if (!this.image || this.image.width !== width || this.image.height !== height)
      this.image = this.context.createImageData(width, height);
    const pixels = new Uint32Array(this.image.data.buffer);
    const rowBack = pixelOf(parseColor(this.color("--row-back")));
    pixels.fill(scene.colors.back);
    this.rows.setWidth(width);
    for (const lane of scene.layout.lanes) {
      for (let index = 0; index < lane.lane.rows.length; index++) {
        const top = Math.round(this.y(scene, lane.top + index * lane.rowHeight) * ratio);
        const bottom = Math.round(this.y(scene, lane.top + (index + 1) * lane.rowHeight) * ratio) - (lane.rowHeight > 8 ? 1 : 0);
        const first = Math.max(top, 0);
        const last = Math.min(bottom, height);
        if (first >= last) continue;
        this.rows.paint(lane.lane.rows[index]!, scene.view, scene.colors.pixels, index === 0 ? rowBack : scene.colors.back);
        for (let y = first; y < last; y++) pixels.set(this.rows.line, y * width);
      }
    }
    this.context.putImageData(this.image, Math.round(scene.gutter * ratio), 0);
  }

  private visibleLanes(scene: Scene): PlacedLane[] {
    return scene.layout.lanes.filter(
      (lane) => this.y(scene, lane.top + lane.height) > AXIS_HEIGHT && this.y(scene, lane.top) < scene.height,
    );
  }

  private drawTexts(scene: Scene): void {
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    for (const lane of this.visibleLanes(scene)) {
      if (lane.rowHeight < TEXT_ROW_FROM) continue;
      lane.lane.rows.forEach((row, index) =>
        this.drawTextsOfRow(scene, row, this.y(scene, lane.top + (index + 0.5) * lane.rowHeight)),
      );
    }
  }

  private drawTextsOfRow(scene: Scene, row: Row, y: number): void {
    const { view, timeline, colors } = scene;
    const least = (TEXT_FROM / (scene.width - scene.gutter)) * (view.end - view.start);
    const first = Math.max(firstFrom(row, view.start) - 1, 0);
    for (let i = first; i < row.count && row.start[i]! < view.end; i++) {
      if (row.end[i]! - row.start[i]! < least || row.end[i]! < view.start) continue;
      const left = Math.max(this.x(scene, row.start[i]!), scene.gutter) + 4;
      const room = Math.min(this.x(scene, row.end[i]!), scene.width) - left - 3;
      const characters = Math.floor(room / CHARACTER);
      if (characters < 3) continue;
      const label = row.label[i]!;
      const text = titleOfBlock(timeline, row, i);
      this.context.fillStyle = !colors.isMatch[label] ? this.color("--muted") : colors.isLight[label] ? "#10161f" : "#ffffff";
      this.context.fillText(text.length > characters ? `${text.slice(0, characters - 1)}…` : text, left, y, room);
    }
  }

  private drawSeries(scene: Scene, placed: PlacedSeries): void {
    const { context } = this;
    const series = scene.timeline.written.series[placed.index]!;
    const top = this.y(scene, placed.top) + 2;
    const bottom = this.y(scene, placed.top + placed.height);
    const most = mostOf(series);
    if (bottom < AXIS_HEIGHT || top > scene.height || most <= 0) return;
    const y = (value: number) => bottom - (value / most) * (bottom - top);
    const below = new Float64Array(series.times.length);
    context.save();
    context.beginPath();
    context.rect(scene.gutter, AXIS_HEIGHT, scene.width - scene.gutter, scene.height - AXIS_HEIGHT);
    context.clip();
    series.values.forEach((values, line) => {
      if (series.stacked && line < series.summed) this.fillLine(scene, series, values, below, y, seriesColor(series, line));
      else this.strokeLine(scene, series, values, y, seriesColor(series, line));
    });
    context.restore();
    context.font = FONT;
    context.fillStyle = this.color("--muted");
    context.fillText(formatOf(series)(most), scene.gutter + 4, top + 8);
  }

  /* Steps: a value holds until the next moment. */
  private fillLine(scene: Scene, series: TimelineSeries, values: (number | null)[], below: Float64Array, y: (value: number) => number, fill: string): void {
    const { context } = this;
    const [first, last] = visiblePoints(series, scene.view);
    context.beginPath();
    for (let i = first; i <= last; i++) {
      const top = y(below[i]! + (values[i] ?? 0));
      context.lineTo(this.x(scene, series.times[i]!), top);
      context.lineTo(this.x(scene, series.times[i + 1] ?? scene.timeline.written.duration), top);
    }
    for (let i = last; i >= first; i--) {
      const bottom = y(below[i]!);
      context.lineTo(this.x(scene, series.times[i + 1] ?? scene.timeline.written.duration), bottom);
      context.lineTo(this.x(scene, series.times[i]!), bottom);
    }
    context.fillStyle = fill;
    context.fill();
    for (let i = 0; i < series.times.length; i++) below[i]! += values[i] ?? 0;
  }

  private strokeLine(scene: Scene, series: TimelineSeries, values: (number | null)[], y: (value: number) => number, stroke: string): void {
    const { context } = this;
    const [first, last] = visiblePoints(series, scene.view);
    context.beginPath();
    for (let i = first; i <= last; i++) {
      if (values[i] === null || values[i] === undefined) continue;
      context.lineTo(this.x(scene, series.times[i]!), y(values[i]!));
      context.lineTo(this.x(scene, series.times[i + 1] ?? scene.timeline.written.duration), y(values[i]!));
    }
    context.strokeStyle = stroke;
    context.lineWidth = 1.25;
    context.stroke();
  }

  private boxOf(scene: Scene, place: BlockPlace): { left: number; right: number; top: number; bottom: number } {
    const lane = scene.layout.lanes[place.lane]!;
    const row = blockOf(scene.timeline, place);
    const top = this.y(scene, lane.top + place.row * lane.rowHeight);
    return {
      left: this.x(scene, row.start[place.block]!),
      right: Math.max(this.x(scene, row.end[place.block]!), this.x(scene, row.start[place.block]!) + 2),
      top,
      bottom: top + lane.rowHeight,
    };
  }

  private drawSelected(scene: Scene): void {
    if (!scene.selected) return;
    const box = this.boxOf(scene, scene.selected);
    this.context.strokeStyle = this.color("--text");
    this.context.lineWidth = 2;
    this.context.strokeRect(box.left, box.top, box.right - box.left, box.bottom - box.top - 1);
  }

  /* From the call that launched the selected kernel to its start. */
  private drawArrow(scene: Scene): void {
    if (!scene.selected) return;
    const row = blockOf(scene.timeline, scene.selected);
    const delay = row.delay?.[scene.selected.block] ?? -1;
    const from = scene.layout.lanes[row.launchLane?.[scene.selected.block] ?? -1];
    if (delay < 0 || !from) return;
    const box = this.boxOf(scene, scene.selected);
    const startX = this.x(scene, row.start[scene.selected.block]! - delay);
    const startY = this.y(scene, from.top + 2);
    const endY = startY > box.bottom ? box.bottom : box.top;
    const { context } = this;
    context.strokeStyle = this.color("--accent");
    context.fillStyle = this.color("--accent");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(startX, startY + (startY > box.bottom ? from.height - 4 : 0));
    context.lineTo(startX, startY);
    context.bezierCurveTo(startX, (startY + endY) / 2, box.left, (startY + endY) / 2, box.left, endY);
    context.stroke();
    context.beginPath();
    const up = endY < startY ? 1 : -1;
    context.moveTo(box.left, endY);
    context.lineTo(box.left - 4, endY + 7 * up);
    context.lineTo(box.left + 4, endY + 7 * up);
    context.fill();
  }

  private drawGutter(scene: Scene): void {
    const { context } = this;
    context.fillStyle = this.color("--card");
    context.fillRect(0, 0, scene.gutter, scene.height);
    context.font = TITLE_FONT;
    context.textBaseline = "middle";
    const characters = Math.floor((scene.gutter - 18) / 5.9);
    const title = (text: string, top: number, height: number, mark: string) => {
      context.fillStyle = this.color("--muted");
      context.fillText(mark, 2, top + Math.min(height / 2, 9));
      context.fillStyle = this.color("--text");
      const shown = text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
      context.fillText(shown, 14, top + Math.min(height / 2, 9), scene.gutter - 18);
    };
    context.save();
    context.beginPath();
    context.rect(0, AXIS_HEIGHT, scene.gutter, scene.height);
    context.clip();
    for (const lane of this.visibleLanes(scene))
      title(lane.lane.title, this.y(scene, lane.top), lane.height, lane.lane.rows.length > 1 ? (lane.isOpen ? "▾" : "▸") : "");
    for (const placed of scene.layout.series)
      title(scene.timeline.written.series[placed.index]!.title, this.y(scene, placed.top), placed.height, "");
    context.restore();
  }

  private drawAxis(scene: Scene): void {
    const { context } = this;
    const width = scene.width - scene.gutter;
    const length = scene.view.end - scene.view.start;
    const step = roundStep((length / width) * 110, scene.timeline.written.is_map);
    context.fillStyle = this.color("--card");
    context.fillRect(0, 0, scene.width, AXIS_HEIGHT);
    context.font = FONT;
    context.textBaseline = "middle";
    context.strokeStyle = this.color("--line");
    context.lineWidth = 1;
    for (let at = Math.ceil(scene.view.start / step) * step; at < scene.view.end; at += step) {
      const x = Math.round(this.x(scene, at)) + 0.5;
      context.beginPath();
      context.moveTo(x, STEP_BAND + 12);
      context.lineTo(x, AXIS_HEIGHT);
      context.stroke();
      context.fillStyle = this.color("--muted");
      context.fillText(formatAxis(scene.timeline, at).replace(/(\.\d*?)0+(?=\D*$)/, "$1").replace(/\.(?=\D*$)/, ""), x + 3, STEP_BAND + 11);
    }
    this.drawSteps(scene);
  }

  private drawSteps(scene: Scene): void {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(scene.gutter, 0, scene.width - scene.gutter, STEP_BAND);
    context.clip();
    scene.timeline.written.steps.forEach((step, index) => {
      const left = this.x(scene, step.start);
      const right = this.x(scene, step.end);
      if (right < scene.gutter || left > scene.width) return;
      context.fillStyle = step.outlier ? this.color("--warning-soft") : index % 2 ? this.color("--accent-soft") : this.color("--line");
      context.fillRect(left, 1, Math.max(right - left - 1, 1), STEP_BAND - 3);
      const shown = Math.max(left, scene.gutter) + 4;
      const room = Math.min(right, scene.width) - shown - 2;
      if (room < 14) return;
      const mark = step.outlier ? "▲ " : "";
      const word = scene.timeline.written.step_word;
      const text = room > 60 ? `${mark}${word} ${step.number}  ${formatAxis(scene.timeline, step.end - step.start)}` : `${mark}${step.number}`;
      context.fillStyle = step.outlier ? this.color("--warning") : this.color("--text");
      context.fillText(text.slice(0, Math.max(1, Math.floor(room / CHARACTER))), shown, STEP_BAND / 2, room);
    });
    context.restore();
  }

  private drawRange(scene: Scene): void {
    const { context } = this;
    if (scene.range) {
      const left = Math.max(this.x(scene, scene.range.start), scene.gutter);
      const right = Math.min(this.x(scene, scene.range.end), scene.width);
      if (right > left) {
        context.globalAlpha = 0.14;
        context.fillStyle = this.color("--accent");
        context.fillRect(left, 0, right - left, scene.height);
        context.globalAlpha = 1;
        context.strokeStyle = this.color("--accent");
        context.lineWidth = 1;
        context.strokeRect(left + 0.5, 0.5, right - left - 1, scene.height - 1);
      }
    }
    if (scene.cursor === null) return;
    const x = Math.round(this.x(scene, scene.cursor)) + 0.5;
    context.strokeStyle = this.color("--line-strong");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, STEP_BAND);
    context.lineTo(x, scene.height);
    context.stroke();
  }
}

const mosts = new WeakMap<TimelineSeries, number>();

/* The largest sum of the lines that add up, or the largest of all. */
export function mostOf(series: TimelineSeries): number {
  const known = mosts.get(series);
  if (known !== undefined) return known;
  let most = 0;
  for (let i = 0; i < series.times.length; i++) {
    let sum = 0;
    series.values.forEach((values, line) => {
      const value = values[i] ?? 0;
      if (series.stacked && line < series.summed) sum += value;
      else most = Math.max(most, value);
    });
    most = Math.max(most, sum);
  }
  mosts.set(series, most);
  return most;
}

/* Indices of the first and last moments on the screen, and one more on either side. */
function visiblePoints(series: TimelineSeries, view: View): [number, number] {
  const after = (time: number) => {
    let low = 0;
    let high = series.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (series.times[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [Math.max(after(view.start) - 1, 0), Math.min(after(view.end), series.times.length - 1)];
}
