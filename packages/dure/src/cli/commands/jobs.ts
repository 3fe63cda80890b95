import { Option } from "commander";
import { JOB_STATUSES, type JobStatus } from "../../kernel/jobs.ts";
import type {
  CommandGroup,
  CommandSpec,
  CommonOptions,
  PageOptions,
  AsPersonOptions,
} from "./command.ts";
import { clientCommand } from "./command-input.ts";
import { optional, wholeNumber } from "./values.ts";

interface ListJobsOptions extends CommonOptions, PageOptions {
  readonly status?: JobStatus;
  readonly agent?: string;
  readonly parent?: string;
  readonly root?: string;
  readonly since?: string;
}

const list: CommandSpec = {
  name: "list",
  about: "jobs, newest first",
  examples: [
    "dure jobs list",
    "dure jobs list --status FAILED --since 1h --json",
    "dure jobs list --root job_01K…",
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .addOption(new Option("--status <status>", "only in this status").choices(JOB_STATUSES))
      .option("--agent <agent>", "only of this agent, as asking or as asked one")
      .option("--parent <id>", "only those that this job asked for")
      .option("--root <id>", "only those of the whole work that began with this job")
      .option("--since <duration>", "only those made within this time, such as 1h")
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
  run: (context) => async (options: ListJobsOptions) => {
    const { status, agent, parent, root, since, limit, cursor } = options;
    const { listJobs } = await import("../jobs.ts");
    const command = await clientCommand(context, options);

    return listJobs(
      {
        status,
        agent,
        parent,
        root,
        since,
        limit: optional(limit, wholeNumber),
        cursor,
      },
      command,
    );
  },
};

const show: CommandSpec = {
  name: "show",
  about: "one job: what was said, and how it ended",
  examples: ["dure jobs show job_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { showJob } = await import("../jobs.ts");
    const command = await clientCommand(context, options);
    return showJob(id, command);
  },
};

const watch: CommandSpec = {
  name: "watch",
  about: "follow a job to its end; exit code 1 unless it completes",
  examples: ["dure jobs watch job_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { watchJob } = await import("../jobs.ts");
    const command = await clientCommand(context, options);
    return watchJob(id, command);
  },
};

interface AskJobsOptions extends CommonOptions {
  readonly wait?: string;
  readonly maxTurns?: string;
  readonly topic?: string;
  readonly conversation?: string;
  readonly key?: string;
}

const ask: CommandSpec = {
  name: "ask",
  about: "let one agent ask another, and print its answer",
  examples: [
    'dure jobs ask ruda eden "When is the build done?"',
    'dure jobs ask ruda eden "Please review login.ts" --wait 0',
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument("<agent>", "in whose name")
      .argument("<target>", "who is asked")
      .argument("<message>")
      .option("--wait <seconds>", "wait so long for the answer, 0 to 300 (default 30)")
      .option("--max-turns <number>", "longest exchange")
      .option("--topic <topic>", "what it is about")
      .option("--conversation <id>", "go on with an earlier conversation")
      .option("--key <key>", "the same key and request are the same job"),
  run:
    (context) =>
    async (agent: string, target: string, message: string, options: AskJobsOptions) => {
      const { wait, maxTurns, topic, conversation, key } = options;
      const { askJob } = await import("../jobs.ts");
      const command = await clientCommand(context, options);

      const request = {
        agent,
        target,
        message,
        waitSec: optional(wait, wholeNumber),
        maxTurns: optional(maxTurns, wholeNumber),
        topic,
        conversationId: conversation,
      };

      return askJob(request, key, command);
    },
};

const cancel: CommandSpec = {
  name: "cancel",
  about: "cancel a job and all that it asked for",
  examples: ["dure jobs cancel job_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { cancelJob } = await import("../jobs.ts");
    const command = await clientCommand(context, options);
    return cancelJob(id, command);
  },
};

const retry: CommandSpec = {
  name: "retry",
  about: "go on with a job that failed or was given up, behind its finished turns",
  examples: ["dure jobs retry job_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { retryJob } = await import("../jobs.ts");
    const command = await clientCommand(context, options);
    return retryJob(id, command);
  },
};

const speak: CommandSpec = {
  name: "speak",
  about: "say something that the next turn hears, before what the agents say",
  examples: ['dure jobs speak job_01K… "Not on Friday." --as 민준'],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<id>").argument("<text>"),
  run:
    (context) =>
    async (id: string, text: string, { as, ...options }: AsPersonOptions) => {
      const { speakIntoJob } = await import("../jobs.ts");
      const command = await clientCommand(context, options);
      return speakIntoJob(id, text, { ...command, person: as });
    },
};

const purge: CommandSpec = {
  name: "purge",
  about: "remove finished jobs that are older",
  examples: ["dure jobs purge --older-than 7d"],
  worksOn: "server",
  declare: (command) => command.requiredOption("--older-than <duration>", "such as 7d"),
  run:
    (context) =>
    async ({ olderThan, ...options }: CommonOptions & { olderThan: string }) => {
      const { purgeJobs } = await import("../jobs.ts");
      const command = await clientCommand(context, options);
      return purgeJobs(olderThan, command);
    },
};

const audit: CommandSpec = {
  name: "audit",
  about: "jobs that someone should look at; exit code 1 when there are some",
  examples: ["dure jobs audit", "dure jobs audit --stuck 30m"],
  worksOn: "server",
  declare: (command) =>
    command.option("--stuck <duration>", "without progress for this long is stuck (default 10m)"),
  run:
    (context) =>
    async ({ stuck, ...options }: CommonOptions & { stuck?: string }) => {
      const { auditJobs } = await import("../jobs.ts");
      const command = await clientCommand(context, options);
      return auditJobs({ stuck }, command);
    },
};

export const JOBS: CommandGroup = {
  name: "jobs",
  about: "see exchanges between agents, watch and steer them",
  examples: [
    "dure jobs list --status RUNNING",
    "dure jobs watch job_01K…",
    'dure jobs ask ruda eden "When is the build done?"',
  ],
  commands: [list, show, watch, ask, cancel, retry, speak, purge, audit],
};
