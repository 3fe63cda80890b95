import { expect } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { codeOf, messageOf } from "../../src/kernel/errors.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import type { TurnFrame } from "../../src/engine/api.ts";
import { streamAgentTurn } from "../../src/compat/handler-helpers.ts";
import {
  defineService,
  flow,
  type BusyPolicy,
  type Service,
} from "../../src/engine/service/service.ts";
import { ShownText } from "../../src/engine/turn/turn-steps.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { offlineModel, type OfflineModel } from "../../src/models/offline.ts";
import { PostgresProxy } from "@dure/testing";

/**
 * What may happen, as plain data, so that a failing run can be printed, shortened and run again.
 * Numbers name things modulo their count.
 */
export type Command =
  | {
      readonly do: "say";
      readonly engine: number;
      readonly session: number;
      readonly keyed: boolean;
      readonly manner: Manner;
    }
  /** Sends a keyed message once more, byte by byte the same. */
  | { readonly do: "repeat"; readonly engine: number; readonly message: number }
  | { readonly do: "stop"; readonly engine: number; readonly message: number }
  /** A reader comes and leaves after so many frames. */
  | {
      readonly do: "read";
      readonly engine: number;
      readonly message: number;
      readonly frames: number;
    }
  /** One that left comes back, with the position that it had reached. */
  | {
      readonly do: "return";
      readonly engine: number;
      readonly reader: number;
      readonly frames: number;
    }
  /** The process is gone, another one takes its turns over, and a fresh one starts. */
  | { readonly do: "die"; readonly engine: number }
  /** All its connections to the database are cut; answers on their way are lost. */
  | { readonly do: "cut"; readonly engine: number }
  | { readonly do: "pause"; readonly ms: number };

/** How the model answers a message. */
export interface Manner {
  readonly delayMs: number;
  readonly pieces: number;
  /** So many calls fail before one succeeds; the card allows three. */
  readonly failures: number;
  /** A failing call breaks after its first piece; nothing of that kind is tried again. */
  readonly breaks: boolean;
}

const POLICIES = ["queue", "reject", "interrupt", "merge"] as const satisfies readonly BusyPolicy[];
/** Two sessions for each policy; the first four are one of each. */
const SESSIONS = [0, 1].flatMap((number) =>
  POLICIES.map((policy) => ({ policy, session: `${policy}-${number}` })),
);
/**
 * Every accepted turn ends within this time after the last command, milliseconds; a takeover and
 * three lost looks fit in.
 */
const ALL_DONE_WITHIN_MS = 15_000;

/**
 * A place where commands happen to real engines on a real database, and where it is checked
 * afterwards that nothing was lost or doubled.
 */
export class World implements AsyncDisposable {
  readonly #database: TestDatabase;
  readonly #lives: Life[] = [];
  readonly #engines: Life[] = [];
  readonly #messages: Message[] = [];
  readonly #readers: Reader[] = [];
  readonly #problems: string[] = [];
  /** Calls of the model that are under way, by session. */
  readonly #calls = new Map<string, Life[]>();
  readonly #failed = new Map<string, number>();
  readonly #sittings = new Set<Promise<void>>();
  #number = 0;

  private constructor(database: TestDatabase) {
    this.#database = database;
  }

  static async start(): Promise<World> {
    const world = new World(await testDatabase());
    for (const index of [0, 1]) world.#engines[index] = await world.#startLife();
    return world;
  }

