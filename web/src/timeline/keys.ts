/* The keyboard: W A S D and arrows as long as they are held, and the rest once. */

/* What the keys do something with. */
export interface KeyTarget {
  view: { start: number; end: number };
  zoom(factor: number): void;
  pan(ns: number): void;
  showAll(): void;
  fitSelected(): void;
  selectNeighbor(by: number): void;
  selectRow(by: number): void;
  togglePath(): void;
  clear(): void;
}

type Motion = "in" | "out" | "left" | "right";

const MOTIONS: Record<string, Motion> = {
  w: "in",
  s: "out",
  a: "left",
  d: "right",
  ArrowUp: "in",
  ArrowDown: "out",
  ArrowLeft: "left",
  ArrowRight: "right",
};
const ZOOM_A_SECOND = 6; /* times as close after a second */
const PAN_A_SECOND = 0.9; /* of the screen */
const FRAME_MS = 1000 / 60;

export class Keys {
  private readonly held = new Set<Motion>();
  private frame = 0;
  private last = 0;

  constructor(
    element: HTMLElement,
    private readonly target: KeyTarget,
  ) {
    element.addEventListener("keydown", (event) => this.down(event));
    element.addEventListener("keyup", (event) => this.up(event));
    element.addEventListener("blur", () => this.held.clear());
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    this.held.clear();
  }

  private down(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const motion = MOTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (motion && !event.shiftKey) {
      event.preventDefault();
      if (this.held.has(motion)) return;
      this.held.add(motion);
      this.move(motion, FRAME_MS * 3);
      this.last = 0;
      if (!this.frame) this.frame = requestAnimationFrame((time) => this.step(time));
      return;
    }
    if (this.once(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private up(event: KeyboardEvent): void {
    const motion = MOTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (motion) this.held.delete(motion);
  }

  private once(event: KeyboardEvent): boolean {
    const { target } = this;
    const actions: Record<string, () => void> = {
      "[": () => target.selectNeighbor(-1),
      "]": () => target.selectNeighbor(1),
      "{": () => target.selectRow(-1),
      "}": () => target.selectRow(1),
      Enter: () => target.fitSelected(),
      f: () => target.fitSelected(),
      c: () => target.togglePath(),
      "0": () => target.showAll(),
      Home: () => target.showAll(),
      Escape: () => target.clear(),
    };
    const act = actions[event.key];
    act?.();
    return act !== undefined;
  }

  private step(time: number): void {
    const elapsed = this.last ? Math.min(time - this.last, 100) : FRAME_MS;
    this.last = time;
    this.frame = 0;
    if (this.held.size === 0) return;
    for (const motion of this.held) this.move(motion, elapsed);
    this.frame = requestAnimationFrame((next) => this.step(next));
  }

  private move(motion: Motion, milliseconds: number): void {
    const { target } = this;
    const zoom = ZOOM_A_SECOND ** (milliseconds / 1000);
    const pan = ((target.view.end - target.view.start) * PAN_A_SECOND * milliseconds) / 1000;
    if (motion === "in") target.zoom(1 / zoom);
    else if (motion === "out") target.zoom(zoom);
    else target.pan(motion === "left" ? -pan : pan);
  }
}
