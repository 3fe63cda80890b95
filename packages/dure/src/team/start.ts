/** The start of a process of a team: its parts in order, and their end in reverse. */

import path from "node:path";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { ClosingStack } from "../kernel/closing-stack.ts";
import { DureError, codeOf, messageOf } from "../kernel/errors.ts";
import { hostOf } from "../durable/host-id.ts";
import { makeFolder } from "../durable/make-folder.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Engine } from "../engine/engine.ts";
import type { Inbox } from "../escalations/inbox.ts";
import { ANNOUNCE_TOPIC, announcementText, type JobAnnouncement } from "../jobs/announcement.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { PlanLibrary } from "../plans/runs/plan-library.ts";
import type { Runs } from "../plans/runs/runs.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { AccessMode } from "../server/access-mode.ts";
import type { LoadedTeam } from "./config.ts";
import { startConversing, type Conversing } from "./conversing.ts";
import { startCore, type Core, type Starting } from "./core.ts";
import { childEnvironment, type Environment } from "./environment.ts";
import type { Alerts } from "../alerts/alerts.ts";
import { openAlerts } from "./alerts.ts";
import { openEscalationRouter } from "./escalations.ts";
import { modelOf, settingsOf } from "./limits.ts";
import { warnOfMissingPersonas } from "./missing-personas.ts";
import { withOfflineModels } from "./offline-models.ts";
import { openPlans } from "./plans.ts";
import { openRooms } from "./rooms.ts";
import { startServing } from "./serving.ts";
import type { OutsideHandler } from "../durable/outbox-handler.ts";
import type { Conversations } from "../engine/api.ts";
import type { JobFiles } from "../jobs/job-files.ts";
import type { Directory } from "../rooms/directory.ts";

/** A team that runs in this process. */
export interface RunningTeam extends EmbeddedTeam {
  readonly url: string;
}

/** A team that runs in this process, perhaps without a port of its own (`listen: false`). */
export interface EmbeddedTeam {
  /** Of its port; absent with `listen: false`. */
  readonly url: string | undefined;
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
   * Answers a web-standard request as the port does: same tokens, limits and audit, streams as they
   * are written. Who comes without credentials is a stranger, also at this machine. An abort of the
   * request's signal ends its reader; a turn goes on. @throws CONNECTION_CUT
   */
  fetch(request: Request): Promise<Response>;
  /**
   * Resolves when another process has taken over: nothing is written any more, the server should
   * leave with exit code 75.
   */
  readonly fenced: Promise<DureError>;
  /** Accepts nothing more, lets turns finish, gives the rest to other processes. Idempotent. */
  stop(): Promise<void>;
}

/** What the team's process hands in. */
export interface StartTeamOptions {
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
  /** `false`: no port is opened; `fetch` answers. Default true. */
  readonly listen?: boolean | undefined;
}

/**
 * Longest wait for the recovery of dead processes before the server is loaded, milliseconds. The
 * rest goes on beside it.
 */
const RECOVERY_FIRST_MS = 500;

/**
 * Starts everything in order: database, right to work, durable core, engine, server; stops it in
 * reverse. Recovery of dead processes runs beside the start and does not delay it. @throws FENCED
 * when the right to work was lost meanwhile: a process that may not write is never ready.
 */
