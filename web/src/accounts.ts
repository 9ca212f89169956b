/* The accounts of the ledger: one colour each, the same in every chart, and the tree they form. */
import { accounts } from "ledger-accounts";
import { names, pages } from "metric-pages";
import { currentTheme } from "./theme.ts";
import { cellText, Rank } from "./report.ts";
import { rowsOf } from "./sections.ts";

/* Light and dark. Work is green and blue, communication violet, copies amber; losing ones are red
 * and grey. Neighbours differ in lightness too, so that they stay apart without colour. */
const COLORS: Record<string, readonly [string, string]> = {
  step: ["#64748b", "#94a3b8"],
  compute: ["#15803d", "#2fa35a"],
  model: ["#15803d", "#2fa35a"],
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
  idle_compilation: ["#5b4a8a", "#a493d6"],
  idle_data: ["#b3261e", "#f2726a"],
  idle_sync: ["#d9534f", "#d1453f"],
  idle_allocator: ["#e58a6b", "#b5654a"],
  idle_capture: ["#7a5230", "#b98d68"],
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
  matmul: ["#4fb477", "#3f9c66"],
  convolution: ["#6aa84f", "#7fbf63"],
  attention: ["#98c379", "#6f9a55"],
  recurrent: ["#3d8f6d", "#5cb38d"],
  optimizer: ["#3f6fb5", "#6f9be0"],
  normalization: ["#5aa5c9", "#7cc3e6"],
  softmax: ["#2c9aa0", "#4fbcc2"],
  embedding: ["#7a8fd1", "#98abe8"],
  reduction: ["#1f6f8b", "#4a9dbb"],
  pooling: ["#88b6d9", "#5f8fb3"],
  sort: ["#4c8ed9", "#74aef0"],
  indexing: ["#9cc3c9", "#6e9aa1"],
  quantization: ["#5d79a8", "#8aa4d0"],
  random: ["#a5b7d9", "#7788aa"],
  spin: ["#6b7686", "#8d99ab"],
  triton: ["#37b0b5", "#58d0d4"],
  elementwise: ["#7fb2dd", "#a3cdf0"],
  other: ["#b9c7d8", "#64748b"],
};
const SPARE: readonly (readonly [string, string])[] = [
  ["#3d8f8f", "#4fb3b3"],
  ["#5b7fc7", "#7f9fe0"],
  ["#8aa83a", "#a9c65a"],
  ["#b5793f", "#cf9a68"],
  ["#6f9fb8", "#5d8aa3"],
  ["#a3a05a", "#8d8a4a"],
];

/* Sections that are about an account as a whole: they stay when the page is filtered to it, or to a
 * part of it. */
const ACCOUNTS_OF_SECTIONS: Record<string, string[]> = {
  model_flops_utilization: ["matrix"],
  tensor_core_use: ["matrix"],
  roofline: ["compute"],
  collectives: ["exposed_communication"],
  overlap: ["exposed_communication", "exposed_copy"],
  copies: ["exposed_copy", "data_copy"],
  gpu_idle: ["idle"],
  launches: ["idle_operator", "idle_launch_latency", "idle_runtime", "idle_queue_gap"],
};

/* The colour of an account, or of any other key: the same one for the same key. */
export function accountColor(key: string): string {
  const dark = currentTheme() === "dark" ? 1 : 0;
  const known = COLORS[key];
  if (known) return known[dark];
  let hash = 0;
  for (const character of key) hash = (hash * 31 + character.charCodeAt(0)) >>> 0;
  return SPARE[hash % SPARE.length]![dark];
}

/* It is one of the accounts of the ledger, and no sum or part of them. */
export function isAccount(key: string): boolean {
  return accounts[key] !== undefined;
}

/* What is said of an account in the list of them; of parts of the matrix work, on their pages of
 * docs/metrics. */
export function accountDefinition(key: string): string {
  const account = accounts[key];
  if (account) return account.definition;
  const page = names[`step_ledger.steps.${key}`] ?? names[`model_flops_utilization.steps.${key}`];
  return page ? (pages[page]?.summary ?? "") : "";
}

export function accountTitle(rank: Rank, key: string): string {
  const row = rowsOf(rank, ["step_ledger", "ledger"]).find((candidate) => candidate["key"] === key);
  return row ? cellText(row, "account") : key;
}

/* The section is about one of these accounts, or about one that they are parts of. */
export function sectionIsAbout(rank: Rank, section: string, keys: Set<string>): boolean {
  return (ACCOUNTS_OF_SECTIONS[section] ?? []).some((account) =>
    [...accountAndParts(rank, account)].some((key) => keys.has(key)),
  );
}

/* The key itself, and those of the accounts that are parts of it. */
export function accountAndParts(rank: Rank, key: string): Set<string> {
  const rows = rowsOf(rank, ["step_ledger", "ledger"]);
  const at = rows.findIndex((row) => row["key"] === key);
  const keys = new Set([key]);
  for (let i = at + 1; at >= 0 && i < rows.length && rows[i]!.depth > rows[at]!.depth; i++)
    keys.add(cellText(rows[i]!, "key"));
  return keys;
}
