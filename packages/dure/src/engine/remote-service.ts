import { EventSourceParserStream } from "eventsource-parser/stream";
import { DureError, messageOf } from "../kernel/errors.ts";
import { isObject, type JsonObject } from "../kernel/json.ts";
import { durationMs, type Duration } from "../kernel/duration.ts";
import { TURN_EVENT_TYPES, type Done, type TurnEvent, type TurnEventType } from "../kernel/turn-events.ts";
import { fromWire, turnEventFromWire } from "../kernel/wire.ts";

/** A service on another server: one of dure, whose events, errors and `DONE` pass through unchanged, or an agent that speaks A2A 1.0. */
export interface RemoteService {
  readonly kind: "remote";
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly url: string;
  /** What the other server speaks. */
  readonly protocol: "dure" | "a2a";
  readonly service: string | undefined;
  readonly timeoutMs: number;
  readonly headers: () => Readonly<Record<string, string>>;
  readonly sessions?: { readonly busy?: "queue" | "reject" | "interrupt" | "merge" };
}

/**
 * `url` is the other server's address, such as `http://10.0.0.7:4600`; with `protocol: "a2a"` the one under which
 * `/.well-known/agent-card.json` stands. `auth` is sent as a bearer token.
 * Over `timeout` (default 120 s, our choice) the turn ends with `REMOTE_TIMEOUT`.
 */
export function remoteService(
  url: string,
  options: { name: string; protocol?: "dure" | "a2a"; service?: string; auth?: string | (() => string); timeout?: Duration; title?: string; description?: string },
): RemoteService {
  if (!/^https?:\/\//.test(url)) {
    throw new DureError("SERVICE_INVALID", `"${url}" is no address of a remote service.`, { class: "input", hint: "Write http://host:port." });
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
    headers: () => (auth === undefined ? {} : { authorization: `Bearer ${typeof auth === "string" ? auth : auth()}` }),
    ...(options.title !== undefined && { title: options.title }),
    ...(options.description !== undefined && { description: options.description }),
  };
}

/** Times that a cut stream is taken up again. Source: our choice. */
const RECONNECTS_MOST = 5;

/**
 * One turn there. `key` makes it the same turn however often it is asked for; a cut stream is taken up behind the last
 * stored event. Throws `REMOTE_UNAVAILABLE` or the other server's own problem.
 */
export async function* remoteTurn(
  remote: RemoteService,
  request: { session: string; message: string; slots?: JsonObject | undefined; confirmId?: string | undefined; locale: string; timeZone: string },
  options: { key: string; signal: AbortSignal },
): AsyncGenerator<TurnEvent, Done> {
  const { key, signal } = options;
  const body = JSON.stringify({
    session_id: request.session,
    message: request.message,
    locale: request.locale,
    time_zone: request.timeZone,
    ...(request.slots && { slots: request.slots }),
    ...(request.confirmId !== undefined && { confirm_id: request.confirmId }),
    ...(remote.service !== undefined && { service: remote.service }),
  });
  let turnId: string | undefined;
  let lastId: string | undefined;
  for (let tries = 0; ; tries++) {
    try {
      const response =
        turnId === undefined || lastId === undefined
          ? await fetch(`${remote.url}/v1/agent/chat/stream`, {
              method: "POST",
              headers: { ...remote.headers(), "content-type": "application/json", accept: "text/event-stream", "idempotency-key": key },
              body,
              signal,
            })
          : await fetch(`${remote.url}/v1/agent/turns/${turnId}/stream`, { headers: { ...remote.headers(), "last-event-id": lastId }, signal });
      if (!response.ok || !response.body) throw await problemOf(remote, response);
      turnId = response.headers.get("turn-id") ?? turnId;
      const frames = response.body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).pipeThrough(new EventSourceParserStream());
      for await (const frame of frames) {
        if (frame.id) lastId = frame.id;
        const type = TURN_EVENT_TYPES.find((known): known is TurnEventType => known === frame.event);
        if (!type) continue;
        const event = turnEventFromWire(type, JSON.parse(frame.data));
        if (event.type === "DONE") return event.data;
        yield event;
      }
      throw new Error("the stream ended before DONE");
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DureError) throw error;
      if (tries >= RECONNECTS_MOST) {
        throw new DureError("REMOTE_UNAVAILABLE", `The service ${remote.name} at ${remote.url} cannot be reached: ${messageOf(error)}.`, {
          class: "unavailable",
          hint: "Check that the other server runs and that its address is right.",
          cause: error,
        });
      }
    }
  }
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
  const detail = typeof problem["detail"] === "string" ? problem["detail"] : `HTTP ${response.status}`;
  return new DureError(code, `${remote.name}: ${detail}`, {
    class: response.status >= 500 ? "unavailable" : "input",
    ...(typeof problem["hint"] === "string" && { hint: problem["hint"] }),
  });
}
