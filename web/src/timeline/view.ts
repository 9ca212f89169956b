/* The stretch of time that is on the screen. */

const SHORTEST_NS = 50;

export interface View {
  start: number;
  end: number;
}

/* Within [0, duration], and neither too short nor too long. */
export function bounded(view: View, duration: number): View {
  const length = Math.min(
    Math.max(view.end - view.start, Math.min(SHORTEST_NS, duration)),
    duration,
  );
  const middle = (view.start + view.end) / 2;
  const start = Math.min(Math.max(middle - length / 2, 0), duration - length);
  return { start, end: start + length };
}

/* `factor` below 1 goes closer; `at` stays where it is. */
export function zoomed(view: View, factor: number, at: number, duration: number): View {
  const length = Math.min(Math.max((view.end - view.start) * factor, SHORTEST_NS), duration);
  const share = (at - view.start) / (view.end - view.start);
  const start = at - share * length;
  return bounded({ start, end: start + length }, duration);
}

export function panned(view: View, by: number, duration: number): View {
  return bounded({ start: view.start + by, end: view.end + by }, duration);
}

/* A round distance between marks of an axis, about `least` or more. */
export function roundStep(least: number, isBytes: boolean): number {
  if (isBytes) return 2 ** Math.ceil(Math.log2(Math.max(least, 1)));
  const power = 10 ** Math.floor(Math.log10(least));
  const ratio = least / power;
  return (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power;
}
