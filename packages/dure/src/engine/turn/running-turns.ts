/** The turns that this process runs: claimed, followed, and left in order. */

import { backOffMs } from "../../kernel/back-off.ts";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import type { ClaimedTurn, TurnStore } from "../../durable/turns.ts";
import type { MemoryFolder } from "../agent/memory-fold.ts";
import { UNSERVED_MS, type ServiceDirectory } from "../service/service-directory.ts";
import type { TurnEnvironment } from "./turn-parts.ts";
import { TurnRun } from "./turn-run.ts";

/**
 * Turns that one process runs at once; what is beyond stays unattended until there is room, or goes
 * to another process.
 */
export const MAX_RUNNING = 2_000;
/**
 * How often a process looks for turns that no process works on, milliseconds; any process starts
 * them within 1 s. Source: docs/spec/conversation §3.
 */
const LOOK_EVERY_MS = 400;
/**
 * How often a process asks whether its turns were stopped or taken, milliseconds. A stop reaches
 * the holder within 1 s.
 */
const ASK_EVERY_MS = 500;
/** Unattended turns that are claimed with one look. */
const CLAIM_AT_ONCE = 50;
/**
 * Until a turn whose end could not be written is begun again, milliseconds, doubled each time; and
 * how many such turns are known at most.
 */
const REST = { firstMs: 1_000, maxMs: 60_000 } as const;
/** After trouble that passes: a cut connection is opened again in a moment. */
const INTERRUPTED_REST = { firstMs: 200, maxMs: 60_000 } as const;
const MAX_RESTING = 1_000;
/**
 * Lives of one turn that the database may interrupt without counting against it: about 30 minutes,
 * with `REST` between them.
 */
const MAX_INTERRUPTIONS = 40;

interface RunningTurnsOptions {
  readonly store: TurnStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lease: AbortSignal;
  readonly directory: ServiceDirectory;
  /** For turns that begin now. */
  readonly environment: () => TurnEnvironment;
  readonly folder: () => MemoryFolder;
  /** A turn has begun to run here, or has ended. */
  readonly onChange: (turn: string) => void;
}

interface RestOfTurn {
  readonly tries: number;
  readonly interruptions: number;
  readonly until: number;
}

/** The turns that run in this process, and its search for those that no process works on. */
export class RunningTurns {
  readonly #options: RunningTurnsOptions;
  readonly #runs = new Map<string, TurnRun>();
  /**
   * Turns whose acceptance is on its way: the look for unattended turns must not take them for
   * lost.
   */
  readonly #accepting = new Set<string>();
  /**
   * Turns whose end could not be written: how often, how often of that by trouble that passes, and
   * until when they are left alone, by the monotonic clock.
   */
  readonly #resting = new Map<string, RestOfTurn>();
  #isStopping = false;
  readonly #poller: Poller;
  readonly #stops: Poller;

