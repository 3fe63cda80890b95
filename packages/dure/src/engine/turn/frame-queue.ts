import { DureError } from "../../kernel/errors.ts";
import { roughBytes } from "../../kernel/json.ts";
import type { TurnFrame } from "../api.ts";

/**
 * Frames that may wait for one reader, and about their bytes. Beyond, the reader is cut off and can
 * resume.
 */
const MAX_FRAMES = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

/** Frames on their way to one reader. */
export class FrameQueue {
  readonly #frames: TurnFrame[] = [];
  #bytes = 0;
  #ended = false;
  #overflown = false;
  #wake: () => void = () => {};

  push(frame: TurnFrame): void {
    this.#bytes += roughBytes(frame.event);
    if (this.#overflown || this.#frames.length >= MAX_FRAMES || this.#bytes > MAX_BYTES) {
      this.#overflow();
    } else this.#frames.push(frame);
    this.#wake();
  }

  /** What waits is let go at once, not only when the reader looks. */
  #overflow(): void {
    this.#overflown = true;
    this.#frames.length = 0;
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *frames(signal?: AbortSignal): AsyncGenerator<TurnFrame> {
    const onAbort = (): void => this.#wake();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (let at = 0; ;) {
        signal?.throwIfAborted();
        if (this.#overflown) {
          throw new DureError(
            "READER_TOO_SLOW",
            `A reader of a turn was more than ${MAX_FRAMES} frames or ${MAX_BYTES} bytes behind.`,
            { class: "limit", hint: "Read on from the last id." },
          );
        }
        if (at < this.#frames.length) {
          const frame = this.#frames[at++]!;
          this.#bytes -= roughBytes(frame.event);
          if (at === this.#frames.length) at = this.#frames.length = 0;
          yield frame;
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
