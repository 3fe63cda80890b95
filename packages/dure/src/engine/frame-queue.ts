import { DureError } from "../kernel/errors.ts";
import type { TurnFrame } from "./api.ts";

/** Frames that may wait for one reader. Beyond, the reader is cut off and can resume. Source: our choice. */
const FRAMES_MOST = 10_000;

/** Frames on their way to one reader. */
export class FrameQueue {
  readonly #frames: TurnFrame[] = [];
  #ended = false;
  #overflown = false;
  #wake: () => void = () => {};

  push(frame: TurnFrame): void {
    if (this.#frames.length >= FRAMES_MOST) this.#overflown = true;
    else this.#frames.push(frame);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *frames(signal?: AbortSignal): AsyncGenerator<TurnFrame> {
    const onAbort = (): void => this.#wake();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (let at = 0; ; ) {
        signal?.throwIfAborted();
        if (this.#overflown) {
          throw new DureError("READER_TOO_SLOW", `A reader of a turn was more than ${FRAMES_MOST} frames behind.`, { class: "limit", hint: "Read on from the last id." });
        }
        if (at < this.#frames.length) {
          yield this.#frames[at++]!;
          if (at === this.#frames.length) at = this.#frames.length = 0;
          continue;
        }
        if (this.#ended) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
