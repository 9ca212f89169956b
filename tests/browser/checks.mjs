/* What is checked of a page of the HTML report. Each throws where something is wrong. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { scrollThrough } from "./reader_checks.mjs";

export * from "./reader_checks.mjs";
export * from "./timeline_checks.mjs";

const AXE = readFileSync(
  new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url),
  "utf8",
);

/* Sections made of other blocks of data than the report's JSON. */
const MADE_BY_THE_PAGE = ["timeline"];

export function isEmpty(list) {
  assert.deepEqual(list, []);
}

/* The page's report without what only a page has. */
async function embedded(page) {
  const report = await page.evaluate(() =>
    JSON.parse(document.getElementById("report").textContent),
  );
  const sections = [
    ...report.ranks.flatMap((rank) => Object.values(rank.sections)),
    report.overview,
  ];
  for (const section of sections.filter(Boolean))
    for (const table of Object.values(section.tables))
      for (const column of table.columns) {
        delete column.priority;
        delete column.bar;
      }
  return report;
}

export async function holdsTheJson(page, report) {
  assert.deepEqual(await embedded(page), report);
}

/* Axes of bytes have ticks at whole numbers of their unit, of one distance: not "46.6 GiB". */
export async function byteTicks(page) {
  const charts = await page.evaluate(() =>
    [...document.querySelectorAll(".chart svg")].map((svg) =>
      [...svg.querySelectorAll("text")].map((text) => text.textContent),
    ),
  );
  const sizes = charts
    .map((texts) => texts.filter((text) => /^[\d.,]+\u00a0[KMGT]iB$/.test(text)))
    .filter((labels) => labels.length > 1);
  assert(sizes.length > 0, "an axis of bytes");
  for (const labels of sizes)
    for (const [index, label] of labels.entries())
      assert.equal(
        parseFloat(label) / parseFloat(labels[0]),
        index + 1,
        `ticks of one distance: ${labels}`,
      );
}

/* The sections that the page shows at first: those of the first rank, and of all ranks. */
function shownSections(report) {
  return Object.entries({
    ...report.ranks[0].sections,
    ...(report.overview ? { overview: report.overview } : {}),
  });
}

export async function showsAll(page, report) {
  const seen = await page.evaluate(() => ({
    sections: [...document.querySelectorAll("main > section")].map((section) => section.id),
    numbers: [...document.querySelectorAll("section [data-number]")].map(
      (number) => number.dataset.number,
    ),
    tables: [...document.querySelectorAll("section .table")].map((table) => table.id),
    headline: document.querySelector("h1").textContent,
    screens: JSON.parse(document.getElementById("screens").textContent),
    links: [...document.querySelectorAll(".contents a")].map((link) =>
      link.getAttribute("href").slice(1),
    ),
    findings: document.querySelectorAll("section .finding").length,
  }));
  const isTheReports = (key) => !MADE_BY_THE_PAGE.includes(key);
  const sections = shownSections(report);
  const of = (part) => sections.flatMap(([key, section]) => part(key, section));
  assert.deepEqual(seen.sections.filter(isTheReports).sort(), sections.map(([key]) => key).sort());
  assert.deepEqual(seen.links, seen.sections, "the list of contents");
  assert.deepEqual(
    seen.numbers.filter((number) => isTheReports(number.split(".")[0])).sort(),
    of((key, { numbers }) =>
      Object.entries(numbers)
        .filter(([, number]) => number.title !== "") // else it is for programs
        .map(([number]) => `${key}.${number}`),
    ).sort(),
  );
  assert.deepEqual(
    seen.tables.filter((table) => isTheReports(table.split("-")[1])).sort(),
    of((key, { tables }) =>
      Object.entries(tables)
        .filter(([, table]) => table.rows.length > 0)
        .map(([table]) => `table-${key}-${table}`),
    ).sort(),
  );
  assert.equal(seen.findings, of((_, { findings }) => findings).length);
  const screen = seen.screens.job ?? seen.screens.ranks[0];
  assert.equal(seen.headline, screen.verdict ?? screen.subject);
}

