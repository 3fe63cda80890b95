import { readFile } from "node:fs/promises";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import type {
  DureClient,
  PlanProblem,
  PlanSource,
  PlanView,
  RunRequest,
  RunsFilter,
} from "../client/index.ts";
import { DureError, isAbort, messageOf } from "../kernel/errors.ts";
import { planProblemText } from "./plan-check.ts";
import { EXIT, momentOf, type ExitCode, type Output } from "./output.ts";
import { watching, type RunWatch } from "./plan-watch.ts";
import { leavingOf, showLeaving } from "./plan-leaving.ts";
import { printReport } from "./plan-status.ts";

export interface PlansCommand {
  readonly client: DureClient;
  readonly output: Output;
}
/** Files without an owner that are listed. */
const UNOWNED_SHOWN = 20;

/** Newest runs among which those of the listed plans are looked for. */
const RUNS_LOOKED_AT = 200;

// --- plans

export async function listPlans({ client, output }: PlansCommand): Promise<ExitCode> {
  const { list: words } = output.words.plans;
  const items = await client.plans.list();
  if (items.length > 0) {
    const last = await lastRuns({ client, output });
    output.table([
      words.head,
      ...items.map(({ name, ports, file, problemCount }) => [
        name,
        String(ports),
        file,
        last.get(name) ?? "–",
        problemCount === 0 ? "" : words.problems(problemCount, name),
      ]),
    ]);
  } else output.note(words.none);

  output.result({ items });

  return EXIT.ok;
}

