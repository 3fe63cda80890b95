import type { Cancel, Clock } from "../../kernel/clock.ts";

/** A server that has an outage need not delay the others, milliseconds. */
const PATIENCE_MS = 5000;

/**
 * The servers that a new session has named and not brought yet. Source: "Gateway Events: Ready":
 * each comes as GUILD_CREATE, or as GUILD_DELETE while it has an outage.
 */
export class AwaitedGuilds {
  readonly #clock: Clock;
  readonly #complete: () => void;
  readonly #awaited = new Set<string>();
  #isWaiting = false;
  #cancel: Cancel = () => {};

  /** @param complete once per session: all have come, or none for a while. */
  constructor(clock: Clock, complete: () => void) {
    this.#clock = clock;
    this.#complete = complete;
  }

  begin(guilds: readonly string[]): void {
    this.#awaited.clear();
    for (const guild of guilds) this.#awaited.add(guild);
    this.#isWaiting = true;
    this.#look();
  }

  came(guild: string): void {
    if (this.#awaited.delete(guild)) this.#look();
  }

  /** The connection is lost: those that are missing may come when the session goes on. */
  pause(): void {
    this.#cancel();
  }

  /** The session goes on. */
  resume(): void {
    this.#look();
  }

  #look(): void {
    this.#cancel();
    if (!this.#isWaiting) return;
    if (this.#awaited.size === 0) this.#end();
    else this.#cancel = this.#clock.after(PATIENCE_MS, () => this.#end());
  }

  #end(): void {
    this.#isWaiting = false;
    this.#complete();
  }
}
