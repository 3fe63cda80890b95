import pg from "pg";
import { systemClock, type Cancel, type Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf, ProcessError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { missingRights } from "./rights.ts";

/**
 * One SQL statement. With a `name` it is prepared once per connection: one name, one text, for
 * ever.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
}

/** Where a database answers; `host` may be the folder of a Unix socket. */
export interface DatabaseConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export type DatabaseTarget = { readonly url: string } | { readonly connection: DatabaseConnection };

export type DatabaseOptions = DatabaseTarget & {
  /**
   * Shown in `pg_stat_activity`: `dure:<process id>`. A taker of this process's lease ends sessions
   * by this name.
   */
  readonly applicationName: string;
  /** Connections of the pool. Default 16, so that six processes fit into PostgreSQL's usual 100. */
  readonly max?: number;
  readonly logger: Logger;
  readonly clock?: Clock;
};

export interface QueryOptions {
  /**
   * Before the statement is sent, an abort means that it never ran. Later the server is asked to
   * cancel it; a statement that was quicker than the cancellation has run, and its rows are
   * returned.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What runs statements: the database itself (each statement commits alone) or one transaction of
 * it.
 */
export interface Queryable {
  /**
   * Values go as PostgreSQL types: an array becomes a PostgreSQL array, so a JSON array needs
   * `JSON.stringify`. Rows come back with int8 as number (bigint beyond 2⁵³), jsonb parsed,
   * timestamptz as Date.
   */
  query<Row extends object = Record<string, unknown>>(
    statement: Statement,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<Row[]>;
}

/** Statements that commit together or not at all. */
export type Transaction = Queryable;

/**
 * Outcome of the writes of a statement that met a cut connection, in `details.commit` of
 * DATABASE_UNAVAILABLE: `none`, nothing was written; `unknown`, the answer was lost and the caller
 * must look.
 */
export type CommitOutcome = "none" | "unknown";

/** `read-only`: it answers, and takes no writes: a standby, or a disk that its operator guards. */
export type DatabaseHealth = "ok" | "read-only" | "away";

/**
 * Longest wait for a connection, new or free, in milliseconds. Source: docs/spec/platform §8, "not
 * ready" within seconds.
 */
const CONNECT_TIMEOUT = 5_000;
/** Longest statement, in milliseconds, kept by the server. */
const STATEMENT_TIMEOUT = 10_000;
/**
 * How long the answer may be overdue before the connection counts as cut: a dead network sends no
 * reset.
 */
const ANSWER_GRACE = 2_000;
/**
 * Longest transaction, in milliseconds. Readers of the event log wait for the oldest
 * open transaction.
 */
const TRANSACTION_TIMEOUT = 5_000;
/**
 * How long an unused connection is kept, in milliseconds: its prepared statements are worth more
 * than its memory.
 */
const IDLE_TIMEOUT = 60_000;

/**
 * A bounded pool of PostgreSQL connections. Every statement either answers or fails with a known
 * meaning: DATABASE_UNAVAILABLE when the connection is the trouble, the server's own error (see
 * `sqlState`) otherwise.
 */
export class Database implements Queryable {
  /** Statements sent by this process, BEGIN and COMMIT included. */
  statements = 0;
  /** Commits that wrote, as far as the text of the statements tells. */
  commits = 0;

  readonly applicationName: string;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #logger: Logger;
  readonly #clock: Clock;
  #closed: Promise<void> | undefined;
  /** Sessions that this side has closed. */
  readonly #dropped = new WeakSet<pg.Client>();

  private constructor(options: DatabaseOptions) {
    this.applicationName = options.applicationName;
    this.#logger = options.logger;
    this.#clock = options.clock ?? systemClock;

    this.#config = {
      ...("url" in options ? { connectionString: options.url } : options.connection),
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      statement_timeout: STATEMENT_TIMEOUT,
      idle_in_transaction_session_timeout: TRANSACTION_TIMEOUT,
      keepAlive: true,
      types: { getTypeParser: parserOf },
    };

    this.#pool = new pg.Pool({
      ...this.#config,
      application_name: this.applicationName,
      max: options.max ?? 16,
      idleTimeoutMillis: IDLE_TIMEOUT,
    });

    this.#pool.on("error", (error) => {
      this.#logger.warn(
        { error: messageOf(error) },
        "database connection lost while idle; the next statement opens another",
      );
    });

    // A connection that dies while it is lent out tells its statement; without a listener it would
    // also end the process.
    this.#pool.on("connect", (client) => client.on("error", () => {}));
  }

  /** Opens the pool and makes sure that the database answers. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const database = new Database(options);
    try {
      (await database.#lend()).release();
      return database;
    } catch (error) {
      await database.close();
      throw explainOpening(error, describe(options));
    }
  }

  async query<Row extends object = Record<string, unknown>>(
    statement: Statement,
    values?: readonly unknown[],
    options: QueryOptions = {},
  ): Promise<Row[]> {
    options.signal?.throwIfAborted();
    const client = await this.#lend(options);
    let cut = true;

    try {
      const rows = await this.#run<Row>(client, statement, {
        values,
        outcomeWhenCut: "unknown",
        signal: options.signal,
      });
      cut = false;
      if (isWrite(statement)) this.commits += 1;
      return rows;
    } catch (error) {
      cut = isUnavailable(error) || isStalePlan(error) || isReadOnly(error);
      if (!isStalePlan(error)) throw error;
    } finally {
      client.release(cut);
    }

    // A migration changed a table under the prepared statement; nothing ran. Another connection
    // prepares it afresh.
    return this.query<Row>({ text: statement.text }, values, options);
  }

  /**
   * Runs `work` between BEGIN and COMMIT on one connection, at most 5 s long; a throw rolls back.
   * `work` holds nothing but SQL. When the answer to COMMIT is lost, DATABASE_UNAVAILABLE says
   * `details.commit: "unknown"`.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.#lend();
    let open = true;
    let wrote = false;
    let cut = true;

    const tx: Transaction = {
      query: async (statement, values, options) => {
        if (!open) {
          throw new DureError(
            "TRANSACTION_OVER",
            `The transaction is over; "${labelOf(statement)}" came too late.`,
          );
        }

        wrote ||= isWrite(statement);

        return this.#run(client, statement, {
          values,
          outcomeWhenCut: "none",
          signal: options?.signal,
        });
      },
    };

    let cancelDeadline: Cancel = () => {};
    const deadline = new Promise<never>((_, reject) => {
      cancelDeadline = this.#clock.after(TRANSACTION_TIMEOUT, () => reject(tooLong()));
    });
    deadline.catch(() => {}); // it may pass while BEGIN or COMMIT runs, which the statement timeout bounds

    try {
      await this.#run(client, BEGIN, { outcomeWhenCut: "none" });
      const result = await Promise.race([work(tx), deadline]);
      open = false;
      await this.#run(client, COMMIT, { outcomeWhenCut: "unknown" });
      cut = false;
      if (wrote) this.commits += 1;
      return result;
    } catch (error) {
      open = false;
      cut =
        isUnavailable(error) ||
        isReadOnly(error) ||
        codeOf(error) === "TRANSACTION_TOO_LONG" ||
        !(await this.#rollback(client));
      if (codeOf(error) === "TRANSACTION_TOO_LONG") void this.#cancel(client);
      throw error;
    } finally {
      cancelDeadline();
      client.release(cut);
    }
  }

  /** Whether the database answers and takes writes now; takes at most 5 s and never throws. */
  async health(): Promise<DatabaseHealth> {
    try {
      const [row] = await this.query<{ writable: boolean }>(WRITABLE);
      return row?.writable === true ? "ok" : "read-only";
    } catch {
      return "away";
    }
  }

  /**
   * A connection of its own, outside the pool, for session locks and LISTEN; no statement timeout.
   * The caller ends it; the event `end` reports a lost connection.
   *
   * @internal Left out of the published types, which name no package that a project has not.
   */
  async connectSession(options: { applicationName?: string } = {}): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#config,
      application_name: options.applicationName ?? this.applicationName,
      statement_timeout: 0,
      keepAliveInitialDelayMillis: 10_000,
    });

    client.on("error", (error) => {
      if (this.#dropped.has(client)) return;
      this.#logger.warn({ error: messageOf(error) }, "database session lost");
    });

    try {
      await client.connect();
      return client;
    } catch (error) {
      throw raised(asUnavailable(error, "none"));
    }
  }

  /**
   * Closes a session from this side, without a goodbye: on a dead network none is answered. It is
   * not told as lost.
   *
   * @internal As `connectSession`.
   */
  dropSession(session: pg.Client): void {
    this.#dropped.add(session);
    const { connection } = session as unknown as { connection: { stream: { destroy(): void } } };
    connection.stream.destroy();
  }

  /** Waits for statements in flight, then closes every connection. */
  async close(): Promise<void> {
    this.#closed ??= this.#pool.end();
    await this.#closed;
  }

  async #lend(options: QueryOptions = {}): Promise<pg.PoolClient> {
    if (this.#closed) {
      throw new ProcessError("DATABASE_CLOSED", "The database is closed in this process.", {
        class: "unavailable",
      });
    }

    const lending = this.#pool.connect();

    try {
      return await (options.signal ? abortable(lending, options.signal) : lending);
    } catch (error) {
      if (options.signal?.aborted) {
        void lending.then(
          (client) => client.release(),
          () => {},
        );
        throw error;
      }
      throw raised(asUnavailable(error, "none"));
    }
  }

  async #run<Row extends object>(
    client: pg.PoolClient,
    statement: Statement,
    {
      values,
      outcomeWhenCut,
      signal,
    }: {
      values?: readonly unknown[] | undefined;
      outcomeWhenCut: CommitOutcome;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Row[]> {
    signal?.throwIfAborted();
    this.statements += 1;
    let overdue = false;

    const cancelOverdue = this.#clock.after(STATEMENT_TIMEOUT + ANSWER_GRACE, () => {
      overdue = true;
      destroy(client);
    });

    let cancelling: Promise<void> | undefined;
    const onAbort = (): void => void (cancelling = this.#cancel(client));
    signal?.addEventListener("abort", onAbort, { once: true });

    try {
      const { name, text } = statement;
      const query = { text, values: values as unknown[] };
      const result = await client.query<Row>(name === undefined ? query : { name, ...query });
      return result.rows;
    } catch (error) {
      if (overdue) {
        throw raised(
          asUnavailable(
            new Error(`no answer to "${labelOf(statement)}" within 12 s`, { cause: error }),
            outcomeWhenCut,
          ),
        );
      }
      if (signal?.aborted && sqlState(error) === QUERY_CANCELLED) throw signal.reason;
      throw raised(missingRights(error, client) ?? asUnavailable(error, outcomeWhenCut));
    } finally {
      cancelOverdue();
      signal?.removeEventListener("abort", onAbort);
      // The next user of this connection must not meet a cancellation that was meant for us.
      await cancelling;
    }
  }

  /** Returns whether the connection can go back to the pool. */
  async #rollback(client: pg.PoolClient): Promise<boolean> {
    try {
      await this.#run(client, ROLLBACK, { outcomeWhenCut: "none" });
      return true;
    } catch {
      return false;
    }
  }

  async #cancel(client: pg.PoolClient): Promise<void> {
    const backend = (client as unknown as { processID: number | null }).processID;
    const canceller = new pg.Client(this.#config);
    canceller.on("error", () => {});

    try {
      await canceller.connect();
      await canceller.query("select pg_cancel_backend($1)", [backend]);
    } catch (error) {
      this.#logger.warn(
        { error: messageOf(error), backend },
        "statement could not be cancelled; it ends by its timeout",
      );
    } finally {
      await canceller.end().catch(() => {});
    }
  }
}

