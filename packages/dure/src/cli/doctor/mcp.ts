import type { LeafService } from "../../engine/service/combine.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { McpServers, ShownServer } from "../../mcp/mcp-servers.ts";
import { agentServices } from "../../team/agents.ts";
import type { LoadedTeam } from "../../team/config.ts";
import { childEnvironment } from "../../team/environment.ts";
import { specsOf, withMcp } from "../../team/mcp.ts";
import { DURE_VERSION } from "../../team/version.ts";
import { failed, type Finding } from "./finding.ts";

/** Longest wait for a server and its list of tools, milliseconds. */
const SERVER_WAIT = 15_000;

/**
 * Each MCP server is started or asked once, and what it offers is told; so is a card that names a
 * server which is not there, and a server that no card names.
 */
export async function checkMcp(team: LoadedTeam): Promise<Finding[]> {
  try {
    const leaves = await leavesOf(team);
    const servers = await openServers(team);
    for (const leaf of leaves) withMcp(leaf, servers);
    if (!servers) return [];
    const named = new Set(leaves.flatMap(namesIn));
    try {
      servers.start();
      await servers.tried({ withinMs: SERVER_WAIT });
      return servers.shown().map((server) => findingOf(server, named.has(server.name)));
    } finally {
      await servers.stop();
    }
  } catch (error) {
    return [failed("mcp", error)];
  }
}

/** Undefined where the team has none. */
async function openServers(team: LoadedTeam): Promise<McpServers | undefined> {
  const servers = specsOf(team.config);
  if (Object.keys(servers).length === 0) return undefined;
  const { McpServers: Servers } = await import("../../mcp/mcp-servers.ts");
  return new Servers({
    servers,
    folder: team.folder,
    environment: childEnvironment({}),
    clock: systemClock,
    logger: silentLogger,
    version: DURE_VERSION,
  });
}

async function leavesOf(team: LoadedTeam): Promise<readonly LeafService[]> {
  const services = [...Object.values(team.services), ...(await agentServices(team))];
  return services.flatMap((service) =>
    service.kind === "combined" ? [...service.services.values()] : [service],
  );
}

/** The servers that cards of a service's agents name. */
function namesIn(service: LeafService): readonly string[] {
  if (service.kind !== "service") return [];
  return Object.values(service.agents).flatMap(({ card }) =>
    (card.mcp ?? []).map((reference) => reference.split("/")[0]!),
  );
}

function findingOf({ name, state, tools }: ShownServer, isNamed: boolean): Finding {
  const about = { name: `mcp ${name}` };
  if (state.status === "unavailable") {
    const hint = `See mcp.${name} of the configuration; agents go without its tools until it is there.`;
    return { ...about, status: "fail", detail: state.because, hint };
  }
  if (state.status !== "ready") {
    const detail = `it gave no list of its tools within ${SERVER_WAIT / 1_000} s`;
    return { ...about, status: "fail", detail, hint: "Start its command by hand and see." };
  }
  const list = tools.map(({ name: tool, effect }) => `${tool} (${effect})`).join(", ");
  const detail = `MCP ${state.protocol}; ${tools.length} tools: ${list}`;
  if (isNamed) return { ...about, status: "ok", detail };
  const hint = `Let a card name it: mcp: ["${name}"].`;
  return { ...about, status: "warn", detail: `no agent has its tools. ${detail}`, hint };
}
