/* The first thing to read: what the report comes to, and the numbers that carry it. */
import { el } from "./dom.ts";
import { findingList } from "./findings.ts";
import { formatFraction, formatNumber, formatTime, formatValue } from "./format.ts";
import { helpOnNumber } from "./metric_help.ts";
import { Finding, numberOf, Rank, Report, ReportNumber } from "./report.ts";

/* Numbers that stand large, where the report has them: section, key, and words where their own would need the section. */
const LARGE: [string, string, string?][] = [
  ["model_flops_utilization", "mfu"],
  ["step_ledger", "step_time_mean"],
  ["step_ledger", "device_busy"],
  ["model_flops_utilization", "tokens_per_second"],
  ["model_flops_utilization", "model_flops_per_second"],
  ["memory", "peak", "memory, at its peak"],
  ["snapshot_peak", "peak_bytes"],
  ["difference", "speedup"],
  ["difference", "step_time_a"],
  ["difference", "step_time_b"],
  ["difference", "change"],
];
const LARGE_MOST = 5;

function tile(section: string, key: string, number: ReportNumber, label: string): HTMLElement {
  const isKnown = number.not_known === undefined;
  return el(
    "div",
    { class: `tile ${isKnown ? "" : "unknown"}` },
    el("dt", {}, label, helpOnNumber(section, key, label)),
    el(
      "dd",
      {},
      el(
        "span",
        { class: "value", "data-number": `${section}.${key}`, "data-value": String(number.value ?? "") },
        isKnown ? formatValue(number.value, number.unit) : "not known",
      ),
      el("span", { class: "needs" }, number.not_known ?? number.note ?? ""),
    ),
  );
}

function dearestOf(rank: Rank): Finding | null {
  let dearest: Finding | null = null;
  for (const section of Object.values(rank.sections))
    for (const finding of section.findings)
      if (finding.id && (finding.cost_ns_per_step ?? 0) > (dearest?.cost_ns_per_step ?? 0)) dearest = finding;
  return dearest;
}

function lossTile(finding: Finding): HTMLElement {
  const share = finding.share_of_step ? ` · ${formatFraction(finding.share_of_step)} of the step` : "";
  const ceiling = finding.ceiling_speedup ? ` · at most ${formatNumber(finding.ceiling_speedup)}× without it` : "";
  return el(
    "div",
    { class: "tile loss" },
    el("dt", {}, "largest recoverable loss"),
    el(
      "dd",
      {},
      el("a", { class: "value", href: `#advice-${finding.id}` }, finding.what),
      el("span", { class: "needs" }, `${formatTime(finding.cost_ns_per_step ?? 0)} per step${share}${ceiling}`),
    ),
  );
}

/* What the job comes to, and the first thing that was found of its ranks together. */
export function jobHeadlineOf(report: Report): HTMLElement | null {
  if (!report.headline) return null;
  const first = report.overview?.findings.find((finding) => !finding.is_warning) ?? null;
  return el(
    "header",
    { class: "headline", id: "job" },
    el("h1", {}, report.headline),
    first && el("p", {}, first.evidence ?? ""),
  );
}

export function headlineOf(report: Report, rank: Rank): HTMLElement {
  const tiles = LARGE.flatMap(([section, key, label]) => {
    const number = numberOf(rank, section, key);
    const isWorthIt = number && (number.not_known === undefined || key === "mfu");
    return isWorthIt ? [tile(section, key, number, label ?? number.title)] : [];
  }).slice(0, LARGE_MOST);
  const loss = dearestOf(rank);
  return el(
    "header",
    { class: "headline", id: "headline" },
    report.headline
      ? el("h2", {}, `${rank.label}: ${rank.headline ?? rank.file}`)
      : el("h1", {}, rank.headline ?? rank.label),
    (tiles.length > 0 || loss) && el("dl", { class: "tiles" }, ...tiles, loss ? lossTile(loss) : null),
    findingList(null, report.problems),
  );
}
