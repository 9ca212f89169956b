/* What is checked of a page of the HTML report. Each throws where something is wrong. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export * from "./timeline_checks.mjs";

const AXE = readFileSync(new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/* Sections made of other blocks of data than the report's JSON. */
const MADE_BY_THE_PAGE = ["timeline"];

export function isEmpty(list) {
  assert.deepEqual(list, []);
}

/* The page's report without what only a page has. */
async function embedded(page) {
  const report = await page.evaluate(() => JSON.parse(document.getElementById("report").textContent));
  const sections = [...report.ranks.flatMap((rank) => Object.values(rank.sections)), report.overview];
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

/* The sections that the page shows at first: those of the first rank, and of all ranks. */
function shownSections(report) {
  return Object.entries({ ...report.ranks[0].sections, ...(report.overview ? { overview: report.overview } : {}) });
}

export async function showsAll(page, report) {
  const seen = await page.evaluate(() => ({
    sections: [...document.querySelectorAll("main > section")].map((section) => section.id),
    numbers: [...document.querySelectorAll("section [data-number]")].map((number) => number.dataset.number),
    tables: [...document.querySelectorAll("section .table")].map((table) => table.id),
    headline: document.querySelector("h1").textContent,
    links: [...document.querySelectorAll(".contents a")].map((link) => link.getAttribute("href").slice(1)),
    findings: document.querySelectorAll("section .finding").length,
  }));
  const isTheReports = (key) => !MADE_BY_THE_PAGE.includes(key);
  const sections = shownSections(report);
  const of = (part) => sections.flatMap(([key, section]) => part(key, section));
  assert.deepEqual(seen.sections.filter(isTheReports).sort(), sections.map(([key]) => key).sort());
  assert.deepEqual(seen.links, seen.sections, "the list of contents");
  assert.deepEqual(
    seen.numbers.filter((number) => isTheReports(number.split(".")[0])).sort(),
    of((key, { numbers }) => Object.keys(numbers).map((number) => `${key}.${number}`)).sort(),
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
  assert.equal(seen.headline, report.headline ?? report.ranks[0].headline ?? report.ranks[0].label);
}

const SCALES = { µs: 1e3, ms: 1e6, s: 1e9, "%": 0.01, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const PREFIXES = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 };

/* What a text on the page says, as the JSON counts it, and how far its digits leave that open. */
function read(text, unit) {
  const match = /^(-?[\d,]+)(\.\d+)?(?:\u00a0(.+))?$/.exec(text);
  assert.ok(match, `'${text}' is no number of unit ${unit}`);
  const [, whole, decimals = "", suffix = ""] = match;
  const rate = /^([kMGTP]?)(B\/s|FLOP\/s|FLOP)$/.exec(suffix);
  const scale = unit === "ns" || unit === "bytes" || unit === "fraction" ? SCALES[suffix] : rate ? PREFIXES[rate[1]] : 1;
  assert.ok(scale, `'${text}': the unit`);
  const step = scale * 10 ** -Math.max(0, decimals.length - 1);
  return { value: Number(whole.replace(/,/g, "") + decimals) * scale, tolerance: step * 0.500001 };
}

function assertSays(text, value, unit, where) {
  if (value === null || value === undefined) assert.ok(text === "" || text === "not known", `${where}: '${text}'`);
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
    const all = () => [...document.querySelectorAll(".more button")].find((button) => button.textContent !== "fewer");
    for (let button = all(); button; button = all()) button.click();
    return [...document.querySelectorAll("section .table")].map((table) => ({
      id: table.id,
      columns: [...table.querySelectorAll("thead th")].map((title) => title.dataset.column),
      rows: [...table.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent)),
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

async function scrollThrough(page) {
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 700) {
      window.scrollTo(0, y);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    window.scrollTo(0, 0);
  });
  await page.waitForFunction(() => document.querySelectorAll("figure:not([data-drawn])").length === 0);
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
  for (const name of charts) assert.ok(drawn.some((chart) => chart.name === name), `there is no chart ${name}`);
  for (const chart of drawn) {
    const least = chart.name === "module_costs" ? 1 : 3; // a trace may hold one module
    assert.ok(chart.shapes >= least || chart.isPainted, `${chart.name} is empty`);
    assert.ok(chart.height > 60, `${chart.name} has no height`);
  }
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
      unnamed: [...document.querySelectorAll("button, a, select, summary")].filter((element) => !name(element)).length,
      unlabelled: [...document.querySelectorAll("input")].filter((input) => !input.getAttribute("aria-label")).length,
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
    window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"] }),
  );
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.length} such as ${nodes[0].html.slice(0, 200)} (${nodes[0].failureSummary.replace(/\s+/g, " ").slice(0, 300)})`);
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
  const chart = () => page.evaluate(() => document.querySelector("figure .chart")?.innerHTML.length ?? 0);
  await page.click(".theme");
  const dark = await background(page);
  assert.notEqual(light, dark);
  if ((await page.locator("figure .chart").count()) > 0) assert.ok((await chart()) > 100, "the chart is gone");
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

/* Hover, by pointer and by keyboard; the way in by keyboard. */
export async function hand(page) {
  await page.evaluate(() => document.activeElement.blur());
  await page.locator(".waterfall").scrollIntoViewIfNeeded();
  await page.waitForTimeout(100); /* a card goes when the page is scrolled */
  await page.hover(".waterfall tr[data-account=idle] th");
  const card = page.locator("#hover-card");
  assert.match(await card.textContent(), /per step/);
  await page.mouse.move(5, 5);
  assert.equal(await card.count(), 0);
  await page.focus(".waterfall tr[data-account=matrix] button");
  assert.match(await card.textContent(), /matrix product/);
  await page.keyboard.press("Escape");
  assert.equal(await card.count(), 0);
  await page.reload();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => location.hash), "#content");
  await page.locator("figure[data-chart=step_accounts] .chart").hover();
  await page.waitForSelector(".chart .hover-card");
  assert.match(await page.locator(".chart .hover-card").first().textContent(), /^step \d+: /);
}

/* A click on an account, and everything again. */
export async function filter(page, report) {
  await page.click(".waterfall tr[data-account=matrix] button");
  assert.match(await page.locator(".filter").textContent(), /only matrix work/);
  const keys = report.ranks[0].sections.kernels.tables.by_name.rows;
  const matrix = keys.filter((row) => row.account_key === "matrix").map((row) => row.kernel);
  const shown = await page.evaluate(() =>
    [...document.querySelectorAll("#table-kernels-by_name tbody th")].map((cell) => cell.textContent),
  );
  assert.ok(matrix.length > 0 && shown.length > 0);
  for (const kernel of shown) assert.ok(matrix.includes(kernel), kernel);
  assert.equal(await page.locator("#run").isVisible(), false);
  assert.equal(await page.locator("#launches").isVisible(), false);
  const advice = report.ranks[0].sections.advice.findings;
  const others = advice.filter((finding) => !(finding.accounts ?? []).includes("matrix")).length;
  assert.equal(await page.locator("#advice .finding:visible").count(), advice.length - others);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#run").isVisible(), true);
  assert.equal(await page.locator(".filter").textContent(), "");
  await page.focus(".waterfall tr[data-account=idle] button");
  await page.keyboard.press("Enter");
  const causes = await page.locator("#table-gpu_idle-causes tbody tr").count();
  assert.equal(causes, report.ranks[0].sections.gpu_idle.tables.causes.rows.length);
  assert.equal(await page.locator("#kernels").isVisible(), false);
  await page.click(".filter button");
  assert.equal(await page.locator("#kernels").isVisible(), true);
}

/* Findings that have a change: what its replay brings, between what, or that it is not known. */
export async function replays(page, report) {
  const replayed = report.ranks[0].sections.advice.findings.filter((finding) => finding.change);
  const shown = await page.locator("#advice .finding .replay").allTextContents();
  const speedup = (value) => value.toLocaleString("en-US", { maximumFractionDigits: 2 });
  assert.equal(shown.length, replayed.length);
  for (const [i, finding] of replayed.entries()) {
    assert.ok(shown[i].startsWith(`replayed with ${finding.change}: `), shown[i]);
    if (finding.replayed_speedup === null) assert.match(shown[i], /not known, the replay is too far/);
    else assert.ok(shown[i].includes(`${speedup(finding.replayed_speedup)}×`), shown[i]);
    assert.equal(/processes share the core/.test(shown[i]), finding.replayed_most_speedup !== undefined);
    assert.ok(finding.replayed_speedup === null || finding.replayed_speedup <= finding.ceiling_speedup);
  }
  const changes = [
    ["#table-what_if-changes", report.ranks[0].sections.what_if.tables.changes],
    ["#table-overview-what_if", report.overview?.tables.what_if],
  ];
  for (const [table, { rows }] of changes.filter(([, table]) => table)) {
    const cells = await page.locator(`${table} tbody tr`).allTextContents();
    assert.equal(cells.length, rows.length);
    for (const [i, row] of rows.entries()) assert.ok(cells[i].startsWith(row.change), cells[i]);
  }
}

/* The bars of the steps: wheel with Ctrl, and the slider. */
export async function zoom(page) {
  const host = page.locator("figure[data-chart=step_accounts] .chart");
  await host.scrollIntoViewIfNeeded();
  const labels = () => host.evaluate((element) => element.innerHTML);
  const before = await labels();
  const box = await host.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.keyboard.down("Control");
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -240);
  await page.keyboard.up("Control");
  await page.waitForTimeout(300);
  assert.notEqual(await labels(), before);
}

/* Sorting, searching, arrow keys, and a row opened. */
export async function table(page, report) {
  const name = report.ranks[0].sections.kernels ? ["kernels", "by_name", "kernel", "total"] : ["operators", "by_name", "operator", "self_cpu"];
  const [section, key, column, number] = name;
  const rows = report.ranks[0].sections[section].tables[key].rows;
  const id = `#table-${section}-${key}`;
  const first = () => page.locator(`${id} tbody th`).first().textContent();
  const sort = (of) => page.click(`${id} thead th[data-column=${of}] button`);
  const ascending = rows.slice().sort((a, b) => a[number] - b[number]);
  await sort(number);
  assert.equal(await page.getAttribute(`${id} thead th[data-column=${number}]`, "aria-sort"), "descending");
  assert.equal(await first(), ascending.at(-1)[column]);
  await sort(number);
  const least = ascending.filter((row) => row[number] === ascending[0][number]).map((row) => row[column]);
  assert.ok(least.includes(await first()));
  await sort(number);
  assert.equal(await first(), rows[0][column]);
  const box = page.locator(`${id} input`);
  if (rows.length >= 8) {
    const wanted = rows.at(-1)[column];
    await box.fill(wanted);
    const found = await page.locator(`${id} tbody th`).allTextContents();
    assert.ok(found.includes(wanted) && found.every((text) => text.length > 0) && found.length < rows.length);
    await box.fill("no such name");
    assert.equal(await page.locator(`${id} tbody tr`).count(), 0);
    await box.fill("");
  }
  await page.locator(`${id} tbody tr`).first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.firstChild.textContent), rows[1][column]);
  await page.keyboard.press("Enter");
  assert.ok((await page.locator(`${id} .detail dd`).allTextContents()).includes(rows[1][column]));
  await page.keyboard.press("Enter");
  assert.equal(await page.locator(`${id} .detail`).count(), 0);
}

