/* ECharts, as the charts here use it: colours of the page, texts that are only texts, no
 * animation. */
import type { EChartsOption } from "echarts";
import { init, use } from "echarts/core";
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  TooltipComponent,
} from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { el, swatch } from "../dom.ts";
import { color } from "../theme.ts";
import { DrawnChart } from "./chart.ts";

use([AriaComponent, CanvasRenderer, GridComponent, LegendComponent, SVGRenderer, TooltipComponent]);

export interface EchartSettings {
  height: number;
  option: EChartsOption;
  renderer?: "svg" | "canvas"; /* svg unless there are thousands of shapes */
  onclick?: (event: {
    seriesIndex?: number;
    dataIndex?: number;
    name?: string;
    seriesId?: string;
  }) => void;
}

const CHARTS = new Map<HTMLElement, ReturnType<typeof init>>();

/* The chart that stands in `host`; for tests. */
export function chartIn(host: HTMLElement): ReturnType<typeof init> | undefined {
  return CHARTS.get(host);
}

export function drawEchart(host: HTMLElement, settings: EchartSettings): DrawnChart {
  host.style.height = `${settings.height}px`;
  const chart = init(host, null, { renderer: settings.renderer ?? "svg" });
  chart.setOption({ ...common(), ...settings.option });
  if (settings.onclick) chart.on("click", settings.onclick as (event: unknown) => void);
  CHARTS.set(host, chart);
  return {
    resize: () => chart.resize(),
    dispose: () => {
      CHARTS.delete(host);
      chart.dispose();
    },
  };
}

function common(): EChartsOption {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: color("--font"), color: color("--text"), fontSize: 12 },
  };
}

/* An axis in the page's colours. */
export function axis(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    axisLine: { lineStyle: { color: color("--line-strong") } },
    axisTick: { lineStyle: { color: color("--line-strong") } },
    axisLabel: { color: color("--muted"), hideOverlap: true },
    nameTextStyle: { color: color("--muted") },
    splitLine: { lineStyle: { color: color("--line") } },
    minorSplitLine: { show: false },
    ...more,
  };
}

/* Labels of an axis of numbers; `hideOverlap`: those that would lie over another are left out. */
export function axisLabels(
  format: (value: number) => string,
  hideOverlap = true,
): Record<string, unknown> {
  return { color: color("--muted"), formatter: (value: number) => format(value), hideOverlap };
}

/* Ticks of an axis from 0 to `largest` bytes: whole numbers of the unit that its labels have. */
export function byteTicks(largest: number): { interval: number; max: number } {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(largest, 1)) / 10)));
  const unit = 1024 ** power;
  const least = Math.max(largest, 1) / unit / 5;
  const decade = 10 ** Math.floor(Math.log10(least));
  const interval = [1, 2, 5, 10].find((step) => step * decade >= least)! * decade * unit;
  return { interval, max: Math.ceil(largest / interval) * interval || interval };
}

export function legend(more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: "scroll",
    top: 0,
    left: 0,
    icon: "rect",
    itemWidth: 10,
    itemHeight: 10,
    itemGap: 14,
    textStyle: { color: color("--muted") },
    pageTextStyle: { color: color("--muted") },
    pageIconColor: color("--muted"),
    inactiveColor: color("--line-strong"),
    ...more,
  };
}

/* A tooltip whose content `make` builds of elements. */
export function tooltip(
  make: (parameters: unknown) => HTMLElement,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    confine: true,
    backgroundColor: color("--card"),
    borderColor: color("--line-strong"),
    padding: 0,
    textStyle: { color: color("--text"), fontSize: 12 },
    formatter: make,
    ...more,
  };
}

/* A title, and lines of a colour, a name and a value. */
export function tooltipContent(
  title: string,
  lines: [string | null, string, string][],
  note = "",
): HTMLElement {
  return el(
    "div",
    { class: "hover-card" },
    el("strong", {}, title),
    el(
      "table",
      {},
      ...lines.map(([fill, name, value]) =>
        el("tr", {}, el("th", {}, fill ? swatch(fill) : null, name), el("td", {}, value)),
      ),
    ),
    note ? el("p", {}, note) : null,
  );
}
