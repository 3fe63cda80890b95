import { once } from "node:events";
import {
  connect,
  createServer,
  type AddressInfo,
  type NetConnectOpts,
  type Server,
  type Socket,
} from "node:net";

/** A statement on its way to the server. */
export interface ProxiedStatement {
  /** Under which it was prepared; empty for an unnamed one. */
  readonly name: string;
  /** Its SQL; empty when it was prepared on a connection before the proxy looked. */
  readonly sql: string;
  /** The parameters as they went over the wire, for `includes`; empty for a simple query. */
  readonly parameters: string;
}

/** Whether a statement is the one that is meant. */
export type StatementTest = (statement: ProxiedStatement) => boolean;

/** One message of the protocol. */
export interface ProxiedMessage {
  readonly from: "client" | "server";
  /** Its letter, such as `S` from a client (Sync) or `Z` from the server (ReadyForQuery). */
  readonly type: string;
}

/** Whether an answer to a statement is the one that is meant. */
export type MessageTest = (statement: ProxiedStatement, message: ProxiedMessage) => boolean;

/** A connection that stands still at one statement until it is released or its client is gone. */
export interface Stop {
  /** Resolves when the connection stands there. */
  readonly reached: Promise<ProxiedStatement>;
  /** Lets it go on; before `reached` it means that nothing stops there any more. */
  release(): void;
}

/** A connection that is cut in the middle of a statement. */
export interface Cut {
  /** Resolves when the connection was cut. */
  readonly reached: Promise<void>;
  /** Messages for which its test was true, so far. */
  readonly passed: number;
  /** No cut any more; counting ends too. */
  cancel(): void;
}

/**
 * A TCP proxy before PostgreSQL that understands its messages, so that a test can stop or cut a
 * real client's connection at a statement that it names:
 *
 *     await using proxy = await PostgresProxy.start(databaseUrl);
 // committed, the client does not know
 *     const stop = proxy.stop("after", ({ name }) => name === "finish_turn");
 *     const child = startServer({ DATABASE_URL: proxy.url });
 *     await stop.reached;
 *     child.kill("SIGKILL");
 *
 * Loopback only, no TLS, no bound on what it holds back: for tests.
 */
export class PostgresProxy implements AsyncDisposable {
  /** For the client: the target's with this proxy's address. */
  readonly url: string;
  readonly #listener: Server;
  readonly #lines = new Set<Line>();
  readonly #stops: ArmedStop[] = [];
  readonly #cuts: ArmedCut[] = [];

  private constructor(url: string, listener: Server) {
    this.url = url;
    this.#listener = listener;
  }

