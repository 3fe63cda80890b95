/** `dure task`: one thing to do, without a plan. */
import { Option, type Command } from "commander";
import { AGENTS } from "../../plans/agents/presets.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TaskWorker } from "../task.ts";
import type { CommandContext, CommandSpec, CommonOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { optional, repositoryFrom, wholeNumber } from "./values.ts";

/** Who does a task. */
export interface WorkerOptions {
  /** Default: claude. */
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly worker?: string | undefined;
}

interface TaskOptions extends CommonOptions, WorkerOptions {
  readonly own?: readonly string[];
  readonly test?: readonly string[];
  readonly accept?: string;
  readonly title?: string;
  readonly tries?: string;
  readonly base?: string;
  readonly repo?: string;
  readonly key?: string;
  readonly dryRun?: true;
  readonly follow?: true;
  readonly gate?: true;
}

const undo: CommandSpec = {
  name: "undo",
  about: "take the newest merged task of this checkout out of its branch again",
  examples: ["dure task undo"],
  worksOn: "server",
  declare: (command) =>
    command.option("--repo <path>", "the repository, by name or path", repositoryFrom),
  run: (context) => async (options: CommonOptions & { readonly repo?: string }) => {
    const { groundOf } = await import("../task-ground.ts");
    const { undoTask } = await import("../plan-orders.ts");
    const at = { here: process.cwd(), team: options.dir };
    const { repository } = await groundOf({ repo: options.repo, base: undefined }, at);
    const command = await taskServer(context, options);

    return undoTask(repository ?? process.cwd(), command);
  },
};

export const TASK: CommandSpec = {
  name: "task",
  about: "let an agent do one thing, kept apart as in a plan; prints the id of its run",
  examples: [
    "dure task 'Answer 429 after five failures.' --own 'src/api/**' --accept 'npm test' --follow",
    "dure task 'Mend the tests of the cart.' --own 'src/cart/**' --test 'test/cart/**' --accept 'npm test' --agent codex",
  ],
  worksOn: "server",
  commands: [undo],
  declare: (command) =>
    declareWorker(
      command
        .argument("<words>", "what is to be done")
        .option("--own <patterns...>", "what may be changed (default: as its repository says)")
        .option(
          "--accept <command>",
          "a shell command that decides whether it is done (default: as its repository says)",
        )
        .option("--test <patterns...>", "tests that a tester of its own writes"),
    )
      .option("--gate", "waits for a person's yes before the result goes to its branch")
      .option("--title <words>", "names its branch (default: the first words)")
      .option("--tries <number>", "at most so many tries (default 3)")
      .option("--base <ref>", "a branch, tag or commit to begin from")
      .option(
        "--repo <path>",
        "the repository, by name or path (default: the checkout here, else the team's)",
        repositoryFrom,
      )
      .option("--dry-run", "begin nothing; say what would be done")
      .option("--key <key>", "the same key and request are the same run")
      .option("-f, --follow", "watch it to its end"),
  run: (context) => async (words: string, options: TaskOptions) => {
    const { own, test, accept, title, base, repo, key, dryRun, follow, gate } = options;
    const { planOfTask } = await import("../task.ts");
    const { groundOf, projectLines, scopeOf } = await import("../task-ground.ts");
    const { runPlan } = await import("../plans.ts");
    const at = { here: process.cwd(), team: options.dir };
    const { repository, project } = await groundOf({ repo, base }, at);
    const scope = scopeOf({ own, test, accept }, project);
    const command = await taskServer(context, options);
    const tries = optional(options.tries, wholeNumber);
    const worker = workerOf({ ...options, agent: options.agent ?? project?.agent });
    const { output } = context;
    for (const line of project ? projectLines(project, output.words.plans) : []) output.note(line);
    return runPlan(
      { ...planOfTask({ goal: words, ...scope, gate, worker, tries, title }), base, repository },
      { dryRun: dryRun ?? false, follow: follow ?? false, key },
      command,
    );
  },
};

export function declareWorker(command: Command): Command {
  return command
    .addOption(new Option("--agent <name>", "who does it (default: claude)").choices([...AGENTS]))
    .option("--model <name>", "a model (provider:model) does it, instead of an agent")
    .option("--worker <command>", "a program does it, instead of an agent; run by a shell");
}

/** As `clientCommand`; a person in a checkout without a team is told what to run. */
async function taskServer(
  context: CommandContext,
  options: CommonOptions,
): ReturnType<typeof clientCommand> {
  try {
    return await clientCommand(context, options);
  } catch (error) {
    if (!(error instanceof DureError) || error.code !== "TEAM_NOT_FOUND") throw error;
    throw new DureError(error.code, error.message, {
      class: "input",
      hint: "Once: npx dure init ~/dure-team --yes, then npx dure dev --dir ~/dure-team. Then the same here with --dir ~/dure-team.",
      cause: error,
    });
  }
}

export function workerOf({ agent = "claude", model, worker }: WorkerOptions): TaskWorker {
  if (worker !== undefined) return { kind: "command", command: ["sh", "-c", worker] };
  return model === undefined ? { agent } : { kind: "model", model };
}
