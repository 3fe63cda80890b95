/** The command that tries what was merged, as a whole. */

import { DureError } from "../../kernel/errors.ts";
import type { PortResult } from "../rows/outcomes.ts";
import type { Port } from "../plan.ts";
import { readTestOutput } from "../results/read-output.ts";
import { feedbackOf } from "../workers/feedback.ts";
import type { MergeParts } from "./merge.ts";
import type { PortFiles } from "../port/port-files.ts";
import { ORCHESTRATOR, type PlanRun, type PlanStep } from "../rows/run.ts";
import {
  exitWords,
  HOST_REFUSED,
  hostRefused,
  SETUP_HINT,
  SETUP_KEPT,
  type StepEnd,
  type StepLog,
} from "../rows/step-log.ts";
import type { TestFeedback } from "../../wire/runs.ts";

/** Time of the integration command, in milliseconds, unless ports have more. */
const INTEGRATION_MS = 30 * 60_000;
/** Characters of the end of an output that are kept. */
const MAX_OUTPUT = 8_000;

export const SETUP_FAILED = "SETUP_FAILED";

/** The merge, where a port is asked for. */
export const MERGE_PORT: Port = {
  id: ORCHESTRATOR,
  title: ORCHESTRATOR,
  goal: "",
  role: ORCHESTRATOR,
  owns: [],
  tests: [],
  dependsOn: [],
  acceptance: "true",
  timeoutMs: INTEGRATION_MS,
};

/** What the integration command came to on one commit. */
export interface Integrated {
  readonly commit: string;
  readonly feedback: TestFeedback;
  readonly exitCode: number | null;
  readonly output: string;
}

/** A command that a tree has to pass. */
export interface Check {
  readonly command: string;
  /** Whose acceptance it is; absent: it is the integration command. */
  readonly port?: Port | undefined;
}

/** What several commands came to on one commit: the first that failed, else the last. */
export interface Tried extends Integrated {
  readonly command: string;
  readonly endedAt: number;
}

/** So long a failure is told again without another run of its tests, milliseconds. */
const BELIEVED_MS = 60_000;

/** The tree of the merge, and what the integration command came to in it. */
export class Integration {
  readonly #run: PlanRun;
  readonly #parts: MergeParts;
  readonly #stepLog: StepLog;
  readonly #base: string;
  /** Known outcomes, by commit: a tree is tried once. */
  readonly #tried = new Map<string, Integrated>();
  #files: PortFiles | undefined;

  /** @param base what the tree is set up for first. Default: what the run began from. */
  constructor(run: PlanRun, parts: MergeParts, stepLog: StepLog, base?: string) {
    this.#run = run;
    this.#parts = parts;
    this.#stepLog = stepLog;
    this.#base = base ?? run.startCommit ?? run.baseCommit;
  }

  /** Reads what earlier merges of the run have tried. */
  async load(): Promise<void> {
    for (const step of await this.#parts.records.steps.of(this.#run.id, ORCHESTRATOR)) {
      if (step.kind !== "integrate" || step.status !== "done") continue;
      const integrated = step.output as Integrated;
      this.#tried.set(integrated.commit, integrated);
    }
  }

  /** The tree of the merge, set up; again where the orchestrator changed what the set-up made. */
  async tree(): Promise<PortFiles> {
    const files = (this.#files ??= await this.#parts.tree());
    const { setup } = this.#run.plan;
    if (setup !== undefined && !(await files.isSetUp())) {
      await this.#stepLog.step({ try: 0, kind: "setup", again: true }, (step) =>
        this.#setUp(files, setup, this.#base, step),
      );
    }
    return files;
  }

