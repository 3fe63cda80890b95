import type { CommandGroup, CommandSpec, PageOptions, AsPersonOptions } from "./command.ts";
import { personCommand } from "./command-input.ts";
import { optional, wholeNumber } from "./values.ts";

const list: CommandSpec = {
  name: "list",
  about: "channels, direct rooms and threads, with their state",
  examples: ["dure rooms list", "dure rooms list --limit 200 --json"],
  worksOn: "server-as-person",
  declare: (command) =>
    command
      .option("--limit <number>", "at most so many, 1 to 200 (default 50)")
      .option("--cursor <cursor>", "go on behind an earlier list"),
  run:
    (context) =>
    async ({ limit, cursor, ...options }: AsPersonOptions & PageOptions) => {
      const { listRooms } = await import("../rooms.ts");
      const command = await personCommand(context, options);
      return listRooms({ limit: optional(limit, wholeNumber), cursor }, command);
    },
};

const post: CommandSpec = {
  name: "post",
  about: "say something in a room or thread",
  examples: ['dure rooms post web:general "@루다 이것 확인해줘" --as 민준'],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<place>").argument("<text>"),
  run: (context) => async (place: string, text: string, options: AsPersonOptions) => {
    const { postMessage } = await import("../rooms.ts");
    const command = await personCommand(context, options);
    return postMessage(place, text, command);
  },
};

const resume: CommandSpec = {
  name: "resume",
  about: "let agents speak again where a guard has stopped them",
  examples: ["dure rooms resume thread_01K…"],
  worksOn: "server-as-person",
  declare: (command) => command.argument("<place>"),
  run: (context) => async (place: string, options: AsPersonOptions) => {
    const { resumePlace } = await import("../rooms.ts");
    const command = await personCommand(context, options);
    return resumePlace(place, command);
  },
};

export const ROOMS: CommandGroup = {
  name: "rooms",
  about: "see rooms and threads, speak in them, lift what a guard has stopped",
  examples: ["dure rooms list", "dure rooms resume thread_01K…"],
  commands: [list, post, resume],
};
