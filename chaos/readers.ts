import { createParser, type EventSourceMessage } from "eventsource-parser";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Request } from "./client.ts";

/**
 * A connection that says nothing for so long is left and opened again elsewhere, milliseconds.
 * Twice the server's own heartbeat of 15 s is not waited for: its server may stand still.
 */
const SILENCE_MS = 12_000;

/** What one message to a session came to, as its sender saw it. */
export interface TurnRead {
  readonly session: string;
  readonly text: string;
  readonly key: string;
  turnId?: string | undefined;
  /** Stored events in the order of their arrival, `id type`. */
  readonly events: string[];
  done?: TurnDone | undefined;
  connections: number;
}

export interface TurnDone {
  readonly message: string;
  readonly receipt?: { readonly payment: string; readonly transaction: string };
  readonly error?: { readonly code: string };
}

interface Message {
  readonly session: string;
  readonly text: string;
  /** The idempotency key. */
  readonly key: string;
  readonly service: string;
}

/**
 * Sends a message under a key and follows its turn to the end, from any server, however often it
 * is cut.
 */
export async function readTurn(client: Client, message: Message): Promise<TurnRead> {
  const turn: TurnRead = {
    session: message.session,
    text: message.text,
    key: message.key,
    events: [],
    connections: 0,
  };
  while (!turn.done) {
    await client.ask(
      () => requestOf(turn, message),
      (response) => readOnce(client, turn, message, response),
    );
  }
  return turn;
}

function requestOf(turn: TurnRead, { session, text, key, service }: Message): Request {
  if (turn.turnId === undefined) {
    return {
      method: "POST",
      path: "/v1/agent/chat/stream",
      body: { session_id: session, message: text, service },
      headers: { "idempotency-key": key },
      about: session,
    };
  }
  const last = turn.events.at(-1)?.split(" ")[0];
  return {
    method: "GET",
    path: `/v1/agent/turns/${turn.turnId}/stream`,
    headers: last === undefined ? undefined : { "last-event-id": last },
    about: `${session} ${turn.turnId}`,
  };
}

async function readOnce(
  client: Client,
  turn: TurnRead,
  message: Message,
  response: Response,
): Promise<void> {
  turn.connections += 1;
  const id = response.headers.get("turn-id") ?? undefined;
  if (turn.turnId === undefined && id !== undefined) {
    turn.turnId = id;
    client.note(
      `${message.session} ${JSON.stringify(message.text)} under ${message.key} is turn ${id}`,
    );
    if (client.takesDuplicate()) void sendAgain(client, turn, message).catch(() => {});
  }
  if (response.status === 204) {
    client.violate({
      invariant: "stream",
      text: `the stream of ${turn.turnId} ended without its DONE`,
      ids: [message.session, turn.turnId!],
    });
    turn.done = { message: "", error: { code: "NEVER_READ" } };
    return;
  }
  await eachEvent(client, response, (event) => {
    if (event.id !== undefined) turn.events.push(`${event.id} ${event.event}`);
    if (event.event === "DONE") turn.done = JSON.parse(event.data) as TurnDone;
  });
}

/** The same request under the same key, at another server: it must be the same turn. */
async function sendAgain(client: Client, turn: TurnRead, message: Message): Promise<void> {
  client.count("duplicate");
  const again = await client.ask(
    () => requestOf({ ...turn, turnId: undefined }, message),
    async (response) => {
      const id = response.headers.get("turn-id");
      await response.body?.cancel();
      return id;
    },
  );
  if (again !== turn.turnId) {
    client.violate({
      invariant: "answered-once",
      text: `${message.key} made the turn ${turn.turnId} and, sent again, ${again}`,
      ids: [message.session, turn.turnId!, again ?? ""],
    });
  }
}

/**
 * Reads the log of events from its current end until `until`, leaving and coming back. Gives the
 * ids in their order.
 */
export class Follower {
  readonly ids: string[] = [];
  connections = 0;
  readonly #client: Client;
  readonly #name: string;
  #leave = new AbortController();

  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
  }

  get last(): string | undefined {
    return this.ids.at(-1);
  }

  /** From the first event on, until it has read the event `end()`; it may have read more by then. */
  async follow(end: () => string | undefined): Promise<void> {
    const client = this.#client;
    const isOver = (): boolean => {
      const id = end();
      return id !== undefined && this.ids.includes(id);
    };
    while (!isOver()) {
      this.#leave = new AbortController();
      const leaving = setTimeout(() => this.#leave.abort(), client.random.between(2_000, 15_000));
      try {
        const request = (): Request => ({
          method: "GET",
          path: "/v1/events",
          headers: { "last-event-id": this.last ?? FIRST },
          about: this.#name,
        });
        await client.ask(request, async (response) => {
          this.connections += 1;
          await eachEvent(
            client,
            response,
            (event) => {
              if (event.event === "reset") {
                client.violate({
                  invariant: "events",
                  text: `${this.#name} was told to begin anew behind ${this.last}`,
                  ids: [this.#name],
                });
              } else if (event.id !== undefined) this.ids.push(event.id);
              if (isOver()) this.#leave.abort();
            },
            this.#leave.signal,
          );
        });
      } finally {
        clearTimeout(leaving);
      }
      await sleep(client.random.between(0, 300));
    }
  }
}

/** The position before everything in the first era of a database. */
const FIRST = "1.0.0";

async function eachEvent(
  client: Client,
  response: Response,
  onEvent: (event: EventSourceMessage) => void,
  leave?: AbortSignal,
): Promise<void> {
  const parser = createParser({ onEvent });
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  const stop = (): void => void reader.cancel().catch(() => {});
  leave?.addEventListener("abort", stop, { once: true });
  let heardAt = performance.now();
  const watch = setInterval(() => performance.now() - heardAt > SILENCE_MS && stop(), 1_000);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heardAt = performance.now();
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearInterval(watch);
    leave?.removeEventListener("abort", stop);
    client.signal.throwIfAborted();
  }
}
