/** `dure task` before a person: what it may change, what its worker does, and the merge. */

import { DureError } from "../kernel/errors.ts";
import type { CommonOptions } from "./commands/command.ts";
import { guessOwn, type GuessedOwn } from "./guess-own.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { keyAt, personAt } from "./person-at.ts";
import { mergeRun } from "./plan-orders.ts";
import { runPlan, watchRun, type PlansCommand } from "./plans.ts";
import { planOfTask, type Task } from "./task.ts";
import type { TaskGround } from "./task-ground.ts";
import { TaskWatch } from "./task-watch.ts";

/** Files that are named before a merge. */
const MAX_FILES = 20;

/**
 * What a task may change where neither its person nor its repository says it: a guess that the
 * person accepts with one key, or edits. Undefined: there is nothing to guess from, or no person,
 * or they said no. Throws `USAGE` for a guess that no person can accept.
 */
export async function askOwn(
  words: string,
  { paths }: TaskGround,
  output: Output,
): Promise<readonly string[] | "left" | undefined> {
  const guess = paths && guessOwn(words, await paths());
  if (guess === undefined) return undefined;
  const { task: text } = output.words.plans;
  const key = await keyAt(output, text.guess(guess), ["y", "n", "e"]);
  if (key === "absent") throw unconfirmed(guess);
  if (key === "y") return guess.own;
  if (key !== "e") return "left";
  const person = personAt(output);
  try {
    const said = await person?.ask(text.edit(guess.own.join(" ")));
    if (said === undefined) return "left";
    const patterns = said.split(/\s+/).filter(Boolean);

    return patterns.length > 0 ? patterns : guess.own;
  } finally {
    person?.close();
  }
}

function unconfirmed({ own }: GuessedOwn): DureError {
  const given = own.map((pattern) => `'${pattern}'`).join(" ");
  return new DureError("USAGE", "A task needs --own: its repository does not say it.", {
    class: "input",
    hint: `By its words it would be --own ${given}. Give it here, or commit own: to .dure/project.yaml.`,
  });
}

interface TaskStart {
  readonly task: Task;
  readonly base: string | undefined;
  readonly repository: string | undefined;
  readonly dryRun: boolean;
  /** Undefined: where a person looks on. */
  readonly follow: boolean | undefined;
  readonly key: string | undefined;
  readonly isLocal: boolean;
}

/** Begins it; before a person it is followed, with its transcript, and merged by one key. */
export async function runTask(start: TaskStart, command: PlansCommand): Promise<ExitCode> {
  const { task, base, repository, dryRun, key, isLocal } = start;
  const { client, output } = command;
  const follow = start.follow ?? (isLocal || output.isTerminal);
  const request = { ...planOfTask(task), base, repository };
  if (dryRun || !follow) return runPlan(request, { dryRun, follow: false, key }, command);

  let id: string | undefined;
  const watched = await runPlan(request, { dryRun, follow: true, key }, command, (run) => {
    id = run;
    return watchRun(run, command, new TaskWatch(client, output));
  });
  if (watched !== EXIT.ok || id === undefined) return watched;

  return mergeNow(id, isLocal, command);
}

/** Asks once what becomes of a result that is there. */
async function mergeNow(id: string, isLocal: boolean, command: PlansCommand): Promise<ExitCode> {
  const { client, output } = command;
  const run = await client.plans.run(id);
  const branch = run.report?.branch;
  if (run.status !== "success" || branch === undefined) return EXIT.ok;
  const { task: words } = output.words.plans;
  const { changes } = await client.plans.diff(id);
  for (const { kind, path } of changes.slice(0, MAX_FILES)) output.note(`  ${kind}  ${path}`);
  if (changes.length > MAX_FILES) output.note(words.more(changes.length - MAX_FILES));

  const key = await keyAt(output, words.merge, ["y", "n"]);
  if (key === "y") return mergeRun(id, { into: undefined, confirm: undefined }, command);
  output.note(isLocal ? words.laterLocal(branch) : words.later(id));

  return EXIT.ok;
}

/** What of the options of a command leads to its team. */
export type TaskTeamOptions = CommonOptions & { readonly local?: true };
