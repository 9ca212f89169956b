/* Draws the timeline: the axis with its steps, the lanes, the series, and what is selected. */
import { color as readColor } from "../theme.ts";
import { drawAxis, drawGutter, drawRange } from "./axis.ts";
import { classOf, firstFrom, moduleOf, nameOf, Row, shortName, Timeline } from "./data.ts";
import { drawPath } from "./path.ts";
import { parseColor, pixelOf, RowPainter } from "./raster.ts";
import {
  BlockPlace,
  blockOf,
  Brush,
  CHARACTER,
  FONT,
  Scene,
  visibleLanes,
  xOf,
  yOf,
} from "./scene.ts";
import { drawSeries } from "./series.ts";

const TEXT_FROM = 34; /* pixels: narrower blocks get no text */
const TEXT_ROW_FROM = 12;

/* What a block is called on the screen. */
export function titleOfBlock(timeline: Timeline, row: Row, block: number): string {
  const label = row.label[block]!;
  const name = nameOf(timeline, label);
  const module = moduleOf(timeline, label);
  const title = name
    ? shortName(name)
    : module
      ? module.slice(module.lastIndexOf(".") + 1)
      : classOf(timeline, label).title;
  return row.events[block]! > 1 ? `${row.events[block]} × ${title}` : title;
}

export class Painter implements Brush {
  private readonly rows = new RowPainter();
  private image: ImageData | null = null;
  /* Of the style sheet; a painter is made anew with each theme. */
  private readonly colors = new Map<string, string>();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    readonly context: CanvasRenderingContext2D,
  ) {}

  color(name: string): string {
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
    for (const series of scene.layout.series) drawSeries(this, scene, series);
    if (scene.showsPath) drawPath(this.context, scene, this.color("--path"), this.color("--card"));
    this.drawArrow(scene);
    this.drawSelected(scene);
    drawGutter(this, scene);
    drawAxis(this, scene);
    drawRange(this, scene);
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
        const top = Math.round(yOf(scene, lane.top + index * lane.rowHeight) * ratio);
        const bottom =
          Math.round(yOf(scene, lane.top + (index + 1) * lane.rowHeight) * ratio) -
          (lane.rowHeight > 8 ? 1 : 0);
        const first = Math.max(top, 0);
        const last = Math.min(bottom, height);
        if (first >= last) continue;
        this.rows.paint(
          lane.lane.rows[index]!,
          scene.view,
          scene.colors.pixels,
          index === 0 ? rowBack : scene.colors.back,
        );
        for (let y = first; y < last; y++) pixels.set(this.rows.line, y * width);
      }
    }
    this.context.putImageData(this.image, Math.round(scene.gutter * ratio), 0);
  }

  private drawTexts(scene: Scene): void {
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    for (const lane of visibleLanes(scene)) {
      if (lane.rowHeight < TEXT_ROW_FROM) continue;
      lane.lane.rows.forEach((row, index) =>
        this.drawTextsOfRow(scene, row, yOf(scene, lane.top + (index + 0.5) * lane.rowHeight)),
      );
    }
  }

  private drawTextsOfRow(scene: Scene, row: Row, y: number): void {
    const { view, timeline, colors } = scene;
    const least = (TEXT_FROM / (scene.width - scene.gutter)) * (view.end - view.start);
    const first = Math.max(firstFrom(row, view.start) - 1, 0);
    for (let i = first; i < row.count && row.start[i]! < view.end; i++) {
      if (row.end[i]! - row.start[i]! < least || row.end[i]! < view.start) continue;
      const left = Math.max(xOf(scene, row.start[i]!), scene.gutter) + 4;
      const room = Math.min(xOf(scene, row.end[i]!), scene.width) - left - 3;
      const characters = Math.floor(room / CHARACTER);
      if (characters < 3) continue;
      const label = row.label[i]!;
      const text = titleOfBlock(timeline, row, i);
      this.context.fillStyle = !colors.isMatch[label]
        ? this.color("--muted")
        : colors.isLight[label]
          ? "#10161f"
          : "#ffffff";
      this.context.fillText(
        text.length > characters ? `${text.slice(0, characters - 1)}…` : text,
        left,
        y,
        room,
      );
    }
  }

  private boxOf(
    scene: Scene,
    place: BlockPlace,
  ): { left: number; right: number; top: number; bottom: number } {
    const lane = scene.layout.lanes[place.lane]!;
    const row = blockOf(scene.timeline, place);
    const top = yOf(scene, lane.top + place.row * lane.rowHeight);
    return {
      left: xOf(scene, row.start[place.block]!),
      right: Math.max(xOf(scene, row.end[place.block]!), xOf(scene, row.start[place.block]!) + 2),
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
    const startX = xOf(scene, row.start[scene.selected.block]! - delay);
    const startY = yOf(scene, from.top + 2);
    const endY = startY > box.bottom ? box.bottom : box.top;
    const { context } = this;
    context.strokeStyle = this.color("--accent");
    context.fillStyle = this.color("--accent");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(startX, startY + (startY > box.bottom ? from.height - 4 : 0));
    context.lineTo(startX, startY);
    context.bezierCurveTo(
      startX,
      (startY + endY) / 2,
      box.left,
      (startY + endY) / 2,
      box.left,
      endY,
    );
    context.stroke();
    context.beginPath();
    const up = endY < startY ? 1 : -1;
    context.moveTo(box.left, endY);
    context.lineTo(box.left - 4, endY + 7 * up);
    context.lineTo(box.left + 4, endY + 7 * up);
    context.fill();
  }
}
