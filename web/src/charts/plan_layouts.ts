/* Planned layouts: the time of a step against the memory of the fullest device. */
import { use } from "echarts/core";
import { ScatterChart } from "echarts/charts";
import { accountColor } from "../accounts.ts";
import { formatBytes, formatTime, shortened } from "../format.ts";
import { cellNumber, cellText, Row } from "../report.ts";
import { rowsIn } from "../sections.ts";
import { Chart, ChartContext } from "./chart.ts";
import {
  axis,
  axisLabels,
  byteTicks,
  drawEchart,
  legend,
  tooltip,
  tooltipContent,
} from "./echarts.ts";

use([ScatterChart]);

interface Group {
  name: string;
  color: string;
  rows: Row[];
}

function groupsOf(context: ChartContext): Group[] {
  return [
    {
      name: "fits in memory",
      color: accountColor("matrix"),
      rows: rowsIn(context.section, ["plan_search", "best"]),
    },
    {
      name: "lacks memory",
      color: accountColor("communication"),
      rows: rowsIn(context.section, ["plan_search", "too_large"]),
    },
  ].filter((group) => group.rows.length > 0);
}

function layoutText(row: Row): string {
  return ["tp", "pp", "vp", "cp", "ep", "dp"]
    .filter((size) => (cellNumber(row, size) ?? 1) > 1)
    .map((size) => `${size.toUpperCase()} ${cellNumber(row, size)}`)
    .join(", ");
}

export const planLayouts: Chart = {
  name: "plan_layouts",
  section: "plan_search",
  title: "Time against memory",
  table: "best",
  wide: true,

  has: (context) => groupsOf(context).length > 0,

  describe: (context) =>
    groupsOf(context)
      .map((group) => `${group.rows.length} layouts by step time and memory: ${group.name}`)
      .join("; ") + ".",

  draw(host, context) {
    const show = (parameters: unknown) => {
      const { row } = (parameters as { data: { row: Row } }).data;
      return tooltipContent(layoutText(row) || "one device", [
        [null, "step", formatTime(cellNumber(row, "step_time") ?? 0)],
        [null, "memory", formatBytes(cellNumber(row, "memory") ?? 0)],
        [null, "micro-batch", `${cellNumber(row, "micro_batch")}`],
        [null, "ZeRO", `${cellNumber(row, "zero")}`],
        [null, "recompute", cellText(row, "recompute")],
      ]);
    };
    const memories = groupsOf(context).flatMap((group) =>
      group.rows.map((row) => cellNumber(row, "memory") ?? 0),
    );
    return drawEchart(host, {
      height: 340,
      option: {
        grid: { left: 84, right: 48, top: 44, bottom: 48 },
        legend: legend(),
        tooltip: tooltip(show, { trigger: "item" }),
        xAxis: axis({
          type: "value",
          name: "memory of the fullest device",
          nameLocation: "middle",
          nameGap: 28,
          axisLabel: axisLabels((bytes) => shortened(formatBytes(bytes))),
          ...byteTicks(Math.max(...memories)),
        }),
        yAxis: axis({
          type: "value",
          name: "step time",
          nameLocation: "middle",
          nameGap: 64,
          scale: true,
          axisLabel: axisLabels((time) => shortened(formatTime(time)), false),
        }),
        series: groupsOf(context).map((group) => ({
          type: "scatter" as const,
          name: group.name,
          itemStyle: { color: group.color, opacity: 0.8 },
          symbolSize: 12,
          data: group.rows.map((row) => ({
            value: [cellNumber(row, "memory") ?? 0, cellNumber(row, "step_time") ?? 0],
            row,
          })),
        })),
      },
    });
  },
};
