import type { DureClient } from "../client/client.ts";
import type { EventsFilter } from "../client/resources.ts";
import type { ConnectionState } from "../client/turn-stream.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { RoomPeople } from "../wire/rooms.ts";

/** What a reader of the event log is told. */
export interface EventsListener {
  readonly onEvent: (event: PlatformEvent) => void;
  /** Also at once, for a reader that joins a stream which stands. */
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  /** Events are gone for good: what is known must be read anew. */
  readonly onReset?: (() => void) | undefined;
  /** The server refuses the log to this reader: no event will come. */
  readonly onRefused?: (() => void) | undefined;
  /** Who is in a room now, also at once for a reader that joins; a filter without `people`: never. */
  readonly onPeople?: ((people: RoomPeople) => void) | undefined;
}

/** One stream of the log, and those who read it. */
interface Shared {
  readonly leave: AbortController;
  readonly listeners: Set<EventsListener>;
  state: ConnectionState | "refused" | undefined;
  /** Of a connection that stands, by the room; the server keeps them to those that have people. */
  readonly people: Map<string, RoomPeople>;
}

/**
 * The event log for any number of readers on one page: those of one filter share a stream, because
 * a browser keeps at most six connections to a server over HTTP/1.1.
 */
export class SharedEvents {
  readonly #client: DureClient;
  readonly #open = new Map<string, Shared>();

  constructor(client: DureClient) {
    this.#client = client;
  }

  /** Tells `listener` of events from now on, until the returned function is called. */
  follow(filter: EventsFilter, listener: EventsListener): () => void {
    const key = JSON.stringify(filter);
    const shared = this.#open.get(key) ?? this.#begin(key, filter);
    shared.listeners.add(listener);
    if (shared.state === "connected") listener.onConnection?.("connected");
    if (shared.state === "refused") listener.onRefused?.();
    for (const people of shared.people.values()) listener.onPeople?.(people);

    return () => {
      shared.listeners.delete(listener);
      if (shared.listeners.size > 0 || this.#open.get(key) !== shared) return;
      this.#open.delete(key);
      shared.leave.abort();
    };
  }

  #begin(key: string, filter: EventsFilter): Shared {
    const shared: Shared = {
      leave: new AbortController(),
      listeners: new Set(),
      state: undefined,
      people: new Map(),
    };
    this.#open.set(key, shared);
    void this.#read(filter, shared);
    return shared;
  }

  async #read(filter: EventsFilter, shared: Shared): Promise<void> {
    const { signal } = shared.leave;
    const tell = (say: (listener: EventsListener) => void): void => {
      for (const listener of shared.listeners) say(listener);
    };
    const onPeople = (people: RoomPeople): void => {
      if (people.hereCount > 0) shared.people.set(people.room, people);
      else shared.people.delete(people.room);
      tell((listener) => listener.onPeople?.(people));
    };
    const onConnection = (state: ConnectionState): void => {
      shared.state = state;
      shared.people.clear(); // the server says it anew
      tell((listener) => listener.onConnection?.(state));
    };
    const onReset = (): void => tell((listener) => listener.onReset?.());

    try {
      const events = this.#client.events(filter, { signal, onConnection, onReset, onPeople });
      for await (const event of events) tell((listener) => listener.onEvent(event));
    } catch {
      if (signal.aborted) return;
      shared.state = "refused";
      tell((listener) => listener.onRefused?.());
    }
  }
}
