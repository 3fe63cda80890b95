import type { CommandGroup, CommandSpec, CommonOptions, AsPersonOptions } from "./command.ts";
import { clientCommand, personCommand } from "./command-input.ts";

export const PAUSE: CommandSpec = {
  name: "pause",
  about: "let an agent begin no new model call; what is asked of it waits",
  examples: ["dure pause eden", "dure pause eden --as 민준"],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<agent>"),
  run: (context) => async (agent: string, options: AsPersonOptions) => {
    const { pauseAgent } = await import("../brake.ts");
    return pauseAgent(agent, true, await personCommand(context, options));
  },
};

export const RESUME: CommandSpec = {
  name: "resume",
  about: "let a paused agent go on with what waits for it",
  examples: ["dure resume eden"],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<agent>"),
  run: (context) => async (agent: string, options: AsPersonOptions) => {
    const { pauseAgent } = await import("../brake.ts");
    return pauseAgent(agent, false, await personCommand(context, options));
  },
};

const room: CommandSpec = {
  name: "room",
  about: "end what runs in a room and its threads: answers, requests, jobs",
  examples: ["dure stop room web:general"],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: AsPersonOptions) => {
    const { stopPlace } = await import("../brake.ts");
    return stopPlace("room", id, await personCommand(context, options));
  },
};

const thread: CommandSpec = {
  name: "thread",
  about: "end what runs in a thread: answers, requests, jobs",
  examples: ["dure stop thread thread_01K…"],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: AsPersonOptions) => {
    const { stopPlace } = await import("../brake.ts");
    return stopPlace("thread", id, await personCommand(context, options));
  },
};

const job: CommandSpec = {
  name: "job",
  about: "cancel a job and all that it asked for, as dure jobs cancel does",
  examples: ["dure stop job job_01K…"],
  worksOn: "server",
  declare: (command) => command.argument("<id>"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { cancelJob } = await import("../jobs.ts");
    return cancelJob(id, await clientCommand(context, options));
  },
};

export const STOP: CommandGroup = {
  name: "stop",
  about: "end what runs in a room, a thread or a job",
  examples: ["dure stop room web:general", "dure stop job job_01K…"],
  commands: [room, thread, job],
};
