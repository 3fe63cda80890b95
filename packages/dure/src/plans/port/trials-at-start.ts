/** The acceptance on what a port began from: how many tests there are, and that it fails there. */

import { countOf, type TestCount } from "../results/count.ts";
import { readTestOutput } from "../results/read-output.ts";
import { testsOf } from "./tampering.ts";
import type { PortWork, Try } from "./pair-parts.ts";
import type { SandboxEnd } from "../sandbox/sandbox.ts";
import { PortFailure } from "./port-failure.ts";
import { whyNeverRuns } from "./try-end.ts";
import type { Because } from "../../wire/plans.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import { feedbackOf } from "../workers/feedback.ts";
import { messageOf } from "../../kernel/errors.ts";

/** The acceptance on what the port began from, with the tests of then. */
export interface CountOutput {
  /** That commit. */
  readonly from: string;
  /** Null: its output tells no number that is sure. */
  readonly counted: TestCount | null;
  readonly output: string;
  /** Where it ran before the first try. */
  readonly feedback?: TestFeedback | undefined;
  readonly red?: boolean | undefined;
  /** Why it cannot run there, whatever a worker does. */
  readonly problem?: Because | undefined;
}

/** Characters of the end of its output that are kept. */
const OUTPUT = 2_000;

/**
 * How many tests the acceptance finds on what the port began from. Once per port and start, and
 * nothing of its time. Undefined: there was no test, or no number is sure.
 *
 * @param commits `to` is checked out again in the end.
 */
export async function countAtStart(
  work: PortWork,
  { number }: Try,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<TestCount | undefined> {
  const { run, port, parts, account, files, steps } = work;

  const names = await files.list(from);
  if (!names.some(testsOf(port))) return undefined;

  const known = await knownCount(work, from);
  if (known) return known.counted ?? undefined;

  let counted: TestCount | null = null;
  await account.untimed(async () => {
    const made = await steps.step<CountOutput>({ try: number, kind: "count" }, async (step) => {
      await files.checkout(from);
      const ran = await steps.command(port.acceptance, await files.disposable(from), step);
      const report = readTestOutput(ran.output);
      const sure = ran.outputTruncated ? null : (countOf(report) ?? null);
      const output = { from, counted: sure, output: ran.output.slice(-OUTPUT) };

      return { output, log: ran.output };
    });
    counted = made.counted;
  });

  await files.checkout(to);
  if (counted === null) {
    parts.logger.info(
      { run: run.id, port: port.id },
      `tests of ${port.id} at its start cannot be counted: its acceptance prints no summary that is known`,
    );
  }

  return counted ?? undefined;
}

/**
 * Before the first worker of a port: its acceptance on what the port begins from. That it fails
 * there is as it should be, and is told. Once per start, and nothing of its time. Throws
 * {@link PortFailure} where it cannot run at all.
 */
export async function tryBeforeWork(work: PortWork, start: string): Promise<void> {
  const { run, port, account, files, steps, parts } = work;
  if (run.plan.preflight !== true) return;
  const known = await knownCount(work, start);
  if (known && known.problem === undefined) return;

  await account.untimed(async () => {
    // What could not run is tried again: a person may have mended it.
    const key = { try: 0, kind: "count", again: true } as const;
    const { problem, output } = await steps.step<CountOutput>(key, async (step) => {
      await files.checkout(start);
      const began = parts.clock.monotonic();
      const ran = await steps.command(port.acceptance, await files.disposable(start), step);
      const durationMs = parts.clock.monotonic() - began;

      return { output: countedBefore(work, start, { ...ran, durationMs }), log: ran.output };
    });
    if (problem !== undefined) throw new PortFailure("worker-lost", problem, { output });
  });
}

/** What the acceptance came to before any work. Pure. */
function countedBefore(
  { run, port }: Pick<PortWork, "run" | "port">,
  from: string,
  ran: SandboxEnd & { readonly output: string; readonly durationMs: number },
): CountOutput {
  const { exitCode, output, outputTruncated, durationMs } = ran;
  const report = readTestOutput(output);
  const isComplete = !outputTruncated;
  const feedback = feedbackOf({ report, exitCode, output, durationMs, isComplete });
  const decided = { acceptance: port.acceptance, setup: run.plan.setup };
  const problem = whyNeverRuns(decided, { ...ran, feedback });

  return {
    from,
    counted: isComplete ? (countOf(report) ?? null) : null,
    output: output.slice(-OUTPUT),
    feedback,
    red: problem === undefined ? !feedback.success : undefined,
    problem,
  };
}

/** What an earlier try has counted. */
async function knownCount(
  { run, port, parts }: PortWork,
  from: string,
): Promise<CountOutput | undefined> {
  const steps = await parts.records.steps.of(run.id, port.id);

  const outputs = steps
    .filter(({ kind, status }) => kind === "count" && status === "done")
    .map(({ output }) => output as CountOutput);

  return outputs.find((output) => output.from === from);
}

/** Output of the acceptance on what the port began from, with its tests of now. */
interface BaseOutput {
  /** It failed there: the tests show the work. */
  readonly red: boolean;
  readonly output: string;
}

/**
 * Runs the acceptance once more, with the port's tests on what it began from. There it has to fail:
 * tests that pass without the work do not show it. That is told and decides nothing, and takes
 * nothing of the port's time.
 */
export async function tryWithoutWork(
  work: PortWork,
  { number }: Try,
  commit: string,
): Promise<void> {
  const { port, account, files, steps } = work;
  const start = account.port.startCommit;
  if (start === null || port.tests.length === 0 || port.noChange === "allowed") return;
  const trial = await startWithTests(work, start, commit);
  if (trial === undefined) return;

  await account.untimed(async () => {
    await steps.step<BaseOutput>({ try: number, kind: "base" }, async (step) => {
      await files.checkout(trial);
      const ran = await steps.command(port.acceptance, await files.disposable(trial), step);
      const red = ran.exitCode !== 0;
      return { output: { red, output: ran.output.slice(-OUTPUT) }, log: ran.output };
    });
  });
  // A tree that holds what its result does not have is never cleaned.
  await files.checkout(commit);
}

/** Undefined: the tests do not fit to what it began from, a folder stands where a file was. */
async function startWithTests(
  { run, port, parts, files, signal }: PortWork,
  start: string,
  commit: string,
): Promise<string | undefined> {
  try {
    return await files.beginWith(start, commit, testsOf(port));
  } catch (error) {
    signal.throwIfAborted();
    parts.logger.warn(
      { run: run.id, port: port.id, error: messageOf(error) },
      `whether the tests of ${port.id} fail without its work could not be tried`,
    );
    return undefined;
  }
}
