/* The kinds of memory: one colour each, the same in every chart. */
import { accountColor } from "./accounts.ts";
import { currentTheme } from "./theme.ts";

/* Light and dark. */
const COLORS: Record<string, readonly [string, string]> = {
  parameters: ["#2b6cb0", "#4f92d6"],
  buffers: ["#7fa7d1", "#36618f"],
  gradients: ["#c2703a", "#d98c58"],
  optimizer_state: ["#7a5fb0", "#9a82cf"],
  inputs: ["#6f8f3a", "#8fb052"],
  activations: ["#2a9d8f", "#45b8a9"],
  temporaries: ["#d8a13a", "#e0b358"],
  other: ["#9aa3b2", "#667085"],
  reserved: ["#1a2230", "#e3e8ef"],
};

/* By key or by title: "optimizer_state", "optimizer state". */
export function memoryColor(kind: string): string {
  const known = COLORS[kind.replace(/ /g, "_")];
  return known ? known[currentTheme() === "dark" ? 1 : 0] : accountColor(kind);
}
