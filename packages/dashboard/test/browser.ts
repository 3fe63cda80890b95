import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AxeBuilder } from "@axe-core/playwright";
import {
  chromium,
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
} from "playwright-core";
import { acquireStartLock } from "../../dure/src/durable/embedded/start-lock.ts";
import { systemClock } from "../../dure/src/kernel/clock.ts";
import { beLate, LATE_MS } from "../../dure/src/kernel/test-late.ts";

/**
 * Where Debian, Ubuntu and macOS keep a Chromium; `CHROMIUM_PATH` goes before them. The first has
 * no windows, and is a third faster.
 */
const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/**
 * Chromium draws what drops down from its address bar as web pages of its own, in every window, and
 * they take more of the machine than ours. The last flag of this name counts alone, so what
 * Playwright turns off stands here again.
 */
const UNUSED = [
  ...[
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxSimplification",
  ],
  ...[
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
  ],
  ...[
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
  ],
];

/** The Chromium of this machine. */
export function browserPlace(): string {
  const found = [process.env["CHROMIUM_PATH"] ?? "", ...PLACES].find((place) => existsSync(place));
  if (found !== undefined) return found;
  throw new Error(
    `No Chromium at CHROMIUM_PATH, ${PLACES.join(", ")}: apt-get install --no-install-recommends chromium fonts-noto-cjk`,
  );
}

export async function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPlace(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      `--disable-features=${UNUSED.join(",")}`,
    ],
  });
}

/**
 * The dashboard as it is shipped, in a folder of its own; for looking at it while its sources
 * change.
 */
export async function buildSite(): Promise<{ site: string; remove: () => Promise<void> }> {
  const site = await mkdtemp(join(tmpdir(), "dure-dashboard-"));
  await buildAsShipped({ outDir: site, emptyOutDir: true });
  return { site, remove: () => rm(site, { recursive: true, force: true }) };
}

/**
 * In a process of its own: the build renders with React as it is shipped, and a test may have React
 * for development loaded.
 */
async function buildAsShipped(options: { outDir?: string; emptyOutDir: boolean }): Promise<void> {
  const vite = fileURLToPath(
    import.meta.resolve("vite/package.json").replace(/package\.json$/, VITE),
  );
  const outDir = options.outDir === undefined ? [] : ["--outDir", options.outDir];
  const emptyOutDir = `--emptyOutDir=${options.emptyOutDir}`;
  const args = [
    vite,
    "build",
    "--mode",
    "production",
    "--logLevel",
    "error",
    ...outDir,
    emptyOutDir,
  ];
  await run(process.execPath, args, {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    env: { ...process.env, NODE_ENV: "production" },
  });
}

const run = promisify(execFile);
const VITE = "bin/vite.js";

/** For hooks that launch a browser and perhaps build the site, on a busy machine; milliseconds. */
export const SLOW_HOOK_MS = 300_000;

/** Where the package keeps the dashboard and the real server takes it from. */
const SITE = fileURLToPath(new URL("../../dure/dashboard", import.meta.url));
const LOCK = fileURLToPath(new URL("../../../node_modules/.cache/dure/site-lock", import.meta.url));

/**
 * The folder of the dashboard as it is shipped, as new as its sources: built by the first test file
 * that asks, others wait for it.
 */
export async function siteInPackage(): Promise<string> {
  const release = await acquireStartLock(LOCK, { clock: systemClock, patience: SLOW_HOOK_MS });
  try {
    await buildWhenOld();
  } finally {
    await release();
  }
  return SITE;
}

async function buildWhenOld(): Promise<void> {
  const sources = await Promise.all([
    newest("../src"),
    newest("../index.html"),
    newest("../public"),
    newest("../words"),
    newest("../catalogue.ts"),
    newest("../parts-of-pages.ts"),
    newest("../first-words.ts"),
    newest("../theme-sheet.ts"),
    newest("../package.json"),
    newest("../vite.config.ts"),
    newest("../../dure/src/client"),
    newest("../../dure/src/kernel"),
    newest("../../dure/src/korean"),
    newest("../../dure/src/react"),
    newest("../../dure/src/wire"),
  ]);
  const built = await stat(join(SITE, "index.html")).catch(() => undefined);
  if (built !== undefined && built.mtimeMs >= Math.max(...sources)) return;
  const begunAt = new Date();
  // Files are added, none is taken away: a server that serves them now goes on.
  await buildAsShipped({ emptyOutDir: false });
  await utimes(join(SITE, "index.html"), begunAt, begunAt); // a source that changed meanwhile is perhaps not in it
}

/** When a file, or the youngest file of a folder, was written, milliseconds since the epoch. */
async function newest(place: string): Promise<number> {
  const path = fileURLToPath(new URL(place, import.meta.url));
  const files = (await stat(path)).isDirectory()
    ? (await readdir(path, { recursive: true })).map((name) => join(path, name))
    : [path];
  return Math.max(...(await Promise.all(files.map(async (file) => (await stat(file)).mtimeMs))));
}

export interface OpenedPage {
  readonly page: Page;
  /**
   * Everything that a well-made page does not do: errors, CSP violations, requests to elsewhere.
   */
  readonly complaints: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({
    locale: "ko-KR",
    timezoneId: "Asia/Seoul",
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  if (LATE_MS > 0) lookLate(page.locator("html"));
  page.setDefaultTimeout(20_000); // as long as `expect.poll`
  const complaints: string[] = [];
  const origin = new URL(url).origin;
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      complaints.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    const url = request.url().replace(/^blob:/, ""); // made by the page itself
    if (!url.startsWith(origin)) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Makes `waitFor` of all locators late; these share what is replaced. */
function lookLate(one: Locator): void {
  const locators = Object.getPrototypeOf(one) as Locator & { isLate?: boolean };
  if (locators.isLate) return;
  const waitFor: Locator["waitFor"] = Reflect.get(locators, "waitFor");
  Object.assign(locators, {
    isLate: true,
    async waitFor(this: Locator, options: Parameters<Locator["waitFor"]>[0]) {
      await beLate();
      return waitFor.call(this, options);
    },
  });
}

/**
 * What axe finds against WCAG 2.2 A and AA, in words; `within` is a CSS selector. Most of the time
 * of a look goes into bringing axe to the page, so it is brought once per load; the modes and
 * options left out are for frames of other origins and for media, which our pages have none of, and
 * for what passes, which no test reads.
 */
export async function violations(page: Page, within = "html"): Promise<string[]> {
  const isThere = await page.evaluate(() => "axe" in window);
  const axe = new AxeBuilder(isThere ? { page, axeSource: "void 0" } : { page })
    .setLegacyMode(true)
    .options({ resultTypes: ["violations"], preload: false });
  const { violations: found } = await axe
    .include(within)
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    .analyze();
  return found.flatMap((rule) =>
    rule.nodes.map(
      (node) =>
        `${rule.id}: ${node.target.join(" ")} — ${node.failureSummary?.split("\n")[1]?.trim() ?? ""}`,
    ),
  );
}
