import { once } from "node:events";
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type Server,
} from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { bodyTooSlow } from "./body.ts";
import type { Principal } from "./access.ts";
import { MemorySocket } from "./memory-socket.ts";
import { problemOf } from "./problem.ts";

export interface WebHandlerOptions {
  /** It need not listen. */
  readonly server: Server;
  /** Between two pieces of a body, milliseconds. */
  readonly bodyIdleMs: number;
  readonly clock: Clock;
}

/**
 * Answers web-standard requests as the server's port does. Each goes through the server's own HTTP,
 * over a connection in memory: guard, limits, audit and streams are the same.
 */
export class WebHandler {
  readonly #server: Server;
  readonly #bodyIdleMs: number;
  readonly #clock: Clock;
  readonly #open = new Set<MemorySocket>();
  #idle: PromiseWithResolvers<void> | undefined;

  constructor({ server, bodyIdleMs, clock }: WebHandlerOptions) {
    this.#server = server;
    this.#bodyIdleMs = bodyIdleMs;
    this.#clock = clock;
  }

  /**
   * Resolves with the head of the answer; its body follows as it is read. An abort of the request's
   * signal ends the connection: `fetch` rejects, or the body breaks, with its reason.
   * @param asks Who asks, where a route of the server asks on; else the request shows it.
   * @throws CONNECTION_CUT
   */
  async fetch(request: Request, asks?: Principal): Promise<Response> {
    request.signal.throwIfAborted();
    if (request.bodyUsed) throw new TypeError("The body of this request was read already.");

    const sent = this.#send(request, asks);
    const body = this.#sendBody(request, sent);

    return Promise.race([answerTo(request, sent), whenRefused(body, sent)]);
  }

  /** Resolves when no connection is open any more. */
  async settled(): Promise<void> {
    if (this.#open.size === 0) return;
    await (this.#idle ??= Promise.withResolvers<void>()).promise;
  }

  /** Ends all connections at once. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }

  /** Sends the head. */
  #send(request: Request, asks: Principal | undefined): ClientRequest {
    const { pathname, search } = new URL(request.url);

    return httpRequest({
      createConnection: () => this.#connect(asks),
      setHost: false,
      method: request.method,
      path: pathname + search,
      headers: headersToSend(request),
    });
  }

  #connect(asks: Principal | undefined): MemorySocket {
    const [mine, servers] = MemorySocket.pair(asks);
    this.#open.add(servers);
    servers.once("close", () => this.#closed(servers));
    this.#server.emit("connection", servers);

    return mine;
  }

  #closed(socket: MemorySocket): void {
    this.#open.delete(socket);
    if (this.#open.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  /** @throws REQUEST_TOO_SLOW, and what the body broke with */
  async #sendBody({ body }: Request, sent: ClientRequest): Promise<void> {
    if (body === null) return void sent.end();

    const pieces = Readable.fromWeb(body as NodeStream);
    const late = (): void => void pieces.destroy(bodyTooSlow(this.#bodyIdleMs));
    const closed = closedSignal(sent);
    closed.addEventListener("abort", () => pieces.destroy(), { once: true });
    let cancel = this.#clock.after(this.#bodyIdleMs, late);

    try {
      for await (const piece of pieces) {
        cancel();
        if (!sent.write(piece)) await once(sent, "drain", { signal: closed });
        cancel = this.#clock.after(this.#bodyIdleMs, late);
      }
      sent.end();
    } finally {
      cancel();
    }
  }
}

/**
 * Of one connection, or of the framing of a body: the connection in memory has its own. Source: RFC
 * 9110 §7.6.1.
 */
const OF_A_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Pure. */
function headersToSend({ url, headers, body }: Request): Record<string, string> {
  const given = [...headers].filter(([name]) => !OF_A_CONNECTION.has(name));
  const fields = { host: new URL(url).host, ...Object.fromEntries(given) };

  return body === null ? fields : { ...fields, "transfer-encoding": "chunked" };
}

/** @throws CONNECTION_CUT, and the reason of the request's signal */
function answerTo(request: Request, sent: ClientRequest): Promise<Response> {
  const { method, signal } = request;
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  let message: IncomingMessage | undefined;

  const gone = (): void => {
    // Of the request: its signal alone hears of no abort once the request is collected.
    const reason: unknown = request.signal.reason;
    const error = reason instanceof Error ? reason : new DOMException(String(reason), "AbortError");
    reject(error);
    (message ?? sent).destroy(error);
  };

  signal.addEventListener("abort", gone, { once: true });
  sent.once("close", () => signal.removeEventListener("abort", gone));
  sent.on("error", (cause) => reject(connectionCut(cause)));
  sent.once("response", (answer) => {
    message = answer;
    resolve(responseOf(answer, method));
  });

  return promise;
}

/** Statuses of answers without a body. Source: Fetch, null body status. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(message: IncomingMessage, method: string): Response {
  const headers = new Headers();
  for (let at = 0; at < message.rawHeaders.length; at += 2) {
    const [name = "", value = ""] = message.rawHeaders.slice(at, at + 2);
    if (!OF_A_CONNECTION.has(name.toLowerCase())) headers.append(name, value);
  }

  const length = message.headers["content-length"];
  if (length !== undefined) headers.set("content-length", length);

  const status = message.statusCode!;
  const hasBody = method !== "HEAD" && !WITHOUT_BODY.has(status);
  if (!hasBody) message.resume();
  const body = hasBody ? (Readable.toWeb(message) as ReadableStream<Uint8Array>) : null;

  return new Response(body, { status, headers });
}

/** A body that comes too slowly is answered; one that breaks rejects. */
async function whenRefused(body: Promise<void>, sent: ClientRequest): Promise<Response> {
  try {
    await body;
  } catch (error) {
    sent.destroy();
    if (!(error instanceof DureError)) throw error;
    const problem = problemOf(error);
    const headers = { "content-type": "application/problem+json" };

    return new Response(JSON.stringify(problem), { status: problem.status, headers });
  }

  // The answer decides.
  return new Promise<Response>(() => {});
}

function closedSignal(sent: ClientRequest): AbortSignal {
  const controller = new AbortController();
  sent.once("close", () => controller.abort());

  return controller.signal;
}

function connectionCut(cause: Error): DureError {
  return new DureError("CONNECTION_CUT", "The server ended the request without an answer.", {
    class: "unavailable",
    hint: "Send it again: a stopping server hands its work to the next.",
    cause,
  });
}