export function startTeam(
  team: LoadedTeam,
  environment: Environment,
  options: StartTeamOptions & { readonly listen?: true | undefined },
): Promise<RunningTeam>;
export function startTeam(
  team: LoadedTeam,
  environment: Environment,
  options: StartTeamOptions,
): Promise<EmbeddedTeam>;
export async function startTeam(
  team: LoadedTeam,
  environment: Environment,
  options: StartTeamOptions,
): Promise<EmbeddedTeam> {
  const fence: Fence = { fell: undefined, whenFallen: Promise.withResolvers() };
  try {
    const ready = await withOfflineModels(team, environment);
    return await startParts(ready, environment, options, fence);
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
  { logger, clock = systemClock, signal, listen = true }: StartTeamOptions,
  fence: Fence,
): Promise<EmbeddedTeam> {
  await using stack = new ClosingStack();
  const settings = settingsOf(team.config, environment);
  const defer = inGoodOrder(stack, { logger, clock });

  const onFenced = (error: DureError): void => {
    fence.fell = error;
    fence.whenFallen.resolve(error);
  };

  const starting = { team, environment, settings, clock, logger, signal, onFenced, defer };
  warnOfMissingPersonas(team, logger);
  await makeFolder(path.resolve(team.folder, settings.home));
  const core = await startCore(starting);
  const conversing = await startConversing(starting, core);
  const alerts = openAlerts(starting, { ...core, ...conversing });
  const parts = { ...core, ...conversing, alerts };

  const router = openEscalationRouter(team, environment, {
    ...parts,
    conversations: parts.engine,
    settings,
  });

  const rooms = await startRooms(starting, parts);
  const listening: { at?: string } = {};
  const planning = await startPlans(starting, parts, () => listening.at);
  router.start();
  defer("escalations", () => router.stop());
  core.outbox.start();
  const sending = (): string => `${core.outbox.running} deliveries`;
  defer("the outbox", () => core.outbox.stop(), sending);
  core.retention.start();
  defer("retention", () => core.retention.stop());

  // Reading the server keeps the process busy: the turns of a dead one go on first.
  await core.takeover.settled({ withinMs: RECOVERY_FIRST_MS });
  const onListening = (at: string): void => void (listening.at = at);
  const served = { ...parts, ...planning, rooms, onListening, listen };
  const serving = await startServing(starting, served);
  tellReady(starting, parts, serving);
  const running = stack.move();
  let stopped: Promise<void> | undefined;

  return {
    ...serving,
    processId: core.lease.id,
    engine: parts.engine,
    inbox: core.inbox,
    rooms,
    jobs: parts.jobs,
    plans: planning.library,
    fenced: fence.whenFallen.promise,
    stop: () => (stopped ??= running[Symbol.asyncDispose]()),
  };
}

/** Undefined: the team has no agents. */
async function startRooms(
  { team, environment, settings, defer }: Starting,
  parts: Core & Conversing & { readonly alerts: Alerts | undefined },
): Promise<Rooms | undefined> {
  const { directory, jobs, engine, database, inbox, outbox, retention, lease, alerts } = parts;
  if (!directory || !jobs) return undefined;

  const rooms = await openRooms(team, environment, {
    ...parts,
    files: engine.files,
    directory,
    jobs,
    conversations: engine,
    settings,
  });

  parts.giveTools({ rooms: { database, collaboration: rooms.collaboration }, jobs, inbox });
  const rules = [...rooms.retentionRules(), ...(alerts?.retentionRules() ?? [])];
  for (const rule of [...rules, jobs.retentionRule()]) retention.add(rule);

  outbox.handle(
    ANNOUNCE_TOPIC,
    announcementHandler({ conversations: engine, jobs, directory, locale: settings.locale }),
  );

  await alerts?.start();
  defer("alerts", async () => alerts?.stop());
  jobs.start();
  const working = (): string => `${jobs.running} jobs`;
  defer("jobs", () => jobs.stop(), working);
  defer("rooms", () => rooms.stop());
  await rooms.start();
  lease.signal.throwIfAborted();

  return rooms;
}

/** @param url of this process's server; undefined before it listens */
async function startPlans(
  { team, environment, settings, defer }: Starting,
  parts: Core & Conversing,
  url: () => string | undefined,
): Promise<{ library: PlanLibrary; runs: Runs }> {
  const home = path.resolve(team.folder, settings.home);
  const { library, runs, threads } = openPlans(team, {
    ...parts,
    remote: settings.plansRemote,
    bounds: {
      memoryBytes: settings.plansMemoryBytes,
      cpus: settings.plansCpus,
      diskBytes: settings.plansDiskBytes,
      filesByModes: settings.plansFilesByModes,
    },
    planMs: settings.planMs,
    patience: { outages: parts.engine.outages, patienceMs: settings.patienceMs },
    workers: team.config.plans?.workers,
    llm: modelOf(team.config, environment),
    home,
    host: await hostOf(home, parts.clock),
    env: childEnvironment({}),
    url,
  });

  defer("the threads of plans", () => threads.stop());
  parts.retention.add(runs.retentionRule());
  runs.start();
  const leading = (): string => `the workers of ${runs.leading} runs`;
  defer("plans", () => runs.stop(), leading);

  return { library, runs };
}

function tellReady(
  { team, logger }: Starting,
  { lease, services }: Core & Conversing,
  { url, access }: Pick<EmbeddedTeam, "url" | "access">,
): void {
  logger.info(
    {
      url,
      process: lease.id,
      access: `${access.mode}: ${access.because}`,
      services: services.map((service) => service.name),
    },
    `${team.config.name ?? "the team"} is ready ${url === undefined ? "without a port" : `at ${url}`}`,
  );
}

// --- announcements

/** Milliseconds in which the place of origin is told. Source: docs/spec/jobs §3.6. */
const TOLD_WITHIN_MS = 120_000;

/**
 * Tells the place where a job was asked what came of it: a turn of its own in that session, in
 * which the agent that asked says it in its words, or `ANNOUNCE_SKIP`, with the files that were made
 * for it; an agent that answers
 * through a service is told it in the next turn there. The key is that of the outbox entry, so
 * there is one such turn. What was asked in an exchange does not come here: the agent is told it in
 * its next turn there, and the exchange's own place of origin when there is none
 * (dure.announce_job).
 */
export function announcementHandler(parts: {
  conversations: Pick<Conversations, "accept">;
  jobs: Pick<Jobs, "keepNote"> & { readonly files: Pick<JobFiles, "carryMade"> };
  directory: Directory;
  locale: string;
}): OutsideHandler {
  return {
    policy: { attempts: 8, firstRetryMs: 500, timeoutMs: TOLD_WITHIN_MS },
    send: async (payload, { key }) => {
      const notice = payload as unknown as JobAnnouncement;
      const requester = parts.directory.find(notice.requester);
      if (!requester) return;
      // A flow would take a turn of its own for a person's words; its agents are told with the next
      // one.
      if (requester.service !== requester.id) {
        return parts.jobs.keepNote(notice.jobId, notice.session);
      }

      const text = announcementText(notice, {
        locale: parts.locale,
        nameOf: (agent) => parts.directory.nameOf(agent),
      });

      const background =
        "<background-work>\nWork that you had asked for in the background has ended; its " +
        "result follows as quoted data. Tell the people here in your own words, shortly. If " +
        "no one needs to know, answer with ANNOUNCE_SKIP alone.\n</background-work>";

      const made = await parts.jobs.files.carryMade(notice.jobId, notice.session);
      const files = made.map(({ id }) => id);
      try {
        await parts.conversations.accept(
          { session: notice.session, service: requester.service, message: text, background, files },
          {
            key,
            path: "announce",
            author: "system",
            caller: { tenant: notice.tenant, name: "jobs" },
          },
        );
      } catch (error) {
        // the session is gone, and who could be told with it
        if (error instanceof DureError && error.class === "not-found") return;
        throw error;
      }
    },
    classify: (error) =>
      codeOf(error) === "SESSION_QUEUE_FULL"
        ? { class: "rate-limited", afterMs: 2_000, notSent: true }
        : undefined,
  };
}

// --- good order

/** A stop that takes so long says what it waits for, milliseconds. */
const SLOW_MS = 3_000;
/** As often it says so again. */
const AGAIN_MS = 15_000;

/**
 * Stops what has begun, in reverse. One part that cannot stop must not keep the others from it, and
 * one that takes long is named in the log.
 */
export function inGoodOrder(
  stack: ClosingStack,
  { logger, clock }: { logger: Logger; clock: Clock },
): Starting["defer"] {
  return (part, stop, waitsFor) =>
    stack.defer(async () => {
      const since = clock.monotonic();
      const say = (): void => {
        const ms = Math.round(clock.monotonic() - since);
        const what = [part, waitsFor?.()].filter(Boolean).join(": ");
        logger.info({ part, ms }, `the stop waits for ${what}`);
      };
      let cancel = clock.after(SLOW_MS, () => {
        say();
        cancel = clock.every(AGAIN_MS, say);
      });
      try {
        await stop();
      } catch (error) {
        logger.error({ part, error: messageOf(error) }, `${part} did not stop in good order`);
      } finally {
        cancel();
      }
    });
}
