import type { TurnFrame } from "../engine/api.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Done } from "../kernel/turn-events.ts";
import type { SseStream } from "../server/sse.ts";
import { TokenBatch } from "../server/turn-stream.ts";
import { AppendOnlyText } from "../kernel/append-only-text.ts";

/** How a turn is told in one of OpenAI's streams: each gives its frames. */
export interface Speaker {
  begin(): string;
  text(piece: string): string;
  /** The turn has ended, with its answer or with `error`. */
  end(done: Done): string;
  /** The server goes away during the turn. */
  farewell(): string;
}

/** Sends a turn until its end or the reader's. What ends the reader leaves the turn alone. */
export async function speak(
  frames: AsyncIterable<TurnFrame>,
  speaker: Speaker,
  stream: SseStream,
  clock: Clock,
): Promise<void> {
  const said = new AppendOnlyText();
  const batch = new TokenBatch(clock, (text) => stream.write(speaker.text(text)));

  try {
    for await (const { event } of frames) {
      if (stream.ended) return;

      if (event.type === "LLM_TOKEN") batch.add(said.add(event.data));
      else if (event.type === "AGENT_START") said.begin();
      else if (event.type === "DONE") {
        if (!event.data.error) batch.add(said.rest(event.data.message));
        batch.flush();
        stream.write(speaker.end(event.data));

        return;
      }

      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}
