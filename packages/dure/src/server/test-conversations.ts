import type { RowPage } from "../durable/page.ts";
import type {
  AcceptedTurn,
  AcceptOptions,
  Caller,
  Conversations,
  SessionDetail,
  TurnFrame,
  TurnHandle,
  TurnRequest,
  Viewer,
} from "../engine/api.ts";
import { DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { canonicalJson, onlyDefined } from "../kernel/json.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import { sessionKey, sessionKeyFor } from "../kernel/tenant.ts";
import type {
  CompletedEntry,
  HistoryEntry,
  ServiceInfo,
  SessionDebug,
  SessionSummary,
} from "../wire/turns.ts";

/**
 * Runs one turn of the double: says what the turn says. The last thing it does is `done`, or the
 * double does it.
 */
export type Script = (turn: TestTurn, request: TurnRequest) => Promise<void> | void;

interface Session {
  readonly id: string;
  readonly tenant: string;
  readonly service: string;
  readonly turns: TestTurn[];
  readonly history: HistoryEntry[];
  locale: string;
  timeZone: string;
}

/** A promise of the next change, again and again. */
export class News {
  next!: Promise<void>;
  #resolve: () => void = () => undefined;

  constructor() {
    this.tell();
  }

  tell(): void {
    const resolve = this.#resolve;
    this.next = new Promise((next) => (this.#resolve = next));
    resolve();
  }
}

/** One turn of the double, driven by its script or by the test. */
export class TestTurn {
  readonly id = newId("turn");
  readonly sessionId: string;
  readonly tenant: string;
  readonly request: TurnRequest;
  /** What readers get, in order; live frames have no `seq`. */
  readonly frames: TurnFrame[] = [];
  /** Readers that are inside `read` now. */
  readers = 0;
  /** Frames that readers have taken. */
  taken = 0;
  stopped = false;
  done: Done | undefined;
  #seq = 0;
  readonly #news = new News();

  constructor(sessionId: string, tenant: string, request: TurnRequest) {
    this.sessionId = sessionId;
    this.tenant = tenant;
    this.request = request;
  }

  get lastSeq(): number {
    return this.#seq;
  }

  /** A stored event. */
  store(event: TurnEvent): void {
    if (this.done) throw new Error(`turn ${this.id} said ${event.type} behind DONE`);
    if (event.type === "DONE") this.done = event.data;
    this.#push({ seq: ++this.#seq, event });
  }

  /** A live token. */
  token(text: string): void {
    this.#push({ event: { type: "LLM_TOKEN", data: text } });
  }

  finish(message: string, more: Partial<Done> = {}): void {
    const trace = {
      turnId: this.id,
      totalElapsedMs: 5,
      agents: [
        {
          agent: "helper",
          elapsedMs: 4,
          success: true,
          retries: 0,
          error: null,
          tokensIn: 3,
          tokensOut: 2,
        },
      ],
    };
    this.store({
      type: "DONE",
      data: {
        message,
        nextAction: "ASK",
        stateSnapshot: { stage: "INIT", camelCase: 1 },
        hooks: [],
        trace,
        ...more,
      },
    });
  }

  /** Resolves when the turn has said something new. */
  changed(): Promise<void> {
    return this.#news.next;
  }

  #push(item: TurnFrame): void {
    this.frames.push(item);
    this.#news.tell();
  }
}

/** Says `안녕` in two tokens and ends. */
const hello: Script = (turn) => {
  turn.store({ type: "AGENT_START", data: { agent: "helper", label: "답변 작성 중" } });
  turn.token("안");
  turn.store({ type: "LLM_TOKEN", data: "녕" });
  turn.store({ type: "LLM_DONE", data: { message: "안녕" } });

  turn.store({
    type: "AGENT_DONE",
    data: { agent: "helper", label: "답변 작성 중", success: true, retryCount: 0, elapsedMs: 4 },
  });

  turn.finish("안녕");
};

/**
 * `Conversations` in memory, for tests of the server: as strict as the interface, and it counts.
 * What the server must not
 * hand on (a bad session id, an empty message) is refused with an error that no route expects, so
 * that the test sees a 500.
 */
export class TestConversations implements Conversations {
  readonly turns = new Map<string, TestTurn>();
  readonly sessionsById = new Map<string, Session>();
  /** Calls that change something. */
  changes = 0;
  script: Script = hello;
  policy: "queue" | "reject" = "queue";
  /** Thrown by the next `accept`. */
  failure: Error | undefined;
  readonly #keys = new Map<string, { body: string; turnId: string }>();

  describe(): readonly ServiceInfo[] {
    const base = {
      title: "자주 묻는 질문",
      description: "Answers questions.",
      examples: ["안녕"],
      flows: ["DEFAULT"],
    };
    return [
      { ...base, name: "faq", default: true },
      {
        ...base,
        name: "transfer",
        default: false,
        stages: { initial: "INIT", terminal: ["EXECUTED"], transitions: [["INIT", "FILLING"]] },
        slots: [{ name: "amount", label: "금액", required: true, type: "integer" }],
      },
    ];
  }

  async accept(
    request: TurnRequest,
    { caller = ANONYMOUS, key, path = "turn" }: AcceptOptions = {},
  ): Promise<AcceptedTurn> {
    assertStrict(request);
    await Promise.resolve();
    this.#throwFailure();
    const service = request.service ?? "faq";
    this.#assertService(service);

    const scope = key === undefined ? undefined : canonicalJson([caller, path, key]);
    const known = this.#turnOfKey(scope, request);
    if (known) return this.#accepted(known, true);

    const session =
      this.sessionsById.get(sessionKey(caller.tenant, request.session)) ??
      this.#newSession(request, caller, service);
    const running = session.turns.find((turn) => !turn.done);

    if (running && this.policy === "reject") {
      throw new DureError("SESSION_BUSY", `Session ${session.id} runs turn ${running.id}.`, {
        class: "conflict",
      });
    }

    const turn = this.#newTurn(request, caller, session);
    if (scope !== undefined) {
      this.#keys.set(scope, { body: canonicalJson(request), turnId: turn.id });
    }
    void this.#run(turn, session, running);

    return this.#accepted(turn, false);
  }

  #throwFailure(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure;
  }

  #assertService(service: string): void {
    if (this.describe().some(({ name }) => name === service)) return;
    throw new DureError("SERVICE_UNKNOWN", `There is no service ${service}.`, {
      class: "not-found",
      hint: "Known: faq, transfer.",
    });
  }

  /** The turn that a key has begun. Throws `IDEMPOTENCY_KEY_REUSED` for another body. */
  #turnOfKey(scope: string | undefined, request: TurnRequest): TestTurn | undefined {
    const known = scope === undefined ? undefined : this.#keys.get(scope);
    if (!known) return undefined;
    if (known.body === canonicalJson(request)) return this.turns.get(known.turnId)!;

    throw new DureError("IDEMPOTENCY_KEY_REUSED", "The key was used with another body.", {
      class: "input",
    });
  }

  #newTurn(request: TurnRequest, caller: Caller, session: Session): TestTurn {
    this.changes++;
    const turn = new TestTurn(session.id, caller.tenant, request);
    this.turns.set(turn.id, turn);
    session.turns.push(turn);

    session.history.push({
      role: "user",
      content: request.message,
      at: 1_000,
      turnId: turn.id,
      author: "person",
    });

    if (request.locale) session.locale = request.locale;
    if (request.timeZone) session.timeZone = request.timeZone;

    return turn;
  }

  turn(request: TurnRequest, options: AcceptOptions & { signal?: AbortSignal } = {}): TurnHandle {
    const accepted = this.accept(request, options);
    const read = (turnId: string): AsyncIterable<TurnFrame> =>
      this.read(turnId, {
        ...onlyDefined({ caller: options.caller, signal: options.signal }),
      });

    const sessionId = accepted.then((turn) => turn.sessionId);
    sessionId.catch(() => {});
    return {
      turnId: accepted.then(({ turnId }) => turnId),
      sessionId,
      done: accepted.then(async ({ turnId }) => {
        for await (const { event } of read(turnId)) if (event.type === "DONE") return event.data;
        throw new Error(`turn ${turnId} ended without DONE`);
      }),
      async *[Symbol.asyncIterator]() {
        const { turnId } = await accepted;
        for await (const { event } of read(turnId)) yield event;
      },
    };
  }

  async *read(
    turnId: string,
    {
      after = 0,
      caller = ANONYMOUS,
      signal,
    }: { after?: number; caller?: Viewer; signal?: AbortSignal },
  ): AsyncIterable<TurnFrame> {
    const turn = this.#turn(turnId, caller);
    const aborted = new Promise<void>((resolve) =>
      signal?.addEventListener("abort", () => resolve(), { once: true }),
    );
    const first = turn.frames.findIndex(({ seq }) => seq !== undefined && seq > after);
    let index = after === 0 ? 0 : first < 0 ? turn.frames.length : first;
    turn.readers++;

    try {
      while (true) {
        const frame = turn.frames[index];
        if (!frame) await Promise.race([turn.changed(), aborted]);
        signal?.throwIfAborted();
        if (!frame) continue;
        index++;
        turn.taken++;
        yield frame;
        if (frame.event.type === "DONE") return;
      }
    } finally {
      turn.readers--;
    }
  }

  async hasActed(): Promise<boolean> {
    return false;
  }

  async find(
    turnId: string,
    { caller = ANONYMOUS }: { caller?: Viewer } = {},
  ): Promise<{ status: "queued" | "running" | "done"; sessionId: string; lastSeq: number }> {
    const turn = this.#turn(turnId, caller);
    return {
      status: turn.done ? "done" : "running",
      sessionId: turn.sessionId,
      lastSeq: turn.lastSeq,
    };
  }

  async stopTurn(turnId: string, { caller = ANONYMOUS }: { caller?: Viewer } = {}): Promise<void> {
    const turn = this.#turn(turnId, caller);
    if (turn.done) {
      throw new DureError("TURN_FINISHED", `Turn ${turnId} is done.`, { class: "conflict" });
    }

    this.changes++;
    turn.stopped = true;
    turn.finish("", { error: { code: "TURN_STOPPED", message: "stopped" } });
  }

  async retryTurn(turnId: string, { caller = ANONYMOUS }: { caller?: Viewer } = {}): Promise<void> {
    const turn = this.#turn(turnId, caller);
    if (turn.done) {
      throw new DureError("TURN_NOT_RETRYABLE", `Turn ${turnId} is done.`, { class: "conflict" });
    }
  }

  async sessions({
    caller = ANONYMOUS,
    limit = 50,
    cursor,
    search,
  }: {
    caller?: Viewer;
    limit?: number;
    cursor?: string;
    search?: string;
  }): Promise<RowPage<SessionSummary>> {
    const all = [...this.sessionsById.values()].filter(
      (session) => isSeen(session, caller) && (!search || session.id.includes(search)),
    );
    const from = cursor === undefined ? 0 : Number(cursor);
    if (!Number.isInteger(from)) {
      throw new DureError("CURSOR_INVALID", "The cursor is not one of ours.", { class: "input" });
    }

    const items = all.slice(from, from + limit).map(summaryOf);

    return { items, nextCursor: from + limit < all.length ? String(from + limit) : null };
  }

  async session(
    id: string,
    { caller = ANONYMOUS }: { caller?: Viewer } = {},
  ): Promise<SessionDetail> {
    const session = this.#session(id, caller);
    return {
      ...summaryOf(session),
      locale: session.locale,
      timeZone: session.timeZone,
      state: { stage: "INIT", camelCase: 1 },
      stage: "INIT",
      history: session.history,
      completed: this.#completed(session),
    };
  }

  async debug(id: string, { caller = ANONYMOUS }: { caller?: Viewer } = {}): Promise<SessionDebug> {
    const session = this.#session(id, caller);
    return {
      state: { stage: "INIT" },
      memory: { rawHistory: [{ role: "user", content: "안녕" }], summaryText: "" },
      completed: this.#completed(session),
    };
  }

  async completed(
    id: string,
    { caller = ANONYMOUS }: { caller?: Viewer } = {},
  ): Promise<readonly CompletedEntry[]> {
    return this.#completed(this.#session(id, caller));
  }

  async takeBack(
    id: string,
    _question: string,
    { caller = ANONYMOUS }: { caller?: Viewer } = {},
  ): Promise<boolean> {
    this.#session(id, caller);
    return false;
  }

  async forget(id: string, { caller = ANONYMOUS }: { caller?: Viewer } = {}): Promise<void> {
    this.#session(id, caller);
    this.changes++;
    this.sessionsById.delete(sessionKeyFor(caller.tenant, id));
  }

  /** The only turn, or the last one. */
  get lastTurn(): TestTurn {
    return [...this.turns.values()].at(-1)!;
  }

  async #run(turn: TestTurn, session: Session, before: TestTurn | undefined): Promise<void> {
    while (before && !before.done) await before.changed();
    await this.script(turn, turn.request);
    while (!turn.done) await turn.changed();

    session.history.push({
      role: "assistant",
      content: turn.done.message,
      at: 2_000,
      turnId: turn.id,
      done: turn.done,
    });
  }

  #newSession(request: TurnRequest, caller: Caller, service: string): Session {
    const session: Session = {
      id: request.session,
      tenant: caller.tenant,
      service,
      turns: [],
      history: [],
      locale: "ko",
      timeZone: "Asia/Seoul",
    };

    this.sessionsById.set(sessionKey(caller.tenant, session.id), session);
    return session;
  }

  #accepted(turn: TestTurn, repeated: boolean): AcceptedTurn {
    return {
      turnId: turn.id,
      sessionId: turn.sessionId,
      status: turn.done ? "done" : "running",
      repeated,
    };
  }

  #turn(turnId: string, caller: Viewer): TestTurn {
    const turn = this.turns.get(turnId);
    if (!turn || !isSeen(turn, caller)) {
      throw new DureError("TURN_UNKNOWN", `There is no turn ${turnId}.`, { class: "not-found" });
    }
    return turn;
  }

  #session(id: string, caller: Viewer): Session {
    const session = this.sessionsById.get(sessionKeyFor(caller.tenant, id));
    if (!session || !isSeen(session, caller)) throw sessionUnknown(id);
    return session;
  }

  #completed(session: Session): CompletedEntry[] {
    return session.turns.map((turn) => ({
      service: session.service,
      flow: "TRANSFER",
      stage: "EXECUTED",
      turnId: turn.id,
      at: 3_000,
      data: { keepMe: 1 },
    }));
  }
}

