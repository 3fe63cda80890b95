import path from "node:path";
import { Database, type DatabaseOptions, type DatabaseTarget } from "../durable/database.ts";
import { EmbeddedPostgres } from "../durable/embedded/embedded-postgres.ts";
import { EventLog } from "../durable/event-log.ts";
import { fileRules } from "../durable/files/file-rules.ts";
import { Files } from "../durable/files/files.ts";
import { folderStore } from "../durable/files/folder-store.ts";
import { Leases } from "../durable/leases.ts";
import { migrate } from "../durable/migrate.ts";
import { Notifications } from "../durable/notify.ts";
import { Outbox } from "../durable/outbox.ts";
import { Pauses } from "../durable/pauses.ts";
import { applicationName, ProcessLease } from "../durable/processes.ts";
import { Retention, DEFAULT_RULES, type RetentionRule } from "../durable/retention.ts";
import { Takeover } from "../durable/takeover.ts";
import { Inbox } from "../escalations/inbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { ClosingStack } from "../kernel/closing-stack.ts";
import type { DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { assertBindable } from "../server/access.ts";
import {
  combineTokenStores,
  MemoryTokenStore,
  PostgresTokenStore,
  type TokenStore,
} from "../server/token-store.ts";
import type { LoadedTeam } from "./config.ts";
import type { Environment } from "./environment.ts";
import type { Settings } from "./limits.ts";
import { openWhenUp } from "./open-database.ts";
import { SCHEMA } from "./schema.ts";
import { DURE_VERSION } from "./version.ts";
import { SCOPES } from "../kernel/access.ts";
import { BUDGET_RULES } from "../durable/budgets.ts";
import { journalRule, sessionRules } from "../durable/sessions.ts";

/** What each step of a start is given. */
export interface Starting {
  readonly team: LoadedTeam;
  readonly environment: Environment;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
  /** Another process has taken over, or may have. */
  readonly onFenced: (error: DureError) => void;
  /** What has begun is stopped in reverse. `waitsFor`: what a stop that takes long waits for. */
  readonly defer: (what: string, stop: () => Promise<void>, waitsFor?: () => string) => void;
}

/** The right to work, and what is durable. */
export interface Core {
  readonly database: Database;
  readonly notifications: Notifications;
  readonly lease: ProcessLease;
  readonly auth: TokenStore;
  readonly takeover: Takeover;
  readonly outbox: Outbox;
  readonly events: EventLog;
  readonly leases: Leases;
  readonly pauses: Pauses;
  readonly retention: Retention;
  readonly inbox: Inbox;
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Only the lease is started: nothing of the rest works yet. */
export async function startCore(starting: Starting): Promise<Core> {
  const { environment, settings, clock, logger, signal, onFenced, defer } = starting;
  const id = newId("process", clock.now());
  const { database, notifications } = await openDatabase(starting, id);
  defer("the database", () => database.close());
  defer("notifications", () => notifications.stop());
  signal?.throwIfAborted();
  const auth = tokenStoreOf(environment, database, clock);
  await assertBindable(settings.host, auth); // here, before any work is taken up

  const base = { database, notifications, clock, logger };

  const lease = new ProcessLease({
    ...base,
    id,
    appVersion: DURE_VERSION,
    release: SCHEMA.number,
    onFenced,
  });

  await lease.start();
  defer("the lease", () => lease.stop());
  const shared = { ...base, lease };
  const leases = new Leases(shared);
  const pauses = new Pauses({ ...base, signal: lease.signal });
  const files = filesOf(starting, database);
  const rules = [...retentionRules(settings), ...fileRules(files)];

  return {
    ...shared,
    auth,
    leases,
    pauses,
    takeover: new Takeover(shared),
    outbox: new Outbox(shared),
    events: new EventLog(shared),
    retention: new Retention({ ...base, leases, rules }),
    files,
    inbox: new Inbox({ database, notifications, locale: settings.locale }),
  };
}

/**
 * With a database of its own the team is on one machine, and larger files are in a folder beside it.
 * Processes that share a database need a store that all of them reach.
 */
function filesOf(starting: Starting, database: Database): Files {
  const { team, environment, settings, clock } = starting;
  const beside =
    environment.databaseUrl === undefined ? path.join(settings.home, "files") : undefined;
  const given = team.config.files?.store ?? beside;
  const store = typeof given === "string" ? folderStore(path.resolve(team.folder, given)) : given;
  const { fileBytes, sessionFileBytes: sessionBytes, tenantFileBytes: tenantBytes } = settings;
  return new Files({ database, clock, store, bounds: { fileBytes, sessionBytes, tenantBytes } });
}

async function openDatabase(
  starting: Starting,
  processId: string,
): Promise<{ database: Database; notifications: Notifications }> {
  const { settings, logger, clock, signal } = starting;
  const options = {
    ...(await openTarget(starting)),
    applicationName: applicationName(processId),
    logger,
    clock,
    max: settings.databaseConnections,
  };

  const waitMs = settings.databaseWaitMs;

  return openWhenUp(() => openMigrated(options), { waitMs, logger, clock, signal });
}

/**
 * Open and migrated, with its notifications; nothing is left of an attempt that
 * fails.
 */
async function openMigrated(
  options: DatabaseOptions,
): Promise<{ database: Database; notifications: Notifications }> {
  await using opening = new ClosingStack();
  const database = await Database.open(options);
  opening.defer(() => database.close());

  const notifications = new Notifications({
    database,
    logger: options.logger,
    clock: options.clock,
  });

  opening.defer(() => notifications.stop());
  // Both mostly connect.
  await Promise.all([migrate(database, SCHEMA, { logger: options.logger }), notifications.start()]);
  opening.move();

  return { database, notifications };
}

async function openTarget({
  team,
  environment,
  settings,
  logger,
  clock,
  signal,
  defer,
}: Starting): Promise<DatabaseTarget> {
  if (environment.databaseUrl !== undefined) return { url: environment.databaseUrl };

  const embedded = await EmbeddedPostgres.start({
    home: path.resolve(team.folder, settings.home),
    logger,
    clock,
    idleMs: settings.databaseIdleMs,
    signal,
  });

  defer("embedded PostgreSQL", () => embedded.stop());

  return { connection: embedded.connection };
}

/** DURE_TOKEN, and those in the database. */
function tokenStoreOf(environment: Environment, database: Database, clock: Clock): TokenStore {
  const stored = new PostgresTokenStore({ database, clock });
  if (environment.token === undefined) return stored;

  const given = new MemoryTokenStore({ clock });
  given.add(environment.token, {
    id: "token_environment",
    name: "DURE_TOKEN",
    scopes: SCOPES.filter((scope) => scope !== "plans:confirm"), // programs have it too
  });

  return combineTokenStores([given, stored]);
}

// --- retention rules

/** What a process removes that has aged, besides the rules of rooms, jobs and plans. */
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
