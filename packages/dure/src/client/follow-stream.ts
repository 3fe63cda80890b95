import type { Clock } from "../kernel/clock.ts";
import { isObject } from "../kernel/json.ts";
import { fromWire } from "../kernel/wire.ts";
import { judgeFailure, reconnectDelay } from "./reconnect.ts";
import { frameData, readFrames } from "./sse.ts";
import type { ConnectionState } from "./turn-stream.ts";

export interface FollowOptions {
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface FollowParts extends FollowOptions {
  readonly open: (lastEventId: string | undefined) => Promise<Response>;
  readonly clock: Clock;
  readonly maxDelayMs: number;
  readonly silenceMs: number;
}

/** What a stream of something with an end brings. */
interface Kind<News> {
  /** A frame in the words of the client: how the thing stands, or an event of it. */
  readonly read: (event: string | undefined, data: unknown) => News;
  /** Whether it has ended with this. */
  readonly isEnd: (news: News) => boolean;
  /** `at-once`: nothing can follow an end. `by-server`: it may be taken up again, so the server is the one who hangs up. */
  readonly ends: "at-once" | "by-server";
}

/** Nothing is left to read. */
const NO_CONTENT = 204;

/**
 * A thing as it stands, then its events without gap or duplicate, until it has ended, over any number of connections. Where
 * events are gone for good, the thing as it stands comes again. Throws a refusal; everything else is another connection.
 */
export async function* followStream<News>({ open, clock, maxDelayMs, silenceMs, onConnection, signal }: FollowParts, kind: Kind<News>): AsyncGenerator<News, void> {
  let position: string | undefined;
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    let askedMs = 0;
    let isOver = false;
    try {
      const response = await open(position);
      if (response.status === NO_CONTENT) return;
      onConnection?.("connected");
      for await (const message of readFrames(response, { clock, silenceMs, onRetry: (ms) => (askedMs = ms) })) {
        failures = 0;
        if (message.event === "reset") {
          position = undefined;
          isOver = false;
          break;
        }
        if (message.id === position) continue;
        position = message.id;
        const data = frameData(message);
        if (!isObject(data)) continue;
        const news = kind.read(message.event, fromWire(data));
        isOver = kind.isEnd(news);
        yield news;
        if (isOver && kind.ends === "at-once") return;
      }
      // A server that closes says when to come back; one that has told the end does not.
      if (isOver && askedMs === 0) return;
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
