import type { Agent } from "../engine/agent/agent.ts";
import type { AnyService, LeafService } from "../engine/service/combine.ts";
import type { TeamToolName } from "../engine/agent/team-tools.ts";
import type { AnyTool, ToolContext } from "../engine/agent/tool.ts";
import { speakerOfSession } from "../jobs/job.ts";
import { DureError } from "../kernel/errors.ts";
import { placeOfSession } from "../rooms/place.ts";
import type { ToolsOfAgent } from "./agents.ts";

export interface ServiceToolsParts {
  readonly toolsOf: ToolsOfAgent;
  /** Ids of the team's agents that answer through a service, in the order of the configuration. */
  readonly behind: (service: string) => readonly string[];
  /** What the agents of a service are told before a person's message: see `Tool.told`. */
  readonly told: NonNullable<AnyTool["told"]>;
}

/**
 * The service, with the team's own tools where its agents name them. Throws `TEAM_TOOL_UNBOUND`
 * when no agent of the team answers through it.
 */
export function withTeamTools(service: AnyService, parts: ServiceToolsParts): AnyService {
  if (service.kind !== "combined") return bindLeaf(service, parts.behind(service.name), parts);
  const behind = parts.behind(service.name);

  return {
    ...service,
    services: new Map(
      [...service.services].map(([name, leaf]) => [
        name,
        bindLeaf(leaf, [...new Set([...behind, ...parts.behind(name)])], parts),
      ]),
    ),
  };
}

function bindLeaf(
  service: LeafService,
  behind: readonly string[],
  parts: ServiceToolsParts,
): LeafService {
  if (
    service.kind !== "service" ||
    !Object.values(service.agents).some((agent) =>
      Object.values(agent.tools).some(({ ofTeam }) => ofTeam !== undefined),
    )
  ) {
    return service;
  }

  const agents = Object.entries(service.agents).map(([key, agent]): [string, Agent] => {
    const tools = Object.entries(agent.tools).map(([name, tool]): [string, AnyTool] => [
      name,
      tool.ofTeam === undefined
        ? tool
        : bound(
            tool.ofTeam,
            `Service "${service.name}": agents.${key} names the tool ${tool.ofTeam}`,
          ),
    ]);
    return [key, { ...agent, tools: Object.fromEntries(tools) }];
  });

  return { ...service, agents: Object.fromEntries(agents) };

  function bound(name: TeamToolName, where: string): AnyTool {
    const [first] = behind;
    const tool = first === undefined ? undefined : parts.toolsOf(first)[name];

    if (!tool) {
      throw new DureError(
        "TEAM_TOOL_UNBOUND",
        `${where}, but no agent of the team answers through this service.`,
        {
          class: "input",
          hint: `Give the team an agent with it: agents: { <id>: { service: "${service.name}" } }.`,
        },
      );
    }

    const asSpeaker: AnyTool = {
      ...tool,
      execute: (input: unknown, context: ToolContext, options) => {
        const tools = parts.toolsOf(speakerIn(context.session, behind, name));
        return tools[name]!.execute(input, context, options);
      },
    };

    return name === "ask_agent" ? { ...asSpeaker, told: parts.told } : asSpeaker;
  }
}

/**
 * Who of those that answer through the service speaks in this session: the one that the session
 * names, else the only one there is.
 */
function speakerIn(session: string, behind: readonly string[], tool: string): string {
  const named = placeOfSession(session)?.agent ?? speakerOfSession(session, behind);
  if (named !== undefined && behind.includes(named)) return named;
  if (behind.length === 1) return behind[0]!;

  throw new DureError(
    "AGENT_UNCLEAR",
    `${tool}: ${behind.join(" and ")} answer through this service, and the session does ` +
      "not say which of them speaks.",
    {
      class: "input",
      hint:
        "Let one agent of the team answer through the service, or use the tool in rooms and " +
        "exchanges, where the agent is known.",
    },
  );
}
