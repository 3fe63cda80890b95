/** The events of a turn on their way to the caller. */

import type { TurnFrame } from "../engine/api.ts";
import type { Cancel, Clock } from "../kernel/clock.ts";
import { turnEventToWire } from "../kernel/wire.ts";
import { frame, type SseStream } from "./sse.ts";

/**
 * Live tokens of one stream leave together at most this long after the first of them, milliseconds.
 * Source: docs/spec/conversation §6.
 */
const TOKEN_BATCH_MS = 20;

/** Sends a turn's frames to one reader until `DONE`, the reader's end, or the end of `frames`. */
export async function sendTurn(
  turnId: string,
  frames: AsyncIterable<TurnFrame>,
  stream: SseStream,
  clock: Clock,
): Promise<void> {
  const batch = new TokenBatch(clock, (text) => stream.write(frame("LLM_TOKEN", text)));
  try {
    for await (const { seq, event } of frames) {
      if (stream.ended) return;
      if (seq === undefined && event.type === "LLM_TOKEN") {
        batch.add(event.data);
      } else if (event.type === "LLM_TOKEN") {
        // The frame that closes a stored chunk takes the waiting tokens along: the same text in the
        // same order.
        stream.write(frame("LLM_TOKEN", batch.take() + event.data, `${turnId}.${seq}`));
      } else {
        batch.flush();
        stream.write(
          frame(
            event.type,
            turnEventToWire(event),
            seq === undefined ? undefined : `${turnId}.${seq}`,
          ),
        );
        if (event.type === "DONE") return;
      }
      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}

/**
 * Tokens that wait to leave together. The first after a pause leaves at once, so that no reader waits
 * for the first word.
 */
export class TokenBatch {
  readonly #clock: Clock;
  readonly #write: (text: string) => void;
  #text = "";
  #window: Cancel | undefined;

  constructor(clock: Clock, write: (text: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  add(token: string): void {
    this.#text += token;
    if (this.#window) return;

    this.#send();
    this.#openWindow();
  }

  /** The waiting text, which the caller now sends. */
  take(): string {
    const text = this.#text;
    this.#text = "";

    return text;
  }

  /** Sends what waits, now. */
  flush(): void {
    this.#window?.();
    this.#window = undefined;
    this.#send();
  }

  #openWindow(): void {
    this.#window = this.#clock.after(TOKEN_BATCH_MS, () => {
      this.#window = undefined;
      if (this.#text === "") return;

      this.#send();
      this.#openWindow();
    });
  }

  #send(): void {
    const text = this.take();
    if (text !== "") this.#write(text);
  }
}
