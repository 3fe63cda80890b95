/**
 * `npm run weight`: what the pages and the installed package weigh. `npm run weight -- URL` lets axe
 * and Lighthouse look at Home, Rooms, Chat and Plans of a team that runs there, and weighs nothing;
 * `-- URL lighthouse` or `-- URL axe` lets one of them look.
 */

import { existsSync } from "node:fs";
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { weightsOf } from "../packages/dashboard/test/weight.ts";
import {
  browserPlace,
  launchBrowser,
  openPage,
  violations,
} from "../packages/dashboard/test/browser.ts";
import { buildStale } from "./build.ts";
import { installPacked } from "./package.ts";
import { root, run } from "./processes.ts";
import { bytesOf, megabytes, partsOf, POSTGRES, sumOf } from "./weight.ts";

/** Folders of the package itself that are told one by one. */
const OWN_FOLDERS = ["dist", "dashboard", "docs"];
const LIGHTHOUSE = "lighthouse@13.5.0";
/** Each page is looked at so often; the middle of it is told. */
const LOOKS = 3;
/** Longest look at a page, and longest installation of Lighthouse, milliseconds. */
const LOOK_MS = 120_000;
const INSTALL_MS = 300_000;
/** By which Lighthouse reckons a telephone's processor slower than that of a fast desk computer. */
const USUAL_SLOWDOWN = 4;
const LOOKED_AT = ["/", "/rooms", "/chat", "/plans"];
/** How axe looks at a page. */
const SHAPES = ["ko-KR", "en-US"].flatMap((locale) =>
  (["light", "dark"] as const).flatMap((colorScheme) =>
    [390, 1_440].map((width) => ({ locale, colorScheme, viewport: { width, height: 844 } })),
  ),
);
const FIGURES = [
  "largest-contentful-paint",
  "total-blocking-time",
  "cumulative-layout-shift",
  "total-byte-weight",
];