const SCALES = {
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  "%": 0.01,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};
const PREFIXES = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };

/* What a text on the page says, as the JSON counts it, and how far its digits leave that open. */
function read(text, unit) {
  const match = /^(-?[\d,]+)(\.\d+)?(?:\u00a0(.+))?$/.exec(text);
  assert.ok(match, `'${text}' is no number of unit ${unit}`);
  const [, whole, decimals = "", suffix = ""] = match;
  const rate = /^([kMGTP]?)(B\/s|FLOP\/s|FLOP)$/.exec(suffix);
  const scale =
    unit === "ns" || unit === "bytes" || unit === "fraction"
      ? SCALES[suffix]
      : rate
        ? PREFIXES[rate[1]]
        : 1;
  assert.ok(scale, `'${text}': the unit`);
  const step = scale * 10 ** -Math.max(0, decimals.length - 1);
  return {
    value: Number(whole.replace(/,/g, "") + decimals) * scale,
    tolerance: step * 0.500001,
  };
}

function assertSays(text, value, unit, where) {
  if (value === null || value === undefined)
    assert.ok(text === "" || text === "not known", `${where}: '${text}'`);
  else if (typeof value !== "number") assert.equal(text, String(value), where);
  else if (!/e\+/.test(text)) {
    const said = read(text, unit);
    const slack = said.tolerance + Math.abs(value) * 1e-12;
    assert.ok(Math.abs(said.value - value) <= slack, `${where}: '${text}' for ${value} ${unit}`);
  }
}

export async function numbersAreTheJsons(page, report) {
  const shown = await page.evaluate(() =>
    [...document.querySelectorAll("[data-number]")].map((element) => ({
      key: element.dataset.number,
      text: element.textContent,
      value: element.dataset.value,
    })),
  );
  const sections = Object.fromEntries(shownSections(report));
  for (const { key, text, value } of shown) {
    const [section, name] = key.split(".");
    const number = sections[section].numbers[name];
    assert.equal(value, String(number.value ?? ""), key);
    assertSays(text, number.value, number.unit, key);
  }
}

/* All rows of all tables, in their order. */
export async function cellsAreTheJsons(page, report) {
  const shown = await page.evaluate(() => {
    const all = () =>
      [...document.querySelectorAll(".more button")].find(
        (button) => button.textContent !== "fewer",
      );
    for (let button = all(); button; button = all()) button.click();
    return [...document.querySelectorAll("section .table")].map((table) => ({
      id: table.id,
      columns: [...table.querySelectorAll("thead th")].map((title) => title.dataset.column),
      rows: [...table.querySelectorAll("tbody tr")].map((row) =>
        [...row.children].map((cell) => cell.textContent),
      ),
    }));
  });
  const tables = new Map(
    shownSections(report).flatMap(([key, section]) =>
      Object.entries(section.tables).map(([name, table]) => [`table-${key}-${name}`, table]),
    ),
  );
  for (const { id, columns, rows } of shown) {
    const table = tables.get(id);
    if (MADE_BY_THE_PAGE.includes(id.split("-")[1])) continue;
    const units = Object.fromEntries(table.columns.map((column) => [column.key, column.unit]));
    assert.equal(rows.length, table.rows.length, `${id}: rows`);
    assert.ok(columns.length > 0, `${id}: columns`);
    rows.forEach((cells, index) =>
      columns.forEach((key, column) =>
        assertSays(cells[column], table.rows[index][key], units[key], `${id} row ${index} ${key}`),
      ),
    );
  }
}

export async function drawsCharts(page, charts) {
  await scrollThrough(page);
  const drawn = await page.evaluate(() =>
    [...document.querySelectorAll("figure[data-chart]")].map((figure) => ({
      name: figure.dataset.chart,
      shapes: figure.querySelectorAll("svg path, svg rect, .waterfall .fill").length,
      isPainted: [...figure.querySelectorAll("canvas")].some((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size > 8;
      }),
      height: figure.getBoundingClientRect().height,
    })),
  );
  for (const name of charts)
    assert.ok(
      drawn.some((chart) => chart.name === name),
      `there is no chart ${name}`,
    );
  for (const chart of drawn) {
    const least = chart.name === "module_costs" ? 1 : 3; // a trace may hold one module
    assert.ok(chart.shapes >= least || chart.isPainted, `${chart.name} is empty`);
    assert.ok(chart.height > 60, `${chart.name} has no height`);
  }
}

