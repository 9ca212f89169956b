/* "How this number was made": the page of docs/metrics about a number or a table, in a dialog. */
import { names, pages } from "metric-pages";
import { el, replace } from "./dom.ts";
import { Table } from "./report.ts";

let dialog: HTMLDialogElement | null = null;

function openDialog(): HTMLDialogElement {
  if (!dialog) {
    dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" });
    dialog.addEventListener("click", (event) => {
      const target = event.target as HTMLElement;
      const page = target.closest<HTMLElement>("[data-page]")?.dataset["page"];
      if (page) {
        event.preventDefault();
        showPages([page]);
      } else if (target === dialog) dialog.close();
    });
    document.body.appendChild(dialog);
  }
  if (!dialog.open) dialog.showModal();
  return dialog;
}

/* The first page in full; of the others the titles, to choose from. */
function showPages(slugs: string[]): void {
  const page = pages[slugs[0] ?? ""];
  const article = el("article");
  const box = openDialog();
  const others = slugs.slice(1).filter((slug) => pages[slug]);
  if (!page) return;
  article.innerHTML = page.html; /* docs/metrics as HTML, made when the program was built */
  replace(
    box,
    el(
      "header",
      {},
      el("h2", { id: "help-title" }, page.title),
      el("button", { class: "quiet", "aria-label": "Close", onclick: () => box.close() }, "✕"),
    ),
    others.length > 0 &&
      el(
        "nav",
        { "aria-label": "Other numbers of this table" },
        ...others.map((slug) => {
          const link = el("button", { class: "link" }, pages[slug]!.title);
          link.addEventListener("click", () =>
            showPages([slug, ...slugs.filter((other) => other !== slug)]),
          );
          return link;
        }),
      ),
    article,
  );
  box.scrollTop = 0;
}

function button(slugs: string[], of: string): HTMLElement | null {
  if (slugs.length === 0) return null;
  return el(
    "button",
    {
      class: "how",
      title: "How this number was made",
      "aria-label": `How this number was made: ${of}`,
      "data-pages": slugs.join(" "),
      onclick: () => showPages(slugs),
    },
    "?",
  );
}

export function helpOnNumber(section: string, key: string, title: string): HTMLElement | null {
  const page = names[`${section}.${key}`];
  return button(page ? [page] : [], title);
}

/* The pages of a table's columns, the one of most columns first. */
export function pagesOfTable(section: string, key: string, table: Table): string[] {
  const counts = new Map<string, number>();
  for (const column of table.columns) {
    const page = names[`${section}.${key}.${column.key}`];
    if (page) counts.set(page, (counts.get(page) ?? 0) + 1);
  }
  return [...counts.entries()].sort((a, b) => b[1] - a[1]).map(([page]) => page);
}

export function helpOnTable(section: string, key: string, table: Table): HTMLElement | null {
  return button(pagesOfTable(section, key, table), table.title);
}

/* One sentence about a column, "" where no page is about it. */
export function summaryOfColumn(section: string, table: string, column: string): string {
  const page = names[`${section}.${table}.${column}`];
  return page ? (pages[page]?.summary ?? "") : "";
}
