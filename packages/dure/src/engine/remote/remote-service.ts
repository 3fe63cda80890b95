import { EventSourceParserStream } from "eventsource-parser/stream";
import { z } from "zod";
import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { isObject, type JsonObject } from "../../kernel/json.ts";
import { durationMs, type Duration } from "../../kernel/duration.ts";
import {
  TURN_EVENT_TYPES,
  type Done,
  type TurnEvent,
  type TurnEventType,
} from "../../kernel/turn-events.ts";
import { fromWire, turnEventFromWire } from "../../kernel/wire.ts";
import type { MemoryOptions } from "../agent/memory.ts";
import type { SessionOptions } from "../service/service.ts";

/**
 * A service on another server: one of dure, whose events, errors and `DONE` pass through unchanged,
 * or an agent that speaks A2A 1.0.
 */
export interface RemoteService {
  readonly kind: "remote";
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly url: string;
  /** Protocol of the other server. */
  readonly protocol: "dure" | "a2a";
  readonly service: string | undefined;
  readonly timeoutMs: number;
  readonly headers: () => Readonly<Record<string, string>>;
  /**
   * How this side's record of the session is folded; the other server keeps its own. Default: that
   * of the team.
   */
  readonly memory?: MemoryOptions | undefined;
  readonly sessions?: SessionOptions | undefined;
}

/**
 * `url` is the other server's address, such as `http://10.0.0.7:4600`; with `protocol: "a2a"` the
 * one under which `/.well-known/agent-card.json` stands. `auth` is sent as a bearer token. Over
 * `timeout` (default 120 s) the turn ends with `REMOTE_TIMEOUT`.
 */
export function remoteService(
  url: string,
  options: {
    name: string;
    protocol?: "dure" | "a2a" | undefined;
    service?: string | undefined;
    auth?: (string | (() => string)) | undefined;
    timeout?: Duration | undefined;
    title?: string | undefined;
    description?: string | undefined;
  },
): RemoteService {
  if (!/^https?:\/\//.test(url)) {
    throw new DureError("SERVICE_INVALID", `"${url}" is no address of a remote service.`, {
      class: "input",
      hint: "Write http://host:port.",
    });
  }
  const { auth } = options;
  return {
    kind: "remote",
    name: options.name,
    version: "remote",
    url: url.replace(/\/+$/, ""),
    protocol: options.protocol ?? "dure",
    service: options.service,
    timeoutMs: durationMs(options.timeout ?? "120s"),
    headers: () =>
      auth === undefined
        ? {}
        : { authorization: `Bearer ${typeof auth === "string" ? auth : auth()}` },
    title: options.title,
    description: options.description,
  };
}

/**
 * Times that a cut stream or a server that drains is asked again, and the first pause before it,
 * milliseconds; it doubles.
 */
const MAX_RECONNECTS = 5;
const FIRST_PAUSE_MS = 100;
/** Time limit of requests outside the turn, such as the list of services, milliseconds. */
const ASIDE_WITHIN_MS = 5_000;

/** What a remote turn needs, and its callbacks. */
export interface RemoteCall {
  /** Makes it the same turn however often it is asked for. */
  readonly key: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Is told the turn's id there. */
  readonly onBegun: (turnId: string) => void;
}

/** How far a turn there has been read. */
interface RemotePosition {
  turnId: string | undefined;
  /** Of the last stored event. */
  lastId: string | undefined;
}

/**
 * One turn there; a cut stream is taken up behind the last stored event. Throws
 * `REMOTE_UNAVAILABLE` or the other server's own problem. An abort leaves the turn running there.
 */
export async function* remoteTurn(
  remote: RemoteService,
  request: RemoteRequest,
  call: RemoteCall,
): AsyncGenerator<TurnEvent, Done> {
  const { clock, signal } = call;
  const position: RemotePosition = { turnId: undefined, lastId: undefined };
  for (let tries = 0; ; tries++) {
    try {
      return yield* readOn(remote, request, position, call);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const isFinal = error instanceof DureError && error.class !== "unavailable";
      if (isFinal) throw error;
      if (tries >= MAX_RECONNECTS) throw asUnreachable(remote, error);
    }
    await clock.sleep(FIRST_PAUSE_MS * 2 ** tries, { signal });
  }
}

