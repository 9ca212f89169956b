/* Ranks and steps as a heat map: which rank was slow when, or waited, or was idle; a choice says of
 * what. */
import { use } from "echarts/core";
import { HeatmapChart } from "echarts/charts";
import { DataZoomComponent, VisualMapComponent } from "echarts/components";
import { el } from "../dom.ts";
import { formatTime, formatValue } from "../format.ts";
import { cellNumber, cellText, Column, Table } from "../report.ts";
import { tableIn } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext, DrawnChart } from "./chart.ts";
import { axis, drawEchart, tooltip, tooltipContent } from "./echarts.ts";

use([DataZoomComponent, HeatmapChart, VisualMapComponent]);

const RANKS_AT_ONCE = 64;
const CELLS_ON_CANVAS_FROM = 1500;

function tableFor(context: ChartContext): Table | undefined {
  return tableIn(context.section, ["overview", "rank_steps"]);
}

/* What a cell can show: times and FLOPs of a rank's step, where any is told. */
function quantitiesOf(table: Table): Column[] {
  return table.columns.filter(
    (column) =>
      (column.unit === "ns" || column.unit === "flop") &&
      table.rows.some((row) => (cellNumber(row, column.key) ?? 0) > 0),
  );
}

function distinct(table: Table, key: string): string[] {
  return [...new Set(table.rows.map((row) => String(row[key] ?? "")))];
}

function drawQuantity(host: HTMLElement, table: Table, quantity: Column): DrawnChart {
  const ranks = distinct(table, "rank");
  const steps = distinct(table, "step").sort((a, b) => Number(a) - Number(b));
  const rankAt = new Map(ranks.map((rank, index) => [rank, index]));
  const stepAt = new Map(steps.map((step, index) => [step, index]));
  const cells = table.rows.flatMap((row, index) => {
    const value = cellNumber(row, quantity.key);
    return value === null
      ? []
      : [[stepAt.get(String(row["step"]))!, rankAt.get(cellText(row, "rank"))!, value, index]];
  });
  const values = cells.map((cell) => cell[2]!);
  const show = (parameters: unknown) => {
    const [, , value, index] = (parameters as { value: [number, number, number, number] }).value;
    const row = table.rows[index]!;
    return tooltipContent(`${cellText(row, "rank")}, step ${String(row["step"])}`, [
      [null, quantity.title, formatValue(value, quantity.unit)],
      [null, "step time", formatTime(cellNumber(row, "step_time") ?? 0)],
    ]);
  };
  const isTall = ranks.length > RANKS_AT_ONCE;
  return drawEchart(host, {
    height: 110 + Math.min(ranks.length, RANKS_AT_ONCE) * (ranks.length > 16 ? 12 : 24),
    renderer: cells.length >= CELLS_ON_CANVAS_FROM ? "canvas" : "svg",
    option: {
      grid: { left: 112, right: isTall ? 48 : 16, top: 8, bottom: 88 },
      tooltip: tooltip(show, { trigger: "item" }),
      xAxis: axis({
        type: "category",
        data: steps,
        name: "step",
        nameLocation: "middle",
        nameGap: 26,
        splitLine: { show: false },
      }),
      yAxis: axis({
        type: "category",
        inverse: true,
        data: ranks,
        axisLabel: { color: color("--text") },
        splitLine: { show: false },
      }),
      dataZoom: isTall
        ? [
            {
              type: "slider",
              yAxisIndex: 0,
              endValue: RANKS_AT_ONCE - 1,
              right: 8,
              width: 18,
              brushSelect: false,
            },
          ]
        : [],
      visualMap: {
        dimension: 2,
        min: Math.min(...values),
        max: Math.max(...values),
        calculable: true,
        orient: "horizontal",
        left: "center",
        bottom: 0,
        itemHeight: 160,
        itemWidth: 12,
        textStyle: { color: color("--muted") },
        formatter: (value: unknown) => formatValue(Number(value), quantity.unit),
        inRange: { color: [color("--heat-0"), color("--heat-1"), color("--heat-2")] },
      },
      series: [
        {
          type: "heatmap",
          data: cells,
          itemStyle: { borderColor: color("--card"), borderWidth: 1 },
        },
      ],
    },
  });
}

/* The quantity that was chosen last: it stays when the theme changes. */
let chosen = "";

export const rankSteps: Chart = {
  name: "rank_steps",
  section: "overview",
  title: "Ranks by step",
  table: "rank_steps",
  wide: true,

  has: (context) =>
    (tableFor(context)?.rows.length ?? 0) > 1 && quantitiesOf(tableFor(context)!).length > 0,

  describe(context) {
    const table = tableFor(context)!;
    const ranks = distinct(table, "rank").length;
    return `${ranks} ranks in ${distinct(table, "step").length} steps; times of a rank's step.`;
  },

  draw(host, context) {
    const table = tableFor(context)!;
    const quantities = quantitiesOf(table);
    const select = el("select", { class: "quantity", "aria-label": "What the colors show" });
    const inside = el("div");
    let drawn: DrawnChart | null = null;
    const draw = () => {
      drawn?.dispose();
      drawn = drawQuantity(inside, table, quantities[select.selectedIndex]!);
      host.style.height = "auto";
    };
    for (const quantity of quantities)
      select.appendChild(
        el("option", { value: quantity.key, selected: quantity.key === chosen }, quantity.title),
      );
    select.addEventListener("change", () => {
      chosen = select.value;
      draw();
    });
    host.setAttribute("role", "group"); /* it holds more than a picture */
    host.append(select, inside);
    draw();
    return { resize: () => drawn?.resize?.(), dispose: () => drawn?.dispose() };
  },
};
