import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import type { AddressInfo } from "node:net";
import { decideDocument } from "../../../dure/src/server/dashboard.ts";
import { DoublePlans } from "./plans.ts";
import { freshState, scriptFor, type Request, type State, type Step } from "./script.ts";

/**
 * A scripted double of dure's server: the routes of docs/spec/conversation §6 and the ones of the
 * dashboard, on loopback, with turns from `script.ts`. It can cut connections, hold a turn at a
 * gate and ask for a token.
 */
export interface DoubleOptions {
  /** Ask for this token; without it everything is open. */
  readonly token?: string;
  readonly devMode?: boolean;
  /** Pause between two tokens, milliseconds. Default 0. */
  readonly tokenMs?: number;
  /** Folder of the built dashboard. */
  readonly site?: string;
  readonly port?: number;
}

interface Frame {
  readonly seq?: number;
  readonly type: string;
  readonly data: unknown;
}

interface Turn {
  readonly id: string;
  readonly session: string;
  readonly stored: Required<Frame>[];
  /** Text said since the last stored event. */
  open: string;
  finished: boolean;
  stopped: boolean;
  readonly readers: Set<(frame: Frame) => void>;
}

interface LoggedEvent {
  readonly id: string;
  readonly type: string;
  readonly [name: string]: unknown;
}

interface StoredSession {
  readonly id: string;
  service: string;
  title: string;
  updatedAt: number;
  readonly state: State;
  shown: unknown;
  readonly history: Record<string, unknown>[];
  running: string | null;
  readonly waiting: (() => void)[];
  trace?: unknown;
}

const STRICT_CSP =
  "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; font-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

const NO_COSTS = {
  since: "2026-10-24",
  time_zone: "Asia/Seoul",
  total: { calls: 0, tokens_in: 0, tokens_out: 0, micro_usd: 0, unpriced: 0 },
  by_day: [],
  by_agent: [],
  by_service: [],
  by_model: [],
  over_time: { agent: [], service: [], model: [] },
  budgets: [],
};

export class DoubleServer {
  readonly #options: DoubleOptions;
  readonly #server: Server;
  readonly #sessions = new Map<string, StoredSession>();
  readonly #turns = new Map<string, Turn>();
  readonly #keys = new Map<string, string>();
  readonly #gates = new Map<string, { open: boolean; waiting: (() => void)[] }>();
  readonly #events: LoggedEvent[] = [];
  readonly #eventReaders = new Set<(event: LoggedEvent | { readonly reset: string }) => void>();
  readonly #cuts: { path: RegExp; afterFrames: number }[] = [];
  readonly #refusals: { path: RegExp; status: number; body: unknown }[] = [];
  /** Whether its database answers, as it says of itself. */
  hasDatabase = true;
  /** Every request so far: `POST /v1/… key=… last=…`. */
  readonly journal: {
    method: string;
    path: string;
    key?: string;
    lastEventId?: string;
    body?: unknown;
  }[] = [];
  /** The query of every reader of the event log. */
  readonly filters: Record<string, string>[] = [];
  /** Whether the team has the model of a provider. */
  model: "provider" | "offline" = "offline";
  /** What `/v1/costs` answers. */
  costs: object = NO_COSTS;
  /** Entries of `/v1/audit`, the newest first. */
  audit: readonly {
    readonly id: number;
    readonly what: string;
    readonly [name: string]: unknown;
  }[] = [];
  /** Plans and runs; empty unless a test puts some there. */
  readonly plans = new DoublePlans((event) => this.emit(event));
  #ids = 0;

