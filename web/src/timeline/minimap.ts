/* The whole trace in one line, and which part of it is on the screen. */
import { el } from "../dom.ts";
import { color } from "../theme.ts";
import { labelColors } from "./colors.ts";
import { Timeline } from "./data.ts";
import { RowPainter } from "./raster.ts";
import { View } from "./view.ts";

const HEIGHT = 30;
const HANDLE = 6;

export class Minimap {
  readonly canvas = el("canvas", { class: "timeline-minimap", "aria-hidden": "true" });
  private readonly picture = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d")!;
  private width = 0;
  private gutter = 0;
  private grip: { part: "start" | "end" | "all"; offset: number } | null = null;
  private view: View = { start: 0, end: 1 };

  constructor(
    private readonly timeline: Timeline,
    private readonly setView: (view: View) => void,
  ) {
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", () => (this.grip = null));
    this.canvas.addEventListener("pointercancel", () => (this.grip = null));
  }

  resize(width: number, gutter: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.gutter = gutter;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${HEIGHT}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(HEIGHT * ratio);
    this.paintPicture(
      Math.max(Math.round((width - gutter) * ratio), 1),
      Math.round(HEIGHT * ratio),
    );
  }

  /* The accounts, or where there are none the first lane. */
  private paintPicture(width: number, height: number): void {
    const row = this.timeline.lanes[0]?.rows[0];
    const context = this.picture.getContext("2d")!;
    const colors = labelColors(this.timeline, { text: "", accounts: null });
    const painter = new RowPainter();
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    this.picture.width = width;
    this.picture.height = height;
    pixels.fill(colors.back);
    painter.setWidth(width);
    if (row)
      painter.paint(
        row,
        { start: 0, end: this.timeline.written.duration },
        colors.pixels,
        colors.back,
      );
    const edge = Math.round(height / 6);
    for (let y = edge; row && y < height - edge; y++) pixels.set(painter.line, y * width);
    context.putImageData(image, 0, 0);
  }

  private x(time: number): number {
    return this.gutter + (time / this.timeline.written.duration) * (this.width - this.gutter);
  }

  private time(x: number): number {
    return ((x - this.gutter) / (this.width - this.gutter)) * this.timeline.written.duration;
  }

  draw(view: View): void {
    const { context } = this;
    const ratio = window.devicePixelRatio || 1;
    this.view = view;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.picture, Math.round(this.gutter * ratio), 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const left = this.x(view.start);
    const right = Math.max(this.x(view.end), left + 3);
    context.globalAlpha = 0.62;
    context.fillStyle = color("--card");
    context.fillRect(this.gutter, 0, left - this.gutter, HEIGHT);
    context.fillRect(right, 0, this.width - right, HEIGHT);
    context.globalAlpha = 1;
    context.strokeStyle = color("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(left, 1, right - left, HEIGHT - 2);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = color("--muted");
    context.fillText(this.gutter > 100 ? "whole trace" : "all", 14, HEIGHT / 2, this.gutter - 18);
  }

  private press(event: PointerEvent): void {
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    const left = this.x(this.view.start);
    const right = this.x(this.view.end);
    const length = this.view.end - this.view.start;
    this.canvas.setPointerCapture(event.pointerId);
    if (Math.abs(x - left) < HANDLE && right - left > 3 * HANDLE)
      this.grip = { part: "start", offset: 0 };
    else if (Math.abs(x - right) < HANDLE && right - left > 3 * HANDLE)
      this.grip = { part: "end", offset: 0 };
    else if (x > left && x < right)
      this.grip = { part: "all", offset: this.time(x) - this.view.start };
    else this.grip = { part: "all", offset: length / 2 };
    this.move(event);
  }

  private move(event: PointerEvent): void {
    if (!this.grip) return;
    const time = this.time(event.clientX - this.canvas.getBoundingClientRect().left);
    const { start, end } = this.view;
    if (this.grip.part === "start") this.setView({ start: Math.min(time, end - 1), end });
    else if (this.grip.part === "end") this.setView({ start, end: Math.max(time, start + 1) });
    else
      this.setView({ start: time - this.grip.offset, end: time - this.grip.offset + end - start });
  }
}
