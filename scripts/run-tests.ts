/**
 * `npm test`: a browser, a build, the checks, the tests; one line each, and a non-zero exit code
 * when any of them failed.
 *
 *   npm test                       what people wait for: tests marked `full` are left out, kill tables and slow files are samples
 *   npm test -- packages/dure/src/jobs   the checks, and the tests whose path matches, slow ones too
 *   npm run test:full              what `npm test` leaves out, without the checks
 *   npm run test:full -- --within 30   the same in parts, of which none begins after so many minutes
 *   npm run test:long              everything, with the numbers of the specifications; prints the seed that repeats the run
 */

import { createHash, randomInt } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildStale } from "./build.ts";
import { CHECKS, PACKAGE_CHECK, type Check } from "./checks.ts";
import { spread } from "../packages/dure/src/kernel/test-tiers.ts";
import { ensureChromium, ensureTools } from "./chromium.ts";
import { COUNTS_FILE, type TestCounts } from "./count-reporter.ts";
import { root, run, runTool } from "./processes.ts";

/** Which tests run. Their meaning: packages/dure/src/kernel/test-tiers.ts. */
type Mode = "quick" | "full" | "long";

const TIER_OF = { quick: "quick", full: "full", long: "all" } as const satisfies Record<
  Mode,
  string
>;
/** Short tests share a process: half of what many of them cost was the start of one for each file. */
const OPTIONS_OF = {
  quick: ["--tags-filter=!full", "--no-isolate"],
  full: ["--tags-filter=full || slow"],
  long: [],
} as const satisfies Record<Mode, readonly string[]>;

async function main(args: readonly string[]): Promise<number> {
  const mode = args.includes("--long") ? "long" : args.includes("--full") ? "full" : "quick";
  const { paths, withinMs } = readArguments(args);
  const env = await prepareEnvironment(mode);

  const checks = checksOf(mode);
  const failedChecks = await runChecks(checks, env);
  const filters = mode === "full" ? await filesWith(FULL_OR_SLOW, paths) : paths;
  const inParts = mode === "full" && withinMs !== undefined;
  const tests = inParts
    ? await runInParts(filters, { env, withinMs })
    : await runVitest([...OPTIONS_OF[mode], ...(await leftOut(mode, paths, env)), ...filters], env);

  // Vitest's own closing lines stand above; these are for the reader in a hurry.
  console.log(
    failedChecks.length === 0
      ? `all ${checks.length} checks passed`
      : `failed checks: ${failedChecks.join(", ")}`,
  );
  if (mode === "quick") {
    console.log(
      `sample ${env["DURE_TEST_SAMPLE"]} of kill tables and slow files; npm run test:full runs all`,
    );
  }
  if (mode === "long") {
    console.log(
      `seed ${env["DURE_TEST_SEED"]}: DURE_TEST_SEED=${env["DURE_TEST_SEED"]} npm run test:long ` +
        "repeats this run",
    );
  }
  console.log(`${tests.counts.passed} passed, ${tests.counts.failed} failed`);
  return failedChecks.length > 0 || tests.exitCode !== 0 || tests.counts.failed > 0 ? 1 : 0;
}

function readArguments(args: readonly string[]): { paths: string[]; withinMs?: number } {
  const at = args.indexOf("--within");
  const minutes = Number(args[at + 1]);
  if (at >= 0 && !(minutes > 0)) throw new Error("--within needs a number of minutes above 0.");
  const paths = args.filter(
    (argument, index) =>
      !["--long", "--full", "--", "--within"].includes(argument) && (at < 0 || index !== at + 1),
  );
  return at < 0 ? { paths } : { paths, withinMs: minutes * 60_000 };
}

/** `npm test` has made the checks; the run after it needs the build alone. */
function checksOf(mode: Mode): readonly Check[] {
  if (mode === "full") return [BUILD];
  return [BUILD, ...CHECKS, ...(mode === "long" ? [PACKAGE_CHECK] : [])];
}

const SLOW = /^\/\/ @module-tag slow$/m;
const FULL_OR_SLOW = new RegExp(`${SLOW.source}|\\bFULL\\b|\\bsampled\\(`, "m");
/** Slow files of one `npm test`: with the rest it takes 6 minutes on 2 cores. */
const SLOW_FILES = 5;

/** Slow files that are not in the sample of this run. A path that is asked for runs whole. */
async function leftOut(
  mode: Mode,
  paths: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  if (mode !== "quick" || paths.length > 0) return [];
  const slow = await filesWith(SLOW, []);
  const chosen = new Set(spread(slow, SLOW_FILES, Number(env["DURE_TEST_SAMPLE"])));

  return slow.filter((file) => !chosen.has(file)).map((file) => `--exclude=${file}`);
}

/** Files with tests whose text has a mark, so that no other file is loaded. */
async function filesWith(mark: RegExp, paths: readonly string[]): Promise<readonly string[]> {
  const listed = await run("git", [
    "ls-files",
    "-co",
    "--exclude-standard",
    "*.test.ts",
    "*.test.tsx",
  ]);
  const found: string[] = [];
  for (const file of listed.stdout.split("\n").filter(Boolean)) {
    const isMeant = paths.length === 0 || paths.some((wanted) => file.includes(wanted));
    if (!isMeant) continue;
    const text = await readFile(path.join(root, file), "utf8");
    if (mark.test(text)) found.push(file);
  }
  return found;
}

