/** What the server of a team serves, put together and started. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { a2aRoutes } from "../a2a/a2a-routes.ts";
import { agUiRoutes } from "../ag-ui/ag-ui-routes.ts";
import type { SignCard } from "../a2a/card-signature.ts";
import { PUSH_TOPIC, Pushes } from "../a2a/pushes.ts";
import type { Alerts } from "../alerts/alerts.ts";
import { notificationRoutes } from "../alerts/notification-routes.ts";
import { aiSdkRoutes } from "../ai-sdk/ai-sdk-routes.ts";
import { AuditLog } from "../durable/audit-log.ts";
import { messageOf } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import { knowledgeRoutes } from "../knowledge/knowledge-routes.ts";
import { mcpRoutes } from "../mcp-server/mcp-routes.ts";
import { openAiRoutes } from "../openai/openai-routes.ts";
import type { PlanLibrary } from "../plans/runs/plan-library.ts";
import type { Runs } from "../plans/runs/runs.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { AccessMode } from "../server/access-mode.ts";
import type { Doors } from "../server/doors.ts";
import { LocalToken } from "../server/local-token.ts";
import { PostgresLogins } from "../server/login-rows.ts";
import {
  removeRunningServer,
  writeRunningServer,
  type RunningServer,
} from "../server/running-server.ts";
import type { Health, ServerOptions } from "../server/server.ts";
import { firingHandler } from "../schedules/firing.ts";
import { scheduleRoutes } from "../schedules/schedule-routes.ts";
import { SCHEDULE_TOPIC } from "../schedules/schedule.ts";
import { warnOfMissingRoles } from "./missing-roles.ts";
import { Schedules } from "../schedules/schedules.ts";
import { webhookRoutes } from "../webhooks/webhook-routes.ts";
import type { LoadedTeam } from "./config.ts";
import { hostOf } from "../durable/host-id.ts";
import { agentBook } from "./agent-book.ts";
import { AgentEdits } from "./agent-edits.ts";
import type { Conversing } from "./conversing.ts";
import type { Core, Starting } from "./core.ts";
import { teamCosts } from "./costs.ts";
import { traceBook } from "./trace-book.ts";
import { hasProvider, serverLimitsOf, type Settings } from "./limits.ts";
import { Reloader } from "./reload.ts";
import { incomingHooks } from "./hooks.ts";
import { plansOfSchedules, schedulesOf } from "./schedules.ts";
import { DURE_VERSION } from "./version.ts";

/** What is served. */
interface Served extends Core, Conversing {
  readonly rooms: Rooms | undefined;
  readonly alerts: Alerts | undefined;
  readonly library: PlanLibrary;
  readonly runs: Runs;
  /** Called as soon as it listens. */
  readonly onListening: (url: string) => void;
  /** Whether it has a port. */
  readonly listen: boolean;
}

/** Answers requests from now on. */
export interface Serving {
  /** Absent: it has no port. */
  readonly url: string | undefined;
  readonly access: AccessMode;
  /** See `RunningTeam`. */
  readonly loginLink: string | undefined;
  readonly request: (
    path: string,
    init?: { method?: string; headers?: Record<string, string>; body?: string },
  ) => Promise<Response>;
  readonly fetch: (request: Request) => Promise<Response>;
}

interface ServingParts {
  readonly localToken: LocalToken;
  readonly schedules: Schedules;
  readonly signCard: SignCard | undefined;
  readonly reloader: Reloader;
  readonly edits: AgentEdits | undefined;
}

/** Apart: the server and its metrics are read while turns go on. */
export async function startServing(starting: Starting, served: Served): Promise<Serving> {
  const { team, settings, clock, logger, defer } = starting;
  const { lease } = served;

  const [{ createServer }, { teamMetrics }] = await Promise.all([
    import("../server/server.ts"),
    import("./metrics.ts"),
  ]);

  const localToken = new LocalToken({ home: path.resolve(team.folder, settings.home), clock });

  const schedules = openSchedules(starting, served);
  const signCard = await readCardKey(starting);
  const reloader = reloaderOf(starting, served);
  const edits = await startEdits(starting, served, reloader);

  const app = createServer({
    ...optionsOf(starting, served, { localToken, schedules, signCard, reloader, edits }),
    metrics: teamMetrics(served),
  });

  await warnOfMissingRoles(served.definitions().services, served.auth, logger);
  const requests = (): string => "requests and streams that are open";
  defer("the server", () => app.close(), requests);
  lease.signal.throwIfAborted();
  const url = served.listen ? await listen(app, starting, served) : await withoutPort(app);
  lease.signal.throwIfAborted();
  const access = await app.doors.mode();
  if (access.mode === "credentials") await keepOwnWayIn(localToken, logger);
  await startSchedules(app, schedules, { starting, served });
  startPushes(starting, served);
  const loginLink =
    url !== undefined && asksItsOwnUser(access)
      ? await linkFor(app.doors, { url, logger })
      : undefined;

  const fetch = (request: Request): Promise<Response> => app.web.fetch(request);
  return { url, access, loginLink, request: requestOf(app), fetch };
}