/**
 * The five characters of PostgreSQL's error, also from under a DureError; undefined when the error
 * is not PostgreSQL's.
 */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof DureError) return sqlState(error.cause);
  const code = codeOf(error);
  return code !== undefined && SQL_STATE.test(code) ? code : undefined;
}

/** Errors that databases of dure in this process have thrown. */
const raisedHere = new WeakSet<object>();

function raised(error: unknown): unknown {
  if (typeof error === "object" && error !== null) raisedHere.add(error);
  return error;
}

/**
 * Whether dure's own database threw an error, or what it wraps. A tool may have a database of its
 * own, whose errors look the same.
 */
export function isRaisedByDatabase(error: unknown): boolean {
  let link = error;
  for (let depth = 0; depth < MAX_CAUSES && typeof link === "object" && link !== null; depth++) {
    if (raisedHere.has(link)) return true;
    link = (link as { readonly cause?: unknown }).cause;
  }
  return false;
}

/** An error that causes itself ends the search. */
const MAX_CAUSES = 8;

/** Whether the connection, not the statement, is what failed. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof DureError) return error.code === "DATABASE_UNAVAILABLE";

  const state = sqlState(error);
  if (state !== undefined && (state.startsWith("08") || CONNECTION_STATES.has(state))) return true;
  if (state === NOT_READY && isFatal(error)) return true;
  if (CONNECTION_CODES.has(codeOf(error) ?? "")) return true;

  return error instanceof Error && CONNECTION_MESSAGES.test(error.message);
}

/** The database takes no connections: `allow_connections` is off. Of a statement it is no such thing. */
const NOT_READY = "55000";

