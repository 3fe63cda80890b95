import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import {
  isRunOver,
  type CleanRequest,
  type DureClient,
  type PlanProblem,
  type PlanSource,
  type RunCleaned,
  type PlanRunStatus,
  type PlanStep,
  type PlanView,
  type PortStatus,
  type RetryRequest,
  type RunDetail,
  type RunOrdered,
  type RunRequest,
  type RunsFilter,
} from "../client/index.ts";
import { DureError, isAbort, messageOf } from "../kernel/errors.ts";
import { planProblemText } from "./plan-check.ts";
import { saidLines } from "./plan-say.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { seconds, waitingWords, watching } from "./plan-watch.ts";

export interface PlansCommand {
  readonly client: DureClient;
  readonly output: Output;
}

const RUN_WORDS = {
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
/** Files without an owner that are listed. */
const UNOWNED_SHOWN = 20;

// --- plans

export async function listPlans({ client, output }: PlansCommand): Promise<ExitCode> {
  const items = await client.plans.list();
  if (items.length > 0) {
    output.table([
      ["plan", "ports", "file", ""],
      ...items.map(({ name, ports, file, problemCount }) => [
        name,
        String(ports),
        file,
        problemCount === 0
          ? ""
          : `${problemCount} ${problemCount === 1 ? "problem" : "problems"}: dure plan check ${name}`,
      ]),
    ]);
  } else output.note("There is no plan. Make one with: dure new plan NAME");

  output.result({ items });

  return EXIT.ok;
}

export async function showPlan(name: string, { client, output }: PlansCommand): Promise<ExitCode> {
  const view = await client.plans.show(name);
  printView(view, output);
  output.result(view);

  return EXIT.ok;
}

/**
 * Prints the text of the proposal alone, so that it can be redirected into a file; 1 when it has
 * problems.
 */
export async function draftPlan(
  goal: string,
  repository: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const draft = await client.plans.draft({ goal, repository });
  const { text, problems } = draft;
  output.write(text.endsWith("\n") ? text : `${text}\n`);
  for (const problem of problems) output.note(planProblemText(problem));

  output.note(
    problems.length === 0
      ? "A proposal: read it, change it, save it in the folder plans, then dure plan check."
      : "The proposal has problems; mend them before it can run.",
  );

  output.result(draft);

  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

function printView(view: PlanView, output: Output): void {
  const { dim } = output.colors;
  output.line(
    `${view.plan}  ${view.ports.length} ${view.ports.length === 1 ? "port" : "ports"} on ` +
      `${view.base} ${dim(view.baseCommit.slice(0, 12))}`,
  );

  view.levels.forEach((level, index) => output.line(`  level ${index + 1}: ${level.join(", ")}`));
  output.line(`critical path: ${view.criticalPath.join(" → ")}`);
  output.line(`side by side: ${view.maxParallel}`);
  output.line(`mode: ${view.mode.mode}, because ${view.mode.because}`);
  for (const { name, value, holds } of view.mode.conditions) {
    output.line(`  ${holds ? "yes" : "no "}  ${name} (${value})`);
  }

  const workers = view.workers.map(({ role, kind, command, model }) => {
    const program = command ? ` (${command.join(" ")})` : "";
    const asked = model === undefined ? "" : ` (${model})`;

    return `${role} ${kind}${program}${asked}`;
  });

  output.line(`workers: ${workers.join(", ")}`);
  for (const { of, policy, hosts } of view.network) {
    output.line(`network of ${of}: ${policy}${hosts.length > 0 ? ` (${hosts.join(", ")})` : ""}`);
  }

  if (view.isolationWanted === "audit") {
    output.line(
      output.colors.yellow(
        "isolation: audit. Nothing keeps workers from other files; what they changed is looked at " +
          "afterwards.",
      ),
    );
  }

  if (view.unownedCount > 0) {
    const shown = view.unowned.slice(0, UNOWNED_SHOWN);
    const left = view.unownedCount - shown.length;
    const more = left > 0 ? ` and ${left} more` : "";
    output.line(`without an owner: ${shown.join(", ")}${more}`);
  }

  for (const { message } of view.warnings) output.note(`Warning: ${message}`);
}

// --- runs

/**
 * Which plan is meant: one of the team by its name, or the text of a file, `-` that of standard
 * input. Throws `USAGE`, `FILE_UNREADABLE`.
 */
export async function planSource(
  name: string | undefined,
  file: string | undefined,
): Promise<PlanSource> {
  if (name !== undefined && file === undefined) return { plan: name };
  if (name !== undefined || file === undefined) {
    throw new DureError("USAGE", "Either the name of a plan or --file is needed, and not both.", {
      class: "input",
      hint: "dure plan run login, or dure plan run --file draft.yaml",
    });
  }

  try {
    return file === "-"
      ? { file: "plan.yaml", text: await readAll(process.stdin) }
      : { file: path.basename(file), text: await readFile(file, "utf8") };
  } catch (error) {
    throw new DureError("FILE_UNREADABLE", `The plan ${file} cannot be read: ${messageOf(error)}`, {
      class: "input",
      hint: "Give the path of a .yaml, .json or .md file, or - for standard input.",
      cause: error,
    });
  }
}

/** Begins a run; with `follow` to its end. Of a plan with problems each is told with its line. */
export async function runPlan(
  request: RunRequest,
  how: { dryRun: boolean; follow: boolean; key: string | undefined },
  command: PlansCommand,
): Promise<ExitCode> {
  try {
    return await begin(request, how, command);
  } catch (error) {
    if (error instanceof DureError && error.code === "PLAN_INVALID") {
      for (const problem of problemsIn(error)) command.output.note(planProblemText(problem));
    }
    throw error;
  }
}

function problemsIn({ details }: DureError): readonly PlanProblem[] {
  const problems = (details as { readonly problems?: unknown } | undefined)?.problems;
  return Array.isArray(problems) ? (problems as readonly PlanProblem[]) : [];
}

async function begin(
  request: RunRequest,
  how: { dryRun: boolean; follow: boolean; key: string | undefined },
  command: PlansCommand,
): Promise<ExitCode> {
  const { client, output } = command;
  if (how.dryRun) {
    const view = await client.plans.dryRun(request);
    printView(view, output);
    output.note("Nothing was begun.");
    output.result(view);

    return EXIT.ok;
  }

  const run = await client.plans.start(request, { idempotencyKey: how.key });

  if (how.follow) {
    output.note(run.id);
    return watchRun(run.id, command);
  }

  output.line(run.id);
  output.note(`Watch it with: dure plan watch ${run.id}`);
  output.result(run);

  return EXIT.ok;
}

export async function listRuns(
  filter: RunsFilter,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const page = await client.plans.runs(filter);
  const rows = page.items.map((run) => {
    const all = Object.values(run.counts).reduce((sum, count) => sum + count, 0);
    return [
      run.id,
      new Date(run.createdAt).toISOString().slice(0, 19),
      run.plan,
      run.status,
      `${run.counts.succeeded ?? 0}/${all}`,
      run.report?.branch ?? "–",
    ];
  });

  if (rows.length > 0) {
    output.table([["id", "begun", "plan", "status", "ports", "branch"], ...rows]);
  } else output.note("There is no such run. Begin one with: dure plan run NAME");
  if (page.nextCursor !== null) output.note(`There are more: --cursor ${page.nextCursor}`);
  output.result(page);

  return EXIT.ok;
}

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

  const { success = true, failedTests: failed = [], suggestions = [] } = feedback ?? {};
  if (failed.length > 0) facts.push(`fails: ${namesOf(failed.map(({ name }) => name))}`);
  const [why = ""] = success || failed.length > 0 ? [] : suggestions;
  if (why !== "") facts.push(why.split("\n")[0]!);

  return facts;
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
function printReport(run: RunDetail, output: Output): void {
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

/** A run as it stands, then what happens, to its end; 1 unless that is success. */
export async function watchRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  const over = new AbortController();
  const interrupted = (): void => over.abort();
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);
  const view = watching(output);

  try {
    for await (const news of client.plans.stream(id, { signal: over.signal })) {
      output.result(news.kind === "run" ? { type: "run", data: news.run } : news.event);
      if (news.kind === "run") view.begin(news.run);
      else view.event(news.event);
    }
    const ended = await client.plans.run(id, { signal: over.signal });
    await view.end(ended);
    output.line(
      `${ended.plan} ${ended.status}: ${ended.because?.message ?? RUN_WORDS[ended.status]}`,
    );
    printReport(ended, output);

    return ended.status === "success" ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!over.signal.aborted && !isAbort(error)) throw error;
    output.note(`It goes on without you: dure plan watch ${id}`);

    return EXIT.ok;
  } finally {
    await view.end(undefined);
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  }
}