/** How the newest run of each plan stands, and what became of its result. */
async function lastRuns({ client, output }: PlansCommand): Promise<ReadonlyMap<string, string>> {
  const { plans: words } = output.words;
  const { items } = await client.plans.runs({ limit: RUNS_LOOKED_AT });

  return new Map(
    items.toReversed().map(({ plan, status, delivery }) => {
      const became = delivery === null ? [] : [words.delivery(delivery)];
      return [plan, [words.runStatus(status), ...became].join(", ")];
    }),
  );
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
  const { plans: words, said } = output.words;
  for (const problem of problems) output.note(said(planProblemText(problem)));

  output.note(problems.length === 0 ? words.draft.good : words.draft.bad);

  output.result(draft);

  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

function printView(view: PlanView, output: Output): void {
  const { dim, yellow } = output.colors;
  const { plans, said } = output.words;
  const { view: words } = plans;
  const base = `${view.base} ${dim(view.baseCommit.slice(0, 12))}`;
  output.line(words.on(view.plan, plans.ports(view.ports.length), base));

  view.levels.forEach((level, index) => output.line(words.level(index + 1, level.join(", "))));
  output.line(words.path(view.criticalPath.join(" → ")));
  output.line(words.parallel(view.maxParallel));
  output.line(words.mode(view.mode.mode, said(view.mode.because)));
  for (const { name, value, holds } of view.mode.conditions) {
    output.line(
      `  ${holds ? words.holds.yes : words.holds.no}  ${said(name)} (${words.value(value)})`,
    );
  }

  const workers = view.workers.map(({ role, kind, command, model }) => {
    const program = command ? ` (${lineOf(command)})` : "";
    const asked = model === undefined ? "" : ` (${model})`;

    return `${role} ${kind}${program}${asked}`;
  });

  output.line(words.workers(workers.join(", ")));
  for (const { of, policy, hosts } of view.network) {
    const named = hosts.length > 0 ? ` (${hosts.join(", ")})` : "";
    output.line(`${words.network(of, policy)}${named}`);
  }

  if (view.isolationWanted === "audit") output.line(yellow(words.audit));

  if (view.unownedCount > 0) {
    const shown = view.unowned.slice(0, UNOWNED_SHOWN);
    const left = view.unownedCount - shown.length;
    const files = shown.join(", ");
    output.line(words.unowned(left > 0 ? plans.andMore(files, left) : files));
  }

  for (const { message } of view.warnings) output.note(words.warning(said(message)));
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
  watch: (run: string) => Promise<ExitCode> = (run) => watchRun(run, command),
): Promise<ExitCode> {
  try {
    return await begin(request, how, command, watch);
  } catch (error) {
    if (error instanceof DureError && error.code === "PLAN_INVALID") {
      const { output } = command;
      for (const problem of problemsIn(error)) {
        output.note(output.words.said(planProblemText(problem)));
      }
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
  { client, output }: PlansCommand,
  watch: (run: string) => Promise<ExitCode>,
): Promise<ExitCode> {
  if (how.dryRun) {
    const view = await client.plans.dryRun(request);
    printView(view, output);
    output.note(output.words.plans.run.nothingBegun);
    output.result(view);

    return EXIT.ok;
  }

  const run = await client.plans.start(request, { idempotencyKey: how.key });

  if (how.follow) {
    output.note(run.id);
    return watch(run.id);
  }

  output.line(run.id);
  output.note(output.words.plans.run.watch(run.id));
  output.result(run);

  return EXIT.ok;
}

export async function listRuns(
  filter: RunsFilter,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const { plans: words, general } = output.words;
  const page = await client.plans.runs(filter);
  const rows = page.items.map((run) => {
    const all = Object.values(run.counts).reduce((sum, count) => sum + count, 0);
    return [
      run.id,
      momentOf(run.createdAt),
      run.plan,
      words.runStatus(run.status),
      `${run.counts.succeeded ?? 0}/${all}`,
      run.report?.branch ?? "–",
      run.delivery === null ? "–" : words.delivery(run.delivery),
    ];
  });

  if (rows.length > 0) {
    output.table([words.list.runsHead, ...rows]);
  } else output.note(words.list.noRun);
  if (page.nextCursor !== null) output.note(general.more(page.nextCursor));
  output.result(page);

  return EXIT.ok;
}

/** A run as it stands, then what happens, to its end; 1 unless that is success. */
export async function watchRun(
  id: string,
  { client, output }: PlansCommand,
  view: RunWatch = watching(output),
): Promise<ExitCode> {
  const over = new AbortController();
  const interrupted = (): void => over.abort();
  process.once("SIGINT", interrupted);
  process.once("SIGTERM", interrupted);

  try {
    for await (const news of client.plans.stream(id, { signal: over.signal })) {
      output.result(news.kind === "run" ? { type: "run", data: news.run } : news.event);
      if (news.kind === "run") view.begin(news.run);
      else view.event(news.event);
    }
    const ended = await client.plans.run(id, { signal: over.signal });
    await view.end(ended);
    const { plans: words, reason } = output.words;
    const because = ended.because ? reason(ended.because) : words.run.stands[ended.status];
    output.line(`${ended.plan} ${words.runStatus(ended.status)}: ${because}`);
    printReport(ended, output, view);

    return ended.status === "success" ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!over.signal.aborted && !isAbort(error)) throw error;
    output.note(output.words.plans.run.goesOn(id));

    return EXIT.ok;
  } finally {
    await view.end(undefined);
    process.off("SIGINT", interrupted);
    process.off("SIGTERM", interrupted);
  }
}

/** Prints the patch alone, so that it can be piped. */
export async function showDiff(
  id: string,
  port: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const { run: words } = output.words.plans;
  const diff = await client.plans.diff(id, port);
  output.write(diff.patch === "" || diff.patch.endsWith("\n") ? diff.patch : `${diff.patch}\n`);
  if (diff.changes.length === 0) output.note(words.nothingChanged);
  if (diff.isCut) output.note(words.patchCut);
  const leaving = port === undefined ? await leavingOf(id, client) : undefined;
  if (leaving !== undefined) showLeaving(id, leaving, output);

  output.result(leaving === undefined ? diff : { ...diff, leaving });

  return EXIT.ok;
}

/** Characters of a command that are shown. */
const COMMAND_SHOWN = 100;

/** A command on one line; a script is cut. Pure. */
function lineOf(command: readonly string[]): string {
  const line = command.join(" ").replaceAll(/\s+/g, " ").trim();

  return line.length <= COMMAND_SHOWN ? line : `${line.slice(0, COMMAND_SHOWN - 1)}…`;
}
