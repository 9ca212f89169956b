/* Reads docs/glossary.md: what each word means, as plain text, by the word in small letters. */
import { readFileSync } from "node:fs";

const ROW = /^\| (.+?) \| (.+) \|$/gm;

const plain = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");

/* "MFU, HFU" are two words, "effective training time (goodput)" too. */
const wordsOf = (cell) => cell.split(/, | \(|\)/).filter(Boolean);

export function readGlossary(path) {
  const words = {};
  for (const [, cell, meaning] of readFileSync(path, "utf8").matchAll(ROW))
    if (cell !== "word" && !cell.startsWith("-"))
      for (const word of wordsOf(cell)) words[word.toLowerCase()] = plain(meaning);
  return words;
}
