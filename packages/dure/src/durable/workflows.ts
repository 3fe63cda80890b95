import type { DBOS as DbosApi, WorkflowHandle } from "@dbos-inc/dbos-sdk";
import pg from "pg";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, DatabaseTarget, Statement, Transaction } from "./database.ts";
import { applicationName, type ProcessLease } from "./processes.ts";
import type { SweepRule } from "./retention.ts";

/**
 * Long work as DBOS workflows, over dure's own database. Nothing of the product uses it now: jobs,
 * runs, reminders and escalations are rows (docs/decisions/0003, 0005 to 0008). Nothing of DBOS is
 * loaded before `start`, and one process runs one of these at a time.
 *
 * A workflow is a function that runs again from its top after a crash; what its context did before
 * is answered from the record. So between two calls of the context it decides by its input and
 * their answers alone.
 *
 * When this process may not work any longer (fenced, or stopping), its workflows stand still: their
 * next call of the context neither returns nor throws, so that no half-truth is recorded, and
 * another process goes on with them.
 */
export class Workflows {
  readonly #options: WorkflowsOptions;
  readonly #clock: Clock;
  readonly #definitions = new Map<string, Registered>();
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  /** Stopping: no new step begins. */
  #halted = false;
  #engine: Engine | undefined;
  #started: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: WorkflowsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Makes a workflow known under a name that never changes, for it is in the records. Every process
   * defines the same ones.
   */
  define<Input extends Json, Output extends Json | void>(
    name: string,
    work: WorkflowFunction<Input, Output>,
  ): void {
    if (this.#definitions.has(name)) {
      throw new DureError("WORKFLOW_DEFINED_TWICE", `The workflow "${name}" is defined twice.`, {
        hint: "Give one of them another name.",
      });
    }
    const definition: Registered = {
      work: work as unknown as WorkflowFunction<Json, Json | void>,
      run: undefined,
    };
    this.#definitions.set(name, definition);
    if (this.#engine) this.#register(name, definition, this.#engine);
  }

  /** Loads and launches DBOS; what an earlier start of this id left goes on. Idempotent. */
  async start(): Promise<void> {
    if (this.#stopped) {
      throw new DureError("WORKFLOWS_STOPPED", "The workflows of this process were stopped.", {
        class: "unavailable",
      });
    }
    this.#started ??= this.#launch();
    await this.#started;
  }

  /**
   * Starts a workflow, or finds the one that has this id already. Within a workflow use its
   * context's `start`.
   */
  async begin<Output = unknown>(
    name: string,
    id: string,
    input: Json,
  ): Promise<WorkflowRun<Output>> {
    await this.start();
    return this.#begin<Output>(name, id, input);
  }

  /**
   * Sends a message to a workflow; it is kept until `receive` takes it. Of two with one `key` the
   * second is dropped.
   */
  async send(
    id: string,
    topic: string,
    message: Json,
    options: { key?: string } = {},
  ): Promise<void> {
    await this.start();
    await this.#dbos.send(id, message, topic, options.key);
  }

  /**
   * Cancels a workflow and its children, wherever they run. What runs ends at its next step; a
   * step's signal aborts within a second.
   */
  async cancel(id: string): Promise<void> {
    await this.start();
    await this.#dbos.cancelWorkflow(id, { cancelChildren: true });
  }

  async status(id: string): Promise<WorkflowStatus | undefined> {
    await this.start();
    const status = await this.#dbos.getWorkflowStatus(id);
    if (!status) return undefined;
    return {
      id,
      name: status.workflowName,
      state: STATES[status.status] ?? "running",
      ...(status.output === undefined || status.output === null
        ? {}
        : { output: status.output as Json }),
      ...(status.error ? { error: messageOf(status.error) } : {}),
    };
  }

  /**
   * The result of a workflow that runs anywhere; undefined when it takes longer than `timeoutMs`.
   * Throws its error.
   */
  async result<Output = unknown>(
    id: string,
    options: { timeoutMs?: number } = {},
  ): Promise<Output | undefined> {
    await this.start();
    const seconds =
      options.timeoutMs === undefined ? {} : { timeoutSeconds: options.timeoutMs / 1_000 };
    return (
      (await this.#dbos.getResult<Output>(id, { ...seconds, pollingIntervalMs: RESULT_POLL })) ??
      undefined
    );
  }

  /**
   * For Takeover: gives the unfinished workflows of a dead process to the living ones. Launches
   * DBOS only if there are any.
   */
  async recoverDead(processId: string): Promise<void> {
    if (!this.#started) {
      const { database } = this.#options;
      const [known] = await database.query<{ known: boolean }>({
        text: "select to_regclass('dbos.workflow_status') is not null as known",
      });
      if (!known?.known) return;
      const [left] = await database.query(
        {
          text: "select from dbos.workflow_status where executor_id = $1 and status = 'PENDING' limit 1",
        },
        [processId],
      );
      if (!left) return;
    }
    await this.start();
    const handles = await this.#engine!.recover([processId]);
    if (handles.length > 0) {
      this.#options.logger.info(
        { process: processId, workflows: handles.length },
        `${handles.length} workflows of ${processId} go on`,
      );
    }
  }

  /** Finished workflows and their records age too. */
  retentionRule(keep: SweepRule["keep"] = "7d"): SweepRule {
    return { name: "workflows", keep, sweep: sweepWorkflows };
  }

  /**
   * Lets steps in flight finish for `graceMs` (default 5 s), then aborts their signal and leaves.
   * What is not finished is left to the others, who take it when the process lease has ended.
   */
  async stop(options: { graceMs?: number } = {}): Promise<void> {
    this.#stopped ??= this.#finish(options.graceMs ?? 5_000);
    await this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  get #dbos(): typeof DbosApi {
    return this.#engine!.dbos;
  }

  async #launch(): Promise<void> {
    // The only imports of DBOS in dure; they take longer than a whole chat turn, so they come when
    // they are needed.
    const [
      { DBOS },
      { runTransactionalInternalStep },
      { DBOSExecutor },
      { registerInternalQueue },
      { INTERNAL_QUEUE_NAME },
    ] = await Promise.all([
      import("@dbos-inc/dbos-sdk"),
      import("@dbos-inc/dbos-sdk/internal/dbos"),
      import("@dbos-inc/dbos-sdk/internal/dbos-executor"),
      import("@dbos-inc/dbos-sdk/internal/wfqueue"),
      import("@dbos-inc/dbos-sdk/internal/utils"),
    ]);
    if (DBOS.isInitialized()) {
      throw new DureError(
        "WORKFLOWS_RUN_ALREADY",
        "Another team of this process runs workflows; DBOS allows one per process.",
        {
          class: "conflict",
          hint: "Start the other team in a process of its own.",
        },
      );
    }
    const pool = this.#openPool();
    const engine: Engine = {
      dbos: DBOS,
      transact: runTransactionalInternalStep,
      recover: async (ids) =>
        (await DBOSExecutor.globalInstance?.recoverPendingWorkflows(ids)) ?? [],
      pool,
    };
    registerInternalQueue(INTERNAL_QUEUE_NAME, { minPollingIntervalMs: RECOVERY_POLL });
    for (const [name, definition] of this.#definitions) this.#register(name, definition, engine);
    this.#configure(engine);
    this.#engine = engine;
    try {
      await DBOS.launch();
    } catch (error) {
      this.#engine = undefined;
      await DBOS.shutdown({ deregister: true }).catch(() => {});
      await pool.end().catch(() => {});
      throw new DureError("WORKFLOWS_NOT_STARTED", `DBOS did not start: ${messageOf(error)}.`, {
        class: "unavailable",
        hint: "The database user needs the right to create schema dbos.",
        cause: error,
      });
    }
  }

  #configure({ dbos, pool }: Engine): void {
    const { lease, appVersion, logger } = this.#options;
    dbos.setConfig({
      name: APPLICATION,
      systemDatabaseUrl: PLACEHOLDER_URL,
      systemDatabasePool: pool,
      systemDatabaseSchemaName: "dbos",
      executorID: lease.id,
      applicationVersion: appVersion,
      enablePatching: true,
      enableOTLP: false,
      tracingEnabled: false,
      logger: quiet(logger),
    });
  }

