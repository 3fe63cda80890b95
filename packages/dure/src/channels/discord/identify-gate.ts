import type { Clock } from "../../kernel/clock.ts";

export interface IdentifyGateOptions {
  readonly clock: Clock;
  /** Between two sessions of one bot, milliseconds. */
  readonly perBotMs: number;
  /** Between the sessions of any two bots of this process, milliseconds. */
  readonly betweenBotsMs: number;
}

/**
 * When a bot may start a session. The platform lets a bot start one per 5 s (its `max_concurrency`
 * counts shards, and a bot here is one shard); bots do not count against each other, but starting
 * them one by one spares the machine and the platform.
 */
export class IdentifyGate {
  readonly #options: IdentifyGateOptions;
  readonly #nextOfBot = new Map<string, number>();
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
  }
}
