import { DureError } from "../../kernel/errors.ts";
import { roughBytes } from "../../kernel/json.ts";
import type { TurnFrame } from "../api.ts";

/**
 * Frames that may wait for one reader, and about their bytes. Beyond, the reader is cut off and can
 * resume.
 */
const MAX_FRAMES = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

interface Waiting {
  readonly frame: TurnFrame;
  readonly bytes: number;
}

/** Frames on their way to one reader. */
export class FrameQueue {
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: Waiting[] = [];
  /** How many of those the reader has taken. */
  #taken = 0;
  #bytes = 0;
  #ended = false;
  #overflown = false;
  readonly #wake = (): void => this.#onWake();
  #onWake: () => void = () => {};

  /** @param signal ends the reading. */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.#wake, { once: true });
  }

  push(frame: TurnFrame): void {
    const bytes = roughBytes(frame.event);
    this.#bytes += bytes;
    if (this.#overflown || this.#waiting.length >= MAX_FRAMES || this.#bytes > MAX_BYTES) {
      this.#overflow();
    } else this.#waiting.push({ frame, bytes });
    this.#wake();
  }

  /** What waits is let go at once, not only when the reader looks. */
  #overflow(): void {
    this.#overflown = true;
    this.#waiting.length = this.#taken = 0;
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The reader has left. */
  close(): void {
    this.#signal?.removeEventListener("abort", this.#wake);
  }

  /** The next frame that is here. Throws `READER_TOO_SLOW`, and the signal's reason. */
  take(): TurnFrame | undefined {
    this.#signal?.throwIfAborted();
    if (this.#overflown) {
      throw new DureError(
        "READER_TOO_SLOW",
        `A reader of a turn was more than ${MAX_FRAMES} frames or ${MAX_BYTES} bytes behind.`,
        { class: "limit", hint: "Read on from the last id." },
      );
    }
    const next = this.#waiting[this.#taken];
    if (!next) return undefined;
    this.#taken += 1;
    this.#bytes -= next.bytes;
    if (this.#taken === this.#waiting.length) this.#waiting.length = this.#taken = 0;
    return next.frame;
  }

  /** The next frame, also of those to come; undefined: none will come. */
  async next(): Promise<TurnFrame | undefined> {
    for (;;) {
      const frame = this.take();
      if (frame || this.#ended) return frame;
      await new Promise<void>((resolve) => (this.#onWake = resolve));
    }
  }
}
