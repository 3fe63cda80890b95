import type { TurnFrame } from "../engine/api.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import type { SseStream } from "../server/sse.ts";
import { TokenBatch } from "../server/turn-stream.ts";
import type { OpenDecision, RunEvents } from "./run-events.ts";

interface Telling {
  readonly run: RunEvents;
  readonly stream: SseStream;
  readonly clock: Clock;
  /** Decisions that a turn which ends like this waits for. */
  readonly waits: (done: Done) => Promise<readonly OpenDecision[]>;
}

/** Sends a turn until its end or the reader's. What ends the reader leaves the turn alone. */
export async function tellRun(told: AsyncIterable<TurnFrame>, telling: Telling): Promise<void> {
  const { run, stream, clock, waits } = telling;
  const batch = new TokenBatch(clock, (text) => stream.write(run.say(text)));

  try {
    for await (const { event } of told) {
      if (stream.ended) return;

      if (event.type === "LLM_TOKEN") batch.add(event.data);
      else {
        batch.flush();
        const isOver = event.type === "DONE";
        stream.write(isOver ? run.end(event.data, await waits(event.data)) : between(event, run));
        if (isOver) return;
      }

      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}

function between(event: Exclude<TurnEvent, { type: "DONE" }>, run: RunEvents): string {
  if (event.type === "AGENT_START") return run.agentBegins(event.data.agent);
  if (event.type === "AGENT_DONE") return run.agentEnds(event.data);
  if (event.type === "TOOL_START") return run.toolBegins(event.data);
  if (event.type === "TOOL_DONE") return run.toolEnds(event.data);
  if (event.type === "TASK_PROGRESS") return run.progress(event.data);

  return "";
}