  /**
   * @param target `postgresql://user:password@host:5432/name`; `?host=/folder` names a Unix
   * socket's folder.
   */
  static async start(
    target: string,
    { port = 0 }: { /** Default: a free one. */ port?: number } = {},
  ): Promise<PostgresProxy> {
    const url = new URL(target);
    const behind = addressOf(url);
    const listener = createServer({ noDelay: true });
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    url.searchParams.delete("host");
    url.hostname = "127.0.0.1";
    url.port = String((listener.address() as AddressInfo).port);
    const proxy = new PostgresProxy(url.href, listener);
    listener.on("connection", (client) => proxy.#open(client, behind));

    return proxy;
  }

  /**
   * Stops the next connection that sends a statement for which `test` is true: `before` it reaches
   * the server, or `after` the server has done it (outside a transaction: committed) and before the
   * client hears of it. Once.
   */
  stop(when: "before" | "after", test: StatementTest): Stop {
    const { promise, resolve } = Promise.withResolvers<ProxiedStatement>();
    const armed: ArmedStop = { when, test, reached: resolve, line: undefined };
    this.#stops.push(armed);

    return {
      reached: promise,
      release: () => {
        remove(this.#stops, armed);
        armed.line?.release();
      },
    };
  }

  /**
   * Counts the messages for which `test` is true, in both directions, and cuts the connection
   * behind the `n`-th: that one is delivered, nothing after it is. Behind a client's Sync this is
   * the lost answer to a commit. `everyLine` cuts all connections.
   */
  cut(n: number, test: MessageTest, { everyLine = false }: { everyLine?: boolean } = {}): Cut {
    const { promise, resolve } = Promise.withResolvers<void>();
    const armed: ArmedCut = { n, test, passed: 0, reached: resolve, everyLine };
    this.#cuts.push(armed);

    return {
      reached: promise,
      get passed() {
        return armed.passed;
      },
      cancel: () => remove(this.#cuts, armed),
    };
  }

  /** Takes back every stop and cut that has not happened yet. */
  disarm(): void {
    this.#stops.length = 0;
    this.#cuts.length = 0;
  }

  /** Cuts every connection, as a restart of the server does. */
  cutAll(): void {
    for (const line of this.#lines) line.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAll();
    this.#listener.close();
    await once(this.#listener, "close");
  }

  #open(client: Socket, behind: NetConnectOpts): void {
    const line = new Line(client, connect(behind), {
      takeStop: (statement) => {
        const armed = this.#stops.find(({ test }) => test(statement));
        if (armed) remove(this.#stops, armed);
        return armed;
      },
      count: (statement, message) => {
        let cutHere = false;
        for (const armed of [...this.#cuts]) {
          if (!armed.test(statement, message)) continue;
          armed.passed += 1;
          if (armed.passed !== armed.n) continue;
          remove(this.#cuts, armed);
          cutHere = true;
          if (armed.everyLine) queueMicrotask(() => this.cutAll());
          armed.reached();
        }

        return cutHere;
      },
    });

    this.#lines.add(line);
    void line.closed.then(() => this.#lines.delete(line));
  }
}

interface ArmedStop {
  readonly when: "before" | "after";
  readonly test: StatementTest;
  readonly reached: (statement: ProxiedStatement) => void;
  line: Line | undefined;
}

interface ArmedCut {
  readonly n: number;
  readonly test: MessageTest;
  readonly reached: () => void;
  readonly everyLine: boolean;
  passed: number;
}

interface Watch {
  /** The stop that this statement meets; it is used up. */
  takeStop(statement: ProxiedStatement): ArmedStop | undefined;
  /** Whether the line ends behind this message of `statement`. */
  count(statement: ProxiedStatement, message: ProxiedMessage): boolean;
}

/**
 * One client's connection. Messages pass one by one; between a client's first and the server's
 * ReadyForQuery they belong to one statement.
 */
class Line {
  /** Resolves when both ends are closed. */
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #watch: Watch;
  readonly #sql = new Map<string, string>();
  readonly #fromClient = new Messages({ startup: true });
  readonly #fromServer = new Messages({ startup: false });
  #statement: ProxiedStatement | undefined;
  /** Waits for the answer of the statement that it stops after. */
  #stopAfter: ArmedStop | undefined;
  #held: { readonly to: Socket; readonly bytes: Buffer }[] | undefined;
  #cut = false;

  constructor(client: Socket, server: Socket, watch: Watch) {
    this.#client = client;
    this.#server = server;
    this.#watch = watch;

    this.closed = Promise.all(
      [client, server].map(
        (socket) => new Promise<void>((resolve) => void socket.once("close", () => resolve())),
      ),
    ).then(() => {});

    client.on("data", (bytes) =>
      this.#fromClient.push(bytes, (message) => this.#onClient(message)),
    );
    server.on("data", (bytes) =>
      this.#fromServer.push(bytes, (message) => this.#onServer(message)),
    );
    // The end that closes takes the other along; what the client has sent before is still done.
    client.on("close", () => server.end());
    server.on("close", () => client.destroy());
    client.on("error", () => {});
    server.on("error", () => {});
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#stopAfter = undefined;
    for (const { to, bytes } of held) to.write(bytes);
  }

  /** The server gets all that was delivered to it, and then the end. */
  cut(): void {
    this.#cut = true;
    this.#server.end();
    this.#client.destroy();
  }

  #onClient(message: ProtocolMessage): void {
    if (this.#cut) return;

    const statement = this.#note(message);

    if (message.type === "B" || message.type === "Q") {
      const stop = this.#watch.takeStop(statement);
      if (stop) {
        stop.line = this;
        if (stop.when === "before") this.#held ??= [];
        else this.#stopAfter = stop;
        if (stop.when === "before") stop.reached(statement);
      }
    }

    this.#pass(this.#server, message, statement);
  }

  #onServer(message: ProtocolMessage): void {
    if (this.#cut) return;

    const statement = this.#statement;
    if (this.#stopAfter) this.#held ??= [];
    this.#pass(this.#client, message, statement);
    if (message.type !== "Z") return;

    this.#statement = undefined;
    if (this.#stopAfter && statement) this.#stopAfter.reached(statement);
    this.#stopAfter = undefined;
  }

  #pass(to: Socket, message: ProtocolMessage, statement: ProxiedStatement | undefined): void {
    if (this.#held) return void this.#held.push({ to, bytes: message.bytes });
    to.write(message.bytes);

    if (
      statement &&
      this.#watch.count(statement, {
        from: to === this.#server ? "client" : "server",
        type: message.type,
      })
    ) {
      this.cut();
    }
  }

  /** The statement that a client's message belongs to. */
  #note(message: ProtocolMessage): ProxiedStatement {
    const { type, body } = message;
    if (type === "Q") this.#statement = { name: "", sql: textAt(body, 0).text, parameters: "" };

    if (type === "P") {
      const name = textAt(body, 0);
      const sql = textAt(body, name.end);
      this.#sql.set(name.text, sql.text);
      this.#statement = { name: name.text, sql: sql.text, parameters: "" };
    }

    if (type === "B") {
      const portal = textAt(body, 0);
      const name = textAt(body, portal.end);
      this.#statement = {
        name: name.text,
        sql: this.#sql.get(name.text) ?? "",
        parameters: body.subarray(name.end).toString("utf8"),
      };
    }

    return this.#statement ?? NO_STATEMENT;
  }
}

const NO_STATEMENT: ProxiedStatement = { name: "", sql: "", parameters: "" };

interface ProtocolMessage {
  /** One letter; empty for what opens a connection. */
  readonly type: string;
  /** Behind type and length. */
  readonly body: Buffer;
  readonly bytes: Buffer;
}

/** Cuts a stream of bytes into messages. Source: PostgreSQL documentation, "Message Formats". */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  /** A client's first message has no type. */
  #startup: boolean;

  constructor({ startup }: { startup: boolean }) {
    this.#startup = startup;
  }

  push(bytes: Buffer | string, onMessage: (message: ProtocolMessage) => void): void {
    this.#rest = Buffer.concat([this.#rest, Buffer.from(bytes as Buffer)]);
    for (;;) {
      const head = this.#startup ? 0 : 1;
      if (this.#rest.length < head + 4) return;
      const end = head + this.#rest.readInt32BE(head);
      if (this.#rest.length < end) return;
      const message = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end);
      this.#startup = false;
      onMessage({
        type: message.toString("latin1", 0, head),
        body: message.subarray(head + 4),
        bytes: message,
      });
    }
  }
}

/** The zero-terminated text at `start`, and where the next one begins. */
function textAt(body: Buffer, start: number): { text: string; end: number } {
  const zero = body.indexOf(0, start);
  return { text: body.toString("utf8", start, zero), end: zero + 1 };
}

function addressOf(url: URL): NetConnectOpts {
  const port = Number(url.port || "5432");
  const host = url.searchParams.get("host") ?? (url.hostname || "127.0.0.1");
  return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}

function remove<Item>(items: Item[], item: Item): void {
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
}
