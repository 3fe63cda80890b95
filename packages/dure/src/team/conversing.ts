import { BudgetKeeper, type BudgetLimits } from "../engine/money/budgets.ts";
import { takeChangedInput } from "../engine/effects/changed-input.ts";
import { Engine, type EngineDefinitions } from "../engine/engine.ts";
import { HookDelivery } from "../engine/effects/hooks.ts";
import { MODEL_AWAY } from "../engine/outage-reports.ts";
import { isBackground } from "../engine/turn/paused.ts";
import { jobAttemptRules } from "../jobs/endings.ts";
import { Jobs } from "../jobs/jobs.ts";
import type { Knowledge } from "../knowledge/knowledge.ts";
import type { JobLimits } from "../jobs/limits.ts";
import { Models } from "../models/models.ts";
import { answersHome, renderAnswersHome } from "../rooms/answers-home.ts";
import type { Directory } from "../rooms/directory.ts";
import type { LoadedTeam } from "./config.ts";
import type { Core, Starting } from "./core.ts";
import {
  type Settings,
  everyModelOf,
  modelOf,
  pricesOf,
  providersOf,
  settingsOf,
} from "./limits.ts";
import { startKnowledge, withKnowledge } from "./knowledge.ts";
import { startMcp, withMcp, type TeamMcp } from "./mcp.ts";
import { directoryOf } from "./rooms.ts";
import path from "node:path";
import type { AnyService } from "../engine/service/combine.ts";
import type { MemoryOptions } from "../engine/agent/memory.ts";
import { assertEngineServices } from "../engine/service/service-directory.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { readPromptOverrides } from "../models/prompt-files.ts";
import { agentServices } from "./agents.ts";
import { withApprovals } from "./approvals.ts";
import type { Environment } from "./environment.ts";
import { offlineModelsOf } from "./offline-models.ts";
import { withSkills } from "./skills.ts";
import { withTeamTools, type ServiceToolsParts } from "./team-tools.ts";
import { AuditLog } from "../durable/audit-log.ts";
import { z } from "zod";
import { tool, type AnyTool } from "../engine/agent/tool.ts";
import { askAgentTool } from "../jobs/ask-agent-tool.ts";
import { endConversationTool, finishTool } from "../jobs/exchange-tools.ts";
import { jobOfSession } from "../jobs/job.ts";
import type { Inbox } from "../escalations/inbox.ts";
import { collaborateTool, presenceTools, type RoomToolsParts } from "../rooms/tools.ts";
import { resolveEscalationTool } from "./escalations.ts";

/** Engine and jobs of a team. */
export interface Conversing {
  readonly engine: Engine;
  readonly budgets: BudgetKeeper;
  readonly directory: Directory | undefined;
  /** They are not started yet. */
  readonly jobs: Jobs | undefined;
  readonly services: EngineDefinitions["services"];
  readonly knowledge: Knowledge;
  /** Services and models of now. */
  readonly definitions: () => EngineDefinitions;
  /** The models of now. */
  readonly models: () => Models;
  /** Gives agents the tools that need rooms. */
  readonly giveTools: (parts: AgentToolsParts) => void;
  readonly define: (team: LoadedTeam) => Promise<EngineDefinitions>;
  /** Others from now on. */
  readonly redefine: (definitions: EngineDefinitions) => void;
}

