/** `dure task`: one thing to do, without a plan. */
import { Option, type Command } from "commander";
import { AGENTS } from "../../plans/agents/presets.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TaskWorker } from "../task.ts";
import { EXIT, type ExitCode } from "../output.ts";
import type { PlansCommand } from "../plans.ts";
import type { TaskTeamOptions } from "../task-run.ts";
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

interface TaskOptions extends TaskTeamOptions, WorkerOptions {
  readonly own?: readonly string[];
  readonly test?: readonly string[];
  readonly accept?: string;
  readonly title?: string;
  readonly tries?: string;
  readonly base?: string;
  readonly repo?: string;
  readonly key?: string;
  readonly dryRun?: true;
  readonly follow?: boolean;
  readonly gate?: true;
}

const LOCAL = ["--local", "without a team: a server of its own, which ends with it"] as const;

const undo: CommandSpec = {
  name: "undo",
  about: "take the newest merged task of this checkout out of its branch again",
  examples: ["dure task undo"],
  worksOn: "server",
  declare: (command) =>
    command
      .option("--repo <path>", "the repository, by name or path", repositoryFrom)
      .option(...LOCAL),
  run: (context) => async (options: TaskTeamOptions & { readonly repo?: string }) => {
    const { groundOf } = await import("../task-ground.ts");
    const { undoTask } = await import("../plan-orders.ts");
    const at = { here: process.cwd(), team: options.dir };
    const { repository } = await groundOf({ repo: options.repo, base: undefined }, at);

    return atTeam(context, options, (command) => undoTask(repository ?? process.cwd(), command));
  },
};

export const TASK: CommandSpec = {
  name: "task",
  about: "let an agent do one thing, kept apart as in a plan; prints the id of its run",
  examples: [
    "dure task 'Answer 429 after five failures.' --own 'src/api/**' --accept 'npm test' --follow",
    "dure task 'Mend the tests of the cart.' --own 'src/cart/**' --test 'test/cart/**' --accept 'npm test' --agent codex",
    "dure task 'Mend src/cart/total.ts.' --local",
  ],
  worksOn: "server",
  commands: [undo],
  declare: (command) =>
    declareWorker(
      command
        .argument("<words>", "what is to be done")
        .option(
          "--own <patterns...>",
          "what may be changed (default: as its repository says, else a guess that you accept)",
        )
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
      .option("-f, --follow", "watch it to its end; before a person that is the default")
      .option("--no-follow", "begin it, and go")
      .option(...LOCAL),
  run: (context) => async (words: string, options: TaskOptions) => {
    const { test, accept, title, base, repo, key, dryRun, follow, gate, local } = options;
    const { acceptanceOf, groundOf, projectLines, scopeOf } = await import("../task-ground.ts");
    const { askOwn, runTask } = await import("../task-run.ts");
    const at = { here: process.cwd(), team: options.dir };
    const ground = await groundOf({ repo, base }, at);
    const { repository, project } = ground;
    const { output } = context;
    acceptanceOf(accept, project); // before a person has answered anything
    const guessed = options.own ?? project?.own ?? (await askOwn(words, ground, output));
    if (guessed === "left") {
      output.note(output.words.plans.task.left);
      return EXIT.failed;
    }

    const own = guessed === project?.own ? undefined : guessed;
    const tests = test ?? (options.own ? undefined : project?.tests);
    const scope = scopeOf({ own, test: tests, accept }, project);
    const tries = optional(options.tries, wholeNumber);
    const worker = workerOf({ ...options, agent: options.agent ?? project?.agent });
    for (const line of project ? projectLines(project, output.words.plans) : []) output.note(line);
    const task = { goal: words, ...scope, gate, worker, tries, title };
    const start = { task, base, repository, dryRun: dryRun ?? false, follow, key };

    return atTeam(context, options, (command) =>
      runTask({ ...start, isLocal: local ?? false }, command),
    );
  },
};

export function declareWorker(command: Command): Command {
  return command
    .addOption(new Option("--agent <name>", "who does it (default: claude)").choices([...AGENTS]))
    .option("--model <name>", "a model (provider:model) does it, instead of an agent")
    .option("--worker <command>", "a program does it, instead of an agent; run by a shell");
}

/** Works with the server of a team, or with one of its own, which ends with the work. */
async function atTeam(
  context: CommandContext,
  options: TaskTeamOptions,
  work: (command: PlansCommand) => Promise<ExitCode>,
): Promise<ExitCode> {
  if (options.local !== true) return work(await taskServer(context, options));
  const { startLocalTeam } = await import("../local-team.ts");
  context.output.note(context.output.words.plans.task.starting);
  await using team = await startLocalTeam(process.argv[1]!);

  return await work(await clientCommand(context, { dir: team.dir, url: team.url }));
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
      hint: "Add --local: then it has a server of its own. Or name your team: --dir ~/dure-team.",
      cause: error,
    });
  }
}

export function workerOf({ agent = "claude", model, worker }: WorkerOptions): TaskWorker {
  if (worker !== undefined) return { kind: "command", command: ["sh", "-c", worker] };
  return model === undefined ? { agent } : { kind: "model", model };
}
