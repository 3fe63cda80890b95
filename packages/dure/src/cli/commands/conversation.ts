import { ulid } from "../../kernel/ids.ts";
import { connect, serverOf } from "../connect.ts";
import { EXIT } from "../output.ts";
import type { CommandSpec, CommonOptions } from "./command.ts";

export const CHAT: CommandSpec = {
  name: "chat",
  about: "talk to a service",
  examples: [
    "dure chat",
    'dure chat --service faq "How do I reset my password?"',
    'dure chat --json --session mina "안녕하세요"',
  ],
  worksOn: "server",
  declare: (command) =>
    command
      .argument(
        "[message]",
        "send this, print the answer, leave; without it messages are read line by line",
      )
      .option("-s, --service <name>", "the service (default: the session's, else the team's first)")
      .option("--session <id>", "continue a session (default: a new one)"),
  run:
    ({ output }) =>
    async (
      message: string | undefined,
      options: CommonOptions & { service?: string; session?: string },
    ) => {
      const { assertSession, chatLoop, chatOnce } = await import("../chat.ts");
      const session = assertSession(options.session ?? `cli-${ulid()}`);
      const client = await connect(options);
      const chat = { client, output, session, service: options.service };

      return message === undefined ? chatLoop(chat) : chatOnce(message, chat);
    },
};

export const LOGIN: CommandSpec = {
  name: "login",
  about: "print a link that opens the page logged in, once, within 10 minutes",
  examples: ["dure login", "dure login --json"],
  worksOn: "server",
  run:
    ({ output }) =>
    async (options: CommonOptions) => {
      const { baseUrl } = await serverOf(options);
      const client = await connect(options);
      const url = baseUrl + (await client.loginLink());
      output.line(url);
      output.result({ url });

      return EXIT.ok;
    },
};

export const RELOAD: CommandSpec = {
  name: "reload",
  about: "let the running server read configuration, agents, personas and services anew",
  examples: ["dure reload", "dure reload --json"],
  worksOn: "server",
  run:
    ({ output }) =>
    async (options: CommonOptions) => {
      const { reload } = await import("../reload.ts");
      return reload({ client: await connect(options), output });
    },
};
