/* The accounts of the ledger: one colour each, the same in every chart, and the tree they form. */
import { names, pages } from "metric-pages";
import { currentTheme } from "./theme.ts";
import { cellText, Rank, tableOf } from "./report.ts";

/* Light and dark. Work is green and blue, communication violet, copies amber; losing ones are red and grey. Neighbours
 * differ in lightness too, so that they stay apart without colour. */
const COLORS: Record<string, readonly [string, string]> = {
  step: ["#64748b", "#94a3b8"],
  compute: ["#15803d", "#4ade80"],
  model: ["#15803d", "#3fbf6b"],
  matrix: ["#2f9e5b", "#4cc38a"],
  unpriced_matrix: ["#86c9a0", "#3d7a5a"],
  below_peak: ["#a8d5ba", "#2f5f47"],
  recomputed: ["#c9b037", "#b8a038"],
  extra: ["#dccb7a", "#857834"],
  other_compute: ["#2b7fb8", "#4ba3e3"],
  exposed_communication: ["#7c4dbd", "#a98ae8"],
  communication: ["#7c4dbd", "#a98ae8"],
  exposed_copy: ["#d08a1d", "#e0a94a"],
  copies: ["#d08a1d", "#e0a94a"],
  data_copy: ["#e9b765", "#b98632"],
  idle: ["#c2413b", "#e5645d"],
  idle_data: ["#b3261e", "#f2726a"],
  idle_sync: ["#d9534f", "#d1453f"],
  idle_allocator: ["#e58a6b", "#b5654a"],
  idle_garbage: ["#8c3b2a", "#c98572"],
  idle_runtime: ["#c76a86", "#c4718f"],
  idle_operator: ["#e0788f", "#e58ba0"],
  idle_annotation: ["#a8577e", "#9c567a"],
  idle_python: ["#d7a0b4", "#8a5a6d"],
  idle_nothing: ["#9aa3b2", "#667085"],
  idle_launch_latency: ["#c9cfd9", "#4d5768"],
  idle_queue_gap: ["#b1bac8", "#7b8799"],
  idle_queued_wait: ["#7d8797", "#a3aebf"],
  idle_graph: ["#dfe3ea", "#3a4454"],
};
const SPARE: readonly (readonly [string, string])[] = [
  ["#3d8f8f", "#4fb3b3"],
  ["#5b7fc7", "#7f9fe0"],
  ["#8aa83a", "#a9c65a"],
  ["#b5793f", "#cf9a68"],
  ["#6f9fb8", "#5d8aa3"],
  ["#a3a05a", "#8d8a4a"],
];

/* The colour of an account, or of any other key: the same one for the same key. */
export function accountColor(key: string): string {
  const dark = currentTheme() === "dark" ? 1 : 0;
  const known = COLORS[key];
  if (known) return known[dark];
  let hash = 0;
  for (const character of key) hash = (hash * 31 + character.charCodeAt(0)) >>> 0;
  return SPARE[hash % SPARE.length]![dark];
}

/* What an account is, from the page of docs/metrics about its column among the steps. */
export function accountDefinition(key: string): string {
  const page = names[`step_ledger.steps.${key}`] ?? names[`model_flops_utilization.steps.${key}`];
  return page ? (pages[page]?.summary ?? "") : "";
}

export function accountTitle(rank: Rank, key: string): string {
  const row = tableOf(rank, "step_ledger", "ledger")?.rows.find((candidate) => candidate["key"] === key);
  return row ? cellText(row, "account") : key;
}

/* The key itself, and those of the accounts that are parts of it. */
export function accountAndParts(rank: Rank, key: string): Set<string> {
  const rows = tableOf(rank, "step_ledger", "ledger")?.rows ?? [];
  const at = rows.findIndex((row) => row["key"] === key);
  const keys = new Set([key]);
  for (let i = at + 1; at >= 0 && i < rows.length && rows[i]!.depth > rows[at]!.depth; i++)
    keys.add(cellText(rows[i]!, "key"));
  return keys;
}