export async function pauseRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(
    await client.plans.pause(id),
    "is paused: what works goes on, nothing starts",
    output,
  );
}

export async function resumeRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.resume(id), "goes on", output);
}

export async function cancelRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.cancel(id), "is cancelled; what was made is kept", output);
}

export async function retryPort(
  id: string,
  port: string,
  request: RetryRequest,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(
    await client.plans.retry(id, port, request),
    `goes on with another try of ${port}`,
    output,
  );
}

/** What a run as a whole can be given: more tokens, or its merge again. */
export async function retryRun(
  id: string,
  {
    tokens,
    ...ofPorts
  }: {
    tokens: number | undefined;
    hint: string | undefined;
    tries: string | undefined;
    by: string | undefined;
    time: string | undefined;
  },
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const [option] = Object.entries(ofPorts).find(([, value]) => value !== undefined) ?? [];
  if (option !== undefined) {
    throw new DureError("USAGE", `--${option} is for a port, and none is named.`, {
      class: "input",
      hint: `dure plan retry ${id} PORT --${option} …`,
    });
  }

  if (tokens !== undefined) {
    return told(await client.plans.extend(id, { tokens }), `has ${tokens} tokens more`, output);
  }

  return told(await client.plans.again(id), "is merged again", output);
}

export async function skipPort(
  id: string,
  port: string,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(await client.plans.skip(id, port), `goes on without ${port}`, output);
}

