/* Ways from one part of the page to another. */

import { unfoldTo } from "./folds.ts";

const listeners = new Set<(step: number) => void>();

/* `listener` is told which step the reader wants to see. */
export function onGoToStep(listener: (step: number) => void): void {
  listeners.add(listener);
}

const STEP = /^step-(\d+)$/;

/* The step that a fragment of the address names: "step-7"; null where it names none. */
export function stepOfFragment(fragment: string): number | null {
  const match = STEP.exec(fragment);
  return match ? Number(match[1]) : null;
}

/* Shows a step: where its bar is, or where a chart has it closer. The address then names it. */
export function goToStep(step: number): void {
  const target =
    document.querySelector("[data-chart=timeline]") ??
    document.querySelector("[data-chart=step_accounts]");
  if (target) unfoldTo(target);
  target?.scrollIntoView({ block: "center" });
  for (const listener of listeners) listener(step);
  if (stepOfFragment(location.hash.slice(1)) !== step) history.pushState(null, "", `#step-${step}`);
}
