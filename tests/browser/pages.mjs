/* Opens pages of the HTML report in Chromium, and looks at them as readers do. run.py makes the
 * pages.
 *
 *     node pages.mjs BROWSER PLAN.json
 */
import { readFileSync } from "node:fs";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";
import * as checks from "./checks.mjs";

const WIDTHS = [390, 1440, 1920];
const counts = { passed: 0, failed: 0 };

async function check(name, body) {
  try {
    await body();
    counts.passed++;
  } catch (error) {
    counts.failed++;
    console.log(
      `FAILED: ${name}: ${String(error.stack ?? error)
        .split("\n")
        .slice(0, 12)
        .join("\n    ")}`,
    );
  }
}

/* A page that notes all it should not do: write to the console, fail, ask the network, open an
 * alert. */
async function openPage(browser, plan, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 1000 },
    ...options,
  });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`console: ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.alerts = [];
    window.alert = (text) => window.alerts.push(text);
  });
  await page.goto(new URL(`file://${encodeURI(plan.html)}`).href);
  return { page, complaints, close: () => context.close() };
}

/* Everything that is true of every page. */
async function checkPage(browser, plan) {
  const report = JSON.parse(readFileSync(plan.json, "utf8"));
  const { page, complaints, close } = await openPage(browser, plan);
  const of = (name) => `${plan.name}: ${name}`;
  await check(of("holds the JSON of --json"), () => checks.holdsTheJson(page, report));
  await check(of("shows every section, number and table"), () => checks.showsAll(page, report));
  await check(of("numbers say what the JSON says"), () => checks.numbersAreTheJsons(page, report));
  await check(of("cells say what the JSON says"), () => checks.cellsAreTheJsons(page, report));
  await check(of("draws its charts"), () => checks.drawsCharts(page, plan.charts));
  await check(of("every chart has a text in its place"), () => checks.chartsHaveText(page));
  await check(of("headings, labels and ids are in order"), () => checks.isInOrder(page));
  await check(of("can be read by everybody"), () => checks.isAccessible(page));
  for (const width of WIDTHS) await check(of(`fits ${width} px`), () => checks.fits(page, width));
  await page.setViewportSize({ width: 1440, height: 1000 });
  await check(of("light and dark"), () => checks.switchesTheme(page));
  await check(of("prints"), () => checks.prints(page));
  for (const name of plan.checks) await check(of(name), () => checks[name](page, report));
  await check(of("no complaint, no request"), () => checks.isEmpty(complaints));
  await close();
}

/* What the system asks for is what the page begins with. */
async function checkDark(browser, plan) {
  const { page, complaints, close } = await openPage(browser, plan, { colorScheme: "dark" });
  await check(`${plan.name}: begins dark where the system is`, () => checks.beginsDark(page));
  await check(`${plan.name}: can be read in the dark`, () => checks.isAccessible(page));
  await check(`${plan.name}: no complaint in the dark`, () => checks.isEmpty(complaints));
  await close();
}

const [executablePath, planFile] = process.argv.slice(2);
const plans = JSON.parse(readFileSync(planFile, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const plan of plans) await checkPage(browser, plan);
if (plans.length > 0) await checkDark(browser, plans[0]);
await browser.close();
console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
process.exit(counts.failed > 0 ? 1 : 0);
