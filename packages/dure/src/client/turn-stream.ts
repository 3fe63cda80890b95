import type { Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Done } from "../kernel/turn-events.ts";
import { judgeFailure, reconnectDelay } from "./reconnect.ts";
import { readFrames } from "./sse.ts";
import { admit, lastEventId, reconnected, type TurnCursor, type TurnFrame } from "./turn-cursor.ts";

export interface TurnStreamParts {
  /**
   * Starts the turn, or finds it again by its idempotency key; used until the turn's id is known.
   */
  readonly begin: ((signal: AbortSignal) => Promise<Response>) | undefined;
  /** Continues a known turn behind `lastEventId`. */
  readonly resume: (
    turnId: string,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ) => Promise<Response>;
  readonly cursor: TurnCursor;
  readonly clock: Clock;
  readonly attempts: number;
  readonly maxDelayMs: number;
  readonly silenceMs: number;
  /** Told when a connection stands, and when it was lost and another one is being tried. */
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Whether a stream hears its server right now. */
export type ConnectionState = "connected" | "reconnecting";

/**
 * The events of one turn, once and in order, over as many connections as it takes. Reading starts
 * at once; what the reader has not taken yet waits here, at most one turn. It can be iterated once.
 *
 * An abort, or leaving the loop early, ends the reading and nothing else: the turn goes on at the
 * server (`DureClient.stopTurn` stops it).
 */
export class TurnStream implements AsyncIterable<TurnFrame> {
  /** Known as soon as the server has accepted the message. */
  readonly turnId: Promise<string>;
  /** The one that was named, or the new one of a message that named none. */
  readonly sessionId: Promise<string>;
  /** The turn's last event; rejects if the stream could not be read to its end. */
  readonly done: Promise<Done>;

  readonly #parts: TurnStreamParts;
  readonly #leave = new AbortController();
  #accept: (turnId: string) => void = () => undefined;
  #enter: (sessionId: string) => void = () => undefined;
  #refuse: (error: unknown) => void = () => undefined;
  readonly #waiting: TurnFrame[] = [];
  #cursor: TurnCursor;
  #ended = false;
  #wake: () => void = () => undefined;

  constructor(parts: TurnStreamParts) {
    this.#parts = parts;
    this.#cursor = parts.cursor;

    this.turnId = new Promise((resolve, reject) => {
      this.#accept = resolve;
      this.#refuse = reject;
    });

    this.sessionId = new Promise((resolve) => (this.#enter = resolve));

    const signal =
      parts.signal === undefined
        ? this.#leave.signal
        : AbortSignal.any([parts.signal, this.#leave.signal]);

    this.done = this.#follow(signal).finally(() => {
      this.#ended = true;
      this.#wake();
    });

    this.done.catch((error: unknown) => this.#refuse(error));
    this.turnId.catch(() => undefined); // a caller that waits for it hears of it; none has to
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnFrame, Done> {
    try {
      while (true) {
        while (this.#waiting.length > 0) yield this.#waiting.shift()!;
        if (this.#ended) return await this.done;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#leave.abort();
    }
  }

  async #follow(signal: AbortSignal): Promise<Done> {
    const { clock, attempts, maxDelayMs, onConnection } = this.#parts;
    let failures = 0;

    while (true) {
      signal.throwIfAborted();
      let askedMs = 0;
      let cause: unknown;
      const before = this.#cursor;
      try {
        const response = await this.#connect(signal);
        onConnection?.("connected");
        const done = await this.#read(response, (ms) => (askedMs = ms));
        if (done !== undefined) return done;
        if (response.status === 204) throw endedWithoutDone(this.#cursor.turnId);
      } catch (error) {
        signal.throwIfAborted();
        const failure = judgeFailure(error, this.#cursor.turnId !== undefined);
        if (!failure.retry) throw error;
        askedMs = Math.max(askedMs, failure.askedMs);
        cause = error;
      }
      failures = advanced(before, this.#cursor) ? 1 : failures + 1;
      if (failures >= attempts) throw streamLost(this.#cursor.turnId, failures, cause);
      onConnection?.("reconnecting");
      await clock.sleep(reconnectDelay(failures, maxDelayMs, askedMs, Math.random()), { signal });
    }
  }

  async #connect(signal: AbortSignal): Promise<Response> {
    const { turnId } = this.#cursor;
    this.#cursor = reconnected(this.#cursor);

    if (turnId !== undefined) {
      this.#accept(turnId);
      const resumed = await this.#parts.resume(turnId, lastEventId(this.#cursor), signal);
      this.#enter(resumed.headers.get("session-id") ?? "");
      return resumed;
    }

    const response = await this.#parts.begin!(signal);
    this.#know(response.headers.get("turn-id") ?? undefined);
    this.#enter(response.headers.get("session-id") ?? "");

    return response;
  }

  async #read(response: Response, onRetry: (ms: number) => void): Promise<Done | undefined> {
    for await (const message of readFrames(response, {
      clock: this.#parts.clock,
      silenceMs: this.#parts.silenceMs,
      onRetry,
    })) {
      const { cursor, frame } = admit(this.#cursor, message);
      this.#cursor = cursor;
      this.#know(cursor.turnId);
      if (frame === undefined) continue;
      this.#waiting.push(frame);
      this.#wake();
      if (frame.type === "DONE") return frame.data;
    }
    return undefined;
  }

  #know(turnId: string | undefined): void {
    if (turnId === undefined) return;
    this.#cursor = { ...this.#cursor, turnId };
    this.#accept(turnId);
  }
}

function advanced(before: TurnCursor, after: TurnCursor): boolean {
  return after.turnId !== before.turnId || after.seq > before.seq || after.seen > before.seen;
}

function endedWithoutDone(turnId: string | undefined): DureError {
  return new DureError(
    "TURN_ALREADY_READ",
    `Turn ${turnId ?? "?"} has nothing behind the given Last-Event-ID.`,
    {
      class: "conflict",
      hint: "Read the turn without Last-Event-ID to get all of it again.",
      details: { status: 204 },
    },
  );
}

function streamLost(turnId: string | undefined, failures: number, cause: unknown): DureError {
  const what =
    turnId === undefined
      ? "The message could not be sent"
      : `The stream of turn ${turnId} was lost`;

  const why = cause === undefined ? "the connection ended early" : messageOf(cause);

  return new DureError(
    "STREAM_LOST",
    `${what}: ${failures} connections failed in a row, the last one because ${why}.`,
    {
      class: "unavailable",
      hint:
        turnId === undefined
          ? "Check that the server runs, then send again with the same key: nothing happens twice."
          : "Check that the server runs, then read the turn again: it goes on without a reader.",
      cause,
    },
  );
}
