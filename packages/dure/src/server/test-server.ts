import type { AuditEntry } from "../wire/platform.ts";
import { createParser } from "eventsource-parser";
import type { FastifyInstance } from "fastify";
import { systemClock } from "../kernel/clock.ts";
import { beLate } from "../kernel/test-late.ts";
import type { EventFilter } from "../kernel/platform-events.ts";
import type { EventFrame, EventSource } from "./event-source.ts";
import type { AuditedDeed } from "../durable/audit-log.ts";
import type { RowPage } from "../durable/page.ts";
import type { AuditBook } from "./audit.ts";
import { createServer, startServer, type ServerOptions } from "./server.ts";
import { MemoryTokenStore } from "./token-store.ts";
import { News, TestConversations } from "./test-conversations.ts";
import type { PlatformEvent, UnknownEvent } from "../wire/events.ts";

/** A server on a free port of this machine, with doubles behind it. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly app: FastifyInstance;
  readonly conversations: TestConversations;
  readonly events: TestEvents;
  /** Its audit log, the oldest first. */
  readonly audit: readonly AuditEntry[];
  /** Lines of the log, as JSON text. */
  readonly log: string[];
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Posts JSON. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** @param port 0 for a free one. */
export async function startTestServer(
  options: Partial<ServerOptions> = {},
  port = 0,
): Promise<TestServer> {
  const conversations = new TestConversations();
  const events = new TestEvents();
  const audit = new TestAudit();
  const log: string[] = [];
  const write = (fields: object, message: string): void =>
    void log.push(JSON.stringify({ ...fields, message }));

  const app = createServer({
    conversations,
    events,
    health: async () => ({ ready: true, checks: { database: { ok: true } } }),
    metrics: async () => "dure_turns_total 1\n",
    auth: new MemoryTokenStore(),
    devMode: false,
    logger: { debug: write, info: write, warn: write, error: write },
    clock: systemClock,
    version: "0.1.0",
    locale: "ko",
    audit,
    ...options,
  });

  const { url, port: bound } = await startServer(app, { port });
  const get = (path: string, init?: RequestInit): Promise<Response> => fetch(url + path, init);

  return {
    url,
    port: bound,
    app,
    conversations,
    events,
    audit: audit.all,
    log,
    fetch: get,
    post: (path, body, headers = {}) =>
      get(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    [Symbol.asyncDispose]: async () => app.close(),
  };
}

/** An audit log in memory. */
class TestAudit implements AuditBook {
  readonly all: (AuditEntry & { subject: string; outcome: string | null })[] = [];

  async begin(deed: AuditedDeed): Promise<number> {
    return this.#write(deed, null);
  }

  async end(
    id: number,
    { outcome, subjects = [] }: { outcome: string; subjects?: readonly string[] },
  ): Promise<void> {
    const entry = this.all[id]!;
    const [first = entry.subject, ...more] = subjects;
    Object.assign(entry, { outcome, subject: first });
    for (const subject of more) this.#write({ ...entry, subject }, outcome);
  }

  async note(deed: AuditedDeed): Promise<void> {
    this.#write(deed, "done");
  }

  async list(): Promise<RowPage<AuditEntry>> {
    return { items: this.all.toReversed(), nextCursor: null };
  }

  #write({ tenant, name, what, subject }: AuditedDeed, outcome: string | null): number {
    return (
      this.all.push({
        id: this.all.length,
        at: 1,
        person: null,
        role: null,
        tenant,
        name,
        what,
        subject,
        outcome,
      }) - 1
    );
  }
}

/** A log of events in memory: position `1.0.<n>`. */
export class TestEvents implements EventSource {
  readonly all: PlatformEvent[] = [];
  /** Positions before this one are gone. */
  oldest = 1;
  followers = 0;
  readonly #news = new News();

  /** Also what no release writes. */
  publish(event: Partial<Omit<UnknownEvent, "type">> & { readonly type: string }): void {
    const id = `1.0.${this.all.length + 1}`;
    const given = { role: "conversation", data: {}, at: 1, ...event, id };
    this.all.push(given as PlatformEvent);
    this.#news.tell();
  }

  async now(): Promise<string> {
    return `1.0.${this.all.length}`;
  }

  async beforeLast(count: number, filter: EventFilter): Promise<string> {
    const first = this.all.filter((event) => isWanted(event, filter)).at(-count);
    return first ? `1.0.${this.all.indexOf(first)}` : this.now();
  }

  async *follow(
    filter: EventFilter,
    { after, signal }: { after: string; signal: AbortSignal },
  ): AsyncIterable<EventFrame> {
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    let index = Number(after.split(".")[2]);

    if (index + 1 < this.oldest) {
      yield { kind: "reset", oldest: `1.0.${this.oldest}` };
      index = this.oldest - 1;
    }

    this.followers++;

    try {
      while (!signal.aborted) {
        const event = this.all[index];
        if (!event) await Promise.race([this.#news.next, aborted]);
        else {
          index++;
          if (isWanted(event, filter)) yield { kind: "event", event };
        }
      }
    } finally {
      this.followers--;
    }
  }
}

function isWanted(event: PlatformEvent, { tenant, session }: EventFilter): boolean {
  return (
    (session === undefined || session === event.session) &&
    (tenant === undefined || tenant === (event.tenant ?? ""))
  );
}

export interface ReadFrame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: unknown;
}

/** An SSE body as an EventSource reads it. */
export class SseReader implements AsyncDisposable {
  readonly response: Response;
  readonly comments: string[] = [];
  readonly frames: ReadFrame[] = [];
  /** `retry:` in milliseconds. */
  retry: number | undefined;
  /** What an EventSource would send as `Last-Event-ID`. */
  lastEventId: string | undefined;
  readonly ended: Promise<void>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #news = new News();

  constructor(response: Response) {
    this.response = response;
    this.#reader = response.body!.getReader();
    this.ended = this.#readAll();
    this.ended.catch(() => undefined);
  }

  get types(): (string | undefined)[] {
    return this.frames.map(({ event }) => event);
  }

  /** All token text so far. */
  get text(): string {
    return this.frames
      .filter(({ event }) => event === "LLM_TOKEN")
      .map(({ data }) => data)
      .join("");
  }

  /** Waits until the predicate holds for what was read. */
  async until(holds: (reader: SseReader) => boolean): Promise<void> {
    while (!holds(this)) await this.#news.next;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }

  async #readAll(): Promise<void> {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ id, event, data }) =>
        void this.frames.push({ id, event, data: JSON.parse(data) }),
      onComment: (comment) => void this.comments.push(comment),
      onRetry: (ms) => void (this.retry = ms),
      onId: (id) => void (this.lastEventId = id),
    });

    try {
      while (true) {
        const part = await this.#reader.read();
        if (part.done) return;
        parser.feed(decoder.decode(part.value, { stream: true }));
        this.#news.tell();
      }
    } finally {
      this.#news.tell();
    }
  }
}

/** Waits until something holds that no promise tells of; fails after 10 s. */
export async function until(holds: () => boolean): Promise<void> {
  await beLate();
  // Each pause counts what it asked for: a machine that stands still uses up no patience.
  for (let waitedMs = 0; !holds(); waitedMs += 2) {
    if (waitedMs > 10_000) throw new Error(`not true within 10 s: ${holds.toString()}`);
    await systemClock.sleep(2);
  }
}
