/* Which rank the critical path of all ranks runs through, and what it consists of there. */
import { use } from "echarts/core";
import { BarChart } from "echarts/charts";
import { accountColor } from "../accounts.ts";
import { formatFraction, formatTime, shortened } from "../format.ts";
import { cellNumber, cellText, Column, Row, Table } from "../report.ts";
import { tableIn } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, legend, tooltip, tooltipContent } from "./echarts.ts";

use([BarChart]);

/* Columns of the table, and the account whose colour each has. */
const PARTS: Record<string, string> = {
  kernels: "matrix",
  copies: "exposed_copy",
  transfer: "exposed_communication",
  communication_unknown: "idle_annotation",
  launches: "idle_launch_latency",
  data: "idle_data",
  sync: "idle_sync",
  host: "idle_operator",
  waits: "idle_queued_wait",
};
const RANKS_MAX = 32; /* those that hold it longest */

function tableFor(context: ChartContext): Table | undefined {
  return tableIn(context.section, ["overview", "critical_path"]);
}

function rowsOf(context: ChartContext): Row[] {
  return (tableFor(context)?.rows ?? []).slice(0, RANKS_MAX);
}

function partsOf(context: ChartContext): Column[] {
  const rows = rowsOf(context);
  return tableFor(context)!.columns.filter(
    (column) => column.key in PARTS && rows.some((row) => (cellNumber(row, column.key) ?? 0) > 0),
  );
}

export const rankPath: Chart = {
  name: "rank_path",
  section: "overview",
  title: "Critical path by rank",
  table: "critical_path",
  wide: true,

  has: (context) => rowsOf(context).length > 0,

  describe(context) {
    const first = rowsOf(context)[0]!;
    const share = formatFraction(cellNumber(first, "share") ?? 0);
    return `Most of the path runs through ${cellText(first, "rank")}: ${share}.`;
  },

  draw(host, context) {
    const rows = rowsOf(context);
    const parts = partsOf(context);
    const show = (parameters: unknown) => {
      const row = rows[(parameters as { dataIndex: number }[])[0]?.dataIndex ?? 0]!;
      const lines = parts
        .filter((part) => (cellNumber(row, part.key) ?? 0) > 0)
        .map(
          (part) =>
            [
              accountColor(PARTS[part.key]!),
              part.title,
              formatTime(cellNumber(row, part.key) ?? 0),
            ] as [string, string, string],
        );
      return tooltipContent(
        `${cellText(row, "rank")}: ${formatFraction(cellNumber(row, "share") ?? 0)} of the path`,
        lines,
      );
    };
    return drawEchart(host, {
      height: 90 + 26 * rows.length,
      option: {
        grid: { left: 20, right: 30, top: 44, bottom: 28, containLabel: true },
        legend: legend({ data: parts.map((part) => part.title) }),
        tooltip: tooltip(show, { trigger: "axis", axisPointer: { type: "shadow" } }),
        yAxis: axis({
          type: "category",
          inverse: true,
          data: rows.map((row) => cellText(row, "rank")),
          axisLabel: { color: color("--text") },
          splitLine: { show: false },
        }),
        xAxis: axis({
          type: "value",
          axisLabel: axisLabels((ns) => shortened(formatTime(ns))),
        }),
        series: parts.map((part) => ({
          type: "bar" as const,
          stack: "path",
          name: part.title,
          barMaxWidth: 18,
          data: rows.map((row) => cellNumber(row, part.key) ?? 0),
          itemStyle: { color: accountColor(PARTS[part.key]!) },
        })),
      },
    });
  },
};