  constructor(options: DoubleOptions = {}) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        if (!response.headersSent) problem(response, 500, "DOUBLE_BROKEN", String(error));
        else response.destroy();
      });
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) =>
      this.#server.listen(this.#options.port ?? 0, "127.0.0.1", resolve),
    );
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Readers of the event log right now. */
  get eventReaders(): number {
    return this.#eventReaders.size;
  }

  /**
   * The next response on a matching path is cut after so many frames; 0: before its headers, after
   * its work.
   */
  cut(path: RegExp, afterFrames: number): void {
    this.#cuts.push({ path, afterFrames });
  }

  /** The next request on a matching path is refused. */
  refuse(path: RegExp, status: number, body: unknown): void {
    this.#refusals.push({ path, status, body });
  }

  openGate(name: string): void {
    const gate = this.#gate(name);
    gate.open = true;
    for (const go of gate.waiting.splice(0)) go();
  }

  /** A turn without typed words: an approval was answered. */
  systemTurn(sessionId: string, text: string): void {
    this.#accept({ session_id: sessionId, message: text }, "system");
  }

  /** Streams of events that pages have open now. */
  get eventStreams(): number {
    return this.#eventReaders.size;
  }

  /** Gives the event's id. */
  emit(event: { readonly type: string; readonly [name: string]: unknown }): string {
    const full: LoggedEvent = {
      id: `1.${100 + this.#events.length}.${this.#events.length + 1}`,
      at: Date.now(),
      ...event,
    };
    this.#events.push(full);
    for (const reader of this.#eventReaders) reader(full);
    return full.id;
  }

  /** Tells every reader of the log that its place is gone. */
  resetReaders(oldest: string): void {
    for (const reader of this.#eventReaders) reader({ reset: oldest });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://double");
    const { pathname: path } = url;
    const method = request.method ?? "GET";
    const hasBody = method === "POST" || method === "PUT";
    const body = hasBody ? await readBody(request) : undefined;
    const key = request.headers["idempotency-key"];
    const last = request.headers["last-event-id"];
    if (path.startsWith("/v1")) {
      const extras = {
        ...(typeof key === "string" ? { key } : {}),
        ...(typeof last === "string" ? { lastEventId: last } : {}),
      };
      this.journal.push({ method, path, ...extras, ...(body === undefined ? {} : { body }) });
    }
    const refusal = take(this.#refusals, (one) => one.path.test(path));
    if (refusal) return json(response, refusal.status, refusal.body, "application/problem+json");
    if (path === "/readyz") {
      const { hasDatabase } = this;
      const checks = { database: { ok: hasDatabase } };
      return json(response, hasDatabase ? 200 : 503, { ready: hasDatabase, checks });
    }
    if (path === "/healthz") return json(response, 200, { status: "ok" });
    if (!path.startsWith("/v1")) return this.#file(path, request, response);
    if (path === "/v1/login") return this.#login(body, response);
    if (!this.#allowed(request)) {
      return problem(
        response,
        401,
        "TOKEN_MISSING",
        "A token is needed.",
        "Log in with a token of `dure token`.",
      );
    }

    if (path === "/v1/logout") {
      return void response.writeHead(204, { "set-cookie": "dure=; Path=/; Max-Age=0" }).end();
    }
    if (path === "/v1/me") {
      return json(response, 200, {
        auth: this.#options.token ? "token" : "open",
        access: this.#options.token
          ? { mode: "credentials", because: "environment-token" }
          : { mode: "same-user", because: "no-token" },
        scopes: ["admin", "plans:confirm"],
        person: this.#options.token ? "민준" : null,
        dev_mode: this.#options.devMode ?? true,
        locale: "ko",
        model: this.model,
      });
    }
    if (path === "/v1/services") return json(response, 200, { items: SERVICES });
    if (this.plans.answer(request, url, body, response)) return;
    if (path === "/v1/costs") return json(response, 200, this.costs);
    if (path === "/v1/audit") return json(response, 200, auditOf(this.audit, url.searchParams));
    if (path === "/v1/escalations") return json(response, 200, { items: [], next_cursor: null });
    if (path === "/v1/events") return this.#streamEvents(url, last, response);
    if (path === "/v1/agent/chat/stream" && method === "POST") {
      return this.#chat(body as Request, typeof key === "string" ? key : undefined, response);
    }
    if (path === "/v1/agent/sessions") return json(response, 200, this.#list(url));
    if (path === "/v1/agent/completed") return json(response, 200, { items: [] });

    const turn = /^\/v1\/agent\/turns\/([^/]+)\/(stream|stop|retry)$/.exec(path);
    if (turn) {
      const found = this.#turns.get(decodeURIComponent(turn[1]!));
      if (!found) return problem(response, 404, "TURN_UNKNOWN", `No turn ${turn[1]}.`);
      if (turn[2] === "retry") return this.#retry(found, response);
      return turn[2] === "stop"
        ? this.#stop(found, response)
        : this.#streamTurn(found, typeof last === "string" ? last : undefined, path, response);
    }
    const one = /^\/v1\/agent\/(sessions|debug)\/([^/]+)$/.exec(path);
    const session = one && this.#sessions.get(decodeURIComponent(one[2]!));
    if (!one || !session) {
      return problem(response, 404, "SESSION_UNKNOWN", `There is nothing at ${path}.`);
    }
    if (method === "DELETE") {
      return void (this.#sessions.delete(session.id), response.writeHead(204).end());
    }
    json(response, 200, one[1] === "debug" ? debugOf(session) : sessionOf(session));
  }

  // --- turns

  #chat(body: Request, key: string | undefined, response: ServerResponse): void {
    if (typeof body?.message !== "string" || !body.session_id) {
      return problem(response, 400, "INPUT_INVALID", "message is missing.");
    }
    const known = key === undefined ? undefined : this.#keys.get(key);
    const turn = known === undefined ? this.#accept(body, "person") : this.#turns.get(known)!;
    if (key !== undefined) this.#keys.set(key, turn.id);
    this.#streamTurn(turn, undefined, "/v1/agent/chat/stream", response);
  }

  #accept(request: Request, author: "person" | "system"): Turn {
    const turn: Turn = {
      id: `turn_${++this.#ids}`,
      session: request.session_id,
      stored: [],
      open: "",
      finished: false,
      stopped: false,
      readers: new Set(),
    };
    this.#turns.set(turn.id, turn);
    let session = this.#sessions.get(request.session_id);
    if (!session) {
      const service = request.service ?? "transfer";
      session = {
        id: request.session_id,
        service,
        title: request.message.slice(0, 40),
        updatedAt: Date.now(),
        state: freshState(),
        shown: freshState(),
        history: [],
        running: null,
        waiting: [],
      };
      this.#sessions.set(session.id, session);
    }
    const stored = session;
    if (author === "person") {
      stored.history.push({
        role: "user",
        content: request.message,
        at: Date.now(),
        turn_id: turn.id,
      });
    }
    this.emit({
      type: "turn.accepted",
      role: "conversation",
      session: stored.id,
      turn: turn.id,
      service: stored.service,
      data: { author },
    });
    const run = (): void => {
      stored.running = turn.id;
      void this.#play(turn, stored, request, author);
    };
    if (stored.running === null) run();
    else stored.waiting.push(run);
    return turn;
  }

  async #play(
    turn: Turn,
    session: StoredSession,
    request: Request,
    author: "person" | "system",
  ): Promise<void> {
    const script =
      author === "system"
        ? ([
            {
              do: "done",
              data: {
                message: request.message,
                next_action: "ASK",
                state_snapshot: session.shown,
                _trace: { total_elapsed_ms: 5, agents: [] },
              },
            },
          ] as Step[])
        : scriptFor(request, session.state);
    for (const step of script) {
      if (turn.stopped) break;
      await this.#step(turn, session, step, author);
    }
    if (turn.stopped && !turn.finished) {
      const text =
        turn.stored
          .filter((frame) => frame.type === "LLM_TOKEN")
          .map((frame) => frame.data)
          .join("") + turn.open;
      await this.#step(
        turn,
        session,
        {
          do: "done",
          data: {
            message: text,
            next_action: "ASK",
            error: { code: "TURN_STOPPED", message: "Stopped by the person." },
            _trace: { total_elapsed_ms: 0, agents: [] },
          },
        },
        author,
      );
    }
    session.running = null;
    session.waiting.shift()?.();
  }

  async #step(
    turn: Turn,
    session: StoredSession,
    step: Step,
    author: "person" | "system",
  ): Promise<void> {
    switch (step.do) {
      case "wait":
        return pause(step.ms);
      case "gate":
        return this.#pass(step.name, turn);
      case "event":
        return this.#store(turn, step.type, step.data);
      case "crash":
        turn.open = "";
        return this.#store(turn, "AGENT_START", {
          agent: step.agent,
          label: step.label,
          attempt: 2,
          restart: true,
        });
      case "say": {
        const tokens = step.text.match(/[\s\S]{1,3}/gu) ?? [];
        for (const [index, token] of tokens.entries()) {
          if (turn.stopped) return;
          turn.open += token;
          const closes = (index + 1) % (step.chunk ?? 6) === 0;
          if (closes) {
            const seq = turn.stored.length + 1;
            turn.stored.push({ seq, type: "LLM_TOKEN", data: turn.open });
            turn.open = "";
            this.#tell(turn, { seq, type: "LLM_TOKEN", data: token });
          } else this.#tell(turn, { type: "LLM_TOKEN", data: token });
          await pause(this.#options.tokenMs ?? 0);
        }
        return;
      }
      case "done": {
        const trace = { turn_id: turn.id, ...(step.data["_trace"] as object) };
        const data = {
          state_snapshot: structuredClone(session.state),
          hooks: [],
          ...step.data,
          _trace: trace,
        };
        const stopped =
          (step.data["error"] as { code?: string } | undefined)?.code === "TURN_STOPPED";
        session.shown = data.state_snapshot;
        session.trace = trace;
        session.updatedAt = Date.now();
        session.history.push({
          role: "assistant",
          content: step.data["message"],
          at: Date.now(),
          turn_id: turn.id,
          done: data,
          author,
          ...(stopped ? { interrupted: true } : {}),
        });
        session.running = null;
        turn.finished = true;
        this.#store(turn, "DONE", data);
        this.emit({
          type: "turn.done",
          role: "conversation",
          session: session.id,
          turn: turn.id,
          service: session.service,
          data: { next_action: step.data["next_action"], author },
        });
      }
    }
  }

  #store(turn: Turn, type: string, data: unknown): void {
    if (turn.open !== "") {
      turn.stored.push({ seq: turn.stored.length + 1, type: "LLM_TOKEN", data: turn.open });
      turn.open = "";
    }
    const frame = { seq: turn.stored.length + 1, type, data };
    turn.stored.push(frame);
    this.#tell(turn, frame);
  }

  #tell(turn: Turn, frame: Frame): void {
    for (const reader of turn.readers) reader(frame);
  }

  #streamTurn(turn: Turn, last: string | undefined, path: string, response: ServerResponse): void {
    const after = last === undefined ? 0 : Number(last.slice(last.lastIndexOf(".") + 1));
    if (turn.finished && after >= turn.stored.length) {
      return void response.writeHead(204, { "turn-id": turn.id }).end();
    }
    const cut = take(this.#cuts, (one) => one.path.test(path));
    if (cut?.afterFrames === 0) return void response.destroy();
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "turn-id": turn.id,
    });
    response.write(": turn\n\n");
    let written = 0;
    const write = (frame: Frame): void => {
      const id = frame.seq === undefined ? "" : `id: ${turn.id}.${frame.seq}\n`;
      response.write(`${id}event: ${frame.type}\ndata: ${JSON.stringify(frame.data)}\n\n`);
      written++;
      if (cut && written >= cut.afterFrames) {
        turn.readers.delete(write);
        setImmediate(() => response.destroy());
      } else if (frame.type === "DONE") {
        turn.readers.delete(write);
        response.end();
      }
    };
    response.on("close", () => turn.readers.delete(write));
    turn.readers.add(write);
    for (const frame of turn.stored.slice(after)) if (turn.readers.has(write)) write(frame);
    if (turn.open !== "" && turn.readers.has(write)) write({ type: "LLM_TOKEN", data: turn.open });
  }

  #stop(turn: Turn, response: ServerResponse): void {
    if (turn.finished) {
      return problem(response, 409, "TURN_DONE", `Turn ${turn.id} has already ended.`);
    }
    turn.stopped = true;
    for (const gate of this.#gates.values()) for (const go of gate.waiting.splice(0)) go();
    json(response, 202, { turn_id: turn.id });
  }

  /** The turn goes on with the words that its model says when it is back. */
  #retry(turn: Turn, response: ServerResponse): void {
    const session = this.#sessions.get(turn.session)!;
    if (turn.finished && session.history.at(-1)?.["turn_id"] !== turn.id) {
      return problem(response, 409, "TURN_PASSED", "The conversation has gone on.");
    }
    if (turn.finished) {
      turn.finished = false;
      turn.stored.pop();
      session.history.pop();
      session.running = turn.id;
      const request = { session_id: session.id, message: "돌아온 모델" };
      void this.#play(turn, session, request, "person");
    }
    json(response, 202, { turn_id: turn.id, status: "retrying" });
  }

  #gate(name: string): { open: boolean; waiting: (() => void)[] } {
    const gate = this.#gates.get(name) ?? { open: false, waiting: [] };
    this.#gates.set(name, gate);
    return gate;
  }

  #pass(name: string, turn: Turn): Promise<void> {
    const gate = this.#gate(name);
    return gate.open || turn.stopped
      ? Promise.resolve()
      : new Promise((resolve) => gate.waiting.push(resolve));
  }

  // --- the rest

  #list(url: URL): unknown {
    const limit = Number(url.searchParams.get("limit") ?? 50);
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const search = url.searchParams.get("search") ?? "";
    const all = [...this.#sessions.values()]
      .filter((session) => session.title.toLowerCase().includes(search))
      .sort((a, b) => b.updatedAt - a.updatedAt);
    const items = all.slice(from, from + limit).map((session) => ({
      session_id: session.id,
      service: session.service,
      title: session.title,
      updated_at: new Date(session.updatedAt).toISOString(),
      ...(session.running === null ? {} : { running_turn: { turn_id: session.running } }),
    }));
    return { items, next_cursor: from + limit < all.length ? String(from + limit) : null };
  }

  #streamEvents(url: URL, last: string | string[] | undefined, response: ServerResponse): void {
    this.filters.push(Object.fromEntries(url.searchParams));
    const types = url.searchParams.get("types")?.split(",") ?? [];
    const fits = (event: LoggedEvent): boolean =>
      (types.length === 0 ||
        types.some((type) =>
          type.endsWith(".*") ? event.type.startsWith(type.slice(0, -1)) : event.type === type,
        )) &&
      ["session", "role", "run", "room"].every(
        (name) => !url.searchParams.has(name) || event[name] === url.searchParams.get(name),
      );
    const cut = take(this.#cuts, (one) => one.path.test("/v1/events"));
    let written = 0;
    const write = (event: LoggedEvent | { readonly reset: string }): void => {
      if (isReset(event)) {
        return void response.write(
          `event: reset\ndata: ${JSON.stringify({ oldest: event.reset })}\n\n`,
        );
      }
      if (!fits(event)) return;
      response.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      if (cut && ++written >= cut.afterFrames) {
        this.#eventReaders.delete(write);
        setImmediate(() => response.destroy());
      }
    };
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const now =
      typeof last === "string"
        ? last
        : url.searchParams.has("last")
          ? "1.1.0"
          : (this.#events.at(-1)?.id ?? "1.1.0");
    response.write(`: events\nid: ${now}\n\n`);
    if (cut?.afterFrames === 0) return void setImmediate(() => response.destroy());
    response.on("close", () => this.#eventReaders.delete(write));
    this.#eventReaders.add(write);
    const index =
      typeof last === "string" && last !== "1.1.0"
        ? this.#events.findIndex((event) => event.id === last)
        : last === "1.1.0"
          ? -1
          : Math.max(-1, this.#events.length - 1 - Number(url.searchParams.get("last") ?? 0));
    for (const event of this.#events.slice(index + 1)) {
      if (this.#eventReaders.has(write)) write(event);
    }
  }

  #login(body: unknown, response: ServerResponse): void {
    if ((body as { token?: unknown })?.token !== this.#options.token) {
      return problem(
        response,
        401,
        "TOKEN_INVALID",
        "This token is not known.",
        "Make one with `dure token create`.",
      );
    }
    response
      .writeHead(204, {
        "set-cookie": `dure=${this.#options.token}; Path=/; HttpOnly; SameSite=Strict`,
      })
      .end();
  }

  #allowed(request: IncomingMessage): boolean {
    const { token } = this.#options;
    return (
      token === undefined ||
      request.headers.authorization === `Bearer ${token}` ||
      (request.headers.cookie ?? "").includes(`dure=${token}`)
    );
  }

  /** As the server decides it. */
  async #document(path: string, request: IncomingMessage): Promise<string> {
    const documents = new Set(await readdir(join(this.#options.site!, "pages")));
    const languages = request.headers["accept-language"];
    const known = this.#options.token === undefined ? "nameless" : "named";
    const visitor = this.#allowed(request) ? known : "stranger";
    return decideDocument({ documents, path, languages, visitor });
  }

  async #file(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { site } = this.#options;
    if (site === undefined) return problem(response, 404, "NOT_FOUND", "No site.");
    const wanted = join(site, normalize(path));
    const content =
      wanted.startsWith(site) && extname(wanted) !== ""
        ? await readFile(wanted).catch(() => undefined)
        : undefined;
    const type = content === undefined ? ".html" : extname(wanted);
    const bytes = content ?? (await readFile(join(site, await this.#document(path, request))));
    response
      .writeHead(200, {
        "content-type": TYPES[type] ?? "application/octet-stream",
        "content-security-policy": STRICT_CSP,
        "x-content-type-options": "nosniff",
      })
      .end(bytes);
  }
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const SERVICES = [
  {
    name: "transfer",
    title: "계좌 이체",
    description: "말로 하는 이체. 확인을 누르기 전에는 보내지 않아요.",
    examples: [
      "엄마에게 5만원 보내줘",
      "세 명에게 한꺼번에 보내줘",
      "한도가 얼마야? 마크다운으로 알려줘",
    ],
    translations: [{ language: "en", title: "Bank transfer" }],
    flows: ["DEFAULT", "TRANSFER"],
    default: true,
    stages: {
      initial: "INIT",
      terminal: ["EXECUTED", "FAILED", "CANCELLED", "UNSUPPORTED"],
      transitions: [
        ["INIT", "FILLING"],
        ["INIT", "READY"],
        ["FILLING", "READY"],
        ["READY", "FILLING"],
        ["READY", "CONFIRMED"],
        ["FILLING", "CANCELLED"],
        ["READY", "CANCELLED"],
        ["FILLING", "UNSUPPORTED"],
        ["CONFIRMED", "EXECUTED"],
        ["CONFIRMED", "FAILED"],
        ["EXECUTED", "INIT"],
        ["FAILED", "INIT"],
        ["CANCELLED", "INIT"],
        ["UNSUPPORTED", "INIT"],
      ],
    },
    slots: [
      { name: "target", label: "받는 분", required: true, type: "text" },
      { name: "amount", label: "금액", required: true, type: "integer" },
      { name: "memo", label: "메모", required: false, type: "text" },
      { name: "transfer_date", label: "보낼 날짜", required: false, type: "date" },
    ],
  },
  {
    name: "faq",
    title: "자주 묻는 질문",
    description: "정해진 답을 먼저 찾고, 없으면 풀어서 답합니다.",
    examples: ["영업 시간이 어떻게 되나요?"],
    flows: ["FAQ", "GENERAL"],
    default: false,
  },
];

function sessionOf(session: StoredSession): unknown {
  return {
    session_id: session.id,
    service: session.service,
    services: ["transfer", "faq"],
    locale: "ko",
    time_zone: "Asia/Seoul",
    state: session.shown,
    stage: (session.shown as State).stage,
    running_turn: session.running === null ? null : { turn_id: session.running },
    history: session.history,
    completed: [],
    ...(session.trace === undefined ? {} : { trace: session.trace }),
  };
}

function debugOf(session: StoredSession): unknown {
  const rawHistory = session.history.map(({ role, content }) => ({ role, content }));
  return {
    state: session.shown,
    memory: { raw_history: rawHistory, summary_text: "엄마와 민지에게 자주 보낸다." },
    completed: [],
  };
}

function take<Item>(list: Item[], fits: (item: Item) => boolean): Item | undefined {
  const index = list.findIndex(fits);
  return index < 0 ? undefined : list.splice(index, 1)[0];
}

function isReset(
  event: LoggedEvent | { readonly reset: string },
): event is { readonly reset: string } {
  return "reset" in event;
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  type = "application/json",
): void {
  response.writeHead(status, { "content-type": type }).end(JSON.stringify(body));
}

function problem(
  response: ServerResponse,
  status: number,
  code: string,
  detail: string,
  hint?: string,
): void {
  json(
    response,
    status,
    {
      type: `about:blank#${code}`,
      title: code,
      status,
      code,
      detail,
      ...(hint === undefined ? {} : { hint }),
    },
    "application/problem+json",
  );
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const part of request) text += String(part);
  return text === "" ? undefined : JSON.parse(text);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)));
}

/** A page of the audit log, as the server filters it. */
function auditOf(all: DoubleServer["audit"], query: URLSearchParams): object {
  const [kind, search, limit, cursor] = [
    query.get("what")?.replace("*", "") ?? "",
    query.get("search") ?? "",
    Number(query.get("limit") ?? 50),
    Number(query.get("cursor") ?? Infinity),
  ];
  const matching = all.filter(
    (entry) =>
      entry.what.startsWith(kind) && JSON.stringify(entry).includes(search) && entry.id < cursor,
  );
  return {
    items: matching.slice(0, limit),
    next_cursor: matching.length > limit ? String(matching[limit - 1]!.id) : null,
  };
}
