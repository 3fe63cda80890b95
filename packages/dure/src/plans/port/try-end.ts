/** How a try ends, and what it tells the next one. */

import type { ImplResult } from "../workers/feedback.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import type { PartEnd } from "./member-work.ts";
import { breakWords, type ModuleBreak } from "./modules.ts";
import { PortFailure } from "./port-failure.ts";
import type { AcceptOutput, CheckOutput, MemberOutput } from "./port-steps.ts";
import type { Port } from "../plan.ts";
import { isPackageHost } from "../project/tools.ts";
import { hostRefused, PROCESS_LIMITS, SETUP_PLACES } from "../rows/step-log.ts";
import { bytesWords } from "../sandbox/memory-watch.ts";
import type { SandboxEnd } from "../sandbox/sandbox.ts";
import type { Because } from "../../wire/plans.ts";
import { namesOf } from "../rows/words.ts";
import { isGrave } from "../workspace/owned-changes.ts";

/** What a try came to. */
export interface TryEnd {
  readonly commit: string;
  readonly feedback: TestFeedback;
  /** It failed with the check, not with tests. */
  readonly buildFailed?: boolean | undefined;
  /** Its acceptance broke off: no test failed. */
  readonly isBroken?: boolean | undefined;
  /** What to do about a worker that failed by itself. */
  readonly hint?: string | undefined;
  /** It had passed alone. */
  readonly broken?: ModuleBreak | undefined;
}

/** Exit codes of a shell whose program is not there, or cannot be run. Source: POSIX, 2.8.2. */
const NOT_RUN: ReadonlySet<number | null> = new Set([126, 127]);

/** What Python says whose module of tests is not installed. Source: CPython, runpy. */
const NOT_INSTALLED = /^\S*python[\d.]*: No module named (?:pytest|nose2?|tox|nox|coverage)$/m;
/** What a shell says of a program: its name stands before it. */
const NOT_FOUND = /(\S+): (?:command )?(?:not found|No such file or directory|Permission denied)$/;

/** What decides, and what was set up for it. */
type Acceptance = Pick<Port, "acceptance"> & { readonly setup?: string | undefined };

type AcceptanceEnd = Pick<AcceptOutput, "exitCode" | "feedback" | "output"> &
  Pick<SandboxEnd, "refused">;

/**
 * The acceptance needs a program that is not there, or cannot be run, or fetches what it may not: no
 * try of a worker mends that, so the operator is asked at once. Undefined: it ran. Pure.
 */
export function missingProgram(port: Acceptance, end: AcceptanceEnd): PortFailure | undefined {
  const because = whyNotRun(port, end);
  const { exitCode } = end;

  return because && new PortFailure("worker-lost", because, { exitCode });
}

/** As above, as the reason alone. Pure. */
function whyNotRun(
  { acceptance, setup }: Acceptance,
  { exitCode, feedback, output, refused = [] }: AcceptanceEnd,
): Because | undefined {
  if (exitCode === 0 || feedback.failedTests.length > 0) return undefined;
  const fetched = refused.filter(isPackageHost);
  if (fetched.length > 0) return hostRefused("acceptance", fetched);
  const said = NOT_INSTALLED.exec(output)?.[0];
  if (!NOT_RUN.has(exitCode) && said === undefined) return undefined;
  const command = acceptance.slice(0, 200);
  const end = said ?? lastLine(output);
  const before = setup === undefined ? "" : ` The set-up was \`${setup.slice(0, 200)}\`.`;

  return {
    code: "ACCEPTANCE_NOT_RUN",
    message: `\`${command}\` needs a program that is not there, or cannot be run: ${end.slice(0, 300)}${before}`,
    hint: `Install it in the setup (${SETUP_PLACES}), or commit it; then retry.`,
  };
}

/**
 * Why the acceptance cannot run before anything was made. A program of the tree may be what is to be
 * made, so its absence says nothing yet. Pure.
 */
export function whyNeverRuns(decided: Acceptance, end: AcceptanceEnd): Because | undefined {
  const named = NOT_FOUND.exec(lastLine(end.output))?.[1];

  return named?.includes("/") === true ? undefined : whyNotRun(decided, end);
}

