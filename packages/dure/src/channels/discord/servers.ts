import type { CodedMessage } from "../../kernel/coded-message.ts";
import { ChannelError } from "../../rooms/channel-adapter.ts";
import type { WireGuild } from "./wire-forms.ts";

/**
 * Before what waits for the end of an outage looks again, milliseconds; nothing
 * is asked of the platform.
 */
const OUTAGE_LOOK_MS = 5_000;

/** What one session knows of the servers that the bot is in. */
export class Servers {
  /** Every server of the session has come, but for those with an outage. */
  #isComplete = false;
  /** By id. `isOut`: it has not come, or has an outage. */
  readonly #servers = new Map<string, { readonly name: string; readonly isOut: boolean }>();

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** A session begins with these servers; each of them comes. */
  begin(guilds: readonly string[]): void {
    this.#isComplete = false;
    const known = new Map(this.#servers);
    this.#servers.clear();
    for (const guild of guilds) {
      this.#servers.set(guild, { name: known.get(guild)?.name ?? guild, isOut: true });
    }
  }

  /** All have come. */
  complete(): void {
    this.#isComplete = true;
  }

  came({ id, name }: WireGuild): void {
    this.#servers.set(id, { name: name ?? id, isOut: false });
  }

  /** An outage of theirs: it comes back. */
  lost({ id }: WireGuild): void {
    this.#servers.set(id, { name: this.#servers.get(id)?.name ?? id, isOut: true });
  }

  /** The bot was removed from it. */
  left({ id }: WireGuild): void {
    this.#servers.delete(id);
  }

  /** What is told of the account that is ready; undefined: all is well. */
  get trouble(): CodedMessage | undefined {
    if (this.#servers.size === 0) return NO_SERVER;
    const out = [...this.#servers.values()].filter(({ isOut }) => isOut).map(({ name }) => name);
    return out.length > 0 ? outageOf(out) : undefined;
  }

  /** @throws ChannelError `unavailable` while the server has an outage. */
  ensureAvailable(guild: string | undefined): void {
    const server = guild === undefined || !this.#isComplete ? undefined : this.#servers.get(guild);
    if (server?.isOut !== true) return;
    throw new ChannelError("unavailable", outageOf([server.name]).message, {
      notSent: true,
      retryAfterMs: OUTAGE_LOOK_MS,
    });
  }
}

/**
 * What is told of an account, and of what waits, while servers have an outage.
 */
function outageOf(servers: readonly string[]): CodedMessage {
  return {
    code: "outage",
    facts: { servers },
    message: `Discord has an outage in the server ${servers.join(", ")}: what is said there waits.`,
  };
}

const NO_SERVER: CodedMessage = {
  code: "no-server",
  facts: {},
  message: "The bot is in no server: `dure doctor` gives the link that invites it.",
};