/** The server has ended the connection. Source: PostgreSQL documentation, "Message Severity Levels". */
function isFatal(error: unknown): boolean {
  return (error as { readonly severity?: unknown }).severity === "FATAL";
}

/** By its class, so that Node's own EPIPE is none. */
const SQL_STATE = /^(\d[0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/;
const QUERY_CANCELLED = "57014";

/**
 * Shut down, crashed, starting up, idle in transaction too long, database dropped, no connection
 * left.
 */
const CONNECTION_STATES = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "57P04", "53300"]);
const CONNECTION_CODES = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
/** What `pg` says in words only. */
const CONNECTION_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired|Client was closed|The server does not|There was an error establishing)/;

const WRITABLE: Statement = {
  name: "database.health",
  text: `
    select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
      as writable`,
};
const BEGIN: Statement = { text: "begin" };
const COMMIT: Statement = { text: "commit" };
const ROLLBACK: Statement = { text: "rollback" };

function asUnavailable(cause: unknown, commit: CommitOutcome): unknown {
  if (
    cause instanceof DureError ||
    (!isConnectionError(cause) &&
      !(cause instanceof Error && cause.message.startsWith("no answer")))
  ) {
    return cause;
  }
  return new DureError(
    "DATABASE_UNAVAILABLE",
    `The database does not answer: ${withoutSocket(messageOf(cause))}.`,
    {
      class: "unavailable",
      hint: "Work goes on by itself when the database is back; `dure doctor` shows where it is looked for.",
      details: { commit },
      cause,
    },
  );
}