/** Sends the request, or takes its stream up again, and reads to `DONE`. */
async function* readOn(
  remote: RemoteService,
  request: RemoteRequest,
  position: RemotePosition,
  call: RemoteCall,
): AsyncGenerator<TurnEvent, Done> {
  const { turnId, lastId } = position;
  const response =
    turnId === undefined || lastId === undefined
      ? await sendThere(remote, request, call.key, call.signal)
      : await fetchAtOrigin(`${remote.url}/v1/agent/turns/${turnId}/stream`, {
          headers: { ...remote.headers(), "last-event-id": lastId },
          signal: call.signal,
        });
  if (!response.ok || !response.body) throw await problemOf(remote, response);
  position.turnId = response.headers.get("turn-id") ?? turnId;
  if (position.turnId !== undefined) call.onBegun(position.turnId);
  const frames = response.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream());
  for await (const frame of frames) {
    if (frame.id) position.lastId = frame.id;
    const type = TURN_EVENT_TYPES.find((known): known is TurnEventType => known === frame.event);
    if (!type) continue;
    const event = turnEventFromWire(type, JSON.parse(frame.data));
    if (event.type === "DONE") return event.data;
    yield event;
  }
  throw new Error("the stream ended before DONE");
}

/** An error of the other server says more than that it cannot be reached. */
function asUnreachable(remote: RemoteService, error: unknown): DureError {
  if (error instanceof DureError) return error;
  return new DureError(
    "REMOTE_UNAVAILABLE",
    `The service ${remote.name} at ${remote.url} cannot be reached: ${messageOf(error)}.`,
    {
      class: "unavailable",
      hint: "Check that the other server runs and that its address is right.",
      cause: error,
    },
  );
}

/** What a person said, as the other server gets it. */
export interface RemoteRequest {
  readonly session: string;
  readonly message: string;
  readonly slots?: JsonObject | undefined;
  readonly confirmId?: string | undefined;
  /** What this side showed the person last, if it is a question of the other service. */
  readonly lastQuestion?: string | null | undefined;
  /** Over A2A: the task that asked the person last. Another one that waits is not gone on with. */
  readonly task?: string | undefined;
  readonly locale: string;
  readonly timeZone: string;
}

/** The same turn there for the same key, whether it has begun or not. */
async function sendThere(
  remote: RemoteService,
  request: RemoteRequest,
  key: string,
  signal: AbortSignal,
): Promise<Response> {
  const body = {
    session_id: request.session,
    message: request.message,
    locale: request.locale,
    time_zone: request.timeZone,
    slots: request.slots,
    confirm_id: request.confirmId,
    last_question: request.lastQuestion,
    service: remote.service,
  };
  return fetchAtOrigin(`${remote.url}/v1/agent/chat/stream`, {
    method: "POST",
    headers: {
      ...remote.headers(),
      "content-type": "application/json",
      accept: "text/event-stream",
      "idempotency-key": key,
    },
    body: JSON.stringify(body),
    signal,
  });
}

/**
 * Ends a turn on the other server for which no reader waits. If its id is not known yet, the
 * message is sent again with its key. A message that had not arrived is stopped once it is stored,
 * so both sides record it as interrupted. A turn that has ended meanwhile answers 409, which
 * changes nothing. Throws where a retry may help.
 */
export async function stopRemoteTurn(
  remote: RemoteService,
  request: RemoteRequest,
  { key, turnId, signal }: { key: string; turnId?: string | undefined; signal: AbortSignal },
): Promise<void> {
  const id = turnId ?? (await turnIdThere(remote, request, key, signal));
  if (id === undefined) return;
  const answer = await fetchAtOrigin(`${remote.url}/v1/agent/turns/${id}/stop`, {
    method: "POST",
    headers: remote.headers(),
    signal,
  });
  await answer.body?.cancel();
  if (mayPass(answer.status)) throw new Error(`HTTP ${answer.status}`);
}

