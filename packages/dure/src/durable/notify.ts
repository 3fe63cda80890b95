import type pg from "pg";
import { systemClock, type Cancel, type Clock } from "../kernel/clock.ts";
import { messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database } from "./database.ts";

export interface NotificationsOptions {
  readonly database: Database;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
}

/** The one channel; the payload is a topic such as `events` or `stops`, never data. */
const CHANNEL = "dure";
/** One NOTIFY per topic in this many milliseconds. */
const COALESCE = 5;
/** How long it holds whether another process listens, in milliseconds. */
const LOOK_AGAIN = 1_000;
/** First and longest pause between attempts to connect, in milliseconds. */
const BACKOFF = { first: 50, longest: 2_000 } as const;

/**
 * Wakes the code that waits for a change in the database, in every process. A wake-up may be missed
 * or come without cause. So a callback reads the tables, and also does so at intervals without a
 * wake-up. After each (re)connect all callbacks are called. This process is woken at once; PostgreSQL
 * tells the others, and what comes back from there is not heard twice. A process that is alone sends
 * nothing: it looks once a second for others, and one that begins to listen says so.
 *
 * Two connections of its own: one listens, one publishes. A cut one comes back with back-off until
 * `stop`.
 */
export class Notifications {
  readonly #database: Database;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #callbacks = new Map<string, Set<() => void>>();
  readonly #pending = new Set<string>();
  /** Topics whose callbacks here are called when the code that publishes has run. */
  readonly #pendingHere = new Set<string>();
  #listener: pg.Client | undefined;
  #publisher: pg.Client | undefined;
  #flushing: Promise<void> | undefined;
  #cancelFlush: Cancel | undefined;
  /** Whether another process listens; `until` by the monotonic clock. */
  #others = { listen: true, until: 0 };
  #started: Promise<void> | undefined;
  #running: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(options: NotificationsOptions) {
    this.#database = options.database;
    this.#logger = options.logger;
    this.#clock = options.clock ?? systemClock;
  }

  /** Resolves when the first LISTEN stands; an unreachable database makes it wait, not fail. */
  start(): Promise<void> {
    this.#started ??= new Promise<void>((resolve) => {
      this.#running = this.#listen(this.#stopping.signal, resolve).finally(resolve);
    });
    return this.#started;
  }

  /** Returns how to unsubscribe. */
  subscribe(topic: string, callback: () => void): () => void {
    let callbacks = this.#callbacks.get(topic);
    if (!callbacks) this.#callbacks.set(topic, (callbacks = new Set()));
    callbacks.add(callback);

    return () => {
      callbacks.delete(callback);
      if (callbacks.size === 0) this.#callbacks.delete(topic);
    };
  }

  /**
   * Call after the commit. Never throws and never waits; readers that miss it look by themselves.
   */
  publish(topic: string): void {
    if (!this.#started || this.#stopping.signal.aborted) return;
    this.#wakeHere(topic);
    this.#pending.add(topic);

    this.#cancelFlush ??= this.#clock.after(COALESCE, () => {
      this.#cancelFlush = undefined;
      // One flush at a time: while the database is slow, topics gather here, each once.
      this.#flushing ??= this.#flush().finally(() => (this.#flushing = undefined));
    });
  }

  /** Sends what is pending, then closes both connections. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return this.#running;

    this.#stopping.abort(new Error("notifications stopped"));
    this.#cancelFlush?.();
    await this.#flushing;
    await this.#flush();
    await end(this.#listener);
    await end(this.#publisher);
    await this.#running;
  }

  async #listen(signal: AbortSignal, onFirst: () => void): Promise<void> {
    let pause: number = BACKOFF.first;
    while (!signal.aborted) {
      try {
        const client = await this.#database.connectSession({
          applicationName: `${this.#database.applicationName}:listen`,
        });
        this.#listener = client;
        const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
        client.on("notification", ({ payload, processId }) => {
          if (processId === numberOf(this.#publisher)) return;
          this.#others = { listen: true, until: 0 };
          this.#wake(payload ?? "");
        });
        if (signal.aborted) return await end(client);
        await client.query(`listen ${CHANNEL}; notify ${CHANNEL}, ''`);
        pause = BACKOFF.first;
        for (const topic of [...this.#callbacks.keys()]) this.#wake(topic);
        onFirst();
        await ended;
        this.#listener = undefined;
        if (!signal.aborted) this.#logger.warn({}, "notifications cut off; connecting again");
      } catch (error) {
        await end(this.#listener);
        if (!signal.aborted) {
          this.#logger.warn(
            { error: messageOf(error) },
            `notifications not connected; next attempt in ${pause} ms`,
          );
        }
      }
      await this.#clock.sleep(pause, { signal }).catch(() => {});
      pause = Math.min(pause * 2, BACKOFF.longest);
    }
  }

  #wakeHere(topic: string): void {
    if (this.#pendingHere.size === 0) {
      queueMicrotask(() => {
        const topics = [...this.#pendingHere];
        this.#pendingHere.clear();
        for (const one of topics) this.#wake(one);
      });
    }
    this.#pendingHere.add(topic);
  }

  #wake(topic: string): void {
    for (const callback of [...(this.#callbacks.get(topic) ?? [])]) {
      try {
        callback();
      } catch (error) {
        this.#logger.error({ topic, error: messageOf(error) }, `a subscriber of ${topic} threw`);
      }
    }
  }

  async #flush(): Promise<void> {
    while (this.#pending.size > 0) {
      const topics = [...this.#pending];
      this.#pending.clear();
      try {
        const known = this.#others;
        const isKnown = this.#clock.monotonic() < known.until;
        if (isKnown && !known.listen) return;
        const client = await this.#connectPublisher();
        const values = [CHANNEL, topics, isKnown, numberOf(this.#listener)];
        const { rows } = await client.query(TELL, values);
        // One that has begun to listen meanwhile has said so.
        if (isKnown || known !== this.#others) continue;
        const until = this.#clock.monotonic() + LOOK_AGAIN;
        this.#others = { listen: rows.length > 0, until };
      } catch (error) {
        this.#logger.warn(
          { topics, error: messageOf(error) },
          "wake-up not sent; readers look by themselves",
        );
        await end(this.#publisher);
        this.#publisher = undefined;
        return;
      }
    }
  }

  async #connectPublisher(): Promise<pg.Client> {
    if (this.#publisher) return this.#publisher;

    const client = await this.#database.connectSession({
      applicationName: `${this.#database.applicationName}:notify`,
    });
    client.once("end", () => {
      if (this.#publisher === client) this.#publisher = undefined;
    });
    // A crash of the server may lose a wake-up: then all connect again, and look.
    await client.query("set synchronous_commit = off");

    return (this.#publisher = client);
  }
}

/** $1 channel, $2 topics, $3 others listen, $4 the own listener. No rows: no other listens. */
const TELL = `
  select pg_notify($1, topic)
  from unnest($2::text[]) as topic
  where $3 or exists (
    select
    from pg_stat_activity
    where datname = current_database() and application_name like 'dure:%:listen'
      and pid is distinct from $4
  )`;

/** PostgreSQL's number of a connection, which notifications name. */
function numberOf(client: pg.Client | undefined): number | undefined {
  return (client as { processID?: number } | undefined)?.processID;
}

async function end(client: pg.Client | undefined): Promise<void> {
  await client?.end().catch(() => {});
}
