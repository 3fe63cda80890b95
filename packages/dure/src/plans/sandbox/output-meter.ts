import { type Readable, Transform, type TransformCallback } from "node:stream";

/** Counts the bytes of all output, and cuts it off at the limit. */
export class OutputMeter {
  isTruncated = false;
  readonly #onOver: () => void;
  #room: number;

  constructor(room: number, onOver: () => void) {
    this.#room = room;
    this.#onOver = onOver;
  }

  through(source: Readable): Readable {
    const gauge = new Transform({
      transform: (chunk: Buffer, _encoding, done: TransformCallback) => {
        const part = this.#take(chunk);
        done(null, part.length > 0 ? part : undefined);
      },
    });
    source.on("error", () => gauge.end());
    return source.pipe(gauge);
  }

  #take(chunk: Buffer): Buffer {
    const part = chunk.subarray(0, Math.max(0, this.#room));
    this.#room -= chunk.length;
    if (part.length < chunk.length) {
      this.isTruncated = true;
      this.#onOver();
    }
    return part;
  }
}
