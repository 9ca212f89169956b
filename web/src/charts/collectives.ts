/* Collectives by the size of their messages: what bandwidth they reach. */
import { use } from "echarts/core";
import { ScatterChart } from "echarts/charts";
import { accountColor } from "../accounts.ts";
import { formatBytes, formatCount, formatTime, formatValue, shortened } from "../format.ts";
import { cellNumber, cellText, Row } from "../report.ts";
import { rowsIn } from "../sections.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, legend, tooltip, tooltipContent } from "./echarts.ts";

use([ScatterChart]);

/* Those whose message and bandwidth are known. */
function rowsOf(context: ChartContext): Row[] {
  const rows = rowsIn(context.section, ["collectives", "by_kind"]);
  return rows.filter((row) => cellNumber(row, "message") && cellNumber(row, "bus_bandwidth"));
}

export const collectives: Chart = {
  name: "collectives",
  section: "collectives",
  title: "Bus bandwidth by size of message",
  table: "by_kind",
  wide: true,

  has: (context) => rowsOf(context).length > 0,

  describe: (context) =>
    `${rowsOf(context).length} kinds of collective by message size and bus bandwidth.`,

  draw(host, context) {
    const rows = rowsOf(context);
    const kinds = [...new Set(rows.map((row) => cellText(row, "collective")))];
    const longest = Math.max(...rows.map((row) => cellNumber(row, "total") ?? 0), 1);
    const show = (parameters: unknown) => {
      const { row } = (parameters as { data: { row: Row } }).data;
      return tooltipContent(cellText(row, "collective"), [
        [null, "message", formatBytes(cellNumber(row, "message") ?? 0)],
        [null, "ranks", formatValue(row["group_size"], "count")],
        [null, "bus bandwidth", formatValue(row["bus_bandwidth"], "bytes/s")],
        [null, "mean", formatTime(cellNumber(row, "mean") ?? 0)],
        [null, "count", formatCount(cellNumber(row, "count") ?? 0)],
      ]);
    };
    return drawEchart(host, {
      height: 340,
      option: {
        grid: { left: 84, right: 24, top: 44, bottom: 48 },
        legend: legend(),
        tooltip: tooltip(show, { trigger: "item" }),
        xAxis: axis({
          type: "log",
          logBase: 2,
          name: "message",
          nameLocation: "middle",
          nameGap: 28,
          axisLabel: axisLabels((bytes) => shortened(formatBytes(bytes))),
        }),
        yAxis: axis({
          type: "log",
          axisLabel: axisLabels((rate) => shortened(formatValue(rate, "bytes/s")), false),
        }),
        series: kinds.map((kind, index) => ({
          type: "scatter" as const,
          name: kind,
          itemStyle: {
            color: index === 0 ? accountColor("communication") : accountColor(`collective ${kind}`),
            opacity: 0.8,
          },
          data: rows
            .filter((row) => cellText(row, "collective") === kind)
            .map((row) => ({
              value: [cellNumber(row, "message")!, cellNumber(row, "bus_bandwidth")!],
              symbolSize: 8 + 24 * Math.sqrt((cellNumber(row, "total") ?? 0) / longest),
              row,
            })),
        })),
      },
    });
  },
};