/* A card with nothing in it looks as if something had failed to load. */
export async function hasNoEmptyCards(page) {
  const empty = await page.evaluate(
    () =>
      [...document.querySelectorAll(".screen .parts")].filter((part) => !part.children.length)
        .length,
  );
  assert.equal(empty, 0, "an empty card stands below the headline");
}

export async function chartsHaveText(page) {
  const charts = await page.evaluate(() =>
    [...document.querySelectorAll("figure[data-chart] .chart")].map((host) => ({
      label: host.getAttribute("aria-label") ?? "",
      table: document.getElementById(host.getAttribute("aria-details") ?? "")?.className,
      link: host.closest("figure").querySelector(".as-table")?.getAttribute("href"),
      details: host.getAttribute("aria-details"),
    })),
  );
  for (const chart of charts) {
    assert.ok(chart.label.length > 20, `label '${chart.label}'`);
    assert.equal(chart.table, "table", chart.label);
    assert.equal(chart.link, `#${chart.details}`);
  }
}

export async function isInOrder(page) {
  const found = await page.evaluate(() => {
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    const name = (element) => (element.getAttribute("aria-label") ?? element.textContent).trim();
    return {
      doubles: ids.filter((id, index) => ids.indexOf(id) !== index),
      unnamed: [...document.querySelectorAll("button, a, select, summary")].filter(
        (element) => !name(element),
      ).length,
      unlabelled: [...document.querySelectorAll("input")].filter(
        (input) => !input.getAttribute("aria-label"),
      ).length,
      h1: document.querySelectorAll("h1").length,
      language: document.documentElement.lang,
      title: document.title,
      policy: document.querySelector("meta[http-equiv=Content-Security-Policy]").content,
    };
  });
  assert.deepEqual(found.doubles, []);
  assert.equal(found.unnamed, 0, "buttons without a name");
  assert.equal(found.unlabelled, 0, "inputs without a label");
  assert.equal(found.h1, 1);
  assert.equal(found.language, "en");
  assert.ok(found.title.startsWith("flopledger: "));
  assert.ok(found.policy.startsWith("default-src 'none'; script-src 'sha256-"));
}

/* The rules of WCAG 2, A and AA, as far as axe-core can tell: names, roles, contrast, order. */
export async function isAccessible(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
      resultTypes: ["violations"],
    }),
  );
  const told = violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.length} such as ${nodes[0].html.slice(0, 200)} ` +
      `(${nodes[0].failureSummary.replace(/\s+/g, " ").slice(0, 300)})`,
  );
  assert.deepEqual(told, []);
}

export async function fits(page, width) {
  await page.setViewportSize({ width, height: 900 });
  // charts are drawn anew a moment after the window has changed
  const isNarrow = (most) => document.documentElement.scrollWidth <= most;
  await page.waitForFunction(isNarrow, width, { timeout: 5000 }).catch(() => {});
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${wide} px wide`);
}

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

export async function switchesTheme(page) {
  const light = await background(page);
  const chart = () =>
    page.evaluate(() => document.querySelector("figure .chart")?.innerHTML.length ?? 0);
  await page.click(".theme");
  const dark = await background(page);
  assert.notEqual(light, dark);
  if ((await page.locator("figure .chart").count()) > 0)
    assert.ok((await chart()) > 100, "the chart is gone");
  await page.click(".theme");
  assert.equal(await background(page), light);
}

export async function beginsDark(page) {
  assert.match(await background(page), /^rgb\((\d|1\d|2\d), /);
}

export async function prints(page) {
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".contents").isVisible(), false);
  assert.equal(await page.locator("h1").isVisible(), true);
  await page.emulateMedia({ media: "screen" });
}
