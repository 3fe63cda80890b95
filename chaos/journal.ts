import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";

/** One line of one party, as the harness got it. All times are the harness's own clock. */
export interface Line {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** `server-1.3` is the third life of the first server; `bank`, `provider`, `client`, `faults`. */
  readonly from: string;
  readonly text: string;
}

/** Longest line that is kept, characters: a server's error with its stack is far below. */
const LONGEST_LINE = 4_000;

/**
 * All that every party said, in the order of its arrival: in memory for stories, and in
 * `lines.ndjson` for people. Its size is bounded by the run's own end; ten minutes make about 100
 * MB.
 */
export class Journal {
  readonly lines: Line[] = [];
  readonly #file: WriteStream;

  constructor(folder: string) {
    this.#file = createWriteStream(join(folder, "lines.ndjson"));
  }

  note(from: string, text: string): void {
    const line = { at: Date.now(), from, text: text.slice(0, LONGEST_LINE) };
    this.lines.push(line);
    this.#file.write(`${JSON.stringify(line)}\n`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => void this.#file.end(() => resolve()));
  }
}
