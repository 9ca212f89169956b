/* The first thing to read: the first screens of the job and of the rank, as on a terminal. */
import { el } from "./dom.ts";
import { findingList } from "./findings.ts";
import { Rank, Report } from "./report.ts";
import { jobScreen, rankScreen, screenOf } from "./screen.ts";

/* Of all ranks together; null for one. */
export function jobHeadlineOf(): HTMLElement | null {
  const screen = jobScreen();
  return screen && screenOf(screen, "h1", "job");
}

export function headlineOf(report: Report, rank: Rank, index: number): HTMLElement {
  const screen = rankScreen(index);
  const level = jobScreen() ? "h2" : "h1";
  const element = screen
    ? screenOf(screen, level, "headline")
    : el(
        "header",
        { class: "headline", id: "headline" },
        el(level, {}, rank.headline ?? rank.label),
      );
  const problems = findingList(null, report.problems);
  if (problems) element.append(problems);
  return element;
}