/**
 * Tells the other server that the person has left its question. However often; a server that does
 * not know how hears of it with the session's next message. Throws where a retry may help.
 */
export async function takeBackThere(
  remote: RemoteService,
  session: string,
  question: string,
  signal: AbortSignal,
): Promise<void> {
  const answer = await fetchAtOrigin(`${remote.url}/v1/agent/sessions/${session}/leave`, {
    method: "POST",
    headers: { ...remote.headers(), "content-type": "application/json" },
    body: JSON.stringify({ question }),
    signal,
  });
  await answer.body?.cancel();
  if (mayPass(answer.status)) throw new Error(`HTTP ${answer.status}`);
}

/** Undefined: the message is refused there, so no turn is. */
async function turnIdThere(
  remote: RemoteService,
  request: RemoteRequest,
  key: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const response = await sendThere(remote, request, key, signal);
  await response.body?.cancel();
  if (!response.ok && mayPass(response.status)) throw new Error(`HTTP ${response.status}`);
  return response.headers.get("turn-id") ?? undefined;
}

/** An error in our request is permanent; an error of their server may pass. */
function mayPass(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/**
 * Whether the other service waits in the middle of a flow after this `DONE`: it asked for an
 * approval, or its stage is neither the first nor a last one of those that its server lists. Where
 * that is not known, only a request for approval counts.
 */
export async function isAsking(
  remote: RemoteService,
  done: Done,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  if (done.nextAction === "CONFIRM" || done.nextAction === "ASK_CONTINUE") return true;
  const { stage } = done.stateSnapshot;
  if (done.nextAction !== "ASK" || typeof stage !== "string") return false;
  if (remote.protocol === "a2a") return stage === "TASK_STATE_INPUT_REQUIRED";
  const known = STAGES.get(remote) ?? (await stagesOf(remote, clock, signal));
  if (known === undefined) return false;
  STAGES.set(remote, known);
  return known.initial !== stage && !known.terminal.includes(stage);
}

interface RemoteStages {
  readonly initial: string;
  readonly terminal: readonly string[];
}

/**
 * What was told once; a service changes its stages with a release, and this process its services by
 * a reload.
 */
const STAGES = new WeakMap<RemoteService, RemoteStages>();

async function stagesOf(
  remote: RemoteService,
  clock: Clock,
  signal: AbortSignal,
): Promise<RemoteStages | undefined> {
  try {
    const answer = await aside(clock, signal, (within) =>
      fetchAtOrigin(`${remote.url}/v1/services`, { headers: remote.headers(), signal: within }),
    );
    const { items } = ServicesThere.parse(await answer.json());
    return items.find(({ name, default: isDefault }) =>
      remote.service === undefined ? isDefault : name === remote.service,
    )?.stages;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** What is used of the answer of `/v1/services`. */
const ServicesThere = z.object({
  items: z.array(
    z.object({
      name: z.string(),
      default: z.boolean(),
      stages: z.object({ initial: z.string(), terminal: z.array(z.string()) }).optional(),
    }),
  ),
});

async function aside(
  clock: Clock,
  signal: AbortSignal | undefined,
  ask: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const late = (): DureError =>
    new DureError("REMOTE_TIMEOUT", "The other server did not answer in time.", {
      class: "unavailable",
    });
  return withTimeout(clock, { ms: ASIDE_WITHIN_MS, signal }, late, ask);
}

async function problemOf(remote: RemoteService, response: Response): Promise<DureError> {
  const text = await response.text().catch(() => "");
  let problem: Record<string, unknown> = {};
  try {
    const parsed: unknown = fromWire(JSON.parse(text));
    if (isObject(parsed)) problem = parsed;
  } catch {
    // Not every answer is a problem JSON; the status says enough.
  }
  const code = typeof problem["code"] === "string" ? problem["code"] : "REMOTE_UNAVAILABLE";
  const detail =
    typeof problem["detail"] === "string" ? problem["detail"] : `HTTP ${response.status}`;
  return new DureError(code, `${remote.name}: ${detail}`, {
    class: mayPass(response.status) ? "unavailable" : "input",
    hint: typeof problem["hint"] === "string" ? problem["hint"] : undefined,
  });
}