function reloaderOf({ team, environment, logger }: Starting, served: Served): Reloader {
  return new Reloader({
    team,
    environment,
    directory: served.directory,
    rooms: served.rooms,
    logger,
    define: served.define,
    apply: served.redefine,
  });
}

/** Undefined: the team has no agents. */
async function startEdits(
  { team, settings, clock, logger, defer }: Starting,
  { database, notifications, lease, directory }: Served,
  reloader: Reloader,
): Promise<AgentEdits | undefined> {
  if (!directory) return undefined;
  const host = await hostOf(path.resolve(team.folder, settings.home), clock);
  const edits = new AgentEdits({
    ...{ folder: team.folder, host, database, notifications },
    ...{ reloader, clock, logger, signal: lease.signal },
  });
  edits.start();
  defer("changed agents", () => edits.stop());

  return edits;
}

function openSchedules({ team, settings }: Starting, served: Served): Schedules {
  const schedules = schedulesOf(team.config, settings.timeZone);
  return new Schedules({ ...served, schedules });
}

/** Throws `A2A_KEY_INVALID`, also where the file cannot be read. */
async function readCardKey({ team, environment }: Starting): Promise<SignCard | undefined> {
  const file = environment.a2aKeyFile;
  if (file === undefined) return undefined;
  const { cardSigner } = await import("../a2a/card-signature.ts");

  return cardSigner(await readFile(path.resolve(team.folder, file), "utf8").catch(() => ""));
}

/** Clients of A2A are told of their tasks. */
function startPushes({ team, environment, defer }: Starting, served: Served): void {
  const { outbox, engine: conversations } = served;
  const secret = environment.webhookSecret;
  const allowed = new Set(team.config.a2a?.pushTo);
  const pushes = new Pushes({ ...served, conversations, secret, allowed });
  outbox.handle(PUSH_TOPIC, pushes.handler());
  pushes.start();

  defer("push notifications", async () => {
    outbox.unhandle(PUSH_TOPIC);
    await pushes.stop();
  });
}

/** The moments that are due are done through the server: it is there before them. */
async function startSchedules(
  app: FastifyInstance,
  schedules: Schedules,
  { starting, served }: { starting: Starting; served: Served },
): Promise<void> {
  const { team, settings, logger, defer, clock } = starting;
  const { outbox, retention } = served;
  retention.add(schedules.retentionRule());
  await schedules.start();
  outbox.handle(SCHEDULE_TOPIC, firingHandler({ web: app.web, clock }));

  defer("schedules", async () => {
    outbox.unhandle(SCHEDULE_TOPIC);
    await schedules.stop();
  });

  const plans = plansOfSchedules(schedulesOf(team.config, settings.timeZone));
  if (plans.length === 0) return;
  const found = (await served.library.list()).flatMap(({ name, file }) => [name, file]);
  for (const plan of plans) {
    if (!found.includes(plan)) logger.warn({ plan }, `schedules begin the unknown plan ${plan}`);
  }
}

async function listen(app: FastifyInstance, starting: Starting, served: Served): Promise<string> {
  const { startServer } = await import("../server/server.ts");
  const { host, port } = starting.settings;
  const { url } = await startServer(app, { host, port });
  served.onListening(url);
  served.lease.signal.throwIfAborted();
  await tellCommands(starting, { url, processId: served.lease.id });

  return url;
}

async function withoutPort(app: FastifyInstance): Promise<undefined> {
  await app.ready();
}

/** The commands of this folder find the server by it; without them, the server runs all the same. */
async function tellCommands(
  { team, settings, defer, logger }: Starting,
  server: RunningServer,
): Promise<void> {
  const home = path.resolve(team.folder, settings.home);
  try {
    await writeRunningServer(home, server);
    defer("the server's address", () => removeRunningServer(home, server.processId));
  } catch (error) {
    logger.warn(
      { home, error: messageOf(error) },
      "the server's address could not be written; commands need --url",
    );
  }
}

