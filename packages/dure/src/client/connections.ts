import type { EventSourceMessage } from "eventsource-parser";
import type { Clock } from "../kernel/clock.ts";
import { judgeFailure, reconnectDelay } from "./reconnect.ts";
import { readFrames } from "./sse.ts";
import type { ConnectionState } from "./turn-stream.ts";

export interface ConnectionParts {
  readonly open: (lastEventId: string | undefined) => Promise<Response>;
  readonly clock: Clock;
  readonly maxDelayMs: number;
  readonly silenceMs: number;
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What one connection brought, read to its end. */
export interface Connection {
  /** The answer has no content: nothing is left to read. */
  readonly isEmpty: boolean;
  readonly frames: AsyncGenerator<EventSourceMessage>;
  /** What the server asked to wait before the next one, milliseconds; 0: it said nothing. */
  readonly askedMs: () => number;
}

/** What follows a connection. */
export type Next = "another" | "nothing";

const NO_CONTENT = 204;

/**
 * What `read` brings of each connection, over any number of them, until it says that nothing
 * follows. `position` is asked before each one. A refusal is thrown; everything else, also a
 * connection that ends by itself, is another connection after a pause.
 */
export async function* overConnections<Value, After extends Next>(
  { open, clock, maxDelayMs, silenceMs, onConnection, signal }: ConnectionParts,
  {
    position,
    read,
    onId,
  }: {
    position: () => string | undefined;
    read: (connection: Connection) => AsyncGenerator<Value, After>;
    onId?: (id: string) => void;
  },
): AsyncGenerator<Value, After extends "nothing" ? void : never> {
  for (let failures = 0; ;) {
    signal?.throwIfAborted();
    let askedMs = 0;
    try {
      const response = await open(position());
      const isEmpty = response.status === NO_CONTENT;
      if (!isEmpty) onConnection?.("connected");
      const frames = readFrames(response, {
        clock,
        silenceMs,
        onRetry: (ms) => (askedMs = ms),
        onId,
      });
      const heard = (async function* () {
        for await (const frame of frames) {
          failures = 0;
          yield frame;
        }
      })();
      if ((yield* read({ isEmpty, frames: heard, askedMs: () => askedMs })) === "nothing") {
        return undefined as never;
      } // of the two types the one that `After` leaves
    } catch (error) {
      signal?.throwIfAborted();
      const failure = judgeFailure(error, true);
      if (!failure.retry) throw error;
      askedMs = Math.max(askedMs, failure.askedMs);
    }
    failures += 1;
    onConnection?.("reconnecting");
    await clock.sleep(reconnectDelay(failures, maxDelayMs, askedMs, Math.random()), { signal });
  }
}
