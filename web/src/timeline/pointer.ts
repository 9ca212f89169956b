/* Mouse, pen and fingers: drag to move, wheel and pinch to zoom, Shift or the axis to mark a
 * stretch of time. */
import { AXIS_HEIGHT } from "./scene.ts";
import { View } from "./view.ts";

const CLICK_PIXELS = 4;
const WHEEL_FACTOR = 0.0016;

export interface PointerTarget {
  timeAt(x: number): number;
  nsOfPixels(pixels: number): number;
  zoom(factor: number, at: number): void;
  pan(ns: number): void;
  scrollBy(pixels: number): void;
  hover(x: number, y: number, page: { x: number; y: number } | null): void;
  click(x: number, y: number): void;
  selectRange(range: View | null): void;
}

interface Place {
  x: number;
  y: number;
}

export class Pointer {
  private readonly down = new Map<number, Place>();
  private start: Place | null = null;
  private rangeFrom: number | null = null;
  private hasMoved = false;
  private readonly leave: () => void;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly target: PointerTarget,
  ) {
    this.leave = () => target.hover(0, 0, null);
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.release(event));
    canvas.addEventListener("pointerleave", this.leave);
    window.addEventListener("scroll", this.leave, { passive: true });
  }

  dispose(): void {
    window.removeEventListener("scroll", this.leave);
  }

  private placeOf(event: PointerEvent | WheelEvent): Place {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /* Without Ctrl the page scrolls, unless the reader has clicked into the timeline. A pinch on a
   * touch pad comes as a wheel with Ctrl. */
  private wheel(event: WheelEvent): void {
    const place = this.placeOf(event);
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (isSideways || event.shiftKey) {
      event.preventDefault();
      this.target.pan(this.target.nsOfPixels((event.deltaX || event.deltaY) * unit));
    } else if (event.ctrlKey || event.metaKey || document.activeElement === this.canvas) {
      event.preventDefault();
      const speed = event.ctrlKey && Math.abs(event.deltaY) < 40 ? 6 * WHEEL_FACTOR : WHEEL_FACTOR;
      this.target.zoom(Math.exp(event.deltaY * unit * speed), this.target.timeAt(place.x));
    }
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const place = this.placeOf(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.down.set(event.pointerId, place);
    this.start = place;
    this.hasMoved = this.down.size > 1;
    this.rangeFrom = event.shiftKey || place.y < AXIS_HEIGHT ? this.target.timeAt(place.x) : null;
  }

  private move(event: PointerEvent): void {
    const place = this.placeOf(event);
    const before = this.down.get(event.pointerId);
    if (!before) {
      this.target.hover(place.x, place.y, { x: event.clientX, y: event.clientY });
      return;
    }
    if (this.down.size > 1) this.pinch(event.pointerId, before, place);
    else if (this.isDrag(place)) this.drag(before, place, event.pointerType === "mouse");
    this.down.set(event.pointerId, place);
  }

  private isDrag(place: Place): boolean {
    if (this.start && Math.hypot(place.x - this.start.x, place.y - this.start.y) > CLICK_PIXELS)
      this.hasMoved = true;
    return this.hasMoved;
  }

  private drag(before: Place, place: Place, isMouse: boolean): void {
    if (this.rangeFrom !== null) {
      const time = this.target.timeAt(place.x);
      this.target.selectRange({
        start: Math.min(time, this.rangeFrom),
        end: Math.max(time, this.rangeFrom),
      });
      return;
    }
    this.target.pan(-this.target.nsOfPixels(place.x - before.x));
    if (isMouse) this.target.scrollBy(before.y - place.y);
  }

  /* Two fingers: their distance zooms, their middle moves. */
  private pinch(id: number, before: Place, place: Place): void {
    const other = [...this.down.entries()].find(([candidate]) => candidate !== id)?.[1];
    if (!other) return;
    const was = Math.max(Math.abs(before.x - other.x), 8);
    const is = Math.max(Math.abs(place.x - other.x), 8);
    const middle = (place.x + other.x) / 2;
    this.target.zoom(was / is, this.target.timeAt(middle));
    this.target.pan(-this.target.nsOfPixels((place.x - before.x) / 2));
  }

  private release(event: PointerEvent): void {
    const place = this.placeOf(event);
    const wasDown = this.down.delete(event.pointerId);
    if (wasDown && !this.hasMoved && event.type === "pointerup")
      this.target.click(place.x, place.y);
    if (this.down.size === 0) {
      this.start = null;
      this.rangeFrom = null;
    }
  }
}
