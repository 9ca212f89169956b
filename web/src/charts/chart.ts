/* What a chart is: one file in this folder, and one line in list.ts. */
import { Filter } from "../filter.ts";
import { Rank, Report, Section } from "../report.ts";
import { SectionKey } from "../sections.ts";

export interface ChartContext {
  report: Report;
  rank: Rank; /* the rank that is shown */
  section: Section; /* the one the chart stands in */
  filter: Filter | null; /* the account that the page is filtered to */
  filterTo(account: string): void; /* as a click on the waterfall does */
}

/* A chart on the page. */
export interface DrawnChart {
  resize?(): void;
  dispose(): void;
}

export interface Chart {
  name: string; /* "roofline": data-chart of its figure */
  section: SectionKey; /* it stands in; "overview" is that of all ranks */
  title: string;
  /* Key of the table of that section which holds what the chart shows: its text alternative. */
  table: string | null;
  wide?: boolean; /* takes the whole width */
  /* There is something to draw. */
  has(context: ChartContext): boolean;
  /* One sentence for those who can't see it. */
  describe(context: ChartContext): string;
  /* Draws into `host`, again after each change of theme or filter; `host` is empty. May set its
   * height. */
  draw(host: HTMLElement, context: ChartContext): DrawnChart;
}
