import type { WireRole } from "./wire-forms.ts";

/** Roles that are remembered; the oldest is forgotten. A server has at most 250. */
const KEPT_ROLES = 10_000;

/**
 * Which role came with which bot. The platform's picker often inserts the role in place of the bot.
 * Source: "Permissions: Role Tags Structure": `bot_id`, "the id of the bot this role belongs to".
 */
export class BotRoles {
  readonly #bots = new Map<string, string>();

  learn(roles: readonly WireRole[]): void {
    for (const { id, tags } of roles) {
      if (tags?.bot_id === undefined) continue;
      this.#bots.set(id, tags.bot_id);
      const [oldest] = this.#bots.keys();
      if (this.#bots.size > KEPT_ROLES && oldest !== undefined) this.#bots.delete(oldest);
    }
  }

  forget(role: string): void {
    this.#bots.delete(role);
  }

  /** The user id of the bot that a role came with. */
  botOf(role: string): string | undefined {
    return this.#bots.get(role);
  }
}