/** Turns begin to run, and those of dead processes go on. */
export async function startConversing(starting: Starting, core: Core): Promise<Conversing> {
  const { team, environment, clock, logger, defer } = starting;
  const { lease, outbox, events } = core;
  const tools = Promise.withResolvers<AgentToolsParts>();
  tools.promise.catch(() => {});

  const mcp = await startMcp(starting);
  const knowledge = startKnowledge(starting, core);

  const define = (defined: LoadedTeam): Promise<EngineDefinitions> =>
    definitionsOf(defined, environment, {
      clock,
      logger,
      mcp,
      knowledge,
      toolsOf: (agent) => agentTools(agent, () => tools.promise),
      told: async (turn) => (await tools.promise).jobs.notes(turn),
    });

  const definitions = await define(team);
  let current = definitions;
  const budgets = budgetsOf(starting, core, () => current.models);
  const directory = directoryOf(team.config, environment);
  const nameOf = (agent: string): string => directory?.nameOf(agent) ?? agent;
  const engine = engineOf(starting, core, { definitions, budgets, nameOf });
  const { locale } = starting.settings;
  const { services } = definitions;
  const hooks = new HookDelivery({ services, logger, lease: lease.signal, locale });
  outbox.handle("hook", hooks.handler);
  await events.start();
  defer("the event log", () => events.stop());
  await core.pauses.start();
  defer("pauses", () => core.pauses.stop());
  onModelRetry(core, engine);
  takeChangedInput(core.inbox, engine);
  const jobs = directory && jobsOf(starting, core, { engine, directory });
  await begin(starting, core, { jobs, engine, budgets });

  return {
    engine,
    budgets,
    directory,
    jobs,
    services: definitions.services,
    knowledge,
    definitions: () => current,
    models: () => current.models,
    giveTools: tools.resolve,
    define,
    redefine: (others) => {
      engine.redefine(others);
      hooks.redefine(others.services);
      current = others;
    },
  };
}

/** A person has answered the escalation about a model that is away. */
function onModelRetry({ inbox }: Core, engine: Engine): void {
  inbox.onResolved({ type: "blocked" }, async (_tx, { context, resolution }) => {
    if (context["about"] !== MODEL_AWAY || resolution?.value !== "retry") return undefined;
    return () => engine.retryModels();
  });
}

async function begin(
  { settings, defer }: Starting,
  { lease, takeover }: Core,
  { jobs, engine, budgets }: Pick<Conversing, "jobs" | "engine" | "budgets">,
): Promise<void> {
  // Before the turns: those of jobs wait for the permit of their job.
  if (jobs) takeover.onDead("jobs", (dead) => jobs.recoverDead(dead));
  takeover.onDead("turns", async (dead) => {
    await engine.store.release(dead.id);
    await engine.pickUp();
  });

  takeover.onDead("budgets", (dead) => budgets.releaseBlocks(dead.id));

  budgets.start();
  defer("budgets", () => budgets.stop());
  engine.start();
  const turns = (): string => `${engine.running} turns`;
  defer("the engine", () => engine.stop({ graceMs: settings.drainMs }), turns);
  await takeover.start();
  defer("takeover", () => takeover.stop());
  lease.signal.throwIfAborted();
}

function budgetsOf({ team, settings }: Starting, core: Core, models: () => Models): BudgetKeeper {
  const { database, notifications, clock, logger, lease } = core;
  return new BudgetKeeper({
    limits: budgetLimits(team),
    priceOf: (llm) => models().priceOf(llm),
    timeZone: settings.timeZone,
    database,
    notifications,
    clock,
    logger,
    processId: lease.id,
    lease: lease.signal,
  });
}

function engineOf(
  { settings }: Starting,
  { database, notifications, clock, logger, lease, pauses, files }: Core,
  {
    definitions,
    budgets,
    nameOf,
  }: {
    definitions: EngineDefinitions;
    budgets: BudgetKeeper;
    nameOf: (agent: string) => string;
  },
): Engine {
  return new Engine({
    ...definitions,
    database,
    files,
    notifications,
    budgets,
    pauses,
    clock,
    logger,
    processId: lease.id,
    lease: lease.signal,
    proof: lease,
    attemptRules: jobAttemptRules(),
    patienceMs: (session) =>
      isBackground(session) ? settings.patienceMs : settings.chatPatienceMs,
    told: async (session) => renderAnswersHome(await answersHome(database, session), nameOf),
    locale: settings.locale,
    timeZone: settings.timeZone,
    devMode: settings.devMode,
    limits: {
      sessionQueue: settings.sessionQueue,
      messageBytes: settings.messageBytes,
      maxFillTurns: settings.maxFillTurns,
      confirmMs: settings.confirmMs,
      repeatMs: settings.repeatMs,
    },
  });
}

