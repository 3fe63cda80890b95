/** `dure task`: one thing to do, without a plan. */
import { Option, type Command } from "commander";
import { AGENTS } from "../../plans/agents/presets.ts";
import type { TaskWorker } from "../task.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { optional, repositoryFrom, wholeNumber } from "./values.ts";

/** Who does a task. */
export interface WorkerOptions {
  readonly agent: string;
  readonly model?: string;
  readonly worker?: string;
}

interface TaskOptions extends CommonOptions, WorkerOptions {
  readonly own: readonly string[];
  readonly test?: readonly string[];
  readonly accept: string;
  readonly title?: string;
  readonly tries?: string;
  readonly base?: string;
  readonly repo?: string;
  readonly key?: string;
  readonly dryRun?: true;
  readonly follow?: true;
  readonly gate?: true;
}

export const TASK: CommandSpec = {
  name: "task",
  about: "let an agent do one thing, kept apart as in a plan; prints the id of its run",
  examples: [
    "dure task 'Answer 429 after five failures.' --own 'src/api/**' --accept 'npm test' --follow",
    "dure task 'Mend the tests of the cart.' --own 'src/cart/**' --test 'test/cart/**' --accept 'npm test' --agent codex",
  ],
  worksOn: "server",
  declare: (command) =>
    declareWorker(
      command
        .argument("<words>", "what is to be done")
        .requiredOption("--own <patterns...>", "what may be changed")
        .requiredOption("--accept <command>", "a shell command that decides whether it is done")
        .option("--test <patterns...>", "tests that a tester of its own writes"),
    )
      .option("--gate", "waits for a person's yes before the result goes to its branch")
      .option("--title <words>", "names its branch (default: the first words)")
      .option("--tries <number>", "at most so many tries (default 3)")
      .option("--base <ref>", "a branch, tag or commit to begin from")
      .option(
        "--repo <path>",
        "the repository, by name or path (default: the team's)",
        repositoryFrom,
      )
      .option("--dry-run", "begin nothing; say what would be done")
      .option("--key <key>", "the same key and request are the same run")
      .option("-f, --follow", "watch it to its end"),
  run: (context) => async (words: string, options: TaskOptions) => {
    const { own, test = [], accept, title, base, repo, key, dryRun, follow, gate } = options;
    const { planOfTask } = await import("../task.ts");
    const { runPlan } = await import("../plans.ts");
    const command = await clientCommand(context, options);
    const tries = optional(options.tries, wholeNumber);
    const worker = workerOf(options);
    const wish = { goal: words, owns: own, tests: test, acceptance: accept, gate };
    return runPlan(
      { ...planOfTask({ ...wish, worker, tries, title }), base, repository: repo },
      { dryRun: dryRun ?? false, follow: follow ?? false, key },
      command,
    );
  },
};

export function declareWorker(command: Command): Command {
  return command
    .addOption(new Option("--agent <name>", "who does it").choices([...AGENTS]).default("claude"))
    .option("--model <name>", "a model (provider:model) does it, instead of an agent")
    .option("--worker <command>", "a program does it, instead of an agent; run by a shell");
}

export function workerOf({ agent, model, worker }: WorkerOptions): TaskWorker {
  if (worker !== undefined) return { kind: "command", command: ["sh", "-c", worker] };
  return model === undefined ? { agent } : { kind: "model", model };
}
