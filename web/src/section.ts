/* A section of the report: its numbers, charts, tables and findings, whatever they are about. */
import { sectionIsAbout } from "./accounts.ts";
import { charts } from "./charts/list.ts";
import { ChartContext } from "./charts/chart.ts";
import { Child, el } from "./dom.ts";
import { currentFilter, filterTo, findingPasses, onFilterChange } from "./filter.ts";
import { chartFigure } from "./figure.ts";
import { foldButton } from "./folds.ts";
import { findingList } from "./findings.ts";
import { formatValue } from "./format.ts";
import { helpOnNumber } from "./metric_help.ts";
import { PRIORITY_FOR_PROGRAMS, Rank, Report, ReportNumber, Section, Table } from "./report.ts";
import { TableView } from "./table.ts";
import { withTerms } from "./terms.ts";
import { waterfallOf } from "./waterfall.ts";

const COLUMNS_OF_A_WIDE_TABLE = 14;

/* Always shown, even where the filter finds nothing in it. */
const ALWAYS_SHOWN = "step_ledger";

function numberElement(section: string, key: string, number: ReportNumber): HTMLElement {
  const isKnown = number.not_known === undefined;
  const text = isKnown ? formatValue(number.value, number.unit) : "not known";
  const isLong = number.unit === "text" && text.length > 40;
  return el(
    "div",
    {
      class: `fact ${isKnown ? "" : "unknown"} ${isLong ? "long" : ""}`,
    },
    el("dt", {}, number.title, helpOnNumber(section, key, number.title)),
    el(
      "dd",
      {},
      el(
        "span",
        {
          class: "value",
          "data-number": `${section}.${key}`,
          "data-value": String(number.value ?? ""),
        },
        text,
      ),
      number.not_known ? el("span", { class: "needs" }, number.not_known) : null,
      number.note ? el("span", { class: "needs" }, number.note) : null,
    ),
  );
}

/* Closed at first: a table of very many columns, or one that the terminal does not show either. */
function isForFewReaders(table: Table): boolean {
  const shown = table.columns.filter(
    (column) => (column.priority ?? 0) < PRIORITY_FOR_PROGRAMS,
  ).length;
  return shown === 0 || shown > COLUMNS_OF_A_WIDE_TABLE;
}

export class SectionView {
  readonly element: HTMLElement;
  private readonly tables: [Table, TableView, HTMLElement][] = [];

  constructor(
    private readonly report: Report,
    private readonly rank: Rank,
    readonly key: string,
    readonly section: Section,
  ) {
    this.element = this.build();
    onFilterChange(() => this.applyFilter());
  }

  private build(): HTMLElement {
    const { key, section, rank } = this;
    const numbers = Object.entries(section.numbers).filter(([, number]) => number.title !== "");
    return el(
      "section",
      { id: key, "aria-labelledby": `title-${key}` },
      el("h2", {}, el("span", { id: `title-${key}` }, section.title), foldButton(section.title)),
      section.intro ? el("p", { class: "intro" }, ...withTerms(section.intro)) : null,
      numbers.length > 0 &&
        el(
          "dl",
          { class: "facts" },
          ...numbers.map(([name, number]) => numberElement(key, name, number)),
        ),
      el("div", { class: "charts" }, ...this.charts()),
      findingList(key === "overview" ? null : rank, section.findings),
      el(
        "div",
        { class: "tables" },
        ...Object.entries(section.tables).map(([name, table]) => this.tableElement(name, table)),
      ),
    );
  }

  private charts(): Child[] {
    const { key, section, rank, report } = this;
    const context: ChartContext = {
      report,
      rank,
      section,
      filter: currentFilter(),
      filterTo: (account) => filterTo(rank, account),
    };
    const drawn = charts.filter((chart) => chart.section === key && chart.has(context));
    return [
      key === "step_ledger" ? waterfallOf(rank, section) : null,
      ...drawn.map((chart) => chartFigure(chart, context, key)),
    ];
  }

  /* What is drawn above, or has very many columns, is closed at first. */
  private tableElement(name: string, table: Table): HTMLElement | null {
    if (table.rows.length === 0) return null;
    const view = new TableView(this.key, name, table);
    const isClosed = isForFewReaders(table) || (this.key === "step_ledger" && name === "ledger");
    const element = isClosed
      ? el("details", {}, el("summary", {}, table.title), view.element)
      : view.element;
    this.tables.push([table, view, element]);
    return element;
  }

  /* Only tables that can tell what belongs to the account stay, and sections that have one with
   * rows. */
  private applyFilter(): void {
    const filter = currentFilter();
    const isFiltered = filter !== null;
    const isWhole =
      this.key === ALWAYS_SHOWN ||
      (filter !== null && sectionIsAbout(this.rank, this.key, filter.keys));
    let hasMatch = !isFiltered || isWhole || this.section.findings.some(findingPasses);
    for (const [, view, element] of this.tables) {
      const fits = view.canFilter() && view.matching().length > 0;
      element.hidden = isFiltered && !isWhole && !fits;
      hasMatch = hasMatch || fits;
    }
    this.element.hidden = !hasMatch;
  }
}
