import type { DureClient } from "../client/client.ts";
import { EMPTY_TURN_VIEW, shownText, turnView, type TurnView } from "../client/turn-view.ts";
import type { TurnFrame } from "../client/turn-cursor.ts";
import type { ConnectionState, TurnStream } from "../client/turn-stream.ts";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Trace } from "../kernel/turn-events.ts";
import type { Escalation, EscalationAnswer } from "../wire/escalations.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { FileInfo } from "../wire/files.ts";
import type { MessageRequest, Session } from "../wire/turns.ts";
import {
  answersAfterQuestions,
  asDureError,
  entriesOf,
  inTime,
  keyOf,
  shownState,
  type Entry,
} from "./entries.ts";

/** The turn that runs now. `lost`: its stream was given up; `reattach` follows it again. */
export interface RunningTurn {
  readonly turnId: string;
  readonly view: TurnView;
  readonly connection: ConnectionState | "lost";
  readonly stopping: boolean;
  readonly problem?: DureError;
}

/** A conversation as it stands. */
export interface ConversationView {
  /** `new`: nothing was said yet, the server does not know it. */
  readonly phase: "new" | "loading" | "ready" | "broken";
  readonly problem?: DureError;
  readonly service: string | undefined;
  readonly entries: readonly Entry[];
  readonly turn: RunningTurn | undefined;
  /** What was seen of turns that ended while this page looked, by turn; the newest `SEEN_LIMIT`. */
  readonly seen: ReadonlyMap<string, TurnView>;
  /** Questions to a person that this conversation has raised, open or closed, newest first. */
  readonly escalations: readonly Escalation[];
  readonly state: JsonObject;
  readonly trace: Trace | undefined;
}

/** What a message carries besides its words. */
export type SentWith = Omit<MessageRequest, "sessionId" | "message" | "files"> & {
  /** As `DureClient.uploadFiles` gave them for this session. */
  readonly files?: readonly FileInfo[] | undefined;
};

interface OutgoingMessageDraft {
  readonly key: string;
  readonly request: MessageRequest;
  /** Kept over retries, so that a message that did arrive is not sent twice. */
  readonly idempotencyKey: string;
}

export interface ConversationOptions {
  readonly client: DureClient;
  readonly sessionId: string;
  /** Known to the server already: load it. */
  readonly exists: boolean;
  /** Something was stored: lists of sessions are old now. */
  readonly onChange: () => void;
}

/**
 * The least time between two notices to the page, milliseconds: text comes faster than it can be
 * drawn.
 */
const NOTICE_MS = 33;
/** Events of the session that are read anew after a reload: they tell what other agents answered. */
const SHOWN_AGAIN = 200;
/** How the key of another agent's answer begins. */
const ANSWER = "answer:";
/** Turns whose log is kept in full. */
const SEEN_LIMIT = 20;
/** Errors with which a turn ends because a person has to decide first. */
const WAITS_FOR_A_PERSON = new Set(["APPROVAL_PENDING", "EFFECT_UNKNOWN", "TURN_DIVERGED"]);

/**
 * One session as the page sees it. Messages are handed to the server at once and in order, also
 * while a turn runs: the server queues them, and a `네` typed before a question was shown stays
 * older than the question (docs/spec/conversation §8). One turn is followed at a time; the stream
 * of a queued message is left as soon as its turn is known and taken up again when its time has
 * come, so that a conversation never holds more than three connections.
 */
export class Conversation {
  readonly sessionId: string;
  readonly #client: DureClient;
  readonly #onChange: () => void;
  readonly #listeners = new Set<() => void>();
  readonly #outbox: OutgoingMessageDraft[] = [];
  readonly #sent = new Map<string, OutgoingMessageDraft>();
  /** Accepted turns that wait behind the running one. */
  readonly #waiting: string[] = [];
  readonly #leave = new AbortController();
  #view: ConversationView;
  #delivering: Promise<void> | undefined;
  #loading: Promise<void> | undefined;
  #watch: AbortController | undefined;
  /** When the newest message was written that the server has given, by its clock. */
  #newestRead = 0;
  #noticeDue = false;

  constructor({ client, sessionId, exists, onChange }: ConversationOptions) {
    this.sessionId = sessionId;
    this.#client = client;
    this.#onChange = onChange;

    this.#view = {
      phase: exists ? "loading" : "new",
      service: undefined,
      entries: [],
      turn: undefined,
      seen: new Map(),
      escalations: [],
      state: {},
      trace: undefined,
    };

