import { isRunOver, type PlanStep, type PortStatus, type RunDetail } from "../client/index.ts";
import { saidLines } from "./plan-say.ts";
import { EXIT, momentOf, type ExitCode, type Output } from "./output.ts";
import { seconds, waitingWords } from "./plan-watch.ts";
import type { PlansCommand } from "./plans.ts";
import type { BranchMove } from "./words/plans.en.ts";
import type { CliWords } from "./words/words.ts";

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
  if (held) output.note(output.words.plans.status.held(id, held.id));
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
  const { words } = output;
  const { plans } = words;
  const tries = `${port.triesMade}/${port.triesPair + port.triesOrchestrator}`;
  const status = plans.portStatus(port.status);
  const standing = plans.status.port(status, tries, seconds(port.spentMs, plans));
  const why = port.because === null ? "" : `: ${words.reason(port.because)}`;
  output.line(`${MARKS[port.status]} ${port.id}  ${standing}${why}`);

  for (const step of port.steps) for (const line of stepLines(step, words)) output.line(line);

  for (const line of saidLines(port, plans)) output.line(line);

  for (const violation of port.violations) {
    const because = words.said(violation.because);
    output.line(plans.status.violation({ ...violation, because }));
  }

  output.result(port);

  return port.status === "failed" ? EXIT.failed : EXIT.ok;
}

/** A step as lines for people. Pure. */
function stepLines(step: PlanStep, words: CliWords): string[] {
  const { member, worker } = step;
  const { plans } = words;
  const name = member === null ? null : plans.member(member);
  const by = [name, worker === null ? null : `(${worker})`].filter((part) => part !== null);
  const who = by.length === 0 ? "" : `  ${by.join(" ")}`;
  const isFree = step.tokensIn + step.tokensOut === 0;
  const tokens = isFree ? "" : `, ${plans.status.tokens(step)}`;
  const standing = `${standingOf(step, plans)}${tokens}`;

  return [
    plans.status.step(step.try, plans.step(step.kind), who, standing),
    ...factsOf(step, words).map((fact) => `      ${fact}`),
  ];
}

/** How a step stands, or how it ended and how long it took. Pure. */
function standingOf(
  { output, finishedAt, startedAt, stalled, seenAt, status, task, waiting }: PlanStep,
  plans: CliWords["plans"],
): string {
  if (finishedAt !== null) {
    return `${endOf(output, plans)}, ${seconds(finishedAt - startedAt, plans)}`;
  }
  if (waiting !== null) return waitingWords(waiting, plans);
  if (stalled) return plans.status.stalled(new Date(seenAt).toISOString().slice(11, 19));

  return status === "running" ? plans.status.works(task) : plans.workerEnd(status);
}

function endOf(
  output: PlanStep["output"],
  { status: words, workerEnd }: CliWords["plans"],
): string {
  if (output?.red === true) return words.red;
  if (output?.red === false) return words.green;
  if (output?.status !== undefined && output.status !== null) return workerEnd(output.status);
  if (!output?.feedback) return words.done;

  return output.feedback.success ? words.passed : words.notPassed;
}

/** What a step has left behind, a line each. Pure. */
function factsOf({ kind, output }: PlanStep, { plans, said }: CliWords): string[] {
  const { status: words } = plans;
  const listed = (names: readonly string[]): string => namesOf(names, plans);
  const { summary, changes = [], failedFiles = [], unclaimedFiles = [], feedback } = output ?? {};
  const facts: string[] = [];
  if (summary !== undefined) facts.push(said(summary.split("\n")[0]!));
  if (changes.length > 0) facts.push(words.changed(listed(changes.map(({ path }) => path))));
  if (failedFiles.length > 0) facts.push(words.failedFiles(listed(failedFiles)));
  if (unclaimedFiles.length > 0) facts.push(words.unclaimed(listed(unclaimedFiles)));

  facts.push(...countFacts(kind, output, words));

  return [...facts, ...failureFacts(feedback, { plans, said })];
}

/** Which tests fail, or what else failed beside them. Pure. */
function failureFacts(
  feedback: NonNullable<PlanStep["output"]>["feedback"],
  { plans, said }: Pick<CliWords, "plans" | "said">,
): string[] {
  if (!feedback) return [];
  const { success, failedTests, suggestions } = feedback;
  if (failedTests.length > 0) {
    return [
      plans.status.fails(
        namesOf(
          failedTests.map(({ name }) => name),
          plans,
        ),
      ),
    ];
  }
  const [why = ""] = success ? [] : suggestions;

  return why === "" ? [] : [said(why.split("\n")[0]!)];
}

