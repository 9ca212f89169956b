/* A card beside an element while the pointer is on it or it has the focus. */
import { el, replace } from "./dom.ts";

const card = el("div", { class: "hover-card floating", role: "tooltip", id: "hover-card" });

function place(anchor: Element): void {
  const box = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = card;
  const below = box.bottom + 6 + height <= window.innerHeight;
  card.style.left = `${Math.max(8, Math.min(box.left + 24, window.innerWidth - width - 8))}px`;
  card.style.top = `${Math.max(8, below ? box.bottom + 6 : box.top - height - 6)}px`;
}

function hide(): void {
  card.remove();
}

/* `make` gives what the card shows, each time anew. */
export function addHoverCard(anchor: HTMLElement, make: () => HTMLElement): void {
  const show = () => {
    replace(card, make());
    document.body.appendChild(card);
    place(anchor);
  };
  anchor.setAttribute("aria-describedby", "hover-card");
  anchor.addEventListener("mouseenter", show);
  anchor.addEventListener("focus", show);
  anchor.addEventListener("mouseleave", hide);
  anchor.addEventListener("blur", hide);
  anchor.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
}

window.addEventListener("scroll", hide, { passive: true });
