import {
  type CleanRequest,
  type RetryRequest,
  type RunCleaned,
  type RunOrdered,
} from "../client/index.ts";
import { DureError } from "../kernel/errors.ts";
import { namingFindings } from "./plan-leaving.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import type { PlansCommand } from "./plans.ts";
import type { CliWords } from "./words/words.ts";

export async function pauseRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.pause(id), output, (words, run) => words.paused(run));
}

export async function resumeRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.resume(id), output, (words, run) => words.resumed(run));
}

export async function cancelRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.cancel(id), output, (words, run) => words.cancelled(run));
}

export async function retryPort(
  id: string,
  port: string,
  request: RetryRequest,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const ordered = await client.plans.retry(id, port, request);
  return told(ordered, output, (words, run) => words.retried(run, port));
}

/** What a run as a whole can be given: more tokens or calls, or its merge again. */
export async function retryRun(
  id: string,
  {
    tokens,
    calls,
    ...ofPorts
  }: {
    tokens: number | undefined;
    calls: number | undefined;
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

  if (tokens !== undefined || calls !== undefined) {
    const extended = await client.plans.extend(id, { tokens, calls });
    return told(extended, output, (words, run) => words.extended(run, { tokens, calls }));
  }

  return told(await client.plans.again(id), output, (words, run) => words.mergedAgain(run));
}

export async function skipPort(
  id: string,
  port: string,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(await client.plans.skip(id, port), output, (words, run) => words.skipped(run, port));
}

/** @param done What is said of an order that was carried out */
export function told(
  ordered: RunOrdered,
  output: Output,
  done: (words: CliWords["plans"]["order"], run: string) => string,
): ExitCode {
  const { order: words } = output.words.plans;
  output.line(ordered.carriedOut ? done(words, ordered.run.id) : words.stored(ordered.run.id));

  output.result(ordered);
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
  const { plans, reason } = output.words;
  const { order: words } = plans;
  const word = request.dryRun === true ? words.wouldClean : words.cleaned;

  if (items.length > 0) {
    output.table(
      items.map(({ run, plan, outcome, because }) => [
        run,
        plan,
        outcome === "kept" ? words.kept : word,
        because ? reason(because) : "",
      ]),
    );
  } else output.note(words.noneSoOld);

  if (
    kept.some(
      ({ because }) => because?.code === "RUN_UNMERGED" || because?.code === "TREE_NOT_SAFE",
    )
  ) {
    output.note(words.keptWhy);
  }

  output.result({ items });

  return request.run !== undefined && kept.length > 0 ? EXIT.failed : EXIT.ok;
}

export async function mergeRun(
  id: string,
  request: { readonly into: string | undefined; readonly confirm: string | undefined },
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const { order: words } = output.words.plans;
  let isTold = false;
  const onTrying = (): void => {
    if (!isTold) output.note(words.branchMoved);
    isTold = true;
  };
  const merged = await namingFindings(output, () => client.plans.merge(id, request, { onTrying }));
  const { kind, target, updated: folder } = merged;
  const commit = merged.commit.slice(0, 12);
  output.line(words.merged(id, { kind, target, commit, folder }));
  if (merged.solved) output.line(output.words.plans.status.solved(merged.solved));
  output.result(merged);

  return EXIT.ok;
}

export async function undoRun(
  id: string,
  from: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const { order: words } = output.words.plans;
  const undone = await client.plans.undo(id, { from });
  const { target, updated: folder, isNew } = undone;
  const commit = undone.commit.slice(0, 12);
  output.line(words.undone(id, { isNew, target, commit, folder }));
  output.result(undone);

  return EXIT.ok;
}

/** Runs that are looked at for the newest merged task. */
const TASKS_LOOKED_AT = 200;

/** The newest task of a checkout that is merged. Throws `TASK_NOT_MERGED`. */
export async function undoTask(repository: string, command: PlansCommand): Promise<ExitCode> {
  const { client, output } = command;
  const { order: words } = output.words.plans;
  const { items } = await client.plans.runs({ limit: TASKS_LOOKED_AT });
  const task = items
    .filter((run) => run.delivery === "merged" && run.repository === repository)
    .filter(({ plan }) => plan === "task" || plan.startsWith("task-"))
    .toSorted((one, other) => other.report!.merged!.at - one.report!.merged!.at)
    .at(0);
  if (task !== undefined) return undoRun(task.id, undefined, command);

  throw new DureError("TASK_NOT_MERGED", words.noMergedTask(repository), {
    class: "not-found",
    hint: words.noMergedTaskHint,
  });
}