    if (exists) void this.load();
  }

  readonly snapshot = (): ConversationView => this.#view;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#view.phase !== "new") this.#startWatching();

    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#watch?.abort();
    };
  };

  /** Reads the session and takes up its running turn. */
  load(): Promise<void> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  send(message: string, { files = [], ...extra }: SentWith = {}): void {
    const key = ulid();
    const ids = files.length > 0 ? files.map(({ id }) => id) : undefined;
    const request = { sessionId: this.sessionId, message, ...extra, files: ids };
    const busy = this.#view.turn !== undefined || this.#outbox.length > 0;

    const entry: Entry = {
      key,
      role: "user",
      content: message,
      at: systemClock.now(),
      status: busy ? "queued" : "sending",
      files,
    };

    const service = this.#view.service ?? extra.service;
    this.#change({ phase: "ready", service, entries: [...this.#view.entries, entry] });
    this.#enqueue({ key, request, idempotencyKey: ulid() });
  }

  /** Sends a failed message again, as the same turn if it had arrived after all. */
  retry(key: string): void {
    const outgoing = this.#sent.get(key);
    if (outgoing === undefined) return;

    this.#changeEntry(key, ({ problem: _problem, ...entry }) => ({ ...entry, status: "sending" }));
    this.#enqueue(outgoing);
  }

  discard(key: string): void {
    this.#sent.delete(key);
    this.#change({
      entries: this.#view.entries.filter((entry) => entry.key !== key || entry.status !== "failed"),
    });
  }

  async stop(): Promise<void> {
    const { turn } = this.#view;
    if (turn === undefined || turn.stopping) return;

    this.#change({ turn: { ...turn, stopping: true } });

    try {
      await this.#client.stopTurn(turn.turnId);
    } catch (error) {
      if (error instanceof DureError && error.class === "conflict") return; // it has ended by itself: DONE is on its way
      const now = this.#view.turn;
      if (now?.turnId === turn.turnId) {
        this.#change({ turn: { ...now, stopping: false, problem: asDureError(error) } });
      }
    }
  }

  /**
   * Answers a question of this conversation. Throws what the server refused; a question that was
   * closed meanwhile is read anew.
   */
  async answer(escalationId: string, answer: EscalationAnswer): Promise<void> {
    try {
      await this.#client.answerEscalation(escalationId, answer);
    } finally {
      await this.#readEscalations(); // the answer's own turn is announced by the log
    }
  }

  /** Goes on with a turn that ended because its model was away; throws what the server refused. */
  async resume(turnId: string): Promise<void> {
    await this.#client.retryTurn(turnId, { signal: this.#leave.signal });
    const key = `${turnId}:assistant`;
    this.#change({ entries: this.#view.entries.filter((entry) => keyOf(entry) !== key) });
    if (this.#view.turn === undefined) void this.#follow(turnId);
  }

  /** Follows a turn again whose stream was lost. */
  reattach(): void {
    const turnId = this.#view.turn?.turnId;
    if (turnId !== undefined) void this.#follow(turnId);
  }

  /** Leaves every stream; turns go on at the server. */
  dispose(): void {
    this.#leave.abort();
    this.#watch?.abort();
  }

  // --- sending

  #enqueue(outgoing: OutgoingMessageDraft): void {
    this.#sent.set(outgoing.key, outgoing);
    this.#outbox.push(outgoing);
    this.#delivering ??= this.#deliver().finally(() => (this.#delivering = undefined));
  }

  async #deliver(): Promise<void> {
    while (this.#outbox.length > 0) {
      await this.#hand(this.#outbox[0]!);
      this.#outbox.shift();
    }
  }

  async #hand(outgoing: OutgoingMessageDraft): Promise<void> {
    const left = new AbortController();
    let accepted: string | undefined;

    const stream = this.#client.sendMessage(outgoing.request, {
      idempotencyKey: outgoing.idempotencyKey,
      signal: AbortSignal.any([left.signal, this.#leave.signal]),
      onConnection: (state) => this.#connectionOf(accepted, state),
    });

    stream.done.catch(() => undefined); // told below, by the turn's id or by the loop that follows it

    try {
      const turnId = await stream.turnId;
      accepted = turnId;
      this.#sent.delete(outgoing.key);
      this.#startWatching(); // from now on the server knows the session
      const current = this.#view.turn;
      const isNext = current === undefined;
      this.#changeEntry(outgoing.key, (entry) => ({
        ...entry,
        turnId,
        status: isNext || current.turnId === turnId ? "sent" : "queued",
      }));
      if (isNext) return void this.#follow(turnId, stream);
      left.abort(); // its turn comes later: then it is read from its first event
      if (current.turnId !== turnId && !this.#waiting.includes(turnId)) this.#waiting.push(turnId);
    } catch (error) {
      if (this.#leave.signal.aborted) return;
      this.#changeEntry(outgoing.key, (entry) => ({
        ...entry,
        status: "failed",
        problem: asDureError(error),
      }));
    }
  }

  // --- following

  async #follow(turnId: string, begun?: TurnStream): Promise<void> {
    this.#change({
      turn: { turnId, view: EMPTY_TURN_VIEW, connection: "connected", stopping: false },
      entries: this.#view.entries.map((entry) =>
        entry.turnId === turnId ? { ...entry, status: "sent" } : entry,
      ),
    });

    const stream =
      begun ??
      this.#client.followTurn(turnId, {
        signal: this.#leave.signal,
        onConnection: (state) => this.#connectionOf(turnId, state),
      });

    try {
      for await (const frame of stream) this.#take(turnId, frame);
    } catch (error) {
      const now = this.#view.turn;
      if (this.#leave.signal.aborted || now?.turnId !== turnId) return;
      if (error instanceof DureError && error.class === "not-found") {
        this.#change({ turn: undefined }); // older than what the server keeps: the session has its answer
        void this.load();
        return this.#next();
      }
      this.#change({ turn: { ...now, connection: "lost", problem: asDureError(error) } });
      return;
    }

    this.#next();
  }

  #take(turnId: string, frame: TurnFrame): void {
    const { turn } = this.#view;
    if (turn?.turnId !== turnId) return;

    const begunHere = this.#view.entries.some((entry) => entry.turnId === turnId);
    const view = turnView(turn.view, frame, systemClock.now());
    if (frame.type !== "DONE") return this.#change({ turn: { ...turn, view } }, "soon");

    const stopped = frame.data.error?.code === "TURN_STOPPED";

    const answer: Entry = {
      key: `${turnId}:assistant`,
      role: "assistant",
      content: (stopped && shownText(turn.view)) || frame.data.message, // what was read does not vanish
      at: systemClock.now(),
      status: "sent",
      turnId,
      done: frame.data,
      interrupted: stopped ? true : undefined,
    };

    const entries = this.#view.entries.filter((entry) => entry.key !== answer.key);
    const place = entries.findLastIndex((entry) => entry.turnId === turnId);

    this.#change({
      turn: undefined,
      seen: new Map([...this.#view.seen, [turnId, view] as const].slice(-SEEN_LIMIT)),
      entries: place < 0 ? [...entries, answer] : entries.toSpliced(place + 1, 0, answer),
      state: frame.data.stateSnapshot,
      trace: frame.data.trace,
    });

    this.#onChange();
    if (WAITS_FOR_A_PERSON.has(frame.data.error?.code ?? "")) void this.#readEscalations();
    if (!begunHere) void this.load(); // who began it, and with which words, the server knows
  }

  #next(): void {
    const turnId = this.#waiting.shift();
    if (turnId !== undefined && this.#view.turn === undefined) void this.#follow(turnId);
  }

  #connectionOf(turnId: string | undefined, connection: ConnectionState): void {
    const { turn } = this.#view;
    if (turn !== undefined && turn.turnId === turnId && turn.connection !== connection) {
      this.#change({ turn: { ...turn, connection } });
    }
  }

  // --- what others did

  #startWatching(): void {
    if (this.#listeners.size === 0 || this.#watch?.signal.aborted === false) return;

    const watch = new AbortController();
    this.#watch = watch;
    const signal = AbortSignal.any([watch.signal, this.#leave.signal]);

    void (async () => {
      try {
        const reload = (): void => void this.load();
        let first = true;
        const onConnection = (state: ConnectionState): void => {
          if (state === "connected" && first) reload(); // what happened before the log was open
          first = false;
        };
        const filter = {
          session: this.sessionId,
          types: ["turn.*", "escalation.*", "collaborate.answered"],
        };
        const options = { signal, onReset: reload, onConnection, last: SHOWN_AGAIN };
        for await (const event of this.#client.events(filter, options)) {
          await this.#loading; // what it has read need not be read again
          if (event.type === "collaborate.answered") this.#showAnswer(event);
          if (this.#isRead(event)) continue;
          if (event.type.startsWith("escalation.")) void this.#readEscalations();
          if (event.turn === undefined) continue;
          await this.#delivering; // a turn of ours may be accepted before we know its id
          if (!this.#knows(event.turn)) await this.load();
        }
      } catch {
        // Refused or left: the conversation works without it, only turns of others appear later.
      }
    })();
  }

  /** Whether the server has told of it with the session already. */
  #isRead({ at }: PlatformEvent): boolean {
    return new Date(at).getTime() < this.#newestRead;
  }

  /** What another agent answers to work that was handed over here. Told once per request. */
  #showAnswer({ data, at }: Extract<PlatformEvent, { type: "collaborate.answered" }>): void {
    const key = `${ANSWER}${data.request}`;
    if (data.text === undefined || this.#view.entries.some((entry) => entry.key === key)) return;

    const answer: Entry = {
      key,
      role: "assistant",
      content: `**@${data.to}**\n\n${data.text}`,
      at: new Date(at).getTime(),
      status: "sent",
    };

    this.#change({ entries: inTime(this.#view.entries, [answer]) });
  }

  #knows(turnId: string): boolean {
    return (
      this.#view.turn?.turnId === turnId ||
      this.#waiting.includes(turnId) ||
      this.#view.entries.some((entry) => entry.turnId === turnId)
    );
  }

  async #readEscalations(): Promise<void> {
    try {
      const { items } = await this.#client.escalations(
        { session: this.sessionId },
        { signal: this.#leave.signal },
      );
      this.#change({ escalations: items });
      if (items.length > 0) this.#onChange();
    } catch {
      // A server without an inbox, or one that is away: the conversation works without it.
    }
  }

  async #load(): Promise<void> {
    try {
      const session = await this.#client.session(this.sessionId, { signal: this.#leave.signal });
      this.#adopt(session);
      void this.#readEscalations();
    } catch (error) {
      if (this.#leave.signal.aborted) return;
      const unknown = error instanceof DureError && error.class === "not-found";
      if (unknown) this.#change({ phase: this.#view.entries.length > 0 ? "ready" : "new" });
      else if (this.#view.phase === "loading" || this.#view.phase === "broken") {
        this.#change({ phase: "broken", problem: asDureError(error) });
      }
    }
  }

  #adopt(session: Session): void {
    const stored = entriesOf(session.history).filter((entry) => !this.#isStreamed(entry));
    this.#newestRead = Math.max(0, ...stored.map(({ at }) => at));
    const known = new Set(stored.map((entry) => entry.key));
    const shown = this.#view.entries.filter((entry) => !known.has(keyOf(entry)));
    const told = shown.filter(({ key }) => key.startsWith(ANSWER));
    const mine = shown.filter((entry) => !told.includes(entry));
    const answered = new Set(
      stored.filter((entry) => entry.role !== "user").map((entry) => entry.turnId),
    );
    const running = session.runningTurn?.turnId;

    const waits = (entry: Entry): boolean =>
      entry.role === "user" &&
      entry.turnId !== undefined &&
      !answered.has(entry.turnId) &&
      entry.turnId !== running;

    const read = new Map(
      this.#view.entries
        .filter((entry) => entry.interrupted)
        .map((entry) => [keyOf(entry), entry.content]),
    );

    const entries = stored.map((entry) =>
      waits(entry)
        ? { ...entry, status: "queued" as const }
        : { ...entry, content: read.get(entry.key) ?? entry.content },
    );

    // An answer that we have and the server's picture lacks: the picture is older than we are.
    const ahead = new Set(
      mine.filter((entry) => entry.role === "assistant").map((entry) => entry.turnId),
    );
    const { problem: _problem, turn, ...view } = this.#view;
    this.#view = {
      ...view,
      turn: turn !== undefined && answered.has(turn.turnId) ? undefined : turn,
    };
    const isCurrent = this.#view.turn === undefined && ahead.size === 0;

    this.#change({
      phase: "ready",
      service: session.service,
      entries: inTime(answersAfterQuestions([...entries, ...mine]), told),
      // Both stay as they are while an answer of this page is newer.
      ...(isCurrent ? { state: shownState(session), trace: session.trace } : {}),
    });

    for (const entry of entries) {
      if (
        waits(entry) &&
        !ahead.has(entry.turnId) &&
        entry.turnId !== this.#view.turn?.turnId &&
        !this.#waiting.includes(entry.turnId!)
      ) {
        this.#waiting.push(entry.turnId!);
      }
    }

    if (this.#view.turn !== undefined) return;

    if (running !== undefined && !ahead.has(running)) void this.#follow(running);
    else this.#next();
  }

  /** The answer of the turn that is followed comes with the end of its stream, not beside it. */
  #isStreamed({ role, turnId }: Entry): boolean {
    const { turn } = this.#view;
    return (
      role !== "user" && turn !== undefined && turn.turnId === turnId && turn.connection !== "lost"
    );
  }

  // --- telling

  #changeEntry(key: string, change: (entry: Entry) => Entry): void {
    this.#change({
      entries: this.#view.entries.map((entry) => (entry.key === key ? change(entry) : entry)),
    });
  }

  #change(part: Partial<ConversationView>, when: "now" | "soon" = "now"): void {
    this.#view = { ...this.#view, ...part };
    if (when === "now") return this.#tell();
    if (this.#noticeDue) return;

    this.#noticeDue = true;
    systemClock.after(NOTICE_MS, () => {
      if (this.#noticeDue) this.#tell();
    });
  }

  #tell(): void {
    this.#noticeDue = false;
    for (const listener of this.#listeners) listener();
  }
}
