/* What stands around the lanes: their titles, the axis with its steps, and the marked time. */
import { formatAxis } from "./data.ts";
import {
  AXIS_HEIGHT,
  Brush,
  CHARACTER,
  FONT,
  Scene,
  STEP_BAND,
  visibleLanes,
  xOf,
  yOf,
} from "./scene.ts";
import { roundStep } from "./view.ts";

const TITLE_FONT = "11px system-ui, sans-serif";

export function drawGutter(brush: Brush, scene: Scene): void {
  const { context } = brush;
  context.fillStyle = brush.color("--card");
  context.fillRect(0, 0, scene.gutter, scene.height);
  context.font = TITLE_FONT;
  context.textBaseline = "middle";
  const characters = Math.floor((scene.gutter - 18) / 5.9);
  const title = (text: string, top: number, height: number, mark: string) => {
    context.fillStyle = brush.color("--muted");
    context.fillText(mark, 2, top + Math.min(height / 2, 9));
    context.fillStyle = brush.color("--text");
    const shown = text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
    context.fillText(shown, 14, top + Math.min(height / 2, 9), scene.gutter - 18);
  };
  context.save();
  context.beginPath();
  context.rect(0, AXIS_HEIGHT, scene.gutter, scene.height);
  context.clip();
  for (const lane of visibleLanes(scene))
    title(
      lane.lane.title,
      yOf(scene, lane.top),
      lane.height,
      lane.lane.rows.length > 1 ? (lane.isOpen ? "▾" : "▸") : "",
    );
  for (const placed of scene.layout.series)
    title(
      scene.timeline.written.series[placed.index]!.title,
      yOf(scene, placed.top),
      placed.height,
      "",
    );
  context.restore();
}

export function drawAxis(brush: Brush, scene: Scene): void {
  const { context } = brush;
  const width = scene.width - scene.gutter;
  const length = scene.view.end - scene.view.start;
  const step = roundStep((length / width) * 110, scene.timeline.written.is_map);
  context.fillStyle = brush.color("--card");
  context.fillRect(0, 0, scene.width, AXIS_HEIGHT);
  context.font = FONT;
  context.textBaseline = "middle";
  context.strokeStyle = brush.color("--line");
  context.lineWidth = 1;
  for (let at = Math.ceil(scene.view.start / step) * step; at < scene.view.end; at += step) {
    const x = Math.round(xOf(scene, at)) + 0.5;
    context.beginPath();
    context.moveTo(x, STEP_BAND + 12);
    context.lineTo(x, AXIS_HEIGHT);
    context.stroke();
    context.fillStyle = brush.color("--muted");
    context.fillText(
      formatAxis(scene.timeline, at)
        .replace(/(\.\d*?)0+(?=\D*$)/, "$1")
        .replace(/\.(?=\D*$)/, ""),
      x + 3,
      STEP_BAND + 11,
    );
  }
  drawSteps(brush, scene);
}

function drawSteps(brush: Brush, scene: Scene): void {
  const { context } = brush;
  context.save();
  context.beginPath();
  context.rect(scene.gutter, 0, scene.width - scene.gutter, STEP_BAND);
  context.clip();
  scene.timeline.written.steps.forEach((step, index) => {
    const left = xOf(scene, step.start);
    const right = xOf(scene, step.end);
    if (right < scene.gutter || left > scene.width) return;
    context.fillStyle = step.outlier
      ? brush.color("--warning-soft")
      : index % 2
        ? brush.color("--accent-soft")
        : brush.color("--line");
    context.fillRect(left, 1, Math.max(right - left - 1, 1), STEP_BAND - 3);
    const shown = Math.max(left, scene.gutter) + 4;
    const room = Math.min(right, scene.width) - shown - 2;
    if (room < 14) return;
    const mark = step.outlier ? "▲ " : "";
    const word = scene.timeline.written.step_word;
    const text =
      room > 60
        ? `${mark}${word} ${step.number}  ${formatAxis(scene.timeline, step.end - step.start)}`
        : `${mark}${step.number}`;
    context.fillStyle = step.outlier ? brush.color("--warning") : brush.color("--text");
    context.fillText(
      text.slice(0, Math.max(1, Math.floor(room / CHARACTER))),
      shown,
      STEP_BAND / 2,
      room,
    );
  });
  context.restore();
}

export function drawRange(brush: Brush, scene: Scene): void {
  const { context } = brush;
  if (scene.range) {
    const left = Math.max(xOf(scene, scene.range.start), scene.gutter);
    const right = Math.min(xOf(scene, scene.range.end), scene.width);
    if (right > left) {
      context.globalAlpha = 0.14;
      context.fillStyle = brush.color("--accent");
      context.fillRect(left, 0, right - left, scene.height);
      context.globalAlpha = 1;
      context.strokeStyle = brush.color("--accent");
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, 0.5, right - left - 1, scene.height - 1);
    }
  }
  if (scene.cursor === null) return;
  const x = Math.round(xOf(scene, scene.cursor)) + 0.5;
  context.strokeStyle = brush.color("--line-strong");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, STEP_BAND);
  context.lineTo(x, scene.height);
  context.stroke();
}