  /** Under the name of this process, so that a taker ends these sessions too. */
  #openPool(): pg.Pool {
    const { target, lease, logger } = this.#options;
    const pool = new pg.Pool({
      ...("url" in target ? { connectionString: target.url } : target.connection),
      application_name: applicationName(lease.id),
      max: this.#options.connections ?? 10,
      connectionTimeoutMillis: 5_000,
      idle_in_transaction_session_timeout: 5_000,
      keepAlive: true,
    });
    pool.on("error", (error) =>
      logger.warn(
        { error: messageOf(error) },
        "workflow connection lost while idle; the next statement opens another",
      ),
    );
    return pool;
  }

  #register(name: string, definition: Registered, engine: Engine): void {
    const run = async (input: Json): Promise<Json | void> => {
      const context = this.#context(engine);
      return this.#unlessOver(() => definition.work(input, context));
    };
    definition.run = engine.dbos.registerWorkflow(run, {
      name,
      maxRecoveryAttempts: MAX_RECOVERIES,
    });
  }

  async #begin<Output>(name: string, id: string, input: Json): Promise<WorkflowRun<Output>> {
    const run = this.#definitions.get(name)?.run;
    if (!run) {
      throw new DureError("WORKFLOW_UNKNOWN", `There is no workflow "${name}".`, {
        class: "not-found",
        hint: `Defined are: ${[...this.#definitions.keys()].join(", ") || "none"}.`,
      });
    }
    const handle = (await this.#dbos.startWorkflow(run, { workflowID: id })(
      input,
    )) as WorkflowHandle<Output>;
    return {
      id: handle.workflowID,
      result: () => handle.getResult({ pollingIntervalMs: RESULT_POLL }),
    };
  }

  #context(engine: Engine): WorkflowContext {
    const { dbos } = engine;
    const id = dbos.workflowID!;
    const stopped = AbortSignal.any([this.#stopping.signal, this.#options.lease.signal]);
    return {
      id,
      step: (name, work, options = {}) =>
        this.#unlessOver(() =>
          dbos.runStep(
            () => {
              const status = dbos.stepStatus!;
              const signals = [
                stopped,
                status.cancelSignal,
                ...(status.timeoutSignal ? [status.timeoutSignal] : []),
              ];
              return this.#track(
                this.#unlessOver(() =>
                  work({
                    key: `${id}/${status.stepID}`,
                    attempt: status.currentAttempt ?? 1,
                    signal: AbortSignal.any(signals),
                  }),
                ),
              );
            },
            { name, ...stepConfig(options) },
          ),
        ),
      transact: (name, work) =>
        this.#unlessOver(() => this.#track(this.#transact(engine, name, work))),
      sleep: (ms) => this.#unlessOver(() => dbos.sleep(ms)),
      receive: async (topic, options) =>
        (await this.#unlessOver(() =>
          dbos.recv<Json>(topic, { timeoutSeconds: options.timeoutMs / 1_000 }),
        )) ?? undefined,
      send: (to, topic, message) => this.#unlessOver(() => dbos.send(to, message, topic)),
      start: (name, child, input) =>
        this.#unlessOver(async () => {
          const run = await this.#begin<never>(name, child, input);
          return { id: run.id, result: () => this.#unlessOver(() => run.result()) };
        }),
      now: () => this.#unlessOver(() => dbos.now()),
      patched: (change) => this.#unlessOver(() => dbos.patch(change)),
    };
  }

  /**
   * Rows and step record in one transaction, under the process lease. A process that lost its lease
   * records nothing, not even an error: the workflow belongs to another one by now.
   */
  async #transact<T extends Json | void>(
    engine: Engine,
    name: string,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return engine.transact(async (client) => {
      if (!client) {
        throw new DureError("TRANSACT_IN_STEP", `transact "${name}" was called within a step.`, {
          hint: "Call it from the workflow itself.",
        });
      }
      const tx = transactionOf(client);
      try {
        await this.#options.lease.guard(tx);
      } catch (error) {
        if (codeOf(error) !== "FENCED" && !this.#isOver) throw error;
        await client.query("rollback").catch(() => {});
        return standStill();
      }
      return work(tx);
    }, name);
  }

  get #isOver(): boolean {
    return this.#halted || this.#options.lease.signal.aborted;
  }

  /**
   * Does the work and hands on how it ended, unless this process may not speak for the workflow any
   * longer.
   */
  async #unlessOver<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) return standStill();
    try {
      const value = await work();
      return this.#options.lease.signal.aborted ? await standStill() : value;
    } catch (error) {
      if (this.#isOver) return standStill();
      throw error;
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const tracked = work.then(
      () => {},
      () => {},
    );
    this.#inFlight.add(tracked);
    void tracked.then(() => this.#inFlight.delete(tracked));
    return work;
  }

  async #finish(graceMs: number): Promise<void> {
    await this.#started?.catch(() => {});
    this.#halted = true;
    if (!this.#engine) return;
    const over = new AbortController();
    await Promise.race([
      Promise.all(this.#inFlight),
      this.#clock.sleep(graceMs, { signal: over.signal }).catch(() => {}),
    ]);
    over.abort(new DOMException("The steps are done.", "AbortError"));
    this.#stopping.abort(
      new DureError("PROCESS_STOPPED", "The workflows of this process were stopped.", {
        class: "unavailable",
      }),
    );
    await this.#dbos
      .shutdown({ deregister: true })
      .catch((error: unknown) =>
        this.#options.logger.warn({ error: messageOf(error) }, "DBOS did not stop cleanly"),
      );
    // A connection that stands still in a fenced transaction is never given back: it ends with the
    // process.
    await Promise.race([this.#engine.pool.end(), this.#clock.sleep(1_000)]);
  }
}

export type WorkflowFunction<Input extends Json, Output extends Json | void> = (
  input: Input,
  workflow: WorkflowContext,
) => Promise<Output>;

/** What a workflow may do. Each call is recorded; after a crash it is answered from the record. */
export interface WorkflowContext {
  readonly id: string;
  /**
   * Reading, model calls and keyed effects: at least once. `key` is the same for every repetition.
   * The signal aborts when the workflow is cancelled, when an attempt takes too long, or when this
   * process stops.
   */
  step<T extends Json | void>(
    name: string,
    work: (options: StepCall) => Promise<T>,
    options?: StepOptions,
  ): Promise<T>;
  /**
   * Exactly once: the rows of `work` and the record of the step commit together. Holds nothing but
   * SQL; may run more than once before it commits.
   */
  transact<T extends Json | void>(name: string, work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Waits, also across crashes: until then, not from then. */
  sleep(ms: number): Promise<void>;
  /** The next message of this topic, or undefined after `timeoutMs`. */
  receive(topic: string, options: { timeoutMs: number }): Promise<Json | undefined>;
  send(id: string, topic: string, message: Json): Promise<void>;
  /** A child: cancelled with this workflow. */
  start(name: string, id: string, input: Json): Promise<WorkflowRun<Json | void>>;
  /** Milliseconds since the epoch; the same after a crash. */
  now(): Promise<number>;
  /**
   * Whether this run began after `change` was made to the workflow's code; old runs take the old
   * branch.
   */
  patched(change: string): Promise<boolean>;
}

export interface StepCall {
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

export interface StepOptions {
  /** Attempts in all. Default 1: a failure is the step's result. */
  readonly attempts?: number;
  /** Before the second attempt, doubled each time, in milliseconds. Default 1,000. */
  readonly firstRetryMs?: number;
  /** Longest attempt, in milliseconds. Default: no limit. */
  readonly timeoutMs?: number;
}

export interface WorkflowRun<Output> {
  readonly id: string;
  /** Waits for the end, wherever it runs. Throws the workflow's error. */
  result(): Promise<Output>;
}

export interface WorkflowStatus {
  readonly id: string;
  readonly name: string;
  readonly state: "queued" | "running" | "done" | "failed" | "cancelled";
  readonly output?: Json;
  readonly error?: string;
}

export interface WorkflowsOptions {
  readonly database: Database;
  /** The same database: DBOS keeps connections of its own. */
  readonly target: DatabaseTarget;
  readonly lease: ProcessLease;
  /**
   * Work in flight is only taken over by processes of the same version: change it when old runs
   * must not meet new code.
   */
  readonly appVersion: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Default 10. */
  readonly connections?: number;
}

interface Registered {
  readonly work: WorkflowFunction<Json, Json | void>;
  run: ((input: Json) => Promise<Json | void>) | undefined;
}

interface Engine {
  readonly dbos: typeof DbosApi;
  readonly transact: <T>(
    callback: (client: pg.PoolClient | undefined) => Promise<T>,
    name: string,
  ) => Promise<T>;
  readonly recover: (executorIds: string[]) => Promise<readonly unknown[]>;
  readonly pool: pg.Pool;
}

/** Owner of the workflows in schema `dbos`; part of the records. */
const APPLICATION = "dure";
/** DBOS wants an address to print; it connects through the pool that it is given. */
const PLACEHOLDER_URL = "postgresql://dure@localhost/dure";
/**
 * How often recovered workflows are looked for, in milliseconds. DBOS's own 1,000 is most of the
 * time that a takeover takes.
 */
const RECOVERY_POLL = 250;
/** How often the result of a workflow elsewhere is looked for, in milliseconds. */
const RESULT_POLL = 250;
/**
 * A workflow that waits for months sees many restarts; one that kills its process each time is
 * given up after these.
 */
const MAX_RECOVERIES = 10_000;

const STATES: Readonly<Record<string, WorkflowStatus["state"]>> = {
  PENDING: "running",
  ENQUEUED: "queued",
  DELAYED: "queued",
  SUCCESS: "done",
  ERROR: "failed",
  MAX_RECOVERY_ATTEMPTS_EXCEEDED: "failed",
  CANCELLED: "cancelled",
};

function stepConfig({ attempts = 1, firstRetryMs = 1_000, timeoutMs }: StepOptions): object {
  const retries =
    attempts > 1
      ? {
          retriesAllowed: true,
          maxAttempts: attempts,
          intervalSeconds: firstRetryMs / 1_000,
          backoffRate: 2,
        }
      : {};
  return { ...retries, ...(timeoutMs === undefined ? {} : { timeoutMS: timeoutMs }) };
}

/** Neither returns nor throws: DBOS records nothing of a workflow that is not ours any longer. */
function standStill(): Promise<never> {
  return new Promise(() => {});
}

function transactionOf(client: pg.PoolClient): Transaction {
  return {
    async query<Row extends object>(
      statement: Statement,
      values?: readonly unknown[],
      options: { signal?: AbortSignal | undefined } = {},
    ): Promise<Row[]> {
      options.signal?.throwIfAborted();
      const result = await client.query<Row>({
        ...statement,
        types: TYPES,
        ...(values ? { values: values as unknown[] } : {}),
      });
      return result.rows;
    },
  };
}

const INT8 = 20;

/** As in database.ts; DBOS's own statements keep the driver's habits. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === INT8 && format !== "binary"
      ? (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))
      : pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig["getTypeParser"],
};

/** DBOS talks much: its information is our debugging. */
function quiet(logger: Logger): {
  [level in "debug" | "info" | "warn" | "error"]: (entry: unknown, metadata?: unknown) => void;
} {
  const text = (entry: unknown): string => `workflows: ${messageOf(entry)}`;
  return {
    debug: (entry) => logger.debug({}, text(entry)),
    info: (entry) => logger.debug({}, text(entry)),
    warn: (entry) => logger.warn({}, text(entry)),
    error: (entry) => logger.error({}, text(entry)),
  };
}

/** DBOS's payload tables have no foreign keys: they go first. */
async function sweepWorkflows(
  tx: Transaction,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const [known] = await tx.query<{ known: boolean }>({
    text: "select to_regclass('dbos.workflow_status') is not null as known",
  });
  if (!known?.known) return 0;
  const aged = await tx.query<{ id: string }>(
    {
      text: `
        select workflow_uuid as id from dbos.workflow_status
         where status in ('SUCCESS', 'ERROR', 'CANCELLED')
           and updated_at < extract(epoch from clock_timestamp()) * 1000 - $1::double precision
         order by updated_at limit $2::integer for update skip locked`,
    },
    [keepMs, limit],
  );
  if (aged.length === 0) return 0;
  const ids = aged.map(({ id }) => id);
  for (const table of [
    "workflow_input",
    "workflow_output",
    "operation_outputs",
    "workflow_status",
  ]) {
    await tx.query({ text: `delete from dbos.${table} where workflow_uuid = any($1::text[])` }, [
      ids,
    ]);
  }
  return ids.length;
}
