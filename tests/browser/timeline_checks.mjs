/* What is checked of timelines, trees and charts of memory on the page. */
import assert from "node:assert/strict";

const FIGURE = "[data-chart=timeline]";
const GUTTER = 168; /* titles of lanes, on a wide screen */
const AXIS = 40;
/* On any machine that tests run on; docs/how-to/html-report.md has measured ones. */
const FRAMES_A_SECOND_LEAST = 20;

async function timelineCanvas(page, figure = FIGURE) {
  const element = page.locator(figure);
  await element.scrollIntoViewIfNeeded();
  await page.waitForSelector(`${figure}[data-drawn=true]`);
  await page.waitForTimeout(80);
  const canvas = element.locator(".timeline-scroller canvas");
  await canvas.scrollIntoViewIfNeeded();
  return canvas;
}

async function colorsOf(canvas, most = 40) {
  return canvas.evaluate((element, most) => {
    const copy = document.createElement("canvas");
    copy.width = element.width;
    copy.height = element.height;
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(element, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const colors = new Map();
    for (let i = 0; i < data.length; i += 4 * 7) {
      const color = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      colors.set(color, (colors.get(color) ?? 0) + 1);
    }
    return [...colors]
      .sort((a, b) => b[1] - a[1])
      .slice(0, most)
      .map(([color]) => color);
  }, most);
}

/* After the short wait until the page has said where the reader is. */
async function said(page) {
  await page.waitForTimeout(420);
  return page.locator(`${FIGURE} .timeline-status`).textContent();
}

const SIZES = { µs: 1e3, ms: 1e6, s: 1e9 };

/* "12.5 ms from 3 µs: ..." */
function lengthOf(status) {
  const [, number, unit] =
    /^([\d.,]+)\s(µs|ms|s)/.exec(status) ?? assert.fail(`no length in '${status}'`);
  return Number(number.replace(/,/g, "")) * SIZES[unit];
}

/* Zoom and move by wheel, keys, mouse and minimap; hover, selection, search. */
export async function timeline(page) {
  const canvas = await timelineCanvas(page);
  const box = await canvas.boundingBox();
  const middle = { x: box.x + GUTTER + (box.width - GUTTER) / 2, y: box.y + AXIS + 10 };
  assert.ok((await colorsOf(canvas)).length > 4, "lanes are drawn");
  await canvas.focus();
  await page.keyboard.press("0");
  const all = lengthOf(await said(page));

  await page.mouse.move(middle.x, middle.y);
  await page.keyboard.down("Control");
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -120);
  await page.keyboard.up("Control");
  const closer = lengthOf(await said(page));
  assert.ok(closer < all / 2, `the wheel zooms: ${closer} of ${all}`);

  for (const [key, check] of [
    ["w", (before, after) => after < before],
    ["ArrowDown", (before, after) => after > before],
    ["ArrowUp", (before, after) => after < before],
    ["s", (before, after) => after > before],
  ]) {
    const before = lengthOf(await said(page));
    await page.keyboard.down(key);
    await page.waitForTimeout(160);
    await page.keyboard.up(key);
    assert.ok(check(before, lengthOf(await said(page))), `the key ${key}`);
  }
  const before = await said(page);
  await page.keyboard.press("d");
  const moved = await said(page);
  assert.notEqual(moved, before, "D moves");
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.down();
  await page.mouse.move(middle.x + 90, middle.y, { steps: 4 });
  await page.mouse.up();
  assert.notEqual(await said(page), moved, "dragging moves");

  await page.mouse.move(middle.x, middle.y + 1);
  await page.waitForSelector(".timeline-card");
  assert.match(await page.locator(".timeline-card").textContent(), /start.*duration/s);
  await page.mouse.click(middle.x, middle.y);
  assert.match(
    await page.locator(`${FIGURE} .timeline-panel`).textContent(),
    /duration.*Zoom to it/s,
  );
  await page.keyboard.press("f");
  const fitted = lengthOf(await said(page));
  await page.keyboard.press("]");
  await page.keyboard.press("Escape");
  assert.match(await page.locator(`${FIGURE} .timeline-panel`).textContent(), /Drag to move/);
  await page.keyboard.press("0");
  const whole = lengthOf(await said(page));
  assert.ok(fitted < whole && whole === all, "0 shows all again");

  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + GUTTER + 40, middle.y);
  await page.mouse.down();
  await page.mouse.move(middle.x, middle.y, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const shares = await page.locator(`${FIGURE} .timeline-range td:last-child`).allTextContents();
  const sum = shares.reduce((total, share) => total + Number.parseFloat(share), 0);
  assert.ok(Math.abs(sum - 100) < 0.06 * shares.length, `shares of a stretch sum to ${sum} %`);
  await canvas.focus();
  await page.keyboard.press("Escape");
}

