import path from "node:path";
import type { AnyService, LeafService } from "../engine/service/combine.ts";
import type { EngineDefinitions } from "../engine/engine.ts";
import type { MemoryOptions } from "../engine/agent/memory.ts";
import { assertEngineServices } from "../engine/service/service-directory.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { Models } from "../models/models.ts";
import { readPromptOverrides } from "../models/prompt-files.ts";
import { agentServices, type ToolsOfAgent } from "./agents.ts";
import { withApprovals } from "./approvals.ts";
import type { LoadedTeam } from "./config.ts";
import type { Environment } from "./environment.ts";
import {
  everyModelOf,
  modelOf,
  pricesOf,
  providersOf,
  settingsOf,
  type Settings,
} from "./limits.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import { withKnowledge } from "./knowledge.ts";
import { withMcp, type TeamMcp } from "./mcp.ts";
import { offlineModelsOf } from "./offline-models.ts";
import { withSkills } from "./skills.ts";
import type { Agent } from "../engine/agent/agent.ts";
import type { TeamToolName } from "../engine/agent/team-tools.ts";
import type { AnyTool, ToolContext } from "../engine/agent/tool.ts";
import { speakerOfSession } from "../jobs/job.ts";
import { DureError } from "../kernel/errors.ts";
import { placeOfSession } from "../rooms/place.ts";

/**
 * What conversations of a team are made of, read and checked. Throws what its
 * parts throw; nothing is changed.
 */
export async function definitionsOf(
  team: LoadedTeam,
  environment: Environment,
  parts: {
    clock: Clock;
    logger: Logger;
    mcp: TeamMcp;
    knowledge: Knowledge;
  } & Pick<ServiceToolsParts, "toolsOf" | "told">,
): Promise<EngineDefinitions> {
  const { clock, logger, mcp, knowledge, toolsOf, told } = parts;
  const settings = settingsOf(team.config, environment);
  const agents = Object.entries(team.config.agents ?? {});
  const behind = (service: string): readonly string[] =>
    agents.filter(([, agent]) => agent.service === service).map(([id]) => id);
  const given = Object.values(team.services).map((service) =>
    withTeamTools(service, { toolsOf, told, behind }),
  );
  const services = [...given, ...(await agentServices(team, toolsOf))].map((service) =>
    withSettings(
      withSkills(withKnowledge(withMcp(withApprovals(service), mcp), knowledge), team.skills),
      settings,
      environment,
    ),
  );
  assertEngineServices(services);

  return {
    services,
    models: new Models({
      clock,
      logger,
      providers: providersOf(environment),
      prices: pricesOf(team.config),
      offline: offlineModelsOf(team.config),
    }),
    defaultLlm: modelOf(team.config, environment),
    everyLlm: everyModelOf(environment),
    prompts: readPromptOverrides(path.join(team.folder, "prompts")),
  };
}

/**
 * The environment goes before what a service says itself; the team's
 * configuration stands behind it.
 */
function withSettings<Some extends AnyService>(
  service: Some,
  settings: Settings,
  environment: Environment,
): Some {
  if (service.kind === "combined") {
    const services = new Map(
      [...service.services].map(([name, leaf]) => [
        name,
        withSettings(leaf, settings, environment),
      ]),
    );
    return { ...service, services, sessions: { busy: settings.busy, ...service.sessions } };
  }

  const own: MemoryOptions = service.memory ?? {};
  const { memorySummaryModel } = environment;
  const summaryModel = memorySummaryModel ?? own.summaryModel ?? settings.summaryModel;
  const summaryPrompt = own.summaryPrompt ?? settings.summaryPrompt;

  const memory: MemoryOptions = {
    summarizeThreshold:
      environment.memorySummarizeThreshold ?? own.summarizeThreshold ?? settings.summarizeThreshold,
    keepRecentTurns:
      environment.memoryKeepRecentTurns ?? own.keepRecentTurns ?? settings.keepRecentTurns,
    maxRawTurns: environment.memoryMaxRawTurns ?? own.maxRawTurns ?? settings.maxRawTurns,
    enableSummary: environment.memoryEnableSummary ?? own.enableSummary ?? settings.enableSummary,
    summaryModel,
    summaryPrompt,
  };

  return { ...service, memory, sessions: { busy: settings.busy, ...service.sessions } };
}

// --- team tools

interface ServiceToolsParts {
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
function withTeamTools(service: AnyService, parts: ServiceToolsParts): AnyService {
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
