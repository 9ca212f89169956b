/* Sections that are folded to their titles, by the reader. What a link, a search or the paper needs
 * is unfolded. */
import { el } from "./dom.ts";

const FOLDED = "folded";

function setFolded(section: Element, isFolded: boolean): void {
  section.classList.toggle(FOLDED, isFolded);
  const button = section.querySelector(":scope > h2 > .fold");
  button?.setAttribute("aria-expanded", String(!isFolded));
}

/* The button in a section's title. */
export function foldButton(title: string): HTMLElement {
  return el(
    "button",
    {
      class: "fold",
      "aria-expanded": "true",
      "aria-label": `Show or hide: ${title}`,
      onclick: (event) => {
        const section = (event.currentTarget as Element).closest("section")!;
        setFolded(section, !section.classList.contains(FOLDED));
      },
    },
    "▾",
  );
}

/* Folds or unfolds all sections. */
export function foldAllButton(): HTMLElement {
  const button = el("button", { class: "quiet fold-all" }, "fold all");
  button.addEventListener("click", () => {
    const sections = [...document.querySelectorAll("main > section")];
    const isFolding = sections.some((section) => !section.classList.contains(FOLDED));
    for (const section of sections) setFolded(section, isFolding);
    button.textContent = isFolding ? "unfold all" : "fold all";
  });
  return button;
}

/* So that `element` can be seen: its section is unfolded, parts around it are opened. */
export function unfoldTo(element: Element): void {
  const section = element.closest("main > section");
  if (section) setFolded(section, false);
  for (
    let closed = element.closest<HTMLDetailsElement>("details:not([open])");
    closed;
    closed = closed.parentElement!.closest("details:not([open])")
  )
    closed.open = true;
}
