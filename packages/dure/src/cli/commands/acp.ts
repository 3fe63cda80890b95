import type { TaskMode } from "../../acp-agent/task-mode.ts";
import type { DureClient } from "../../client/index.ts";
import { DureError } from "../../kernel/errors.ts";
import { connect as connectTo } from "../connect.ts";
import { planOfTask } from "../task.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";
import { declareWorker, workerOf, type WorkerOptions } from "./task.ts";
import { optional, repositoryFrom, wholeNumber } from "./values.ts";

interface AcpCommandOptions extends CommonOptions, WorkerOptions {
  readonly own?: readonly string[];
  readonly accept?: string;
  readonly test?: readonly string[];
  readonly tries?: string;
  readonly repo?: string;
  readonly gate?: true;
}

/** Serves the team to an editor that speaks the Agent Client Protocol, such as Zed. */
export const ACP: CommandSpec = {
  name: "acp",
  about: "serve the team over standard input and output to an editor",
  examples: [
    "dure acp --dir ~/my-team",
    "dure acp --dir ~/my-team --own 'src/**' --accept 'npm test'",
  ],
  worksOn: "server",
  declare: (command) =>
    declareWorker(
      command
        .option("--own <patterns...>", "offers tasks (dure task): what they may change")
        .option("--accept <command>", "a shell command that decides whether a task is done")
        .option("--test <patterns...>", "tests that a tester of its own writes"),
    )
      .option("--tries <number>", "at most so many tries of a task (default 3)")
      .option("--gate", "asks before the result of a task goes to its branch")
      .option(
        "--repo <path>",
        "the repository of tasks (default: the editor's folder)",
        repositoryFrom,
      ),
  run: (context) => async (options: AcpCommandOptions) => {
    const task = taskModeOf(options);
    const { serveAcp } = await import("../acp.ts");
    // Anew for each call: the team may have been started again at another port.
    const connect = (): Promise<DureClient> => connectTo(options, { attempts: 1 });

    return serveAcp({ connect, task }, context.output.streams);
  },
};

/** Undefined: no tasks are offered. Throws `USAGE`. */
function taskModeOf(options: AcpCommandOptions): TaskMode | undefined {
  const { own: owns, accept: acceptance, test: tests = [], repo: repository } = options;
  if (owns === undefined && acceptance === undefined) return undefined;
  if (owns === undefined || acceptance === undefined) {
    throw new DureError("USAGE", "Tasks need both --own and --accept.", {
      class: "input",
      hint: "dure acp --own 'src/**' --accept 'npm test'",
    });
  }
  const tries = optional(options.tries, wholeNumber);
  const { gate } = options;
  const given = { owns, tests, acceptance, worker: workerOf(options), tries, gate };

  return {
    owns,
    acceptance,
    repository,
    planOf: (goal) => planOfTask({ ...given, goal }),
  };
}
