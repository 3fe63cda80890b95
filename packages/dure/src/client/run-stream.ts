import type { Clock } from "../kernel/clock.ts";
import { isObject } from "../kernel/json.ts";
import type { PlatformEvent } from "../kernel/platform-events.ts";
import { fromWire } from "../kernel/wire.ts";
import type { RunDetail, RunNews, PlanRunStatus } from "./plans.ts";
import { judgeFailure, reconnectDelay } from "./reconnect.ts";
import { frameData, readFrames } from "./sse.ts";
import type { ConnectionState } from "./turn-stream.ts";

export interface RunStreamOptions {
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface RunStreamParts extends RunStreamOptions {
  readonly open: (lastEventId: string | undefined) => Promise<Response>;
  readonly clock: Clock;
  readonly maxDelayMs: number;
  readonly silenceMs: number;
}

/** Nothing is left to read. */
const NO_CONTENT = 204;

/**
 * A run as it stands, then its events without gap or duplicate, until it has ended. Where events are gone for good, the run as
 * it stands comes again. An end that was followed by a retry is none: only the server knows, so it is the one who hangs up.
 * Throws a refusal, such as `RUN_UNKNOWN`; everything else is another connection.
 */
export async function* followRun({ open, clock, maxDelayMs, silenceMs, onConnection, signal }: RunStreamParts): AsyncGenerator<RunNews, void> {
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
        const news = message.event === "run" ? { kind: "run" as const, run: fromWire(data) as RunDetail } : { kind: "event" as const, event: fromWire(data) as PlatformEvent };
        isOver = news.kind === "run" ? isRunOver(news.run.status) : news.event.type === "run.end";
        yield news;
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

export function isRunOver(status: PlanRunStatus): boolean {
  return status === "success" || status === "partial" || status === "failed" || status === "cancelled";
}
