import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { Clock } from "dure/client";
import { WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import type { SlackApp } from "./facts.ts";
import { SlackRefusal } from "./facts.ts";

/** How envelopes are told again. Source: docs.slack.dev/apis/events-api, "Error handling". */
export interface Redelivery {
  /** An envelope that is not acknowledged for so long has failed. The platform's: 3 s. */
  readonly ackWithinMs: number;
  /** Waits before it is told again: nearly at once, after a minute, after five. */
  readonly againAfterMs: readonly number[];
}

export const SLACK_REDELIVERY: Redelivery = {
  ackWithinMs: 3000,
  againAfterMs: [0, 60_000, 300_000],
};

interface SocketConnection {
  readonly app: SlackApp;
  readonly socket: WebSocket;
  /** Open, and told nothing more. */
  isSilent: boolean;
}

/** Packets of an app that are kept for tests. */
const KEPT_PACKETS = 1000;

interface Envelope {
  readonly app: SlackApp;
  readonly type: "events_api" | "interactive" | "slash_commands";
  readonly payload: Record<string, unknown>;
  attempt: number;
  /** Where it went last. */
  connection?: SocketConnection | undefined;
  timer?: (() => void) | undefined;
}

/** What a client may say. Source: docs.slack.dev/apis/events-api/using-socket-mode. */
const acknowledgement = z.object({
  envelope_id: z.string(),
  payload: z.record(z.string(), z.unknown()).optional(),
});

/** Source: the same page: "up to 10 open WebSocket connections". */
const MAX_CONNECTIONS = 10;

/** The WebSocket side: tickets, envelopes, acknowledgements, refreshes. */
export class SocketMode {
  readonly #clock: Clock;
  readonly #redelivery: Redelivery;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #tickets = new Map<string, SlackApp>();
  readonly #connections = new Set<SocketConnection>();
  readonly #open = new Map<string, Envelope>();
  readonly #started = new Map<string, number>();
  /** Connections of an app that shall get no hello. */
  readonly #withheld = new Map<string, number>();
  /** Envelopes that were acknowledged, by their payload's event id; for tests. */
  readonly acknowledged: string[] = [];
  /** Envelopes as they were told, each time, by their payload's event id; for tests. */
  readonly told: string[] = [];
  /** What was sent to each app, without what tests sent as it stands; bounded, oldest out. */
  readonly #sent = new Map<string, unknown[]>();
  /** What clients said that is no acknowledgement. */
  readonly wrong: string[] = [];
  #turn = 0;
  #isOut = false;

  constructor(server: Server, parts: { clock: Clock; redelivery: Redelivery }) {
    this.#clock = parts.clock;
    this.#redelivery = parts.redelivery;

    server.on("upgrade", (request, socket, head) => {
      const ticket = new URL(request.url ?? "/", "http://fake.invalid").searchParams.get("ticket");
      const app = this.#tickets.get(ticket ?? "");

      if (!app || this.#isOut) {
        socket.destroy();
        return;
      }

      this.#tickets.delete(ticket!); // an address is good for one connection
      this.#sockets.handleUpgrade(request, socket, head, (opened) => this.#accept(app, opened));
    });
  }

  /** A new address. Source: docs.slack.dev/reference/methods/apps.connections.open. */
  ticket(app: SlackApp): string {
    if (this.connectionsOf(app).length >= MAX_CONNECTIONS) {
      throw new SlackRefusal("too_many_websockets");
    }

    const ticket = randomUUID();
    this.#tickets.set(ticket, app);

    return ticket;
  }

  connectionsOf(app: SlackApp): readonly SocketConnection[] {
    return [...this.#connections].filter((connection) => connection.app === app);
  }

  /** Envelopes that are not acknowledged and will be told again. */
  get waiting(): number {
    return this.#open.size;
  }

  /** Connections that an app has had. */
  started(app: SlackApp): number {
    return this.#started.get(app.appId) ?? 0;
  }

  /** What an app's connections were sent, oldest first. */
  sentTo(app: SlackApp): readonly unknown[] {
    return this.#sent.get(app.appId) ?? [];
  }

  /** Without a connection it is lost. Each connection may get any envelope: they take turns. */
  send(app: SlackApp, type: Envelope["type"], payload: Record<string, unknown>): void {
    if (this.#isOut) return;

    const id = randomUUID();
    const envelope: Envelope = { app, type, payload, attempt: 0 };
    this.#open.set(id, envelope);
    this.#deliver(id, envelope);
  }

  /** Whatever a test wants a client to get. */
  sendRaw(app: SlackApp, text: string): void {
    for (const { socket } of this.connectionsOf(app)) socket.send(text);
  }

  /** Source: using-socket-mode, "Disconnecting": `warning`, `refresh_requested`, `link_disabled`. */
  refresh(app: SlackApp, reason: string): void {
    for (const { socket } of this.connectionsOf(app)) {
      socket.send(JSON.stringify({ type: "disconnect", reason, debug_info: { host: "fake" } }));
    }
  }

  /** The connections of an app stay open and say nothing more. A frozen one answers no ping. */
  silence(app: SlackApp, isFrozen: boolean): void {
    for (const connection of this.connectionsOf(app)) {
      connection.isSilent = true;
      if (isFrozen) connection.socket.pause();
    }
  }

  /** Its next connections open and say nothing at all. */
  withholdHello(app: SlackApp, times: number): void {
    this.#withheld.set(app.appId, times);
  }

  /** Every connection is cut, and what happens is told to no app, also not later. */
  setOutage(isOut: boolean): void {
    this.#isOut = isOut;
    if (!isOut) return;

    for (const { timer } of this.#open.values()) timer?.();
    this.#open.clear();
    for (const { socket } of this.#connections) socket.terminate();
  }

  /** Cuts the connections of an app. */
  cut(app: SlackApp): void {
    for (const { socket } of this.connectionsOf(app)) socket.terminate();
  }

  stop(): void {
    for (const { timer } of this.#open.values()) timer?.();
    this.#open.clear();
    for (const { socket } of this.#connections) socket.terminate();
    this.#sockets.close();
  }

  #accept(app: SlackApp, socket: WebSocket): void {
    // A paused socket does not see that its client has left.
    for (const { socket: old } of this.connectionsOf(app)) if (old.isPaused) old.terminate();
    const withheld = this.#withheld.get(app.appId) ?? 0;
    this.#withheld.set(app.appId, Math.max(0, withheld - 1));
    const connection: SocketConnection = { app, socket, isSilent: withheld > 0 };
    this.#connections.add(connection);
    this.#started.set(app.appId, this.started(app) + 1);
    socket.on("message", (data: Buffer) => this.#hear(data.toString("utf8")));
    socket.on("error", () => socket.terminate());
    socket.on("close", () => this.#closed(connection));

    const hello = {
      type: "hello",
      num_connections: this.connectionsOf(app).length,
      connection_info: { app_id: app.appId },
      debug_info: { host: "fake", approximate_connection_time: 18_060 },
    };

    this.#say(connection, hello);
  }

  /** What it had not acknowledged goes to another one, or is lost with its retries. */
  #closed(connection: SocketConnection): void {
    this.#connections.delete(connection);
    for (const [id, envelope] of this.#open) {
      if (envelope.connection === connection) this.#again(id, envelope, "connection_closed");
    }
  }

  #hear(text: string): void {
    const said = acknowledgement.safeParse(parsed(text));
    const envelope = said.success ? this.#open.get(said.data.envelope_id) : undefined;

    if (!said.success || !envelope) {
      if (!said.success) this.wrong.push(text);
      return;
    }

    envelope.timer?.();
    this.#open.delete(said.data.envelope_id);
    this.acknowledged.push(eventIdOf(envelope));
  }

  #deliver(id: string, envelope: Envelope, reason = ""): void {
    const connections = this.connectionsOf(envelope.app).filter(
      ({ socket }) => socket.readyState === WebSocket.OPEN,
    );
    const connection = connections[(this.#turn += 1) % Math.max(1, connections.length)];
    envelope.connection = connection;
    if (!connection) return this.#again(id, envelope, "no_connection");

    if (!connection.isSilent) this.told.push(eventIdOf(envelope));

    this.#say(connection, {
      envelope_id: id,
      type: envelope.type,
      accepts_response_payload: envelope.type !== "events_api",
      payload: envelope.payload,
      retry_attempt: envelope.type === "events_api" ? envelope.attempt : undefined,
      retry_reason: envelope.type === "events_api" ? reason : undefined,
    });

    envelope.timer = this.#clock.after(this.#redelivery.ackWithinMs, () =>
      this.#again(id, envelope, "timeout"),
    );
  }

  #say(connection: SocketConnection, packet: Readonly<Record<string, unknown>>): void {
    const { app, socket, isSilent } = connection;
    if (isSilent) return;
    const sent = [...this.sentTo(app), packet];
    this.#sent.set(app.appId, sent.slice(-KEPT_PACKETS));
    socket.send(JSON.stringify(packet));
  }

  /** Interactions are told once. */
  #again(id: string, envelope: Envelope, reason: string): void {
    envelope.timer?.();
    envelope.connection = undefined;
    const waitMs = this.#redelivery.againAfterMs[envelope.attempt];

    if (waitMs === undefined || envelope.type !== "events_api") {
      this.#open.delete(id);
      return;
    }

    envelope.attempt += 1;
    envelope.timer = this.#clock.after(waitMs, () => this.#deliver(id, envelope, reason));
  }
}

function eventIdOf({ payload, type }: Envelope): string {
  const id = payload["event_id"];
  return typeof id === "string" ? id : type;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
