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
import type { Models } from "../models/models.ts";
import { answersHome, renderAnswersHome } from "../rooms/handover/answers-home.ts";
import type { Directory } from "../rooms/directory.ts";
import { agentTools, type AgentToolsParts } from "./agent-tools.ts";
import type { LoadedTeam } from "./config.ts";
import type { Core, Starting } from "./core.ts";
import { definitionsOf } from "./definitions.ts";
import type { Settings } from "./limits.ts";
import { startKnowledge } from "./knowledge.ts";
import { startMcp } from "./mcp.ts";
import { directoryOf } from "./rooms.ts";

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
    spanTexts: settings.spanTexts,
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
