import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { countedAs } from "./access.ts";
import { isLoopbackAddress } from "./names.ts";
import type { ServerBounds } from "./bounds.ts";

/** Who opens a stream. */
export interface StreamReader {
  readonly address: string;
  /** Of the token that was shown; undefined without one. */
  readonly token: string | undefined;
}

/**
 * A refused connection gets this long for its request and the refusal, milliseconds; then it is
 * closed.
 */
const REFUSED_MS = 1_000;
/**
 * Refused connections that may be open beside the allowed ones. Beyond, the system closes new ones
 * without a word.
 */
const MAX_REFUSED = 500;

/**
 * Counts connections and streams, and refuses those above the limits. A refused connection hears
 * why as the answer to its first request.
 */
export class Connections {
  readonly #limits: ServerBounds;
  readonly #clock: Clock;
  readonly #isProxy: (address: string) => boolean;
  readonly #sockets = new Count();
  readonly #streamsOfAddress = new Count();
  readonly #streamsOfToken = new Count();
  readonly #refused = new WeakMap<Socket, DureError>();

  constructor({
    limits,
    clock,
    isProxy,
  }: {
    limits: ServerBounds;
    clock: Clock;
    isProxy: (address: string) => boolean;
  }) {
    this.#limits = limits;
    this.#clock = clock;
    this.#isProxy = isProxy;
  }

  watch(server: Server): void {
    server.maxConnections = this.#limits.connections + MAX_REFUSED;
    server.on("connection", (socket: Socket) => this.#opened(socket));
  }

  /**
   * Throws `CONNECTIONS_FULL` or `CONNECTIONS_PER_ADDRESS` when the connection of a request is one
   * too many.
   */
  assertAllowed(request: IncomingMessage): void {
    const refusal = this.#refused.get(request.socket);
    if (refusal) throw refusal;
  }

  /**
   * Counts a stream until its response closes. Throws `STREAMS_FULL`, `STREAMS_PER_TOKEN`,
   * `STREAMS_PER_ADDRESS`.
   */
  openStream({ address, token }: StreamReader, response: ServerResponse): void {
    const { streams, streamsPerToken, streamsPerAddress, streamsPerLoopback } = this.#limits;
    const counted = countedAs(address);
    const ofAddress = isLoopbackAddress(address) ? streamsPerLoopback : streamsPerAddress;
    if (this.#streamsOfAddress.total >= streams) throw streamsFull(streams);
    if (token !== undefined && this.#streamsOfToken.of(token) >= streamsPerToken) {
      throw tooManyStreams("STREAMS_PER_TOKEN", "this token", streamsPerToken);
    }
    if (this.#streamsOfAddress.of(counted) >= ofAddress) {
      throw tooManyStreams("STREAMS_PER_ADDRESS", "this address", ofAddress);
    }

    const leaveAddress = this.#streamsOfAddress.add(counted);
    const leaveToken = token === undefined ? () => {} : this.#streamsOfToken.add(token);

    response.once("close", () => {
      leaveAddress();
      leaveToken();
    });
  }

  #opened(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    const refusal = this.#whyRefused(address);

    if (refusal === undefined) {
      const leave = this.#sockets.add(countedAs(address));
      socket.once("close", leave);
      return;
    }

    this.#refused.set(socket, refusal);
    const cancel = this.#clock.after(REFUSED_MS, () => socket.destroy());
    socket.once("close", cancel);
  }

  #whyRefused(address: string): DureError | undefined {
    const { connections, connectionsPerAddress, connectionsPerLoopback } = this.#limits;
    if (this.#sockets.total >= connections) return connectionsFull(connections);
    if (this.#isProxy(address)) return undefined;

    const most = isLoopbackAddress(address) ? connectionsPerLoopback : connectionsPerAddress;

    return this.#sockets.of(countedAs(address)) >= most ? tooManyConnections(most) : undefined;
  }
}

/** How many there are, by a key and in all. */
class Count {
  readonly #byKey = new Map<string, number>();
  total = 0;

  of(key: string): number {
    return this.#byKey.get(key) ?? 0;
  }

  /** Returns how to take it out again, once. */
  add(key: string): () => void {
    this.total += 1;
    this.#byKey.set(key, this.of(key) + 1);

    return () => {
      this.total -= 1;
      if (this.of(key) > 1) this.#byKey.set(key, this.of(key) - 1);
      else this.#byKey.delete(key);
    };
  }
}

function connectionsFull(most: number): DureError {
  return new DureError("CONNECTIONS_FULL", `The server holds ${most} connections already.`, {
    class: "unavailable",
    hint: "Try again in some seconds; the operator can raise server.limits.connections.",
    details: { retryAfterMs: 5_000 },
  });
}

function tooManyConnections(most: number): DureError {
  return new DureError(
    "CONNECTIONS_PER_ADDRESS",
    `This address holds ${most} connections already.`,
    {
      class: "limit",
      hint: "Close some, or use them for several requests one after the other.",
      details: { retryAfterMs: 5_000 },
    },
  );
}

function streamsFull(most: number): DureError {
  return new DureError("STREAMS_FULL", `The server sends ${most} streams already.`, {
    class: "unavailable",
    hint: "Try again in some seconds; the operator can raise server.limits.streams.",
    details: { retryAfterMs: 5_000 },
  });
}

function tooManyStreams(
  code: "STREAMS_PER_TOKEN" | "STREAMS_PER_ADDRESS",
  whose: string,
  most: number,
): DureError {
  return new DureError(
    code,
    `${whose === "this token" ? "This token" : "This address"} reads ${most} streams already.`,
    {
      class: "limit",
      hint: "Close some; one stream of /v1/events tells of everything.",
      details: { retryAfterMs: 5_000 },
    },
  );
}
