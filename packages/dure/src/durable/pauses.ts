import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Transaction } from "./database.ts";
import { Poller } from "./poller.ts";
import type { Notifications } from "./notify.ts";
import { storable } from "./storable.ts";

/** An agent for which a person allows no new model call. */
export interface Pause {
  readonly agent: string;
  /** Empty: not known. */
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What a change of a pause writes in its own transaction. */
export type WithPause = (tx: Transaction, pause: Pause) => Promise<void>;

export interface PausesOptions {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The end of this process's right to work. */
  readonly signal?: AbortSignal | undefined;
}

/** Wakes what waits for a pause or its end, in every process. */
export const PAUSES_TOPIC = "pauses";
/** How often a process looks for pauses that it was not notified of, milliseconds. */
const LOOK_EVERY_MS = 500;
/**
 * What was seen longer ago than this does not count before a model call, milliseconds: half of the
 * 4 s for which a lease counts without a question (`durable/lease-proof.ts`).
 */
const SEEN_HOLDS_MS = 2_000;
/** Before a database that did not answer is asked again, milliseconds. */
const ASK_AGAIN_MS = 250;

/**
 * The paused agents, as every process sees them. A pause is a row. A process that is notified of it,
 * or looks, lets no new model call of the agent begin; the work stays where it is until the resume.
 */
export class Pauses {
  readonly #options: PausesOptions;
  readonly #poller: Poller;
  readonly #listeners = new Set<() => void>();
  #paused: ReadonlyMap<string, Pause> = new Map();
  #seenAt: number | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: PausesOptions) {
    const { clock, logger, signal } = options;
    this.#options = options;
    this.#poller = new Poller({
      what: "paused agents",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock,
      logger,
      signal,
    });
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    const { notifications } = this.#options;
    this.#unsubscribe ??= notifications.subscribe(PAUSES_TOPIC, () => this.#poller.wake());
    this.#poller.start();
    await this.#poller.settled;
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#poller.stop();
  }

  // --- looking

  get(agent: string): Pause | undefined {
    return this.#paused.get(agent);
  }

  /** Whether any agent is paused, as this process has seen it last. */
  get some(): boolean {
    return this.#paused.size > 0;
  }

  /** The first of these agents that is paused, as this process has seen it last. */
  first(agents: readonly string[]): Pause | undefined {
    if (this.#paused.size === 0) return undefined;
    const agent = agents.find((one) => this.#paused.has(one));
    return agent === undefined ? undefined : this.#paused.get(agent);
  }

  /**
   * Resolves when none of these agents is paused: directly before a model call. Asks the database
   * where this process has not seen it for a while.
   */
  async passes(agents: readonly string[], { signal }: { signal: AbortSignal }): Promise<void> {
    await this.#seenLately(signal);
    while (this.first(agents)) {
      await this.#changed(signal);
      await this.#seenLately(signal);
    }
  }

  /** Calls `listener` after each change that this process sees. Returns how to leave. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // --- changing

  /** No new model call of this agent from now on. False: it is paused already. */
  async pause(agent: string, by: string, alsoWrite?: WithPause): Promise<boolean> {
    return this.#change("agent.paused", { agent, by }, async (tx) => {
      const [row] = await tx.query<PauseRow>(PAUSE, [agent, by]);
      if (row) await alsoWrite?.(tx, pauseOf(row));
      return row !== undefined;
    });
  }

  /** It goes on where it stood. False: it is not paused. `alsoWrite` gets the pause that is over. */
  async resume(agent: string, by: string, alsoWrite?: WithPause): Promise<boolean> {
    return this.#change("agent.resumed", { agent, by }, async (tx) => {
      const [row] = await tx.query<PauseRow>(LOCK, [agent]);
      if (row) await alsoWrite?.(tx, pauseOf(row));
      if (row) await tx.query(RESUME, [agent]); // what hangs on it goes with it
      return row !== undefined;
    });
  }

  async #change(
    type: string,
    { agent, by }: { agent: string; by: string },
    write: (tx: Transaction) => Promise<boolean>,
  ): Promise<boolean> {
    const { database, notifications } = this.#options;
    const isChanged = await database.transaction(async (tx) => {
      const isNews = await write(tx);
      if (!isNews) return false;
      await tx.query(EMIT, [storable([{ type, role: "system", agent, data: { by } }])]);
      return true;
    });
    await this.#poller.poll();
    for (const topic of [PAUSES_TOPIC, "events"]) notifications.publish(topic);
    return isChanged;
  }

  async #look(): Promise<"idle"> {
    const { database, clock } = this.#options;
    const askedAt = clock.monotonic();
    const rows = await database.query<PauseRow>(PAUSED);
    const isSame = rows.length === this.#paused.size && rows.every((row) => this.#knows(row));
    this.#seenAt = askedAt;
    if (isSame) return "idle";
    this.#paused = new Map(rows.map((row) => [row.agent, pauseOf(row)]));
    for (const listener of this.#listeners) listener();
    return "idle";
  }

  #knows({ agent, at }: PauseRow): boolean {
    return this.#paused.get(agent)?.at === at.getTime();
  }

  async #seenLately(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const isFresh =
        this.#seenAt !== undefined && clock.monotonic() - this.#seenAt <= SEEN_HOLDS_MS;
      if (isFresh) return;
      const before = this.#seenAt;
      await this.#poller.poll();
      if (this.#seenAt === before) await clock.sleep(ASK_AGAIN_MS, { signal });
    }
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const settle = (done: () => void): void => {
        leave();
        signal.removeEventListener("abort", onAbort);
        done();
      };
      const onAbort = (): void => settle(() => reject(signal.reason as Error));
      const leave = this.onChange(() => settle(resolve));
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** What a caller is told that speaks to a paused agent. */
export function agentPaused(agent: string): DureError {
  return new DureError("AGENT_PAUSED", `The agent ${agent} is paused and does not answer.`, {
    class: "conflict",
    hint: `Ask again when it goes on. An operator resumes it: dure resume ${agent}`,
    details: { agent },
  });
}

interface PauseRow {
  readonly agent: string;
  readonly by: string;
  readonly at: Date;
}

function pauseOf({ agent, by, at }: PauseRow): Pause {
  return { agent, by, at: at.getTime() };
}

const PAUSED = { name: "pause.all", text: "select agent, by, at from dure.pauses" };
const PAUSE = {
  name: "pause.begin",
  text: `
    insert into dure.pauses (agent, by)
    values ($1, $2)
    on conflict do nothing
    returning agent, by, at`,
};
const LOCK = {
  name: "pause.lock",
  text: `
    select agent, by, at
    from dure.pauses
    where agent = $1
    for update`,
};
const RESUME = { name: "pause.end", text: "delete from dure.pauses where agent = $1" };
const EMIT = { name: "pause.told", text: "select dure.emit($1)" };