/** The path of a socket is for the log of the server, not for its clients. */
function withoutSocket(message: string): string {
  return message.replace(/\S*\.s\.PGSQL\.\d+/, "its socket");
}

function isUnavailable(error: unknown): boolean {
  return codeOf(error) === "DATABASE_UNAVAILABLE";
}

/**
 * The server takes no writes on this session. After a failover another session may be at the new
 * primary.
 */
function isReadOnly(error: unknown): boolean {
  return sqlState(error) === "25006";
}

/** "cached plan must not change result type", or a prepared statement that was deallocated. */
function isStalePlan(error: unknown): boolean {
  const state = sqlState(error);
  return state === "26000" || (state === "0A000" && messageOf(error).includes("cached plan"));
}

function tooLong(): DureError {
  const error = new DureError(
    "TRANSACTION_TOO_LONG",
    `A transaction took longer than ${TRANSACTION_TIMEOUT} ms and was rolled back.`,
    {
      hint: "Hold nothing but SQL in a transaction; call models and tools before or after it.",
    },
  );
  raisedHere.add(error);
  return error;
}

/**
 * By name where there is one (one name, one text), so that a statement object made for each call is
 * checked once.
 */
const writes = new Map<string, boolean>();

function isWrite({ name, text }: Statement): boolean {
  const known = name === undefined ? undefined : writes.get(name);
  if (known !== undefined) return known;

  const write = /\b(insert\s+into|delete\s+from|merge\s+into|(?<!\b(for|key|do)\s+)update)\b/i.test(
    text,
  );
  if (name !== undefined) writes.set(name, write);

  return write;
}

function labelOf(statement: Statement): string {
  return statement.name ?? statement.text.trim().slice(0, 60);
}

const INT8 = 20;

type AnyParser = (value: string) => unknown;

function parserOf(oid: number, format?: "text" | "binary"): AnyParser {
  if (oid === INT8 && format !== "binary") return parseInt8;
  return pg.types.getTypeParser(oid, format) as AnyParser;
}

function parseInt8(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

function destroy(client: pg.PoolClient): void {
  (
    client as unknown as { connection: { stream: { destroy(): void } } }
  ).connection.stream.destroy();
}

/** Rejects with the signal's reason when it aborts first; `promise` goes on unseen. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return onAbort();

    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** The target in words, without its password. */
function describe(target: DatabaseTarget): string {
  if ("connection" in target) {
    return `${target.connection.host}:${target.connection.port}/${target.connection.database}`;
  }
  return target.url.replace(/^(\w+:\/\/)[^@/]*@/, "$1").replace(/\?.*$/, "");
}

function explainOpening(error: unknown, where: string): unknown {
  const inner = error instanceof DureError && error.cause !== undefined ? error.cause : error;
  if (/unsupported startup parameter/.test(messageOf(inner))) return pooled(where, inner);

  if (isUnavailable(error)) {
    return new DureError(
      "DATABASE_UNAVAILABLE",
      `The database at ${where} does not answer: ${messageOf(inner)}.`,
      {
        class: "unavailable",
        hint: "Is PostgreSQL running there, and is DATABASE_URL right? Without DATABASE_URL dure starts its own.",
        details: { commit: "none" },
        cause: inner,
      },
    );
  }

  if (sqlState(error) === undefined) return error;

  return new DureError(
    "DATABASE_REFUSED",
    `The database at ${where} refused the connection: ${messageOf(error)}.`,
    {
      class: "unavailable",
      hint: "Check user, password and database name in DATABASE_URL.",
      cause: error,
    },
  );
}

/** The refusal of a pooler that hands each transaction to another backend. */
export function pooled(where: string, cause?: unknown): DureError {
  return new DureError(
    "DATABASE_POOLED",
    `${where} is a transaction pooler; dure needs session connections.`,
    {
      class: "unavailable",
      hint: "Point DATABASE_URL at PostgreSQL itself, or at the pooler's session-mode port.",
      cause,
    },
  );
}
