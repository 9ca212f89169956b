/* A table of the report: sorted by a click on a column's title, searched, a few rows at first, all
 * of them when asked; rows that are parts of another stay below it. A row opens to show all that it
 * holds. */
import { el, idOf, replace } from "./dom.ts";
import { accountColumns, currentFilter, onFilterChange, rowPasses } from "./filter.ts";
import { formatCount, formatValue } from "./format.ts";
import { helpOnTable, summaryOfColumn } from "./metric_help.ts";
import { Column, PRIORITY_FOR_PROGRAMS, Row, Table } from "./report.ts";

const ROWS_AT_FIRST = 12;
const ROWS_MORE = 100;
const ROWS_SEARCHED_FROM = 8; /* a shorter table needs no search */

interface Order {
  column: Column;
  direction: 1 | -1;
}

/* A row and those below it that are its parts. */
interface Branch {
  row: Row;
  parts: Branch[];
}

function isShown(column: Column, table: Table): boolean {
  if ((column.priority ?? 0) >= PRIORITY_FOR_PROGRAMS) return false;
  return table.rows.some((row) => {
    const cell = row[column.key];
    return (
      (cell !== null && cell !== "" && cell !== undefined) ||
      row.not_known?.[column.key] !== undefined
    );
  });
}

/* A table that is for programs altogether shows all it has. */
function shownColumns(table: Table): Column[] {
  const shown = table.columns.filter((column) => isShown(column, table));
  return shown.length > 0 ? shown : table.columns;
}

