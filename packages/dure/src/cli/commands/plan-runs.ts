/** Commands of `dure plan` that see, steer and finish a run. */
import { Option } from "commander";
import { durationMs } from "../../kernel/duration.ts";
import { PLAN_RUN_STATUSES, type PlanRunStatus } from "../../kernel/plans.ts";
import type { CommandSpec, CommonOptions, PageOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { optional, wholeNumber } from "./values.ts";

interface RunsRunOptions extends CommonOptions, PageOptions {
  readonly plan?: string;
  readonly status?: PlanRunStatus;
}

export const runs: CommandSpec = {
  name: "runs",
  about: "runs, newest first",
  examples: ["dure plan runs", "dure plan runs --plan login --status running"],
  worksOn: "server",
  declare: (command) =>
    command
      .option("--plan <name>", "only of this plan")
      .addOption(new Option("--status <status>", "only in this status").choices(PLAN_RUN_STATUSES))
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
  run: (context) => async (options: RunsRunOptions) => {
    const { plan: ofPlan, status, limit, cursor } = options;
    const { listRuns } = await import("../plans.ts");
    const command = await clientCommand(context, options);

    return listRuns(
      {
        plan: ofPlan,
        status,
        limit: optional(limit, wholeNumber),
        cursor,
      },
      command,
    );
  },
};

export const status: CommandSpec = {
  name: "status",
  about: "how a run stands; exit code 1 when it has ended otherwise than in success",
  examples: ["dure plan status run_01K…", "dure plan status run_01K… api"],
  worksOn: "server",
  declare: (command) => command.argument("<run>").argument("[port]", "one port, try by try"),
  run: (context) => async (id: string, port: string | undefined, options: CommonOptions) => {
    const { showPort, showRun } = await import("../plan-status.ts");
    const command = await clientCommand(context, options);

    return port === undefined ? showRun(id, command) : showPort(id, port, command);
  },
};

export const watch: CommandSpec = {
  name: "watch",
  about: "follow a run to its end; exit code 1 unless that is success",
  examples: ["dure plan watch run_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<run>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { watchRun } = await import("../plans.ts");
    const command = await clientCommand(context, options);

    return watchRun(id, command);
  },
};

export const pause: CommandSpec = {
  name: "pause",
  about: "start no more ports; what works goes on",
  examples: ["dure plan pause run_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<run>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { pauseRun } = await import("../plan-orders.ts");
    const command = await clientCommand(context, options);

    return pauseRun(id, command);
  },
};

export const resume: CommandSpec = {
  name: "resume",
  about: "go on with a paused run",
  examples: ["dure plan resume run_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<run>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { resumeRun } = await import("../plan-orders.ts");
    const command = await clientCommand(context, options);

    return resumeRun(id, command);
  },
};

export const cancel: CommandSpec = {
  name: "cancel",
  about: "end a run; its workers are stopped, what they made is kept",
  examples: ["dure plan cancel run_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<run>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { cancelRun } = await import("../plan-orders.ts");
    const command = await clientCommand(context, options);

    return cancelRun(id, command);
  },
};

interface CleanRunOptions extends CommonOptions {
  readonly olderThan?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
}

export const clean: CommandSpec = {
  name: "clean",
  about:
    "remove files and refs of ended runs; branches and history stay, and so does what is on no branch",
  examples: [
    "dure plan clean --dry-run",
    "dure plan clean --older-than 30d",
    "dure plan clean run_01K… --force",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("[run]", "this one alone, however old")
      .option("--older-than <duration>", "those that ended longer ago (default: 7d)")
      .option("--force", "what is on no branch, or in no commit, goes too")
      .option("--dry-run", "remove nothing; say what would be done"),
  run: (context) => async (id: string | undefined, options: CleanRunOptions) => {
    const { olderThan, force, dryRun } = options;
    const { cleanRuns } = await import("../plan-orders.ts");
    const command = await clientCommand(context, options);

    return cleanRuns(
      {
        run: id,
        olderThanMs: optional(olderThan, durationMs),
        force,
        dryRun,
      },
      command,
    );
  },
};

export const diff: CommandSpec = {
  name: "diff",
  about: "what the result of a run changes, or one port so far, as a patch",
  examples: ["dure plan diff run_01K…", "dure plan diff run_01K… api | less"],
  worksOn: "server",
  declare: (command) => command.argument("<run>").argument("[port]"),
  run: (context) => async (id: string, port: string | undefined, options: CommonOptions) => {
    const { showDiff } = await import("../plans.ts");
    const command = await clientCommand(context, options);

    return showDiff(id, port, command);
  },
};

/** A yes to what a first call has named. */
const CONFIRM = "you have looked at what the first call named; the code stands there";

export const publish: CommandSpec = {
  name: "publish",
  about: "push the result of a run where its plan says, and open a pull request",
  examples: ["dure plan publish run_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<run>").option("--confirm <code>", CONFIRM),
  run:
    (context) =>
    async (id: string, { confirm, ...options }: CommonOptions & { confirm?: string }) => {
      const { publishRun } = await import("../plan-review.ts");
      const command = await clientCommand(context, options);

      return publishRun(id, confirm, command);
    },
};

export const merge: CommandSpec = {
  name: "merge",
  about: "take the result of a run over into a branch of your repository",
  examples: ["dure plan merge run_01K…", "dure plan merge run_01K… --into develop"],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .option("--into <branch>", "the branch (default: the plan's base, else the one you stand at)")
      .option("--confirm <code>", CONFIRM),
  run:
    (context) =>
    async (
      id: string,
      { into, confirm, ...options }: CommonOptions & { into?: string; confirm?: string },
    ) => {
      const { mergeRun } = await import("../plan-orders.ts");
      const command = await clientCommand(context, options);

      return mergeRun(id, { into, confirm }, command);
    },
};

export const undo: CommandSpec = {
  name: "undo",
  about: "take the merged result of a run out of the branch again, by one commit upon it",
  examples: ["dure plan undo run_01K…", "dure plan undo run_01K… --from develop"],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<run>")
      .option("--from <branch>", "the branch (default: the one that it was merged into last)"),
  run:
    (context) =>
    async (id: string, { from, ...options }: CommonOptions & { from?: string }) => {
      const { undoRun } = await import("../plan-orders.ts");
      const command = await clientCommand(context, options);

      return undoRun(id, from, command);
    },
};
