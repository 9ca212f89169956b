/* What stands above the canvas: search, steps, the critical path, zoom. */
import { el } from "../dom.ts";
import { stepName } from "./cards.ts";
import { Timeline, TimelineStep } from "./data.ts";

/* What the tools do. */
export interface Tools {
  readonly timeline: Timeline;
  search(text: string): void;
  goToMatch(by: number): void;
  showStep(step: TimelineStep): void;
  togglePath(): void;
  zoom(factor: number): void;
  showAll(): void;
}

/* `found` says what the search found; `pathButton` is what makePathButton() gave. */
export function toolbar(
  tools: Tools,
  searched: string,
  found: HTMLElement,
  pathButton: HTMLElement | null,
): HTMLElement {
  const search = el("input", {
    type: "search",
    placeholder: "Search names and modules",
    "aria-label": "Search the timeline",
    value: searched,
    oninput: () => tools.search(search.value),
    onkeydown: (event) => {
      if ((event as KeyboardEvent).key === "Enter")
        tools.goToMatch((event as KeyboardEvent).shiftKey ? -1 : 1);
      event.stopPropagation();
    },
  });
  const button = (text: string, label: string, act: () => void) =>
    el(
      "button",
      { type: "button", class: "quiet", title: label, "aria-label": label, onclick: act },
      text,
    );
  return el(
    "div",
    { class: "timeline-tools", role: "toolbar", "aria-label": "Timeline" },
    search,
    button("↑", "Match before", () => tools.goToMatch(-1)),
    button("↓", "Match behind", () => tools.goToMatch(1)),
    found,
    stepChoice(tools),
    pathButton,
    button("+", "Closer (W)", () => tools.zoom(0.5)),
    button("−", "Further away (S)", () => tools.zoom(2)),
    button("all", "all: the whole trace (0)", () => tools.showAll()),
  );
}

export function makePathButton(tools: Tools, isPressed: boolean): HTMLElement | null {
  const { path } = tools.timeline.written;
  if (!path) return null;
  const title = `Frame the critical path of ${tools.timeline.written.step_word} ${path.step} (C)`;
  return el(
    "button",
    {
      type: "button",
      class: "quiet",
      title,
      "aria-pressed": String(isPressed),
      onclick: () => tools.togglePath(),
    },
    "critical path",
  );
}

function stepChoice(tools: Tools): HTMLElement | null {
  const { steps } = tools.timeline.written;
  if (steps.length < 2) return null;
  const select = el("select", {
    "aria-label": "Go to a step",
    onchange: () => {
      const step = steps[select.selectedIndex - 1];
      if (step) tools.showStep(step);
    },
  });
  select.appendChild(el("option", {}, `go to ${tools.timeline.written.step_word} …`));
  for (const step of steps)
    select.appendChild(
      el(
        "option",
        {},
        stepName(tools.timeline, step) +
          (step.outlier ? "  outlier" : step.typical ? "  typical" : ""),
      ),
    );
  return select;
}
