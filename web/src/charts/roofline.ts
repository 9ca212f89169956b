/* Operators below their roof: FLOPs for each byte against FLOPs a second, both logarithmic. */
import { use } from "echarts/core";
import { ScatterChart, LineChart } from "echarts/charts";
import { accountColor } from "../accounts.ts";
import { formatFraction, formatNumber, formatTime, formatValue, shortened } from "../format.ts";
import { cellNumber, cellText, Row } from "../report.ts";
import { numberIn, rowsIn, rowsOf } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, legend, tooltip, tooltipContent } from "./echarts.ts";

use([LineChart, ScatterChart]);

interface Point {
  row: Row;
  intensity: number; /* FLOPs per byte */
  rate: number; /* FLOPs per second */
  bound: string;
}

const rateText = (rate: number) => formatValue(rate, "flop/s");

/* Operators whose FLOPs, bytes and time are known. */
function pointsOf(context: ChartContext): Point[] {
  const points: Point[] = [];
  for (const row of rowsIn(context.section, ["roofline", "operators"])) {
    const flops = cellNumber(row, "flops");
    const time = cellNumber(row, "time");
    const intensity = cellNumber(row, "intensity");
    if (flops && time && intensity)
      points.push({
        row,
        intensity,
        rate: (flops * 1e9) / time,
        bound: cellText(row, "bound") || "neither",
      });
  }
  return points;
}

/* The peaks of the number formats that were used, with the bandwidth that limits below them. */
function roofsOf(context: ChartContext): { name: string; peak: number }[] {
  const rows = rowsOf(context.rank, ["model_flops_utilization", "formats"]);
  const roofs = new Map<number, string[]>();
  for (const row of rows) {
    const peak = cellNumber(row, "peak");
    if (peak) roofs.set(peak, [...(roofs.get(peak) ?? []), cellText(row, "format")]);
  }
  return [...roofs].map(([peak, formats]) => ({ name: `peak ${formats.join(", ")}`, peak }));
}

export const roofline: Chart = {
  name: "roofline",
  section: "roofline",
  title: "Operators below their roof",
  table: "operators",
  wide: true,

  has: (context) => pointsOf(context).length > 0,

  describe: (context) =>
    `${pointsOf(context).length} operators by FLOPs per byte and FLOP/s, ` +
    "below the peaks and the memory bandwidth of the device.",

  draw(host, context) {
    const points = pointsOf(context);
    const roofs = roofsOf(context);
    const bandwidth = cellNumber(
      { depth: 0, value: numberIn(context.section, ["roofline", "memory_bandwidth"])?.value },
      "value",
    );
    const times = points.map((point) => cellNumber(point.row, "time") ?? 0);
    const longest = Math.max(...times);
    const intensities = points.map((point) => point.intensity);
    const low = 10 ** Math.floor(Math.log10(Math.min(0.1, ...intensities)));
    const high = 10 ** Math.ceil(Math.log10(Math.max(1000, ...intensities)));
    const bounds = [...new Set(points.map((point) => point.bound))].sort();
    const colors: Record<string, string> = {
      compute: accountColor("matrix"),
      memory: accountColor("other_compute"),
    };
    const bottom = Math.min(...points.map((point) => point.rate)) / 3;
    const roofLine = (peak: number) =>
      bandwidth
        ? [
            [low, low * bandwidth],
            [peak / bandwidth, peak],
            [Math.max(high, peak / bandwidth), peak],
          ]
        : [
            [low, peak],
            [high, peak],
          ];
    const show = (parameters: unknown) => {
      const { data } = parameters as { data: { point?: Point } };
      const point = data.point;
      if (!point) return tooltipContent("", []);
      return tooltipContent(`${cellText(point.row, "op")} ${cellText(point.row, "shapes")}`, [
        [null, "device time per step", formatTime(cellNumber(point.row, "time") ?? 0)],
        [null, "FLOPs per byte", formatNumber(point.intensity)],
        [null, "achieved", rateText(point.rate)],
        [null, "of its roof", formatFraction(cellNumber(point.row, "of_roof") ?? 0)],
        [null, "bound by", point.bound],
      ]);
    };
    return drawEchart(host, {
      height: 420,
      option: {
        grid: { left: 84, right: 24, top: 44, bottom: 48 },
        legend: legend(),
        tooltip: tooltip(show, { trigger: "item" }),
        xAxis: axis({
          type: "log",
          min: low,
          max: high,
          name: "FLOPs per byte",
          nameLocation: "middle",
          nameGap: 28,
          axisLabel: axisLabels((value) => shortened(formatNumber(value)), false),
        }),
        yAxis: axis({
          type: "log",
          min: 10 ** Math.floor(Math.log10(bottom)),
          axisLabel: axisLabels((rate) => shortened(rateText(rate)), false),
        }),
        series: [
          ...roofs.map((roof) => ({
            type: "line" as const,
            name: `${roof.name}: ${rateText(roof.peak)}`,
            data: roofLine(roof.peak),
            symbol: "none",
            silent: true,
            lineStyle: { color: color("--muted"), width: 1.5 },
            itemStyle: { color: color("--muted") },
          })),
          ...bounds.map((bound) => ({
            type: "scatter" as const,
            name: `bound by ${bound}`,
            itemStyle: { color: colors[bound] ?? color("--muted"), opacity: 0.75 },
            data: points
              .filter((point) => point.bound === bound)
              .map((point) => ({
                value: [point.intensity, point.rate],
                symbolSize: 6 + 26 * Math.sqrt((cellNumber(point.row, "time") ?? 0) / longest),
                point,
              })),
          })),
        ],
      },
    });
  },
};
