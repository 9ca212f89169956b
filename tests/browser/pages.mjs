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
const SECONDS_WITHOUT_FRAME = 10;

/* What one look at a page found. */
class Findings {
  passed = 0;
  failures = [];

  async check(name, body) {
    try {
      await body();
      this.passed++;
    } catch (error) {
      const lines = String(error.stack ?? error).split("\n");
      this.failures.push(`FAILED: ${name}: ${lines.slice(0, 12).join("\n    ")}`);
    }
  }
}

/* Whether the browser still draws: a page whose scripts run, but that gets no frame, waits for ever
 * and tells nothing of the page. */
function drawsFrames(page) {
  return page.evaluate(
    (timeout) =>
      new Promise((resolve) => {
        requestAnimationFrame(() => resolve(true));
        setTimeout(() => resolve(false), timeout);
      }),
    SECONDS_WITHOUT_FRAME * 1000,
  );
}

/* Looks at a page, and once more where the browser stopped drawing it. */
async function look(browser, plan, options, checkAll) {
  for (let lookNumber = 1; ; lookNumber++) {
    const findings = new Findings();
    const opened = await openPage(browser, plan, options);
    await checkAll(opened, (name, body) => findings.check(`${plan.name}: ${name}`, body));
    const standsStill = findings.failures.length > 0 && !(await drawsFrames(opened.page));
    await opened.close();
    if (standsStill && lookNumber === 1) {
      console.log(`${plan.name}: the browser stopped drawing; the page is opened once more`);
      continue;
    }
    counts.passed += findings.passed;
    counts.failed += findings.failures.length;
    for (const failure of findings.failures) console.log(failure);
    return;
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
async function checkPage({ page, complaints }, plan, check) {
  const report = JSON.parse(readFileSync(plan.json, "utf8"));
  await check("holds the JSON of --json", () => checks.holdsTheJson(page, report));
  await check("shows every section, number and table", () => checks.showsAll(page, report));
  await check("numbers say what the JSON says", () => checks.numbersAreTheJsons(page, report));
  await check("cells say what the JSON says", () => checks.cellsAreTheJsons(page, report));
  await check("draws its charts", () => checks.drawsCharts(page, plan.charts));
  await check("every chart has a text in its place", () => checks.chartsHaveText(page));
  await check("headings, labels and ids are in order", () => checks.isInOrder(page));
  await check("can be read by everybody", () => checks.isAccessible(page));
  for (const width of WIDTHS) await check(`fits ${width} px`, () => checks.fits(page, width));
  await page.setViewportSize({ width: 1440, height: 1000 });
  await check("light and dark", () => checks.switchesTheme(page));
  await check("prints", () => checks.prints(page));
  for (const name of plan.checks) await check(name, () => checks[name](page, report));
  await check("no complaint, no request", () => checks.isEmpty(complaints));
}

/* What the system asks for is what the page begins with. */
async function checkDark({ page, complaints }, check) {
  await check("begins dark where the system is", () => checks.beginsDark(page));
  await check("can be read in the dark", () => checks.isAccessible(page));
  await check("no complaint in the dark", () => checks.isEmpty(complaints));
}

const [executablePath, planFile] = process.argv.slice(2);
const plans = JSON.parse(readFileSync(planFile, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const plan of plans) {
  await look(browser, plan, {}, (opened, check) => checkPage(opened, plan, check));
}
if (plans.length > 0) await look(browser, plans[0], { colorScheme: "dark" }, checkDark);
await browser.close();
console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
process.exit(counts.failed > 0 ? 1 : 0);
