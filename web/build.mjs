/* Makes the page of the HTML report: one file with its style and script inside, and a mark where
 * the program puts the data.
 *
 *     node build.mjs OUTPUT [DEPENDENCIES]
 *
 * DEPENDENCIES is written for make: what the page was made from.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { readAccounts } from "./account_list.mjs";
import { readGlossary } from "./glossary.mjs";
import { readMetricPages } from "./metric_pages.mjs";

const FOLDER = dirname(fileURLToPath(import.meta.url));
const METRICS = join(FOLDER, "..", "docs", "metrics");
const GLOSSARY = join(FOLDER, "..", "docs", "glossary.md");

const ACCOUNTS = join(FOLDER, "..", "src", "ledger", "account_list.def");

/* What the page knows of the program, read where the program has it: import { pages, names } from
 * "metric-pages", import { words } from "glossary", import { accounts } from "ledger-accounts". */
const SOURCES = {
  "metric-pages": () => readMetricPages(METRICS),
  glossary: () => ({ words: readGlossary(GLOSSARY) }),
  "ledger-accounts": () => ({ accounts: readAccounts(ACCOUNTS) }),
};
const sources = {
  name: "sources",
  setup(bundler) {
    bundler.onResolve({ filter: /^(metric-pages|glossary|ledger-accounts)$/ }, ({ path }) => ({
      path,
      namespace: "source",
    }));
    bundler.onLoad({ filter: /.*/, namespace: "source" }, ({ path }) => ({
      contents: JSON.stringify(SOURCES[path]()),
      loader: "json",
    }));
  },
};

async function bundle(entry) {
  const done = await build({
    entryPoints: [join(FOLDER, entry)],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    charset: "utf8",
    format: "iife",
    target: ["es2020"],
    legalComments: "none",
    logLevel: "warning",
    plugins: [sources],
    absWorkingDir: FOLDER,
  });
  return { text: done.outputFiles[0].text.trim(), inputs: Object.keys(done.metafile.inputs) };
}

function fill(template, parts) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

const [output, dependencies] = process.argv.slice(2);
const script = await bundle("src/main.ts");
const style = await bundle("src/page.css");
const hash = createHash("sha256").update(script.text).digest("base64");
const template = readFileSync(join(FOLDER, "page.html"), "utf8");
writeFileSync(
  output,
  fill(template, { style: style.text, script: script.text, hash: `sha256-${hash}` }),
);

if (dependencies) {
  const own = [
    "page.html",
    "build.mjs",
    "account_list.mjs",
    "metric_pages.mjs",
    "glossary.mjs",
    "package.json",
  ];
  const read = [...own, ...script.inputs, ...style.inputs].filter((path) => !path.includes(":"));
  const docs = readdirSync(METRICS).map((name) => join(METRICS, name));
  const paths = [...read.map((path) => join(FOLDER, path)), ACCOUNTS, GLOSSARY, METRICS, ...docs];
  writeFileSync(
    dependencies,
    `${output}: ${paths.map((path) => path.replace(/ /g, "\\ ")).join(" ")}\n`,
  );
}
