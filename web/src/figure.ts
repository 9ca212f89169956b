/* The frame of a chart: its title, its description for those who can't see it, and the way to its
 * table. A chart is drawn when it comes near the screen, and again when the theme, the filter or
 * the size changes. */
import { Chart, ChartContext, DrawnChart } from "./charts/chart.ts";
import { el, idOf } from "./dom.ts";
import { currentFilter, onFilterChange } from "./filter.ts";
import { helpOnTable } from "./metric_help.ts";
import { onThemeChange } from "./theme.ts";

class Figure {
  private drawn: DrawnChart | null = null;

  constructor(
    readonly element: HTMLElement,
    readonly host: HTMLElement,
    private readonly chart: Chart,
    private readonly context: ChartContext,
  ) {}

  draw(): void {
    const context = { ...this.context, filter: currentFilter() };
    this.drawn?.dispose();
    this.host.replaceChildren();
    this.host.setAttribute("aria-label", `${this.chart.title}. ${this.chart.describe(context)}`);
    this.drawn = this.chart.draw(this.host, context);
    this.element.dataset["drawn"] = "true";
  }

  redraw(): void {
    if (this.drawn) this.draw();
  }

  drawOnce(): void {
    if (!this.drawn) this.draw();
  }

  resize(): void {
    this.drawn?.resize?.();
  }

  dispose(): void {
    this.drawn?.dispose();
    this.drawn = null;
  }
}

const figures = new Map<Element, Figure>();

const nearScreen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) if (entry.isIntersecting) figures.get(entry.target)?.drawOnce();
  },
  { rootMargin: "400px" },
);
const sizes = new ResizeObserver((entries) => {
  for (const entry of entries) figures.get(entry.target.closest("figure")!)?.resize();
});

/* The frame with its chart in it. */
export function chartFigure(chart: Chart, context: ChartContext, sectionKey: string): HTMLElement {
  const table = chart.table ? context.section.tables[chart.table] : undefined;
  const tableId = chart.table ? idOf("table", sectionKey, chart.table) : "";
  const label = `${chart.title}. ${chart.describe(context)}`;
  const host = el("div", {
    class: "chart",
    role: "img",
    "aria-label": label,
    "aria-details": table ? tableId : null,
  });
  const element = el(
    "figure",
    { class: chart.wide ? "wide" : "", "data-chart": chart.name },
    el(
      "figcaption",
      {},
      el("h3", {}, chart.title),
      table && chart.table ? helpOnTable(sectionKey, chart.table, table) : null,
      table ? el("a", { class: "as-table", href: `#${tableId}` }, "as a table") : null,
    ),
    host,
  );
  const figure = new Figure(element, host, chart, context);
  figures.set(element, figure);
  nearScreen.observe(element);
  sizes.observe(host);
  return element;
}

export function drawAllFigures(): void {
  for (const figure of figures.values()) figure.drawOnce();
}

export function removeFigures(): void {
  for (const figure of figures.values()) figure.dispose();
  figures.clear();
  nearScreen.disconnect();
  sizes.disconnect();
}

export function startFigures(): void {
  onThemeChange(() => figures.forEach((figure) => figure.redraw()));
  onFilterChange(() => figures.forEach((figure) => figure.redraw()));
  window.addEventListener("beforeprint", drawAllFigures);
}
