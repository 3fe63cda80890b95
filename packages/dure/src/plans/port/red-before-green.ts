import { messageOf } from "../../kernel/errors.ts";
import { testsOf } from "./tampering.ts";
import type { PortWork, Try } from "./pair-parts.ts";

/** Output of the acceptance on what the port began from, with its tests of now. */
export interface BaseOutput {
  /** It failed there: the tests show the work. */
  readonly red: boolean;
  readonly output: string;
}

/** Characters of the end of its output that are kept. */
const OUTPUT = 2_000;

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
