import { backOffMs } from "../kernel/back-off.ts";
import { systemClock, withTimeout, type Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Json } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { NewPlatformEvent } from "../wire/events.ts";
import type { Database, Queryable, Transaction } from "./database.ts";
import { EVENTS_TOPIC } from "./event-rows.ts";
import { Poller, type PollResult } from "./poller.ts";
import type { Notifications } from "./notify.ts";
import type {
  GivenUp,
  OutboxHandler,
  OutsideHandler,
  OutboxProbeAnswer,
  RowsHandler,
  TransactionalHandler,
} from "./outbox-handler.ts";
import {
  ENQUEUE,
  HELD,
  LOCK,
  LOOK,
  POSTPONE,
  RECORD,
  RESOLVE,
  SETTLE,
  type OutboxEntry,
  type OutboxLook,
} from "./outbox-rows.ts";
import {
  decideStep,
  DEFAULT_POLICY,
  delayed,
  probed,
  settleDoubt,
  type Delayed,
  type Outcome,
  type Step,
} from "./outbox-step.ts";
import { countsAsTry, isTakenOver } from "./passing.ts";
import type { ProcessLease } from "./processes.ts";

/**
 * Sends to the outside. An entry is first a row in the deciding transaction, then sent, then
 * recorded.
 *
 * Entries of one topic and ordering key leave one after another, in the order of their rows; other
 * keys are not held up. `pending → sending → sent | failed | unknown`. A process that dies between
 * sending and recording leaves the entry as `sending`; another process takes it and first checks
 * (`probe`) whether it arrived. A `transactional` handler needs no probe: its rows and the mark
 * `sent` commit together. A handler may have both kinds of payload (`rows`); their order stays one.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #clock: Clock;
  readonly #handlers = new Map<string, OutboxHandler>();
  readonly #running = new Set<Promise<void>>();
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  /** Claimed entries that are being sent here. */
  readonly #delivering = new Set<number>();
  /** Transactional entries that are being run here. */
  readonly #committing = new Set<number>();
  readonly #poller: Poller;
  #unsubscribe: (() => void) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#signal = AbortSignal.any([this.#over.signal, options.lease.signal]);

    this.#poller = new Poller({
      what: "what is to be sent",
      poll: () => this.#drain(),
      everyMs: LOOK_EVERY,
      clock: this.#clock,
      logger: options.logger,
      signal: this.#signal,
      random: options.random,
    });
  }

  /**
   * Says how entries of `topic` are sent. A topic without a handler in this process waits for
   * another process.
   */
  handle(topic: string, handler: OutboxHandler): void {
    this.#handlers.set(topic, handler);
    this.wake();
  }

  /**
   * From now on entries of `topic` wait for another process. What is being sent here is finished
   * here.
   */
  unhandle(topic: string): void {
    this.#handlers.delete(topic);
  }

  start(): void {
    this.#unsubscribe ??= this.#options.notifications?.subscribe(OUTBOX_TOPIC, () => this.wake());
    this.#poller.start();
  }

  /** After the commit of `enqueue`: this process looks at once, the others are told. */
  announce(): void {
    const { notifications } = this.#options;
    if (notifications) notifications.publish(OUTBOX_TOPIC);
    else this.wake();
  }

  wake(): void {
    this.#poller.wake();
  }

  /**
   * Waits for what is being sent; the handlers' signal is aborted after `graceMs` (default 5 s).
   */
  async stop(options: { graceMs?: number } = {}): Promise<void> {
    this.#unsubscribe?.();
    await this.#poller.stop();
    const cancel = this.#clock.after(options.graceMs ?? 5_000, () =>
      this.#over.abort(new DOMException("The outbox was stopped.", "AbortError")),
    );
    await Promise.allSettled(this.#running);
    cancel();
    this.#over.abort(new DOMException("The outbox was stopped.", "AbortError"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Decides about an entry in state `unknown`: it was sent, is sent again, or is given up. */
  async resolve(key: string, decision: "sent" | "again" | "failed"): Promise<void> {
    if (!(await this.resolveIn(this.#options.database, key, decision))) {
      throw new DureError("OUTBOX_NOT_UNKNOWN", `No outbox entry ${key} waits for a decision.`, {
        class: "not-found",
      });
    }
    this.announce();
  }

  /**
   * The same within the caller's transaction, who calls `announce()` after the commit. False:
   * nothing waits for a decision.
   */
  async resolveIn(
    tx: Queryable,
    key: string,
    decision: "sent" | "again" | "failed",
  ): Promise<boolean> {
    const rows = await tx.query(RESOLVE, [key, decision === "again" ? "pending" : decision]);
    return rows.length > 0;
  }

  /** Deliveries that run here. */
  get running(): number {
    return this.#running.size;
  }

  /** Claims what is due and starts it. */
  async #drain(): Promise<PollResult> {
    const { database, lease, concurrency = CONCURRENCY } = this.#options;
    const free = concurrency - this.#running.size;
    if (free <= 0 || this.#handlers.size === 0) return "idle";

    await lease.whenHeld({ signal: this.#signal });
    const handlers = new Map(this.#handlers); // one may be taken away while these statements run

    const [transactional, outside] = partition(
      [...handlers.keys()],
      (topic) => handlers.get(topic)!.transactional === true,
    );

    const [look] = await database.query<OutboxLook>(LOOK, [
      outside,
      free,
      lease.id,
      lease.epoch,
      [...this.#delivering],
      transactional,
      [...this.#committing],
    ]);
    const { claimed, due, wait } = look!;
    for (const entry of claimed) {
      this.#delivering.add(entry.id);
      const delivered = this.#deliver(entry, handlers.get(entry.topic)!);
      this.#run(delivered.finally(() => this.#delivering.delete(entry.id)));
    }
    for (const id of due) this.#run(this.#commit(id));

    // Entries that wait behind these are due when one of these is done; `#run` wakes the looks then.
    const pauseMs = Math.max(MIN_PAUSE, Math.min(LOOK_EVERY, wait ?? LOOK_EVERY));
    return { pauseMs };
  }

  /** `work` says whether it settled anything; then the next in line may be due. */
  #run(work: Promise<boolean>): void {
    const running = work
      .catch((error: unknown) => {
        if (!this.#signal.aborted) {
          this.#options.logger.error(
            { error: messageOf(error) },
            "an outbox entry could not be settled; it is tried again",
          );
        }
        return false;
      })
      .then((settled) => {
        this.#running.delete(running);
        if (settled) this.wake();
      });
    this.#running.add(running);
  }

  /** Sends one claimed entry and records the outcome. */
  async #deliver(entry: OutboxEntry, handler: OutboxHandler): Promise<boolean> {
    if (handler.transactional) return false;
    if (handler.rows?.holds(entry.payload)) return this.#deliverRows(entry, handler, handler.rows);

    const outcome = await this.#attempt(entry, handler);
    // It is left as `sending`: the next owner checks it.
    if (this.#signal.aborted && outcome.kind === "error") return false;

    let step = decideStep(
      entry,
      outcome,
      { ...DEFAULT_POLICY, ...handler.policy },
      this.#options.random ?? Math.random,
    );

    if (step.state === "failed" && step.inDoubt && handler.probe) {
      const found = await this.#probe(entry, handler).catch(
        (error: unknown): Delayed | "unknown" => delayed(error, handler) ?? "unknown",
      );
      if (this.#signal.aborted) return false;
      step = settleDoubt(step, found);
    }

    await this.#untilRecorded(entry, () => this.#record(entry, step, handler));

    return true;
  }

  /** For a claimed entry that only writes rows: these and the mark `sent` commit together. */
  async #deliverRows(
    entry: OutboxEntry,
    handler: OutsideHandler,
    rows: RowsHandler,
  ): Promise<boolean> {
    const { database, lease } = this.#options;
    let failure: Outcome | undefined;

    // A lost answer to the commit is asked for again: an entry that is not ours any longer was
    // committed, or taken.
    await this.#untilRecorded(entry, async () => {
      failure = undefined;
      try {
        await database.transaction(async (tx) => {
          await lease.guard(tx);
          const [mine] = await tx.query(HELD, [entry.id, lease.id, lease.epoch]);
          if (!mine) return;

          const result = await rows.run(entry.payload, {
            key: entry.key,
            tx,
            attempt: entry.attempts + 1,
            signal: this.#signal,
          });

          await tx.query(SETTLE, [entry.id, "sent", JSON.stringify(result ?? null)]);
        });
      } catch (error) {
        if (this.#signal.aborted || !countsAsTry(error)) throw error;
        failure = {
          kind: "error",
          error,
          phase: "send",
          verdict: { class: "transient", ...handler.classify?.(error), notSent: true },
        };
      }
    });

    if (this.#signal.aborted) return false;

    if (failure) {
      const step = decideStep(
        entry,
        failure,
        { ...DEFAULT_POLICY, ...handler.policy },
        this.#options.random ?? Math.random,
      );
      await this.#untilRecorded(entry, () => this.#record(entry, step, handler));
    }

    return true;
  }

  async #attempt(entry: OutboxEntry, handler: OutsideHandler): Promise<Outcome> {
    try {
      if (entry.in_doubt && handler.probe) {
        const found = await this.#probe(entry, handler);
        if (found !== "not_happened") return probed(found);
        if (entry.attempts >= { ...DEFAULT_POLICY, ...handler.policy }.attempts) {
          return { kind: "exhausted" };
        }
      }
    } catch (error) {
      return { kind: "error", error, phase: "probe", verdict: handler.classify?.(error) };
    }
    try {
      const result = await this.#bounded(entry, handler, (signal) =>
        handler.send(entry.payload, {
          key: entry.key,
          attempt: entry.attempts + 1,
          inDoubt: entry.in_doubt,
          signal,
        }),
      );
      return { kind: "sent", result };
    } catch (error) {
      return { kind: "error", error, phase: "send", verdict: handler.classify?.(error) };
    }
  }

  async #probe(entry: OutboxEntry, handler: OutsideHandler): Promise<OutboxProbeAnswer> {
    return this.#bounded(entry, handler, (signal) =>
      handler.probe!(entry.payload, { key: entry.key, signal }),
    );
  }

  async #bounded<T>(
    entry: OutboxEntry,
    handler: OutsideHandler,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs } = { ...DEFAULT_POLICY, ...handler.policy };
    const late = (): DureError =>
      new DureError("OUTBOX_TIMEOUT", `${entry.topic} did not answer within ${timeoutMs} ms.`, {
        class: "unavailable",
      });

    return withTimeout(this.#clock, { ms: timeoutMs, signal: this.#signal }, late, work);
  }

  async #record(entry: OutboxEntry, step: Step, handler: OutboxHandler): Promise<void> {
    const { database, lease, logger, notifications } = this.#options;
    let afterwards: (() => void) | void = undefined;

    const told = await database.transaction(async (tx) => {
      await lease.guard(tx);
      const values = [
        entry.id,
        lease.id,
        lease.epoch,
        step.state,
        step.attempts,
        step.inDoubt,
        step.waitMs,
        JSON.stringify(step.result ?? null),
        JSON.stringify(step.error ?? null),
      ];

      const [mine] = await tx.query(RECORD, values);
      if (!mine) return false;

      if (step.state === "sent" && !handler.transactional) {
        afterwards = await handler.onSent?.(
          { key: entry.key, payload: entry.payload, result: step.result ?? null },
          tx,
        );
      }

      await this.#tellGivenUp(tx, entry, step, handler);

      return step.state === "failed" || step.state === "unknown";
    });

    (afterwards as (() => void) | undefined)?.();
    if (!told) return;

    notifications?.publish(EVENTS_TOPIC);
    // An error text from outside may quote a person's message: logged at debug only. Source:
    // docs/spec/platform §7.
    const facts = { key: entry.key, topic: entry.topic, code: step.error?.code };
    const line = `outbox entry ${entry.key} is ${step.state} after ${step.attempts} attempts`;
    logger.warn(facts, line);
    if (step.error) logger.debug({ ...facts, error: step.error.message }, `${line}: its own words`);
  }

  async #tellGivenUp(
    tx: Transaction,
    entry: OutboxEntry,
    step: Step,
    handler: OutboxHandler,
  ): Promise<void> {
    if (step.state !== "failed" && step.state !== "unknown") return;

    const given: GivenUp = {
      key: entry.key,
      topic: entry.topic,
      ordering: entry.ordering,
      payload: entry.payload,
      outcome: step.state,
      attempts: step.attempts,
      error: step.error,
    };

    const event: NewPlatformEvent = {
      type: `outbox.${step.state}`,
      role: "system",
      data: {
        key: given.key,
        topic: given.topic,
        ordering: given.ordering,
        attempts: given.attempts,
        error: step.error,
      },
    };

    await tx.query({ name: "outbox.event", text: "select dure.emit($1)" }, [
      JSON.stringify([event]),
    ]);
    await handler.onGivenUp?.(given, tx);
  }

  /** Records a known outcome: waits for the database as long as this process may write. */
  async #untilRecorded(entry: OutboxEntry, record: () => Promise<void>): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        return await record();
      } catch (error) {
        if (this.#signal.aborted || isTakenOver(error)) return;
        this.#options.logger.warn(
          { key: entry.key, error: messageOf(error) },
          `the outcome of outbox entry ${entry.key} is not recorded yet; again soon`,
        );
        await this.#clock
          .sleep(backOffMs(failures, RECORD_BACK_OFF), { signal: this.#signal })
          .catch(() => {});
      }
    }
  }

  /** Runs a transactional handler and marks the entry in the same transaction. */
  async #commit(id: number): Promise<boolean> {
    const { database, lease } = this.#options;
    let entry: OutboxEntry | undefined;
    this.#committing.add(id);

    try {
      return await database.transaction(async (tx) => {
        await lease.guard(tx);
        [entry] = await tx.query<OutboxEntry>(LOCK, [id]);
        const handler = entry && this.#handlers.get(entry.topic);
        if (!entry || !handler?.transactional) return false; // another process was first

        const result = await handler.run(entry.payload, {
          key: entry.key,
          tx,
          attempt: entry.attempts + 1,
          signal: this.#signal,
        });

        await tx.query(SETTLE, [entry.id, "sent", JSON.stringify(result ?? null)]);

        return true;
      });
    } catch (error) {
      const handler = entry && this.#handlers.get(entry.topic);
      if (this.#signal.aborted || !countsAsTry(error) || !entry || !handler?.transactional) {
        throw error;
      }
      await this.#recordFailure(entry, handler, error);
      return true;
    } finally {
      this.#committing.delete(id);
    }
  }

  async #recordFailure(
    entry: OutboxEntry,
    handler: TransactionalHandler,
    error: unknown,
  ): Promise<void> {
    const outcome: Outcome = {
      kind: "error",
      error,
      phase: "send",
      verdict: handler.classify?.(error),
    };

    const step = decideStep(
      entry,
      outcome,
      { ...DEFAULT_POLICY, ...handler.policy },
      this.#options.random ?? Math.random,
    );

    await this.#options.database.transaction(async (tx) => {
      await this.#options.lease.guard(tx);
      const [open] = await tx.query(POSTPONE, [
        entry.id,
        step.state,
        step.attempts,
        step.waitMs,
        JSON.stringify(step.error ?? null),
      ]);

      if (open) await this.#tellGivenUp(tx, entry, step, handler);
    });

    if (step.state === "failed") this.#options.notifications?.publish(EVENTS_TOPIC);
  }
}