export function told(ordered: RunOrdered, what: string, output: Output): ExitCode {
  output.line(
    ordered.carriedOut
      ? `${ordered.run.id} ${what}`
      : `${ordered.run.id}: the order is stored; the run's leader carries it out as soon as it can`,
  );

  output.result(ordered);
  return EXIT.ok;
}

/** Prints the patch alone, so that it can be piped. */
export async function showDiff(
  id: string,
  port: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const diff = await client.plans.diff(id, port);
  output.write(diff.patch === "" || diff.patch.endsWith("\n") ? diff.patch : `${diff.patch}\n`);
  if (diff.changes.length === 0) output.note("Nothing is changed.");

  if (diff.isCut) {
    output.note(
      "The patch is longer than is shown; git shows all of it: the commits are under refs/dure/ in " +
        "your repository.",
    );
  }

  output.result(diff);

  return EXIT.ok;
}

/** Cleans page by page; 1 when a run that was named is kept. */
export async function cleanRuns(
  request: CleanRequest,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const items: RunCleaned[] = [];
  for (let after: number | undefined; ;) {
    const page = await client.plans.clean({ ...request, after });
    items.push(...page.items);
    if (page.next === null) break;
    after = page.next;
  }

  const kept = items.filter(({ outcome }) => outcome === "kept");
  const word = request.dryRun === true ? "would be cleaned" : "cleaned";

  if (items.length > 0) {
    output.table(
      items.map(({ run, plan, outcome, because }) => [
        run,
        plan,
        outcome === "kept" ? "kept" : word,
        because?.message ?? "",
      ]),
    );
  } else output.note("There is no run that ended so long ago.");

  if (
    kept.some(
      ({ because }) => because?.code === "RUN_UNMERGED" || because?.code === "TREE_NOT_SAFE",
    )
  ) {
    output.note(
      "What was kept is on no branch or in no commit: merge it, or clean it with --force.",
    );
  }

  output.result({ items });

  return request.run !== undefined && kept.length > 0 ? EXIT.failed : EXIT.ok;
}

export async function mergeRun(
  id: string,
  into: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  let isTold = false;
  const onTrying = (): void => {
    if (!isTold) output.note("The branch has moved: the tests run on the merged tree first.");
    isTold = true;
  };
  const merged = await client.plans.merge(id, { into }, { onTrying });
  const words = {
    merged: "merged",
    "fast-forward": "merged (fast-forward)",
    already: "there already",
  }[merged.kind];

  const commit = merged.commit.slice(0, 12);
  const files = merged.updated === null ? "" : `; the files in ${merged.updated} came along`;
  output.line(`${id} is ${words} in ${merged.target}, which is now at ${commit}${files}`);
  output.result(merged);

  return EXIT.ok;
}
