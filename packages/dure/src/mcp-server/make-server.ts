import {
  McpServer,
  type CallToolResult,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server";
import { cutBytes } from "../kernel/cut-bytes.ts";
import { onlyDefined } from "../kernel/json.ts";
import { toWire } from "../kernel/wire.ts";
import { asDureError } from "../server/problem.ts";
import { offerResources } from "./team-resources.ts";
import { asTaskResult, serveTasks, takesTasks } from "./team-tasks.ts";
import type { TeamCall, TeamConnection, TeamTool, ToolGroup } from "./team-tool.ts";
import { TEAM_TOOLS } from "./team-tools.ts";

/** Bytes of one answer. A model reads it whole. */
const MAX_ANSWER = 65_536;

/** What a server offers beside the things of the team. */
export interface McpExtension {
  readonly offer: (server: McpServer) => void;
  /** Of what a client was given to bring back. */
  readonly requestState: NonNullable<ServerOptions["requestState"]>;
}

export interface McpServerOptions {
  /** Of dure. */
  readonly version: string;
  readonly groups: readonly ToolGroup[];
  /** A connection to the team, for one call. */
  readonly connect: () => Promise<TeamConnection>;
  /** It is told when a thing of the team changes. Default: it is not. */
  readonly subscribes?: boolean;
  readonly extension?: McpExtension | undefined;
}

/** A team's MCP server for one connection. */
export function makeMcpServer(options: McpServerOptions): McpServer {
  const { version, groups, connect, subscribes = false, extension } = options;
  const { requestState } = extension ?? {};
  const server = new McpServer(
    { name: "dure", title: "dure", version },
    {
      capabilities: { tools: { listChanged: false } },
      ...onlyDefined({ requestState }),
      instructions:
        "A team of AI agents that keeps what it was told: ask an agent, hand work over in the " +
        "background, let pairs of agents build a plan, and look at what waits for a person.",
    },
  );
  for (const tool of TEAM_TOOLS.filter(({ group }) => groups.includes(group))) {
    offer(server, tool, connect);
  }
  if (groups.includes("jobs") || groups.includes("plans")) {
    serveTasks(server, { groups, connect, resultOf: answerOf });
  }
  offerResources(server, { groups, connect, subscribes, mostBytes: MAX_ANSWER });
  extension?.offer(server);

  return server;
}

function offer(server: McpServer, tool: TeamTool, connect: McpServerOptions["connect"]): void {
  const { name, description, inputSchema, readsOnly, run, begin } = tool;
  const annotations = { readOnlyHint: readsOnly, destructiveHint: false, openWorldHint: false };
  server.registerTool(name, { description, inputSchema, annotations }, async (input, context) => {
    const { mcpReq } = context;
    try {
      const { client, rooms } = await connect();
      const call = { client, rooms, signal: mcpReq.signal, tell: teller(mcpReq) };
      if (begin && takesTasks(context)) return asTaskResult(await begin(input, call));

      return answerOf(await run(input, call));
    } catch (error) {
      return refusalOf(error);
    }
  });
}

/** Reports to a client that gave a token for it; each report counts one more. */
function teller({ _meta, notify }: ServerContext["mcpReq"]): TeamCall["tell"] {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;

  let progress = 0;
  return (message) => {
    progress += 1;
    const params = { progressToken, progress, message };
    // A client that has left hears nothing.
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

function answerOf(value: unknown): CallToolResult {
  const text = cutBytes(JSON.stringify(toWire(value)), MAX_ANSWER);
  return { content: [{ type: "text", text }] };
}

/** Code, message and hint, as every other client of dure is told. */
function refusalOf(error: unknown): CallToolResult {
  const { code, message, hint } = asDureError(error);
  const text = [`${code}: ${message}`, hint].filter(Boolean).join("\n");
  return { isError: true, content: [{ type: "text", text }] };
}