const ANONYMOUS: Caller = { tenant: "", name: "" };

function isSeen({ tenant }: { readonly tenant: string }, viewer: Viewer): boolean {
  return viewer.tenant === null || viewer.tenant === tenant;
}

function summaryOf(session: Session): SessionSummary {
  const running = session.turns.find((turn) => !turn.done);
  return {
    sessionId: session.id,
    service: session.service,
    title: session.history[0]?.content ?? "",
    updatedAt: 1_000,
    runningTurn: running ? { turnId: running.id } : null,
  };
}

function sessionUnknown(id: string): DureError {
  return new DureError("SESSION_UNKNOWN", `There is no session ${id}.`, { class: "not-found" });
}

function assertStrict(request: TurnRequest): void {
  if (!/^[A-Za-z0-9._:@-]{1,200}$/.test(request.session)) {
    throw new Error(`the server handed on a bad session id: ${request.session}`);
  }
  if (request.message.trim() === "" && request.slots === undefined) {
    throw new Error("the server handed on an empty message");
  }
  if (Buffer.byteLength(request.message) > 65_536) {
    throw new Error("the server handed on a message that is too long");
  }

  const allowed = new Set([
    "session",
    "message",
    "service",
    "slots",
    "confirmId",
    "locale",
    "timeZone",
  ]);

  for (const key of Object.keys(request)) {
    if (!allowed.has(key)) throw new Error(`the server handed on ${key}`);
  }
}