/* "How this number was made", from the pages of docs/metrics. */
export async function help(page) {
  await page.locator("#model_flops_utilization .how").first().click();
  const dialog = page.locator("dialog");
  assert.match(await dialog.textContent(), /How it is computed/);
  await dialog.locator("article [data-page]").first().click();
  assert.equal(await dialog.isVisible(), true);
  await page.keyboard.press("Escape");
  assert.equal(await dialog.isVisible(), false);
  const without = await page.evaluate(
    () => [...document.querySelectorAll("section dt")].filter((title) => !title.querySelector(".how")).length,
  );
  assert.equal(without, 0, "numbers without their page");
}

/* Another rank than the first. */
export async function ranks(page, report) {
  await page.selectOption(".bar select", { index: 2 });
  const mean = report.ranks[2].sections.step_ledger.numbers.step_time_mean.value;
  const shown = await page.getAttribute("section [data-number='step_ledger.step_time_mean']", "data-value");
  assert.equal(shown, String(mean));
  assert.equal(await page.locator(".bar .file").textContent(), report.ranks[2].file);
  const map = page.locator("figure[data-chart=rank_steps] .chart");
  await map.scrollIntoViewIfNeeded();
  const before = await map.innerHTML();
  await map.locator("select").selectOption("idle");
  assert.notEqual(await map.innerHTML(), before, "another quantity, other colours");
  await scrollThrough(page);
}

