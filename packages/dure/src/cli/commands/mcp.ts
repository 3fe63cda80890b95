import { DEFAULT_GROUPS, readGroups, TOOL_GROUPS } from "../../mcp-server/team-tool.ts";
import { folderCommand, personCommand } from "./command-input.ts";
import type { CommandSpec, CommonOptions, AsPersonOptions } from "./command.ts";

const LOGIN: CommandSpec = {
  name: "login",
  about: "log in at an MCP server whose tools the agents have",
  examples: ["dure mcp login tickets", "dure mcp login helpdesk/tickets"],
  worksOn: "folder",
  declare: (command) => command.argument("<server>", "its name under mcp, as dure doctor has it"),
  run: (context) => async (server: string, options: CommonOptions) => {
    const { loginAtServer } = await import("../mcp-login.ts");
    return loginAtServer(server, await folderCommand(context, options));
  },
};

const LOGOUT: CommandSpec = {
  name: "logout",
  about: "end the login at an MCP server, here and there",
  examples: ["dure mcp logout tickets"],
  worksOn: "folder",
  declare: (command) => command.argument("<server>", "its name under mcp, as dure doctor has it"),
  run: (context) => async (server: string, options: CommonOptions) => {
    const { logoutAtServer } = await import("../mcp-login.ts");
    return logoutAtServer(server, await folderCommand(context, options));
  },
};

const DOCUMENT: CommandSpec = {
  name: "document",
  about: "print the document that names dure as a client, to be put at an https address",
  examples: ["dure mcp document https://example.com/dure-client.json"],
  worksOn: "folder",
  declare: (command) => command.argument("<address>", "where it will stand"),
  run: (context) => async (address: string, options: CommonOptions) => {
    const { printClientDocument } = await import("../mcp-login.ts");
    return printClientDocument(address, await folderCommand(context, options));
  },
};

/** Serves the team to an MCP client, such as Claude Code. */
export const MCP: CommandSpec = {
  name: "mcp",
  about: "serve the team over standard input and output to an MCP client",
  examples: [
    "claude mcp add team -- npx dure mcp --dir ~/my-team",
    "dure mcp --tools agents,decisions",
  ],
  worksOn: "server-as-person",
  commands: [LOGIN, LOGOUT, DOCUMENT],
  declare: (command) =>
    command.option(
      "--tools <groups>",
      `what it may do: ${TOOL_GROUPS.join(", ")} (default ${DEFAULT_GROUPS.join(",")})`,
    ),
  run:
    (context) =>
    async ({ tools, ...options }: AsPersonOptions & { readonly tools?: string }) => {
      const groups = tools === undefined ? DEFAULT_GROUPS : readGroups(tools, "--tools");
      const { serveMcp } = await import("../mcp.ts");
      const connect = async () => {
        // Anew for each call: the team may have been started again at another port.
        const { client, person } = await personCommand(context, options);

        return { client, rooms: client.rooms(person) };
      };

      return serveMcp({ groups, connect }, context.output.streams);
    },
};
