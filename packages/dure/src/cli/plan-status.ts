import {
  isRunOver,
  type PlanRunStatus,
  type PlanStep,
  type PortStatus,
  type RunDetail,
} from "../client/index.ts";
import { saidLines } from "./plan-say.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { seconds, waitingWords } from "./plan-watch.ts";
import type { PlansCommand } from "./plans.ts";

export const RUN_WORDS = {
  running: "it goes on",
  paused: "it is paused; what works goes on, nothing starts",
  cancelling: "it is being cancelled",
  waiting_host:
    "the machine that holds its files is gone; it goes on when a server is started there",
  success: "every port succeeded",
  partial: "what succeeded is kept, the rest is missing",
  failed: "nothing was kept",
  cancelled: "it was cancelled",
} as const satisfies Record<PlanRunStatus, string>;

const MARKS = {
  waiting: "·",
  ready: "·",
  running: "…",
  held: "?",
  succeeded: "✓",
  failed: "✗",
  blocked: "–",
  cancelled: "–",
} as const satisfies Record<PortStatus, string>;

/** How a run stands; 1 when it has ended otherwise than in success. */
export async function showRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  const run = await client.plans.run(id);
  printRun(run, output);
  const held = run.ports.find(({ status }) => status === "held");
  if (held) output.note(`${held.id} waits for your approval: dure plan review ${id} ${held.id}`);
  output.result(run);

  return isRunOver(run.status) && run.status !== "success" ? EXIT.failed : EXIT.ok;
}

/**
 * One port, try by try: who made what, what it said and did not do, what tests said; 1 when it has
 * failed.
 */
export async function showPort(
  id: string,
  portId: string,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const port = await client.plans.port(id, portId);
  output.line(
    `${MARKS[port.status]} ${port.id}  ${port.status}, ` +
      `${port.triesMade}/${port.triesPair + port.triesOrchestrator} tries, ` +
      `${seconds(port.spentMs)}${port.because === null ? "" : `: ${port.because.message}`}`,
  );

  for (const step of port.steps) for (const line of stepLines(step)) output.line(line);

  for (const line of saidLines(port)) output.line(line);

  for (const { member, path, wanted, because, found } of port.violations) {
    output.line(
      `  ! ${member} wanted to ${wanted} ${path}: ${because} ` +
        `(${found === "request" ? "refused" : "not taken"})`,
    );
  }

  output.result(port);

  return port.status === "failed" ? EXIT.failed : EXIT.ok;
}

/** A step as lines for people. Pure. */
function stepLines(step: PlanStep): string[] {
  const { member, worker, tokensIn, tokensOut } = step;
  const by = [member, worker === null ? null : `(${worker})`].filter((part) => part !== null);
  const who = by.length === 0 ? "" : `  ${by.join(" ")}`;
  const used = tokensIn + tokensOut;
  const tokens = used === 0 ? "" : `, ${used} tokens`;

  return [
    `  try ${step.try}  ${step.kind}${who}  ${standingOf(step)}${tokens}`,
    ...factsOf(step).map((fact) => `      ${fact}`),
  ];
}

/** How a step stands, or how it ended and how long it took. Pure. */
function standingOf({
  output,
  finishedAt,
  startedAt,
  stalled,
  seenAt,
  status,
  task,
  waiting,
}: PlanStep): string {
  if (finishedAt !== null) return `${endOf(output)}, ${seconds(finishedAt - startedAt)}`;
  if (waiting !== null) return waitingWords(waiting);
  if (stalled) return `stalled: no sign since ${new Date(seenAt).toISOString().slice(11, 19)}`;
  if (status !== "running") return status;

  return task === "" ? "works" : `works: ${task}`;
}

function endOf(output: PlanStep["output"]): string {
  if (output?.red === true) return "fails without the work, as it has to";
  if (output?.red === false) return "passes without the work too, so the tests do not show it";
  if (output?.status !== undefined && output.status !== null) return output.status;
  if (!output?.feedback) return "done";

  return output.feedback.success ? "passed" : "did not pass";
}

/** What a step has left behind, a line each. Pure. */
function factsOf({ kind, output }: PlanStep): string[] {
  const { summary, changes = [], failedFiles = [], unclaimedFiles = [], feedback } = output ?? {};
  const facts: string[] = [];
  if (summary !== undefined) facts.push(summary.split("\n")[0]!);
  if (changes.length > 0) facts.push(`changed: ${namesOf(changes.map(({ path }) => path))}`);
  if (failedFiles.length > 0) facts.push(`said to be changed, and not: ${namesOf(failedFiles)}`);
  if (unclaimedFiles.length > 0) facts.push(`changed without a word: ${namesOf(unclaimedFiles)}`);

  facts.push(...countFacts(kind, output));

  return [...facts, ...failureFacts(feedback)];
}

