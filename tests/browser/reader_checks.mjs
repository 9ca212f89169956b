/* What is checked of what a reader does with a page: points, filters, sorts, asks for help. */
import assert from "node:assert/strict";

export async function scrollThrough(page) {
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 700) {
      window.scrollTo(0, y);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    window.scrollTo(0, 0);
  });
  await page.waitForFunction(
    () => document.querySelectorAll("figure:not([data-drawn])").length === 0,
  );
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
  assert.match(await card.textContent(), /matmul/);
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
  assert.match(await page.locator(".filter").textContent(), /only matmul time/);
  const keys = report.ranks[0].sections.kernels.tables.by_name.rows;
  const matrix = keys.filter((row) => row.account_key === "matrix").map((row) => row.kernel);
  const shown = await page.evaluate(() =>
    [...document.querySelectorAll("#table-kernels-by_name tbody th")].map(
      (cell) => cell.textContent,
    ),
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
    if (finding.replayed_speedup === null)
      assert.match(shown[i], /not known, the replay is too far/);
    else assert.ok(shown[i].includes(`${speedup(finding.replayed_speedup)}×`), shown[i]);
    assert.equal(
      /processes share the core/.test(shown[i]),
      finding.replayed_most_speedup !== undefined,
    );
    assert.ok(
      finding.replayed_speedup === null || finding.replayed_speedup <= finding.ceiling_speedup,
    );
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
  const name = report.ranks[0].sections.kernels
    ? ["kernels", "by_name", "kernel", "total"]
    : ["operators", "by_name", "operator", "self_cpu"];
  const [section, key, column, number] = name;
  const rows = report.ranks[0].sections[section].tables[key].rows;
  const id = `#table-${section}-${key}`;
  const first = () => page.locator(`${id} tbody th`).first().textContent();
  const sort = (of) => page.click(`${id} thead th[data-column=${of}] button`);
  const ascending = rows.slice().sort((a, b) => a[number] - b[number]);
  await sort(number);
  assert.equal(
    await page.getAttribute(`${id} thead th[data-column=${number}]`, "aria-sort"),
    "descending",
  );
  assert.equal(await first(), ascending.at(-1)[column]);
  await sort(number);
  const least = ascending
    .filter((row) => row[number] === ascending[0][number])
    .map((row) => row[column]);
  assert.ok(least.includes(await first()));
  await sort(number);
  assert.equal(await first(), rows[0][column]);
  const box = page.locator(`${id} input`);
  if (rows.length >= 8) {
    const wanted = rows.at(-1)[column];
    await box.fill(wanted);
    const found = await page.locator(`${id} tbody th`).allTextContents();
    assert.ok(
      found.includes(wanted) &&
        found.every((text) => text.length > 0) &&
        found.length < rows.length,
    );
    await box.fill("no such name");
    assert.equal(await page.locator(`${id} tbody tr`).count(), 0);
    await box.fill("");
  }
  await page.locator(`${id} tbody tr`).first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  assert.equal(
    await page.evaluate(() => document.activeElement.firstChild.textContent),
    rows[1][column],
  );
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
    () =>
      [...document.querySelectorAll("section dt")].filter((title) => !title.querySelector(".how"))
        .length,
  );
  assert.equal(without, 0, "numbers without their page");
}

/* Another rank than the first. */
export async function ranks(page, report) {
  await page.selectOption(".bar select", { index: 2 });
  const mean = report.ranks[2].sections.step_ledger.numbers.step_time_mean.value;
  const shown = await page.getAttribute(
    "section [data-number='step_ledger.step_time_mean']",
    "data-value",
  );
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
  for (const name of [
    "<script>window.alert(1)</script>",
    "</script><script>window.alert(2)</script>",
    "__proto__\ufffd",
  ])
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
  for (const row of rows.slice(0, 3))
    assert.ok(texts.includes(row.account), `no bar ${row.account}`);
  assert.ok(
    texts.some((text) => /^-650\.680\u00a0µs less$/.test(text)),
    `no label of the largest change: ${texts}`,
  );
  assert.match(await host.getAttribute("aria-label"), /waiting for data -650\.680\u00a0µs less/);
  const box = await host.boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 4 + 28 * 1.5);
  await page.waitForSelector(".chart .hover-card");
  const card = await page.locator(".chart .hover-card").first().textContent();
  assert.match(card, /waiting for data/);
  assert.match(card, /data loader/);
}

/* `/` and a word: sections, numbers, tables, rows, findings and words are found, and gone to. */
export async function searches(page, report) {
  const { sections } = report.ranks[0];
  const type = async (text) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    return page.locator("#search-results [role=option]").allTextContents();
  };
  const lookFor = async (kind, text) => {
    const results = await type(text);
    assert.ok(
      results.some((result) => result.startsWith(kind) && result.includes(text)),
      `${kind} '${text}': ${results.slice(0, 5).join(" | ")}`,
    );
  };
  await lookFor("section", sections.kernels.title);
  await lookFor("number", sections.step_ledger.numbers.step_time_mean.title);
  await lookFor("table", sections.gpu_idle.tables.causes.title);
  await lookFor("finding", sections.advice.findings[0].what);
  await lookFor("word", "straggler");
  const { kernel } = sections.kernels.tables.by_name.rows.at(-1);
  await lookFor("row", kernel);
  const row = page.locator("#search-results [role=option]").filter({ hasText: /^row/ }).first();
  const chosen = await row.locator("strong").textContent();
  await row.dispatchEvent("mousedown");
  const shown = await page.locator("tbody th:visible").allTextContents();
  assert.ok(shown.includes(chosen), `${chosen} is not shown`);
  assert.deepEqual(await type("no such thing anywhere"), ["nothing found"]);
  await page.keyboard.press("Escape");
  await type(sections.kernels.title);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => location.hash), "#kernels");
  assert.equal(await page.locator("#search-results").isVisible(), false);
  await page.reload();
}

/* A section is folded to its title, and unfolded by what leads into it and on paper. */
export async function folds(page) {
  const inside = page.locator("#kernels .table").first();
  await page.click("#kernels .fold");
  assert.equal(await inside.isVisible(), false);
  assert.equal(await page.getAttribute("#kernels .fold", "aria-expanded"), "false");
  await page.emulateMedia({ media: "print" });
  assert.equal(await inside.isVisible(), true);
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => (location.hash = "#table-kernels-by_name"));
  await inside.waitFor({ state: "visible" });
  await page.click(".fold-all");
  const tables = page.locator("main > section .table:visible");
  assert.equal(await tables.count(), 0);
  await page.click(".fold-all");
  assert.ok((await tables.count()) > 3);
}

/* The address names the step that was gone to, and leads there. */
export async function stepFragment(page, report) {
  const { step } = report.ranks[0].sections.step_ledger.tables.steps.rows[1];
  await page.evaluate((number) => (location.hash = `#step-${number}`), step);
  await page.waitForFunction(() => {
    const box = document.querySelector("[data-chart=timeline]").getBoundingClientRect();
    return box.top < window.innerHeight && box.bottom > 0;
  });
  const link = page.locator("#advice [data-step]").first();
  if ((await link.count()) > 0) {
    const number = await link.getAttribute("data-step");
    await link.click();
    assert.equal(await page.evaluate(() => location.hash), `#step-${number}`);
  }
}

/* Words of the glossary say what they mean. */
export async function explainsWords(page) {
  const titles = await page.$$eval("abbr.term", (all) => all.map((word) => word.title));
  assert.ok(titles.length > 0);
  for (const title of titles) assert.match(title, /^.+: .{15,}/);
}
