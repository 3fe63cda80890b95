import type { Clock } from "../kernel/clock.ts";
import { isObject } from "../kernel/json.ts";
import type { PlatformEvent } from "../kernel/platform-events.ts";
import { fromWire } from "../kernel/wire.ts";
import type { JobDetail, JobNews, JobStatus } from "./jobs.ts";
import { judgeFailure, reconnectDelay } from "./reconnect.ts";
import { frameData, readFrames } from "./sse.ts";
import type { ConnectionState } from "./turn-stream.ts";

export interface JobStreamOptions {
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface JobStreamParts extends JobStreamOptions {
  readonly open: (lastEventId: string | undefined) => Promise<Response>;
  readonly clock: Clock;
  readonly maxDelayMs: number;
  readonly silenceMs: number;
}

/** Events behind which a job says nothing more. */
const END_EVENTS: ReadonlySet<string> = new Set(["job.completed", "job.failed", "job.cancelled", "job.abandoned"]);
/** Nothing is left to read. */
const NO_CONTENT = 204;

/**
 * A job as it stands, then its events without gap or duplicate, until it has ended. Where events are gone for good, the job as
 * it stands comes again. Throws a refusal, such as `JOB_UNKNOWN`; everything else is another connection.
 */
export async function* followJob({ open, clock, maxDelayMs, silenceMs, onConnection, signal }: JobStreamParts): AsyncGenerator<JobNews, void> {
  let position: string | undefined;
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    let askedMs = 0;
    try {
      const response = await open(position);
      if (response.status === NO_CONTENT) return;
      onConnection?.("connected");
      for await (const message of readFrames(response, { clock, silenceMs, onRetry: (ms) => (askedMs = ms) })) {
        failures = 0;
        if (message.event === "reset") {
          position = undefined;
          break;
        }
        if (message.id === position) continue;
        position = message.id;
        const data = frameData(message);
        if (!isObject(data)) continue;
        const news = message.event === "job" ? { kind: "job" as const, job: fromWire(data) as JobDetail } : { kind: "event" as const, event: fromWire(data) as PlatformEvent };
        yield news;
        if (news.kind === "job" ? isOver(news.job.status) : END_EVENTS.has(news.event.type)) return;
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

function isOver(status: JobStatus): boolean {
  return status !== "PENDING" && status !== "RUNNING";
}
