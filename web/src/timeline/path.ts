/* The critical path over the lanes: what is on it is framed, and lines lead from lane to lane. */
import { linkFrom, Path } from "./data.ts";
import { AXIS_HEIGHT, Scene, xOf, yOf } from "./scene.ts";

const LINE = 2;
const HALO = 5; /* keeps the line apart from the blocks, whatever their colour */

interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/* Stretches of the path that stay in one lane, as far as they are on the screen. */
function framesOf(scene: Scene, path: Path): Frame[] {
  const frames: Frame[] = [];
  for (
    let i = linkFrom(path, scene.view.start);
    i < path.count && path.start[i]! < scene.view.end;
  ) {
    const lane = path.lane[i]!;
    const start = path.start[i]!;
    let end = path.end[i]!;
    for (i++; i < path.count && path.lane[i] === lane; i++) end = path.end[i]!;
    const placed = scene.layout.lanes[lane];
    if (!placed) continue;
    const top = yOf(scene, placed.top);
    frames.push({
      left: xOf(scene, start),
      right: xOf(scene, end),
      top,
      bottom: top + placed.height,
    });
  }
  return frames;
}

function outline(context: CanvasRenderingContext2D, frames: Frame[]): void {
  context.beginPath();
  frames.forEach((frame, index) => {
    context.rect(
      frame.left,
      frame.top - 1,
      Math.max(frame.right - frame.left, 1),
      frame.bottom - frame.top + 1,
    );
    const next = frames[index + 1];
    if (!next) return;
    const isDown = next.top >= frame.bottom;
    context.moveTo(frame.right, isDown ? frame.bottom : frame.top);
    context.lineTo(next.left, isDown ? next.top : next.bottom);
  });
}

export function drawPath(
  context: CanvasRenderingContext2D,
  scene: Scene,
  color: string,
  back: string,
): void {
  if (!scene.timeline.path) return;
  context.save();
  context.beginPath();
  context.rect(scene.gutter, AXIS_HEIGHT, scene.width - scene.gutter, scene.height - AXIS_HEIGHT);
  context.clip();
  context.lineJoin = "round";
  outline(context, framesOf(scene, scene.timeline.path));
  context.strokeStyle = back;
  context.lineWidth = HALO;
  context.stroke();
  context.strokeStyle = color;
  context.lineWidth = LINE;
  context.stroke();
  context.restore();
}
