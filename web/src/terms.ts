/* Words of the glossary in a text: what they mean shows on hover. */
import { words } from "glossary";
import { Child, el } from "./dom.ts";

const PATTERN = new RegExp(
  `\\b(${Object.keys(words)
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("|")})s?\\b`,
  "gi",
);

/* The text in parts: each word of the glossary, where it stands first, explains itself. */
export function withTerms(text: string): Child[] {
  const parts: Child[] = [];
  const seen = new Set<string>();
  let at = 0;
  for (const match of text.matchAll(PATTERN)) {
    const word = match[1]!.toLowerCase();
    if (seen.has(word)) continue;
    seen.add(word);
    parts.push(
      text.slice(at, match.index),
      el("abbr", { class: "term", title: `${match[1]!}: ${words[word]!}` }, match[0]),
    );
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
