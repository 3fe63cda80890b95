/** How a turn is read: stored events, then those that come. */

import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import { eventFor } from "../../kernel/told-tool.ts";
import type { Done, TurnEvent } from "../../kernel/turn-events.ts";
import { retryUntilAnswered } from "../../durable/retry-until-answered.ts";
import { MAX_READ, type TurnStore } from "../../durable/turns.ts";
import type { AcceptedTurn, ReadOptions, TurnFrame, Viewer } from "../api.ts";
import type { TurnRun } from "./turn-run.ts";
import { roughBytes } from "../../kernel/json.ts";

/** Readers on other processes look at least this often, milliseconds. */
const READ_EVERY_MS = 500;
const READ_BACK_OFF = { firstMs: 50, maxMs: READ_EVERY_MS } as const;

type StoredEvents = NonNullable<Awaited<ReturnType<TurnStore["read"]>>>;

/** What a reader of one turn has been given. */
interface FramePosition {
  readonly turnId: string;
  /** The last stored event. */
  after: number;
  readonly signal: AbortSignal | undefined;
  /** A frame as the reader may know it. */
  readonly seen: (frame: TurnFrame) => TurnFrame | undefined;
}

/**
 * Reads turns of any process: stored events, then new ones. A turn of this process is followed
 * through its journal. A turn of another process is looked up when that process notifies, or at
 * intervals.
 */
export class TurnReader {
  readonly #store: Pick<TurnStore, "read">;
  readonly #clock: Clock;
  readonly #runOf: (turnId: string) => TurnRun | undefined;
  readonly #find: (turnId: string, caller: Viewer) => Promise<unknown>;
  readonly #waiters = new Map<string, Set<() => void>>();

  constructor(options: {
    store: Pick<TurnStore, "read">;
    clock: Clock;
    /** The run of a turn that runs here. */
    runOf: (turnId: string) => TurnRun | undefined;
    /** Throws where the viewer does not see the turn. */
    find: (turnId: string, caller: Viewer) => Promise<unknown>;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#runOf = options.runOf;
    this.#find = options.find;
  }

  /**
   * Stored events after `after`, then live ones, until `DONE`. Throws `TURN_UNKNOWN` also for a
   * turn of another tenant.
   */
  async *read(
    turnId: string,
    { after = 0, caller, signal }: ReadOptions,
  ): AsyncGenerator<TurnFrame> {
    await this.#assertSeen(turnId, caller);
    const position: FramePosition = { turnId, after, signal, seen: frameFor(caller) };
    for (;;) {
      signal?.throwIfAborted();
      const run = this.#runOf(turnId);
      const isDone = run ? yield* this.#readHere(run, position) : yield* this.#readStored(position);
      if (isDone) return;
    }
  }

  /** The `DONE` of a turn, for the one whose message it answers. */
  async done(
    { turnId, repeated }: AcceptedTurn,
    { caller, signal }: Omit<ReadOptions, "after">,
  ): Promise<Done> {
    if (repeated) await this.#assertSeen(turnId, caller);
    signal?.throwIfAborted();
    const run = this.#runOf(turnId);
    if (run) await untilEither(run.finished, signal);
    return run?.done ?? (await lastOf(this.read(turnId, { caller, signal })));
  }

  async #assertSeen(turnId: string, caller: Viewer | undefined): Promise<void> {
    if (caller && caller.tenant !== "" && caller.tenant !== null) await this.#find(turnId, caller);
  }

