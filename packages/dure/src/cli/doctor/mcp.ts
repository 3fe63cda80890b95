import { ownLeavesOf } from "../../engine/service/combine.ts";
import type { Service } from "../../engine/service/service.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { nextStepOf } from "../../mcp/choose-tools.ts";
import type { McpServers, ShownServer } from "../../mcp/mcp-servers.ts";
import { agentServices } from "../../team/agents.ts";
import type { LoadedTeam } from "../../team/config.ts";
import { groupsOf, openMcp, withMcp } from "../../team/mcp.ts";
import { failed, type Finding } from "./finding.ts";

/** Longest wait for a server and its list of tools, milliseconds. */
const SERVER_WAIT = 15_000;

/**
 * Each MCP server is started or asked once, and what it offers is told; so is a card that names a
 * server which is not there, and a server that no card names.
 */
export async function checkMcp(team: LoadedTeam, home: string): Promise<Finding[]> {
  try {
    const leaves = ownLeavesOf([...Object.values(team.services), ...(await agentServices(team))]);
    const mcp = await openMcp(team, { clock: systemClock, logger: silentLogger, home });
    for (const leaf of leaves) withMcp(leaf, mcp);
    const found = await Promise.all(
      [...groupsOf(mcp)].map(([prefix, servers]) => findingsOf(prefix, servers, leaves)),
    );
    return found.flat();
  } catch (error) {
    return [failed("mcp", error)];
  }
}

/** @param prefix the service that has them alone, or nothing */
async function findingsOf(
  prefix: string,
  servers: McpServers,
  leaves: readonly Service[],
): Promise<readonly Finding[]> {
  const users = leaves.filter(({ name }) => prefix === "" || prefix === `${name}/`);
  const named = new Set(users.flatMap(namesIn));
  try {
    servers.start();
    await servers.tried({ withinMs: SERVER_WAIT });
    return servers.shown().flatMap((server) => {
      const shown = { ...server, name: `${prefix}${server.name}` };
      return [findingOf(shown, named.has(server.name)), ...leftOutFindings(shown)];
    });
  } finally {
    await servers.stop();
  }
}

/** The servers that cards of a service's agents name. */
function namesIn(service: Service): readonly string[] {
  return Object.values(service.agents).flatMap(({ card }) =>
    (card.mcp ?? []).map((reference) => reference.split("/")[0]!),
  );
}

function findingOf({ name, state, tools }: ShownServer, isNamed: boolean): Finding {
  const about = { name: `mcp ${name}` };
  if (state.status === "unavailable") {
    if (state.code === "MCP_NOT_LOGGED_IN") {
      return { ...about, status: "fail", detail: "not logged in", hint: state.because };
    }
    if (state.code === "MCP_SCOPE_MISSING") {
      return { ...about, status: "fail", detail: "logged in for too little", hint: state.because };
    }
    const hint = `See ${settingOf(name)}; agents go without its tools until it is there.`;
    return { ...about, status: "fail", detail: state.because, hint };
  }
  if (state.status !== "ready") {
    const detail = `it gave no list of its tools within ${SERVER_WAIT / 1_000} s`;
    return { ...about, status: "fail", detail, hint: "Start its command by hand and see." };
  }
  const list = tools.map(({ name: tool, effect }) => `${tool} (${effect})`).join(", ");
  const detail = `MCP ${state.protocol}; ${tools.length} tools: ${list}`;
  if (isNamed) return { ...about, status: "ok", detail };
  const hint = `Let a card name it: mcp: ["${name.split("/").at(-1)}"].`;
  return { ...about, status: "warn", detail: `no agent has its tools. ${detail}`, hint };
}

/** A line for each tool that agents do not get. */
function leftOutFindings({
  name: server,
  leftOut,
}: Pick<ShownServer, "name" | "leftOut">): readonly Finding[] {
  return leftOut.map((one) => ({
    name: `mcp ${server}`,
    status: "warn",
    detail:
      one.count === undefined
        ? `${one.name} is not offered: ${one.because}`
        : `not offered: ${one.name}; ${one.because}`,
    hint: nextStepOf(server, one),
  }));
}

function settingOf(name: string): string {
  const [service, own] = name.split("/");
  return own === undefined
    ? `mcp.${name} of the configuration`
    : `mcp.${own} of the service ${service}`;
}