/* The critical path is framed by its button and by C, where the report has one. */
export async function timelinePath(page, report) {
  const canvas = await timelineCanvas(page);
  const button = page.locator(`${FIGURE} .timeline-tools button[aria-pressed]`);
  const composition = report.ranks[0].sections.critical_path?.tables.composition;
  assert.equal(await button.count(), composition ? 1 : 0, "a button where there is a path");
  if (!composition) return;
  await canvas.focus();
  await page.keyboard.press("0");
  const frame = await page.evaluate(() =>
    getComputedStyle(document.documentElement).getPropertyValue("--path").trim(),
  );
  const isFramed = async () => {
    await page.waitForTimeout(120);
    return (await colorsOf(canvas, 400)).includes(Number.parseInt(frame.slice(1), 16));
  };
  assert.equal(await isFramed(), false, "not before it is asked for");
  await page.keyboard.press("c");
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  assert.equal(await isFramed(), true, "C frames it");
  const status = await page.locator(`${FIGURE} .timeline-status`).textContent();
  const { step, path } = Object.fromEntries(
    Object.entries(report.ranks[0].sections.critical_path.numbers).map(([key, number]) => [
      key,
      number.value,
    ]),
  );
  assert.match(status, new RegExp(`^Framed: the critical path of (step|window) ${step},`));
  assert.ok(
    Math.abs(lengthOf(status.replace(/^.*?, /, "")) / path - 1) < 0.01,
    `${status}: ${path} ns`,
  );
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.equal(await isFramed(), false, "the button takes it away");
}

export async function timelineSearch(page) {
  const canvas = await timelineCanvas(page);
  const search = page.locator(`${FIGURE} input[type=search]`);
  const colors = await colorsOf(canvas);
  await search.fill("no such name anywhere");
  assert.equal(await page.locator(`${FIGURE} .timeline-found`).textContent(), "nothing found");
  await page.waitForTimeout(60);
  assert.notDeepEqual(await colorsOf(canvas), colors, "what is not looked for is pale");
  await search.fill("gemm");
  assert.match(await page.locator(`${FIGURE} .timeline-found`).textContent(), /^[\d,]+ events$/);
  await search.press("Enter");
  assert.match(await page.locator(`${FIGURE} .timeline-panel`).textContent(), /gemm/i);
  await search.fill("");
}

/* Read again without the page's own code: the stretches of the lane of accounts sum to the JSON's
 * steps. */
export async function timelineSums(page, report) {
  const written = await page.evaluate(() =>
    JSON.parse(document.getElementById("timeline-0").textContent),
  );
  assert.ok(
    written.regions.every((region) => region.resolution === 0),
    "nothing is merged in this page",
  );
  const bytes = Buffer.from(
    written.lanes.find((lane) => lane.kind === "accounts").blocks,
    "base64",
  );
  let at = 0;
  const next = () => {
    let number = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      number |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(number);
    }
  };
  const sums = new Map(written.steps.map((step) => [step.number, {}]));
  let time = 0;
  for (let left = next(); left > 0; left--) {
    const gap = next();
    const start = time + (gap % 2 ? -(gap + 1) / 2 : gap / 2);
    const duration = next();
    const label = next() >> 1;
    const key = written.classes[written.labels[3 * label + 2]].key;
    const step = written.steps.find(
      (candidate) => candidate.start <= start && start < candidate.end,
    );
    sums.get(step.number)[key] = (sums.get(step.number)[key] ?? 0) + duration;
    time = start + duration;
  }
  const rows = report.ranks[0].sections.step_ledger.tables.steps.rows;
  assert.equal(rows.length, written.steps.length);
  for (const row of rows)
    for (const [key, ns] of Object.entries(sums.get(row.step)))
      assert.equal(ns, row[key], `${key} of step ${row.step}`);
}

