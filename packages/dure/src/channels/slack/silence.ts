import type { Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { Logger } from "../../kernel/logger.ts";

export interface SilenceParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** For the log. */
  readonly name: string;
  /** Milliseconds without a word before the first look. */
  readonly quietMs: number;
  /** The newest `ts` in the channels that are looked at; empty: there is none. */
  readonly look: (signal: AbortSignal) => Promise<string>;
}

/** What is younger may still be on its way, milliseconds. */
const ON_ITS_WAY_MS = 60_000;
/** The longest wait before a look, as a multiple of the first: an hour where that is 5 minutes. */
const MAX_FACTOR = 12;

/**
 * A connection can stay open, answer pings and tell nothing, and an app that is not subscribed to
 * messages is told nothing either. So after some time without a word the channels are looked at:
 * one request for each. Where people wrote what was not told, the connection is deaf.
 *
 * Each connection that turns out to be deaf doubles the wait, until something is told again.
 */
export class SilenceWatch {
  readonly #parts: SilenceParts;
  #heardAt = 0;
  #newestHeard = "";
  #factor = 1;

  constructor(parts: SilenceParts) {
    this.#parts = parts;
  }

  /** Something was told. */
  heard(payload: unknown): void {
    this.#heardAt = this.#parts.clock.monotonic();
    this.#factor = 1;
    this.read(tsOf(payload));
  }

  /** What is as old as this, or older, has been read. */
  read(ts: string): void {
    if (ts > this.#newestHeard) this.#newestHeard = ts;
  }

  /** Watches one connection; calls back once when it is deaf. Never rejects. */
  async watch(onDeaf: () => void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    this.#heardAt = clock.monotonic();
    while (!signal.aborted) {
      const leftMs = this.#heardAt + this.#quietMs() - clock.monotonic();
      if (leftMs > 0) {
        await clock.sleep(leftMs, { signal }).catch(() => {});
        continue;
      }
      if (await this.#hasMissed(signal)) return this.#giveUp(onDeaf);
      this.#heardAt = clock.monotonic();
    }
  }

  #quietMs(): number {
    return this.#parts.quietMs * this.#factor;
  }

  async #hasMissed(signal: AbortSignal): Promise<boolean> {
    const { clock, logger, name, look } = this.#parts;
    try {
      return isMissed(await look(signal), this.#newestHeard, clock.now());
    } catch (error) {
      if (signal.aborted) return false;
      logger.debug(
        { account: name },
        `${name} could not look at its channels: ${messageOf(error)}`,
      );

      return false;
    }
  }

  #giveUp(onDeaf: () => void): void {
    const { logger, name } = this.#parts;
    const minutes = Math.round(this.#quietMs() / 60_000);
    logger.warn(
      { account: name },
      `${name} was told nothing by Slack for ${minutes} min, though its channels have newer ` +
        "messages; it connects anew and reads them. If this comes again, look at the app's " +
        "Event Subscriptions",
    );
    this.#factor = Math.min(MAX_FACTOR, this.#factor * 2);
    onDeaf();
  }
}

/** Whether the newest message of the channels should have been told by now. Pure. */
export function isMissed(newest: string, newestHeard: string, now: number): boolean {
  return newest > newestHeard && Number(newest) * 1000 < now - ON_ITS_WAY_MS;
}

/** Of a message; empty: it is none. */
function tsOf(payload: unknown): string {
  const event = isObject(payload) ? payload["event"] : undefined;
  const ts = isObject(event) ? event["ts"] : undefined;

  return typeof ts === "string" ? ts : "";
}
