/* Kernel time by kind of work. */
import { use } from "echarts/core";
import { BarChart } from "echarts/charts";
import { accountColor } from "../accounts.ts";
import { formatCount, formatFraction, formatTime, shortened } from "../format.ts";
import { cellNumber, cellText, Row } from "../report.ts";
import { rowsIn } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, tooltip, tooltipContent } from "./echarts.ts";

use([BarChart]);

function rowsOf(context: ChartContext): Row[] {
  return rowsIn(context.section, ["kernels", "by_class"]);
}

function colorOf(row: Row): string {
  return accountColor(cellText(row, "account_key") || cellText(row, "class_key"));
}

export const kernelClasses: Chart = {
  name: "kernel_classes",
  section: "kernels",
  title: "Kernel time by kind of work",
  table: "by_class",
  wide: true,

  has: (context) => rowsOf(context).length > 1,

  describe(context) {
    const first = rowsOf(context)[0]!;
    const share = formatFraction(cellNumber(first, "share") ?? 0);
    const longest = `${cellText(first, "class")}, ${share} of kernel time`;
    return `${rowsOf(context).length} kinds of work; the longest: ${longest}.`;
  },

  draw(host, context) {
    const rows = rowsOf(context);
    const show = (parameters: unknown) => {
      const row = rows[(parameters as { dataIndex: number }).dataIndex]!;
      return tooltipContent(cellText(row, "class"), [
        [null, "time", formatTime(cellNumber(row, "total") ?? 0)],
        [null, "of kernel time", formatFraction(cellNumber(row, "share") ?? 0)],
        [null, "kernels", formatCount(cellNumber(row, "count") ?? 0)],
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
          data: rows.map((row) => cellText(row, "class")),
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
              value: cellNumber(row, "total") ?? 0,
              itemStyle: {
                color: colorOf(row),
                opacity:
                  !context.filter ||
                  context.filter.keys.has(cellText(row, "account_key")) ||
                  context.filter.keys.has(cellText(row, "class_key"))
                    ? 1
                    : 0.25,
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