/* Frames while the reader zooms and moves. Chromium draws in software here. */
export async function timelineFrames(page) {
  const canvas = await timelineCanvas(page);
  await canvas.focus();
  await page.keyboard.press("0");
  await page.evaluate(() => {
    window.frameTimes = [];
    let last = 0;
    const step = (time) => {
      if (last) window.frameTimes.push(time - last);
      last = time;
      window.frameRequest = requestAnimationFrame(step);
    };
    window.frameRequest = requestAnimationFrame(step);
  });
  for (const key of ["w", "d", "a", "s"]) {
    await page.keyboard.down(key);
    await page.waitForTimeout(350);
    await page.keyboard.up(key);
  }
  const times = await page.evaluate(() => {
    cancelAnimationFrame(window.frameRequest);
    return window.frameTimes;
  });
  const rate = (1000 * times.length) / times.reduce((sum, time) => sum + time, 0);
  assert.ok(rate >= FRAMES_A_SECOND_LEAST, `${rate.toFixed(1)} frames a second`);
}

/* From advice and from the list of steps. */
export async function timelineSteps(page) {
  await timelineCanvas(page);
  const select = page.locator(`${FIGURE} .timeline-tools select`);
  await page.keyboard.press("Escape");
  const before = await said(page);
  await select.selectOption({ index: 2 });
  assert.notEqual(await said(page), before, "a step that is chosen is shown");
}

/* A tree: what it shows, rings or boxes, into a part and back, by mouse and keyboard. */
export async function trees(page) {
  const names = await page
    .locator(
      "[data-chart]:has(.tree-plot), [data-chart=module_costs], " +
        "[data-chart=memory_modules], [data-chart=snapshot_calls]",
    )
    .evaluateAll((all) => all.map((figure) => figure.dataset.chart));
  assert.ok(names.length > 0, "there is a tree");
  for (const name of new Set(names)) {
    const figure = page.locator(`[data-chart=${name}]`);
    await figure.scrollIntoViewIfNeeded();
    await page.waitForSelector(`[data-chart=${name}][data-drawn=true]`);
    const plot = figure.locator(".tree-plot");
    const path = figure.locator(".tree-path button");
    assert.ok((await plot.locator("svg path").count()) > 2, `${name}: parts are drawn`);
    assert.equal(await path.count(), 1);
    await figure.locator("[data-shape=treemap]").click();
    assert.equal(await figure.locator("[data-shape=treemap]").getAttribute("aria-pressed"), "true");
    await figure.locator("[data-shape=sunburst]").click();
    await plot.focus();
    await page.keyboard.press("ArrowRight");
    const told = await figure.locator(".tree-status").textContent();
    assert.match(told, /: [\d.,]+/);
    const metrics = figure.locator(".tree-tools select");
    const count = await metrics.locator("option").count();
    await metrics.selectOption({ index: count - 1 });
    await metrics.selectOption({ index: 0 });
    await plot.focus();
    for (let i = 0; i < 6 && (await path.count()) === 1; i++) {
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
    }
    if ((await path.count()) > 1) {
      await page.keyboard.press("ArrowUp");
      assert.equal(await path.count(), 1, `${name}: up leads back`);
    }
  }
}

/* The map of a snapshot: drawn, hovered, zoomed. */
export async function memoryMap(page) {
  const figure = "[data-chart=memory_map]";
  const canvas = await timelineCanvas(page, figure);
  const box = await canvas.boundingBox();
  assert.ok((await colorsOf(canvas)).length > 2, "segments are drawn");
  await page.mouse.move(box.x + GUTTER + 8, box.y + AXIS + 6);
  await page.waitForSelector(".timeline-card");
  assert.match(await page.locator(".timeline-card").textContent(), /size/);
  await canvas.focus();
  await page.keyboard.press("w");
  await page.waitForTimeout(420);
  assert.match(
    await page.locator(`${figure} .timeline-status`).textContent(),
    /B.* of each segment/,
  );
}
