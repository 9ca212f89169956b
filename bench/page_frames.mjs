/* How fast the timeline of a page is: frames while it zooms and moves, and the time that drawing
 * takes.
 *
 *     node bench/page_frames.mjs PAGE.html [CHROMIUM]
 *
 * Headless Chromium draws in software: a machine with a graphics card has time to spare.
 */
import { resolve } from "node:path";
import { chromium } from "../web/node_modules/playwright-core/index.mjs";

const [path, executablePath = "/usr/bin/chromium"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });

/* Each callback is timed; a frame loop of our own counts frames. */
await page.addInitScript(() => {
  const request = window.requestAnimationFrame.bind(window);
  window.draws = [];
  window.frames = [];
  window.requestAnimationFrame = (callback) =>
    request((time) => {
      const start = performance.now();
      callback(time);
      window.draws.push(performance.now() - start);
    });
  let last = 0;
  const count = (time) => {
    if (last) window.frames.push(time - last);
    last = time;
    request(count);
  };
  request(count);
});

function middle(values, share = 0.5) {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;
}

async function measure(name, act) {
  await page.evaluate(() => {
    window.frames.length = 0;
    window.draws.length = 0;
  });
  await act();
  const { frames, draws } = await page.evaluate(() => ({
    frames: window.frames,
    draws: window.draws.filter((ms) => ms > 0.2),
  }));
  const rate = (1000 * frames.length) / frames.reduce((sum, ms) => sum + ms, 0);
  console.log(
    `${name}: ${rate.toFixed(1)} frames/s, ` +
      `19 of 20 frames within ${middle(frames, 0.95).toFixed(1)} ms; ` +
      `drawing takes ${middle(draws).toFixed(1)} ms (median of ${draws.length})`,
  );
}

async function hold(key, milliseconds) {
  await page.keyboard.down(key);
  await page.waitForTimeout(milliseconds);
  await page.keyboard.up(key);
}

await page.goto(`file://${resolve(path)}`);
const opened = await page.evaluate(
  () => performance.getEntriesByType("navigation")[0].loadEventEnd,
);
console.log(`the page opens in ${Math.round(opened)} ms`);
await page.locator("[data-chart=timeline]").scrollIntoViewIfNeeded();
await page.waitForTimeout(1000);
const canvas = page.locator("[data-chart=timeline] .timeline-scroller canvas");
await canvas.focus();
await page.keyboard.press("0");
await measure("zoom between the whole trace and a part", async () => {
  for (let i = 0; i < 4; i++) {
    await hold("w", 600);
    await hold("s", 600);
  }
});
await page.keyboard.press("0");
await hold("w", 100);
await measure("move, nearly all on the screen", async () => {
  for (let i = 0; i < 4; i++) {
    await hold("d", 600);
    await hold("a", 600);
  }
});
await browser.close();
