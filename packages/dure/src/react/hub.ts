import type { DureClient } from "../client/client.ts";
import { Conversations } from "./conversations.ts";
import { SharedEvents } from "./shared-events.ts";
import type { Store } from "./store.ts";

/** Places and runs that are kept while no component looks at them. */
const MAX_KEPT = 24;

/** What the hooks of one page share: the client, its streams, and what was read. */
export class DureHub {
  readonly client: DureClient;
  readonly conversations: Conversations;
  readonly events: SharedEvents;
  readonly #kept = new Map<string, Store<unknown>>();

  /** @param options.onChange a conversation has stored something: lists of sessions are old now */
  constructor(options: { client: DureClient; onChange?: (() => void) | undefined }) {
    const { client, onChange = () => undefined } = options;
    this.client = client;
    this.conversations = new Conversations({ client, onChange });
    this.events = new SharedEvents(client);
  }

  /**
   * The store under `key`, made when it is asked for. The ones that were asked for longest ago are
   * forgotten; a component that still shows one keeps it.
   */
  keep<Kept extends Store<unknown>>(key: string, make: () => Kept): Kept {
    const store = (this.#kept.get(key) as Kept | undefined) ?? make();
    this.#kept.delete(key);
    this.#kept.set(key, store);
    for (const oldest of [...this.#kept.keys()].slice(0, -MAX_KEPT)) this.#kept.delete(oldest);

    return store;
  }
}
