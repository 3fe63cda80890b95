import { systemClock, type Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { fromWire, toWire } from "../kernel/wire.ts";
import { AgentFilesClient } from "./agent-files.ts";
import { followEvents } from "./event-stream.ts";
import {
  createHttp,
  passed,
  queryOf,
  readJson,
  streamHeaders,
  type CallOptions,
  type Http,
  type HttpOptions,
} from "./http.ts";
import { KnowledgeClient } from "./knowledge.ts";
import { JobsClient } from "./jobs.ts";
import { PlansClient } from "./plans.ts";
import { RECONNECT_DEFAULTS, type ReconnectOptions } from "./reconnect.ts";
import type { EventsFilter, Page } from "./resources.ts";
import { NotificationsClient } from "./notifications.ts";
import { RoomsClient } from "./rooms.ts";
import { SchedulesClient } from "./schedules.ts";
import { cursorAt, TURN_BEGIN, type TurnCursor } from "./turn-cursor.ts";
import { TracesClient, type TraceOptions } from "./traces.ts";
import { TurnStream, type ConnectionState, type TurnStreamParts } from "./turn-stream.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { RoomPeople } from "../wire/rooms.ts";
import type {
  Escalation,
  EscalationAnswer,
  EscalationAnswered,
  EscalationsFilter,
  EscalationsPage,
} from "../wire/escalations.ts";
import type { Uploaded } from "../wire/files.ts";
import type { LoginLink } from "../wire/login.ts";
import type { AuditEntry, AuditFilter, Costs, Me, ServerHealth } from "../wire/platform.ts";
import type {
  CompletedEntry,
  MessageRequest,
  ServiceInfo,
  Session,
  SessionDebug,
  SessionSummary,
} from "../wire/turns.ts";
import type { ReplayableTurn, ReplayRequest, TurnReplay } from "../wire/replays.ts";
import type { WorkTrace } from "../wire/traces.ts";
import { onlyDefined } from "../kernel/json.ts";

/** How the client reaches its server. */
export interface DureClientOptions extends HttpOptions {
  readonly reconnect?: ReconnectOptions | undefined;
  readonly clock?: Clock | undefined;
}

/** How the stream of a turn is read. */
export interface TurnOptions extends CallOptions {
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
}

/** How a message is sent. */
export interface SendOptions extends TurnOptions {
  /**
   * The same key and message are the same turn for 24 h. Default: a new one for each call, and none
   * for a message without a session.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Where a stream of platform events begins. */
export interface EventsOptions extends TurnOptions {
  /** Continue behind this position; without it from now on. */
  readonly lastEventId?: string | undefined;
  /** Begin with the newest so many stored events, 0 to 1,000. */
  readonly last?: number | undefined;
  readonly onReset?: ((reset: { readonly oldest: string | undefined }) => void) | undefined;
  /** Who is in a web room now; needs `people` in the filter, and scope `rooms`. */
  readonly onPeople?: ((people: RoomPeople) => void) | undefined;
}

/**
 * Speaks dure's HTTP and SSE from a browser or from Node. A refusal is a `DureError` with the
 * server's code and hint.
 *
 * ```ts
 * const dure = new DureClient({ baseUrl: "http://127.0.0.1:4600" });
 * const turn = dure.sendMessage({ sessionId: "mina", message: "엄마에게 5만원 보내줘" });
 * for await (const event of turn) if (event.type === "LLM_TOKEN") process.stdout.write(event.data);
 * console.log((await turn.done).nextAction);
 * ```
 */
export class DureClient {
  readonly #http: Http;
  readonly #clock: Clock;
  readonly #reconnect: { attempts: number; maxDelayMs: number; silenceMs: number };

  constructor(options: DureClientOptions) {
    this.#http = createHttp(options);
    this.#clock = options.clock ?? systemClock;
    const { attempts, maxDelayMs, silenceMs } = options.reconnect ?? {};
    const own = onlyDefined({ attempts, maxDelayMs, silenceMs });
    this.#reconnect = { ...RECONNECT_DEFAULTS, ...own };
  }

  // --- turns

  /** Sends a message and follows its turn to `DONE`, through cut connections. */
  sendMessage(message: MessageRequest, options: SendOptions = {}): TurnStream {
    const isOfSession = message.sessionId !== undefined;
    const own = isOfSession ? newId("call", this.#clock.now()) : undefined;
    const key = options.idempotencyKey ?? own;
    const body = JSON.stringify(toWire(message));

    const headers = {
      "content-type": "application/json",
      accept: "text/event-stream",
      ...onlyDefined({ "idempotency-key": key }),
    };

    const begin = (signal: AbortSignal): Promise<Response> =>
      this.#http.request("/v1/agent/chat/stream", { method: "POST", headers, body, signal });

    return this.#turnStream(TURN_BEGIN, begin, options);
  }

  /** Uploads files to a session, for `files` of a message. Again it is the same files. */
  async uploadFiles(
    sessionId: string,
    files: readonly File[],
    options: CallOptions = {},
  ): Promise<Uploaded> {
    const request = { method: "POST", body: formOf(sessionId, files), ...passed(options) };
    const response = await this.#http.request("/v1/agent/files", request);
    return fromWire(await readJson(response)) as Uploaded;
  }

  /** The bytes of a file that a message carried, or that tools have made (`files` of `DONE`). */
  async downloadFile(fileId: string, options: CallOptions = {}): Promise<Blob> {
    const response = await this.#http.request(pathOfFile(fileId), passed(options));
    return response.blob();
  }

  /**
   * Follows a turn that was started elsewhere: from its first event, or from behind `lastEventId`.
   */
  followTurn(
    turnId: string,
    options: TurnOptions & { readonly lastEventId?: string | undefined } = {},
  ): TurnStream {
    return this.#turnStream(cursorAt(turnId, options.lastEventId), undefined, options);
  }

  /** Stops a turn; one that is already done is refused with class `conflict`. */
  async stopTurn(turnId: string, options: CallOptions = {}): Promise<void> {
    await this.#http.request(pathOfTurn(turnId, "stop"), { method: "POST", ...passed(options) });
  }

  /**
   * Goes on with a turn that ended because its model was away (`error.retry`). What it has done is
   * not done again. Asked twice, it is one retry. Follow it with `followTurn`.
   */
  async retryTurn(turnId: string, options: CallOptions = {}): Promise<void> {
    await this.#http.request(pathOfTurn(turnId, "retry"), { method: "POST", ...passed(options) });
  }

  /** A turn that has ended, and the prompts and models to replay it with. Needs scope `admin`. */
  replayable(turnId: string, options: CallOptions = {}): Promise<ReplayableTurn> {
    return this.#http.get(pathOfTurn(turnId, "replay"), options);
  }

  /**
   * Runs a turn again with another model or prompt. No tool is called and nothing is stored: tools
   * answer as they did in the turn, or are refused. Needs scope `admin`.
   */
  replay(
    turnId: string,
    change: ReplayRequest = {},
    options: CallOptions = {},
  ): Promise<TurnReplay> {
    return this.#http.post(pathOfTurn(turnId, "replay"), change, options);
  }

  // --- sessions

  /** Last used first; `search` looks for words in the titles. */
  sessions(
    page: {
      limit?: number | undefined;
      cursor?: string | undefined;
      search?: string | undefined;
    } = {},
    options: CallOptions = {},
  ): Promise<Page<SessionSummary>> {
    return this.#http.get(`/v1/agent/sessions${queryOf(page)}`, options);
  }

  session(sessionId: string, options: CallOptions = {}): Promise<Session> {
    return this.#http.get(`/v1/agent/sessions/${encodeURIComponent(sessionId)}`, options);
  }

  async deleteSession(sessionId: string, options: CallOptions = {}): Promise<void> {
    await this.#http.request(`/v1/agent/sessions/${encodeURIComponent(sessionId)}`, {
      method: "DELETE",
      ...passed(options),
    });
  }

  /** Finished flows, newest first, at most 50. */
  async completed(
    sessionId: string,
    options: CallOptions = {},
  ): Promise<readonly CompletedEntry[]> {
    const answer = await this.#http.get<
      | readonly CompletedEntry[]
      | { items?: readonly CompletedEntry[]; completed?: readonly CompletedEntry[] }
    >(`/v1/agent/completed${queryOf({ session_id: sessionId })}`, options);
    return Array.isArray(answer)
      ? answer
      : ((answer as { items?: CompletedEntry[] }).items ??
          (answer as { completed?: CompletedEntry[] }).completed ??
          []);
  }

  /** State and memory as stored; refused unless the server runs in dev mode. */
  debug(sessionId: string, options: CallOptions = {}): Promise<SessionDebug> {
    return this.#http.get(`/v1/agent/debug/${encodeURIComponent(sessionId)}`, options);
  }

  // --- the product

  async services(options: CallOptions = {}): Promise<readonly ServiceInfo[]> {
    return (await this.#http.get<{ items: readonly ServiceInfo[] }>("/v1/services", options)).items;
  }

  /**
   * The platform's event log as it grows, from now on or from a position or the newest `last`; ends
   * only by the signal or a refusal.
   */
  events(
    filter: EventsFilter = {},
    options: EventsOptions = {},
  ): AsyncGenerator<PlatformEvent, never> {
    const { types, ...rest } = filter;
    const path = `/v1/events${queryOf({ types: types?.join(","), ...rest, last: options.last })}`;
    const open = (lastEventId: string | undefined): Promise<Response> =>
      this.#http.request(path, { headers: streamHeaders(lastEventId), ...passed(options) });

    return followEvents({
      ...options,
      ...this.#reconnect,
      lastEventId: options.lastEventId,
      clock: this.#clock,
      open,
    });
  }

  /**
   * Reads the team's files anew. Needs scope `admin`. `restart`: changed keys that stay as they
   * were until a restart.
   */
  async reload(options: CallOptions = {}): Promise<{
    readonly services: readonly string[];
    readonly agents: readonly string[];
    readonly restart: readonly string[];
  }> {
    return (await readJson(
      await this.#http.request("/v1/reload", { method: "POST", ...passed(options) }),
    )) as Awaited<ReturnType<DureClient["reload"]>>;
  }

  /**
   * Tokens and money of the last `days` (1 to 90, today included), and the budgets. Needs scope
   * `admin`.
   */
  costs(days?: number, options: CallOptions = {}): Promise<Costs> {
    return this.#http.get(`/v1/costs${queryOf({ days })}`, options);
  }

  /** Who did what, newest first. Needs scope `admin`; a tenant's token reads its tenant's. */
  audit(filter: AuditFilter = {}, options: CallOptions = {}): Promise<Page<AuditEntry>> {
    return this.#http.get(`/v1/audit${queryOf({ ...filter })}`, options);
  }

  // --- escalations

  /** What waits for a decision, and what was decided; newest first. */
  escalations(
    filter: EscalationsFilter = {},
    options: CallOptions = {},
  ): Promise<Page<Escalation> & Pick<EscalationsPage, "counts">> {
    return this.#http.get(`/v1/escalations${queryOf({ ...filter })}`, options);
  }

  escalation(id: string, options: CallOptions = {}): Promise<Escalation> {
    return this.#http.get(`/v1/escalations/${encodeURIComponent(id)}`, options);
  }

  /** The first answer holds; one that is closed already is refused with class `conflict`. */
  async answerEscalation(
    id: string,
    answer: EscalationAnswer,
    options: CallOptions = {},
  ): Promise<EscalationAnswered> {
    const request = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(answer), // arguments of a call keep their names
      ...passed(options),
    };
    const path = `/v1/escalations/${encodeURIComponent(id)}/answer`;
    return fromWire(await readJson(await this.#http.request(path, request))) as EscalationAnswered;
  }

  /** Closes it without a decision; what waited for it ends as if it had not been asked. */
  dismissEscalation(
    id: string,
    options: CallOptions & { readonly note?: string | undefined } = {},
  ): Promise<Escalation> {
    const { note } = options;
    return this.#http.post(`/v1/escalations/${encodeURIComponent(id)}/dismiss`, { note }, options);
  }

  /**
   * Rooms in the name of `asPerson`; with a token the name is the token's, and this is left out.
   */
  rooms(asPerson?: string): RoomsClient {
    return new RoomsClient(this.#http, asPerson);
  }

  /** What `asPerson` is told outside of the page; with a token the name is the token's. */
  notifications(asPerson?: string): NotificationsClient {
    return new NotificationsClient(this.#http, asPerson);
  }

  /** What was set off: turns, jobs and runs, and their texts. */
  get traces(): TracesClient {
    return new TracesClient(this.#http);
  }

  /** What began a turn, job, run, message or request of a room, and all that it began. */
  trace(id: string, options: TraceOptions = {}): Promise<WorkTrace> {
    return this.traces.of(id, options);
  }

  /** The files that make an agent, and their changes; needs scope `admin`. */
  agentFiles(agent: string): AgentFilesClient {
    return new AgentFilesClient(this.#http, agent);
  }

  /** The documents that agents search. */
  get knowledge(): KnowledgeClient {
    return new KnowledgeClient(this.#http);
  }

  /** Work that begins at a time. */
  get schedules(): SchedulesClient {
    return new SchedulesClient(this.#http);
  }

  /** Exchanges between agents. */
  get jobs(): JobsClient {
    return new JobsClient(this.#http, { clock: this.#clock, ...this.#reconnect });
  }

  /** Plans, and their runs. */
  get plans(): PlansClient {
    return new PlansClient(this.#http, { clock: this.#clock, ...this.#reconnect });
  }

  me(options: CallOptions = {}): Promise<Me> {
    return this.#http.get("/v1/me", options);
  }

  /** Exchanges a token for an HttpOnly cookie, so that a page never keeps the token. */
  async login(token: string, options: CallOptions = {}): Promise<void> {
    const headers = { "content-type": "application/json" };
    await this.#http.request("/v1/login", {
      method: "POST",
      headers,
      body: JSON.stringify({ token }),
      ...passed(options),
    });
  }

  /** As `login`, with what stands behind `once=` in a link that logs in. It holds once. */
  async loginOnce(once: string, options: CallOptions = {}): Promise<void> {
    const headers = { "content-type": "application/json" };
    await this.#http.request("/v1/login", {
      method: "POST",
      headers,
      body: JSON.stringify({ once }),
      ...passed(options),
    });
  }

  /**
   * The path of a page that logs a browser in, once, within 10 minutes: as the token of this
   * client, or as the user who runs the server.
   */
  async loginLink(options: CallOptions = {}): Promise<string> {
    const answer = await this.#http.request("/v1/login/links", {
      method: "POST",
      ...passed(options),
    });
    return ((await readJson(answer)) as LoginLink).path;
  }

  async logout(options: CallOptions = {}): Promise<void> {
    await this.#http.request("/v1/logout", { method: "POST", ...passed(options) });
  }

  /**
   * Which server answers: its version, and the id of this run of it (absent in older ones). Says
   * nothing about its database (`/readyz` does).
   */
  health(options: CallOptions = {}): Promise<ServerHealth> {
    return this.#http.get("/healthz", options);
  }

  #turnStream(
    cursor: TurnCursor,
    begin: TurnStreamParts["begin"],
    { signal, onConnection }: TurnOptions,
  ): TurnStream {
    return new TurnStream({
      begin,
      resume: (turnId, lastEventId, turnSignal) =>
        this.#http.request(pathOfTurn(turnId, "stream"), {
          headers: streamHeaders(lastEventId),
          signal: turnSignal,
        }),
      cursor,
      clock: this.#clock,
      ...this.#reconnect,
      onConnection,
      signal,
    });
  }
}

/** Where a browser that is logged in gets a file, on the server. */
export function pathOfFile(fileId: string): string {
  return `/v1/agent/files/${encodeURIComponent(fileId)}`;
}

function pathOfTurn(turn: string, what: "stop" | "retry" | "replay" | "stream"): string {
  return `/v1/agent/turns/${encodeURIComponent(turn)}/${what}`;
}

function formOf(sessionId: string, files: readonly File[]): FormData {
  const form = new FormData();
  form.set("session_id", sessionId);
  for (const file of files) form.append("file", file);
  return form;
}
