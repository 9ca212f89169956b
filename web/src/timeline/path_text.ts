/* The critical path in words. */
import { formatFraction } from "../format.ts";
import { formatAxis, Path, Timeline } from "./data.ts";

const KINDS_TOLD = 3;

export function pathStatus(timeline: Timeline, path: Path): string {
  const written = timeline.written.path!;
  const kinds = written.kinds.map(() => 0);
  for (let i = 0; i < path.count; i++) kinds[path.kind[i]!]! += path.end[i]! - path.start[i]!;
  const length = path.end[path.count - 1]! - path.start[0]!;
  const parts = kinds
    .map((ns, kind) => ({ ns, kind }))
    .filter(({ ns }) => ns > 0)
    .sort((a, b) => b.ns - a.ns)
    .slice(0, KINDS_TOLD)
    .map(({ ns, kind }) => `${formatFraction(ns / length)} ${written.kinds[kind]}`);
  const step = `${timeline.written.step_word} ${written.step}, ${formatAxis(timeline, length)}`;
  return `Framed: the critical path of ${step}: mostly ${parts.join(", ")}.`;
}