  /** Of a turn that runs here: what is stored, then its live frames. False: its run is over. */
  async *#readHere(run: TurnRun, position: FramePosition): AsyncGenerator<TurnFrame, boolean> {
    const queue = new FrameQueue(position.signal);
    const toldBefore = run.journal.told;
    const leave = run.journal.listen((frame) => queue.push(frame));
    void run.finished.then(() => queue.end());
    try {
      yield* this.#upTo(toldBefore, position);
      let told = toldBefore;
      for (;;) {
        const frame = queue.take() ?? (await queue.next());
        if (!frame) return false;
        if (frame.seq !== undefined) {
          told = frame.seq;
          if (frame.seq <= position.after) continue;
          position.after = frame.seq;
        } else if (told < position.after) {
          // The reader comes from another process and has as stored what is not told here yet.
          continue;
        }
        const seen = position.seen(frame);
        if (seen) yield seen;
        if (frame.event.type === "DONE") return true;
      }
    } finally {
      leave();
      queue.close();
    }
  }

  /** What is stored up to `last`, where the live frames begin. */
  async *#upTo(last: number, position: FramePosition): AsyncGenerator<TurnFrame, void> {
    while (last > position.after) {
      const { rows } = await this.#rows(position);
      for (const row of rows) {
        if (row.seq > last) break;
        position.after = row.seq;
        const seen = position.seen(frameOf(row));
        if (seen) yield seen;
      }
      if (rows.length < MAX_READ || rows.at(-1)!.seq >= last) return;
    }
  }

  /** What is stored now; waits for more. True: the turn is done and all of it was read. */
  async *#readStored(position: FramePosition): AsyncGenerator<TurnFrame, boolean> {
    const wake = this.#waiter(position.turnId);
    try {
      const { status, rows } = await this.#rows(position);
      for (const row of rows) {
        position.after = row.seq;
        const seen = position.seen(frameOf(row));
        if (seen) yield seen;
        if (row.type === "DONE") return true;
      }
      if (rows.length === MAX_READ) return false;
      if (status === "done") return true;
      await wake.wait(READ_EVERY_MS, position.signal);
      return false;
    } finally {
      wake.leave();
    }
  }

  async #rows({ turnId, after, signal }: FramePosition): Promise<StoredEvents> {
    const ask = async (): Promise<StoredEvents> => {
      const found = await this.#store.read(turnId, after);
      if (!found) throw turnUnknown(turnId);
      return found;
    };
    return retryUntilAnswered(ask, { clock: this.#clock, signal, backOff: READ_BACK_OFF });
  }

  #waiter(turnId: string): {
    wait: (ms: number, signal?: AbortSignal) => Promise<void>;
    leave: () => void;
  } {
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const waiting = this.#waiters.get(turnId) ?? new Set();
    this.#waiters.set(turnId, waiting.add(wake));
    return {
      wait: async (ms, signal) => {
        const cut = new AbortController();
        const either = signal ? AbortSignal.any([signal, cut.signal]) : cut.signal;
        try {
          await Promise.race([woken, this.#clock.sleep(ms, { signal: either })]);
        } finally {
          cut.abort();
        }
      },
      leave: () => {
        waiting.delete(wake);
        if (waiting.size === 0) this.#waiters.delete(turnId);
      },
    };
  }

  /** Readers that wait for this turn look now. */
  wake(turnId: string): void {
    for (const wake of this.#waiters.get(turnId) ?? []) wake();
  }

  wakeAll(): void {
    for (const turnId of this.#waiters.keys()) this.wake(turnId);
  }
}

/** Waits for `work`; rejects with the signal's reason. */
async function untilEither(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return void (await work);
  const { promise: cut, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([work, cut]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** The `DONE` that ends the frames of a turn. */
async function lastOf(frames: AsyncIterable<TurnFrame>): Promise<Done> {
  let last: Done | undefined;
  for await (const { event } of frames) {
    if (event.type === "DONE") last = event.data;
  }
  return last!;
}

function frameOf({ seq, type, data }: StoredEvents["rows"][number]): TurnFrame {
  return { seq, event: { type, data } as TurnEvent };
}

/** Code of the team sees all; others what `eventFor` shows them. */
function frameFor(caller: Viewer | undefined): FramePosition["seen"] {
  if (!caller) return (frame) => frame;
  const reader = { seesTools: caller.seesTools ?? false };

  return (frame) => {
    const event = eventFor(frame.event, reader);
    if (event === frame.event) return frame;
    return event && { seq: frame.seq, event };
  };
}

export function turnUnknown(turnId: string): DureError {
  return new DureError("TURN_UNKNOWN", `There is no turn ${turnId}.`, {
    class: "not-found",
    hint: "Turns are kept 24 hours; check the id.",
  });
}

/**
 * Frames that may wait for one reader, and about their bytes. Beyond, the reader is cut off and can
 * resume.
 */
const MAX_FRAMES = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

interface WaitingReader {
  readonly frame: TurnFrame;
  readonly bytes: number;
}

/** Frames on their way to one reader. */
class FrameQueue {
  readonly #signal: AbortSignal | undefined;
  readonly #waiting: WaitingReader[] = [];
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
      this.#overflown = true; // what waits is let go at once, not only when the reader looks
      this.#waiting.length = this.#taken = 0;
    } else this.#waiting.push({ frame, bytes });
    this.#wake();
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
