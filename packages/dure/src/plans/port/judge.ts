/** Whether a green acceptance was judged by its tests: those of before, and one that has to fail. */

import { randomInt } from "node:crypto";
import { lstat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withCanary, type Canary } from "../results/canary.ts";
import { readTestOutput } from "../results/read-output.ts";
import type { TestReport } from "../results/report.ts";
import { isOfRunner } from "../results/suspicious.ts";
import type { Weakness } from "../results/weakened.ts";
import type { PortWork, Try } from "./pair-parts.ts";
import { isOwned, testsOf } from "./tampering.ts";

/** What the acceptance came to with tests of before and tests that have to fail. */
export interface JudgeOutput {
  /** Files whose test failed as it has to. */
  readonly answered: readonly string[];
  /** Files whose test did not; empty where the acceptance does not run them. */
  readonly silent: readonly string[];
  /** Names of other tests that failed. */
  readonly failing: readonly string[];
  readonly output: string;
}

/** Files that get a test that has to fail; a report names 100 failures. */
const MAX_FILES = 40;
const MAX_NAMED = 5;
/** Characters of the end of its output that are kept. */
const OUTPUT = 2_000;

interface JudgedTry {
  readonly from: string;
  readonly to: string;
  readonly framework: TestReport["framework"];
  /** Its tests may say less: they count as they are. */
  readonly isWeakerAllowed: boolean;
}

/**
 * Runs the acceptance of a green try once more: with the tests and the runner's files that were there
 * before its work, and in each file of tests one that has to fail. Where that one does not, what tests
 * find comes to nothing. It takes nothing of the port's time. Of a runner for which no such test is
 * known nothing is said.
 */
export async function judgeTry(
  work: PortWork,
  { number }: Try,
  judged: JudgedTry,
): Promise<readonly Weakness[]> {
  const { account, files, steps, port } = work;
  const { from, to } = judged;
  const commit = await judgedCommit(work, judged);
  const mark = Array.from({ length: 12 }, () => String.fromCharCode(97 + randomInt(26))).join("");
  const canaries = await canariesOf(work, commit, { framework: judged.framework, mark });
  if (canaries.length === 0) return [];

  let output: JudgeOutput | undefined;
  await account.untimed(async () => {
    output = await steps.step<JudgeOutput>({ try: number, kind: "judge" }, async (step) => {
      const run = async (at: string) => {
        await files.checkout(at);
        await writeAll(files.tree, canaries);
        return steps.command(port.acceptance, await files.disposable(at), step);
      };
      const ran = await run(commit);
      const found = judgedBy(readTestOutput(ran.output), canaries, mark);
      // A file that is silent without the work too, and that no output names, is not run at all.
      const isSome = found.silent.length > 0;
      const before = isSome ? await run(await testsAlone(work, from, commit)) : undefined;
      const known = before && judgedBy(readTestOutput(before.output), canaries, mark).answered;
      const outputs = ran.output + (before?.output ?? "");
      const isOwn = (path: string): boolean => isOwned(port.tests, path);
      const isRun = (path: string): boolean =>
        known?.includes(path) === true || outputs.includes(isOwn(path) ? tailOf(path) : path);
      const silent = found.silent.filter(isRun);

      return { output: { ...found, silent, output: ran.output.slice(-OUTPUT) }, log: ran.output };
    });
  });
  await files.checkout(to);

  return weaknessesOf(output!);
}

/** With tests and files of the runner as they were, where they are in both. */
async function judgedCommit(work: PortWork, judged: JudgedTry): Promise<string> {
  const { files, port } = work;
  const { from, to, isWeakerAllowed } = judged;
  const changes = await files.changes(from, to);
  const isTest = testsOf(port);
  const before = await files.list(from);
  if (isWeakerAllowed || !before.some(isTest)) return to;
  const isKept = ({ path, kind }: (typeof changes)[number]): boolean =>
    isOfRunner(path) || (kind === "modified" && isTest(path));
  const kept = new Set(changes.filter(isKept).map(({ path }) => path));

  return kept.size === 0 ? to : files.beginWith(from, to, (path) => !kept.has(path));
}

/** What the port began from, with the tests that are judged. */
function testsAlone({ files, port }: PortWork, from: string, commit: string): Promise<string> {
  return files.beginWith(from, commit, testsOf(port));
}

async function canariesOf(
  { files, port }: PortWork,
  commit: string,
  { framework, mark }: { readonly framework: TestReport["framework"]; readonly mark: string },
): Promise<readonly Canary[]> {
  const all = (await files.list(commit)).filter(testsOf(port));
  // The port's own, and those that the acceptance names: of many tests it may run a few.
  const isNear = (path: string): boolean =>
    isOwned(port.tests, path) || port.acceptance.includes(path);
  const named = all.filter(isNear);
  const paths = [...named, ...all.filter((path) => !named.includes(path))];
  const found: Canary[] = [];
  for (const path of paths) {
    if (found.length >= MAX_FILES) break;
    const text = await files.read(commit, path);
    const letter = String.fromCharCode(97 + (found.length % 26));
    const own = `${mark}${letter}${String.fromCharCode(97 + Math.floor(found.length / 26))}`;
    const canary = text === undefined ? undefined : withCanary(framework, { path, text }, own);
    if (canary) found.push(canary);
  }

  return found;
}

/** As a command names a file that ran in a folder above it. Pure. */
function tailOf(path: string): string {
  return path.split("/").slice(-2).join("/");
}

/** Into a tree that was just checked out: a link of the commit is never followed. */
async function writeAll(tree: string, canaries: readonly Canary[]): Promise<void> {
  for (const { path, text } of canaries) {
    const at = join(tree, path);
    const found = await lstat(at).catch(() => undefined);
    if (found?.isFile()) await writeFile(at, text);
  }
}

/** Pure. */
function judgedBy(
  { failures }: TestReport,
  canaries: readonly Canary[],
  mark: string,
): Omit<JudgeOutput, "output"> {
  const names = failures.map(({ name }) => name);
  const isFailing = ({ name }: Canary): boolean => names.some((failure) => failure.includes(name));
  const answered = canaries.filter(isFailing).map(({ path }) => path);
  const silent = canaries.filter((one) => !isFailing(one)).map(({ path }) => path);
  const isFile = (name: string): boolean => canaries.some(({ path }) => name.endsWith(path));
  const failing = names.filter((name) => !name.includes(mark) && !isFile(name));

  return { answered, silent, failing };
}

/** Pure. */
function weaknessesOf({ silent, failing }: JudgeOutput): readonly Weakness[] {
  const found: Weakness[] = [];
  if (silent.length > 0) {
    const named = silent.slice(0, MAX_NAMED).join(", ");
    const says = `a test of dure's own that has to fail did not fail in ${named}`;
    found.push({ kind: "not-judged", path: silent[0], says });
  }
  if (failing.length > 0) {
    const named = failing.slice(0, MAX_NAMED).join("; ");
    const says = `with the tests and the runner's files of before these fail: ${named}`;
    found.push({ kind: "base-fails", says });
  }

  return found;
}
