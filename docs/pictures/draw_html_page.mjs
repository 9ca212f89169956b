/* Draws the top of an HTML report as a PNG picture, in headless Chromium:
 *
 *     flopledger report --html page.html examples/traces/train_gpt_cpu.json.gz
 *     node docs/pictures/draw_html_page.mjs page.html docs/pictures/page.png
 *
 * Needs `npm ci` in web/, and Chromium (or its path as the third argument).
 */
import { pathToFileURL } from "node:url";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const WIDTH = 1440;
const HEIGHT = 900;

const [page, picture, executablePath = "/usr/bin/chromium"] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const tab = await browser.newPage({
  viewport: { width: WIDTH, height: HEIGHT },
  colorScheme: "light",
});
await tab.goto(pathToFileURL(page).href);
await tab.waitForSelector("figure[data-chart=step_accounts] .chart svg");
await tab.screenshot({ path: picture });
await browser.close();
