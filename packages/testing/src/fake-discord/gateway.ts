import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { z } from "zod";
import type { Clock } from "dure/client";
import type { BotAccount, Bots } from "./bots.ts";
import { guildPayload, userPayload } from "./payloads.ts";
import type { World } from "./world.ts";
import type { Guild, WorldEvent } from "./world-facts.ts";

/** Source: "Gateway: List of Intents". */
const INTENTS = {
  GUILDS: 1 << 0,
  GUILD_MEMBERS: 1 << 1,
  GUILD_PRESENCES: 1 << 8,
  GUILD_MESSAGES: 1 << 9,
  GUILD_MESSAGE_REACTIONS: 1 << 10,
  DIRECT_MESSAGES: 1 << 12,
  MESSAGE_CONTENT: 1 << 15,
} as const;

/** The highest intent that exists is 1 << 25; anything else is 4013. */
const ALL_INTENTS = 2 ** 26 - 1;

/** Source: "Opcodes and Status Codes: Gateway Opcodes". */
const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  presence: 3,
  voice: 4,
  resume: 6,
  reconnect: 7,
  members: 8,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/** Source: "Opcodes and Status Codes: Gateway Close Event Codes". */
const CLOSE = {
  unknownError: 4000,
  unknownOpcode: 4001,
  decodeError: 4002,
  notAuthenticated: 4003,
  authenticationFailed: 4004,
  alreadyAuthenticated: 4005,
  invalidSeq: 4007,
  rateLimited: 4008,
  sessionTimedOut: 4009,
  invalidShard: 4010,
  invalidApiVersion: 4012,
  invalidIntents: 4013,
  disallowedIntents: 4014,
} as const;

/** Source: "Gateway: Rate Limiting": 120 events per connection and 60 seconds. */
const SENDS = { limit: 120, perMs: 60_000 };
/** Source: "Gateway: Sending Events": a payload has at most 4,096 bytes. */
const LARGEST_PAYLOAD = 4096;
/** Events that are kept for a resume. The platform tells no number. */
const KEPT_EVENTS = 1000;
/** Sessions of a bot that wait for a resume. */
const KEPT_SESSIONS = 5;

export interface GatewayOptions {
  readonly clock: Clock;
  readonly world: World;
  readonly bots: Bots;
  readonly url: () => string;
  readonly heartbeatIntervalMs: number;
  /** Identifies that a bot may do in `identifyWindowMs`. */
  readonly maxConcurrency: number;
  readonly identifyWindowMs: number;
  readonly guildsAfterMs: number;
  readonly sessionStarts: { readonly total: number; readonly perMs: number };
  readonly changed: () => void;
}

const payloadForm = z.looseObject({ op: z.number().int(), d: z.unknown() });
const identifyForm = z.looseObject({
  token: z.string(),
  properties: z.looseObject({}),
  intents: z.number().int().min(0),
  shard: z.tuple([z.number().int(), z.number().int()]).optional(),
  compress: z.boolean().optional(),
});
const resumeForm = z.looseObject({
  token: z.string(),
  session_id: z.string(),
  seq: z.number().int(),
});

/**
 * How a connection ends early. `never`: it does not end, and nothing comes. Source of the default,
 * 4000: "Gateway Close Event Codes".
 */
export type GatewayEnding =
  | { readonly when: "before HELLO"; readonly code?: number | "never" }
  | { readonly when: "after READY"; readonly code?: number };

/** What the gateway sends. Source: "Gateway Events: Payload Structure". */
export interface GatewayPacket {
  readonly op: number;
  readonly t?: string | null;
  readonly s?: number | null;
  readonly d?: unknown;
}

/** What is sent in place of a packet: another one, a text that may be none, or nothing. */
export type AlterPacket = (packet: GatewayPacket) => unknown;

/** A bot's stream of events; lives longer than the connection that carries it. */
interface FakeGatewaySession {
  readonly id: string;
  readonly bot: BotAccount;
  readonly intents: number;
  readonly events: { readonly seq: number; readonly type: string; readonly text: string }[];
  seq: number;
  connection: Connection | undefined;
}

