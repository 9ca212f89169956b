/* Each step as a bar of its accounts; those that stand out are marked. */
import { use } from "echarts/core";
import { BarChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent } from "echarts/components";
import { accountColor, isAccount } from "../accounts.ts";
import { formatFraction, formatTime, shortened } from "../format.ts";
import { cellNumber, cellText, Column, Row, Table } from "../report.ts";
import { rowsIn, rowsOf, tableIn, tableOf } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, legend, tooltip, tooltipContent } from "./echarts.ts";

use([BarChart, DataZoomComponent, ScatterChart]);

const MATRIX_PARTS: [string, string][] = [
  ["model", "model"],
  ["recomputed", "recomputed"],
  ["extra", "extra"],
  ["below_peak", "below_peak"],
  ["unpriced", "unpriced_matrix"],
];
const STEPS_ZOOMED_FROM = 60;
const STEPS_ON_CANVAS_FROM = 150;

/* Bars of one account: its key, its title, and nanoseconds of each step. */
interface Layer {
  key: string;
  title: string;
  values: number[];
}

function stepsOf(context: ChartContext): Table | undefined {
  return tableIn(context.section, ["step_ledger", "steps"]);
}

/* Matrix work, parted into what the FLOPs explain where that is known. */
function matrixLayers(context: ChartContext, column: Column, steps: Row[]): Layer[] {
  const parts = rowsOf(context.rank, ["model_flops_utilization", "steps"]);
  const whole = {
    key: "matrix",
    title: column.title,
    values: steps.map((row) => cellNumber(row, "matrix") ?? 0),
  };
  if (parts.length !== steps.length || !parts.some((row) => (cellNumber(row, "model") ?? 0) > 0))
    return [whole];
  const columns = tableOf(context.rank, ["model_flops_utilization", "steps"])!.columns;
  return MATRIX_PARTS.map(([name, key]) => ({
    key,
    title: columns.find((candidate) => candidate.key === name)?.title ?? name,
    values: parts.map((row) => cellNumber(row, name) ?? 0),
  }));
}

function layersOf(context: ChartContext): Layer[] {
  const table = stepsOf(context)!;
  const layers: Layer[] = [];
  for (const column of table.columns) {
    if (!isAccount(column.key)) continue;
    if (column.key === "matrix") layers.push(...matrixLayers(context, column, table.rows));
    else
      layers.push({
        key: column.key,
        title: column.title,
        values: table.rows.map((row) => cellNumber(row, column.key) ?? 0),
      });
  }
  const keys = context.filter?.keys;
  const isPart = (layer: Layer) => !keys || keys.has(layer.key);
  return layers.filter((layer) => isPart(layer) && layer.values.some((value) => value > 0));
}

/* What the analysis says of the steps that stand out, by number of the step. */
function remarksOf(context: ChartContext): Map<number, string> {
  const remarks = new Map<number, string>();
  for (const row of rowsIn(context.section, ["step_ledger", "step_list"])) {
    const remark = cellText(row, "remark");
    if (remark) remarks.set(cellNumber(row, "step") ?? -1, remark);
  }
  return remarks;
}

export const stepAccounts: Chart = {
  name: "step_accounts",
  section: "step_ledger",
  title: "Step by step",
  table: "steps",
  wide: true,

  has: (context) => (stepsOf(context)?.rows.length ?? 0) > 0,

  describe(context) {
    const rows = stepsOf(context)!.rows;
    const remarks = remarksOf(context);
    const out = remarks.size
      ? `; outliers: ${[...remarks.keys()].map((step) => `step ${step}`).join(", ")}`
      : "";
    return `Time of ${rows.length} steps by account${out}.`;
  },

  draw(host, context) {
    const rows = stepsOf(context)!.rows;
    const layers = layersOf(context);
    const remarks = remarksOf(context);
    const names = rows.map((row) => String(row["step"]));
    const totals = rows.map((_, index) =>
      layers.reduce((sum, layer) => sum + layer.values[index]!, 0),
    );
    const tops = rows.map((row, index) =>
      remarks.has(Number(row["step"])) ? [index, totals[index]!] : null,
    );
    const show = (parameters: unknown) => {
      const index = (parameters as { dataIndex: number }[])[0]?.dataIndex ?? 0;
      const all = cellNumber(rows[index]!, "duration") ?? 0;
      const lines = layers
        .filter((layer) => layer.values[index]! > 0)
        .map(
          (layer) =>
            [
              accountColor(layer.key),
              layer.title,
              `${formatTime(layer.values[index]!)}  ${formatFraction(layer.values[index]! / all)}`,
            ] as [string, string, string],
        )
        .reverse();
      return tooltipContent(
        `step ${names[index]}: ${formatTime(all)}`,
        lines,
        remarks.get(Number(names[index])) ?? "",
      );
    };
    return drawEchart(host, {
      height: 320,
      renderer: rows.length >= STEPS_ON_CANVAS_FROM ? "canvas" : "svg",
      onclick: (event) => {
        const layer = layers[event.seriesIndex ?? -1];
        if (layer) context.filterTo(layer.key);
      },
      option: {
        grid: { left: 64, right: 16, top: 44, bottom: rows.length > STEPS_ZOOMED_FROM ? 72 : 40 },
        legend: legend({ data: layers.map((layer) => layer.title) }),
        tooltip: tooltip(show, { trigger: "axis", axisPointer: { type: "shadow" } }),
        xAxis: axis({
          type: "category",
          data: names,
          name: "step",
          nameLocation: "middle",
          nameGap: 26,
        }),
        yAxis: axis({
          type: "value",
          axisLabel: axisLabels((ns) => shortened(formatTime(ns)), false),
        }),
        dataZoom:
          rows.length > STEPS_ZOOMED_FROM
            ? [
                { type: "inside", zoomOnMouseWheel: "ctrl" },
                { type: "slider", height: 18, bottom: 8, brushSelect: false },
              ]
            : [],
        series: [
          ...layers.map((layer) => ({
            id: layer.key,
            type: "bar" as const,
            stack: "step",
            name: layer.title,
            data: layer.values,
            barCategoryGap: "18%",
            barMaxWidth: 56,
            itemStyle: { color: accountColor(layer.key) },
            emphasis: { focus: "series" as const },
          })),
          {
            type: "scatter" as const,
            name: "outlier",
            data: tops.filter((top) => top !== null) as number[][],
            symbol: "triangle",
            symbolSize: 9,
            symbolRotate: 180,
            symbolOffset: [0, -9],
            itemStyle: { color: color("--warning") },
            tooltip: { show: false },
            silent: true,
          },
        ],
      },
    });
  },
};
