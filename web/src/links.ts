/* Ways from one part of the page to another. */

const listeners = new Set<(step: number) => void>();

/* `listener` is told which step the reader wants to see. */
export function onGoToStep(listener: (step: number) => void): void {
  listeners.add(listener);
}

/* Shows a step: where its bar is, unless a chart has something closer. */
export function goToStep(step: number): void {
  const target =
    document.querySelector("[data-chart=timeline]") ??
    document.querySelector("[data-chart=step_accounts]");
  target?.scrollIntoView({ block: "center" });
  for (const listener of listeners) listener(step);
}
