import type { Clock } from "../kernel/clock.ts";
import type { PlatformEvent } from "../kernel/platform-events.ts";
import { isObject } from "../kernel/json.ts";
import { judgeFailure, reconnectDelay } from "./reconnect.ts";
import { frameData, readFrames } from "./sse.ts";
import type { ConnectionState } from "./turn-stream.ts";

export interface EventStreamParts {
  readonly open: (lastEventId: string | undefined) => Promise<Response>;
  readonly lastEventId: string | undefined;
  readonly clock: Clock;
  readonly maxDelayMs: number;
  readonly silenceMs: number;
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  /** The position was older than the retention: what lies before `oldest` is gone, and the log goes on from there. */
  readonly onReset?: ((reset: { readonly oldest: string | undefined }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Events from a position on, without gap or duplicate, over any number of connections, until the signal aborts. */
export async function* followEvents(parts: EventStreamParts): AsyncGenerator<PlatformEvent, never> {
  const { clock, maxDelayMs, silenceMs, onConnection, signal } = parts;
  let position = parts.lastEventId;
  let read: string | undefined;
  // Before its first event the log says where "from now on" is, so that a cut right then loses nothing.
  const onId = (id: string): void => {
    if (read === undefined) position ??= id;
  };
  let failures = 0;
  while (true) {
    signal?.throwIfAborted();
    let askedMs = 0;
    try {
      const response = await parts.open(position);
      onConnection?.("connected");
      for await (const message of readFrames(response, { clock, silenceMs, onId, onRetry: (ms) => (askedMs = ms) })) {
        failures = 0;
        const data = frameData(message);
        if (message.event === "reset") {
          position = isObject(data) && typeof data["oldest"] === "string" ? data["oldest"] : undefined;
          parts.onReset?.({ oldest: position });
          continue;
        }
        if (!isPlatformEvent(data) || data.id === read) continue;
        position = read = data.id;
        yield data;
      }
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

function isPlatformEvent(value: unknown): value is PlatformEvent {
  return isObject(value) && typeof value["id"] === "string" && typeof value["type"] === "string";
}