/** How many tests a step found. Pure. */
function countFacts(
  kind: PlanStep["kind"],
  output: PlanStep["output"],
  words: CliWords["plans"]["status"],
): string[] {
  if (kind === "accept" && output?.framework === "unknown") return [words.uncounted];
  const counted = output?.counted;
  if (!counted) return [];
  const { passed, failed, skipped } = counted;

  return [words.counted(passed, failed, skipped)];
}

function namesOf(names: readonly string[], { andMore }: CliWords["plans"]): string {
  return names.length > 10
    ? andMore(names.slice(0, 10).join(", "), names.length - 10)
    : names.join(", ");
}

function printRun(run: RunDetail, output: Output): void {
  const { plans, reason, said } = output.words;
  const phase = run.phase === "over" ? "" : ` (${plans.phase(run.phase)})`;
  const why = run.because ? reason(run.because) : plans.run.stands[run.status];
  output.line(`${run.id}  ${run.plan}  ${plans.runStatus(run.status)}${phase}: ${why}`);

  if (run.because?.hint !== undefined) output.line(`  ${said(run.because.hint)}`);
  if (run.calls > 0) output.line(`  ${plans.status.used(run.calls, plans.status.tokens(run))}`);
  if (run.isolation === "audit") output.line(output.colors.yellow(plans.status.audit));
  else if (run.promises) output.line(plans.status.promises(run.promises));

  output.table(
    run.ports.map((port) => [
      `${MARKS[port.status]} ${port.id}`,
      plans.portStatus(port.status),
      plans.status.tries(`${port.triesMade}/${port.triesPair + port.triesOrchestrator}`),
      plans.status.tokens(port),
      seconds(port.spentMs, plans),
      noteOf(port, output.words),
    ]),
  );

  printReport(run, output);
}

/** What a line about a port says at its end. Pure. */
function noteOf(
  { because, waiting, unproven }: RunDetail["ports"][number],
  { plans, reason }: CliWords,
): string {
  if (waiting !== null) return waitingWords(waiting, plans);
  if (because !== null) return reason(because);

  return unproven ? plans.status.unproven : "";
}

/** The outcome, and possible next steps. */
export function printReport(
  run: RunDetail,
  output: Output,
  { asksMerge = false }: { readonly asksMerge?: boolean | undefined } = {},
): void {
  const { report } = run;
  if (!report || !isRunOver(run.status)) return;

  const { plans, reason, said } = output.words;
  const { status: words } = plans;
  for (const { path, ports, solvedBy } of report.conflicts) {
    output.line(words.conflict(path, ports, solvedBy));
  }

  if (report.integration) {
    const { passed, exitCode } = report.integration;
    output.line(words.integration(passed, exitCode));
  }

  if (report.integration && !report.integration.passed) {
    output.line(report.integration.output.slice(-2_000));
  }
  for (const { port, because } of report.missing) {
    output.line(words.missing(port, reason(because)));
    if (because.hint !== undefined) output.line(`  ${said(because.hint)}`);
  }
  printDelivery(run, output, asksMerge);

  const failed =
    run.status === "cancelled" ? undefined : run.ports.find(({ status }) => status === "failed");
  if (failed) output.note(words.tryAgain(run.id, failed.id));
}

/** Where the result is, and what can be done with it, unless that is asked next. */
function printDelivery(run: RunDetail, output: Output, asksMerge: boolean): void {
  const { status: words } = output.words.plans;
  const branch = run.report?.branch;
  if (branch !== undefined) output.line(words.branch(branch));
  for (const line of deliveryLines(run, words)) output.line(line);
  if (run.delivery === "merged") output.note(words.undo(run.id));
  else if (branch !== undefined && run.delivery !== "undone" && !asksMerge) {
    output.note(words.takeOver(run.id));
  }
}

/** What became of the result. Pure. */
function deliveryLines(
  { report, supersededBy }: Pick<RunDetail, "report" | "supersededBy">,
  words: CliWords["plans"]["status"],
): readonly string[] {
  const { merged, undone, published } = report ?? {};
  const said = ({ target, commit, at }: NonNullable<typeof undone>): BranchMove => ({
    target,
    commit: commit.slice(0, 12),
    at: momentOf(at),
  });

  return [
    ...(published ? [words.published(published.branch, published.remote)] : []),
    ...(merged ? [words.mergedInto(said(merged))] : []),
    ...(merged?.solved ? [words.solved(merged.solved)] : []),
    ...(undone ? [words.undone(said(undone))] : []),
    ...(supersededBy === null ? [] : [words.superseded(supersededBy)]),
  ];
}
