/* Elements, made without markup: a text is always only a text, whatever characters it holds. */

export type Child = Node | string | null | undefined | false;
export type Attributes = Record<
  string,
  string | number | boolean | null | undefined | ((event: Event) => void)
>;

/* el("button", {class: "chip", onclick: clear}, "clear"): a function is a listener; false, null and
 * undefined leave an attribute out, true gives it no value. */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(key, String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child instanceof Node) parent.appendChild(child);
    else if (typeof child === "string" && child !== "")
      parent.appendChild(document.createTextNode(child));
  }
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/* For the id of an element. */
export function idOf(...parts: string[]): string {
  return parts.join("-").replace(/[^A-Za-z0-9_-]/g, "_");
}

/* A coloured square before an account's name. */
export function swatch(color: string): HTMLElement {
  const square = el("span", { class: "swatch", "aria-hidden": "true" });
  square.style.background = color;
  return square;
}
