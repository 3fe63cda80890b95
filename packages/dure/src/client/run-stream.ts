import { followStream, type FollowOptions, type FollowParts } from "./follow-stream.ts";
import type { RunNews } from "./plans.ts";
import type { RunDetail } from "../wire/runs.ts";
import type { PlatformEvent } from "../wire/events.ts";
import { isRunOver } from "../kernel/plans.ts";

export type RunStreamOptions = FollowOptions;
export type RunStreamParts = FollowParts;

/**
 * A run as it stands, then its events until it has ended. An end that was followed by a retry is
 * none. Throws a refusal, such as `RUN_UNKNOWN`.
 */
export function followRun(parts: RunStreamParts): AsyncGenerator<RunNews, void> {
  return followStream<RunNews>(parts, {
    read: (event, data) =>
      event === "run"
        ? { kind: "run", run: data as RunDetail }
        : { kind: "event", event: data as PlatformEvent },
    isEnd: (news) =>
      news.kind === "run" ? isRunOver(news.run.status) : news.event.type === "run.end",
    ends: "by-server",
  });
}
