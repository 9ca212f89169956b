/* The first screen: what a terminal shows of the report, in the same order and words. The program
 * writes it. */
import { accountColor, isAccount } from "./accounts.ts";
import { el } from "./dom.ts";
import { helpOnNumber } from "./metric_help.ts";
import { readBlock } from "./report.ts";
import { withTerms } from "./terms.ts";

interface Row {
  group: string;
  title: string;
  amount: string;
  percent: string;
  share: number;
  remark: string | null;
  key: string | null;
}

interface Chart {
  title: string;
  unit: string;
  remark_title: string | null;
  total: string | null;
  rows: Row[];
}

interface TopFinding {
  what: string;
  try: string | null;
  estimate: string | null;
  confidence: string | null;
  id: string | null;
}

export interface Screen {
  subject: string;
  figures: string[];
  verdict: string | null;
  answers: string[];
  warnings: string[];
  further_warnings: number;
  chart: Chart | null;
  findings_title: string;
  findings: TopFinding[];
  not_known: string | null;
}

interface Screens {
  job: Screen | null;
  ranks: Screen[];
}

const screens = readBlock<Screens>("screens");

export const jobScreen = (): Screen | null => screens?.job ?? null;
export const rankScreen = (index: number): Screen | null => screens?.ranks[index] ?? null;

/* What a figure begins or ends with, and the number whose meaning it has. */
const MEANINGS: [RegExp, string, string][] = [
  [/^MFU /, "model_flops_utilization", "mfu"],
  [/^HFU /, "model_flops_utilization", "hfu"],
  [/^step /, "step_ledger", "step_time_mean"],
  [/^(GPU|TPU|NPU|device) busy /, "step_ledger", "device_busy"],
  [/ tokens\/s$/, "model_flops_utilization", "tokens_per_second"],
  [/LOP\/s$/, "model_flops_utilization", "model_flops_per_second"],
];

function figureOf(figure: string): HTMLElement {
  const meaning = MEANINGS.find(([pattern]) => pattern.test(figure));
  return el("li", {}, figure, meaning && helpOnNumber(meaning[1], meaning[2], figure));
}

function bar(row: Row, largest: number): HTMLElement {
  const mark = el("span", { class: "goes-fill" });
  mark.style.width = `${(100 * Math.abs(row.share)) / largest}%`;
  if (row.key && isAccount(row.key)) mark.style.background = accountColor(row.key);
  return el("span", { class: "goes-bar", "aria-hidden": "true" }, mark);
}

/* Bars on one scale; the table is their text, too. */
function chartOf(chart: Chart): HTMLElement {
  const largest = Math.max(1e-9, ...chart.rows.map((row) => Math.abs(row.share)));
  const rows = chart.rows.map((row, index) =>
    el(
      "tr",
      {},
      el(
        "td",
        { class: "group" },
        index > 0 && chart.rows[index - 1]!.group === row.group ? "" : row.group,
      ),
      el(
        "th",
        { scope: "row" },
        row.group && el("span", { class: "narrow" }, `${row.group}: `),
        ...withTerms(row.title),
      ),
      el("td", { class: "number" }, row.amount),
      el("td", { class: "number" }, row.percent),
      chart.remark_title ? el("td", { class: "remark" }, row.remark ?? "") : null,
      el("td", { class: "bars" }, bar(row, largest)),
    ),
  );
  return el(
    "table",
    { class: "goes" },
    el("caption", {}, chart.title),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("td", { class: "group" }),
        el("td", {}),
        el("th", { scope: "col", class: "number" }, chart.unit),
        el("th", { scope: "col", class: "number" }, "%"),
        chart.remark_title ? el("th", { scope: "col", class: "remark" }, chart.remark_title) : null,
        el("td", { class: "bars" }),
      ),
    ),
    el("tbody", {}, ...rows),
    chart.total
      ? el(
          "tfoot",
          {},
          el(
            "tr",
            {},
            el("td", { class: "group" }),
            el("th", { scope: "row" }, "total"),
            el("td", { class: "number" }, chart.total),
            el("td", { class: "number" }, "100.0"),
          ),
        )
      : null,
  );
}

function findingOf(finding: TopFinding): HTMLElement {
  const worth = [finding.estimate, finding.confidence && `confidence: ${finding.confidence}`]
    .filter(Boolean)
    .join(" · ");
  return el(
    "li",
    {},
    el(
      "div",
      { class: "what" },
      finding.id ? el("a", { href: `#advice-${finding.id}` }, finding.what) : finding.what,
      worth && el("span", { class: "worth" }, worth),
    ),
    finding.try && el("div", { class: "try" }, finding.try),
  );
}

/* `level` of its heading: a page has one h1. */
export function screenOf(screen: Screen, level: "h1" | "h2", id: string): HTMLElement {
  const warnings =
    screen.further_warnings > 0
      ? [...screen.warnings, `and ${screen.further_warnings} more, in their sections`]
      : screen.warnings;
  return el(
    "header",
    { class: "screen headline", id },
    el("p", { class: "subject" }, screen.subject),
    el(level, {}, ...withTerms(screen.verdict ?? screen.subject)),
    screen.figures.length > 0 && el("ul", { class: "figures" }, ...screen.figures.map(figureOf)),
    ...screen.answers.map((answer) => el("p", { class: "answer" }, ...withTerms(answer))),
    ...warnings.map((warning) => el("p", { class: "warns" }, warning)),
    (screen.chart || screen.findings.length > 0) &&
      el(
        "div",
        { class: "parts" },
        screen.chart && chartOf(screen.chart),
        screen.findings.length > 0 &&
          el(
            "div",
            { class: "tries" },
            el(level === "h1" ? "h2" : "h3", {}, screen.findings_title),
            el("ol", {}, ...screen.findings.map(findingOf)),
          ),
      ),
    screen.not_known && el("p", { class: "unknown" }, `Not known: ${screen.not_known}`),
  );
}
