/* The account that the page is filtered to, if any: tables, findings and charts show only what
 * belongs to it. */
import { accountAndParts, accountTitle } from "./accounts.ts";
import { Finding, Rank, Row, Table } from "./report.ts";

export interface Filter {
  key: string;
  title: string;
  keys: Set<string>; /* the account, and its parts */
}

let filter: Filter | null = null;
const listeners = new Set<() => void>();
let kept: readonly (() => void)[] = []; /* those of the page itself, not of a section */

/* Columns that hold the key of an account, in the order in which they are asked for. */
const KEY_COLUMNS = ["account_key", "cause_key", "class_key", "key"];

export function currentFilter(): Filter | null {
  return filter;
}

export function onFilterChange(listener: () => void): void {
  listeners.add(listener);
}

/* Those there are now stay when the sections are made anew. */
export function keepListeners(): void {
  kept = [...listeners];
}

export function forgetSectionListeners(): void {
  listeners.clear();
  for (const listener of kept) listeners.add(listener);
}

function change(next: Filter | null): void {
  filter = next;
  for (const listener of listeners) listener();
}

export function clearFilter(): void {
  if (filter) change(null);
}

/* A second time, or the whole step: everything again. */
export function filterTo(rank: Rank, key: string): void {
  if (key === "step" || filter?.key === key) clearFilter();
  else change({ key, title: accountTitle(rank, key), keys: accountAndParts(rank, key) });
}

/* The columns of a table that tell what account a row belongs to. */
export function accountColumns(table: Table): string[] {
  return KEY_COLUMNS.filter((key) => table.columns.some((column) => column.key === key));
}

export function rowPasses(row: Row, columns: string[]): boolean {
  if (!filter) return true;
  return columns.some((column) => filter!.keys.has(String(row[column] ?? "")));
}

export function findingPasses(finding: Finding): boolean {
  return !filter || (finding.accounts ?? []).some((account) => filter!.keys.has(account));
}
