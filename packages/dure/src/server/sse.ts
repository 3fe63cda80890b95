import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Cancel, Clock } from "../kernel/clock.ts";
import { shownEvent } from "../durable/shown-event.ts";
import type { TenantView } from "../kernel/tenant.ts";
import { toWire } from "../kernel/wire.ts";
import { boundsOf } from "./bounds.ts";
import type { PlatformEvent } from "../wire/events.ts";

export interface SseLimits {
  /**
   * A comment leaves when nothing else did for this long, milliseconds. Default 15 000. Source:
   * docs/spec/conversation §6.
   */
  readonly heartbeatMs?: number | undefined;
  /** Bytes that may wait for a reader before no more is fetched for it. */
  readonly bufferBytes?: number | undefined;
  /**
   * Bytes that may wait for all readers together; beyond, the reader with most of them is cut off.
   */
  readonly streamsBytes?: number | undefined;
  /**
   * A reader that has not emptied its full buffer within this is cut off, milliseconds; it can
   * resume.
   */
  readonly stallMs?: number | undefined;
}

/**
 * Why a stream's signal aborts. One for all: making an error for each reader that leaves was 7 % of
 * a short turn's time.
 */
const READER_GONE = Object.assign(new Error("the reader is gone"), { name: "AbortError" });

/** All event streams of one server: one heartbeat for all, and their end when the server drains. */
export class SseStreams {
  readonly #open = new Set<SseStream>();
  readonly #clock: Clock;
  readonly #limits: Required<{ [Key in keyof SseLimits]: number }>;
  /** Bytes that wait for all readers. */
  #waiting = 0;
  #stopHeartbeat: Cancel | undefined;
  #draining = false;

  constructor(clock: Clock, limits: SseLimits = {}) {
    this.#clock = clock;
    const { bufferBytes, streamsBytes, stallMs } = boundsOf(limits);

    this.#limits = {
      heartbeatMs: limits.heartbeatMs ?? 15_000,
      bufferBytes,
      streamsBytes,
      stallMs,
    };
  }

  /** Streams that are open now. */
  get size(): number {
    return this.#open.size;
  }

  /** Bytes that were written and not taken yet, of all streams. */
  get waitingBytes(): number {
    return this.#waiting;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /**
   * Sends the head and `firstFrame` in one piece, at once. The response belongs to the stream from
   * here on.
   * @param farewell The last words of a stream that ends before its time.
   */
  open(
    response: ServerResponse,
    headers: OutgoingHttpHeaders,
    firstFrame: string,
    farewell: string = COME_BACK,
  ): SseStream {
    const stream = new SseStream(response, this.#clock, {
      ...this.#limits,
      farewell,
      onWaiting: (bytes) => this.#count(bytes),
    });

    response.writeHead(200, {
      ...headers,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });

    stream.write(firstFrame);

    if (this.#draining) {
      stream.endEarly();
      return stream;
    }

    this.#open.add(stream);
    stream.signal.addEventListener("abort", () => this.#open.delete(stream), { once: true });
    this.#stopHeartbeat ??= this.#clock.every(Math.max(50, this.#limits.heartbeatMs / 15), () =>
      this.#heartbeat(),
    );

    return stream;
  }

  /** Ends every stream with a hint to reconnect after 1 s. Streams opened later end at once. */
  drain(): void {
    this.#draining = true;
    this.#stopHeartbeat?.();
    for (const stream of [...this.#open]) stream.endEarly();
  }

  /** Cuts off the readers that hold most when all together hold too much. */
  #count(bytes: number): void {
    this.#waiting += bytes;
    while (bytes > 0 && this.#waiting > this.#limits.streamsBytes) {
      const [first, ...others] = this.#open;
      if (!first) return;
      others
        .reduce((most, stream) => (stream.waitingBytes > most.waitingBytes ? stream : most), first)
        .cut();
    }
  }

  #heartbeat(): void {
    const before = this.#clock.monotonic() - this.#limits.heartbeatMs;
    for (const stream of this.#open) stream.beatIfSilentSince(before);
  }
}

/** Asks the reader to come back after 1 s. */
const COME_BACK = "retry: 1000\n\n";

interface StreamLimits {
  readonly farewell: string;
  readonly bufferBytes: number;
  readonly stallMs: number;
  /** Hears how many bytes wait more than before; negative when they left. */
  readonly onWaiting: (bytes: number) => void;
}