function treeOf(rows: Row[]): Branch[] {
  const top: Branch[] = [];
  const open: Branch[] = [];
  for (const row of rows) {
    const branch = { row, parts: [] };
    open.length = Math.min(open.length, row.depth);
    (open.length > 0 ? open[open.length - 1]!.parts : top).push(branch);
    open.push(branch);
  }
  return top;
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/* Empty cells stand last, whichever way it is sorted. */
function sorted(branches: Branch[], order: Order): Branch[] {
  const key = order.column.key;
  const isEmpty = (branch: Branch) => branch.row[key] === null || branch.row[key] === "";
  return branches.slice().sort((a, b) => {
    if (isEmpty(a) || isEmpty(b)) return Number(isEmpty(a)) - Number(isEmpty(b));
    return order.direction * compare(a.row[key], b.row[key]);
  });
}

function flatten(branches: Branch[], order: Order | null): Row[] {
  const rows: Row[] = [];
  const stack = (order ? sorted(branches, order) : branches).slice().reverse();
  while (stack.length > 0) {
    const branch = stack.pop()!;
    rows.push(branch.row);
    const parts = order ? sorted(branch.parts, order) : branch.parts;
    for (let i = parts.length - 1; i >= 0; i--) stack.push(parts[i]!);
  }
  return rows;
}

/* Rows that pass, and those that they are parts of. */
function withAncestors(rows: Row[], passes: (row: Row) => boolean): Row[] {
  const keep = new Set<Row>();
  const open: Row[] = [];
  for (const row of rows) {
    open.length = Math.min(open.length, row.depth);
    open.push(row);
    if (passes(row)) for (const ancestor of open) keep.add(ancestor);
  }
  return rows.filter((row) => keep.has(row));
}

export class TableView {
  readonly element: HTMLElement;
  readonly id: string;
  private readonly shown: Column[];
  private readonly tree: Branch[];
  private readonly accounts: string[];
  private readonly body = el("tbody");
  private readonly head = el("tr");
  private readonly foot = el("p", { class: "more" });
  private readonly texts: Map<Row, string> = new Map();
  private order: Order | null = null;
  private search = "";
  private limit = ROWS_AT_FIRST;

  constructor(
    private readonly section: string,
    private readonly key: string,
    private readonly table: Table,
  ) {
    this.id = idOf("table", section, key);
    this.shown = shownColumns(table);
    this.tree = treeOf(table.rows);
    this.accounts = accountColumns(table);
    if (table.rows.length <= ROWS_AT_FIRST + 3) this.limit = ROWS_AT_FIRST + 3;
    this.element = this.build();
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    onFilterChange(() => this.draw());
    this.draw();
  }

  /* Rows there are with the filter and the search as they are. */
  matching(): Row[] {
    const rows = flatten(this.tree, this.order);
    const needle = this.search.toLowerCase();
    const isFiltered = currentFilter() !== null && this.accounts.length > 0;
    if (!needle && !isFiltered) return rows;
    return withAncestors(
      rows,
      (row) =>
        (!isFiltered || rowPasses(row, this.accounts)) &&
        (!needle || this.textOf(row).includes(needle)),
    );
  }

  /* The filter says something about this table. */
  canFilter(): boolean {
    return this.accounts.length > 0;
  }

  private textOf(row: Row): string {
    let text = this.texts.get(row);
    if (text === undefined) {
      text = this.shown
        .map((column) => formatValue(row[column.key], column.unit))
        .join(" ")
        .toLowerCase();
      this.texts.set(row, text);
    }
    return text;
  }

  private build(): HTMLElement {
    const { table } = this;
    const titleId = idOf(this.id, "title");
    const isSearched = table.rows.length >= ROWS_SEARCHED_FROM;
    const box = el("input", {
      type: "search",
      placeholder: "search",
      "aria-label": `Search in ${table.title}`,
      oninput: () => {
        this.search = box.value;
        this.draw();
      },
    });
    for (const column of this.shown) this.head.appendChild(this.columnTitle(column));
    return el(
      "div",
      { class: "table", id: this.id },
      el(
        "div",
        { class: "caption" },
        el("h3", { id: titleId }, table.title),
        helpOnTable(this.section, this.key, table),
        isSearched && box,
      ),
      table.note ? el("p", { class: "note" }, table.note) : null,
      el(
        "div",
        { class: "scroll", tabindex: "-1" },
        el("table", { "aria-labelledby": titleId }, el("thead", {}, this.head), this.body),
      ),
      this.foot,
    );
  }

  private columnTitle(column: Column): HTMLElement {
    const isText = column.unit === "text";
    const cell = el("th", {
      scope: "col",
      class: isText ? "text" : "number",
      "data-column": column.key,
      title: summaryOfColumn(this.section, this.key, column.key),
    });
    const sort = () => {
      const wasFirst = this.order?.column === column;
      const first = isText ? 1 : -1;
      if (!wasFirst) this.order = { column, direction: first };
      else if (this.order!.direction === first)
        this.order = { column, direction: -first as 1 | -1 };
      else this.order = null;
      this.draw();
    };
    cell.appendChild(el("button", { class: "sort", onclick: sort }, column.title || "\u00a0"));
    return cell;
  }

  private draw(): void {
    const rows = this.matching();
    const count = Math.min(rows.length, this.limit);
    replace(
      this.body,
      ...rows.slice(0, count).map((row, index) => this.rowElement(row, index === 0)),
    );
    for (const cell of this.head.children) {
      const isOrder = this.order?.column.key === (cell as HTMLElement).dataset["column"];
      cell.setAttribute(
        "aria-sort",
        !isOrder ? "none" : this.order!.direction === 1 ? "ascending" : "descending",
      );
    }
    this.drawFoot(rows.length, count);
  }

  private drawFoot(matching: number, shown: number): void {
    const { rows, rows_in_all } = this.table;
    const more = (label: string, limit: number) =>
      el(
        "button",
        {
          class: "link",
          onclick: () => {
            this.limit = limit;
            this.draw();
          },
        },
        label,
      );
    const cut =
      rows_in_all > rows.length
        ? `, the page holds ${formatCount(rows.length)} of ${formatCount(rows_in_all)}`
        : "";
    if (matching === 0)
      replace(this.foot, this.search || currentFilter() ? "No row fits." : "No rows.");
    else if (shown === matching && shown === rows.length && !cut) replace(this.foot);
    else
      replace(
        this.foot,
        `${formatCount(shown)} of ${formatCount(matching)} rows${cut} `,
        shown < matching &&
          more(`${formatCount(Math.min(ROWS_MORE, matching - shown))} more`, shown + ROWS_MORE),
        shown + ROWS_MORE < matching && more("all", matching),
        this.limit > ROWS_AT_FIRST + 3 && more("fewer", ROWS_AT_FIRST),
      );
  }

  private rowElement(row: Row, isFirst: boolean): HTMLElement {
    const element = el("tr", {
      tabindex: isFirst ? "0" : "-1",
      class: row.depth > 0 ? `part depth-${Math.min(row.depth, 9)}` : "",
    });
    this.shown.forEach((column, index) =>
      element.appendChild(this.cellElement(row, column, index)),
    );
    element.addEventListener("click", (event) => {
      if (!(event.target as HTMLElement).closest("button") && !window.getSelection()?.toString())
        this.toggle(element, row);
    });
    return element;
  }

  private cellElement(row: Row, column: Column, index: number): HTMLElement {
    const value = row[column.key];
    const needs = row.not_known?.[column.key];
    const text = needs !== undefined ? "not known" : formatValue(value, column.unit);
    const isText = column.unit === "text" || typeof value === "string";
    const exact = typeof value === "number" ? `${value}` : text;
    const cell = el(index === 0 ? "th" : "td", {
      scope: index === 0 ? "row" : null,
      class: [
        isText ? "text" : "number",
        needs !== undefined ? "unknown" : "",
        index === 0 ? "first" : "",
      ].join(" "),
      title: needs ?? (isText ? (text.length > 24 ? text : null) : exact),
    });
    if (index === 0 && row.depth > 0) cell.style.setProperty("--depth", String(row.depth));
    if (column.bar && typeof value === "number" && column.unit === "fraction") {
      cell.classList.add("bar");
      cell.style.setProperty("--share", String(Math.max(0, Math.min(1, value))));
    }
    cell.appendChild(el("span", {}, text));
    return cell;
  }

  /* Everything a row holds, in full, below it. */
  private toggle(element: HTMLElement, row: Row): void {
    const next = element.nextElementSibling;
    if (next?.classList.contains("detail")) {
      next.remove();
      element.classList.remove("open");
      return;
    }
    const facts = el("dl");
    for (const column of this.table.columns) {
      const needs = row.not_known?.[column.key];
      const text =
        needs !== undefined ? `not known: ${needs}` : formatValue(row[column.key], column.unit);
      const isForPrograms = (column.priority ?? 0) >= PRIORITY_FOR_PROGRAMS;
      if (text === "" || (isForPrograms && (column.key === "key" || column.key.endsWith("_key"))))
        continue;
      facts.append(el("div", {}, el("dt", {}, column.title || column.key), el("dd", {}, text)));
    }
    element.classList.add("open");
    element.after(el("tr", { class: "detail" }, el("td", { colspan: this.shown.length }, facts)));
  }

  /* Arrow keys move from row to row; Enter opens one. */
  private onKey(event: KeyboardEvent): void {
    const rows = [...this.body.children].filter(
      (row) => !row.classList.contains("detail"),
    ) as HTMLElement[];
    const at = rows.indexOf(event.target as HTMLElement);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + 10,
      PageUp: at - 10,
      Home: 0,
      End: rows.length - 1,
    };
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") rows[at]!.click();
    else if (event.key in steps) {
      const to = rows[Math.max(0, Math.min(rows.length - 1, steps[event.key]!))]!;
      rows[at]!.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else return;
    event.preventDefault();
  }
}
