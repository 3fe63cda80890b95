import { createHash } from "node:crypto";
import type { Cancel, Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { canonicalJson } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import { sessionIdFor, sessionIdOfKey, sessionKey } from "../kernel/tenant.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import type { Database } from "../durable/database.ts";
import type { LeaseProof } from "../durable/lease-proof.ts";
import type { Notifications } from "../durable/notify.ts";
import {
  OtherServiceError,
  MAX_READ,
  TurnStore,
  UNATTENDED_TOPIC,
  type Accepted,
  type AnsweredService,
  type ClaimedTurn,
} from "../durable/turns.ts";
import type { Llm } from "../models/card.ts";
import type { Models } from "../models/models.ts";
import { startAcceptSpan } from "../models/telemetry.ts";
import type {
  AcceptedTurn,
  AcceptOptions,
  CompletedEntry,
  Conversations,
  Page,
  ServiceDescription,
  SessionDebug,
  SessionDetail,
  SessionSummary,
  TurnFrame,
  TurnHandle,
  TurnRequest,
  Viewer,
} from "./api.ts";
import type { AttemptRules } from "./agent-environment.ts";
import type { Budgets } from "./budgets.ts";
import type { AnyService, LeafService } from "./combine.ts";
import { FrameQueue } from "./frame-queue.ts";
import { MemoryFolder } from "./memory-fold.ts";
import { SessionReader } from "./sessions.ts";
import { LOCALES } from "./texts.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import { TurnRun } from "./turn-run.ts";

export interface EngineOptions {
  /** The first one is the default. */
  readonly services: readonly AnyService[];
  readonly database: Database;
  readonly notifications: Notifications;
  readonly models: Models;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process start; the holder of the turns that run here. */
  readonly processId: string;
  /** Aborts when this process may write no more (its lease is lost) or stops. */
  readonly lease: AbortSignal;
  /**
   * What the process knows of its lease; looked at before each model call. Absent: it is trusted.
   */
  readonly proof?: LeaseProof | undefined;
  readonly defaultLlm: Llm;
  /** Goes before every card: `DURE_MODEL`. */
  readonly everyLlm?: Llm | undefined;
  /** Rules of attempts for the sessions that have their own; elsewhere each agent's card says. */
  readonly attemptRules?: (session: string) => AttemptRules | undefined;
  /** Absent: nothing is limited. */
  readonly budgets?: Budgets;
  /** Default `ko`. */
  readonly locale?: string;
  /** Default `Asia/Seoul`. */
  readonly timeZone?: string;
  readonly devMode?: boolean;
  readonly limits?: Partial<EngineLimits>;
}

/** What conversations are made of. A running engine can be given others. */
export type EngineDefinitions = Pick<
  EngineOptions,
  "services" | "models" | "defaultLlm" | "everyLlm"
>;

/** Limits that a team can set. */
export interface EngineLimits {
  /**
   * Messages that may wait in a session behind a running turn. Default 20. Source:
   * docs/spec/conversation §3.
   */
  readonly sessionQueue: number;
  /** Bytes of UTF-8 in a message. Default 65 536. Source: docs/spec/conversation §6. */
  readonly messageBytes: number;
  /**
   * What handlers see as `turn.limits.maxFillTurns`. Default 5. Source: docs/spec/conversation §8.
   */
  readonly maxFillTurns: number;
}

const DEFAULT_LIMITS: EngineLimits = { sessionQueue: 20, messageBytes: 65_536, maxFillTurns: 5 };

/**
 * How often a process looks for turns that nobody works on, milliseconds; any process starts them
 * within 1 s. Source: docs/spec/conversation §3.
 */
const LOOK_EVERY_MS = 400;
/**
 * How often a process asks whether its turns were stopped or taken, milliseconds. A stop reaches
 * the holder within 1 s.
 */
const ASK_EVERY_MS = 500;
/**
 * Turns that one process runs at once; what is beyond stays unattended until there is room, or goes
 * to another process. Source: our choice.
 */
const MAX_RUNNING = 2_000;
/**
 * How long a service may be away that a process answered, milliseconds: its messages are accepted
 * meanwhile, and a turn that nobody has taken for so long ends with `SERVICE_UNAVAILABLE`. Source:
 * our choice; a release of several processes takes minutes.
 */
const UNSERVED_MS = 300_000;
/**
 * How long a request may wait for a database that cannot be reached, milliseconds. Source: our
 * choice; a person is waiting.
 */
const ACCEPT_WITHIN_MS = 10_000;
/**
 * Readers on other processes look at least this often, milliseconds. Source: DESIGN "Event log".
 */
const READ_EVERY_MS = 500;
/**
 * Until a turn whose end could not be written is led again, milliseconds, doubled each time; and
 * how many such turns are known at most. Source: our choice.
 */
const REST_FIRST_MS = 1_000;
const MAX_REST_MS = 60_000;
const MAX_RESTING = 1_000;

/**
 * Conversations over journaled turns. Accepting stores the message; a turn then runs here, or
 * anywhere, until its `DONE` is stored. Reading is apart from running: a reader may come and go, on
 * any process.
 */
export class Engine implements Conversations {
  readonly #options: EngineOptions;
  #services: ReadonlyMap<string, AnyService>;
  #default: AnyService;
  readonly #limits: EngineLimits;
  readonly #store: TurnStore;
  #environment: TurnEnvironment;
  readonly #reader: SessionReader;
  #folder: MemoryFolder;
  readonly #runs = new Map<string, TurnRun>();
  /**
   * Turns whose acceptance is on its way: the look for unattended turns must not take them for
   * lost.
   */
  readonly #accepting = new Set<string>();
  /**
   * Turns whose end could not be written: how often, and until when they are left alone, by the
   * monotonic clock.
   */
  readonly #resting = new Map<string, { readonly tries: number; readonly until: number }>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #cancels: Cancel[] = [];
  #stopping = false;
  #looking: Promise<void> | undefined;
  /** What the others were told last, and the one that tells them. */
  #told = "";
  #telling: Promise<void> | undefined;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#services = servicesByName(options.services);
    this.#default = options.services[0]!;
    const { database, notifications, clock, logger, processId, models } = options;
    this.#store = new TurnStore({
      database,
      notifications,
      clock,
      holder: processId,
      proof: options.proof,
    });
    this.#reader = new SessionReader(database);
    this.#environment = {
      store: this.#store,
      clock,
      logger,
      devMode: options.devMode ?? false,
      locale: options.locale ?? "ko",
      timeZone: options.timeZone ?? "Asia/Seoul",
      defaultLlm: options.defaultLlm,
      everyLlm: options.everyLlm,
      attemptRules: options.attemptRules ?? (() => undefined),
      limits: this.#limits,
      lease: options.lease,
      resolve: (llm) => models.resolve(llm),
      budgets: options.budgets,
      findApproval: (subject, used) => this.#reader.approval(subject, used),
    };
    this.#folder = this.#folderFor(options);
  }

  /**
   * Others from now on: turns that run finish with the definitions with which they began, those
   * that begin have these. Throws `SERVICE_INVALID`, and has changed nothing then.
   */
  redefine(definitions: EngineDefinitions): void {
    const services = servicesByName(definitions.services);
    const { models, defaultLlm, everyLlm } = definitions;
    this.#services = services;
    this.#default = definitions.services[0]!;
    this.#environment = {
      ...this.#environment,
      defaultLlm,
      everyLlm,
      resolve: (llm) => models.resolve(llm),
    };
    void this.#folder.stop(); // what it had in line is considered again after the session's next turn
    this.#folder = this.#folderFor(definitions);
    if (this.#cancels.length > 0) void this.#tell();
  }

  /** The turns that run here. */
  get running(): number {
    return this.#runs.size;
  }

  /** Where the recoverer of dead processes gives up their turns. */
  get store(): TurnStore {
    return this.#store;
  }

  /** Begins to look for turns that nobody works on; the first look is at once. */
  start(): void {
    if (this.#cancels.length > 0) return;
    const { clock, notifications } = this.#options;
    this.#cancels.push(
      clock.every(LOOK_EVERY_MS, () => void this.#look()),
      clock.every(ASK_EVERY_MS, () => void this.#ask()),
      notifications.subscribe("stops", () => void this.#ask()),
      notifications.subscribe("turns", () => this.#wakeAll()),
      notifications.subscribe(UNATTENDED_TOPIC, () => void this.#look()),
    );
    void this.#tell();
    void this.#look();
  }

  /**
   * Goes on with turns that have no living holder, now. Resolves when those that this process has
   * room for run here.
   */
  async pickUp(): Promise<void> {
    await this.#looking; // it may have looked before they were given up
    await this.#look();
  }

  /**
   * Starts nothing more and waits for the turns that run here, at most `graceMs`; what is left is
   * given up for other processes.
   */
  async stop({ graceMs = 10_000 }: { graceMs?: number } = {}): Promise<void> {
    this.#stopping = true;
    for (const cancel of this.#cancels.splice(0)) cancel();
    const { clock } = this.#options;
    const cut = new AbortController();
    await Promise.race([
      Promise.allSettled([...this.#runs.values()].map((run) => run.finished)),
      clock.sleep(graceMs, { signal: cut.signal }).catch(() => {}),
    ]);
    cut.abort();
    await this.#folder.stop();
  }

  // --- Conversations

  describe(): readonly ServiceDescription[] {
    return [...this.#services.values()].map((service) =>
      describeService(service, service === this.#default),
    );
  }

  async accept(request: TurnRequest, options: AcceptOptions = {}): Promise<AcceptedTurn> {
    checkRequest(plainly(request, options.caller?.tenant ?? ""), this.#limits.messageBytes);
    if (this.#stopping) {
      throw new DureError("SERVER_STOPPING", "This process is stopping and accepts nothing more.", {
        class: "unavailable",
        hint: "Try again; another process answers.",
      });
    }
    if (this.#runs.size >= MAX_RUNNING) {
      throw new DureError("SERVER_BUSY", `${this.#runs.size} turns run here already.`, {
        class: "limit",
        hint: "Try again in a moment.",
      });
    }
    return this.#accept(request, options);
  }

  turn(request: TurnRequest, options: AcceptOptions & { signal?: AbortSignal } = {}): TurnHandle {
    const accepted = this.accept(request, options);
    const turnId = accepted.then((turn) => turn.turnId);
    turnId.catch(() => {});
    const { signal, caller } = options;
    const iterate = async function* (
      this: Engine,
      onDone: (done: Done) => void,
    ): AsyncGenerator<TurnEvent> {
      const { turnId: id } = await accepted;
      for await (const { event } of this.read(id, {
        ...(caller && { caller }),
        ...(signal && { signal }),
      })) {
        if (event.type === "DONE") onDone(event.data);
        yield event;
      }
    }.bind(this);
    let done: Promise<Done> | undefined;
    return {
      turnId,
      get done() {
        done ??= (async () => {
          let last: Done | undefined;
          const events = iterate((value) => (last = value));
          while (!(await events.next()).done);
          return last!;
        })();
        return done;
      },
      [Symbol.asyncIterator]: () => iterate(() => {}),
    };
  }

  async *read(
    turnId: string,
    options: { after?: number; caller?: Viewer; signal?: AbortSignal } = {},
  ): AsyncGenerator<TurnFrame> {
    const { signal, caller } = options;
    let after = options.after ?? 0;
    if (caller && caller.tenant !== "" && caller.tenant !== null) {
      await this.find(turnId, { caller });
    }
    for (;;) {
      signal?.throwIfAborted();
      const run = this.#runs.get(turnId);
      if (run) {
        const queue = new FrameQueue();
        const toldBefore = run.journal.told;
        const leave = run.journal.listen((frame) => queue.push(frame));
        void run.finished.then(() => queue.end());
        try {
          while (toldBefore > after) {
            const { rows } = await this.#rows(turnId, after, signal);
            for (const row of rows) {
              if (row.seq > toldBefore) break;
              after = row.seq;
              yield { seq: row.seq, event: { type: row.type, data: row.data } as TurnEvent };
            }
            if (rows.length < MAX_READ || rows.at(-1)!.seq >= toldBefore) break;
          }
          let told = toldBefore;
          for await (const frame of queue.frames(signal)) {
            if (frame.seq !== undefined) {
              told = frame.seq;
              if (frame.seq <= after) continue;
              after = frame.seq;
            } else if (told < after) continue; // Whoever comes from another process may know as stored what is not told here yet.
            yield frame;
            if (frame.event.type === "DONE") return;
          }
        } finally {
          leave();
        }
        continue;
      }
      const wake = this.#waiter(turnId);
      try {
        const { status, rows } = await this.#rows(turnId, after, signal);
        for (const row of rows) {
          after = row.seq;
          yield { seq: row.seq, event: { type: row.type, data: row.data } as TurnEvent };
          if (row.type === "DONE") return;
        }
        if (rows.length === MAX_READ) continue;
        if (status === "done") return;
        await wake.wait(READ_EVERY_MS, signal);
      } finally {
        wake.leave();
      }
    }
  }

  async find(
    turnId: string,
    { caller }: { caller?: Viewer } = {},
  ): Promise<{ status: "queued" | "running" | "done"; sessionId: string; lastSeq: number }> {
    const found = await this.#reader.turn(turnId, viewOf(caller));
    if (!found) throw turnUnknown(turnId);
    const { status, sessionId } = found;
    return {
      status,
      sessionId,
      lastSeq: Math.max(found.lastSeq, this.#runs.get(turnId)?.journal.told ?? 0),
    };
  }

  async stopTurn(turnId: string, { caller }: { caller?: Viewer } = {}): Promise<void> {
    const tenant = viewOf(caller) ?? (await this.#reader.turn(turnId, null))?.tenant;
    const answer =
      tenant === undefined ? null : await this.#store.stop(turnId, tenant, caller?.name ?? "");
    if (answer === null) throw turnUnknown(turnId);
    if (answer === "finished") {
      throw new DureError("TURN_FINISHED", `The turn ${turnId} has ended already.`, {
        class: "conflict",
        hint: "There is nothing to stop.",
      });
    }
    this.#runs.get(turnId)?.stop();
  }

  sessions(
    options: { caller?: Viewer; limit?: number; cursor?: string; search?: string } = {},
  ): Promise<Page<SessionSummary>> {
    return this.#reader.list({ ...options, tenant: viewOf(options.caller) });
  }

  session(id: string, { caller }: { caller?: Viewer } = {}): Promise<SessionDetail> {
    return this.#reader.detail(id, viewOf(caller), {
      locale: this.#environment.locale,
      timeZone: this.#environment.timeZone,
      leafOf: (name) => leavesOf(this.#services.get(name)),
    });
  }

  debug(id: string, { caller }: { caller?: Viewer } = {}): Promise<SessionDebug> {
    return this.#reader.debug(id, viewOf(caller));
  }

  completed(id: string, { caller }: { caller?: Viewer } = {}): Promise<readonly CompletedEntry[]> {
    return this.#reader.completed(id, viewOf(caller));
  }

  async forget(id: string, { caller }: { caller?: Viewer } = {}): Promise<void> {
    const view = viewOf(caller);
    const { clock } = this.#options;
    // A turn that runs ends first, so that nothing writes to a session that is gone.
    for (let tries = 0; ; tries++) {
      const session = await this.#reader.running(id, view);
      if (session === undefined) {
        throw new DureError("SESSION_UNKNOWN", `There is no session ${id}.`, {
          class: "not-found",
          hint: "Check the session id.",
        });
      }
      const { turn: running, tenant } = session;
      if (running === null && (await this.#reader.forget(id, tenant))) return;
      if (running !== null) {
        await this.stopTurn(running, caller ? { caller } : {}).catch((error: unknown) => {
          if (codeOf(error) !== "TURN_FINISHED") throw error;
        });
      }
      if (tries >= FORGET_TRIES) {
        throw new DureError("SESSION_BUSY", `The session ${id} is still answering.`, {
          class: "conflict",
          hint: "Try again in a moment.",
        });
      }
      await clock.sleep(FORGET_WAIT_MS);
    }
  }

  // --- running

  #folderFor({
    models,
    defaultLlm,
  }: Pick<EngineDefinitions, "models" | "defaultLlm">): MemoryFolder {
    const { clock, logger, lease, budgets } = this.#options;
    return new MemoryFolder({
      store: this.#store,
      reader: this.#reader,
      models,
      clock,
      logger,
      defaultLlm,
      lease,
      budgets,
    });
  }

  async #accept(request: TurnRequest, options: AcceptOptions): Promise<AcceptedTurn> {
    const { clock } = this.#options;
    const turn = options.turnId ?? newId("turn", clock.now());
    if (request.service !== undefined) {
      return this.#acceptFor(await this.#addressee(request.service), turn, request, options);
    }
    try {
      return await this.#acceptFor(
        { ...addresseeOf(this.#default), assumed: true },
        turn,
        request,
        options,
      );
    } catch (error) {
      if (!(error instanceof OtherServiceError)) throw error;
      const addressee = await this.#addressee(error.service).catch((unknown: unknown) => {
        if (codeOf(unknown) !== "SERVICE_UNKNOWN") throw unknown;
        return addresseeOf(this.#default); // it was taken out of the team
      });
      return this.#acceptFor(addressee, turn, request, options);
    }
  }

  async #acceptFor(
    service: Addressee,
    turn: string,
    request: TurnRequest,
    options: AcceptOptions,
  ): Promise<AcceptedTurn> {
    const { clock, lease } = this.#options;
    const { caller = { tenant: "", name: "" }, key, path = "turn", author = "person" } = options;
    const session = sessionKey(caller.tenant, request.session);
    const input = {
      ...(request.slots && { slots: request.slots }),
      ...(request.confirmId !== undefined && { confirm_id: request.confirmId }),
      ...(request.background !== undefined && { background: request.background }),
    };
    this.#accepting.add(turn);
    const span = startAcceptSpan({ turn, session, service: service.name }, options.traceParent);
    const { traceParent } = span;
    const late = new AbortController();
    const cancel = clock.after(ACCEPT_WITHIN_MS, () =>
      late.abort(
        new DureError(
          "DATABASE_UNAVAILABLE",
          `The message could not be stored within ${ACCEPT_WITHIN_MS} ms.`,
          { class: "unavailable", hint: "Send it again with the same Idempotency-Key." },
        ),
      ),
    );
    try {
      const accepted: Accepted = await this.#store.accept(
        {
          turn,
          session,
          tenant: caller.tenant,
          service: service.name,
          ...(service.assumed && { assumed: true }),
          version: service.version,
          author,
          policy: service.busy,
          max_waiting: this.#limits.sessionQueue,
          message: request.message,
          input,
          title: titleOf(request.message),
          locale: request.locale,
          time_zone: request.timeZone,
          trace_parent: traceParent,
          ...(key !== undefined && {
            idempotency: {
              caller: caller.name,
              path,
              key,
              body_hash: hashOf(plainly(request, caller.tenant)),
            },
          }),
          events: [
            {
              type: "turn.accepted",
              role: "conversation",
              tenant: caller.tenant,
              session,
              turn,
              service: service.name,
              data: { author },
            },
          ],
        },
        { signal: AbortSignal.any([lease, late.signal]) },
      );
      if (accepted.outcome === "accepted" && "state" in accepted) {
        this.#begin({
          turn,
          session: accepted.session,
          tenant: caller.tenant,
          service: service.name,
          version: service.version,
          author,
          epoch: 1,
          stop: null,
          trace_parent: traceParent ?? null,
          accepted_at: accepted.now,
          incarnation: accepted.incarnation,
          state: accepted.state,
          memory: accepted.memory,
          memory_rev: accepted.memory_rev,
          locale: accepted.locale,
          time_zone: accepted.time_zone,
          messages: [
            {
              ordinal: accepted.ordinal,
              author,
              text: request.message,
              input,
              queued: false,
              at: accepted.now,
            },
          ],
          rows: [],
        });
      }
      if (accepted.outcome === "accepted" && accepted.stopped) {
        this.#runs.get(accepted.stopped)?.stop();
      }
      return {
        turnId: accepted.turn,
        sessionId: sessionIdFor(caller.tenant, accepted.session),
        status: accepted.status,
        repeated: accepted.outcome === "repeated",
      };
    } catch (error) {
      if (!(error instanceof OtherServiceError)) span.end(error);
      if (!lease.aborted) throw error;
      throw new DureError("SERVER_STOPPING", "This process may write no more.", {
        class: "unavailable",
        hint: "Send it again with the same Idempotency-Key; another process answers.",
        cause: error,
      });
    } finally {
      cancel();
      span.end();
      this.#accepting.delete(turn);
    }
  }

  /** @param isUnserved no process has taken it for long. */
  #begin(held: ClaimedTurn, { isUnserved = false } = {}): void {
    const { logger, lease } = this.#options;
    if (lease.aborted || this.#runs.has(held.turn)) return;
    const service = this.#services.get(held.service);
    if (!service && !isUnserved && !held.stop) {
      logger.info(
        { turn: held.turn, session: held.session, service: held.service },
        `turn ${held.turn} is of the service ${held.service}, which is not here; left to other processes`,
      );
      this.#store.giveUp(held.turn, held.epoch, { signal: lease }).catch((error: unknown) => {
        if (!lease.aborted) {
          logger.warn(
            { turn: held.turn, code: codeOf(error), error: messageOf(error) },
            "a turn could not be left to others; the next look tries again",
          );
        }
      });
      return;
    }
    const run = new TurnRun({ held, service, environment: this.#environment });
    this.#runs.set(held.turn, run);
    this.#wake(held.turn);
    if (held.rows.length > 0 || held.epoch > 1) {
      logger.info(
        { turn: held.turn, session: held.session, journal: held.rows.length },
        `turn ${held.turn} goes on with ${held.rows.length} journal rows`,
      );
    }
    void run.finished.then(({ end, next }) => {
      this.#runs.delete(held.turn);
      this.#wake(held.turn);
      if (end === "failed") this.#rest(held.turn);
      else this.#resting.delete(held.turn);
      if (end === "done") {
        if (next !== null) void this.#claim(next);
        else if (run.answeredBy) {
          this.#folder.consider(held.session, run.answeredBy, run.memoryTurns);
        }
      }
    });
  }

  /**
   * The end of this turn could not be written: the next life begins later, the later the oftener.
   */
  #rest(turn: string): void {
    const { tries } = this.#resting.get(turn) ?? { tries: 0 };
    const oldest = this.#resting.keys().next();
    if (this.#resting.size >= MAX_RESTING && !oldest.done) this.#resting.delete(oldest.value); // it is led again at the next look
    this.#resting.set(turn, {
      tries: tries + 1,
      until: this.#options.clock.monotonic() + Math.min(REST_FIRST_MS * 2 ** tries, MAX_REST_MS),
    });
  }

  #atRest(): readonly string[] {
    const now = this.#options.clock.monotonic();
    return [...this.#resting].filter(([, { until }]) => until > now).map(([turn]) => turn);
  }

  async #claim(turn: string, how: { isUnserved?: boolean } = {}): Promise<void> {
    const { logger, lease } = this.#options;
    if (this.#stopping || lease.aborted || this.#runs.has(turn) || this.#accepting.has(turn)) {
      return;
    }
    this.#accepting.add(turn);
    try {
      const versions = Object.fromEntries(
        [...this.#services.values()].map(({ name, version }) => [name, version]),
      );
      const held = await this.#store.claim(turn, { versions, signal: lease });
      if (held) this.#begin(held, how);
    } catch (error) {
      if (!lease.aborted) {
        logger.warn(
          { turn, code: codeOf(error), error: messageOf(error) },
          "a turn could not be claimed; it stays for the next look",
        );
      }
    } finally {
      this.#accepting.delete(turn);
    }
  }

  /** Starts what runs on paper only: turns of dead processes, and own ones whose start was lost. */
  #look(): Promise<void> {
    this.#looking ??= (async () => {
      const { logger, lease } = this.#options;
      try {
        for (;;) {
          const room = MAX_RUNNING - this.#runs.size;
          if (this.#stopping || lease.aborted || room <= 0) return;
          const most = Math.min(CLAIM_AT_ONCE, room);
          const options = {
            services: [...this.#services.keys()],
            unservedMs: UNSERVED_MS,
            limit: most,
          };
          const turns = (
            await this.#store.unattended(
              [...this.#runs.keys(), ...this.#accepting, ...this.#atRest()],
              options,
            )
          ).filter(({ id }) => !this.#accepting.has(id));
          await Promise.all(turns.map(({ id, isUnserved }) => this.#claim(id, { isUnserved })));
          if (turns.length < most) return;
        }
      } catch (error) {
        if (!lease.aborted) {
          logger.warn(
            { code: codeOf(error), error: messageOf(error) },
            "could not look for unattended turns; trying again",
          );
        }
      }
    })().finally(() => (this.#looking = undefined)); // outside: the work may end before this assignment
    return this.#looking;
  }

  /** Hears of stops that were asked for elsewhere, and of turns that were taken away. */
  async #ask(): Promise<void> {
    const { logger, lease } = this.#options;
    if (this.#runs.size === 0 || lease.aborted) return;
    try {
      for (const { id, stop } of await this.#store.interrupted([...this.#runs.keys()])) {
        if (stop) this.#runs.get(id)?.stop();
      }
    } catch (error) {
      logger.debug({ code: codeOf(error) }, "could not ask for stops; asking again");
    }
  }

  /**
   * The service here, or as a process says that has it: while a release goes through several
   * processes, they do not have the same. Throws `SERVICE_UNKNOWN`.
   */
  async #addressee(name: string): Promise<Addressee> {
    const service = this.#services.get(name);
    if (service) return addresseeOf(service);
    const elsewhere = await this.#store.answeredElsewhere(name, UNSERVED_MS);
    if (elsewhere) return { ...elsewhere, version: "" };
    throw new DureError("SERVICE_UNKNOWN", `There is no service "${name}".`, {
      class: "not-found",
      hint: `Services are: ${[...this.#services.keys()].join(", ")}.`,
    });
  }

  /** Tells the other processes which services this one answers. */
  #tell(): Promise<void> {
    this.#telling ??= (async () => {
      const { lease, logger } = this.#options;
      try {
        for (;;) {
          const services = [...this.#services.values()].map((service): AnsweredService => ({
            name: service.name,
            busy: busyOf(service),
          }));
          const words = canonicalJson(services);
          if (words === this.#told) return;
          await this.#store.announce(services, { signal: lease });
          this.#told = words;
        }
      } catch (error) {
        if (!lease.aborted) {
          logger.warn(
            { code: codeOf(error), error: messageOf(error) },
            "the other processes could not be told which services are here; they refuse messages that name one of them alone",
          );
        }
      }
    })().finally(() => (this.#telling = undefined)); // outside: the work may end before this assignment
    return this.#telling;
  }

  async #rows(
    turnId: string,
    after: number,
    signal?: AbortSignal,
  ): Promise<NonNullable<Awaited<ReturnType<TurnStore["read"]>>>> {
    for (let wait = 50; ; wait = Math.min(wait * 2, READ_EVERY_MS)) {
      try {
        const found = await this.#store.read(turnId, after);
        if (!found) throw turnUnknown(turnId);
        return found;
      } catch (error) {
        if (codeOf(error) !== "DATABASE_UNAVAILABLE") throw error;
        await this.#options.clock.sleep(wait, { signal });
      }
    }
  }

  #waiter(turnId: string): {
    wait: (ms: number, signal?: AbortSignal) => Promise<void>;
    leave: () => void;
  } {
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const waiting = this.#waiters.get(turnId) ?? new Set();
    this.#waiters.set(turnId, waiting.add(wake));
    return {
      wait: async (ms, signal) => {
        const cut = new AbortController();
        const either = signal ? AbortSignal.any([signal, cut.signal]) : cut.signal;
        try {
          await Promise.race([woken, this.#options.clock.sleep(ms, { signal: either })]);
        } finally {
          cut.abort();
        }
      },
      leave: () => {
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiters.delete(turnId);
      },
    };
  }

  #wake(turnId: string): void {
    for (const wake of this.#waiters.get(turnId) ?? []) wake();
  }

  #wakeAll(): void {
    for (const turnId of this.#waiters.keys()) this.#wake(turnId);
  }
}

/** Whose things a viewer sees; without one, those that have no tenant. */
function viewOf(viewer: Viewer | undefined): Viewer["tenant"] {
  return viewer === undefined ? "" : viewer.tenant;
}

/** The same request with the id of its session where the tenant's key was given. */
function plainly(request: TurnRequest, tenant: string): TurnRequest {
  const isKey = tenant !== "" && request.session.startsWith(`${tenant}/`);
  return isKey ? { ...request, session: sessionIdOfKey(request.session) } : request;
}

/** The service that a message is for, wherever it runs. */
interface Addressee extends AnsweredService {
  /** `""`: it runs elsewhere. */
  readonly version: string;
  /** Nobody has named it. */
  readonly assumed?: boolean;
}

function addresseeOf(service: AnyService): Addressee {
  return { name: service.name, version: service.version, busy: busyOf(service) };
}

function busyOf(service: AnyService): AnsweredService["busy"] {
  return service.sessions?.busy ?? "queue";
}

/** Unattended turns that are claimed with one look. */
const CLAIM_AT_ONCE = 50;
const FORGET_TRIES = 100;
const FORGET_WAIT_MS = 50;

/** What an engine cannot be made of throws `SERVICE_INVALID`: no service, or two of one name. */
export function assertEngineServices(services: readonly AnyService[]): void {
  servicesByName(services);
}

function servicesByName(services: readonly AnyService[]): ReadonlyMap<string, AnyService> {
  if (services.length === 0) {
    throw new DureError("SERVICE_INVALID", "The team has no service.", {
      class: "input",
      hint: "Give defineTeam at least one service.",
    });
  }
  const map = new Map<string, AnyService>();
  for (const service of services) {
    if (map.has(service.name)) {
      throw new DureError("SERVICE_INVALID", `Two services are called "${service.name}".`, {
        class: "input",
        hint: "Give each service a name of its own.",
      });
    }
    map.set(service.name, service);
  }
  return map;
}

function leavesOf(service: AnyService | undefined): readonly LeafService[] {
  if (!service) return [];
  return service.kind === "combined" ? [...service.services.values()] : [service];
}

function describeService(service: AnyService, isDefault: boolean): ServiceDescription {
  const common = {
    name: service.name,
    title: service.title ?? service.name,
    description: service.description ?? "",
    default: isDefault,
  };
  if (service.kind !== "service") return { ...common, examples: [], flows: [] };
  const { stages, slots } = service.state ?? {};
  return {
    ...common,
    examples: service.examples ?? [],
    flows: Object.keys(service.flows),
    ...(stages && {
      stages: {
        initial: stages.initial,
        terminal: stages.terminal,
        transitions: Object.entries(stages.transitions).flatMap(([from, targets]) =>
          targets.map((to): readonly [string, string] => [from, to]),
        ),
      },
    }),
    ...(slots && { slots }),
  };
}

/** Source: our choice; half of what a message may hold. */
const BACKGROUND_BYTES = 32_768;

const SESSION_ID = /^[A-Za-z0-9._:@-]{1,200}$/;

function checkRequest(request: TurnRequest, bytesMost: number): void {
  const { session, message } = request;
  if (!SESSION_ID.test(session)) {
    throw new DureError("SESSION_INVALID", `"${session.slice(0, 80)}" cannot be a session id.`, {
      class: "input",
      hint: "Use 1 to 200 characters of A-Z a-z 0-9 . _ : @ -",
    });
  }
  if (message.trim() === "" && !request.slots) {
    throw new DureError("MESSAGE_INVALID", "The message is empty.", {
      class: "input",
      hint: "Say something, or send slots.",
    });
  }
  if (Buffer.byteLength(message) > bytesMost) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The message has ${Buffer.byteLength(message)} bytes; ${bytesMost} are allowed.`,
      { class: "input", hint: "Send less at once." },
    );
  }
  if (message.includes("\u0000") || !message.isWellFormed()) {
    throw new DureError(
      "MESSAGE_INVALID",
      "The message holds characters that cannot be stored (U+0000 or half of a surrogate pair).",
      { class: "input", hint: "Send plain text in UTF-8." },
    );
  }
  if (
    request.background !== undefined &&
    Buffer.byteLength(request.background) > BACKGROUND_BYTES
  ) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The background has ${Buffer.byteLength(request.background)} bytes; ${BACKGROUND_BYTES} are allowed.`,
      { class: "input", hint: "Tell less before the message." },
    );
  }
  if (request.locale !== undefined && !(LOCALES as readonly string[]).includes(request.locale)) {
    throw new DureError("LOCALE_UNKNOWN", `The locale "${request.locale}" is not known.`, {
      class: "input",
      hint: `Locales are: ${LOCALES.join(", ")}.`,
    });
  }
  if (request.timeZone !== undefined && !isTimeZone(request.timeZone)) {
    throw new DureError("TIME_ZONE_UNKNOWN", `The time zone "${request.timeZone}" is not known.`, {
      class: "input",
      hint: "Use an IANA name such as Asia/Seoul.",
    });
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Characters of a session's title. */
const MAX_TITLE = 60;

function titleOf(message: string): string {
  const line = message.trim().split("\n")[0] ?? "";
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).toWellFormed()}…` : line;
}

function hashOf(request: TurnRequest): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}

function turnUnknown(turnId: string): DureError {
  return new DureError("TURN_UNKNOWN", `There is no turn ${turnId}.`, {
    class: "not-found",
    hint: "Turns are kept 24 hours; check the id.",
  });
}
