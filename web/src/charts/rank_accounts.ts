/* Ranks as a heat map: which account takes how much of each rank's steps. */
import { use } from "echarts/core";
import { HeatmapChart } from "echarts/charts";
import { VisualMapComponent } from "echarts/components";
import { formatFraction, formatTime } from "../format.ts";
import { cellNumber, cellText, Column, Table } from "../report.ts";
import { tableIn } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, drawEchart, tooltip, tooltipContent } from "./echarts.ts";

use([HeatmapChart, VisualMapComponent]);

const RANKS_LABELLED = 64;

function tableOfRanks(context: ChartContext): Table | undefined {
  return tableIn(context.section, ["overview", "ranks"]);
}

function sharesOf(table: Table): Column[] {
  return table.columns.filter(
    (column) => column.unit === "fraction" && column.key.endsWith("_share"),
  );
}

export const rankAccounts: Chart = {
  name: "rank_accounts",
  section: "overview",
  title: "Ranks by account",
  table: "ranks",
  wide: true,

  has: (context) => (tableOfRanks(context)?.rows.length ?? 0) > 1,

  describe: (context) => `Shares of the step for ${tableOfRanks(context)!.rows.length} ranks.`,

  draw(host, context) {
    const table = tableOfRanks(context)!;
    const columns = sharesOf(table);
    const cells = table.rows.flatMap((row, x) =>
      columns.map(
        (column, y) => [x, y, cellNumber(row, column.key) ?? 0] as [number, number, number],
      ),
    );
    const most = Math.max(...cells.map((cell) => cell[2]), 0.01);
    const show = (parameters: unknown) => {
      const [x, y, share] = (parameters as { value: [number, number, number] }).value;
      const row = table.rows[x]!;
      return tooltipContent(cellText(row, "rank"), [
        [null, columns[y]!.title, formatFraction(share)],
        [null, "mean step", formatTime(cellNumber(row, "step_time_mean") ?? 0)],
      ]);
    };
    return drawEchart(host, {
      height: 90 + 32 * columns.length,
      renderer: cells.length > 2000 ? "canvas" : "svg",
      option: {
        grid: { left: 112, right: 16, top: 8, bottom: 64 },
        tooltip: tooltip(show, { trigger: "item" }),
        xAxis: axis({
          type: "category",
          data: table.rows.map((row) => cellText(row, "rank")),
          splitLine: { show: false },
        }),
        yAxis: axis({
          type: "category",
          inverse: true,
          data: columns.map((column) => column.title),
          axisLabel: { color: color("--text") },
          splitLine: { show: false },
        }),
        visualMap: {
          min: 0,
          max: most,
          calculable: true,
          orient: "horizontal",
          left: "center",
          bottom: 0,
          itemHeight: 160,
          itemWidth: 12,
          textStyle: { color: color("--muted") },
          formatter: (value: unknown) => formatFraction(Number(value)),
          inRange: { color: [color("--heat-0"), color("--heat-1"), color("--heat-2")] },
        },
        series: [
          {
            type: "heatmap",
            data: cells.map((value) => ({
              value,
              label: { color: value[2] > 0.6 * most ? color("--card") : color("--text") },
            })),
            label: {
              show: table.rows.length <= RANKS_LABELLED / 4,
              formatter: ({ value }) => formatFraction((value as number[])[2]!),
            },
            itemStyle: { borderColor: color("--card"), borderWidth: 1 },
          },
        ],
      },
    });
  },
};
