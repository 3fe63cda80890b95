/**
 * `npm run mutate`: breaks each guard of the lists beside the sources (`guards.yaml`) in a copy of the tree, and prints those
 * that no test misses.
 *
 *   npm run mutate                          all of them, two at a time
 *   npm run mutate -- finish_turn outbox    those whose id holds one of the words
 *   npm run mutate -- --changed             those whose file or tests differ from the last commit
 *   npm run mutate -- --changed=main        or from another one
 *   npm run mutate -- --jobs 1 --timeout 300
 *   npm run mutate -- --list
 *
 * Exit code 1: a guard survived, its text is gone, or it could not be tried.
 */

import { rm } from "node:fs/promises";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { EmbeddedPostgres } from "../packages/dure/src/durable/embedded/embedded-postgres.ts";
import { silentLogger } from "../packages/dure/src/kernel/logger.ts";
import { readGuards } from "./guards.ts";
import {
  isNoticed,
  locate,
  mutate,
  testsOf,
  type Guard,
  type Outcome,
  type Verdict,
} from "./mutate.ts";
import { root, run } from "./processes.ts";

const { values, positionals } = parseArgs({
  args: changedArgument(process.argv.slice(2)),
  allowPositionals: true,
  options: {
    jobs: { type: "string", default: "2" },
    timeout: { type: "string", default: "180" },
    changed: { type: "string" },
    list: { type: "boolean", default: false },
  },
});

async function main(over: AbortSignal): Promise<number> {
  const guards = await chosen();
  if (values.list) return list(guards);
  if (guards.length === 0) {
    console.log("no guard is meant");
    return 1;
  }
  console.log(
    `[mutate] ${guards.length} guards, ${values.jobs} at a time; first their tests with nothing broken`,
  );
  const startedAt = performance.now();

  await using databases = new AsyncDisposableStack();
  const verdicts = await mutate({
    root,
    guards,
    jobs: Number(values.jobs),
    timeoutMs: Number(values.timeout) * 1_000,
    signal: over,
    environment: () => ownDatabase(databases),
    onVerdict: (verdict) => console.log(lineOf(verdict)),
  });
  return tell(verdicts, (performance.now() - startedAt) / 60_000);
}

/** `--changed` alone means the last commit. */
function changedArgument(args: readonly string[]): string[] {
  return args.map((argument) => (argument === "--changed" ? "--changed=HEAD" : argument));
}

async function chosen(): Promise<readonly Guard[]> {
  const named = readGuards(root).filter(
    ({ id }) => positionals.length === 0 || positionals.some((word) => id.includes(word)),
  );
  if (values.changed === undefined) return named;
  const { exitCode, stdout, output } = await run("git", ["diff", "--name-only", values.changed]);
  if (exitCode !== 0) {
    throw new Error(`git does not know what changed since ${values.changed}: ${output.trim()}`);
  }
  const changed = new Set(stdout.trim().split("\n"));
  return named.filter((guard) => filesOf(guard).some((file) => changed.has(file)));
}

function filesOf(guard: Guard): readonly string[] {
  const place = locate(root, guard);
  return [...(place.ok ? [place.file] : []), ...testsOf(guard).map(({ file }) => file)];
}

/** Broken migrations must not meet other tests of the machine, nor push their templates out. */
async function ownDatabase(stack: AsyncDisposableStack): Promise<NodeJS.ProcessEnv> {
  const memory = "/dev/shm";
  const home = mkdtempSync(path.join(existsSync(memory) ? memory : tmpdir(), "dure-mutate-pg-"));
  stack.defer(() => rm(home, { recursive: true, force: true, maxRetries: 3 }));
  const server = await EmbeddedPostgres.start({ home, logger: silentLogger, durable: false });
  stack.defer(() => server.stop());
  return { DURE_TEST_DATABASE_URL: server.url };
}

function list(guards: readonly Guard[]): number {
  for (const { id, why } of guards) console.log(`${id.padEnd(48)} ${why}`);
  return 0;
}

function lineOf({ guard, outcome, seconds, detail }: Verdict): string {
  return (
    `${outcome.padEnd(9)} ${seconds.toFixed(0).padStart(4)} s  ${guard.id.padEnd(48)} ` +
    detail.slice(0, 110)
  );
}

/** Survivors last, so that they are what a reader sees first. */
const ORDER: readonly Outcome[] = ["killed", "TIMED OUT", "BROKEN", "GONE", "SURVIVED"];

function tell(verdicts: readonly Verdict[], minutes: number): number {
  const open = verdicts
    .filter((verdict) => !isNoticed(verdict))
    .toSorted((one, other) => ORDER.indexOf(one.outcome) - ORDER.indexOf(other.outcome));
  const counts = ORDER.map(
    (outcome) =>
      `${verdicts.filter((verdict) => verdict.outcome === outcome).length} ${outcome.toLowerCase()}`,
  );
  console.log(
    `\n[mutate] ${verdicts.length} guards in ${minutes.toFixed(1)} min: ${counts.join(", ")}`,
  );
  for (const verdict of open) {
    console.log(lineOf(verdict));
    console.log(`                  ${verdict.guard.why}`);
  }
  return open.length === 0 ? 0 : 1;
}

const ended = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => ended.abort(new Error(`ended by ${signal}`)));
}

process.exitCode = await main(ended.signal).catch((error: unknown) => {
  if (!ended.signal.aborted) throw error;
  console.log(
    `[mutate] ${(ended.signal.reason as Error).message}; its copies and databases are gone`,
  );
  return 130;
});