  constructor(options: RunningTurnsOptions) {
    this.#options = options;
    const { clock, logger, lease: signal } = options;
    const shared = { clock, logger, signal };
    const onLeaseLost = (): void => this.#runs.forEach((run) => run.leaseLost());
    signal.addEventListener("abort", onLeaseLost, { once: true });
    this.#poller = new Poller({
      what: "unattended turns",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      ...shared,
    });
    this.#stops = new Poller({
      what: "stops of turns",
      poll: () => this.#lookForStops(),
      everyMs: ASK_EVERY_MS,
      ...shared,
    });
  }

  /** Begins to look for turns that no process works on, and for stops of those that run here. */
  start(): void {
    this.#poller.start();
    this.#stops.start({ inMs: ASK_EVERY_MS });
  }

  get size(): number {
    return this.#runs.size;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get(turn: string): TurnRun | undefined {
    return this.#runs.get(turn);
  }

  /** Claims nothing more. Resolves when the turns that run here are over. */
  async end(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([this.#poller.stop(), this.#stops.stop()]);
    await Promise.allSettled([...this.#runs.values()].map((run) => run.finished));
  }

  /** From now until the returned function is called `turn` is about to be stored by this process. */
  accepts(turn: string): () => void {
    this.#accepting.add(turn);
    return () => this.#accepting.delete(turn);
  }

  // --- begin

  /** Runs a turn that this process holds. `isUnserved`: no process has taken it for long. */
  begin(held: ClaimedTurn, { isUnserved = false } = {}): void {
    const { lease, directory, environment, onChange } = this.#options;
    if (lease.aborted || this.#runs.has(held.turn)) return;
    const service = directory.get(held.service);
    if (!service && !isUnserved && !held.stop) return this.#leaveToOthers(held);

    const interruptions = this.#resting.get(held.turn)?.interruptions ?? 0;
    const run = new TurnRun({ held, service, environment: environment(), interruptions });
    this.#runs.set(held.turn, run);
    onChange(held.turn);
    const { turn, session, rows } = held;
    if (rows.length > 0 || held.epoch > 1) {
      this.#options.logger.info(
        { turn, session, journal: rows.length },
        `turn ${turn} goes on with ${rows.length} journal rows`,
      );
    }
    void run.finished.then(({ end, next }) => {
      this.#runs.delete(held.turn);
      onChange(held.turn);
      if (end === "failed" || end === "interrupted") this.#rest(held.turn, end);
      else this.#resting.delete(held.turn);
      if (end === "done") this.#afterDone(run, next);
    });
  }

  #leaveToOthers({ turn, epoch, session, service }: ClaimedTurn): void {
    const { store, logger, lease } = this.#options;
    logger.info(
      { turn, session, service },
      `turn ${turn} is of the service ${service}, which is not here; left to other processes`,
    );
    store.giveUp(turn, epoch, { signal: lease }).catch((error: unknown) => {
      if (lease.aborted) return;
      logger.warn(
        { turn, code: codeOf(error), error: messageOf(error) },
        "a turn could not be left to others; the next look tries again",
      );
    });
  }

  /** The session's next turn begins; where there is none, its memory may be folded. */
  #afterDone(run: TurnRun, next: string | null): void {
    if (next !== null) void this.#claim(next);
    else if (run.answeredBy) {
      this.#options.folder().consider(run.held.session, run.answeredBy, run.memory);
    }
  }

  /**
   * The end of this turn could not be written: the next life begins later, the later the oftener.
   */
  #rest(turn: string, end: "failed" | "interrupted"): void {
    const before = this.#resting.get(turn) ?? { tries: 0, interruptions: 0 };
    const tries = before.tries + 1;
    const counted = before.interruptions + (end === "interrupted" ? 1 : 0);
    const interruptions = Math.min(counted, MAX_INTERRUPTIONS);
    const oldest = this.#resting.keys().next();
    // The one that is forgotten begins again at the next look.
    if (this.#resting.size >= MAX_RESTING && !oldest.done) this.#resting.delete(oldest.value);
    // Jittered, so that all turns of an outage do not come back in the same moment.
    const rest = end === "interrupted" ? INTERRUPTED_REST : REST;
    const restMs = backOffMs(tries, rest) * (1 + 0.25 * Math.random());
    const until = this.#options.clock.monotonic() + restMs;
    this.#resting.set(turn, { tries, interruptions, until });
  }

  // --- find

  /**
   * Goes on with turns that have no living holder, now. Resolves when those that this process has
   * room for run here.
   */
  async pickUp(): Promise<void> {
    await this.#poller.poll(); // one that is under way may have looked before they were given up
  }

  /** A turn that no process works on may be there. */
  wake(): void {
    this.#poller.wake();
  }

  /** Starts what runs on paper only: turns of dead processes, and own ones whose start was lost. */
  async #look(): Promise<PollResult> {
    const room = MAX_RUNNING - this.#runs.size;
    if (this.#isStopping || room <= 0) return "idle";
    const limit = Math.min(CLAIM_AT_ONCE, room);
    const turns = await this.#unattended(limit);
    await Promise.all(turns.map(({ id, isUnserved }) => this.#claim(id, { isUnserved })));
    return turns.length < limit ? "idle" : "more";
  }

  async #unattended(limit: number): Promise<readonly { id: string; isUnserved: boolean }[]> {
    const { store, directory, clock } = this.#options;
    const now = clock.monotonic();
    const atRest = [...this.#resting].filter(([, { until }]) => until > now);
    const known = [...this.#runs.keys(), ...this.#accepting, ...atRest.map(([turn]) => turn)];
    const services = directory.names;
    const turns = await store.unattended(known, { services, unservedMs: UNSERVED_MS, limit });
    return turns.filter(({ id }) => !this.#accepting.has(id));
  }

  async #claim(turn: string, how: { isUnserved?: boolean } = {}): Promise<void> {
    const { store, directory, logger, lease } = this.#options;
    if (this.#isStopping || lease.aborted) return;
    if (this.#runs.has(turn) || this.#accepting.has(turn)) return;
    this.#accepting.add(turn);
    try {
      const held = await store.claim(turn, { versions: directory.versions, signal: lease });
      if (held) this.begin(held, how);
    } catch (error) {
      if (lease.aborted) return;
      if (ownTroubleOf(error)) this.#rest(turn, "interrupted");
      logger.warn(
        { turn, code: codeOf(error), error: messageOf(error) },
        "a turn could not be claimed; it stays for a later look",
      );
    } finally {
      this.#accepting.delete(turn);
    }
  }

  // --- stop

  /** A turn that runs here may have been stopped by another process. */
  wakeStops(): void {
    this.#stops.wake();
  }

  /** Asks for stops that came to other processes. */
  async #lookForStops(): Promise<PollResult> {
    if (this.#runs.size === 0) return "idle";
    for (const { id, stop } of await this.#options.store.interrupted([...this.#runs.keys()])) {
      if (stop) this.stop(id);
    }
    return "idle";
  }

  /** Where the turn runs here. */
  stop(turn: string): void {
    this.#runs.get(turn)?.stop();
  }
}
