/* Light or dark: as the system has it, until the reader switches. On paper always light. */

export type Theme = "light" | "dark";

const listeners = new Set<() => void>();
const system = window.matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme | null = null;
let isPrinting = false;

export function currentTheme(): Theme {
  if (isPrinting) return "light";
  return chosen ?? (system.matches ? "dark" : "light");
}

/* Called after each change: charts are drawn again, all else follows the style sheet. */
export function onThemeChange(listener: () => void): void {
  listeners.add(listener);
}

function apply(): void {
  document.documentElement.dataset["theme"] = currentTheme();
  for (const listener of listeners) listener();
}

export function switchTheme(): void {
  chosen = currentTheme() === "dark" ? "light" : "dark";
  apply();
}

export function startTheme(): void {
  document.documentElement.dataset["theme"] = currentTheme();
  system.addEventListener("change", apply);
  window.addEventListener("beforeprint", () => {
    isPrinting = true;
    apply();
  });
  window.addEventListener("afterprint", () => {
    isPrinting = false;
    apply();
  });
}

/* A colour of the style sheet: color("--muted"). */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