const [url, only] = process.argv.slice(2);
const folder = await mkdtemp(path.join(tmpdir(), "dure-weight-"));
try {
  if (url === undefined) await tellWeights(folder);
  else await tellLooks(url.replace(/\/+$/, ""), folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function tellWeights(place: string): Promise<void> {
  const failed = (await buildStale({ product: true })).find(({ exitCode }) => exitCode !== 0);
  if (failed) throw new Error(failed.output.trimEnd());
  await tellPages();
  await tellInstall(place);
}

async function tellLooks(url: string, place: string): Promise<void> {
  if (only !== "axe") await tellLighthouse(url, place);
  const found = only === "lighthouse" ? 0 : await tellAxe(url);
  if (found > 0) process.exitCode = 1;
}

async function tellPages(): Promise<void> {
  const pages = await weightsOf(path.join(root, "packages/dure/dashboard"));
  for (const { page, language, scripts, scriptBytes, sheets, sheetBytes } of pages) {
    const js = `${kilobytes(scriptBytes)} JavaScript in ${scripts} files`;
    console.log(`[page] ${page} ${language}: ${js}, ${kilobytes(sheetBytes)} CSS in ${sheets}`);
  }
}

async function tellInstall(place: string): Promise<void> {
  const project = path.join(place, "project");
  await mkdir(project);
  await writeFile(path.join(project, "package.json"), '{"name":"project","private":true}');
  const installed = await installPacked(project, process.env);
  if (installed.exitCode !== 0) throw new Error(installed.output);

  const modules = path.join(project, "node_modules");
  const parts = await partsOf(modules);
  for (const { name, bytes } of parts) console.log(`[install] ${name}: ${megabytes(bytes)}`);
  for (const folder of OWN_FOLDERS) {
    const bytes = await bytesOf(path.join(modules, "dure", folder));
    console.log(`[install] of which dure/${folder}: ${megabytes(bytes)}`);
  }
  const bare = sumOf(parts, ({ name }) => !POSTGRES.test(name));
  console.log(`[install] in all ${megabytes(sumOf(parts))}, without PostgreSQL ${megabytes(bare)}`);
}

/** Every page in both languages, light and dark, on a telephone and a desk. How much was found. */
async function tellAxe(url: string): Promise<number> {
  const browser = await launchBrowser();
  let sum = 0;
  try {
    for (const page of LOOKED_AT) {
      const found = new Set<string>();
      for (const look of SHAPES) {
        await using opened = await openPage(browser, url + page, look);
        await opened.page.locator("main").first().waitFor();
        for (const one of await violations(opened.page)) found.add(one);
      }
      sum += found.size;
      console.log(`[axe] ${page}: ${found.size} violations in ${SHAPES.length} looks`);
      for (const one of found) console.log(`      ${one}`);
    }
  } finally {
    await browser.close();
  }
  return sum;
}

async function tellLighthouse(url: string, place: string): Promise<void> {
  const lighthouse = await installLighthouse(place);
  const poller = { lighthouse, place, slowdown: USUAL_SLOWDOWN };
  const first = await lookAt(url, poller);
  if (first === undefined) throw new Error("Lighthouse gave no report of the first page.");
  const power = first.environment.benchmarkIndex;
  const slowdown = slowdownOf(power);
  console.log(`[lighthouse] this machine: benchmarkIndex ${power}, so its processor is reckoned`);
  console.log(`             ${slowdown} times slower. With the usual ${USUAL_SLOWDOWN} / had:`);
  tellMedian("/", [first]);

  for (const page of LOOKED_AT) {
    const reports: Report[] = [];
    for (let look = 1; look <= LOOKS; look += 1) {
      const report = await lookAt(url + page, { ...poller, slowdown });
      const score = report === undefined ? "no report" : scoresOf([report]);
      console.log(`             look ${look} of ${LOOKS} at ${page}: ${score}`);
      if (report !== undefined) reports.push(report);
    }
    tellMedian(page, reports);
  }
  const load = loadavg()[0]!.toFixed(1);
  console.log(`[lighthouse] medians of ${LOOKS}, for a telephone; load of this machine ${load}`);
}

/** Once: npm asks its registry before each run of a package that it does not have. */
async function installLighthouse(place: string): Promise<string> {
  const { exitCode, output } = await run(
    "npm",
    ["install", "--prefix", place, "--no-save", "--no-audit", "--no-fund", LIGHTHOUSE],
    { cwd: place, signal: AbortSignal.timeout(INSTALL_MS) },
  );
  if (exitCode !== 0) throw new Error(output);
  return path.join(place, "node_modules/lighthouse/cli/index.js");
}

/** What one look needs. */
interface Looker {
  /** Its program. */
  readonly lighthouse: string;
  readonly place: string;
  /** How many times slower than this machine's the processor is reckoned. */
  readonly slowdown: number;
}

/**
 * The network and the processor are reckoned (`simulate`): of this machine's load, only its
 * processors show. Undefined: no report within its time.
 */
async function lookAt(url: string, { lighthouse, place, slowdown }: Looker) {
  const file = path.join(place, "lighthouse.json");
  await rm(file, { force: true });
  const { exitCode, output } = await run(
    process.execPath,
    [
      ...[lighthouse, url, "--quiet", "--output=json", `--output-path=${file}`],
      ...["--throttling-method=simulate", `--throttling.cpuSlowdownMultiplier=${slowdown}`],
      "--chrome-flags=--headless --no-sandbox --disable-gpu",
    ],
    {
      cwd: place,
      env: { ...process.env, CHROME_PATH: browserPlace() },
      signal: AbortSignal.timeout(LOOK_MS),
    },
  );
  const isThere = existsSync(file);
  if (exitCode !== 0) console.log(`             ${output.trim().split("\n").at(-1) ?? "no words"}`);
  return isThere ? (JSON.parse(await readFile(file, "utf8")) as Report) : undefined;
}

/**
 * By the table of Lighthouse's own `docs/throttling.md`, for a telephone of the middle: its usual
 * factor is meant for a fast desk computer. Pure.
 */
function slowdownOf(benchmarkIndex: number): number {
  if (benchmarkIndex >= 1_500) return USUAL_SLOWDOWN;
  return benchmarkIndex >= 800 ? 2 : 1;
}

interface Report {
  readonly environment: { readonly benchmarkIndex: number };
  readonly categories: Readonly<Record<string, { readonly score: number | null }>>;
  /** Times are milliseconds, weights bytes. */
  readonly audits: Readonly<Record<string, { readonly numericValue?: number }>>;
}

function tellMedian(page: string, reports: readonly Report[]): void {
  if (reports.length === 0) {
    console.log(`[lighthouse] ${page}: no report`);
    return;
  }

  const figures = FIGURES.map((name) => {
    const value = medianOf(reports.map(({ audits }) => audits[name]?.numericValue ?? 0));
    return `${name} ${value.toFixed(value < 1 ? 3 : 0)}`;
  });
  console.log(`[lighthouse] ${page}: ${scoresOf(reports)}; ${figures.join(", ")}`);
}

function scoresOf(reports: readonly Report[]): string {
  const scores = Object.keys(reports[0]!.categories).map((name) => {
    const score = medianOf(reports.map(({ categories }) => categories[name]?.score ?? 0));
    return `${name} ${Math.round(score * 100)}`;
  });
  return scores.join(", ");
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1_000).toFixed(1)} kB`;
}
