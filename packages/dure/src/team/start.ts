import { fileURLToPath } from "node:url";
import { existsSync } from "node:fs";
import path from "node:path";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { messageOf, type DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { AuditLog } from "../durable/audit-log.ts";
import { BUDGET_RULES } from "../durable/budgets.ts";
import { Database, type DatabaseOptions, type DatabaseTarget } from "../durable/database.ts";
import { EmbeddedPostgres } from "../durable/embedded/embedded-postgres.ts";
import { EventLog } from "../durable/event-log.ts";
import { Leases } from "../durable/leases.ts";
import { migrate } from "../durable/migrate.ts";
import { Notifications } from "../durable/notify.ts";
import { Outbox } from "../durable/outbox.ts";
import { applicationName, ProcessLease } from "../durable/processes.ts";
import { DEFAULT_RULES, Retention, type RetentionRule } from "../durable/retention.ts";
import { journalRule, sessionRules } from "../durable/sessions.ts";
import { Takeover } from "../durable/takeover.ts";
import type { AnyService } from "../engine/combine.ts";
import type { MemoryOptions } from "../engine/memory.ts";
import { BudgetKeeper, type BudgetLimits } from "../engine/budgets.ts";
import { Engine, type EngineDefinitions } from "../engine/engine.ts";
import { assertEngineServices } from "../engine/service-directory.ts";
import { HookDelivery } from "../engine/hooks.ts";
import { Inbox } from "../escalations/inbox.ts";
import { Models } from "../models/models.ts";
import { assertBindable } from "../server/access.ts";
import type { AccessMode } from "../server/access-mode.ts";
import type { Doors } from "../server/doors.ts";
import { LocalToken } from "../server/local-token.ts";
import { PostgresLogins } from "../server/login-rows.ts";
import {
  combineTokenStores,
  MemoryTokenStore,
  PostgresTokenStore,
  SCOPES,
  type TokenStore,
} from "../server/token-store.ts";
import { ANNOUNCE_TOPIC } from "../jobs/announcement.ts";
import { jobAttemptRules } from "../jobs/endings.ts";
import { Jobs } from "../jobs/jobs.ts";
import type { JobLimits } from "../jobs/limits.ts";
import type { PlanLibrary } from "../plans/run/plan-library.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { agentTools, type AgentToolsParts } from "./agent-tools.ts";
import { agentServices } from "./agents.ts";
import { announcementHandler } from "./announcements.ts";
import { withTeamTools, type ServiceToolsParts } from "./team-tools.ts";
import type { LoadedTeam } from "./config.ts";
import { teamCosts } from "./costs.ts";
import { childEnvironment, type Environment } from "./environment.ts";
import {
  everyModelOf,
  modelOf,
  pricesOf,
  providersOf,
  serverLimitsOf,
  settingsOf,
  type Settings,
} from "./limits.ts";
import { openEscalationRouter } from "./escalations.ts";
import { openPlans } from "./plans.ts";
import { openWhenUp } from "./open-database.ts";
import { Reloader } from "./reload.ts";
import { directoryOf, openRooms } from "./rooms.ts";
import { SCHEMA } from "./schema.ts";
import { DURE_VERSION } from "./version.ts";

/** A team that runs in this process. */
export interface RunningTeam {
  readonly url: string;
  /** Who needs a token or a login at the start. */
  readonly access: AccessMode;
  /**
   * Logs a browser in as the user who runs the server, once, within 10 minutes. Absent where this
   * user needs no login, or has made tokens.
   */
  readonly loginLink: string | undefined;
  readonly processId: string;
  readonly engine: Engine;
  readonly inbox: Inbox;
  /** Absent: the team has no agents. */
  readonly rooms: Rooms | undefined;
  readonly jobs: Jobs | undefined;
  readonly plans: PlanLibrary;
  /** Answers without a socket, like `fetch`; a stream is answered when it has ended. */
  request(
    path: string,
    init?: { method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<Response>;
  /**
   * Resolves when another process has taken over: nothing is written any more, the server should
   * leave with exit code 75.
   */
  readonly fenced: Promise<DureError>;
  /** Accepts nothing more, lets turns finish, gives the rest to other processes. Idempotent. */
  stop(): Promise<void>;
}

export interface StartTeamOptions {
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts everything in order: database, right to work, durable core, engine, server; stops it in
 * reverse. Recovery of dead processes runs beside the start and does not delay it. @throws FENCED
 * when the right to work was lost meanwhile: a process that may not write is never ready.
 */
export async function startTeam(
  team: LoadedTeam,
  environment: Environment,
  options: StartTeamOptions,
): Promise<RunningTeam> {
  const fence: Fence = { fell: undefined, whenFallen: Promise.withResolvers() };
  try {
    return await startParts(team, environment, options, fence);
  } catch (error) {
    // The process that takes over also ends the sessions at the database: what failed by that says less than
    // why.
    throw fence.fell ?? error;
  }
}

/** Set when another process has taken over, or may have. */
interface Fence {
  fell: DureError | undefined;
  readonly whenFallen: PromiseWithResolvers<DureError>;
}

async function startParts(
  team: LoadedTeam,
  environment: Environment,
  options: StartTeamOptions,
  fence: Fence,
): Promise<RunningTeam> {
  const { logger, clock = systemClock, signal } = options;
  const settings = settingsOf(team.config, environment);
  await using starting = new AsyncDisposableStack();
  const defer = (what: string, stop: () => Promise<void>): void =>
    starting.defer(async () => {
      // One part that cannot stop must not keep the others from it.
      await stop().catch((error: unknown) =>
        logger.error({ part: what, error: messageOf(error) }, `${what} did not stop in good order`),
      );
    });

  const target = await openTarget(team, environment, settings, { logger, clock, signal, defer });
  const processId = newId("process", clock.now());
  const openOptions = {
    ...target,
    applicationName: applicationName(processId),
    logger,
    clock,
    max: settings.databaseConnections,
  };
  const { database, notifications } = await openWhenUp(() => openDatabase(openOptions), {
    waitMs: settings.databaseWaitMs,
    logger,
    clock,
    signal,
  });
  defer("the database", () => database.close());
  defer("notifications", () => notifications.stop());
  signal?.throwIfAborted();
  const auth = tokenStoreOf(environment, database, clock);
  await assertBindable(settings.host, auth); // here, before any work is taken up

  const onFenced = (error: DureError): void => {
    fence.fell = error;
    fence.whenFallen.resolve(error);
  };
  const lease = new ProcessLease({
    database,
    id: processId,
    appVersion: DURE_VERSION,
    release: SCHEMA.number,
    logger,
    clock,
    notifications,
    onFenced,
  });
  await lease.start();
  defer("the lease", () => lease.stop());

  const shared = { database, lease, logger, clock, notifications };
  const takeover = new Takeover(shared);
  const outbox = new Outbox(shared);
  const events = new EventLog(shared);
  const leases = new Leases(shared);
  const retention = new Retention({
    database,
    leases,
    logger,
    clock,
    rules: retentionRules(settings),
  });
  const inbox = new Inbox({ database, notifications, locale: settings.locale });
  const tools = Promise.withResolvers<AgentToolsParts>();
  tools.promise.catch(() => {});
  const define = (defined: LoadedTeam): Promise<EngineDefinitions> =>
    definitionsOf(defined, environment, {
      clock,
      logger,
      toolsOf: (agent) => agentTools(agent, () => tools.promise),
      told: async (turn) => (await tools.promise).jobs.notes(turn),
    });
  const definitions = await define(team);
  let { models } = definitions;
  const budgets = new BudgetKeeper({
    limits: budgetLimits(team),
    priceOf: (llm) => models.priceOf(llm),
    timeZone: settings.timeZone,
    database,
    notifications,
    clock,
    logger,
    processId,
    lease: lease.signal,
  });
  const engine = new Engine({
    ...definitions,
    database,
    notifications,
    budgets,
    clock,
    logger,
    processId,
    lease: lease.signal,
    proof: lease,
    attemptRules: jobAttemptRules(),
    locale: settings.locale,
    timeZone: settings.timeZone,
    devMode: settings.devMode,
    limits: {
      sessionQueue: settings.sessionQueue,
      messageBytes: settings.messageBytes,
      maxFillTurns: settings.maxFillTurns,
      confirmMs: settings.confirmMs,
    },
  });
  const hooks = new HookDelivery({ services: definitions.services, logger, lease: lease.signal });
  outbox.handle("hook", hooks.handler);
  await events.start();
  defer("the event log", () => events.stop());
  const directory = directoryOf(team.config, environment);
  const jobs =
    directory &&
    new Jobs({
      ...shared,
      events,
      conversations: engine,
      agents: { find: (id) => directory.find(id), all: () => directory.agents },
      limits: jobLimits(settings),
      allow: team.config.jobs?.allow,
    });
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
  defer("the engine", () => engine.stop({ graceMs: settings.drainMs }));
  await takeover.start();
  defer("takeover", () => takeover.stop());
  lease.signal.throwIfAborted();
  const router = openEscalationRouter(team, environment, {
    database,
    notifications,
    outbox,
    inbox,
    conversations: engine,
    directory,
    settings,
    clock,
    logger,
  });
  const rooms =
    directory &&
    jobs &&
    (await openRooms(team, environment, {
      ...shared,
      outbox,
      leases,
      conversations: engine,
      inbox,
      settings,
      directory,
      events,
      jobs,
    }));
  if (directory && rooms) {
    tools.resolve({ rooms: { database, collaboration: rooms.collaboration }, jobs, inbox });
    for (const rule of [...rooms.retentionRules(), jobs.retentionRule()]) retention.add(rule);
    outbox.handle(
      ANNOUNCE_TOPIC,
      announcementHandler({ conversations: engine, jobs, directory, locale: settings.locale }),
    );
    jobs.start();
    defer("jobs", () => jobs.stop());
    defer("rooms", () => rooms.stop());
    await rooms.start();
    lease.signal.throwIfAborted();
  }
  const listening: { at?: string } = {};
  const {
    library: planLibrary,
    runs,
    threads,
  } = openPlans(team, {
    ...shared,
    events,
    leases,
    inbox,
    budgets,
    remote: settings.plansRemote,
    planMs: settings.planMs,
    models: () => models,
    llm: modelOf(team.config, environment),
    home: path.resolve(team.folder, settings.home),
    env: childEnvironment({}),
    url: () => listening.at,
  });
  defer("the threads of plans", () => threads.stop());
  retention.add(runs.retentionRule());
  runs.start();
  defer("plans", () => runs.stop());
  router.start();
  defer("escalations", () => router.stop());
  outbox.start();
  defer("the outbox", () => outbox.stop());
  retention.start();
  defer("retention", () => retention.stop());

  const reloader = new Reloader({
    team,
    environment,
    directory,
    rooms,
    logger,
    define,
    apply: (others) => {
      engine.redefine(others);
      hooks.redefine(others.services);
      models = others.models;
    },
  });

  // Reading the server keeps the process busy: the turns of a dead one go on first.
  await takeover.settled({ withinMs: RECOVERY_FIRST_MS });
  const [{ createServer, startServer }, { teamMetrics }] = await Promise.all([
    loadServer(),
    loadMetrics(),
  ]);
  const localToken = new LocalToken({ home: path.resolve(team.folder, settings.home), clock });
  const app = createServer({
    conversations: engine,
    events,
    inbox,
    rooms,
    jobs,
    plans: planLibrary,
    health: async () => {
      const isReachable = await database.health();
      const isHeld = lease.state === "held";
      return {
        ready: isReachable && isHeld,
        checks: { database: { ok: isReachable }, lease: { ok: isHeld, detail: lease.state } },
      };
    },
    reload: () => reloader.reload(),
    costs: teamCosts({
      database,
      budgets: team.config.budgets,
      timeZone: settings.timeZone,
      agentName: (id) => directory?.nameOf(id) ?? id,
      serviceName: (name) =>
        directory?.find(name)?.displayName ??
        engine.describe().find((service) => service.name === name)?.title ??
        name,
    }),
    metrics: teamMetrics({ database, engine, events, lease, jobs, runs }),
    auth,
    access: {
      host: settings.host,
      loginAlways: settings.loginAlways,
      hasEnvironmentToken: environment.token !== undefined,
      logins: new PostgresLogins({ database }),
      localToken,
    },
    devMode: settings.devMode,
    dashboardFolder: dashboardFolder(),
    logger,
    clock,
    version: DURE_VERSION,
    locale: settings.locale,
    corsOrigins: settings.origins,
    allowedHosts: settings.allowedHosts,
    trustProxy: settings.trustProxy,
    limits: serverLimitsOf(settings),
    audit: new AuditLog({ database }),
  });
  defer("the server", () => app.close());
  lease.signal.throwIfAborted();
  const { url } = await startServer(app, { host: settings.host, port: settings.port });
  listening.at = url;
  lease.signal.throwIfAborted();
  const access = await app.doors.mode();
  if (access.mode === "credentials") await keepOwnWayIn(localToken, logger);
  const loginLink = asksItsOwnUser(access) ? await linkFor(app.doors, { url, logger }) : undefined;
  logger.info(
    {
      url,
      process: processId,
      access: `${access.mode}: ${access.because}`,
      services: definitions.services.map((service) => service.name),
    },
    `${team.config.name ?? "the team"} is ready at ${url}`,
  );

  const running = starting.move();
  let stopped: Promise<void> | undefined;
  return {
    url,
    access,
    loginLink,
    processId,
    engine,
    inbox,
    rooms,
    jobs,
    plans: planLibrary,
    request: async (target, { method = "GET", headers = {}, body } = {}) => {
      const payload = body === undefined ? {} : { payload: body };
      const answer = await app.inject({
        method: method as "GET",
        url: target,
        headers: { host: "localhost", ...headers },
        ...payload,
      });
      const fields = Object.entries(answer.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      return new Response(answer.rawPayload.length > 0 ? new Uint8Array(answer.rawPayload) : null, {
        status: answer.statusCode,
        headers: fields,
      });
    },
    fenced: fence.whenFallen.promise,
    stop: () => (stopped ??= running.disposeAsync()),
  };
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

/**
 * Longest wait for the recovery of dead processes before the server is loaded, milliseconds. The
 * rest goes on beside it.
 */
const RECOVERY_FIRST_MS = 500;

/** Open and migrated, with its notifications; nothing is left of an attempt that fails. */
async function openDatabase(
  options: DatabaseOptions,
): Promise<{ database: Database; notifications: Notifications }> {
  await using opening = new AsyncDisposableStack();
  const database = await Database.open(options);
  opening.defer(() => database.close());
  const notifications = new Notifications({
    database,
    logger: options.logger,
    clock: options.clock,
  });
  opening.defer(() => notifications.stop());
  await Promise.all([migrate(database, SCHEMA, { logger: options.logger }), notifications.start()]); // both mostly connect
  opening.move();
  return { database, notifications };
}

/**
 * Apart from `startTeam`: the compiler leaves the path of an import as it stands in a function that
 * holds an `await using`.
 */
const loadServer = () => import("../server/server.ts");
const loadMetrics = () => import("./metrics.ts");

async function openTarget(
  team: LoadedTeam,
  environment: Environment,
  settings: Settings,
  options: {
    logger: Logger;
    clock: Clock;
    signal: AbortSignal | undefined;
    defer: (what: string, stop: () => Promise<void>) => void;
  },
): Promise<DatabaseTarget> {
  if (environment.databaseUrl !== undefined) return { url: environment.databaseUrl };
  const { logger, clock, signal } = options;
  const embedded = await EmbeddedPostgres.start({
    home: path.resolve(team.folder, settings.home),
    logger,
    clock,
    idleMs: settings.databaseIdleMs,
    signal,
  });
  options.defer("embedded PostgreSQL", () => embedded.stop());
  return { connection: embedded.connection };
}

/**
 * What conversations of a team are made of, read and checked. Throws what its parts throw; nothing
 * is changed.
 */
async function definitionsOf(
  team: LoadedTeam,
  environment: Environment,
  parts: { clock: Clock; logger: Logger } & Pick<ServiceToolsParts, "toolsOf" | "told">,
): Promise<EngineDefinitions> {
  const { clock, logger, toolsOf, told } = parts;
  const settings = settingsOf(team.config, environment);
  const agents = Object.entries(team.config.agents ?? {});
  const behind = (service: string): readonly string[] =>
    agents.filter(([, agent]) => agent.service === service).map(([id]) => id);
  const given = Object.values(team.services).map((service) =>
    withTeamTools(service, { toolsOf, told, behind }),
  );
  const services = [...given, ...(await agentServices(team, toolsOf))].map((service) =>
    withSettings(service, settings, environment),
  );
  assertEngineServices(services);
  return {
    services,
    models: new Models({
      clock,
      logger,
      providers: providersOf(environment),
      prices: pricesOf(team.config),
      offline: team.config.offlineModels ?? [],
    }),
    defaultLlm: modelOf(team.config, environment),
    everyLlm: everyModelOf(environment),
  };
}

/**
 * The environment goes before what a service says itself; the team's configuration stands behind
 * it.
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

/** The command line at this machine needs the token of the data folder now. */
async function keepOwnWayIn(localToken: LocalToken, logger: Logger): Promise<void> {
  try {
    await localToken.ensure();
  } catch (error) {
    logger.warn(
      { home: localToken.home, error: messageOf(error) },
      "the token for the command line at this machine could not be written; DURE_TOKEN serves it as well",
    );
  }
}

/**
 * Without a data folder that can be written to, there is no such link; the server runs all the
 * same.
 */
async function linkFor(
  doors: Doors,
  { url, logger }: { url: string; logger: Logger },
): Promise<string | undefined> {
  try {
    return url + (await doors.makeLink({ proof: "none", caller: { tenant: "", name: "" } }));
  } catch (error) {
    logger.warn(
      { error: messageOf(error) },
      "no login link could be made; create a token to come in",
    );
    return undefined;
  }
}

/**
 * Whether the person who starts the server has no other way in than a login, and no token for it.
 * Pure.
 */
function asksItsOwnUser({ because }: AccessMode): boolean {
  return because === "login-always" || because === "peers-unknown";
}

/** DURE_TOKEN, and those in the database. */
function tokenStoreOf(environment: Environment, database: Database, clock: Clock): TokenStore {
  const stored = new PostgresTokenStore({ database, clock });
  if (environment.token === undefined) return stored;
  const given = new MemoryTokenStore({ clock });
  given.add(environment.token, { id: "token_environment", name: "DURE_TOKEN", scopes: SCOPES });
  return combineTokenStores([given, stored]);
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

function retentionRules(settings: Settings): readonly RetentionRule[] {
  return [
    ...DEFAULT_RULES.map((rule) =>
      rule.name === "events" ? { ...rule, keep: settings.keepEventsMs } : rule,
    ),
    journalRule(settings.keepTurnEventsMs),
    { name: "idempotency", table: "dure.idempotency", ageColumn: "at", keep: "24h" },
    { name: "model-calls", table: "dure.model_calls", ageColumn: "at", keep: "90d" },
    ...BUDGET_RULES,
    ...sessionRules({ sessions: settings.keepSessionsMs, turns: settings.keepTurnsMs }),
    {
      name: "escalations",
      table: "dure.escalations",
      ageColumn: "resolved_at",
      keep: "365d",
      where: "status <> 'open'",
    },
    { name: "logins", table: "dure.login_sessions", ageColumn: "expires_at", keep: "7d" },
    { name: "login-links", table: "dure.login_links", ageColumn: "expires_at", keep: "1h" },
    { name: "audit", table: "dure.audit", ageColumn: "at", keep: "365d" },
  ];
}

/** The built page beside this code: in the package `dashboard/`. */
function dashboardFolder(): string | undefined {
  const folder = fileURLToPath(new URL("../../dashboard", import.meta.url));
  return existsSync(path.join(folder, "index.html")) ? folder : undefined;
}
