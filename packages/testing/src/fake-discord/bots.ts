import type { User } from "./world-facts.ts";

/** A bot as its owner sees it in the developer portal. */
export interface BotAccount {
  readonly user: User;
  /** Absent after it was revoked. */
  token: string | undefined;
  /** The switch "Message Content Intent" of the portal. Source: "Gateway: Privileged Intents". */
  messageContentIntent: boolean;
  /** The switches for members and presences. */
  memberAndPresenceIntents: boolean;
}

/** Everybody who may log in. */
export class Bots {
  readonly #accounts = new Map<string, BotAccount>();

  add(account: BotAccount): void {
    this.#accounts.set(account.user.id, account);
  }

  get(userId: string): BotAccount | undefined {
    return this.#accounts.get(userId);
  }

  all(): Iterable<BotAccount> {
    return this.#accounts.values();
  }

  byToken(token: string | undefined): BotAccount | undefined {
    if (token === undefined || token === "") return undefined;
    for (const account of this.#accounts.values()) if (account.token === token) return account;
    return undefined;
  }
}