/** Which tests fail, or what else failed beside them. Pure. */
function failureFacts(feedback: NonNullable<PlanStep["output"]>["feedback"]): string[] {
  if (!feedback) return [];
  const { success, failedTests, suggestions } = feedback;
  if (failedTests.length > 0) return [`fails: ${namesOf(failedTests.map(({ name }) => name))}`];
  const [why = ""] = success ? [] : suggestions;

  return why === "" ? [] : [why.split("\n")[0]!];
}

/** How many tests a step found. Pure. */
function countFacts(kind: PlanStep["kind"], output: PlanStep["output"]): string[] {
  if (kind === "accept" && output?.framework === "unknown") {
    return ["its tests are not counted: no summary that is known"];
  }
  const counted = output?.counted;
  if (!counted) return [];
  const { passed, failed, skipped } = counted;

  return [`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`];
}

function namesOf(names: readonly string[]): string {
  return names.length > 10
    ? `${names.slice(0, 10).join(", ")} and ${names.length - 10} more`
    : names.join(", ");
}

function printRun(run: RunDetail, output: Output): void {
  output.line(
    `${run.id}  ${run.plan}  ${run.status}${run.phase === "over" ? "" : ` (${run.phase})`}: ` +
      (run.because?.message ?? RUN_WORDS[run.status]),
  );

  if (run.because?.hint !== undefined) output.line(`  ${run.because.hint}`);
  if (run.isolation === "audit") {
    output.line(output.colors.yellow("isolation: audit. Nothing keeps workers from other files."));
  } else if (run.promises) output.line(`workers: ${promisesText(run.promises)}`);

  output.table(
    run.ports.map((port) => [
      `${MARKS[port.status]} ${port.id}`,
      port.status,
      `${port.triesMade}/${port.triesPair + port.triesOrchestrator} tries`,
      `${port.tokensIn + port.tokensOut} tokens`,
      seconds(port.spentMs),
      noteOf(port),
    ]),
  );

  printReport(run, output);
}

/** What a line about a port says at its end. Pure. */
function noteOf({ because, waiting, unproven }: RunDetail["ports"][number]): string {
  if (waiting !== null) return waitingWords(waiting);
  if (because !== null) return because.message;

  return unproven ? "its tests pass without its work too" : "";
}

function promisesText({
  network,
  user,
  isOtherUser,
  files,
}: NonNullable<RunDetail["promises"]>): string {
  const who = isOtherUser ? `user ${user}, who is not dure's` : "dure's own user";
  return (
    `${network === "enforced" ? "a network of their own" : "the machine's network"}, ${who}, ` +
    "files " +
    (files === "enforced"
      ? "kept from them"
      : files === "by-modes"
        ? "kept as their modes say"
        : "not kept from them")
  );
}

/** The outcome, and possible next steps. */
export function printReport(run: RunDetail, output: Output): void {
  const { report } = run;
  if (!report || !isRunOver(run.status)) return;

  for (const { path, ports, solvedBy } of report.conflicts) {
    const solved = solvedBy === undefined ? "" : `, written once by the ${solvedBy}`;
    output.line(`conflict: ${path} by ${ports.join(" and ")}${solved}`);
  }

  if (report.integration) {
    const { passed, exitCode } = report.integration;
    const cause = exitCode === null ? "a signal" : `exit code ${exitCode}`;
    output.line(`integration: ${passed ? "passed" : `failed with ${cause}`}`);
  }

  if (report.integration && !report.integration.passed) {
    output.line(report.integration.output.slice(-2_000));
  }
  for (const { port, because } of report.missing) {
    output.line(`missing: ${port}: ${because.message}`);
  }
  if (report.branch !== undefined) output.line(`branch: ${report.branch}`);

  if (report.branch !== undefined) {
    output.note(
      `Look at it with dure plan diff ${run.id}, take it over with dure plan merge ${run.id}`,
    );
  }

  const failed =
    run.status === "cancelled" ? undefined : run.ports.find(({ status }) => status === "failed");
  if (failed) output.note(`Try again with: dure plan retry ${run.id} ${failed.id} --hint "…"`);
}
