import path from "node:path";
import type { AnyService } from "../engine/service/combine.ts";
import type { EngineDefinitions } from "../engine/engine.ts";
import type { MemoryOptions } from "../engine/agent/memory.ts";
import { assertEngineServices } from "../engine/service/service-directory.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { Models } from "../models/models.ts";
import { readPromptOverrides } from "../models/prompt-files.ts";
import { agentServices } from "./agents.ts";
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
import { withTeamTools, type ServiceToolsParts } from "./team-tools.ts";

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