function optionsOf(
  { team, environment, settings, clock, logger }: Starting,
  served: Served,
  { localToken, schedules, signCard, reloader, edits }: ServingParts,
): Omit<ServerOptions, "metrics"> {
  const { database, engine, events, files, inbox, rooms, jobs, library, auth } = served;

  return {
    conversations: engine,
    replays: engine.replays,
    events,
    files,
    inbox,
    rooms,
    jobs,
    plans: library,
    health: () => healthOf(served, reloader.mistake),
    reload: () => reloader.reload(),
    agents: agentBook({ folder: team.folder, definitions: served.definitions }),
    agentEdits: edits,
    traces: traceBook(database),
    costs: costsOf(team, settings, served),
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
    processId: served.lease.id,
    locale: settings.locale,
    model: hasProvider(team.config, environment) ? "provider" : "offline",
    corsOrigins: settings.origins,
    allowedHosts: settings.allowedHosts,
    trustProxy: settings.trustProxy,
    limits: serverLimitsOf(settings),
    audit: new AuditLog({ database }),
    protocols: protocolsOf({
      knowledge: served.knowledge,
      database,
      pushTo: team.config.a2a?.pushTo,
      signCard,
      hooks: incomingHooks(team.config, logger),
      schedules,
      alerts: served.alerts,
    }),
  };
}

/** What the protocols of others need of a team. */
interface ProtocolParts {
  readonly knowledge: Parameters<typeof knowledgeRoutes>[0];
  readonly database: Core["database"];
  /** Receivers of A2A within the network. */
  readonly pushTo?: readonly string[] | undefined;
  readonly signCard: SignCard | undefined;
  readonly hooks: Parameters<typeof webhookRoutes>[0];
  readonly schedules: Parameters<typeof scheduleRoutes>[0];
  readonly alerts?: Alerts | undefined;
}

/** The routes of every protocol of others. */
export function protocolsOf(parts: ProtocolParts): NonNullable<ServerOptions["protocols"]> {
  const { knowledge, database, pushTo, signCard, hooks, schedules, alerts } = parts;
  return [
    mcpRoutes,
    openAiRoutes(database),
    aiSdkRoutes,
    agUiRoutes,
    knowledgeRoutes(knowledge),
    a2aRoutes({ database, pushTo: new Set(pushTo), signCard }),
    webhookRoutes(hooks),
    scheduleRoutes(schedules),
    notificationRoutes(alerts),
  ];
}

/** A mistake in saved files leaves the team as it was: it is told, and the team is ready. */
async function healthOf({ database, lease }: Core, mistake: string | undefined): Promise<Health> {
  const health = await database.health();
  const isWritable = health === "ok";
  const isHeld = lease.state === "held";

  return {
    ready: isWritable && isHeld,
    checks: {
      database: { ok: isWritable, detail: health },
      lease: { ok: isHeld, detail: lease.state },
      ...onlyDefined({ files: mistake === undefined ? undefined : { ok: false, detail: mistake } }),
    },
  };
}

function costsOf(
  team: LoadedTeam,
  settings: Settings,
  { database, directory, engine }: Served,
): ReturnType<typeof teamCosts> {
  const titleOf = (name: string): string | undefined =>
    engine.describe().find((service) => service.name === name)?.title;
  return teamCosts({
    database,
    budgets: team.config.budgets,
    timeZone: settings.timeZone,
    agentName: (id) => directory?.nameOf(id) ?? id,
    serviceName: (name) => directory?.find(name)?.displayName ?? titleOf(name) ?? name,
  });
}

/** Without a socket. */
function requestOf(app: FastifyInstance): Serving["request"] {
  return async (target, { method = "GET", headers = {}, body } = {}) => {
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
  };
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
 * Without a data folder that can be written to, there is no such link; the
 * server runs all the same.
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
 * Whether the person who starts the server has no other way in than a login,
 * and no token for it. Pure.
 */
function asksItsOwnUser({ because }: AccessMode): boolean {
  return because === "login-always" || because === "peers-unknown";
}

/** The built page beside this code: in the package `dashboard/`. */
function dashboardFolder(): string | undefined {
  const folder = fileURLToPath(new URL("../../dashboard", import.meta.url));
  return existsSync(path.join(folder, "index.html")) ? folder : undefined;
}
