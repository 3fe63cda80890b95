import { DEFAULT_GROUPS, readGroups, TOOL_GROUPS } from "../../mcp-server/team-tool.ts";
import { personCommand } from "./command-input.ts";
import type { CommandSpec, PersonOptions } from "./command.ts";

/** Serves the team to an MCP client, such as Claude Code. */
export const MCP: CommandSpec = {
  name: "mcp",
  about: "serve the team over standard input and output to an MCP client",
  examples: [
    "claude mcp add team -- npx dure mcp --dir ~/my-team",
    "dure mcp --tools agents,decisions",
  ],
  worksOn: "server-as-person",
  declare: (command) =>
    command.option(
      "--tools <groups>",
      `what it may do: ${TOOL_GROUPS.join(", ")} (default ${DEFAULT_GROUPS.join(",")})`,
    ),
  run:
    (context) =>
    async ({ tools, ...options }: PersonOptions & { readonly tools?: string }) => {
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
