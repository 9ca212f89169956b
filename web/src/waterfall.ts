/* The waterfall from all of the time, which is the peak, down to what the model needs: a bar a
 * line, each begins where the one above ends. Hover tells what a line is and what shows it; a click
 * filters the page to it. */
import { accountColor, accountDefinition } from "./accounts.ts";
import { el, swatch } from "./dom.ts";
import { currentFilter, filterTo, onFilterChange } from "./filter.ts";
import { formatFraction, formatTime } from "./format.ts";
import { addHoverCard } from "./hover_card.ts";
import { helpOnTable } from "./metric_help.ts";
import { cellNumber, cellText, Rank, Row, Section } from "./report.ts";
import { findingsOf, tableIn } from "./sections.ts";
import { onThemeChange } from "./theme.ts";

/* Where the bar of a line lies, as parts of the whole. */
interface Bar {
  row: Row;
  key: string;
  start: number;
  share: number;
}

/* Lines of one parent fill it from the right, each left of the one above. */
function barsOf(rows: Row[]): Bar[] {
  const ends: number[] = [1]; /* by depth: where the next bar of that depth ends */
  return rows.map((row) => {
    const key = cellText(row, "key");
    const share = cellNumber(row, "share") ?? 0;
    const depth = row.depth;
    if (key === "step") return { row, key, start: 0, share: 1 };
    const end = ends[depth] ?? 1;
    const start = Math.max(0, end - share);
    ends[depth] = start;
    ends[depth + 1] = end; /* its parts lie inside it */
    return { row, key, start, share };
  });
}

/* What shows how much it is: the advice about this account. */
function evidenceFor(rank: Rank, key: string): string[] {
  return findingsOf(rank)
    .filter((finding) => finding.accounts?.includes(key) && finding.evidence)
    .map((finding) => `${finding.what}: ${finding.evidence}`);
}

function cardFor(rank: Rank, bar: Bar): HTMLElement {
  const { row, key } = bar;
  const mean = cellNumber(row, "mean");
  const min = cellNumber(row, "min");
  const max = cellNumber(row, "max");
  const needs = row.not_known?.["mean"];
  return el(
    "div",
    {},
    el("strong", {}, swatch(accountColor(key)), cellText(row, "account")),
    el(
      "p",
      { class: "figures" },
      needs
        ? `not known: ${needs}`
        : `${formatTime(mean ?? 0)} per step, ${formatFraction(bar.share)}`,
      min !== null && max !== null && !needs ? `; ${formatTime(min)} to ${formatTime(max)}` : "",
    ),
    el("p", {}, accountDefinition(key)),
    ...evidenceFor(rank, key).map((text) => el("p", { class: "evidence" }, text)),
    el(
      "p",
      { class: "hint" },
      currentFilter()?.key === key
        ? "click: show everything again"
        : "click: only what belongs to it",
    ),
  );
}

function lineFor(rank: Rank, bar: Bar): HTMLElement {
  const { row, key } = bar;
  const needs = row.not_known?.["mean"];
  const fill = el("span", { class: "fill" });
  const name = el(
    "button",
    { class: "account", "data-account": key, "aria-pressed": "false" },
    el("span", { class: "swatch", "aria-hidden": "true" }),
    cellText(row, "account"),
  );
  const line = el(
    "tr",
    { class: `depth-${row.depth}`, "data-account": key },
    el("th", { scope: "row" }, name),
    el("td", { class: "track" }, el("span", { class: "rail" }, fill)),
    el(
      "td",
      { class: "number share", "data-value": needs ? "" : bar.share },
      needs ? "not known" : formatFraction(bar.share),
    ),
    el(
      "td",
      { class: "number mean", "data-value": String(row["mean"] ?? "") },
      needs ? "" : formatTime(cellNumber(row, "mean") ?? 0),
    ),
  );
  line.style.setProperty("--depth", String(row.depth));
  fill.hidden = bar.share === 0;
  fill.style.left = `${bar.start * 100}%`;
  fill.style.width = `${Math.min(1, bar.share) * 100}%`;
  line.addEventListener("click", () => filterTo(rank, key));
  addHoverCard(name, () => cardFor(rank, bar));
  addHoverCard(line, () => cardFor(rank, bar));
  return line;
}

function paint(lines: HTMLElement[]): void {
  const filter = currentFilter();
  for (const line of lines) {
    const key = line.dataset["account"] ?? "";
    line.style.setProperty("--fill", accountColor(key));
    line.classList.toggle("off", filter !== null && !filter.keys.has(key));
    line.querySelector("button")!.setAttribute("aria-pressed", String(filter?.key === key));
  }
}

/* null where the section has no ledger. */
export function waterfallOf(rank: Rank, section: Section): HTMLElement | null {
  const table = tableIn(section, ["step_ledger", "ledger"]);
  if (!table || table.rows.length === 0) return null;
  const lines = barsOf(table.rows).map((bar) => lineFor(rank, bar));
  const repaint = () => paint(lines);
  onFilterChange(repaint);
  onThemeChange(repaint);
  repaint();
  return el(
    "figure",
    { class: "wide", "data-chart": "waterfall", "data-drawn": "true" },
    el(
      "figcaption",
      {},
      el("h3", { id: "waterfall-title" }, "From the peak to the model's own work"),
      helpOnTable("step_ledger", "ledger", table),
    ),
    table.note ? el("p", { class: "note" }, table.note) : null,
    el(
      "table",
      { class: "waterfall", "aria-labelledby": "waterfall-title" },
      el(
        "thead",
        { class: "heard" },
        el(
          "tr",
          {},
          ...["account", "bar", "of the step", "mean per step"].map((title) =>
            el("th", { scope: "col" }, title),
          ),
        ),
      ),
      el("tbody", {}, ...lines),
    ),
  );
}
