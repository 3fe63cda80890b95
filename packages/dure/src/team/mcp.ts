import type { Agent } from "../engine/agent/agent.ts";
import type { ToolSet } from "../engine/agent/tool-set.ts";
import type { AnyService, LeafService } from "../engine/service/combine.ts";
import { DureError } from "../kernel/errors.ts";
import type { McpServers } from "../mcp/mcp-servers.ts";
import type { McpServerSpec } from "../mcp/server-spec.ts";
import type { TeamConfig } from "./config.ts";
import type { Starting } from "./core.ts";
import { childEnvironment } from "./environment.ts";
import { DURE_VERSION } from "./version.ts";

/**
 * A start waits so long for MCP servers, milliseconds: the first turn should have their tools. What
 * takes longer, such as `npx` that installs, comes when it is there.
 */
const START_WAIT_MS = 5_000;

/** The MCP servers of a team, started; undefined where it has none: their client is not loaded. */
export async function startMcp({
  team,
  clock,
  logger,
  defer,
}: Starting): Promise<McpServers | undefined> {
  const servers = specsOf(team.config);
  if (Object.keys(servers).length === 0) return undefined;
  const { McpServers: Servers } = await import("../mcp/mcp-servers.ts");
  const environment = childEnvironment({});
  const { folder } = team;
  const mcp = new Servers({ servers, folder, environment, clock, logger, version: DURE_VERSION });
  mcp.start();
  defer("MCP servers", () => mcp.stop());
  await mcp.tried({ withinMs: START_WAIT_MS });
  return mcp;
}

/** The settings of each server, which the configuration has checked. */
export function specsOf({ mcp }: TeamConfig): Readonly<Record<string, McpServerSpec>> {
  return Object.fromEntries(
    Object.entries(mcp ?? {}).map(([name, { command, url, timeout, ...rest }]) => [
      name,
      command === undefined
        ? { ...rest, url: url!, timeoutMs: timeout }
        : { ...rest, command, timeoutMs: timeout },
    ]),
  );
}

/**
 * The service, with the tools of MCP servers where cards of its agents name them. Throws
 * `MCP_SERVER_UNKNOWN`.
 */
export function withMcp<Some extends AnyService>(service: Some, mcp: McpServers | undefined): Some {
  if (service.kind === "combined") {
    const services = new Map(
      [...service.services].map(([name, leaf]) => [name, leafWithMcp(leaf, mcp)]),
    );
    return { ...service, services };
  }
  return leafWithMcp(service, mcp) as Some;
}

function leafWithMcp(service: LeafService, mcp: McpServers | undefined): LeafService {
  if (service.kind !== "service") return service;
  const agents = Object.entries(service.agents).map(([key, agent]): [string, Agent] => {
    const { mcp: names } = agent.card;
    if (!names || names.length === 0) return [key, agent];
    const toolSets = names.map((name) => setOf(name, mcp, `${service.name}/${key}`));
    return [key, { ...agent, toolSets }];
  });
  return { ...service, agents: Object.fromEntries(agents) };
}

function setOf(name: string, mcp: McpServers | undefined, agent: string): ToolSet {
  if (mcp) return mcp.setOf(name);
  throw new DureError(
    "MCP_SERVER_UNKNOWN",
    `The agent ${agent} names the MCP server "${name}", and the team has none.`,
    {
      class: "input",
      hint: "Name it in the configuration: mcp: { files: { command: … } } or { docs: { url: … } }.",
    },
  );
}
