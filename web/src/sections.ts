/* The sections, tables and numbers of a report that the page knows by name; every other is shown
 * without being known. All that reads one by name reads it here, so that a misspelled name does not
 * compile. */
import type { Finding, Rank, ReportNumber, Row, Section, Table } from "./report.ts";

/* By the key of the section. */
interface KnownTables {
  overview: "ranks" | "rank_steps" | "critical_path";
  difference: "waterfall";
  step_ledger: "ledger" | "steps" | "step_list";
  timeline: "lanes";
  model_flops_utilization: "steps" | "formats";
  roofline: "operators";
  kernels: "by_class";
  collectives: "by_kind";
  critical_path: "composition";
  plan_search: "best" | "too_large";
  module_cost: "modules";
  memory: "kinds" | "steps";
  memory_modules: "modules" | "composition";
  snapshot_allocator: "pools";
  snapshot_peak: "calls";
}

interface KnownNumbers {
  difference: "speedup" | "step_time_a" | "step_time_b" | "change";
  step_ledger: "step_time_mean" | "device_busy";
  model_flops_utilization: "mfu" | "tokens_per_second" | "model_flops_per_second";
  roofline: "memory_bandwidth";
  memory: "peak";
  snapshot_peak: "peak_bytes";
}

export type SectionKey = keyof KnownTables;
export type TableKey<Key extends SectionKey> = KnownTables[Key];
export type NumberedSection = keyof KnownNumbers;

/* A table by its name. Pairs of other names are not of this type. */
export type TableName = { [Key in SectionKey]: readonly [Key, KnownTables[Key]] }[SectionKey];
export type NumberName = {
  [Key in NumberedSection]: readonly [Key, KnownNumbers[Key]];
}[NumberedSection];

/* `section` is the one that is called `name[0]`. */
export function tableIn(section: Section, name: TableName): Table | undefined {
  return section.tables[name[1]];
}

export function rowsIn(section: Section, name: TableName): Row[] {
  return tableIn(section, name)?.rows ?? [];
}

export function tableOf(rank: Rank, name: TableName): Table | undefined {
  return rank.sections[name[0]]?.tables[name[1]];
}

export function rowsOf(rank: Rank, name: TableName): Row[] {
  return tableOf(rank, name)?.rows ?? [];
}

export function numberIn(section: Section, name: NumberName): ReportNumber | undefined {
  return section.numbers[name[1]];
}

export function numberOf(rank: Rank, name: NumberName): ReportNumber | undefined {
  return rank.sections[name[0]]?.numbers[name[1]];
}

export function findingsOf(rank: Rank): Finding[] {
  return Object.values(rank.sections).flatMap((section) => section.findings);
}
