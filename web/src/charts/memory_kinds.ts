/* What memory consisted of, by kind: at the peak and at the ends of forward, backward and step; and
 * at each step's peak. */
import { use } from "echarts/core";
import { BarChart } from "echarts/charts";
import { formatBytes, formatFraction, shortened } from "../format.ts";
import { memoryColor } from "../memory_colors.ts";
import { cellNumber, cellText, Row, Table } from "../report.ts";
import { TableKey, tableIn } from "../sections.ts";
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

use([BarChart]);

const POINTS: [string, string][] = [
  ["peak", "peak"],
  ["forward_end", "forward end"],
  ["backward_end", "backward end"],
  ["step_end", "step end"],
];
const ALL = "total";
const PEAK_OF = "peak_";

/* Bars: their names, and of each kind a value for each. */
interface Bars {
  names: string[];
  kinds: { title: string; values: number[] }[];
}

function kindRows(table: Table): Row[] {
  return table.rows.filter((row) => cellText(row, "kind") !== ALL);
}

function barsOfPoints(table: Table): Bars {
  const points = POINTS.filter(([key]) => table.rows.some((row) => cellNumber(row, key) !== null));
  const kinds = kindRows(table).map((row) => ({
    title: cellText(row, "kind"),
    values: points.map(([key]) => cellNumber(row, key) ?? 0),
  }));
  return {
    names: points.map(([, title]) => title),
    kinds: kinds.filter((kind) => kind.values.some((value) => value > 0)),
  };
}

function barsOfSteps(table: Table): Bars {
  const columns = table.columns.filter((column) => column.key.startsWith(PEAK_OF));
  const kinds = columns.map((column) => ({
    title: column.key.slice(PEAK_OF.length).replace(/_/g, " "),
    values: table.rows.map((row) => cellNumber(row, column.key) ?? 0),
  }));
  return {
    names: table.rows.map((row) => String(row["step"])),
    kinds: kinds.filter((kind) => kind.values.some((value) => value > 0)),
  };
}

function sumsOf(bars: Bars): number[] {
  return bars.names.map((_, index) =>
    bars.kinds.reduce((sum, kind) => sum + kind.values[index]!, 0),
  );
}

function describeBars(bars: Bars, word: string): string {
  const sums = sumsOf(bars);
  return `${bars.names
    .map((name, index) => `${word}${name} ${formatBytes(sums[index]!)}`)
    .slice(0, 8)
    .join(", ")}${bars.names.length > 8 ? " and more" : ""}.`;
}

function drawBars(host: HTMLElement, bars: Bars, isUpright: boolean, word: string) {
  const names = axis({
    type: "category",
    data: bars.names,
    inverse: !isUpright,
    ...(isUpright ? { name: "step", nameLocation: "middle", nameGap: 26 } : {}),
  });
  const sizes = axis({
    type: "value",
    axisLabel: axisLabels((bytes) => shortened(formatBytes(bytes))),
    ...byteTicks(Math.max(...sumsOf(bars))),
  });
  const show = (parameters: unknown) => {
    const index = (parameters as { dataIndex: number }[])[0]?.dataIndex ?? 0;
    const all = bars.kinds.reduce((sum, kind) => sum + kind.values[index]!, 0);
    return tooltipContent(
      `${word}${bars.names[index]}: ${formatBytes(all)}`,
      bars.kinds
        .filter((kind) => kind.values[index]! > 0)
        .map(
          (kind) =>
            [
              memoryColor(kind.title),
              kind.title,
              `${formatBytes(kind.values[index]!)}  ${formatFraction(kind.values[index]! / all)}`,
            ] as [string, string, string],
        ),
    );
  };
  return drawEchart(host, {
    height: isUpright ? 280 : 84 + 34 * bars.names.length,
    option: {
      grid: { left: isUpright ? 76 : 92, right: 24, top: 44, bottom: isUpright ? 40 : 28 },
      legend: legend({ data: bars.kinds.map((kind) => kind.title) }),
      tooltip: tooltip(show, { trigger: "axis", axisPointer: { type: "shadow" } }),
      xAxis: isUpright ? names : sizes,
      yAxis: isUpright ? sizes : names,
      series: bars.kinds.map((kind) => ({
        id: kind.title,
        type: "bar" as const,
        stack: "memory",
        name: kind.title,
        data: kind.values,
        barMaxWidth: isUpright ? 56 : 22,
        itemStyle: { color: memoryColor(kind.title) },
        emphasis: { focus: "series" as const },
      })),
    },
  });
}

function chartOf(
  name: string,
  title: string,
  key: TableKey<"memory">,
  word: string,
  barsOf: (table: Table) => Bars,
): Chart {
  const table = (context: ChartContext) => tableIn(context.section, ["memory", key]);
  const isUpright = key === "steps";
  return {
    name,
    section: "memory",
    title,
    table: key,
    has: (context) => table(context) !== undefined && barsOf(table(context)!).kinds.length > 0,
    describe: (context) => describeBars(barsOf(table(context)!), word),
    draw: (host, context) => drawBars(host, barsOf(table(context)!), isUpright, word),
  };
}

export const memoryCharts: readonly Chart[] = [
  chartOf("memory_kinds", "What memory consists of", "kinds", "", barsOfPoints),
  chartOf("memory_steps", "Peak of each step, by kind", "steps", "step ", barsOfSteps),
];