/**
 * The gateway, version 10, JSON, without compression: hello → identify or resume → events, with
 * heartbeats throughout. Source: "Gateway". A session survives a lost connection and replays what
 * was missed; it ends when the client closes with 1000 or 1001, when its token is revoked, or when
 * a test says so.
 */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: 1024 * 1024 });
  readonly #sessions = new Map<string, FakeGatewaySession>();
  readonly #connections = new Set<Connection>();
  readonly #identifies = new Map<string, number[]>();
  readonly #losing = new Set<string>();
  readonly #days = new Map<string, { endsAt: number; used: number }>();
  readonly #endings: GatewayEnding[] = [];
  #alter: AlterPacket | undefined;
  readonly #duplicating = new Set<string>();

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const version = new URL(request.url ?? "/", "http://fake.invalid").searchParams.get("v");
      if (version !== "10") return webSocket.close(CLOSE.invalidApiVersion, "Invalid API version.");
      this.#connections.add(new Connection(webSocket, this, this.#options));
    });
  }

  /**
   * Hands an event to each session that may know of it; also to those without a connection, for
   * their resume.
   */
  publish(event: WorldEvent): void {
    for (const session of this.#sessions.values()) {
      const { bot, intents } = session;
      const isWanted =
        event.intents.length === 0 ||
        event.intents.some((intent) => (intents & INTENTS[intent]) !== 0);
      if (!isWanted || !event.reaches(bot.user)) continue;
      if (this.#losing.has(bot.user.id)) continue;
      const data = event.data({
        bot: bot.user,
        content: (intents & INTENTS.MESSAGE_CONTENT) !== 0,
      });
      this.#dispatch(session, event.type, data);
      if (this.#duplicating.delete(bot.user.id)) this.#dispatch(session, event.type, data);
    }
    this.#options.changed();
  }

  /** Source: "Gateway: Session Start Limit Object". */
  sessionStarts(bot: BotAccount): {
    total: number;
    remaining: number;
    reset_after: number;
    max_concurrency: number;
  } {
    const { clock, sessionStarts, maxConcurrency } = this.#options;
    const day = this.#dayOf(bot);

    return {
      total: sessionStarts.total,
      remaining: Math.max(0, sessionStarts.total - day.used),
      reset_after: Math.max(0, day.endsAt - clock.now()),
      max_concurrency: maxConcurrency,
    };
  }

  /** Uses up session starts of a bot, as another program with its token does. */
  useSessionStarts(bot: BotAccount, count: number): void {
    this.#dayOf(bot).used += count;
  }

  /** The next connections end in this way; the one that was armed first is first. */
  endNext(how: GatewayEnding, times: number): void {
    this.#endings.push(...Array.from({ length: times }, () => how));
  }

  /** How a connection that has come this far ends; undefined: it goes on. */
  endingAt(moment: GatewayEnding["when"]): GatewayEnding | undefined {
    return this.#endings[0]?.when === moment ? this.#endings.shift() : undefined;
  }

  isConnected(bot: BotAccount): boolean {
    return this.#sessionsOf(bot).some((session) => session.connection !== undefined);
  }

  /** How often this bot has identified. */
  identifiesOf(bot: BotAccount): number {
    return this.#identifies.get(bot.user.id)?.length ?? 0;
  }

  /**
   * Cuts a bot's connections; `resumable: false` also forgets its sessions, so that a resume is
   * refused.
   */
  drop(bot: BotAccount, { resumable }: { resumable: boolean }): void {
    for (const session of this.#sessionsOf(bot)) {
      if (!resumable) this.#sessions.delete(session.id);
      session.connection?.cut();
    }
    this.#options.changed();
  }

  /** Source: close code 4004; a reset token ends its sessions. */
  revoke(bot: BotAccount): void {
    bot.token = undefined;
    for (const session of this.#sessionsOf(bot)) {
      this.#sessions.delete(session.id);
      session.connection?.close(CLOSE.authenticationFailed, "Authentication failed.");
    }
  }

  lose(bot: BotAccount, on: boolean): void {
    if (on) this.#losing.add(bot.user.id);
    else this.#losing.delete(bot.user.id);
  }

  duplicateNext(bot: BotAccount): void {
    this.#duplicating.add(bot.user.id);
  }

  /** From now on every packet leaves as this makes it; undefined: as it is. */
  alter(alter: AlterPacket | undefined): void {
    this.#alter = alter;
  }

  /** Events that are kept of a bot's sessions, oldest first. */
  eventsOf(bot: BotAccount): readonly { readonly type: string; readonly data: unknown }[] {
    return this.#sessionsOf(bot).flatMap(({ events }) =>
      events.map(({ type, text }) => ({ type, data: (JSON.parse(text) as { d: unknown }).d })),
    );
  }

  /** Hands a bot an event that did not happen. */
  send(bot: BotAccount, type: string, data: unknown): void {
    for (const session of this.#sessionsOf(bot)) this.#dispatch(session, type, data);
  }

  stop(): void {
    for (const connection of this.#connections) connection.cut();
    this.#server.close();
  }

  // ── Called by a connection
  // ────────────────────────────────────────────────────────────────────────

  /** A packet as it leaves; undefined: it does not. */
  altered(text: string): string | undefined {
    if (this.#alter === undefined) return text;
    const packet = this.#alter(JSON.parse(text) as GatewayPacket);

    return packet === undefined || typeof packet === "string" ? packet : JSON.stringify(packet);
  }

  /** Source: "Gateway: Identifying", "Max Concurrency" and close codes 4004, 4010, 4013, 4014. */
  identify(connection: Connection, data: unknown): void {
    const form = identifyForm.safeParse(data);
    if (!form.success) return connection.close(CLOSE.decodeError, "Error while decoding payload.");

    const { token, intents, shard } = form.data;
    const bot = this.#options.bots.byToken(token);
    if (bot === undefined) {
      return connection.close(CLOSE.authenticationFailed, "Authentication failed.");
    }
    if (intents > ALL_INTENTS) return connection.close(CLOSE.invalidIntents, "Invalid intent(s).");
    if ((intents & refusedIntents(bot)) !== 0) {
      return connection.close(CLOSE.disallowedIntents, "Disallowed intent(s).");
    }
    if (shard !== undefined && (shard[0] !== 0 || shard[1] !== 1)) {
      return connection.close(CLOSE.invalidShard, "Invalid shard.");
    }
    if (!this.#mayIdentify(bot)) return connection.send({ op: OP.invalidSession, d: false });
    if (this.#usesUpLast(bot)) return this.revoke(bot);

    const session: FakeGatewaySession = {
      id: `session-${this.#options.world.snowflake()}`,
      bot,
      intents,
      events: [],
      seq: 0,
      connection,
    };

    // Two sessions of one bot may live beside each other, and both are told everything; those that
    // no client resumes are forgotten.
    const left = this.#sessionsOf(bot).filter((other) => other.connection === undefined);
    for (const other of left.slice(0, Math.max(0, left.length - KEPT_SESSIONS))) {
      this.#sessions.delete(other.id);
    }
    this.#sessions.set(session.id, session);
    connection.session = session;
    this.#welcome(session);
    const ending = this.endingAt("after READY");

    if (ending !== undefined) {
      this.#sessions.delete(session.id);
      connection.close(Number(ending.code ?? CLOSE.unknownError), "Unknown error.");
    }

    this.#options.changed();
  }

  /**
   * Source: "Gateway: Resuming": the missed events in order, then RESUMED; else Invalid Session.
   */
  resume(connection: Connection, data: unknown): void {
    const form = resumeForm.safeParse(data);
    if (!form.success) return connection.close(CLOSE.decodeError, "Error while decoding payload.");

    const { token, session_id, seq } = form.data;
    if (this.#options.bots.byToken(token) === undefined) {
      return connection.close(CLOSE.authenticationFailed, "Authentication failed.");
    }

    const session = this.#sessions.get(session_id);
    const oldest = session?.events[0]?.seq ?? (session === undefined ? 0 : session.seq + 1);
    if (session === undefined || session.bot.token !== token || seq + 1 < oldest) {
      return connection.send({ op: OP.invalidSession, d: false });
    }
    if (seq > session.seq) return connection.close(CLOSE.invalidSeq, "Invalid seq.");

    session.connection?.cut();
    session.connection = connection;
    connection.session = session;
    for (const event of session.events) if (event.seq > seq) connection.sendText(event.text);
    this.#dispatch(session, "RESUMED", {});
    this.#options.changed();
  }

  /** A client that says goodbye ends its session. Source: "Gateway: Initiating a Disconnect". */
  closed(connection: Connection, code: number): void {
    this.#connections.delete(connection);
    const { session } = connection;
    if (session === undefined || session.connection !== connection) return;

    session.connection = undefined;
    if (code === 1000 || code === 1001) this.#sessions.delete(session.id);
    this.#options.changed();
  }

  // ── Steps
  // ────────────────────────────────────────────────────────────────────────

  /**
   * Source: "Gateway Events: Ready": guilds come as unavailable, then each as GUILD_CREATE, in the
   * platform's own time.
   */
  #welcome(session: FakeGatewaySession): void {
    const { world, url, clock, guildsAfterMs } = this.#options;
    const { bot } = session;
    const guilds = [...world.guilds.values()].filter((guild) => guild.members.has(bot.user.id));

    this.#dispatch(session, "READY", {
      v: 10,
      user: { ...userPayload(bot.user), verified: true, mfa_enabled: true, flags: 0, email: null },
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: url(),
      shard: [0, 1],
      application: { id: bot.user.id, flags: 0, flags_new: "0" },
    });

    if ((session.intents & INTENTS.GUILDS) === 0) return;

    if (guildsAfterMs === 0) this.#showGuilds(session, guilds);
    else clock.after(guildsAfterMs, () => this.#showGuilds(session, guilds));
  }

  #showGuilds(session: FakeGatewaySession, guilds: readonly Guild[]): void {
    const { world } = this.#options;
    const { bot } = session;

    for (const guild of guilds) {
      if (guild.isOut) {
        // Source: "Gateway Events: Guild Delete": also one that "was already unavailable".
        this.#dispatch(session, "GUILD_DELETE", { id: guild.id, unavailable: true });
        continue;
      }
      const view = { bot: bot.user, content: true };
      this.#dispatch(
        session,
        "GUILD_CREATE",
        guildPayload(guild, view, world.placesOf(guild, bot.user)),
      );
    }
  }

  #dispatch(session: FakeGatewaySession, type: string, data: unknown): void {
    session.seq++;
    const text = JSON.stringify({ op: OP.dispatch, t: type, s: session.seq, d: data });
    session.events.push({ seq: session.seq, type, text });
    if (session.events.length > KEPT_EVENTS) session.events.shift();
    session.connection?.sendText(text);
  }

  #mayIdentify(bot: BotAccount): boolean {
    const now = this.#options.clock.now();
    const all = this.#identifies.get(bot.user.id) ?? [];
    const recent = all.filter((at) => now - at < this.#options.identifyWindowMs);
    if (recent.length >= this.#options.maxConcurrency) return false;

    this.#identifies.set(bot.user.id, [...all, now].slice(-1000));

    return true;
  }

  /**
   * Source: "Gateway: Session Start Limit Object" (1,000 a day), and "Gateway: Identifying": a bot that
   * starts more sessions than that has its token reset, and all its sessions end.
   */
  #usesUpLast(bot: BotAccount): boolean {
    const day = this.#dayOf(bot);
    day.used++;

    return day.used > this.#options.sessionStarts.total;
  }

  #dayOf(bot: BotAccount): { endsAt: number; used: number } {
    const now = this.#options.clock.now();
    const known = this.#days.get(bot.user.id);
    if (known !== undefined && known.endsAt > now) return known;

    const day = { endsAt: now + this.#options.sessionStarts.perMs, used: 0 };
    this.#days.set(bot.user.id, day);

    return day;
  }

  #sessionsOf(bot: BotAccount): FakeGatewaySession[] {
    return [...this.#sessions.values()].filter((session) => session.bot === bot);
  }
}

