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
const LOOKS_MAX = 3;
const MILLISECONDS_WITHOUT_FRAME = 10_000;
const MILLISECONDS_OF_A_CHECK = 90_000;
const MILLISECONDS_OF_AN_ACTION = 15_000; /* a click waits so long for what it clicks on */

/* `otherwise` where the promise takes longer. */
async function within(milliseconds, promise, otherwise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(otherwise), milliseconds);
  });
  const first = await Promise.race([promise, late]);
  clearTimeout(timer);
  return first;
}

/* Whether the browser still draws: a page that gets no frame waits for ever, and tells nothing of
 * the page. */
function drawsFrames(page) {
  const frame = page
    .evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve(true))))
    .catch(() => false);
  return within(MILLISECONDS_WITHOUT_FRAME, frame, false);
}

/* What one look at a page found. */
class Findings {
  passed = 0;
  failures = [];
  standsStill = false;

  constructor(plan, page) {
    this.plan = plan;
    this.page = page;
  }

  /* Nothing is looked at any more once the browser has stopped drawing. */
  async check(name, body) {
    if (this.standsStill) return;
    try {
      const ended = await within(
        MILLISECONDS_OF_A_CHECK,
        Promise.resolve(body()).then(() => true),
        false,
      );
      if (!ended) throw new Error(`no end within ${MILLISECONDS_OF_A_CHECK} ms`);
      this.passed++;
    } catch (error) {
      const lines = String(error.stack ?? error).split("\n");
      this.failures.push(
        `FAILED: ${this.plan.name}: ${name}: ${lines.slice(0, 12).join("\n    ")}`,
      );
      this.standsStill = !(await drawsFrames(this.page));
    }
  }
}

/* Looks at a page, in a browser of its own; and again, in another, where that one stopped drawing.
 * Pages are drawn without a GPU: what stands in for one on machines without is what stops. */
async function look(executablePath, plan, options, checkAll) {
  for (let lookNumber = 1; ; lookNumber++) {
    const args = ["--no-sandbox", "--disable-gpu"];
    const browser = await chromium.launch({ executablePath, args });
    const opened = await openPage(browser, plan, options);
    const findings = new Findings(plan, opened.page);
    await checkAll(opened, (name, body) => findings.check(name, body));
    await within(MILLISECONDS_OF_AN_ACTION, browser.close(), undefined);
    if (findings.standsStill && lookNumber < LOOKS_MAX) {
      console.log(`${plan.name}: the browser stopped drawing; the page is opened in another`);
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
  page.setDefaultTimeout(MILLISECONDS_OF_AN_ACTION);
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
  return { page, complaints };
}

/* Everything that is true of every page. */
async function checkPage({ page, complaints }, plan, check) {
  const report = JSON.parse(readFileSync(plan.json, "utf8"));
  await check("holds the JSON of --json", () => checks.holdsTheJson(page, report));
  await check("shows every section, number and table", () => checks.showsAll(page, report));
  await check("numbers say what the JSON says", () => checks.numbersAreTheJsons(page, report));
  await check("cells say what the JSON says", () => checks.cellsAreTheJsons(page, report));
  await check("draws its charts", () => checks.drawsCharts(page, plan.charts));
  await check("has no empty cards", () => checks.hasNoEmptyCards(page));
  await check("every chart has a text in its place", () => checks.chartsHaveText(page));
  await check("headings, labels and ids are in order", () => checks.isInOrder(page));
  await check("can be read by everybody", () => checks.isAccessible(page));
  for (const width of WIDTHS) await check(`fits ${width} px`, () => checks.fits(page, width));
  await check("light and dark", async () => {
    await page.setViewportSize({ width: 1440, height: 1000 });
    await checks.switchesTheme(page);
  });
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
for (const plan of plans) {
  await look(executablePath, plan, {}, (opened, check) => checkPage(opened, plan, check));
}
if (plans.length > 0) await look(executablePath, plans[0], { colorScheme: "dark" }, checkDark);
console.log(`${counts.passed} passed, ${counts.failed} failed, 0 skipped`);
process.exit(counts.failed > 0 ? 1 : 0);
