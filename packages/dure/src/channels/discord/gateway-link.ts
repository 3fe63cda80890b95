import { WebSocket, type RawData } from "ws";
import type { Cancel, Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { helloForm, packetForm, readyForm, type WirePacket, type WireReady } from "./wire-forms.ts";

/** What a later connection needs to go on where this one was lost. */
export interface GatewaySession {
  readonly id: string;
  readonly url: string;
  /** Of the last event that came. */
  readonly seq: number;
}

/** How a connection ended. */
export interface LinkEnd {
  readonly why: string;
  /** The platform's close code; absent: it did not close. */
  readonly code?: number | undefined;
  /** Present when the session can be resumed. */
  readonly session?: GatewaySession | undefined;
  /** The platform refused to resume: the next one is a new session. */
  readonly refusedResume?: boolean | undefined;
}

export interface LinkListener {
  /** A new session: `ready.guilds` come one after another from here on. */
  ready(ready: WireReady): void;
  /** The old session goes on, and everything that was missed has come. */
  resumed(): void;
  event(type: string, data: unknown): void;
  /** What could not be understood; it is left out. */
  leftOut(what: string, error: unknown): void;
}

export interface LinkOptions {
  readonly url: string;
  readonly token: string;
  readonly intents: number;
  /** Absent: a new one begins. */
  readonly session: GatewaySession | undefined;
  readonly clock: Clock;
  /** For the connection with its HELLO, and again for READY, milliseconds. */
  readonly patienceMs: number;
  readonly listener: LinkListener;
}

/** Source: "Opcodes and Status Codes: Gateway Opcodes". */
const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/**
 * Closing with 1000 or 1001 ends the session; any other code keeps it for a resume. Source:
 * "Gateway: Initiating a Disconnect".
 */
const GOODBYE = { forEver: 1000, forNow: 4900 } as const;

/** How long the platform may take to say goodbye, milliseconds. */
const GOODBYE_MS = 1000;

/**
 * How long an answer to a heartbeat may still be read after the next one was due, milliseconds. Our
 * choice: short beside the platform's interval of 41 s.
 */
const LATE_ANSWER_MS = 250;

/** Bytes of one packet. The largest is GUILD_CREATE of a server with thousands of channels. */
const LARGEST_PACKET = 32 * 1024 * 1024;

/**
 * Close codes after which the session is gone. Source: "Opcodes and Status Codes: Gateway Close
 * Event Codes" (invalid seq, session timed out), "Gateway: Disconnecting".
 */
const SESSION_GONE: readonly number[] = [1000, 1001, 4003, 4005, 4007, 4008, 4009];

/**
 * One connection to the gateway, from HELLO to its end: identifies or resumes, keeps the heartbeat,
 * and hands on the events. Source: "Gateway: Connection Lifecycle".
 *
 * Every packet is parsed before it is believed. One that cannot be understood is told and left out;
 * when HELLO or READY is one, the connection ends, for nothing can follow.
 */
export class GatewayLink {
  readonly #options: LinkOptions;
  readonly #ended = Promise.withResolvers<LinkEnd>();
  readonly #timers = new Map<"patience" | "heartbeat", Cancel>();
  #socket: WebSocket | undefined;
  #session: GatewaySession | undefined;
  #isOver = false;
  #isAcknowledged = true;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#session = options.session;
  }

  /** Never rejects. An abort says goodbye for ever. */
  async run(signal: AbortSignal): Promise<LinkEnd> {
    const onAbort = (): void => this.#end({ why: "stopped" });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else this.#open();
    const end = await this.#ended.promise;
    signal.removeEventListener("abort", onAbort);
    await this.#close(end.session === undefined ? GOODBYE.forEver : GOODBYE.forNow);
    return end;
  }

  #open(): void {
    const { session, url, patienceMs } = this.#options;
    try {
      const address = `${session?.url ?? url}?v=10&encoding=json`;
      const socket = new WebSocket(address, { maxPayload: LARGEST_PACKET });
      let trouble: string | undefined;
      socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
      socket.on("error", (error) => (trouble = messageOf(error)));
      socket.on("close", (code) => this.#closed(code, trouble));
      this.#socket = socket;
      this.#wait(patienceMs, `no HELLO came within ${patienceMs} ms`);
    } catch (error) {
      this.#end({ why: messageOf(error) });
    }
  }

  #closed(code: number, trouble: string | undefined): void {
    this.#end({
      code,
      why: trouble ?? `the gateway closed with ${code}`,
      session: SESSION_GONE.includes(code) ? undefined : this.#session,
    });
  }

  // ── What comes
  // ────────────────────────────────────────────────────────────────────────

  /** Never throws: this is where the outside comes in. */
  #receive(data: RawData, isBinary: boolean): void {
    if (this.#isOver) return;
    let what = "a packet";
    try {
      if (isBinary) throw new TypeError("It is binary.");
      // One buffer, unless a connection asks for another `binaryType`.
      const packet = packetForm.parse(JSON.parse((data as Buffer).toString()));
      what = packet.op === OP.dispatch ? (packet.t ?? what) : `a packet with opcode ${packet.op}`;
      this.#take(packet);
    } catch (error) {
      this.#options.listener.leftOut(what.slice(0, 100), error);
    }
  }

  #take(packet: WirePacket): void {
    switch (packet.op) {
      case OP.dispatch:
        return this.#dispatch(packet);
      case OP.hello:
        return this.#hello(packet.d);
      case OP.heartbeat:
        return this.#beat();
      case OP.heartbeatAck:
        this.#isAcknowledged = true;
        return;
      case OP.reconnect:
        return this.#end({ why: "the gateway asked for a new connection", session: this.#session });
      case OP.invalidSession: {
        const mayResume = packet.d === true;
        return this.#end({
          why: "the gateway does not know the session",
          session: mayResume ? this.#session : undefined,
          refusedResume: this.#options.session !== undefined && !mayResume,
        });
      }
      default: // of a later version
    }
  }

  #hello(data: unknown): void {
    const parsed = helloForm.safeParse(data);
    if (!parsed.success) {
      this.#end({ why: "its HELLO could not be understood", session: this.#session });
      throw parsed.error;
    }
    const { patienceMs, session, token, intents } = this.#options;
    const everyMs = parsed.data.heartbeat_interval;
    // Source: "Gateway: Heartbeat Interval": the first after a random part, so that bots do not
    // come all at once.
    this.#beatAfter(everyMs * Math.random(), everyMs);
    this.#wait(patienceMs, `no READY came within ${patienceMs} ms`);
    if (session !== undefined) {
      return this.#send(OP.resume, { token, session_id: session.id, seq: session.seq });
    }
    const properties = { os: process.platform, browser: "dure", device: "dure" };
    this.#send(OP.identify, { token, intents, properties, shard: [0, 1] });
  }

  #dispatch({ t: type, s: seq, d: data }: WirePacket): void {
    const { listener } = this.#options;
    if (type === "READY") return this.#ready(data, seq ?? 0);
    if (this.#session !== undefined && seq !== undefined && seq > this.#session.seq) {
      this.#session = { ...this.#session, seq };
    }
    if (type === "RESUMED") {
      this.#stopWaiting();
      listener.resumed();
    } else if (type !== undefined) listener.event(type, data);
  }

  #ready(data: unknown, seq: number): void {
    const parsed = readyForm.safeParse(data);
    if (!parsed.success) {
      this.#end({ why: "its READY could not be understood" });
      throw parsed.error;
    }
    this.#stopWaiting();
    const { session_id: id, resume_gateway_url: url } = parsed.data;
    this.#session = { id, url: url ?? this.#options.url, seq };
    this.#options.listener.ready(parsed.data);
  }

  // ── What leaves
  // ────────────────────────────────────────────────────────────────────────

  #beatAfter(ms: number, everyMs: number): void {
    this.#setHeartbeat(ms, () => {
      if (!this.#isAcknowledged) return this.#lookOnceMore(everyMs);
      this.#isAcknowledged = false;
      this.#beat();
      this.#beatAfter(everyMs, everyMs);
    });
  }

  /**
   * A process that stood still finds its timer due before it has read the answer, which may have
   * come long ago: what came is read first.
   */
  #lookOnceMore(everyMs: number): void {
    this.#setHeartbeat(LATE_ANSWER_MS, () => {
      if (this.#isAcknowledged) return this.#beatAfter(0, everyMs);
      // Source: "Gateway: Heartbeat Interval": no answer means a connection that failed silently.
      this.#end({ why: "the gateway stopped answering", session: this.#session });
    });
  }

  #setHeartbeat(ms: number, due: () => void): void {
    this.#timers.get("heartbeat")?.();
    this.#timers.set("heartbeat", this.#options.clock.after(ms, due));
  }

  #beat(): void {
    this.#send(OP.heartbeat, this.#session?.seq ?? null);
  }

  #send(op: number, data: unknown): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    socket.send(JSON.stringify({ op, d: data }), () => {}); // a failure closes it
  }

  // ── Its end
  // ────────────────────────────────────────────────────────────────────────

  #wait(ms: number, inVain: string): void {
    this.#stopWaiting();
    const end = (): void => this.#end({ why: inVain, session: this.#session });
    this.#timers.set("patience", this.#options.clock.after(ms, end));
  }

  #stopWaiting(): void {
    this.#timers.get("patience")?.();
    this.#timers.delete("patience");
  }

  #end(end: LinkEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const cancel of this.#timers.values()) cancel();
    this.#ended.resolve(end);
  }

  /** Resolves when nothing is open any more. */
  async #close(code: number): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const cancel = this.#options.clock.after(GOODBYE_MS, () => socket.terminate());
    if (socket.readyState === WebSocket.CONNECTING) socket.terminate();
    else socket.close(code);
    await closed;
    cancel();
  }
}
