/* From run A's step to run B's, account by account: each bar begins where the one above ends. What
 * is within the noise is drawn hollow. */
import { use } from "echarts/core";
import { BarChart } from "echarts/charts";
import { accountColor, accountDefinition } from "../accounts.ts";
import { formatFraction, formatTime, shortened } from "../format.ts";
import { cellNumber, cellText, Row } from "../report.ts";
import { rowsIn } from "../sections.ts";
import { color } from "../theme.ts";
import { Chart, ChartContext } from "./chart.ts";
import { axis, axisLabels, drawEchart, tooltip, tooltipContent } from "./echarts.ts";

use([BarChart]);

const SURE = new Set(["less", "more", "new", "gone"]);
/* Below this part of the largest change a bar is not to be seen. */
const LEAST_PART = 0.005;

/* Where the verdict has no room behind a bar: the card says it. */
const NARROW = 560;

interface Bar {
  row: Row;
  from: number;
  to: number;
  isStep: boolean;
}

function barsOf(context: ChartContext): Bar[] {
  const bars = rowsIn(context.section, ["difference", "waterfall"]).map((row) => {
    const isStep = row.depth === 0;
    const to = cellNumber(row, "to") ?? 0;
    return { row, from: isStep ? 0 : (cellNumber(row, "from") ?? 0), to, isStep };
  });
  const largest = Math.max(
    ...bars.filter((bar) => !bar.isStep).map((bar) => Math.abs(bar.to - bar.from)),
    0,
  );
  return bars.filter((bar) => bar.isStep || Math.abs(bar.to - bar.from) > LEAST_PART * largest);
}

/* Where the axis begins: at 0, or where all is but a small change of a long step, near the lowest
 * bar. */
function axisStart(bars: Bar[]): number {
  const ends = bars.flatMap((bar) => (bar.isStep ? [bar.to] : [bar.from, bar.to]));
  const lowest = Math.min(...ends);
  const range = Math.max(...ends) - lowest;
  return range > 0.2 * lowest ? 0 : Math.max(0, lowest - range);
}

function signed(ns: number): string {
  return ns > 0 ? `+${formatTime(ns)}` : formatTime(ns);
}

function cardFor(bar: Bar): HTMLElement {
  const { row } = bar;
  if (bar.isStep)
    return tooltipContent(cellText(row, "account"), [[null, "per step", formatTime(bar.to)]]);
  const key = cellText(row, "key");
  return tooltipContent(
    cellText(row, "account"),
    [
      [accountColor(key), "A, per step", formatTime(cellNumber(row, "a") ?? 0)],
      [null, "B, per step", formatTime(cellNumber(row, "b") ?? 0)],
      [null, "change", `${signed(bar.to - bar.from)}, ${cellText(row, "verdict")}`],
      [null, "of A's step", formatFraction(cellNumber(row, "share") ?? 0)],
    ],
    accountDefinition(key),
  );
}

function styleOf(bar: Bar): Record<string, unknown> {
  const fill = accountColor(bar.isStep ? "step" : cellText(bar.row, "key"));
  const isSure = bar.isStep || SURE.has(cellText(bar.row, "verdict"));
  return {
    color: isSure ? fill : color("--card"),
    borderColor: fill,
    borderWidth: 1.5,
    borderType: isSure ? "solid" : "dashed",
  };
}

function lengthOf(bar: Bar): string {
  return bar.isStep ? formatTime(bar.to) : signed(bar.to - bar.from);
}

function labelOf(bar: Bar): string {
  return bar.isStep ? lengthOf(bar) : `${lengthOf(bar)} ${cellText(bar.row, "verdict")}`;
}

export const difference: Chart = {
  name: "difference",
  section: "difference",
  title: "From A's step to B's",
  table: "waterfall",
  wide: true,

  has: (context) => barsOf(context).length > 2,

  describe(context) {
    const bars = barsOf(context);
    const changes = bars
      .filter((bar) => !bar.isStep)
      .map((bar) => `${cellText(bar.row, "account")} ${labelOf(bar)}`);
    const ends = `From ${labelOf(bars[0]!)} a step in A to ${labelOf(bars.at(-1)!)} in B`;
    return `${ends}: ${changes.slice(0, 4).join("; ")}.`;
  },

  draw(host, context) {
    const bars = barsOf(context);
    const start = axisStart(bars);
    const isNarrow = host.clientWidth < NARROW;
    const show = (parameters: unknown) =>
      cardFor(bars[(parameters as { dataIndex: number }).dataIndex]!);
    return drawEchart(host, {
      height: 56 + 28 * bars.length,
      option: {
        grid: { left: 24, right: isNarrow ? 96 : 160, top: 4, bottom: 28, containLabel: true },
        tooltip: tooltip(show, { trigger: "item" }),
        yAxis: axis({
          type: "category",
          inverse: true,
          data: bars.map((bar) => cellText(bar.row, "account")),
          axisLabel: { color: color("--text") },
          axisTick: { show: false },
          splitLine: { show: false },
        }),
        xAxis: axis({
          type: "value",
          min: start,
          axisLabel: axisLabels((ns) => shortened(formatTime(ns))),
        }),
        series: [
          {
            /* what the bars stand on */
            type: "bar",
            stack: "step",
            silent: true,
            itemStyle: { color: "transparent" },
            data: bars.map((bar) => (bar.isStep ? start : Math.min(bar.from, bar.to))),
          },
          {
            type: "bar",
            stack: "step",
            barMaxWidth: 18,
            data: bars.map((bar) => ({
              value: bar.isStep ? bar.to - start : Math.abs(bar.to - bar.from),
              itemStyle: styleOf(bar),
            })),
            label: {
              show: true,
              position: "right",
              color: color("--muted"),
              formatter: ({ dataIndex }) => (isNarrow ? lengthOf : labelOf)(bars[dataIndex]!),
            },
          },
        ],
      },
    });
  },
};
