import type { ChildProcess } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";

/**
 * How long what an ended process has said may still be under way, milliseconds; it is in a pipe, so
 * only a busy loop delays it.
 */
const READ_MS = 5_000;
/** Of what a failed start has written, in characters. */
const ERROR_TAIL = 2_000;

/** The gate has said something else than was waited for, or nothing more will come from it. */
export class GateClosed extends Error {
  override readonly name = "GateClosed";
}

/** Our side of descriptor 3. */
export class Gate {
  readonly #child: ChildProcess;
  readonly #channel: Duplex | undefined;
  readonly #exited: Promise<unknown>;
  readonly #clock: Clock;
  #heard = "";
  #wake = (): void => {};
  #isClosed = false;

  constructor(child: ChildProcess, exited: Promise<unknown>, clock: Clock) {
    this.#child = child;
    this.#exited = exited;
    this.#clock = clock;
    this.#channel = child.stdio[3] as Duplex | undefined;
    // Node throws away what is not read yet when a process exits, unless it is listened for.
    for (const stream of [child.stdout, child.stderr]) stream?.on("readable", keep);
    this.#channel?.on("error", () => {}); // told by its end
    this.#channel?.on("data", (chunk: Buffer) => {
      this.#heard += chunk.toString();
      this.#wake();
    });
    const over = (): void => {
      this.#isClosed = true;
      this.#wake();
    };
    this.#channel?.once("close", over).once("end", over);
    // That it has ended may be known before what it said is read: a short command starts and ends
    // within one turn of a busy loop.
    exited
      .then(() => within(clock, READ_MS, this.#channel && ended(this.#channel)))
      .then(over, over);
  }

  send(text: string, { last = false } = {}): void {
    if (last) this.#channel?.end(text);
    else this.#channel?.write(text);
  }

  /** Resolves once the gate has said the word. */
  async hears(word: string, signal: AbortSignal | undefined): Promise<void> {
    const onAbort = (): void => this.#wake();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (this.#heard.split("\n").slice(0, -1).includes(word)) return;
        if (this.#isClosed || this.#heard.includes("failed ")) {
          throw new GateClosed(this.#heard.trim());
        }
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** What the enclosure wrote to stderr. Lets it go: a gate that still waits comes to its end. */
  async failure(): Promise<string> {
    this.close();
    this.#child.stdin?.destroy();
    let text = "";
    this.#child.stderr?.on(
      "data",
      (chunk: Buffer) => void (text = (text + chunk.toString()).slice(-ERROR_TAIL)),
    );
    this.#child.stderr?.resume();
    this.#child.stdout?.resume();
    await this.#exited.catch(() => {});
    await within(this.#clock, READ_MS, this.#child.stderr && ended(this.#child.stderr));
    return text.trim();
  }

  /** From here on what the child writes is another's to read. */
  close(): void {
    this.#channel?.destroy();
    const { stdout, stderr } = this.#child;
    for (const stream of [stdout, stderr]) stream?.off("readable", keep);
  }
}

function keep(): void {}

/** Resolves when all of it is read, or its reader is gone. */
function ended(stream: Readable): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => stream.once("end", resolve).once("close", resolve));
}

/**
 * Waits for it, but no longer than that. A race against a timer alone would hold the process open.
 */
export async function within(
  clock: Clock,
  mostMs: number,
  wanted: Promise<void> | null | undefined,
): Promise<void> {
  const over = new AbortController();
  await Promise.race([wanted, clock.sleep(mostMs, { signal: over.signal }).catch(() => {})]);
  over.abort();
}
