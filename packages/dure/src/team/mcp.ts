import path from "node:path";
import type { ToolSet } from "../engine/agent/tool-set.ts";
import type { McpServersSettings } from "../engine/files/mcp-settings.ts";
import { ownLeavesOf, type AnyService } from "../engine/service/combine.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { McpServers } from "../mcp/mcp-servers.ts";
import type { McpServerSpec } from "../mcp/server-spec.ts";
import type { LoadedTeam } from "./config.ts";
import type { Starting } from "./core.ts";
import { eachAgent } from "./each-agent.ts";
import { childEnvironment } from "./environment.ts";
import { DURE_VERSION } from "./version.ts";

/**
 * A start waits so long for MCP servers, milliseconds: the first turn should have their tools. What
 * takes longer, such as `npx` that installs, comes when it is there.
 */
const START_WAIT_MS = 5_000;

/** The MCP servers of a team, and those of one service alone. */
export interface TeamMcp {
  readonly team: McpServers | undefined;
  /** By the name of the service. */
  readonly own: ReadonlyMap<string, McpServers>;
}

/** All of them, started. Where there is none, their client is not loaded. */
export async function startMcp(starting: Starting): Promise<TeamMcp> {
  const { clock, logger, defer, team, settings } = starting;
  const home = path.resolve(team.folder, settings.home);
  const opened = await openMcp(team, { clock, logger, home });
  const all = [...groupsOf(opened).values()];
  await Promise.all(
    all.map(async (servers) => {
      servers.start();
      defer("MCP servers", () => servers.stop());
      await servers.tried({ withinMs: START_WAIT_MS });
    }),
  );
  return opened;
}

interface OpenMcpOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** DURE_HOME, which keeps people's logins. */
  readonly home: string;
}

/** None is started. */
export async function openMcp(
  team: LoadedTeam,
  { clock, logger, home }: OpenMcpOptions,
): Promise<TeamMcp> {
  const own = ownServersOf(team);
  const ofTeam = team.config.mcp ?? {};
  if (own.length === 0 && Object.keys(ofTeam).length === 0) return NO_MCP;

  const { McpServers: Servers } = await import("../mcp/mcp-servers.ts");
  const { LoginStore } = await import("../mcp/login-store.ts");
  const logins = new LoginStore({ home, clock });
  const { folder } = team;
  const environment = childEnvironment({});
  const parts = { folder, environment, clock, logger, logins, version: DURE_VERSION };
  const open = (settings: McpServersSettings, prefix = ""): McpServers =>
    new Servers({ ...parts, servers: specsOf(settings), prefix });

  return {
    team: Object.keys(ofTeam).length > 0 ? open(ofTeam) : undefined,
    own: new Map(own.map(([name, settings]) => [name, open(settings, `${name}/`)])),
  };
}

/** Settings by service, of those that have servers of their own. */
function ownServersOf(team: LoadedTeam): readonly (readonly [string, McpServersSettings])[] {
  return ownLeavesOf(Object.values(team.services)).flatMap(({ name, mcp }) =>
    mcp && Object.keys(mcp).length > 0 ? [[name, mcp] as const] : [],
  );
}

/** Each server of the team, by the name that people read. */
export function mcpSpecsOf(team: LoadedTeam): ReadonlyMap<string, McpServerSpec> {
  const ofServices = ownServersOf(team).flatMap(([service, settings]) =>
    Object.entries(specsOf(settings)).map(([name, spec]) => [`${service}/${name}`, spec] as const),
  );
  return new Map([...Object.entries(specsOf(team.config.mcp ?? {})), ...ofServices]);
}

const NO_MCP: TeamMcp = { team: undefined, own: new Map() };

/** By what stands before the names of their servers where people read them; empty of the team's. */
export function groupsOf({ team, own }: TeamMcp): ReadonlyMap<string, McpServers> {
  const ofServices = [...own].map(([service, servers]) => [`${service}/`, servers] as const);
  return new Map(team ? [["", team] as const, ...ofServices] : ofServices);
}

/** The settings of each server, which were checked. */
function specsOf(settings: McpServersSettings): Readonly<Record<string, McpServerSpec>> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, { command, url, timeout, ...rest }]) => [
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
export function withMcp<Some extends AnyService>(service: Some, mcp: TeamMcp): Some {
  return eachAgent(service, (agent, { service: leaf, key }) => {
    const { mcp: names } = agent.card;
    if (!names || names.length === 0) return agent;
    const own = mcp.own.get(leaf);
    const toolSets = names.map((name) =>
      own?.has(name) ? own.setOf(name) : setOf(name, mcp.team, `${leaf}/${key}`),
    );
    return { ...agent, toolSets };
  });
}

function setOf(name: string, mcp: McpServers | undefined, agent: string): ToolSet {
  if (mcp) return mcp.setOf(name);
  throw new DureError(
    "MCP_SERVER_UNKNOWN",
    `The agent ${agent} names the MCP server "${name}", and the team has none.`,
    {
      class: "input",
      hint:
        "Name it in the configuration, or in its service: mcp: { files: { command: … } } or " +
        "{ docs: { url: … } }.",
    },
  );
}