/**
 * Adds entries within the caller's transaction. The caller calls `outbox.announce()` after the
 * commit.
 */
export async function enqueue(tx: Queryable, entries: readonly NewEntry[]): Promise<void> {
  if (entries.length > 0) await tx.query(ENQUEUE, [entriesParameter(entries)]);
}

/**
 * For writers that put entries into a statement of their own: `select dure.enqueue($1)` with this
 * parameter.
 */
function entriesParameter(entries: readonly NewEntry[]): string {
  return JSON.stringify(
    entries.map(({ topic, ordering, key, payload, delayMs }) => ({
      topic,
      ordering,
      key: key ?? newId("event"),
      payload,
      delay_ms: delayMs,
    })),
  );
}

const OUTBOX_TOPIC = "outbox";

export interface NewEntry {
  readonly topic: string;
  /**
   * Entries of one topic and ordering key leave one after another: a session, a place and account.
   */
  readonly ordering: string;
  readonly payload: Json;
  /**
   * Handed to the outside, the same for every attempt; a second entry of one key is dropped.
   * Default: new.
   */
  readonly key?: string | undefined;
  readonly delayMs?: number;
}

export interface OutboxOptions {
  readonly database: Database;
  readonly lease: ProcessLease;
  readonly logger: Logger;
  readonly notifications?: Pick<Notifications, "publish" | "subscribe">;
  readonly clock?: Clock;
  /** Entries sent at the same time by this process. Default 16. */
  readonly concurrency?: number;
  readonly random?: () => number;
}

const CONCURRENCY = 16;

/** Milliseconds between two looks without a wake-up. */
const LOOK_EVERY = 1_000;

/** Shortest pause between two looks, in milliseconds; a wake-up ends it early. */
const MIN_PAUSE = 20;

/** Until a known outcome is recorded. */
const RECORD_BACK_OFF = { firstMs: 50, maxMs: 1_000 } as const;

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}
