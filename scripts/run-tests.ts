/**
 * `npm test`: a browser, a build, the checks, the tests; one line each, and a non-zero exit code
 * when any of them failed.
 *
 *   npm test                       everything, 3 seeds per property and kill test
 *   npm test -- packages/dure/src/jobs   the checks, and the tests whose path matches
 *   npm run test:long              the numbers of the specifications; prints the seed that repeats the run
 */

import { randomInt } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildStale } from "./build.ts";
import { CHECKS, PACKAGE_CHECK, type Check } from "./checks.ts";
import { ensureChromium, ensureTools } from "./chromium.ts";
import { COUNTS_FILE, type TestCounts } from "./count-reporter.ts";
import { root, runTool } from "./processes.ts";

async function main(args: readonly string[]): Promise<number> {
  const isLong = args.includes("--long");
  const filters = args.filter((argument) => !["--long", "--"].includes(argument));
  const env = await prepareEnvironment(isLong);

  const checks = [BUILD, ...CHECKS, ...(isLong ? [PACKAGE_CHECK] : [])];
  const failedChecks: string[] = [];
  for (const check of checks) {
    if (!(await runCheck(check, env))) failedChecks.push(check.name);
  }
  const tests = await runVitest(filters, env);

  // Vitest's own closing lines stand above; these are for the reader in a hurry.
  console.log(
    failedChecks.length === 0
      ? `all ${checks.length} checks passed`
      : `failed checks: ${failedChecks.join(", ")}`,
  );
  if (isLong) {
    console.log(
      `seed ${env["DURE_TEST_SEED"]}: DURE_TEST_SEED=${env["DURE_TEST_SEED"]} npm run test:long ` +
        "repeats this run",
    );
  }
  console.log(`${tests.counts.passed} passed, ${tests.counts.failed} failed`);
  return failedChecks.length > 0 || tests.exitCode !== 0 || tests.counts.failed > 0 ? 1 : 0;
}

async function prepareEnvironment(isLong: boolean): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  if (isLong) {
    env["DURE_TEST_LONG"] = "1";
    env["DURE_TEST_SEED"] ??= String(randomInt(1, 2 ** 31));
    console.log(`[test] long run, seed ${env["DURE_TEST_SEED"]}`);
  }
  const browser = await ensureChromium(env);
  const trouble = await ensureTools();
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
  filters: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ exitCode: number; counts: TestCounts }> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-counts-"));
  const countsFile = path.join(folder, "counts.json");
  try {
    const { exitCode } = await runTool(
      "vitest",
      ["run", ...REPORTERS, ...(process.stdout.isTTY ? [] : ["--no-color"]), ...filters],
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

const REPORTERS = ["--reporter=default", "--reporter=./scripts/count-reporter.ts"];

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "    ");
}

process.exitCode = await main(process.argv.slice(2));
