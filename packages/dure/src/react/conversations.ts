import type { DureClient } from "../client/client.ts";
import { Conversation } from "./conversation.ts";

/** The conversations of this page; the ones not looked at for longest are let go. */
export class Conversations {
  readonly #client: DureClient;
  readonly #onChange: () => void;
  readonly #open = new Map<string, Conversation>();
  static readonly LIMIT = 8;

  constructor(options: { client: DureClient; onChange: () => void }) {
    this.#client = options.client;
    this.#onChange = options.onChange;
  }

  /** @param exists false for a session that this page has just invented */
  open(sessionId: string, exists = true): Conversation {
    const known = this.#open.get(sessionId);
    const conversation =
      known ??
      new Conversation({ client: this.#client, sessionId, exists, onChange: this.#onChange });
    this.#open.delete(sessionId);
    this.#open.set(sessionId, conversation);

    for (const [id, old] of this.#open) {
      if (this.#open.size <= Conversations.LIMIT) break;
      old.dispose();
      this.#open.delete(id);
    }

    return conversation;
  }

  forget(sessionId: string): void {
    this.#open.get(sessionId)?.dispose();
    this.#open.delete(sessionId);
  }
}