/** Characters of a day: 2026-11-29. */
const DAY = 10;
/** Files of one part: two or three for each worker. A part that has begun is run to its end. */
const PART = 9;

/**
 * All files where the time suffices. Where it does not, which ones come first changes with the day,
 * and those that were not begun are named: they have neither passed nor failed.
 */
async function runInParts(
  files: readonly string[],
  { env, withinMs }: { env: NodeJS.ProcessEnv; withinMs: number },
): Promise<Awaited<ReturnType<typeof runVitest>>> {
  const startedAt = performance.now();
  const left = inOrderOf(new Date().toISOString().slice(0, DAY), files);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let exitCode = 0;
  while (left.length > 0 && performance.now() - startedAt < withinMs) {
    const part = await runVitest([...OPTIONS_OF.full, ...left.splice(0, PART)], env);
    exitCode ||= part.exitCode;
    counts.passed += part.counts.passed;
    counts.failed += part.counts.failed;
    counts.skipped += part.counts.skipped;
  }
  if (left.length > 0) {
    console.log(
      `NOT RUN: ${left.length} of ${files.length} files were not begun within ` +
        `${withinMs / 60_000} minutes; npm run test:full runs all. They are:`,
    );
    for (const file of left.toSorted()) console.log(`  ${file}`);
  }
  return { exitCode, counts };
}

/** As by chance, and the same all day. Pure. */
function inOrderOf(day: string, files: readonly string[]): string[] {
  const place = (file: string): string =>
    createHash("sha256").update(`${day} ${file}`).digest("hex");
  return files.toSorted((one, other) => place(one).localeCompare(place(other)));
}

async function prepareEnvironment(mode: Mode): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  env["DURE_TEST_TIER"] = TIER_OF[mode];
  env["DURE_TEST_SAMPLE"] ??= String(randomInt(1, 2 ** 31));
  if (mode === "long") {
    env["DURE_TEST_LONG"] = "1";
    env["DURE_TEST_SEED"] ??= String(randomInt(1, 2 ** 31));
    console.log(`[test] long run, seed ${env["DURE_TEST_SEED"]}`);
  }
  const browser = await ensureChromium(env);
  const trouble = await ensureTools({ full: mode !== "quick" });
  if (trouble !== undefined) console.log(`[test] ${trouble}`);
  if (browser.ok) {
    env["CHROMIUM_PATH"] = browser.path;
    if (browser.note !== undefined) console.log(`[test] ${browser.note}`);
  } else {
    console.log(`[test] no browser: ${browser.reason}`);
    console.log(`       ${browser.hint}`);
  }
  return env;
}

const BUILD: Check = {
  name: "build",
  async run(env) {
    const results = await buildStale({ env });
    const failed = results.find((result) => result.exitCode !== 0);
    const built = results.filter((result) => result.built).map((result) => result.name);
    return failed
      ? { ok: false, output: `${failed.name}:\n${failed.output}` }
      : { ok: true, note: built.length > 0 ? built.join(", ") : "up to date" };
  },
};

/** The build first; then two at a time, as many of them keep one core busy. Names of the failed. */
async function runChecks(checks: readonly Check[], env: NodeJS.ProcessEnv): Promise<string[]> {
  const failed: string[] = [];
  const [build, ...rest] = checks;
  const work = async (queue: Check[]): Promise<void> => {
    for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
      if (!(await runCheck(check, env))) failed.push(check.name);
    }
  };

  await work(build === undefined ? [] : [build]);
  await Promise.all([work(rest), work(rest)]);
  return failed;
}

async function runCheck(check: Check, env: NodeJS.ProcessEnv): Promise<boolean> {
  const startedAt = performance.now();
  const result = await check
    .run(env)
    .catch((error: unknown) => ({ ok: false, output: String(error) }) as const);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);

  const note = result.ok && result.note !== undefined ? `  ${result.note}` : "";
  console.log(
    `${check.name.padEnd(10)} ${result.ok ? "passed" : "FAILED"} ${seconds.padStart(6)} s${note}`,
  );
  if (!result.ok) console.log(indent(result.output.trim()));
  return result.ok;
}

/** The counts come from vitest's own results; a run that ended without any is one failure. */
async function runVitest(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ exitCode: number; counts: TestCounts }> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-counts-"));
  const countsFile = path.join(folder, "counts.json");
  try {
    const { exitCode } = await runTool(
      "vitest",
      ["run", ...REPORTERS, ...(process.stdout.isTTY ? [] : ["--no-color"]), ...args],
      {
        cwd: root,
        env: { ...env, [COUNTS_FILE]: countsFile },
        show: true,
      },
    );
    const written = await readFile(countsFile, "utf8").catch(() => undefined);
    const counts =
      written === undefined
        ? { passed: 0, failed: 1, skipped: 0 }
        : (JSON.parse(written) as TestCounts);
    return { exitCode, counts };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const REPORTERS = [
  "--reporter=default",
  "--reporter=./scripts/count-reporter.ts",
  "--reporter=./scripts/slow-reporter.ts",
];

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "    ");
}

process.exitCode = await main(process.argv.slice(2));
