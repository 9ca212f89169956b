/* The report as `flopledger report --json` writes it (docs/formats/report-json.md), and how a page
 * finds its way in it. */

export type Scalar = number | string | null;

export interface ReportNumber {
  value: Scalar;
  unit: string;
  title: string;
  not_known?: string;
  note?: string;
}

export interface Column {
  key: string;
  title: string;
  unit: string;
  priority?: number; /* 100 or more: for programs, not shown */
  bar?: "bar" | "waterfall";
}

/* A row's cells by the keys of the columns, beside `depth` and `not_known`. */
export interface Row {
  depth: number;
  not_known?: Record<string, string>;
  [column: string]: unknown;
}

export interface Table {
  title: string;
  note?: string;
  rows_in_all: number;
  columns: Column[];
  rows: Row[];
}

export interface Finding {
  what: string;
  evidence: string | null;
  try: string | null;
  cost_ns_per_step: number | null;
  is_warning: boolean;
  id?: string;
  account?: string | null;
  accounts?: string[];
  share_of_step?: number | null;
  ceiling_speedup?: number | null;
  change?: string;
  replayed_step_ns?: number | null;
  replayed_speedup?: number | null;
  replayed_least_speedup?: number;
  replayed_most_speedup?: number;
  steps?: number[];
  confidence?: string;
  confidence_reason?: string;
}

export interface Section {
  title: string;
  intro?: string;
  numbers: Record<string, ReportNumber>;
  tables: Record<string, Table>;
  findings: Finding[];
}

export interface Rank {
  label: string;
  file: string;
  rank: number | null;
  headline: string | null;
  sections: Record<string, Section>;
}

export interface Report {
  schema: string;
  schema_version: number;
  flopledger_version: string;
  problems: Finding[];
  headline?: string; /* of several ranks: what the report of the job comes to */
  overview: Section | null;
  ranks: Rank[];
}

export const PRIORITY_FOR_PROGRAMS = 100;

/* A block of data the program put into the page; null where there is none of that name. */
export function readBlock<Content>(id: string): Content | null {
  const text = document.getElementById(id)?.textContent;
  return text ? (JSON.parse(text) as Content) : null;
}

export function cellText(row: Row, key: string): string {
  const cell = row[key];
  return typeof cell === "string" ? cell : "";
}

export function cellNumber(row: Row, key: string): number | null {
  const cell = row[key];
  return typeof cell === "number" ? cell : null;
}

export function hasColumn(table: Table | undefined, key: string): boolean {
  return table !== undefined && table.columns.some((column) => column.key === key);
}