/** One WebSocket: speaks the opcodes, knows its session once it has one. */
class Connection {
  session: FakeGatewaySession | undefined;
  readonly #socket: WebSocket;
  readonly #gateway: Gateway;
  readonly #options: GatewayOptions;
  readonly #sends: number[] = [];
  readonly #stopWatching: () => void;
  #lastHeartbeat: number;

  constructor(socket: WebSocket, gateway: Gateway, options: GatewayOptions) {
    this.#socket = socket;
    this.#gateway = gateway;
    this.#options = options;
    this.#lastHeartbeat = options.clock.monotonic();

    // Source: "Gateway: Sending Heartbeats": who misses one is disconnected; half an interval of
    // grace.
    this.#stopWatching = options.clock.every(options.heartbeatIntervalMs / 2, () => {
      if (options.clock.monotonic() - this.#lastHeartbeat > options.heartbeatIntervalMs * 1.5) {
        this.close(CLOSE.sessionTimedOut, "Session timed out.");
      }
    });

    socket.on("message", (data) => this.#receive(data));

    socket.on("close", (code) => {
      this.#stopWatching();
      gateway.closed(this, code);
    });

    socket.on("error", () => socket.terminate());
    const ending = gateway.endingAt("before HELLO");
    if (ending === undefined) {
      this.send({ op: OP.hello, d: { heartbeat_interval: options.heartbeatIntervalMs } });
    } else if (ending.code !== "never") this.close(ending.code ?? CLOSE.unknownError, "");
  }

  send(payload: { op: number; d?: unknown }): void {
    this.sendText(JSON.stringify({ ...payload, t: null, s: null }));
  }

  sendText(text: string): void {
    const altered = this.#gateway.altered(text);
    if (altered === undefined || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(altered);
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  cut(): void {
    this.#socket.terminate();
  }

  #receive(data: RawData): void {
    const now = this.#options.clock.monotonic();
    while (this.#sends[0] !== undefined && now - this.#sends[0] > SENDS.perMs) this.#sends.shift();
    this.#sends.push(now);
    if (this.#sends.length > SENDS.limit) return this.close(CLOSE.rateLimited, "Rate limited.");

    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer);
    const payload = bytes.length > LARGEST_PAYLOAD ? undefined : parse(bytes);
    if (payload === undefined) {
      return this.close(CLOSE.decodeError, "Error while decoding payload.");
    }

    this.#take(payload, now);
  }

  #take({ op, d }: z.infer<typeof payloadForm>, now: number): void {
    switch (op) {
      case OP.heartbeat:
        this.#lastHeartbeat = now;
        return this.send({ op: OP.heartbeatAck });
      case OP.identify:
      case OP.resume:
        if (this.session !== undefined) {
          return this.close(CLOSE.alreadyAuthenticated, "Already authenticated.");
        }

        return op === OP.resume ? this.#gateway.resume(this, d) : this.#gateway.identify(this, d);
      case OP.presence:
      case OP.voice:
      case OP.members:
        return this.session === undefined
          ? this.close(CLOSE.notAuthenticated, "Not authenticated.")
          : undefined;
      default:
        return this.close(CLOSE.unknownOpcode, "Unknown opcode.");
    }
  }
}

function refusedIntents(bot: BotAccount): number {
  return (
    (bot.messageContentIntent ? 0 : INTENTS.MESSAGE_CONTENT) |
    (bot.memberAndPresenceIntents ? 0 : INTENTS.GUILD_MEMBERS | INTENTS.GUILD_PRESENCES)
  );
}

function parse(bytes: Buffer): z.infer<typeof payloadForm> | undefined {
  try {
    return payloadForm.safeParse(JSON.parse(bytes.toString())).data;
  } catch {
    return undefined;
  }
}