function lastLine(output: string): string {
  return output.trim().split("\n").at(-1)!.trim();
}

/** Lines of npm that say what failed, without the place of its log and what its script printed. */
const NPM_SAYS = /^npm (?:error|ERR!) ((?:code|path|command|signal|\d{3}|E[A-Z]+\b).*)$/gm;
const MOST_SAID = 4;

/** What a command that failed said of it, in a few words: npm ends with the place of its log. Pure. */
export function failureWords(output: string): string {
  const npm = [...output.matchAll(NPM_SAYS)].slice(-MOST_SAID).map(([, said]) => said!);
  const said = npm.length > 0 ? `npm: ${npm.join("; ")}` : lastLine(output);
  const isLarge = /\bEFBIG\b|\bSIGXFSZ\b|File size limit exceeded/.test(output);
  const large = isLarge ? `a file of more than ${MOST_OF_FILE}; ` : "";

  return `${large}${said}`.slice(0, 300) || "it printed nothing.";
}

const MOST_OF_FILE = bytesWords({ mostBytes: PROCESS_LIMITS.fileBytes });

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

/** With these words suggestions begin that name what was left out of the commit. */
const IGNORED = "git ignores these files";
const NESTED = "These are git repositories of their own";

/**
 * Of a try that failed: with what its members wrote and no commit takes. It was not there when it was
 * tried, and no merge would have it. Pure.
 */
export function withLeftOut(
  feedback: TestFeedback,
  ends: readonly (PartEnd | undefined)[],
): TestFeedback {
  const outputs = ends.flatMap((end) => end?.output ?? []);
  const suggestions = [
    ...sayIgnored(outputs.flatMap(({ ignored }) => ignored ?? [])),
    ...sayNested(outputs.flatMap(({ violations }) => violations)),
  ];
  if (feedback.success || suggestions.length === 0) return feedback;

  return { ...feedback, suggestions: [...suggestions, ...feedback.suggestions] };
}

function sayIgnored(files: NonNullable<MemberOutput["ignored"]>): string[] {
  if (files.length === 0) return [];
  const said = files.map(({ path, by, pattern }) => `${path} (${by}: ${pattern})`).join(", ");
  return [
    `${IGNORED}, so they are in no commit and were not there when it was tried: ${said}. ` +
      "Write what is needed to a path that no .gitignore names, or let the command itself make it.",
  ];
}

function sayNested(violations: MemberOutput["violations"]): string[] {
  const nested = violations.filter((violation) => !isGrave(violation)).map(({ path }) => path);
  if (nested.length === 0) return [];
  return [
    `${NESTED}, which no commit takes, so they were not there when it was tried: ` +
      `${namesOf(nested)}. Make them in the test, in a folder for temporary files.`,
  ];
}

/**
 * The acceptance ended otherwise than a run of tests that fail: by a signal, or by an exit code
 * above 1, and no test is known to have failed. Pure.
 */
export function brokeOff({ exitCode, feedback }: Pick<AcceptOutput, "exitCode" | "feedback">) {
  const isKnown = feedback.failedTests.length > 0 || feedback.metrics.failed > 0;
  return !feedback.success && !isKnown && exitCode !== 0 && exitCode !== 1;
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

  const trigger = last?.isBroken === true ? "acceptance-broken" : "tries-exhausted";

  return new PortFailure(
    buildFailed ? "build-failed" : trigger,
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
  const leftOut = feedback.suggestions.find((text) =>
    [IGNORED, NESTED].some((words) => text.startsWith(words)),
  );
  if (failing.length > 0) {
    const failed = `These still fail: ${failing.join("; ")}.`;
    return leftOut === undefined ? failed : `${failed} ${leftOut.slice(0, 500)}`;
  }

  return feedback.suggestions[0]?.slice(0, 500) ?? "";
}

function hintAfter(port: string, { broken, hint }: Partial<TryEnd> = {}): string {
  if (!broken) return hint ?? "Say what to do differently, and let it try again.";
  const others = broken.by ?? broken.with.slice(0, 5).join(", ");

  return `Say how ${port} is to fit to ${others}, and let it try again, or go on without it.`;
}
