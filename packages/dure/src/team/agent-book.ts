import { open } from "node:fs/promises";
import path from "node:path";
import type { Agent } from "../engine/agent/agent.ts";
import { chooseLlm } from "../engine/agent/agent-model.ts";
import type { ToolSet } from "../engine/agent/tool-set.ts";
import type { EngineDefinitions } from "../engine/engine.ts";
import type { McpToolSet } from "../mcp/mcp-servers.ts";
import { modelName } from "../models/card.ts";
import { jsonSchemaOf } from "../models/json-schema.ts";
import { type Dialect, dialectOf } from "../models/model-object.ts";
import { toolsFor } from "../models/tool-schema.ts";
import type { AgentBook, AgentFileText, AgentMaking } from "../server/agent-routes.ts";

/** Files that say who an agent is: those of its folder, then the one of the whole team. */
const OWN_FILES = ["agent.md", "SOUL.md", "agent.yaml", "AGENTS.md", "MEMORY.md"] as const;
const TEAM_FILE = "AGENTS.md";
/** Bytes of one file that are shown. */
const MOST_BYTES = 64 * 1024;
const NEXT_OF_REFUSED =
  "Name fewer tools in `mcp` of its card, or give it a model of another provider.";

/** How the agents of a team are made, as it is now. Source: docs/spec/platform §5. */
export function agentBook({
  folder,
  definitions,
}: {
  readonly folder: string;
  /** Those of now: a reload changes them. */
  readonly definitions: () => EngineDefinitions;
}): AgentBook {
  return {
    making: (agent) => makingOf(agent, definitions()),
    files: (agent) => filesOf(agent, folder),
  };
}

/** Models and tools of an agent; of one that answers through a service, those of its agents. Pure. */
function makingOf(
  { service }: { readonly service: string },
  { services, defaultLlm, everyLlm }: EngineDefinitions,
): AgentMaking {
  const found = services.find(({ name }) => name === service);
  const leaves =
    found === undefined ? [] : found.kind === "combined" ? [...found.services.values()] : [found];
  const agents = leaves.flatMap((leaf) =>
    leaf.kind === "service" ? Object.values(leaf.agents) : [],
  );
  const models = agents.flatMap(({ card }) => {
    const { fallbacks, ...first } = chooseLlm(card.llm, defaultLlm, everyLlm);
    return [first, ...fallbacks].map(modelName);
  });
  const tools = agents.flatMap(toolsOf);
  const skills = agents.flatMap((agent) => agent.skills ?? []);
  const leftOut = agents.flatMap((agent) => [
    ...leftOutOf(agent),
    ...refusedOf(agent, dialectOf(chooseLlm(agent.card.llm, defaultLlm, everyLlm))),
  ]);

  return {
    models: [...new Set(models)],
    tools: [...new Map(tools.map((tool) => [tool.name, tool])).values()],
    skills: [...new Map(skills.map((skill) => [skill.name, skill])).values()],
    leftOut: [...new Map(leftOut.map((one) => [`${one.mcp} ${one.name}`, one])).values()],
  };
}

function toolsOf(agent: Agent): AgentMaking["tools"] {
  const own = Object.entries(agent.tools).map(([name, { description, effect }]) => ({
    name,
    description,
    effect,
    mcp: null,
  }));
  const ofServers = (agent.toolSets ?? []).flatMap((set) =>
    Object.entries(set.tools()).map(([name, { description, effect }]) => ({
      name,
      description,
      effect,
      mcp: set.name,
    })),
  );

  return [...own, ...ofServers];
}

/** Tools of MCP servers that the agent's card names and it does not get. */
function leftOutOf({ toolSets = [] }: Agent): AgentMaking["leftOut"] {
  return toolSets
    .filter(isOfMcp)
    .flatMap((set) =>
      set.leftOut().map(({ name, because, next }) => ({ name, mcp: set.name, because, next })),
    );
}

/** Tools that the provider of its model would refuse. */
function refusedOf(agent: Agent, provider: Dialect): AgentMaking["leftOut"] {
  const sets = (agent.toolSets ?? []).flatMap((set) =>
    Object.entries(set.tools()).map(([name, tool]) => ({ name, tool, mcp: set.name })),
  );
  const own = Object.entries(agent.tools).map(([name, tool]) => ({ name, tool, mcp: null }));
  const all = new Map([...sets, ...own].map((one) => [one.name, one]));
  const specs = [...all.values()].map(({ name, tool }) => ({
    name,
    inputSchema: jsonSchemaOf(tool.inputSchema),
  }));

  // Of more tools than its card allows the provider sees few at once: then each counts alone.
  const isSearched = specs.length > agent.card.policy.maxTools;
  const requests = isSearched ? specs.map((one) => [one]) : [specs];

  return requests
    .flatMap((tools) => toolsFor(provider, tools).leftOut)
    .map(({ name, because }) => ({
      name,
      mcp: all.get(name)?.mcp ?? null,
      because,
      next: NEXT_OF_REFUSED,
    }));
}

function isOfMcp(set: ToolSet): set is McpToolSet {
  return "leftOut" in set;
}

async function filesOf(
  { id }: { readonly id: string },
  folder: string,
): Promise<readonly AgentFileText[]> {
  const names = [...OWN_FILES.map((name) => `agents/${id}/${name}`), TEAM_FILE];
  const files = await Promise.all(names.map((name) => readStart(folder, name)));

  return files.filter((file) => file !== undefined);
}

/** Undefined: there is none, or none that can be read. */
async function readStart(folder: string, name: string): Promise<AgentFileText | undefined> {
  try {
    await using file = await open(path.join(folder, name));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES + 1), 0, MOST_BYTES + 1);
    const text = buffer.subarray(0, Math.min(bytesRead, MOST_BYTES)).toString("utf8");

    return { path: name, text, cut: bytesRead > MOST_BYTES };
  } catch {
    return undefined;
  }
}
