/** How a try ends, and what it tells the next one. */

import type { ImplResult } from "../workers/feedback.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import type { PartEnd } from "./member-work.ts";
import { breakWords, type ModuleBreak } from "./modules.ts";
import { PortFailure } from "./port-failure.ts";
import type { AcceptOutput, CheckOutput } from "./port-steps.ts";
import type { Port } from "../plan.ts";

/** What a try came to. */
export interface TryEnd {
  readonly commit: string;
  readonly feedback: TestFeedback;
  /** It failed with the check, not with tests. */
  readonly buildFailed?: boolean | undefined;
  /** What to do about a worker that failed by itself. */
  readonly hint?: string | undefined;
  /** It had passed alone. */
  readonly broken?: ModuleBreak | undefined;
}

/** Exit codes of a shell whose program is not there, or cannot be run. Source: POSIX, 2.8.2. */
const NOT_RUN: ReadonlySet<number | null> = new Set([126, 127]);

/**
 * The acceptance needs a program that is not there, or cannot be run: no try of a worker mends that,
 * so the operator is asked at once. Undefined: it ran. Pure.
 */
export function missingProgram(
  port: Pick<Port, "acceptance">,
  { exitCode, feedback, output }: Pick<AcceptOutput, "exitCode" | "feedback" | "output">,
): PortFailure | undefined {
  if (!NOT_RUN.has(exitCode) || feedback.failedTests.length > 0) return undefined;
  const command = port.acceptance.slice(0, 200);
  const end = output.trim().split("\n").at(-1)!.slice(0, 300);

  return new PortFailure(
    "worker-lost",
    {
      code: "ACCEPTANCE_NOT_RUN",
      message: `\`${command}\` needs a program that is not there, or cannot be run: ${end}`,
      hint: "Install it in the plan's setup, or commit it; then retry. A hint goes to the next try.",
    },
    { exitCode },
  );
}

/** Undefined: the implementer's part did not fail. Pure. */
export function whyFailed({ output, decidedAbout }: PartEnd): string | undefined {
  if (decidedAbout) return decidedAbout.because.message;
  const { status, error, summary } = output.result;

  return status === "failed" ? (error?.message ?? summary) : undefined;
}

/** What its end says to do about it, where the implementer's part failed. Pure. */
export function hintOf({ output, decidedAbout }: PartEnd): string | undefined {
  return decidedAbout ? decidedAbout.because.hint : output.result.error?.hint;
}

/** A worker that failed has made its try; the next one is told why. Pure. */
export function lastTry(why: string): string {
  return `The last try failed: ${why}`;
}

/** What the tester is told of the implementer's part. Pure. */
export function implResultOf(
  { output, decidedAbout }: PartEnd,
  checked: CheckOutput | undefined,
): ImplResult {
  const result = {
    status: decidedAbout ? "failed" : output.result.status,
    changedFiles: output.changes.map(({ path }) => path),
    summary: output.result.summary,
  } as const;

  return checked ? { ...result, buildPassed: checked.passed } : result;
}

/** Why a port has failed that has no try left. Pure. */
export function exhaustion(port: string, made: number, last: TryEnd | undefined): PortFailure {
  const { feedback, buildFailed = false, broken } = last ?? {};
  const failing = feedback?.failedTests.slice(0, 5).map(({ name }) => name) ?? [];
  const command = buildFailed ? "check" : "acceptance";
  const words = `${made} of ${made} tries did not pass the ${command}. ${lastWords(port, last)}`;
  const together = broken && {
    check: broken.check,
    checkOf: broken.of,
    together: [port, ...broken.with],
    brokenBy: broken.by,
  };

  return new PortFailure(
    buildFailed ? "build-failed" : "tries-exhausted",
    { code: "TRIES_EXHAUSTED", message: words.trim(), hint: hintAfter(port, last) },
    { tries: made, failing, metrics: feedback?.metrics, ...together },
  );
}

/** What the last try failed with, in a sentence. Pure. */
function lastWords(port: string, last: TryEnd | undefined): string {
  if (!last) return "";
  const { feedback, broken } = last;
  if (broken) return breakWords(broken, port);
  const failing = feedback.failedTests.slice(0, 5).map(({ name }) => name);
  if (failing.length > 0) return `These still fail: ${failing.join("; ")}.`;

  return feedback.suggestions[0]?.slice(0, 500) ?? "";
}

function hintAfter(port: string, { broken, hint }: Partial<TryEnd> = {}): string {
  if (!broken) return hint ?? "Say what to do differently, and let it try again.";
  const others = broken.by ?? broken.with.slice(0, 5).join(", ");

  return `Say how ${port} is to fit to ${others}, and let it try again, or go on without it.`;
}
