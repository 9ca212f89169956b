/* Reads docs/metrics: each page as HTML, and which page explains which name of the JSON report. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const NAME = /`([a-z0-9_]+(?:\.[a-z0-9_]+)+)`/g;

function escape(text) {
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}

/* Code, links and emphasis. A link to another page becomes data-page; any other is left out, its
 * text stays. */
function inline(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => {
      if (part.startsWith("`")) return `<code>${escape(part.slice(1, -1))}</code>`;
      return escape(part)
        .replace(
          /\[([^\]]*)\]\(([a-z0-9-]+)\.md(?:#[^)]*)?\)/g,
          '<a href="#" data-page="$2">$1</a>',
        )
        .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
        .replace(/(^|[\s(])\*([^*\s][^*]*)\*/g, "$1<em>$2</em>");
    })
    .join("");
}

function tableAsHtml(lines) {
  const cells = (line) =>
    line
      .replace(/^\||\|\s*$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => inline(cell.trim().replace(/\\\|/g, "|")));
  const row = (line, tag) =>
    `<tr>${cells(line)
      .map((cell) => `<${tag}>${cell}</${tag}>`)
      .join("")}</tr>`;
  const body = lines.slice(2).map((line) => row(line, "td"));
  return `<table><thead>${row(lines[0], "th")}</thead><tbody>${body.join("")}</tbody></table>`;
}

/* Lines of one paragraph: two spaces at the end of a line are a line break. */
function paragraph(lines) {
  return inline(
    lines.map((line) => (line.endsWith("  ") ? `${line.trim()}\u0001` : line.trim())).join(" "),
  ).replace(/\u0001 ?/g, "<br>");
}

function listAsHtml(lines, tag) {
  const items = [];
  for (const line of lines) {
    const item = /^\s*(?:[-*]|\d+\.) (.*)$/.exec(line);
    if (item) items.push([item[1]]);
    else items[items.length - 1].push(line);
  }
  return `<${tag}>${items.map((item) => `<li>${paragraph(item)}</li>`).join("")}</${tag}>`;
}

function blockAsHtml(block) {
  const heading = /^(#+) (.*)$/.exec(block[0]);
  if (heading) {
    const rest = block.length > 1 ? blockAsHtml(block.slice(1)) : "";
    const level = Math.min(heading[1].length + 1, 4);
    return `<h${level}>${inline(heading[2])}</h${level}>${rest}`;
  }
  if (block[0].startsWith("|")) return tableAsHtml(block);
  if (/^[-*] /.test(block[0])) return listAsHtml(block, "ul");
  if (/^\d+\. /.test(block[0])) return listAsHtml(block, "ol");
  if (block[0].startsWith("    "))
    return `<pre>${escape(block.map((line) => line.slice(4)).join("\n"))}</pre>`;
  return `<p>${paragraph(block)}</p>`;
}

/* Blocks are parted by empty lines; code between ``` is one. */
function markdownAsHtml(text) {
  const parts = [];
  let block = [];
  let code = null;
  const end = () => {
    if (block.length) parts.push(blockAsHtml(block));
    block = [];
  };
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) {
      if (code) parts.push(`<pre>${escape(code.join("\n"))}</pre>`);
      else end();
      code = code ? null : [];
    } else if (code) code.push(line);
    else if (line.trim() === "") end();
    else block.push(line);
  }
  end();
  return parts.join("");
}

/* The first paragraph below the title, without markup. */
function summaryOf(text) {
  const lines = text
    .split("\n")
    .slice(1)
    .join("\n")
    .trim()
    .split(/\n\s*\n/)[0];
  return lines
    .replace(/\s+/g, " ")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[*`]/g, "");
}

/* {"pages": {"mfu": {"title", "summary", "html"}}, "names": {"model_flops_utilization.mfu":
 * "mfu"}} */
export function readMetricPages(folder) {
  const pages = {};
  const names = {};
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith(".md") || file === "README.md") continue;
    if (file.startsWith("live-")) continue; // of running jobs, no report
    const page = file.slice(0, -3);
    const [text, ending = ""] = readFileSync(join(folder, file), "utf8").split("## In JSON\n");
    for (const [, name] of ending.matchAll(NAME)) names[name] = page;
    const [title, ...rest] = text.split("\n");
    pages[page] = {
      title: title.replace(/^# /, "").replace(/`/g, ""),
      summary: summaryOf(text),
      html: markdownAsHtml(rest.join("\n")),
    };
  }
  return { pages, names };
}