/* Names that are markup stay names. */
export async function hostile(page) {
  assert.deepEqual(await page.evaluate(() => window.alerts), []);
  const found = await page.evaluate(() => ({
    images: document.querySelectorAll("img, iframe, object, main svg[onload]").length,
    scripts: [...document.scripts].filter((script) => script.type !== "application/json").length,
    text: document.querySelector("main").textContent,
    polluted: {}.depth !== undefined,
  }));
  assert.equal(found.images, 0);
  assert.equal(found.scripts, 1, "the script of the page, and no other");
  assert.equal(found.polluted, false);
  for (const name of ["<script>window.alert(1)</script>", "</script><script>window.alert(2)</script>", "__proto__\ufffd"])
    assert.ok(found.text.includes(name), name);
  await page.locator("#table-kernels-by_name tbody tr").first().click();
  await page.locator("figure[data-chart=roofline] .chart").hover();
  assert.deepEqual(await page.evaluate(() => window.alerts), []);
}

/* The waterfall from one run's step to the other's: a bar an account, which tells its numbers. */
export async function difference(page, report) {
  const host = page.locator("figure[data-chart=difference] .chart");
  await host.scrollIntoViewIfNeeded();
  const { rows } = report.ranks[0].sections.difference.tables.waterfall;
  const texts = await host.locator("svg text").allTextContents();
  for (const row of rows.slice(0, 3)) assert.ok(texts.includes(row.account), `no bar ${row.account}`);
  assert.ok(texts.some((text) => /^-650\.680\u00a0µs less$/.test(text)), `no label of the largest change: ${texts}`);
  assert.match(await host.getAttribute("aria-label"), /waiting for data -650\.680\u00a0µs less/);
  const box = await host.boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 4 + 28 * 1.5);
  await page.waitForSelector(".chart .hover-card");
  const card = await page.locator(".chart .hover-card").first().textContent();
  assert.match(card, /waiting for data/);
  assert.match(card, /data loader/);
}
