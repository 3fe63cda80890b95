import type { TurnFrame } from "../engine/api.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Done } from "../kernel/turn-events.ts";
import { toWire } from "../kernel/wire.ts";
import type { SseStream } from "../server/sse.ts";
import { TokenBatch } from "../server/turn-stream.ts";

/** A turn in the frames of the AI SDK's UI message stream. Source: ai 7, `UIMessageChunk`. */
export class UiTurn {
  readonly #turnId: string;
  /** What stands in the message now. */
  #text = "";
  #parts = 0;
  #isVoid = false;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  begin(): string {
    return frames({ type: "start", messageId: this.#turnId }, { type: "start-step" });
  }

  /** An agent begins, or begins again: its first word takes the place of the words so far. */
  agentBegins(): void {
    this.#isVoid = this.#text !== "";
  }

  say(delta: string): string {
    const before = this.#isVoid ? this.#reset() : "";
    const start = this.#text === "" ? frames({ type: "text-start", id: this.#newPart() }) : "";
    this.#text += delta;

    return `${before}${start}${frames({ type: "text-delta", id: this.#part, delta })}`;
  }

  end(done: Done): string {
    if (done.error) return frames({ type: "error", errorText: done.error.message }) + LAST;

    const { message } = done;
    const isWhole = message.startsWith(this.#text);
    const before = isWhole ? "" : this.#reset();
    this.#isVoid = false;
    const rest = message.slice(this.#text.length);
    const said = rest === "" ? "" : this.say(rest);
    const close = this.#text === "" ? "" : frames({ type: "text-end", id: this.#part });
    const finish = { type: "finish", finishReason: "stop", messageMetadata: metadataOf(done) };

    return `${before}${said}${close}${frames({ type: "finish-step" }, finish)}${LAST}`;
  }

  get #part(): string {
    return `text-${this.#parts}`;
  }

  #newPart(): string {
    this.#parts += 1;
    return this.#part;
  }

  #reset(): string {
    this.#text = "";
    this.#isVoid = false;

    return frames({ type: "reset-step" });
  }
}

/** Said when the server goes away: the turn goes on, and can be read again. */
export const FAREWELL = frames({
  type: "error",
  errorText: "The server closed during the answer. It goes on: resume the stream.",
});

/** Sends a turn until its end or the reader's. What ends the reader leaves the turn alone. */
export async function tellTurn(
  told: AsyncIterable<TurnFrame>,
  turn: UiTurn,
  stream: SseStream,
  clock: Clock,
): Promise<void> {
  const batch = new TokenBatch(clock, (text) => stream.write(turn.say(text)));

  try {
    for await (const { event } of told) {
      if (stream.ended) return;

      if (event.type === "LLM_TOKEN") batch.add(event.data);
      else if (event.type === "AGENT_START") {
        batch.flush();
        turn.agentBegins();
      } else if (event.type === "DONE") {
        batch.flush();
        stream.write(turn.end(event.data));

        return;
      }

      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}

/** What a page offers beside the answer. */
function metadataOf({ nextAction, uiHint, trace }: Done): unknown {
  return toWire({ turnId: trace.turnId, nextAction, uiHint });
}

const LAST = "data: [DONE]\n\n";

function frames(...chunks: readonly object[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
}
