import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";
import { clientCommand } from "./command-input.ts";

const list: CommandSpec = {
  name: "list",
  about: "what begins at a time: its rule, its next moment, the last outcome",
  examples: ["dure schedules list"],
  worksOn: "server",
  run: (context) => async (options: CommonOptions) => {
    const { listSchedules } = await import("../schedules.ts");
    return listSchedules(await clientCommand(context, options));
  },
};

const run: CommandSpec = {
  name: "run",
  about: "do it now, also while it is paused",
  examples: ["dure schedules run standup"],
  worksOn: "server",
  declare: (command) =>
    command.argument("<name>").option("--key <key>", "the same key is the same run"),
  run:
    (context) =>
    async (name: string, { key, ...options }: CommonOptions & { key?: string }) => {
      const { runSchedule } = await import("../schedules.ts");
      return runSchedule(name, key, await clientCommand(context, options));
    },
};

const pause: CommandSpec = {
  name: "pause",
  about: "let its moments pass",
  examples: ["dure schedules pause standup"],
  worksOn: "server",
  declare: (command) => command.argument("<name>"),
  run: (context) => async (name: string, options: CommonOptions) => {
    const { pauseSchedule } = await import("../schedules.ts");
    return pauseSchedule(name, await clientCommand(context, options));
  },
};

const resume: CommandSpec = {
  name: "resume",
  about: "let its next moment count",
  examples: ["dure schedules resume standup"],
  worksOn: "server",
  declare: (command) => command.argument("<name>"),
  run: (context) => async (name: string, options: CommonOptions) => {
    const { resumeSchedule } = await import("../schedules.ts");
    return resumeSchedule(name, await clientCommand(context, options));
  },
};

export const SCHEDULES: CommandGroup = {
  name: "schedules",
  about: "see what begins at a time, run it by hand, pause it",
  examples: ["dure schedules list", "dure schedules run standup"],
  commands: [list, run, pause, resume],
};
