/* A search over everything that the page holds: sections, numbers, tables and their rows, findings,
 * words of the glossary. `/` goes there. */
import { words } from "glossary";
import { el, replace } from "./dom.ts";
import { unfoldTo } from "./folds.ts";
import { Report, Rank, Section, Table } from "./report.ts";

const RESULTS_MAX = 30;
const KINDS = ["section", "number", "finding", "table", "word", "row"] as const;

interface Entry {
  kind: (typeof KINDS)[number];
  title: string;
  where: string; /* the section's title, or what a word means */
  text: string; /* in small letters: what is searched */
  open: () => void;
}

function goTo(id: string): void {
  const target = document.getElementById(id);
  if (!target) return;
  unfoldTo(target);
  if (location.hash === `#${id}`) target.scrollIntoView();
  else location.hash = id;
}

/* Shows a table, of which only the rows with this text where it has a search of its own. */
function goToRow(id: string, name: string): void {
  goTo(id);
  const box = document.getElementById(id)?.querySelector<HTMLInputElement>("input[type=search]");
  if (!box) return;
  box.value = name;
  box.dispatchEvent(new Event("input"));
}

function goToNumber(name: string): void {
  const number = document.querySelector(`[data-number="${CSS.escape(name)}"]`);
  if (!number) return;
  unfoldTo(number);
  number.scrollIntoView({ block: "center" });
}

function entry(kind: Entry["kind"], title: string, where: string, open: () => void): Entry {
  return { kind, title, where, text: `${title} ${where}`.toLowerCase(), open };
}

function entriesOfTable(key: string, section: Section, name: string, table: Table): Entry[] {
  const id = `table-${key}-${name}`;
  const first = table.columns.find((column) => column.unit === "text")?.key;
  const titles = first ? table.rows.map((row) => row[first]) : [];
  const rows = [...new Set(titles)]
    .filter((title): title is string => typeof title === "string" && title !== "")
    .map((title) => entry("row", title, table.title, () => goToRow(id, title)));
  return [entry("table", table.title, section.title, () => goTo(id)), ...rows];
}

function entriesOf(key: string, section: Section): Entry[] {
  return [
    entry("section", section.title, section.intro ?? "", () => goTo(key)),
    ...Object.entries(section.numbers)
      .filter(([, number]) => number.title !== "")
      .map(([name, number]) =>
        entry("number", number.title, section.title, () => goToNumber(`${key}.${name}`)),
      ),
    ...section.findings.map((finding) =>
      entry("finding", finding.what, finding.try ?? section.title, () =>
        goTo(finding.id ? `advice-${finding.id}` : key),
      ),
    ),
    ...Object.entries(section.tables)
      .filter(([, table]) => table.rows.length > 0)
      .flatMap(([name, table]) => entriesOfTable(key, section, name, table)),
  ];
}

/* Those with all words of `wanted` by KINDS; a title that begins with the first comes first. */
function found(entries: Entry[], wanted: string): Entry[] {
  const needles = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (needles.length === 0) return [];
  const rank = ({ title, kind }: Entry) =>
    (title.toLowerCase().startsWith(needles[0]!) ? 0 : KINDS.length) + KINDS.indexOf(kind);
  return entries
    .filter(({ text }) => needles.every((needle) => text.includes(needle)))
    .sort((a, b) => rank(a) - rank(b));
}

class SearchBox {
  readonly element: HTMLElement;
  private readonly box: HTMLInputElement;
  private readonly list: HTMLElement;
  private entries: Entry[] | null = null;
  private shown: Entry[] = [];
  private chosen = 0;

  constructor(
    private readonly report: Report,
    private readonly rank: Rank,
  ) {
    this.list = el("ul", { role: "listbox", id: "search-results", "aria-label": "Found" });
    this.list.hidden = true;
    this.box = el("input", {
      type: "search",
      role: "combobox",
      placeholder: "search  /",
      "aria-label": "Search everything",
      "aria-controls": "search-results",
      "aria-expanded": "false",
      oninput: () => this.update(),
      onkeydown: (event) => this.key(event as KeyboardEvent),
      onblur: () => this.close(),
    });
    this.element = el("div", { class: "search-all" }, this.box, this.list);
  }

  focus(): void {
    this.box.focus();
    this.box.select();
  }

  private all(): Entry[] {
    const sections = { ...this.rank.sections };
    if (this.report.overview) sections["overview"] = this.report.overview;
    this.entries ??= [
      ...Object.entries(sections).flatMap(([key, section]) => entriesOf(key, section)),
      ...Object.entries(words).map(([word, meaning]) => entry("word", word, meaning!, () => {})),
    ];
    return this.entries;
  }

  private update(): void {
    const all = found(this.all(), this.box.value);
    this.shown = all.slice(0, RESULTS_MAX);
    this.chosen = 0;
    this.list.hidden = this.box.value.trim() === "";
    this.box.setAttribute("aria-expanded", String(!this.list.hidden));
    this.draw(all.length);
  }

  private draw(count: number): void {
    const items = this.shown.map((each, index) =>
      el(
        "li",
        {
          id: `search-result-${index}`,
          role: "option",
          "aria-selected": String(index === this.chosen),
          onmousedown: (event) => {
            event.preventDefault();
            this.open(each);
          },
        },
        el("span", { class: "kind" }, each.kind),
        el("strong", {}, each.title),
        el("span", { class: "where" }, each.where),
      ),
    );
    const rest = count - items.length;
    const last =
      count === 0 ? "nothing found" : rest > 0 ? `and ${rest} more: type another word` : "";
    replace(this.list, ...items, last && el("li", { class: "rest", role: "option" }, last));
    if (this.shown.length > 0)
      this.box.setAttribute("aria-activedescendant", `search-result-${this.chosen}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      event.stopPropagation();
      this.close();
      this.box.blur();
    } else if (event.key === "Enter" && this.shown[this.chosen])
      this.open(this.shown[this.chosen]!);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const by = event.key === "ArrowDown" ? 1 : -1;
      this.chosen = Math.min(Math.max(this.chosen + by, 0), Math.max(0, this.shown.length - 1));
      [...this.list.children].forEach((item, index) =>
        item.setAttribute("aria-selected", String(index === this.chosen)),
      );
      this.box.setAttribute("aria-activedescendant", `search-result-${this.chosen}`);
      this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
    }
  }

  private open(chosen: Entry): void {
    if (chosen.kind === "word") return;
    this.close();
    this.box.blur();
    chosen.open();
  }

  private close(): void {
    this.list.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
  }
}

let current: SearchBox | null = null;

/* The box for the bar; there is one at a time. */
export function searchBox(report: Report, rank: Rank): HTMLElement {
  current = new SearchBox(report, rank);
  return current.element;
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches("input, textarea, select");

export function startSearch(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    current?.focus();
  });
}
