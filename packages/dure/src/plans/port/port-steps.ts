/** The steps of one port, each done once. */

import type { Confinement, SandboxEnd } from "../sandbox/sandbox.ts";
import type { TestCount } from "../results/count.ts";
import { sayViolation, type TreeViolation } from "../workspace/owned-changes.ts";
import type { IgnoredFile } from "../workspace/owned-commits.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import type { WorkerResult } from "../workers/worker.ts";
import type { Port } from "../plan.ts";
import type { ModuleBreak } from "./modules.ts";
import type { PairParts, PortWork } from "./pair-parts.ts";
import type { PortAccount } from "./port-account.ts";
import type { PortFileChange, PortFiles } from "./port-files.ts";
import type { CountOutput } from "./trials-at-start.ts";
import type { PlanRun, PlanStep } from "../rows/run.ts";
import { exitWords, StepLog, uncounted, type StepEnd, type StepKey } from "../rows/step-log.ts";
import type { RunEvent } from "../rows/run-event.ts";
import { violationsFound, type Write } from "../rows/records.ts";

/** Output of a member's step. */
export interface MemberOutput {
  readonly result: Pick<WorkerResult, "status" | "summary" | "claimedFiles" | "error" | "feedback">;
  readonly commit: string;
  readonly changes: readonly PortFileChange[];
  readonly violations: readonly TreeViolation[];
  /** Some of what it wrote where git does not look. */
  readonly ignored?: readonly IgnoredFile[] | undefined;
  /** Paths that it asked for and was refused. */
  readonly refused?: readonly string[] | undefined;
}

/** Output of the compile command of a port, or of a module. */
export interface CheckOutput {
  readonly passed: boolean;
  readonly feedback?: TestFeedback;
  /** Of a module: whose check fails, and with what. */
  readonly broken?: ModuleBreak;
}

/** Output of the acceptance command. */
export interface AcceptOutput {
  readonly feedback: TestFeedback;
  /** The acceptance passed, and the check did not. */
  readonly buildFailed?: boolean | undefined;
  readonly framework: string;
  /** Undefined: its output tells no number of tests that is sure. */
  readonly counted?: TestCount | undefined;
  readonly exitCode: number | null;
  readonly because: string;
  /** Hosts that it was refused. */
  readonly refused?: readonly string[] | undefined;
  readonly output: string;
}

/** Violations of one step that are stored. */
const MAX_VIOLATIONS = 100;
/** Characters of the end of a failed check's output that the next try is told. */
const CHECK_OUTPUT = 4_000;

/** The steps of one port: each is stored with what it has used. */
export class PortSteps {
  /** Where they are stored and announced. */
  readonly log: StepLog;
  readonly #run: PlanRun;
  readonly #port: Port;
  readonly #parts: PairParts;
  readonly #account: PortAccount;
  readonly #files: PortFiles;

  constructor({ run, port, parts, account, files, signal }: Omit<PortWork, "steps" | "channel">) {
    this.#run = run;
    this.#port = port;
    this.#parts = parts;
    this.#account = account;
    this.#files = files;
    this.log = new StepLog(run, port.id, parts, signal);
  }

  /** Does `work` once: a step that has ended gives its output again. */
  async step<Output>(
    key: StepKey,
    work: (step: PlanStep) => Promise<StepEnd<Output>>,
  ): Promise<Output> {
    return this.log.step(key, work, (end) => {
      const { counting, asks } = this.#account.countStep(uncounted(end));
      const { writes, stored } = counting!;
      const found = this.#violations(key, end.output);
      const events = stepEvents(key, end, this.#port.id);

      return { counting: { writes: [...writes, ...found], stored }, asks, events };
    });
  }

  /** Runs a command of the plan. Its process has the port's time. */
  command(
    command: string,
    confinement: Confinement,
    step: PlanStep,
  ): Promise<SandboxEnd & { readonly output: string }> {
    return this.log.command(step, command, confinement, {
      env: this.#parts.environment(this.#port, undefined, this.#files.commands, step),
      timeMs: this.#account.timeLeft,
    });
  }

  /** Runs a compile command at a commit that is checked out. Undefined when it passes. */
  async check(check: string, commit: string, step: PlanStep): Promise<TestFeedback | undefined> {
    const ran = await this.command(check, await this.#files.disposable(commit), step);
    if (ran.exitCode === 0) return undefined;
    const output = ran.output.slice(-CHECK_OUTPUT);

    return failedWith(`The check \`${check}\` ended with ${exitWords(ran)}:\n${output}`);
  }

  #violations(key: StepKey, output: unknown): readonly Write[] {
    const found = violationsIn(output).map(({ path, because }) => ({
      port: this.#port.id,
      try: key.try,
      member: key.member!,
      path,
      wanted: "write" as const,
      because,
      detail: sayViolation(because),
      found: "commit" as const,
    }));

    return violationsFound(this.#run.id, found);
  }
}

/** Feedback without tests: why a try failed, or what to do about it. Pure. */
export function failedWith(suggestion: string): TestFeedback {
  return {
    success: false,
    failedTests: [],
    suggestions: [suggestion],
    metrics: { total: 0, passed: 0, failed: 0, durationMs: 0 },
  };
}

function violationsIn(output: unknown): readonly TreeViolation[] {
  return typeof output === "object" && output !== null && "violations" in output
    ? (output as MemberOutput).violations.slice(0, MAX_VIOLATIONS)
    : [];
}

/** Events of a step's end. Pure. */
function stepEvents(key: StepKey, end: StepEnd<unknown>, port: string): RunEvent[] {
  if (key.kind === "accept") {
    return [feedbackEvent(port, key.try, (end.output as AcceptOutput).feedback)];
  }
  if (key.kind === "count" && key.try === 0) {
    const { feedback, problem } = end.output as CountOutput;
    return problem === undefined ? [feedbackEvent(port, 0, feedback!)] : [];
  }
  if (key.kind === "module") {
    const { passed, feedback } = end.output as CheckOutput;
    return passed ? [] : [feedbackEvent(port, key.try, feedback!)];
  }
  if (!key.member) return [];

  const { result, changes } = end.output as MemberOutput;
  const data = {
    port,
    member: key.member,
    try: key.try,
    status: result.status,
    changed: changes.length,
    tokens: (end.tokens?.input ?? 0) + (end.tokens?.output ?? 0),
  };

  return [{ type: "worker.complete", data }];
}

function feedbackEvent(port: string, number: number, feedback: TestFeedback): RunEvent {
  const { success, metrics } = feedback;
  return { type: "worker.feedback", data: { port, try: number, success, ...metrics } };
}
