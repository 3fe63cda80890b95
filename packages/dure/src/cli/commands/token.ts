import type { CommandGroup, CommandSpec, CommonOptions } from "./command.ts";
import { folderCommand } from "./command-input.ts";
import { partsOfList } from "./values.ts";

const create: CommandSpec = {
  name: "create",
  about: "make a token; it is shown once",
  examples: [
    "dure token create dashboard --scopes chat",
    "dure token create mina --scopes chat,rooms --tenant acme",
    "dure token create kim --roles treasury",
  ],
  worksOn: "folder",
  declare: (command) =>
    command
      .argument("<name>", "for people: whose token it is")
      .option(
        "--scopes <list>",
        "chat, rooms, jobs, plans (or plans:read, plans:run, plans:merge), plans:confirm, admin, with commas between",
        partsOfList,
        ["chat"],
      )
      .option("--roles <list>", "calls of tools that ask for this role it may approve", partsOfList)
      .option("--tenant <tenant>", "owner of what is created with it"),
  run:
    (context) =>
    async (
      name: string,
      given: CommonOptions & { scopes: string[]; roles?: string[]; tenant?: string },
    ) => {
      const { scopes, roles = [], tenant, ...options } = given;
      const { createToken } = await import("../tokens.ts");
      const command = await folderCommand(context, options);
      return createToken({ name, scopes, roles, tenant }, command);
    },
};

const list: CommandSpec = {
  name: "list",
  about: "list tokens; never their text",
  examples: ["dure token list"],
  worksOn: "folder",
  run: (context) => async (options: CommonOptions) => {
    const { listTokens } = await import("../tokens.ts");
    const command = await folderCommand(context, options);
    return listTokens(command);
  },
};

const revoke: CommandSpec = {
  name: "revoke",
  about: "end a token",
  examples: ["dure token revoke token_01K…"],
  worksOn: "folder",
  declare: (command) => command.argument("<id>", "from dure token list"),
  run: (context) => async (id: string, options: CommonOptions) => {
    const { revokeToken } = await import("../tokens.ts");
    const command = await folderCommand(context, options);
    return revokeToken(id, command);
  },
};

const sessions: CommandSpec = {
  name: "sessions",
  about: "list the browsers that are logged in, or end one",
  examples: ["dure token sessions", "dure token sessions --end login_01K…"],
  worksOn: "folder",
  declare: (command) => command.option("--end <id>", "end this login"),
  run:
    (context) =>
    async ({ end, ...options }: CommonOptions & { end?: string }) => {
      const { endSession, listSessions } = await import("../tokens.ts");
      const command = await folderCommand(context, options);
      return end === undefined ? listSessions(command) : endSession(end, command);
    },
};

export const TOKEN: CommandGroup = {
  name: "token",
  about: "create, list and revoke tokens",
  examples: ["dure token create dashboard --scopes chat"],
  commands: [create, list, revoke, sessions],
};