  /** Does the commands, lets everything come to rest, and throws what is wrong. */
  async run(commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      await this.#do(command);
      await systemClock.sleep(0);
    }
    await this.#comeToRest();
    await this.#check();
    expectEqual(this.#problems, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const life of this.#lives) {
      life.readers.abort();
      await life.engine[Symbol.asyncDispose]();
      await life.proxy[Symbol.asyncDispose]();
    }
    await this.#database[Symbol.asyncDispose]();
  }

  // --- what happens

  async #do(command: Command): Promise<void> {
    switch (command.do) {
      case "say": {
        const { policy, session } = SESSIONS[command.session % SESSIONS.length]!;
        const number = ++this.#number;
        const { delayMs, pieces, failures, breaks } = command.manner;
        const text =
          `${session} #${number} delay=${delayMs} pieces=${pieces} failures=${failures} ` +
          `breaks=${breaks ? 1 : 0}`;
        const message: Message = {
          session,
          service: policy,
          text,
          ...(command.keyed && { key: `key-${number}` }),
          sent: [],
          turnIds: new Set(),
          accepted: 0,
          refused: 0,
          unsure: 0,
        };
        this.#messages.push(message);
        this.#send(message, this.#engine(command.engine));
        return;
      }
      case "repeat": {
        const message = pick(
          this.#messages.filter(({ key }) => key !== undefined),
          command.message,
        );
        if (message) this.#send(message, this.#engine(command.engine));
        return;
      }
      case "stop": {
        const turnId = this.#turnOf(command.message);
        if (turnId !== undefined) this.#later(this.#stop(turnId, this.#engine(command.engine)));
        return;
      }
      case "read": {
        const turnId = this.#turnOf(command.message);
        if (turnId === undefined) return;
        const reader: Reader = {
          turnId,
          frames: [],
          after: 0,
          pending: "",
          isReading: false,
          isDone: false,
        };
        this.#readers.push(reader);
        this.#later(this.#sit(reader, this.#engine(command.engine), command.frames));
        return;
      }
      case "return": {
        const reader = pick(
          this.#readers.filter(({ isReading, isDone }) => !isReading && !isDone),
          command.reader,
        );
        if (reader) this.#later(this.#sit(reader, this.#engine(command.engine), command.frames));
        return;
      }
      case "die":
        return this.#die(command.engine % 2);
      case "cut":
        return this.#engine(command.engine).proxy.cutAll();
      case "pause":
        return systemClock.sleep(command.ms);
      default:
        command satisfies never;
    }
  }

  #send(message: Message, life: Life): void {
    const { session, service, text, key } = message;
    const sent = life.engine.engine
      .accept({ session, service, message: text }, key === undefined ? {} : { key })
      .then(
        ({ turnId, repeated }) => {
          message.turnIds.add(turnId);
          if (!repeated) message.accepted += 1;
        },
        (error: unknown) => {
          const code = codeOf(error) ?? "";
          if (["SESSION_BUSY", "SESSION_QUEUE_FULL"].includes(code)) message.refused += 1;
          // The process died with the request in its hands: perhaps it is stored.
          else if (life.isDead) message.unsure += 1;
          else this.#problems.push(`accepting "${text}" failed: ${messageOf(error)}`);
        },
      );
    message.sent.push(sent);
    this.#later(sent);
  }

  async #stop(turnId: string, life: Life): Promise<void> {
    try {
      await life.engine.engine.stopTurn(turnId);
    } catch (error) {
      if (
        !["TURN_FINISHED", "DATABASE_UNAVAILABLE"].includes(codeOf(error) ?? "") &&
        !life.isDead
      ) {
        this.#problems.push(`stopping ${turnId} failed: ${messageOf(error)}`);
      }
    }
  }

  /** One sitting of a reader: until it has read so many frames, `DONE`, or its process is gone. */
  async #sit(reader: Reader, life: Life, most = Number.POSITIVE_INFINITY): Promise<void> {
    reader.isReading = true;
    // What was seen beyond the last stored event is dropped; it comes again.
    reader.pending = "";
    let frames = 0;
    try {
      for await (const frame of life.engine.engine.read(reader.turnId, {
        after: reader.after,
        signal: life.readers.signal,
      })) {
        this.#take(reader, frame);
        if (reader.isDone || ++frames >= most) return;
      }
      if (!reader.isDone) {
        this.#problems.push(`a reader of ${reader.turnId} was sent away before DONE`);
      }
    } catch (error) {
      if (!life.isDead) this.#problems.push(`reading ${reader.turnId} failed: ${messageOf(error)}`);
    } finally {
      reader.isReading = false;
    }
  }

  #take(reader: Reader, { seq, event }: TurnFrame): void {
    if (reader.isDone) this.#problems.push(`${reader.turnId}: ${event.type} after DONE`);
    if (event.type === "LLM_TOKEN") reader.pending += event.data;
    if (seq === undefined) return;
    if (seq <= reader.after) {
      this.#problems.push(`${reader.turnId}: position ${seq} after ${reader.after}`);
    }
    reader.after = seq;
    if (event.type === "LLM_TOKEN") {
      // A chunk is closed: its text is what came live and the rest that its frame carries.
      reader.frames.push({ seq, type: event.type, data: reader.pending });
      reader.pending = "";
      return;
    }
    if (reader.pending !== "" && !(event.type === "AGENT_START" && event.data.restart)) {
      this.#problems.push(
        `${reader.turnId}: text was shown that no chunk holds: "${reader.pending}"`,
      );
    }
    reader.pending = "";
    reader.frames.push({
      seq,
      type: event.type,
      data: JSON.parse(JSON.stringify(event.data)) as unknown,
    });
    if (event.type === "DONE") reader.isDone = true;
  }

  /**
   * Fenced, its sessions ended, its turns released: as takeover does with a process that is gone.
   */
  async #die(index: number): Promise<void> {
    const life = this.#engines[index]!;
    life.isDead = true;
    life.engine.fence();
    life.readers.abort();
    const { processId } = life.engine;
    this.#engines[index] = await this.#startLife();
    const taker = this.#engines[index].engine;
    await this.#database.database.query(
      {
        text: `
          update dure.processes
          set epoch = 2, ended_at = clock_timestamp(), ended_because = 'gone'
          where id = $1`,
      },
      [processId],
    );
    await this.#database.database.query(
      {
        text: "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dure:' || $1",
      },
      [processId],
    );
    await taker.engine.store.release(processId);
    await this.#database.database.query(
      { text: "update dure.processes set recovered_at = clock_timestamp() where id = $1" },
      [processId],
    );
  }

  async #startLife(): Promise<Life> {
    const proxy = await PostgresProxy.start(this.#database.url);
    const life: { -readonly [Key in keyof Life]?: Life[Key] } & Pick<Life, "isDead"> = {
      isDead: false,
      proxy,
      readers: new AbortController(),
    };
    life.engine = await startTestEngine(POLICIES.map(serviceOf), {
      on: { url: proxy.url },
      offline: [this.#model(life as Life)],
    });
    this.#lives.push(life as Life);
    return life as Life;
  }

  /** Answers as the message wishes, and notices when it is asked twice at once for one session. */
  #model(life: Life): OfflineModel {
    return offlineModel("dice", (request, { signal }) =>
      this.#answer(
        request.messages.findLast((message) => message.role === "user")!.text,
        life,
        signal,
      ),
    );
  }

  async *#answer(text: string, life: Life, signal: AbortSignal): AsyncGenerator<string> {
    const said = text.split("\n").at(-1)!;
    const session = said.slice(0, said.indexOf(" "));
    const manner = (name: string): number => Number(new RegExp(`${name}=(\\d+)`).exec(said)![1]);
    const calls = this.#calls.get(session) ?? [];
    this.#calls.set(session, calls);
    const others = calls.filter(({ isDead }) => !isDead);
    if (others.length > 0 && !life.isDead) {
      this.#problems.push(`two model calls at once in ${session}: "${text}"`);
    }
    calls.push(life);
    try {
      const failures = this.#failed.get(text) ?? 0;
      const fails = failures < manner("failures");
      if (fails) this.#failed.set(text, failures + 1);
      await systemClock.sleep(manner("delay"), { signal });
      if (fails && manner("breaks") === 0) {
        throw Object.assign(new Error("fetch failed"), { code: "ECONNRESET" });
      }
      for (let piece = 1; piece <= manner("pieces"); piece++) {
        yield `${piece === 1 ? "" : " "}${session} piece ${piece}`;
        await systemClock.sleep(manner("delay"), { signal });
        if (fails) throw Object.assign(new Error("terminated"), { code: "ECONNRESET" });
      }
    } finally {
      calls.splice(calls.indexOf(life), 1);
    }
  }

  #engine(index: number): Life {
    return this.#engines[index % 2]!;
  }

  #turnOf(message: number): string | undefined {
    const turns = [...new Set(this.#messages.flatMap(({ turnIds }) => [...turnIds]))];
    return pick(turns, message);
  }

  #later(work: Promise<void>): void {
    const sitting = work.finally(() => this.#sittings.delete(sitting));
    this.#sittings.add(sitting);
  }

  /** Everything that was accepted ends, without help from outside. */
  async #comeToRest(): Promise<void> {
    // A caller whose process died with its request sends it again, if it has a key.
    await Promise.all(this.#messages.flatMap(({ sent }) => sent));
    for (const message of this.#messages) {
      if (message.unsure > 0 && message.key !== undefined && message.turnIds.size === 0) {
        this.#send(message, this.#engine(0));
      }
    }
    await Promise.all(this.#messages.flatMap(({ sent }) => sent));
    const deadline = systemClock.monotonic() + ALL_DONE_WITHIN_MS;
    for (;;) {
      const open = await this.#query<{
        id: string;
        status: string;
        holder: string | null;
        session_id: string;
      }>(
        "select id, status, holder, session_id from dure.turns where status <> 'done' order by accepted_at",
      );
      if (open.length === 0) break;
      if (systemClock.monotonic() > deadline) {
        throw new Error(
          `turns that never end: ${JSON.stringify(open)}; they live in ` +
            this.#engines.map(({ engine }) => engine.processId).join(", "),
        );
      }
      await systemClock.sleep(10);
    }
    const late = new AbortController();
    await Promise.race([
      this.#everyoneReads().finally(() => late.abort()),
      systemClock.sleep(ALL_DONE_WITHIN_MS, { signal: late.signal }).then(
        () => {
          throw new Error(
            `readers that never get DONE: ${this.#readers
              .filter(({ isDone }) => !isDone)
              .map(({ turnId, after }) => `${turnId} after ${after}`)
              .join(", ")}`,
          );
        },
        () => {},
      ),
    ]);
  }

  /** Who sits is waited for; who has left before `DONE` comes back to the end. */
  async #everyoneReads(): Promise<void> {
    await Promise.all(this.#sittings);
    for (const reader of this.#readers) {
      if (!reader.isDone) this.#later(this.#sit(reader, this.#engine(1)));
    }
    await Promise.all(this.#sittings);
  }

  // --- what must be true afterwards

  async #check(): Promise<void> {
    this.#checkKeys();
    const turns = await this.#query<StoredTurn>(
      `select id, session_id, done, done_seq, epoch, held_at::text, finished_at::text, lag(finished_at) over (partition by session_id order by held_at) > held_at as overlaps
       from dure.turns order by session_id, held_at`,
    );
    const messages = await this.#query<StoredMessage>(
      "select session_id, ordinal::int, turn_id, text from dure.messages order by session_id, ordinal",
    );
    const events = await this.#query<StoredEvent>(
      "select turn_id, seq, place, type, data from dure.turn_events where type <> 'RECORD' order " +
        "by turn_id, seq",
    );
    for (const turn of turns) {
      if (turn.overlaps) {
        this.#problems.push(
          `${turn.id} of ${turn.session_id} was begun before the turn before it had ended`,
        );
      }
    }
    this.#checkMessages(messages, turns);
    this.#checkJournals(turns, events);
    this.#checkReaders(turns, events);
    await this.#checkMemory(turns, messages, events);
  }

  #checkKeys(): void {
    for (const { text, turnIds, accepted, key } of this.#messages) {
      if (turnIds.size > 1) {
        this.#problems.push(`"${text}" with ${key} became ${turnIds.size} turns`);
      }
      if (accepted > 1) this.#problems.push(`"${text}" with ${key} was accepted ${accepted} times`);
    }
  }

  #checkMessages(stored: readonly StoredMessage[], turns: readonly StoredTurn[]): void {
    for (const { text, turnIds, unsure } of this.#messages) {
      const rows = stored.filter((row) => row.text === text);
      const isSure = turnIds.size > 0 || unsure === 0;
      const expected = turnIds.size > 0 ? 1 : 0;
      if (isSure ? rows.length !== expected : rows.length > 1) {
        this.#problems.push(
          `"${text}" is stored ${rows.length} times; it was ${expected === 1 ? "accepted" : "refused"}`,
        );
      }
      for (const row of rows) {
        if (turnIds.size > 0 && !turnIds.has(row.turn_id)) {
          this.#problems.push(
            `"${text}" is in the turn ${row.turn_id}, its sender was told ${[...turnIds].join()}`,
          );
        }
      }
    }
    for (const turn of turns) {
      if (!stored.some((row) => row.turn_id === turn.id)) {
        this.#problems.push(`${turn.id} has no message`);
      }
    }
    for (const { session } of SESSIONS) {
      const ordinals = stored
        .filter((row) => row.session_id === session)
        .map(({ ordinal }) => ordinal);
      if (ordinals.some((ordinal, index) => ordinal !== index + 1)) {
        this.#problems.push(`${session} has the ordinals ${ordinals.join()}`);
      }
    }
  }

  #checkJournals(turns: readonly StoredTurn[], events: readonly StoredEvent[]): void {
    for (const turn of turns) {
      const own = events.filter((event) => event.turn_id === turn.id);
      if (own.some(({ type }) => type === "DONE")) {
        this.#problems.push(`${turn.id} has a DONE in its journal`);
      }
      if (turn.done_seq <= (own.at(-1)?.seq ?? 0)) {
        this.#problems.push(
          `${turn.id}: DONE at ${turn.done_seq} is not behind ${own.at(-1)?.seq}`,
        );
      }
      const open = own.reduce(
        (depth, { type, data }) =>
          depth +
          (type === "AGENT_START" && !(data as { attempt?: number }).attempt
            ? 1
            : type === "AGENT_DONE"
              ? -1
              : 0),
        0,
      );
      if (open !== 0 && !turn.done.error) {
        this.#problems.push(`${turn.id} ended well with ${open} agents still open`);
      }
    }
  }

  #checkReaders(turns: readonly StoredTurn[], events: readonly StoredEvent[]): void {
    for (const { turnId, frames } of this.#readers) {
      const turn = turns.find(({ id }) => id === turnId)!;
      const stored = [
        ...events
          .filter((event) => event.turn_id === turnId)
          .map(({ seq, type, data }) => ({ seq, type, data })),
        { seq: turn.done_seq, type: "DONE", data: turn.done as unknown },
      ];
      try {
        expectEqual(frames, stored);
      } catch (error) {
        this.#problems.push(
          `a reader of ${turnId} has read something else than what is stored: ${messageOf(error)}`,
        );
      }
    }
  }

  /**
   * Raw history holds each finished exchange once, in the order of the messages; of a stopped one
   * the text that was shown.
   */
  async #checkMemory(
    turns: readonly StoredTurn[],
    messages: readonly StoredMessage[],
    events: readonly StoredEvent[],
  ): Promise<void> {
    const sessions = await this.#query<{
      id: string;
      running_turn: string | null;
      queue: string[];
      memory: { rawHistory?: { role: string; content: string }[] };
    }>("select id, running_turn, queue, memory from dure.sessions");
    for (const { id, running_turn: running, queue, memory } of sessions) {
      if (running !== null || queue.length > 0) {
        this.#problems.push(`${id} rests with ${running} running and ${queue.length} waiting`);
      }
      const firstMessage = (turn: StoredTurn): number =>
        messages.findIndex((message) => message.turn_id === turn.id);
      const own = turns.filter(({ session_id: session }) => session === id);
      const ordered = own.toSorted((one, other) => firstMessage(one) - firstMessage(other));
      if (own.some((turn, index) => turn !== ordered[index])) {
        this.#problems.push(`${id} has answered in another order than it was asked`);
      }
      const expected = ordered.flatMap(({ id: turn, done }) => {
        const asked = messages
          .filter((message) => message.turn_id === turn)
          .map(({ text }) => text)
          .join("\n");
        return [
          asked,
          done.error?.code === "TURN_STOPPED"
            ? new ShownText(events.filter((event) => event.turn_id === turn)).text
            : done.message,
        ];
      });
      try {
        expectEqual(
          (memory.rawHistory ?? []).map(({ content }) => content),
          expected,
        );
      } catch (error) {
        this.#problems.push(`the memory of ${id}: ${messageOf(error)}`);
      }
    }
  }

  #query<Row extends object>(text: string): Promise<Row[]> {
    return this.#database.database.query<Row>({ text });
  }
}

