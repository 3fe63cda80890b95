import type { Clock } from "../../kernel/clock.ts";

export interface IdentifyGateOptions {
  readonly clock: Clock;
  /** Between two sessions of one bot, milliseconds. */
  readonly perBotMs: number;
  /** Between the sessions of any two bots of this process, milliseconds. */
  readonly betweenBotsMs: number;
}

const DAY_MS = 24 * 60 * 60_000;
/** Starts of a bot that are remembered: more than a day may have. */
const KEPT_STARTS = 1000;

/**
 * When a bot may start a session. The platform lets a bot start one per 5 s (its `max_concurrency`
 * counts shards, and a bot here is one shard); bots do not count against each other, but starting
 * them one by one spares the machine and the platform.
 */
export class IdentifyGate {
  readonly #options: IdentifyGateOptions;
  readonly #nextOfBot = new Map<string, number>();
  readonly #startsOfBot = new Map<string, number[]>();
  #next = 0;

  constructor(options: IdentifyGateOptions) {
    this.#options = options;
  }

  /** Resolves when it is this bot's turn; rejects when aborted, and then the turn is lost. */
  async wait(bot: string, signal: AbortSignal): Promise<void> {
    const { clock, perBotMs, betweenBotsMs } = this.#options;
    const now = clock.monotonic();
    const ownTurn = this.#nextOfBot.get(bot) ?? 0;
    const at = ownTurn > now ? ownTurn : Math.max(now, this.#next);
    // a bot that waits for its own sake delays no other bot
    if (ownTurn <= now) this.#next = at + betweenBotsMs;
    this.#nextOfBot.set(bot, at + perBotMs);
    if (at > now) await clock.sleep(at - now, { signal });
    signal.throwIfAborted();
    this.#startsOfBot.set(bot, [...this.#recentOf(bot), clock.monotonic()].slice(-KEPT_STARTS));
  }

  /** How often this process has let a bot start in the last 24 h. */
  startedToday(bot: string): number {
    return this.#recentOf(bot).length;
  }

  #recentOf(bot: string): readonly number[] {
    const now = this.#options.clock.monotonic();
    return (this.#startsOfBot.get(bot) ?? []).filter((at) => now - at < DAY_MS);
  }
}
