/* What is drawn of a timeline, and where on the canvas. */
import { LabelColors } from "./colors.ts";
import { Row, Timeline } from "./data.ts";
import { Layout, PlacedLane } from "./layout.ts";
import { View } from "./view.ts";

export const AXIS_HEIGHT = 40;
export const STEP_BAND = 18; /* of the axis: the steps, above the times */
export const CHARACTER = 5.9; /* pixels, about, at the size below */
export const FONT = "10.5px system-ui, sans-serif";

/* What is drawn with: colors are those of the style sheet, by name. */
export interface Brush {
  context: CanvasRenderingContext2D;
  color(name: string): string;
}

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
  return (
    scene.gutter +
    ((time - scene.view.start) / (scene.view.end - scene.view.start)) * (scene.width - scene.gutter)
  );
}

export function yOf(scene: Scene, top: number): number {
  return AXIS_HEIGHT + top - scene.scroll;
}

export function blockOf(timeline: Timeline, place: BlockPlace): Row {
  return timeline.lanes[place.lane]!.rows[place.row]!;
}

export function visibleLanes(scene: Scene): PlacedLane[] {
  return scene.layout.lanes.filter(
    (lane) =>
      yOf(scene, lane.top + lane.height) > AXIS_HEIGHT && yOf(scene, lane.top) < scene.height,
  );
}
