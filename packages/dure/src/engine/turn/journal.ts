/** The journal of one life: what earlier lives recorded, and what this one records. */

import type { Cancel, Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import { jsonCopy } from "../../kernel/json.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { JournalRow, StoredModelCall } from "../../durable/turns.ts";
import type { TurnFrame } from "../api.ts";
import type { Replay } from "../replay/replay.ts";
import { BEGINS, type RecordOptions } from "./step.ts";

/**
 * Stored events wait this long for others before they are written alone, milliseconds. Below the 20
 * ms of docs/spec/conversation §6.
 */
const GATHER_MS = 8;
/** Text is stored in chunks of at most this age and size. Source: docs/spec/conversation §6. */
const CHUNK_MS = 100;
const CHUNK_BYTES = 1_024;

/** What the journal needs from the store: one statement that adds rows under the turn's epoch. */
export interface JournalStore {
  append(
    rows: readonly JournalRow[],
    calls: readonly StoredModelCall[],
  ): Promise<{ stop: boolean }>;
}

/** Thrown when a handler does not do what its journal says it did. */
export class DivergedError extends DureError {
  constructor(place: string, recorded: string, now: string) {
    super(
      "TURN_DIVERGED",
      `At place ${place} the journal has ${recorded}, the handler does ${now}.`,
      {
        class: "conflict",
        hint: "Raise the service's version with a release that changes the order of steps, and branch on turn.version.",
      },
    );
  }
}

type FrameListener = (frame: TurnFrame) => void;

/** Text on its way into one stored row. */
interface JournalChunk {
  readonly place: string;
  readonly text: string;
  /** Of the text in UTF-8, counted piece by piece. */
  readonly bytes: number;
  /** Monotonic, milliseconds. */
  readonly openedAt: number;
}

const NO_CHUNK: JournalChunk = { place: "", text: "", bytes: 0, openedAt: 0 };

/** One for all: every run ends with it, and hardly any is written to afterwards. */
const CLOSED = new DureError("TURN_CLOSED", "The run of this turn is over.");

/**
 * The memory of one run of a turn. Records of an earlier life are given back by place. New ones are
 * gathered, written with the next commit, and shown to readers only then. Only tokens are shown
 * before they are stored. They wait behind any stored event that is not yet written, so that all
 * readers see one order.
 */
export class TurnJournal {
  /** Set where a stored turn is replayed: then nothing is done to the outside. */
  readonly replay: Replay | undefined;
  readonly #store: JournalStore;
  readonly #clock: Clock;
  readonly #onCallsStored: (calls: readonly StoredModelCall[]) => void;
  readonly #past: ReadonlyMap<string, PastStep>;
  readonly #visited = new Set<string>();
  readonly #listeners = new Set<FrameListener>();

  #seq: number;
  #rows: JournalRow[] = [];
  #calls: StoredModelCall[] = [];
  #chunk = NO_CHUNK;
  /** Text that readers of this process have seen and that no sent chunk holds yet. */
  #shownText = "";
  #heldText: string[] = [];
  #told: number;
  #writing: Promise<void> | undefined;
  #timer: Cancel | undefined;
  #timerMs = 0;
  #mustWrite = false;
  #failure: Error | undefined;
  #onStop: () => void = () => {};
  #diverged: DivergedError | undefined;

  constructor(options: {
    store: JournalStore;
    clock: Clock;
    rows: readonly JournalRow[];
    onCallsStored?: (calls: readonly StoredModelCall[]) => void;
    replay?: Replay | undefined;
  }) {
    this.replay = options.replay;
    this.#store = options.store;
    this.#onCallsStored = options.onCallsStored ?? (() => {});
    this.#clock = options.clock;
    this.#past = readPast(options.rows);
    this.#seq = options.rows.at(-1)?.seq ?? 0;
    this.#told = this.#seq;
  }

  /** The last position that readers may have seen. */
  get told(): number {
    return this.#told;
  }

  /** Calls `callback` once when a write reports a stop request for the turn. */
  onStop(callback: () => void): void {
    this.#onStop = callback;
  }

  /** What earlier lives left at `path`, which counts as visited from now on. */
  pastAt(path: string, name: string): PastStep | undefined {
    const step = this.#past.get(path);
    if (this.replay?.goesAnotherWay({ path, name }, step?.name)) return undefined;
    if (step) this.#visited.add(path);
    return step;
  }

  /**
   * The error for the caller at `path`; `checkComplete` throws it again, in case the caller
   * swallowed it.
   */
  diverge(path: string, recorded: string, now: string): DivergedError {
    return (this.#diverged ??= new DivergedError(path, recorded, now));
  }

  /**
   * Steps of an earlier life that it was about to begin (`begins`) and did not finish, by the
   * beginning of their name.
   */
  unfinished(prefix: string): readonly { readonly path: string; readonly name: string }[] {
    return [...this.#past].flatMap(([path, { name }]) => {
      const outer = path.slice(0, -BEGINS.length);
      return path === outer + BEGINS && name.startsWith(prefix) && !this.#past.get(outer)?.record
        ? [{ path: outer, name }]
        : [];
    });
  }

  /**
   * Throws the error that interrupted the life, and `DivergedError` when the handler did something else than the journal says, or ended
   * without it. Of what is missing only top places: inner ones are skipped with a finished step.
   */
  checkComplete(): void {
    this.#throwIfFailed();
    if (this.#diverged) throw this.#diverged;
    for (const [path, step] of this.#past) {
      if (!path.includes(".") && !this.#visited.has(path)) {
        throw new DivergedError(path, step.name, "nothing more");
      }
    }
  }

  /**
   * Gathers what recovery gives back at this place: a copy, so that later changes of the value do
   * not change the record. Throws `VALUE_NOT_JSON`, and has gathered nothing.
   */
  record(path: string, name: string, value: unknown, { cheap }: RecordOptions = {}): void {
    const data = jsonCopy(value, `What "${name}" gave`);
    this.#closeChunk();
    if (!cheap) this.#mustWrite = true;
    this.#rows.push({ seq: ++this.#seq, place: `${path} ${name}`, type: "RECORD", data });
  }

  call(call: StoredModelCall): void {
    this.#calls.push(call);
  }

  /** Gathers a stored event; readers see it when it is written. */
  event(path: string, name: string, event: TurnEvent): void {
    if (event.type === "LLM_TOKEN") return this.token(path, name, event.data);
    this.#closeChunk();
    this.#rows.push({
      seq: ++this.#seq,
      place: `${path} ${name}`,
      type: event.type,
      data: event.data,
    });
    this.#writeSoon(GATHER_MS);
  }

  /** Shows a piece of text at once, unless a stored event before it is still being written. */
  token(path: string, name: string, text: string): void {
    if (text === "") return;
    const place = `${path} ${name}`;
    if (this.#chunk.place !== place) this.#closeChunk();
    const now = this.#clock.monotonic();
    const {
      text: before,
      bytes,
      openedAt,
    } = this.#chunk.text === "" ? { ...NO_CHUNK, openedAt: now } : this.#chunk;
    this.#chunk = { place, text: before + text, bytes: bytes + Buffer.byteLength(text), openedAt };
    if (this.#rows.length > 0 || this.#writing) this.#heldText.push(text);
    else this.#show(text);
    if (this.#chunk.bytes >= CHUNK_BYTES || now - openedAt >= CHUNK_MS) {
      this.#closeChunk();
      this.#writeSoon(this.#writing ? 0 : GATHER_MS);
    } else {
      this.#writeSoon(CHUNK_MS);
    }
  }

  /** Whether something is gathered that recovery would miss. */
  get hasUnwritten(): boolean {
    return this.#rows.length > 0 || this.#calls.length > 0 || this.#chunk.text !== "";
  }

  /**
   * Writes all that is gathered. Rejects with the store's error; after that the journal takes no
   * more.
   */
  async flush(): Promise<void> {
    this.#throwIfFailed();
    while (this.#writing) await this.#writing;
    this.#throwIfFailed();
    if (!this.hasUnwritten) return;
    this.#closeChunk();
    await this.#write();
    this.#throwIfFailed();
  }

  #throwIfFailed(): void {
    if (this.#failure) throw this.#failure;
  }

  /**
   * Takes what is gathered for a statement that writes it together with something else; one of the
   * two callbacks must follow.
   */
  async take(): Promise<Taken> {
    while (this.#writing) await this.#writing;
    this.#throwIfFailed();
    this.#closeChunk();
    this.#cancelTimer();
    const rows = this.#rows;
    const calls = this.#calls;
    this.#rows = [];
    this.#calls = [];
    this.#mustWrite = false;
    let release = (): void => {};
    this.#writing = new Promise((resolve) => (release = resolve));
    return {
      rows,
      calls,
      committed: () => {
        this.#writing = undefined;
        this.#onCallsStored(calls);
        this.#tell(rows);
        release();
      },
      refused: () => {
        this.#writing = undefined;
        this.#rows = [...rows, ...this.#rows];
        this.#calls = [...calls, ...this.#calls];
        release();
      },
    };
  }

  /** Whether `flushResults` has something to do or to wait for. */
  get owesResults(): boolean {
    return this.#mustWrite || this.#writing !== undefined || this.#failure !== undefined;
  }

  /**
   * Writes now if the result of a model call, tool or step would be lost by a crash. For callers
   * that are about to do something slow.
   */
  async flushResults(): Promise<void> {
    // A write that is under way may hold one.
    while (this.#writing) await this.#writing;
    if (this.#mustWrite || this.#failure) await this.flush();
  }

  /** The position for `DONE`, behind everything that was gathered. */
  nextSeq(): number {
    return ++this.#seq;
  }

  /** Tells readers here of `DONE`, after it is stored. */
  tellDone(seq: number, event: TurnEvent): void {
    this.#told = seq;
    this.#emit({ seq, event });
  }

  /** From now on `listener` gets each frame; text that is shown and not stored comes first. */
  listen(listener: FrameListener): () => void {
    if (this.#shownText !== "") listener({ event: { type: "LLM_TOKEN", data: this.#shownText } });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Drops what is gathered and cannot be written, except the model calls, which cost money. The
   * turn ends without it.
   */
  abandon(): void {
    this.#cancelTimer();
    this.#rows = [];
    this.#chunk = NO_CHUNK;
    this.#mustWrite = false;
    this.#failure = undefined;
  }

  /** This life cannot go on: what its handler does after `error` is not stored. */
  interrupt(error: Error): void {
    this.#failure ??= error;
  }

  /** Writes nothing more; for a run that was fenced or has ended. */
  close(): void {
    this.#cancelTimer();
    this.#failure ??= CLOSED;
  }

  #show(text: string): void {
    this.#shownText += text;
    this.#emit({ event: { type: "LLM_TOKEN", data: text } });
  }

  #closeChunk(): void {
    const { place, text } = this.#chunk;
    if (text === "") return;
    this.#chunk = NO_CHUNK;
    this.#rows.push({ seq: ++this.#seq, place, type: "LLM_TOKEN", data: text });
  }

  #writeSoon(ms: number): void {
    if (this.#failure || this.#timer) {
      // A chunk's long timer must not hold back a stored event.
      if (ms >= CHUNK_MS || this.#failure || this.#timerMs <= ms) return;
      this.#cancelTimer();
    }
    this.#timerMs = ms;
    this.#timer = this.#clock.after(ms, () => {
      this.#timer = undefined;
      // A failure is kept; the next write throws it.
      this.flush().catch(() => {});
    });
  }

  #cancelTimer(): void {
    this.#timer?.();
    this.#timer = undefined;
  }

  async #write(): Promise<void> {
    this.#cancelTimer();
    this.#mustWrite = false;
    const rows = this.#rows;
    const calls = this.#calls;
    this.#rows = [];
    this.#calls = [];
    const writing = (async () => {
      try {
        const { stop } = await this.#store.append(rows, calls);
        this.#writing = undefined;
        this.#onCallsStored(calls);
        this.#tell(rows);
        if (stop) this.#onStop();
      } catch (error) {
        this.#failure = error as Error;
        this.#writing = undefined;
      }
    })();
    this.#writing = writing;
    await writing;
  }

  /**
   * Readers here have seen a chunk's text piece by piece; the frame that closes it carries what is
   * left of it.
   */
  #tell(rows: readonly JournalRow[]): void {
    for (const row of rows) {
      if (row.type === "RECORD") continue;
      this.#told = row.seq;
      const event = { type: row.type, data: row.data } as TurnEvent;
      if (event.type !== "LLM_TOKEN") {
        this.#emit({ seq: row.seq, event });
        continue;
      }
      const rest = event.data.slice(this.#shownText.length);
      this.#shownText = "";
      this.#dropHeld(rest.length);
      this.#emit({ seq: row.seq, event: { type: "LLM_TOKEN", data: rest } });
    }
    if (this.#rows.length > 0) return this.#writeSoon(GATHER_MS);
    const held = this.#heldText.join("");
    this.#heldText = [];
    if (held !== "") this.#show(held);
  }

  #dropHeld(length: number): void {
    if (length === 0) return;
    const held = this.#heldText.join("").slice(length);
    this.#heldText = held === "" ? [] : [held];
  }

  #emit(frame: TurnFrame): void {
    for (const listener of this.#listeners) listener(frame);
  }
}

/** Rows that another writer puts into its statement. */
export interface Taken {
  readonly rows: readonly JournalRow[];
  readonly calls: readonly StoredModelCall[];
  readonly committed: () => void;
  /** The statement wrote nothing: the rows are gathered again. */
  readonly refused: () => void;
}

/** The journal's content at one place. */
export interface PastStep {
  readonly name: string;
  /** Present when the step was finished. */
  readonly record?: { readonly value: unknown };
  /** Stored events of this place, in order. */
  readonly events: readonly TurnEvent[];
}

function readPast(rows: readonly JournalRow[]): ReadonlyMap<string, PastStep> {
  const past = new Map<
    string,
    { name: string; record?: { value: unknown }; events: TurnEvent[] }
  >();
  for (const row of rows) {
    const space = row.place.indexOf(" ");
    const path = row.place.slice(0, space);
    const step = past.get(path) ?? { name: row.place.slice(space + 1), events: [] };
    past.set(path, step);
    if (row.type === "RECORD") step.record = { value: row.data };
    else step.events.push({ type: row.type, data: row.data } as TurnEvent);
  }
  return past;
}
