import { backOffMs } from "../kernel/back-off.ts";
import { systemClock, withTimeout, type Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Json } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Queryable, Transaction } from "./database.ts";
import { EVENTS_TOPIC } from "./event-rows.ts";
import { Looker, type LookResult } from "./looker.ts";
import type { Notifications } from "./notify.ts";
import { countsAsTry } from "./passing.ts";
import type { ProcessLease } from "./processes.ts";
import type { NewPlatformEvent } from "../wire/events.ts";

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
  /** Transactional entries that are being run here. */
  readonly #committing = new Set<number>();
  readonly #looker: Looker;
  #unsubscribe: (() => void) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#signal = AbortSignal.any([this.#over.signal, options.lease.signal]);

    this.#looker = new Looker({
      what: "what is to be sent",
      look: () => this.#drain(),
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
    this.#looker.start();
  }

  /** After the commit of `enqueue`: this process looks at once, the others are told. */
  announce(): void {
    this.wake();
    this.#options.notifications?.publish(OUTBOX_TOPIC);
  }

  wake(): void {
    this.#looker.wake();
  }

  /**
   * Waits for what is being sent; the handlers' signal is aborted after `graceMs` (default 5 s).
   */
  async stop(options: { graceMs?: number } = {}): Promise<void> {
    this.#unsubscribe?.();
    await this.#looker.stop();
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

  /** Claims what is due and starts it. */
  async #drain(): Promise<LookResult> {
    const { database, lease, concurrency = CONCURRENCY } = this.#options;
    const free = concurrency - this.#running.size;
    if (free <= 0 || this.#handlers.size === 0) return "rest";

    await lease.whenHeld({ signal: this.#signal });
    const handlers = new Map(this.#handlers); // one may be taken away while these statements run

    const [transactional, outside] = partition(
      [...handlers.keys()],
      (topic) => handlers.get(topic)!.transactional === true,
    );

    const claimed =
      outside.length === 0
        ? []
        : await database.query<Entry>(CLAIM, [outside, free, lease.id, lease.epoch]);

    for (const entry of claimed) this.#run(this.#deliver(entry, handlers.get(entry.topic)!));

    const due =
      transactional.length === 0
        ? []
        : await database.query<{ id: number }>(DUE, [
            transactional,
            free - claimed.length,
            [...this.#committing],
          ]);

    for (const { id } of due) this.#run(this.#commit(id));
    // Entries that wait behind these are due when one of these is done; `#run` wakes the looks then.
    const [next] = await database.query<{ wait: number | null }>(NEXT, [
      [...this.#handlers.keys()],
    ]);
    const wait = next?.wait ?? LOOK_EVERY;

    return { pauseMs: Math.max(MIN_PAUSE, Math.min(LOOK_EVERY, wait)) };
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
  async #deliver(entry: Entry, handler: OutboxHandler): Promise<boolean> {
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
  async #deliverRows(entry: Entry, handler: OutsideHandler, rows: RowsHandler): Promise<boolean> {
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

  async #attempt(entry: Entry, handler: OutsideHandler): Promise<Outcome> {
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
        handler.send(entry.payload, { key: entry.key, attempt: entry.attempts + 1, signal }),
      );
      return { kind: "sent", result };
    } catch (error) {
      return { kind: "error", error, phase: "send", verdict: handler.classify?.(error) };
    }
  }

  async #probe(entry: Entry, handler: OutsideHandler): Promise<ProbeAnswer> {
    return this.#bounded(entry, handler, (signal) =>
      handler.probe!(entry.payload, { key: entry.key, signal }),
    );
  }

  async #bounded<T>(
    entry: Entry,
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

  async #record(entry: Entry, step: Step, handler: OutboxHandler): Promise<void> {
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
    entry: Entry,
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
  async #untilRecorded(entry: Entry, record: () => Promise<void>): Promise<void> {
    for (let failures = 1; ; failures++) {
      try {
        return await record();
      } catch (error) {
        if (this.#signal.aborted || codeOf(error) === "FENCED") return;
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
    let entry: Entry | undefined;
    this.#committing.add(id);

    try {
      return await database.transaction(async (tx) => {
        await lease.guard(tx);
        [entry] = await tx.query<Entry>(LOCK, [id]);
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

  async #recordFailure(entry: Entry, handler: TransactionalHandler, error: unknown): Promise<void> {
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
  readonly key?: string;
  readonly delayMs?: number;
}

export type OutboxHandler = OutsideHandler | TransactionalHandler;

/** Sends to the outside: at least once, with the same key each time. */
export interface OutsideHandler extends HandlerOptions {
  readonly transactional?: false;
  send(
    payload: Json,
    options: { key: string; attempt: number; signal: AbortSignal },
  ): Promise<Json | void>;
  /**
   * Whether an attempt whose outcome is unknown has arrived. Without it such an entry is sent
   * again, with its key.
   */
  probe?(payload: Json, options: { key: string; signal: AbortSignal }): Promise<ProbeAnswer>;
  /**
   * In the transaction that records `sent`: what follows from it. Holds nothing but SQL and may run
   * more than once before it commits. What it returns is called after the commit.
   */
  onSent?(sent: Sent, tx: Transaction): Promise<(() => void) | void>;
  /** For payloads of this topic that leave nothing but rows. */
  readonly rows?: RowsHandler;
}

/** Exactly once; holds nothing but SQL and may run more than once before it commits. */
export interface RowsHandler {
  /** Whether this payload is one of them; the others are sent. */
  holds(payload: Json): boolean;
  run: TransactionalHandler["run"];
}

export type ProbeAnswer =
  | "happened"
  | "not_happened"
  | "unknown"
  | { readonly status: "happened"; readonly result: Json };

export interface Sent {
  readonly key: string;
  readonly payload: Json;
  /** What `send` gave, or the probe; null when only the fact is known. */
  readonly result: Json;
}

/**
 * Writes rows only: exactly once. Holds nothing but SQL and may run more than once before it
 * commits.
 */
export interface TransactionalHandler extends HandlerOptions {
  readonly transactional: true;
  run(
    payload: Json,
    options: { key: string; tx: Transaction; attempt: number; signal: AbortSignal },
  ): Promise<Json | void>;
}

interface HandlerOptions {
  readonly policy?: Partial<RetryPolicy>;
  /** What an error means; undefined means: try again, perhaps it has arrived. */
  classify?(error: unknown): FailureVerdict | undefined;
  /** In the transaction that records `failed` or `unknown`: the place for an escalation. */
  onGivenUp?(given: GivenUp, tx: Transaction): Promise<void>;
}

export interface FailureVerdict {
  /**
   * `permanent`: not again. `rate-limited`: again after `afterMs`, not counted as an attempt.
   * `transient`: counted.
   */
  readonly class: "permanent" | "rate-limited" | "transient";
  readonly afterMs?: number | undefined;
  /** The outside certainly has not done it: the next attempt needs no probe. */
  readonly notSent?: boolean;
}

export interface GivenUp {
  readonly key: string;
  readonly topic: string;
  readonly ordering: string;
  readonly payload: Json;
  readonly outcome: "failed" | "unknown";
  readonly attempts: number;
  readonly error: unknown;
}

export interface RetryPolicy {
  /** Attempts in all. Default 4. Source: docs/spec/collaboration §6 E4: 3 retries. */
  readonly attempts: number;
  /**
   * Pause before the first retry, doubled each time, in milliseconds. Default 1,000 (1, 2, 4 s;
   * jitter ≤ 20 %). Source: §6 E4.
   */
  readonly firstRetryMs: number;
  /** Longest wait for one answer, in milliseconds. Default 10,000. Source: §6 E5. */
  readonly timeoutMs: number;
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

const DEFAULT_POLICY: RetryPolicy = { attempts: 4, firstRetryMs: 1_000, timeoutMs: 10_000 };
const CONCURRENCY = 16;
/** Milliseconds between two looks without a wake-up. */
const LOOK_EVERY = 1_000;
/** Shortest pause between two looks, in milliseconds; a wake-up ends it early. */
const MIN_PAUSE = 20;
/** Until a known outcome is recorded. */
const RECORD_BACK_OFF = { firstMs: 50, maxMs: 1_000 } as const;

interface Entry {
  readonly id: number;
  readonly topic: string;
  readonly ordering: string;
  readonly key: string;
  readonly payload: Json;
  readonly attempts: number;
  readonly in_doubt: boolean;
}

type Outcome =
  | { readonly kind: "sent"; readonly result: Json | void }
  | { readonly kind: "probed"; readonly found: "happened" | "unknown"; readonly result?: Json }
  /** Every attempt is used up, and none has arrived. */
  | { readonly kind: "exhausted" }
  | {
      readonly kind: "error";
      readonly error: unknown;
      readonly phase: "probe" | "send";
      readonly verdict?: FailureVerdict | undefined;
    };

interface Step {
  readonly state: "pending" | "sent" | "failed" | "unknown";
  readonly attempts: number;
  readonly inDoubt: boolean;
  readonly waitMs: number;
  readonly result?: Json | undefined;
  readonly error?: { readonly code: string | undefined; readonly message: string } | undefined;
}

/** What follows from one attempt. Pure; the first rule that applies wins. */
export function decideStep(
  entry: { readonly attempts: number; readonly in_doubt: boolean },
  outcome: Outcome,
  policy: RetryPolicy,
  random: () => number,
): Step {
  const { attempts } = entry;
  switch (outcome.kind) {
    case "sent": {
      const result = outcome.result ?? null;
      return { state: "sent", attempts: attempts + 1, inDoubt: false, waitMs: 0, result };
    }
    case "probed": {
      const { found, result } = outcome;
      const state = found === "happened" ? "sent" : "unknown";
      return { state, attempts, inDoubt: found === "unknown", waitMs: 0, result };
    }
    case "exhausted": {
      const error = { code: "OUTBOX_EXHAUSTED", message: "None of the attempts has arrived." };
      return { state: "failed", attempts, inDoubt: false, waitMs: 0, error };
    }
    case "error":
      return stepAfterError(entry, outcome, policy, random);
    default:
      return outcome satisfies never;
  }
}

function stepAfterError(
  entry: { readonly attempts: number; readonly in_doubt: boolean },
  outcome: Extract<Outcome, { kind: "error" }>,
  policy: RetryPolicy,
  random: () => number,
): Step {
  const error = { code: codeOf(outcome.error), message: messageOf(outcome.error) };
  const verdict = outcome.verdict ?? { class: "transient" };
  const inDoubt = outcome.phase === "probe" || verdict.notSent !== true;

  if (verdict.class === "rate-limited") {
    return {
      state: "pending",
      attempts: entry.attempts,
      inDoubt: entry.in_doubt,
      waitMs: verdict.afterMs ?? policy.firstRetryMs,
      error,
    };
  }

  const attempts = entry.attempts + 1;
  // Without a successful probe the entry is not failed: it may have arrived.
  if (verdict.class === "permanent" && outcome.phase === "probe") {
    return { state: "unknown", attempts, inDoubt: true, waitMs: 0, error };
  }
  if (verdict.class === "permanent") {
    return { state: "failed", attempts, inDoubt: false, waitMs: 0, error };
  }

  if (attempts >= policy.attempts) {
    const state = outcome.phase === "probe" ? "unknown" : "failed";
    return { state, attempts, inDoubt, waitMs: 0, error };
  }

  const waitMs =
    verdict.afterMs ?? policy.firstRetryMs * 2 ** entry.attempts * (1 + 0.2 * random());

  return { state: "pending", attempts, inDoubt, waitMs, error };
}

/** The last attempt failed but may have arrived. Pure. */
function settleDoubt(step: Step, found: ProbeAnswer | Delayed): Step {
  if (typeof found === "object" && "waitMs" in found) {
    return { ...step, state: "pending", inDoubt: true, waitMs: found.waitMs };
  }
  if (typeof found === "object") {
    return { ...step, state: "sent", inDoubt: false, result: found.result };
  }
  if (found === "happened") return { ...step, state: "sent", inDoubt: false };

  return found === "not_happened" ? { ...step, inDoubt: false } : { ...step, state: "unknown" };
}

/** The outside cannot be asked before this many milliseconds have passed. */
interface Delayed {
  readonly waitMs: number;
}

function delayed(error: unknown, handler: OutsideHandler): Delayed | undefined {
  const verdict = handler.classify?.(error);
  return verdict?.class === "rate-limited"
    ? { waitMs: verdict.afterMs ?? { ...DEFAULT_POLICY, ...handler.policy }.firstRetryMs }
    : undefined;
}

function probed(found: Exclude<ProbeAnswer, "not_happened">): Outcome {
  return typeof found === "object"
    ? { kind: "probed", found: "happened", result: found.result }
    : { kind: "probed", found };
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}

const ENQUEUE = { name: "outbox.enqueue", text: "select dure.enqueue($1)" };

/** No earlier entry of its topic and key is open. */
const FIRST_IN_LINE = `
  not exists (select from dure.outbox b
               where b.topic = o.topic and b.ordering = o.ordering and b.id < o.id and b.state in ('pending', 'sending'))`;

/** Due, or left by a dead process. */
const CLAIM = {
  name: "outbox.claim",
  text: `
    with claimable as (
      select o.id, o.state from dure.outbox o
       where o.topic = any($1::text[])
         and o.state in ('pending', 'sending')
         and o.next_at <= clock_timestamp()
         and (o.state = 'pending' or not exists (
               select from dure.processes p
               where p.id = o.holder and p.epoch = o.holder_epoch and p.ended_at is null))
         and ${FIRST_IN_LINE}
       order by o.next_at, o.id limit $2::integer
         for update of o skip locked
    )
    update dure.outbox o
       set state = 'sending', holder = $3, holder_epoch = $4,
         in_doubt = o.in_doubt or c.state = 'sending',
           first_attempt_at = coalesce(o.first_attempt_at, clock_timestamp())
      from claimable c
     where o.id = c.id
    returning o.id, o.topic, o.ordering, o.key, o.payload, o.attempts, o.in_doubt`,
};

const DUE = {
  name: "outbox.due",
  text: `
    select o.id from dure.outbox o
     where o.topic = any($1::text[])
       and o.state = 'pending'
       and o.next_at <= clock_timestamp()
       and o.id <> all($3::bigint[])
       and ${FIRST_IN_LINE}
     order by o.next_at, o.id limit $2::integer`,
};

const LOCK = {
  name: "outbox.lock",
  text: `
    select o.id, o.topic, o.ordering, o.key, o.payload, o.attempts, o.in_doubt
    from dure.outbox o
     where o.id = $1 and o.state = 'pending' and o.next_at <= clock_timestamp() and ${FIRST_IN_LINE}
       for update of o skip locked`,
};

const NEXT = {
  name: "outbox.next",
  text: `
    select extract(epoch from min(next_at) - clock_timestamp()) * 1000 as wait
      from dure.outbox
      where state = 'pending' and topic = any($1::text[]) and next_at > clock_timestamp()`,
};

const RECORD = {
  name: "outbox.record",
  text: `
    update dure.outbox
       set state = $4, attempts = $5, in_doubt = $6,
         next_at = clock_timestamp() + $7::double precision * interval '1 millisecond',
           result = $8, error = nullif($9::jsonb, 'null'), holder = null, holder_epoch = null,
           settled_at = case when $4 = 'pending' then null else clock_timestamp() end
     where id = $1 and state = 'sending' and holder = $2 and holder_epoch = $3
    returning id`,
};

const HELD = {
  name: "outbox.held",
  text: `select id
    from dure.outbox
    where id = $1 and state = 'sending' and holder = $2 and holder_epoch = $3
    for update`,
};

const SETTLE = {
  name: "outbox.settle",
  text: `
    update dure.outbox
    set state = $2, attempts = attempts + 1, result = $3, error = null, holder = null,
      holder_epoch = null, in_doubt = false,
           settled_at = clock_timestamp(),
           first_attempt_at = coalesce(first_attempt_at, clock_timestamp())
     where id = $1`,
};

const POSTPONE = {
  name: "outbox.postpone",
  text: `
    update dure.outbox
       set state = $2, attempts = $3,
         next_at = clock_timestamp() + $4::double precision * interval '1 millisecond',
           error = nullif($5::jsonb, 'null'),
           settled_at = case when $2 = 'pending' then null else clock_timestamp() end,
           first_attempt_at = coalesce(first_attempt_at, clock_timestamp())
     where id = $1 and state = 'pending'
    returning id`,
};

const RESOLVE = {
  name: "outbox.resolve",
  text: `
    update dure.outbox
       set state = $2, in_doubt = false,
         attempts = case when $2 = 'pending' then 0 else attempts end,
         next_at = clock_timestamp(),
           settled_at = case when $2 = 'pending' then null else clock_timestamp() end
     where key = $1 and state = 'unknown'
    returning id`,
};
