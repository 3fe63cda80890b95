import { createParser, type EventSourceMessage } from "eventsource-parser";
import { systemClock } from "../../src/kernel/clock.ts";

/** What a person sends. */
export interface Message {
  readonly session: string;
  readonly text: string;
  /** Its idempotency key, within the session. */
  readonly key: string;
  readonly service?: string;
  readonly confirmId?: string;
}

/**
 * A person's client in the plainest form: sends a message under an idempotency key, reads frames,
 * and after every cut comes back with `Last-Event-ID`. It drops nothing and repairs nothing:
 * `events` is what the server has sent.
 */
export class TurnReader {
  /** Stored events in the order of their arrival. */
  readonly events: EventSourceMessage[] = [];
  turnId: string | undefined;
  /** Connections that gave at least an answer. */
  connections = 0;
  /** What the server said when it refused. */
  refusal: string | undefined;
  readonly done: Promise<Record<string, unknown>>;
  readonly #leave = new AbortController();
  #cut = new AbortController();

  /** @param url asked before every connection: the server may have come back elsewhere. */
  constructor(message: Message, url: () => Promise<string>) {
    this.done = this.#follow(message, url);
    this.done.catch(() => {});
  }

  leave(): void {
    this.#leave.abort(new Error("the reader left"));
  }

  /**
   * Gives up the connection that stands and comes back, as a person does before a server that says
   * nothing.
   */
  reconnect(): void {
    this.#cut.abort(new Error("the reader reconnects"));
  }

  async #follow(message: Message, url: () => Promise<string>): Promise<Record<string, unknown>> {
    const { signal } = this.#leave;
    for (;;) {
      signal.throwIfAborted();
      this.#cut = new AbortController();
      try {
        const response = await this.#connect(
          message,
          await url(),
          AbortSignal.any([signal, this.#cut.signal]),
        );
        this.connections += 1;
        if (response.status === 503) throw new Error("not now");
        if (response.status === 204 || !response.ok) {
          this.refusal = `${response.status} ${await response.text()}`;
          break;
        }
        this.turnId ??= response.headers.get("turn-id") ?? undefined;
        const done = await this.#read(response);
        if (done) return done;
      } catch {
        // The server is gone; it comes back.
      }
      await systemClock.sleep(20, { signal });
    }
    throw new Error(`the server refused: ${this.refusal}`);
  }

  #connect(
    { session, text, key, service, confirmId }: Message,
    base: string,
    signal: AbortSignal,
  ): Promise<Response> {
    if (this.turnId === undefined) {
      const headers = {
        "content-type": "application/json",
        "idempotency-key": `${session}/${key}`,
      };
      const body = JSON.stringify({
        session_id: session,
        message: text,
        service,
        confirm_id: confirmId,
      });
      return fetch(`${base}/v1/agent/chat/stream`, { method: "POST", headers, body, signal });
    }
    const last = this.events.at(-1)?.id;
    return fetch(`${base}/v1/agent/turns/${this.turnId}/stream`, {
      headers: last === undefined ? {} : { "last-event-id": last },
      signal,
    });
  }

  async #read(response: Response): Promise<Record<string, unknown> | undefined> {
    let done: Record<string, unknown> | undefined;
    const parser = createParser({
      onEvent: (message) => {
        if (message.id !== undefined) this.events.push(message);
        if (message.event === "DONE") done = JSON.parse(message.data) as Record<string, unknown>;
      },
    });
    const decoder = new TextDecoder();
    for await (const bytes of response.body!) parser.feed(decoder.decode(bytes, { stream: true }));
    return done;
  }
}