  /** What everything is built with has changed: the tree is set up for it. */
  async setUpAgain(commit: string, number: number): Promise<void> {
    const { setup } = this.#run.plan;
    if (setup === undefined) return;
    const files = await this.tree();
    await this.#stepLog.step({ try: number, kind: "setup", again: true }, (step) =>
      this.#setUp(files, setup, commit, step),
    );
  }

  /** Runs the integration command on a commit. */
  async run(command: string, commit: string): Promise<Integrated> {
    const known = this.#tried.get(commit);
    if (known) return known;
    const integrated = await this.#stepLog.step<Integrated>(
      { try: hashNumber(commit), kind: "integrate" },
      async (step) => {
        const { log, ...output } = await this.#integrate({ command }, commit, step);
        return { output, log };
      },
    );
    this.#tried.set(commit, integrated);
    return integrated;
  }

  /**
   * Runs commands on a commit that no port made, until one fails; everything is set up for it first.
   * What has passed is not run again; what failed is, but for a failure of just now.
   */
  async tryAll(checks: readonly Check[], commit: string): Promise<Tried> {
    const number = hashNumber(commit);
    const known = this.#tried.get(commit) as Tried | undefined;
    if (known && this.#isBelieved(known)) return known;
    const wasSetUp = await (await this.#parts.tree()).isSetUp();
    await this.tree();
    if (wasSetUp) await this.setUpAgain(commit, number);

    return this.#stepLog.step<Tried>(
      { try: number, kind: "integrate", again: true },
      async (step) => {
        let end: StepEnd<Tried> | undefined;
        for (const check of checks) {
          const { log, ...integrated } = await this.#integrate(check, commit, step);
          const endedAt = this.#parts.clock.now();
          end = { output: { ...integrated, command: check.command, endedAt }, log };
          if (!integrated.feedback.success) break;
        }

        return end!;
      },
    );
  }

  /**
   * The first result, in their order, that brings a failure which the base does not have: tests
   * that fail there already, such as those that a port is to mend, count against no port. Undefined
   * when nothing new fails. `feedback`: of the whole, without what fails at the base.
   */
  async bisect<Result extends PortResult>(
    command: string,
    results: readonly Result[],
    whole: Integrated,
  ): Promise<{ readonly blamed: Result | undefined; readonly feedback: TestFeedback }> {
    const upTo = async (count: number): Promise<Integrated> => {
      const { commit } = await this.#parts.store.compose(this.#base, results.slice(0, count));
      return this.run(command, commit);
    };
    const fresh = newFailures(whole, await upTo(0));
    const failedTests = whole.feedback.failedTests.filter(({ name }) => fresh.has(name));
    const feedback = { ...whole.feedback, failedTests };
    if (fresh.size === 0) return { blamed: undefined, feedback };

    let [good, bad] = [0, results.length];
    while (bad - good > 1) {
      const middle = (good + bad) >> 1;
      const failures = failuresOf((await upTo(middle)).feedback);
      if (failures.some((name) => fresh.has(name))) bad = middle;
      else good = middle;
    }
    return { blamed: results[bad - 1], feedback };
  }

  async #setUp(
    files: PortFiles,
    setup: string,
    commit: string,
    step: PlanStep,
  ): Promise<StepEnd<{ exitCode: number | null }>> {
    await files.checkout(commit);
    if (await files.bringSetup(setup, commit)) {
      await files.markSetUp(commit);
      return { output: { exitCode: 0 }, log: SETUP_KEPT };
    }
    const ran = await this.#stepLog.command(step, setup, await files.open(commit), {
      env: this.#parts.environment(MERGE_PORT, undefined, files.commands, step),
      timeMs: INTEGRATION_MS,
    });
    if (ran.exitCode !== 0) {
      if (ran.refused) {
        const { message, hint } = hostRefused("setup", ran.refused);
        throw new DureError(HOST_REFUSED, message, { hint });
      }
      const said = ran.output.slice(-500);
      throw new DureError(
        SETUP_FAILED,
        `The set-up of the merged tree ended with ${exitWords(ran)}: ${said}`,
        { hint: SETUP_HINT },
      );
    }
    await files.markSetUp(commit);
    await files.keepSetup(setup, commit);
    return { output: { exitCode: ran.exitCode }, log: ran.output };
  }

  async #integrate(
    { command, port }: Check,
    commit: string,
    step: PlanStep,
  ): Promise<Integrated & { readonly log: string }> {
    const { clock, environment } = this.#parts;
    const files = await this.tree();
    await files.checkout(commit);
    const began = clock.monotonic();
    const ran = await this.#stepLog.command(step, command, await files.disposable(commit), {
      // No loop of a port is fed by what is tried here.
      env: environment(port ?? MERGE_PORT, undefined, files.commands, { ...step, try: 0 }),
      timeMs: port?.timeoutMs ?? INTEGRATION_MS,
      port,
    });
    const feedback = feedbackOf({
      report: readTestOutput(ran.output),
      exitCode: ran.exitCode,
      output: ran.output,
      durationMs: clock.monotonic() - began,
      isComplete: !ran.outputTruncated,
    });
    const output = ran.output.slice(-MAX_OUTPUT);
    return { commit, feedback, exitCode: ran.exitCode, output, log: ran.output };
  }

  #isBelieved({ feedback, endedAt }: Tried): boolean {
    return feedback.success || this.#parts.clock.now() - endedAt < BELIEVED_MS;
  }
}

/** The number of a step: the same for the same commit. Pure. */
export function hashNumber(commit: string): number {
  return Number.parseInt(commit.slice(0, 7), 16) + 1;
}

/** What the command failed with, in a few words. Pure. */
export function exitWordsOf({ exitCode, feedback }: Integrated): string {
  const failing = feedback.failedTests.slice(0, 3).map(({ name }) => name);
  return failing.length > 0 ? failing.join("; ") : `exit code ${exitCode ?? "none"}`;
}

/** The failure of a command that names no test. */
const NO_TEST = "";

/** What a run of tests failed with, by name. Pure. */
function failuresOf({
  success,
  failedTests,
}: Pick<TestFeedback, "success" | "failedTests">): readonly string[] {
  if (success) return [];
  return failedTests.length === 0 ? [NO_TEST] : failedTests.map(({ name }) => name);
}

/**
 * What fails in a tree and not at the base. Pure. There may be no test yet at the base: a command
 * that names none there has failed alike only if it ends with the same words.
 */
function newFailures(whole: Integrated, base: Integrated): ReadonlySet<string> {
  const { metrics, failedTests } = base.feedback;
  const namesNone = metrics.total === 0 && failedTests.length === 0;
  const known = new Set(namesNone && !endsAlike(whole, base) ? [] : failuresOf(base.feedback));
  return new Set(failuresOf(whole.feedback).filter((name) => !known.has(name)));
}

/** Last lines of an output in which two failures must be alike. */
const LAST_LINES = 5;

/** Whether exit code and last output are equal, except numbers: times and counts. Pure. */
function endsAlike(one: Integrated, other: Integrated): boolean {
  return one.exitCode === other.exitCode && lastLines(one) === lastLines(other);
}

function lastLines({ output }: Integrated): string {
  const lines = output.replaceAll(/\d+/g, "0").trimEnd().split("\n");
  return lines.slice(-LAST_LINES).join("\n");
}