/**
 * One reader. Whatever ends it (the reader, a stall, a drain, `end`) aborts `signal`; the turn it
 * shows goes on.
 */
export class SseStream {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #ended = new AbortController();
  /** Bytes that were written and not taken yet. */
  #waiting = 0;
  #wroteAt: number;
  #cut = false;

  constructor(response: ServerResponse, clock: Clock, limits: StreamLimits) {
    this.#response = response;
    this.#clock = clock;
    this.#limits = limits;
    this.#wroteAt = clock.monotonic();
    response.once("close", () => this.#gone());
    // A reset connection is an ended reader, not a failure of ours.
    response.on("error", () => this.#ended.abort(READER_GONE));
  }

  /** Aborts when this reader is gone or has been sent away. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** True if the reader was cut off because it did not read. */
  get wasCut(): boolean {
    return this.#cut;
  }

  get ended(): boolean {
    return this.#ended.signal.aborted;
  }

  get waitingBytes(): number {
    return this.#waiting;
  }

  /**
   * Sends text that ends in a blank line. Bytes that several readers get are held once. Nothing
   * happens once the stream has ended.
   */
  write(text: string | Buffer): void {
    if (this.ended) return;

    this.#wroteAt = this.#clock.monotonic();
    const bytes = typeof text === "string" ? Buffer.byteLength(text) : text.length;
    this.#waiting += bytes;
    this.#response.write(text, () => this.#taken(bytes));
    this.#limits.onWaiting(bytes);
  }

  /** Sends the reader away at once. It can resume behind the last event that it got whole. */
  cut(): void {
    this.#cut = true;
    this.#response.destroy();
    this.#gone();
  }

  /** The system has taken these bytes. */
  #taken(bytes: number): void {
    const counted = Math.min(bytes, this.#waiting); // none is left when the reader is gone
    this.#waiting -= counted;
    this.#limits.onWaiting(-counted);
  }

  #gone(): void {
    this.#taken(this.#waiting);
    this.#ended.abort(READER_GONE);
  }

  /** Whether the reader's buffer is full: fetch no more before `roomAgain()`. */
  get isFull(): boolean {
    return (
      !this.ended &&
      this.#response.writableNeedDrain &&
      this.#response.writableLength >= this.#limits.bufferBytes
    );
  }

  /**
   * Resolves when the buffer was emptied or the stream ended; cuts the reader off after `stallMs`.
   */
  async roomAgain(): Promise<void> {
    if (!this.isFull) return;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        cancel();
        this.#response.off("drain", settle);
        this.#ended.signal.removeEventListener("abort", settle);
        resolve();
      };

      const cancel = this.#clock.after(this.#limits.stallMs, () => this.cut());
      this.#response.once("drain", settle);
      this.#ended.signal.addEventListener("abort", settle, { once: true });
    });
  }

  /**
   * Ends the response behind what was written; a reader that does not fetch the rest within
   * `stallMs` loses the connection.
   */
  end(lastText = ""): void {
    if (this.ended) return;

    const cancel = this.#clock.after(this.#limits.stallMs, () => this.#response.destroy());
    this.#response.once("close", cancel);
    this.#response.end(lastText);
    this.#ended.abort(READER_GONE);
  }

  /** Ends with its farewell: a hint to come back, unless its protocol says it in another way. */
  endEarly(): void {
    this.end(this.#limits.farewell);
  }

  beatIfSilentSince(before: number): void {
    if (this.#wroteAt <= before && !this.isFull) this.write(": still here\n\n");
  }
}

/** One SSE frame. `data` is written as JSON, so it is always one line. */
export function frame(event: string, data: unknown, id?: string): string {
  return id === undefined
    ? `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
    : `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * Bytes of an event's frame, made once for all its readers in this process who see the same of it.
 */
const FRAMES = {
  ofAll: new WeakMap<PlatformEvent, Buffer>(),
  ofOne: new WeakMap<PlatformEvent, Buffer>(),
};

/** An event of the log as its readers get it. Every tenant sees its own events alike. */
export function eventFrame(event: PlatformEvent, view: TenantView): Buffer {
  const frames = view === null ? FRAMES.ofAll : FRAMES.ofOne;
  const known = frames.get(event);
  if (known) return known;

  const made = Buffer.from(frame(event.type, toWire(shownEvent(event, view)), event.id));
  frames.set(event, made);

  return made;
}
