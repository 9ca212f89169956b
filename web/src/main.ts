/* The page: its bar, its list of contents, and the sections of the rank that is chosen. */
import { append, el, replace } from "./dom.ts";
import {
  clearFilter,
  currentFilter,
  forgetSectionListeners,
  keepListeners,
  onFilterChange,
} from "./filter.ts";
import { drawAllFigures, removeFigures, startFigures } from "./figure.ts";
import { foldAllButton, unfoldTo } from "./folds.ts";
import { headlineOf, jobHeadlineOf } from "./headline.ts";
import { goToStep, stepOfFragment } from "./links.ts";
import { Rank, readBlock, Report } from "./report.ts";
import { jobScreen } from "./screen.ts";
import { searchBox, startSearch } from "./search.ts";
import { SectionView } from "./section.ts";
import { startTheme, switchTheme } from "./theme.ts";
import { timelineSection } from "./timeline/section.ts";

/* The sections that come first, in this order; all others follow as the report has them. */
const FIRST = [
  "overview",
  "difference",
  "step_ledger",
  "timeline",
  "advice",
  "model_flops_utilization",
  "roofline",
  "tensor_core_use",
  "kernels",
  "operators",
  "collectives",
];
const LAST = ["conventions", "run", "runs"];

function sectionsOf(report: Report, rank: Rank): SectionView[] {
  const timeline = timelineSection(report, rank);
  const sections = {
    ...rank.sections,
    ...(report.overview ? { overview: report.overview } : {}),
    ...(timeline ? { timeline } : {}),
  };
  const place = (key: string) => {
    const last = LAST.indexOf(key);
    const first = FIRST.indexOf(key);
    return last >= 0 ? 1000 + last : first >= 0 ? first : 500;
  };
  return Object.entries(sections)
    .sort(([a], [b]) => place(a) - place(b))
    .map(([key, section]) => new SectionView(report, rank, key, section));
}

/* The section of all ranks stands between what the job comes to and what the chosen rank does. */
function overviewFirst(views: SectionView[], headline: HTMLElement): Element[] {
  const ofJob = views.filter((view) => view.key === "overview").map((view) => view.element);
  const ofRank = views.filter((view) => view.key !== "overview").map((view) => view.element);
  return [...ofJob, headline, ...ofRank];
}

/* The list of contents, where the section on the screen is marked. */
function contentsOf(views: SectionView[]): HTMLElement {
  const links = new Map(
    views.map(
      (view) =>
        [view.element as Element, el("a", { href: `#${view.key}` }, view.section.title)] as const,
    ),
  );
  const seen = new Set<Element>();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) seen.add(entry.target);
        else seen.delete(entry.target);
      }
      const first = views.find((view) => seen.has(view.element));
      for (const [element, link] of links) {
        if (element === first?.element) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-64px 0px -60% 0px" },
  );
  for (const view of views) watch.observe(view.element);
  onFilterChange(() => {
    for (const [element, link] of links)
      link.classList.toggle("off", (element as HTMLElement).hidden);
  });
  return el(
    "nav",
    { class: "contents", "aria-label": "Contents" },
    foldAllButton(),
    ...links.values(),
  );
}

function filterChip(): HTMLElement {
  const chip = el("div", { class: "filter", role: "status" });
  const draw = () => {
    const filter = currentFilter();
    if (!filter) replace(chip);
    else
      replace(
        chip,
        "only ",
        el("strong", {}, filter.title),
        el(
          "button",
          { class: "quiet", onclick: clearFilter, "aria-label": "Show everything again" },
          "✕",
        ),
      );
  };
  onFilterChange(draw);
  return chip;
}

function rankChoice(
  report: Report,
  chosen: number,
  choose: (index: number) => void,
): HTMLElement | null {
  if (report.ranks.length < 2) return null;
  const select = el("select", {
    "aria-label": "Rank",
    onchange: () => choose(select.selectedIndex),
  });
  report.ranks.forEach((rank, index) => {
    select.appendChild(el("option", { selected: index === chosen }, rank.label));
  });
  return select;
}

function show(report: Report, index: number): void {
  const rank = report.ranks[index]!;
  const page = document.getElementById("page")!;
  clearFilter();
  forgetSectionListeners();
  removeFigures();
  const views = sectionsOf(report, rank);
  replace(
    page,
    el(
      "div",
      { class: "bar" },
      el("strong", { class: "brand" }, "flopledger"),
      el("span", { class: "file", title: rank.file }, rank.file),
      rankChoice(report, index, (next) => show(report, next)),
      filterChip(),
      searchBox(report, rank),
      el(
        "button",
        {
          class: "quiet theme",
          onclick: switchTheme,
          title: "Light or dark",
          "aria-label": "Switch between light and dark",
        },
        "◐",
      ),
    ),
    contentsOf(views),
    el(
      "main",
      { id: "content", tabindex: "-1" },
      jobHeadlineOf(),
      ...overviewFirst(views, headlineOf(report, rank, index)),
    ),
  );
}

/* A link to something in a closed part opens it; "#step-7" is the step of that number. */
function openTarget(): void {
  const fragment = decodeURIComponent(location.hash.slice(1));
  const step = stepOfFragment(fragment);
  if (step !== null) goToStep(step);
  const target = step === null ? document.getElementById(fragment) : null;
  if (!target || target.id === "content") return;
  unfoldTo(target);
  target.scrollIntoView();
}

function start(): void {
  const report = readBlock<Report>("report");
  const page = document.getElementById("page")!;
  if (!report || report.ranks.length === 0) {
    append(page, [el("p", { class: "alone" }, "This page holds no report.")]);
    return;
  }
  document.title = jobScreen()
    ? `flopledger: ${jobScreen()!.subject}`
    : `flopledger: ${report.ranks[0]!.label}`;
  startTheme();
  startFigures();
  keepListeners();
  startSearch();
  show(report, 0);
  openTarget();
  window.addEventListener("hashchange", openTarget);
  window.addEventListener("beforeprint", drawAllFigures);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !document.querySelector("dialog[open]")) clearFilter();
  });
}

start();