function jobsOf(
  { team, settings }: Starting,
  { database, notifications, lease, clock, logger, events, pauses, files }: Core,
  { engine, directory }: { engine: Engine; directory: Directory },
): Jobs {
  return new Jobs({
    database,
    notifications,
    lease,
    clock,
    logger,
    events,
    conversations: engine,
    pauses,
    files,
    agents: { find: (id) => directory.find(id), all: () => directory.agents },
    limits: jobLimits(settings),
    allow: team.config.jobs?.allow,
  });
}

function jobLimits({
  jobPermits,
  jobTurns,
  keepJobsMs,
  jobTreeTokens,
}: Settings): Partial<JobLimits> {
  return {
    permits: jobPermits,
    collaborationTurns: jobTurns,
    keepMs: keepJobsMs,
    treeTokens: jobTreeTokens,
  };
}

function budgetLimits({ config }: LoadedTeam): BudgetLimits {
  const { turn, session, agent, team } = config.budgets ?? {};
  return {
    turn,
    session,
    agent: agent?.day ? { day: agent.day } : undefined,
    day: team?.day ? team.day : undefined,
  };
}

// --- definitions

/**
 * What conversations of a team are made of, read and checked. Throws what its
 * parts throw; nothing is changed.
 */
async function definitionsOf(
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

// --- agent tools

/** What the tools of agents work with; open when the team has started. */
interface AgentToolsParts {
  readonly rooms: RoomToolsParts;
  readonly jobs: Jobs;
  readonly inbox: Inbox;
}

/**
 * Tools that every agent of a team gets. They are values that services hold from the start; a call
 * waits for `parts`.
 */
export function agentTools(
  agent: string,
  parts: () => Promise<AgentToolsParts>,
): Readonly<Record<string, AnyTool>> {
  const rooms = async (): Promise<RoomToolsParts> => (await parts()).rooms;
  const jobs = {
    ask: async (...given: Parameters<Jobs["ask"]>) => (await parts()).jobs.ask(...given),
    files: {
      read: async (...given: Parameters<Jobs["files"]["read"]>) =>
        (await parts()).jobs.files.read(...given),
    },
    endExchange: async (...given: Parameters<Jobs["endExchange"]>) =>
      (await parts()).jobs.endExchange(...given),
  };

  const presence = presenceTools(rooms);

  return {
    collaborate: collaborateTool(agent, rooms),
    ask_agent: askAgentTool(jobs, { requester: agent }),
    resolve_escalation: resolveEscalationTool(agent, async () => {
      const {
        inbox,
        rooms: { database },
      } = await parts();
      return { inbox, database };
    }),
    cancel_job: cancelJobTool(agent, parts),
    ...presence,
    finish: finishTool(jobs),
    end_conversation: inExchangesOr(endConversationTool(jobs), presence["end_conversation"]!),
  };
}

/** One name for one wish: in an exchange it ends that, in a room the agent's part there. */
function inExchangesOr(inExchange: AnyTool, inRoom: AnyTool): AnyTool {
  return {
    ...inRoom,
    inputSchema: inExchange.inputSchema,
    offered: (turn) => (inExchange.offered?.(turn) ?? false) || (inRoom.offered?.(turn) ?? false),
    execute: (input, context, options) =>
      (jobOfSession(context.session) === undefined ? inRoom : inExchange).execute(
        input,
        context,
        options,
      ),
  };
}

function cancelJobTool(agent: string, parts: () => Promise<AgentToolsParts>): AnyTool {
  return tool({
    description: "Cancels background work that you have asked for with ask_agent, by its job id.",
    inputSchema: z.object({ jobId: z.string().min(1).max(100) }),
    effect: "idempotent",
    execute: async ({ jobId }, { session }) => {
      const {
        jobs,
        rooms: { database },
      } = await parts();

      const { tenant, status } = await jobs.cancelAsked(jobId, { requester: agent, session });

      await new AuditLog({ database }).note({
        tenant,
        name: `agent:${agent}`,
        what: "job.cancel",
        subject: jobId,
      });

      return { jobId, status };
    },
  });
}
