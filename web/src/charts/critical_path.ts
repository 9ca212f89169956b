/* What the critical path is made of. */
import { use } from "echarts/core";
import { BarChart } from "echarts/charts";
import { accountColor } from "../accounts.ts";
import { formatFraction, formatTime, shortened } from "../format.ts";
import { cellNumber, cellText, Row } from "../report.ts";
import { rowsIn } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, tooltip, tooltipContent } from "./echarts.ts";

use([BarChart]);

function rowsOf(context: ChartContext): Row[] {
  return rowsIn(context.section, ["critical_path", "composition"]);
}

function isShown(context: ChartContext, row: Row): boolean {
  return !context.filter || context.filter.keys.has(cellText(row, "account_key"));
}

export const criticalPath: Chart = {
  name: "critical_path",
  section: "critical_path",
  title: "Segments of the critical path",
  table: "composition",
  wide: true,

  has: (context) => rowsOf(context).length > 1,

  describe(context) {
    const longest = rowsOf(context)
      .slice(0, 3)
      .map((row) => `${cellText(row, "kind")} ${formatFraction(cellNumber(row, "share") ?? 0)}`);
    return `The longest segments: ${longest.join(", ")} of the path.`;
  },

  draw(host, context) {
    const rows = rowsOf(context);
    const show = (parameters: unknown) => {
      const row = rows[(parameters as { dataIndex: number }).dataIndex]!;
      return tooltipContent(cellText(row, "kind"), [
        [null, "mean per step", formatTime(cellNumber(row, "mean") ?? 0)],
        [null, "of the path", formatFraction(cellNumber(row, "share") ?? 0)],
      ]);
    };
    return drawEchart(host, {
      height: 48 + 26 * rows.length,
      option: {
        grid: { left: 20, right: 90, top: 4, bottom: 28, containLabel: true },
        tooltip: tooltip(show, { trigger: "item" }),
        yAxis: axis({
          type: "category",
          inverse: true,
          data: rows.map((row) => cellText(row, "kind")),
          axisLabel: { color: color("--text") },
          splitLine: { show: false },
        }),
        xAxis: axis({
          type: "value",
          axisLabel: axisLabels((ns) => shortened(formatTime(ns))),
        }),
        series: [
          {
            type: "bar",
            barMaxWidth: 18,
            data: rows.map((row) => ({
              value: cellNumber(row, "mean") ?? 0,
              itemStyle: {
                color: accountColor(cellText(row, "account_key")),
                opacity: isShown(context, row) ? 1 : 0.25,
              },
            })),
            label: {
              show: true,
              position: "right",
              color: color("--muted"),
              formatter: ({ dataIndex }) =>
                formatFraction(cellNumber(rows[dataIndex]!, "share") ?? 0),
            },
          },
        ],
      },
    });
  },
};