/** One process: an engine with a line of its own to the database. */
interface Life {
  readonly engine: TestEngine;
  readonly proxy: PostgresProxy;
  /** Aborts when its readers lose their connection. */
  readonly readers: AbortController;
  isDead: boolean;
}

interface Message {
  readonly session: string;
  readonly service: string;
  readonly text: string;
  readonly key?: string;
  readonly sent: Promise<void>[];
  readonly turnIds: Set<string>;
  accepted: number;
  refused: number;
  unsure: number;
}

interface Reader {
  readonly turnId: string;
  readonly frames: { seq: number; type: string; data: unknown }[];
  after: number;
  pending: string;
  isReading: boolean;
  isDone: boolean;
}

interface StoredTurn {
  readonly id: string;
  readonly session_id: string;
  readonly done: { readonly message: string; readonly error?: { readonly code: string } };
  readonly done_seq: number;
  readonly epoch: number;
  readonly overlaps: boolean | null;
}

interface StoredMessage {
  readonly session_id: string;
  readonly ordinal: number;
  readonly turn_id: string;
  readonly text: string;
}

interface StoredEvent {
  readonly turn_id: string;
  readonly seq: number;
  readonly place: string;
  readonly type: string;
  readonly data: unknown;
}

/** One service for each policy; both faces of a handler are used. */
function serviceOf(policy: BusyPolicy): Service {
  const helper = chatAgent({
    name: "helper",
    prompt: "Answer.",
    card: { policy: { maxAttempts: 3, backoffSec: 0 } },
  });
  return defineService({
    name: policy,
    agents: { helper },
    flows: {
      DEFAULT:
        policy === "queue" || policy === "interrupt"
          ? async function* (turn) {
              return yield* streamAgentTurn(turn, "helper", "답변 작성 중");
            }
          : flow(async (turn) => {
              await turn.step("note", () => turn.message.length);
              return turn.done({ message: (await turn.agent("helper", "답변 작성 중")).text });
            }),
    },
    sessions: { busy: policy },
    memory: { enableSummary: false, maxRawTurns: 1_000 },
  });
}

/** Throws with the difference. */
function expectEqual(found: unknown, expected: unknown): void {
  expect(found).toEqual(expected);
}

function pick<Item>(items: readonly Item[], index: number): Item | undefined {
  return items[index % Math.max(1, items.length)];
}
