/** The records of runs: what is read and written of them in one place. */

import { stripVTControlCharacters } from "node:util";
import * as sql from "./run-statements.ts";
import type { Database, Transaction } from "../../durable/database.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import { storable } from "../../durable/storable.ts";
import type { PlanRunStatus, RunOutcome } from "../../kernel/plans.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";
import type { PlanViolation, ContextManifest, StepWaiting } from "../../wire/runs.ts";
import { HostRecords } from "./host-records.ts";
import type {
  NewRun,
  NewViolation,
  PortChange,
  RunChange,
  Settling,
  OpenOrder,
  OrderOutcome,
  NewStep,
} from "./run-changes.ts";
import {
  newPorts,
  portOf,
  portParameter,
  runOf,
  callsOfRun,
  tokensOfRun,
  useOf,
  type PortRow,
  type RunRow,
  type UseRow,
  stepOf,
  type StepRow,
} from "./run-rows.ts";
import type { PlanPort, PlanRun, Used, StoredUse, RunOrder, PlanStep } from "./run.ts";
import type { WorkerIdentity } from "../sandbox/sandbox.ts";
import { hashHookToken, newHookToken } from "./hook-token.ts";

/** Rows that one statement reads of a list. */
const PAGE = 200;

type FoundRow = RunRow & {
  readonly seq: number;
  readonly counts: Record<string, number> | null;
  readonly start_key: string | null;
};

/** A run of a list. */
interface FoundRun {
  readonly run: PlanRun;
  readonly seq: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Under which it was begun, as it is stored. */
  readonly key: string | null;
}

/** The rows of runs. The leader of a run writes through `write`, as long as it has the lease. */
export class RunRecords {
  /** Runs by their machine. */
  readonly hosts: HostRecords;
  readonly steps: StepRecords;
  readonly orders: OrderRecords;
  readonly #database: Database;
  readonly #leases: Leases;

  constructor(options: { database: Database; leases: Leases }) {
    this.#database = options.database;
    this.#leases = options.leases;
    this.hosts = new HostRecords(options.database, this);
    this.steps = new StepRecords(options.database, this);
    this.orders = new OrderRecords(options.database);
  }

  /** False when a run was begun under this key before; then nothing is written. */
  async create(run: NewRun, events: readonly NewPlatformEvent[]): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const made = await tx.query(sql.CREATE, [
        run.id,
        run.tenant,
        run.plan.name,
        storable(run.plan),
        run.file,
        run.repository,
        run.folder,
        run.host,
        run.baseCommit,
        run.startedBy,
        run.key,
        run.bodyHash,
        tokensOfRun(run.plan),
        callsOfRun(run.plan),
      ]);
      if (made.length === 0) return false;
      await tx.query(sql.CREATE_PORTS, [run.id, storable(newPorts(run))]);
      await emit(tx, events);
      return true;
    });
  }

  /**
   * Everything that `work` writes commits together, or nothing, and nothing once the lease is
   * another's.
   */
  async write<T>(lease: Lease, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (tx) => {
      await this.#leases.guard(tx, lease);
      return work(tx);
    });
  }

  async changePorts(tx: Transaction, run: string, changes: readonly PortChange[]): Promise<void> {
    if (changes.length > 0) {
      await tx.query(sql.CHANGE_PORTS, [run, storable(changes.map(portParameter))]);
    }
  }

  async changeRun(tx: Transaction, run: string, change: RunChange): Promise<void> {
    const { status, phase, startCommit, isolation, promises, mode, report } = change;
    await tx.query(sql.CHANGE_RUN, [
      run,
      status ?? null,
      phase ?? null,
      startCommit ?? null,
      isolation ?? null,
      mode ? storable(mode) : null,
      report ? storable(report) : null,
      change.because === undefined,
      storable(change.because ?? null),
      change.tokensMost ?? null,
      promises ? storable(promises) : null,
      change.callsMost ?? null,
    ]);
  }

  /** Adds what a worker has used; gives what all of the run have. */
  async addUse(tx: Transaction, run: string, used: Used): Promise<StoredUse> {
    const { input, cached, output, calls } = used;
    const [row] = await tx.query<UseRow>(sql.ADD_TOKENS, [run, input, output, calls, cached]);
    return useOf(row!);
  }

  async run(id: string, tx?: Transaction): Promise<PlanRun | undefined> {
    const [row] = await (tx ?? this.#database).query<RunRow>(sql.RUN, [id]);
    return row && runOf(row);
  }

  async runByKey(
    tenant: string,
    key: string,
  ): Promise<{ run: PlanRun; bodyHash: string } | undefined> {
    const [row] = await this.#database.query<RunRow & { body_hash: string }>(sql.RUN_BY_KEY, [
      tenant,
      key,
    ]);
    return row && { run: runOf(row), bodyHash: row.body_hash };
  }

  /** Newest first. */
  async runs(filter: {
    tenant: TenantView;
    plan?: string | undefined;
    status?: PlanRunStatus | undefined;
    before?: number | undefined;
    limit: number;
    key?: string | undefined;
    keyPrefix?: string | undefined;
  }): Promise<readonly FoundRun[]> {
    const rows = await this.#database.query<FoundRow>(sql.RUNS, [
      filter.tenant,
      filter.plan ?? null,
      filter.status ?? null,
      filter.before ?? null,
      Math.min(filter.limit, PAGE),
      filter.key ?? null,
      filter.keyPrefix ?? null,
    ]);
    return rows.map((row) => ({
      run: runOf(row),
      seq: row.seq,
      counts: row.counts ?? {},
      key: row.start_key,
    }));
  }

  async ports(run: string): Promise<PlanPort[]> {
    return (await this.#database.query<PortRow>(sql.PORTS, [run])).map(portOf);
  }

  async port(run: string, id: string, tx?: Transaction): Promise<PlanPort | undefined> {
    const [row] = await (tx ?? this.#database).query<PortRow>(sql.PORT, [run, id]);
    return row && portOf(row);
  }

  /** Those of them, in the order of the plan. */
  async portsNamed(run: string, ids: readonly string[]): Promise<PlanPort[]> {
    return ids.length === 0
      ? []
      : (await this.#database.query<PortRow>(sql.PORTS_NAMED, [run, [...ids]])).map(portOf);
  }

  // --- escalations

  /** Closes questions of the run that need no answer any more. */
  async settle(
    tx: Transaction,
    run: string,
    { ports, types, except = [] }: Settling,
  ): Promise<void> {
    await tx.query(sql.SETTLE, [
      run,
      ports ? [...ports] : null,
      types ? [...types] : null,
      [...except],
    ]);
  }

  /**
   * With the end of a run: closes its questions. Where it came short, the newest one of each failed
   * port stays, what that port asks to own or read, and the newest of the run: their answers go on with it. Where it succeeded, also those that
   * earlier runs of the same plan left for its ports.
   */
  async settleEnded(tx: Transaction, { run, outcome, resuming }: EndedRun): Promise<void> {
    if (outcome === "success" || outcome === "cancelled") await this.settle(tx, run, {});
    else await tx.query(sql.SETTLE_SHORT, [run, resuming.ofPort, resuming.ofRun]);
    if (outcome === "success") await tx.query(sql.SETTLE_EARLIER, [run]);
  }

  // --- violations

  async violation(tx: Transaction, run: string, violation: NewViolation): Promise<void> {
    await tx.query(sql.VIOLATION, [
      run,
      violation.port,
      violation.try,
      violation.member,
      violation.path,
      violation.wanted,
      violation.because,
      violation.detail ?? null,
      violation.found,
    ]);
  }

  async violations(run: string, port?: string): Promise<readonly PlanViolation[]> {
    const rows = await this.#database.query<Omit<PlanViolation, "at"> & { at: Date }>(
      sql.VIOLATIONS,
      [run, port ?? null],
    );
    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }

  // --- clean

  /**
   * From now on no leader works on the run, and its questions need no answer. False: an order to it
   * is open.
   */
  async beginClean(tx: Transaction, run: string): Promise<boolean> {
    if ((await tx.query(sql.BEGIN_CLEAN, [run])).length === 0) return false;
    await this.settle(tx, run, {});
    return true;
  }

  async cleaned(tx: Transaction, run: string): Promise<void> {
    await tx.query(sql.CLEANED, [run]);
  }
}

/** A run that ends, and the triggers whose questions outlive it where it came short. */
interface EndedRun {
  readonly run: string;
  readonly outcome: RunOutcome;
  readonly resuming: { readonly ofPort: readonly string[]; readonly ofRun: readonly string[] };
}

/** Without the members that are undefined. Pure. */
export function present<T extends object>(change: T): Present<T> {
  const entries = Object.entries(change).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Present<T>;
}

type Present<T> = { [Name in keyof T]: Exclude<T[Name], undefined> };

export async function emit(tx: Transaction, events: readonly NewPlatformEvent[]): Promise<void> {
  if (events.length > 0) {
    await tx.query({ name: "plan.emit", text: "select dure.emit($1)" }, [storable(events)]);
  }
}

/** The rows of orders: what people want of a run, until its leader has answered. */
class OrderRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async give(
    tx: Transaction | undefined,
    run: string,
    order: RunOrder,
    by: string,
  ): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ id: number }>(sql.ORDER, [
      run,
      storable(order),
      by,
    ]);
    return row!.id;
  }

  async open(run: string): Promise<readonly OpenOrder[]> {
    const rows = await this.#database.query<{ id: number; wish: RunOrder; by_whom: string }>(
      sql.OPEN_ORDERS,
      [run],
    );
    return rows.map(({ id, wish, by_whom }) => ({ id, order: wish, by: by_whom }));
  }

  async close(tx: Transaction, id: number, outcome: OrderOutcome): Promise<void> {
    await tx.query(sql.CLOSE_ORDER, [id, storable(outcome)]);
  }

  async outcome(id: number): Promise<OrderOutcome | undefined> {
    const [row] = await this.#database.query<{ outcome: OrderOutcome | null }>(sql.ORDER_OUTCOME, [
      id,
    ]);
    return row?.outcome ?? undefined;
  }
}

// --- step records

/** Characters kept of what a step printed, its end. */
const MAX_LOG = 32_000;

/** The rows of steps: what a worker does at a try of a port, and how it went. */
class StepRecords {
  readonly #database: Database;
  readonly #records: Pick<RunRecords, "write">;

  constructor(database: Database, records: Pick<RunRecords, "write">) {
    this.#database = database;
    this.#records = records;
  }

  /**
   * Ports that have an outcome now: steps that were under way have stopped, and the operator is
   * asked about the others.
   */
  async stop(tx: Transaction, run: string, ports: readonly string[]): Promise<void> {
    if (ports.length > 0) await tx.query(sql.STOP_STEPS, [run, [...ports]]);
  }

  async of(run: string, port?: string): Promise<PlanStep[]> {
    return (await this.#database.query<StepRow>(sql.STEPS, [run, port ?? null])).map(stepOf);
  }

  /**
   * Tries that were begun, by port; a port without one is absent. `isBroken`: what another port
   * made broke its check once. `waiting`: what its step waits for.
   */
  async triesMade(run: string): Promise<ReadonlyMap<string, PortTriesMade>> {
    const rows = await this.#database.query<{
      port: string;
      tries: number;
      is_broken: boolean;
      waiting: StepWaiting | null;
      is_unproven: boolean | null;
    }>(sql.TRIES_MADE, [run]);
    return new Map(
      rows.map(({ port, tries, is_broken: isBroken, waiting, is_unproven: isUnproven }) => [
        port,
        { made: tries, isBroken, waiting, unproven: isUnproven === true },
      ]),
    );
  }

  /**
   * How long such a step takes, milliseconds: half of those that the plan's last runs have done took
   * no longer. Undefined: there are none.
   */
  async typicalMs(
    run: string,
    { kind, worker }: Pick<PlanStep, "kind" | "worker">,
  ): Promise<number | undefined> {
    const [row] = await this.#database.query<{ ms: number | null }>(sql.TYPICAL_MS, [
      run,
      kind,
      worker,
    ]);
    return row?.ms ?? undefined;
  }

  /** Tries of a port that its pair has made. */
  async pairTries(run: string, port: string, tx?: Transaction): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ tries: number }>(sql.PAIR_TRIES, [
      run,
      port,
    ]);
    return row!.tries;
  }

  /** The step's row: made now, found running (a crash lies between), or found done. */
  async begin(lease: Lease, step: NewStep): Promise<PlanStep> {
    return this.#records.write(lease, async (tx) => {
      const hookToken = newHookToken();
      const [row] = await tx.query<StepRow>(sql.BEGIN_STEP, [
        step.run,
        step.port,
        step.try,
        step.kind,
        step.member ?? null,
        step.worker ?? null,
        step.manifest === undefined ? null : storable(step.manifest),
        hashHookToken(hookToken),
      ]);
      return { ...stepOf(row!), hookToken };
    });
  }

  async noteProcess(lease: Lease, id: number, identity: WorkerIdentity): Promise<void> {
    await this.#records.write(lease, (tx) => tx.query(sql.STEP_PROCESS, [id, storable(identity)]));
  }

  /** The conversation that the agent of a step has opened. */
  async noteSession(tx: Transaction, id: number, session: string): Promise<void> {
    await tx.query(sql.STEP_SESSION, [id, session]);
  }

  /** A sign of a worker. Its tokens are those of all starts of the step so far. */
  async sign(
    tx: Transaction,
    id: number,
    sign: Pick<PlanStep, "progress" | "task" | "tokensIn" | "tokensCached" | "tokensOut" | "log">,
  ): Promise<void> {
    const { progress, task, tokensIn, tokensCached, tokensOut, log } = sign;
    await tx.query(sql.STEP_SIGN, [
      ...[id, progress, task, tokensIn, tail(log)],
      ...[tokensCached, tokensOut],
    ]);
  }

  async end(
    tx: Transaction,
    id: number,
    end: {
      output: unknown;
      tokensIn?: number | undefined;
      tokensCached?: number | undefined;
      tokensOut?: number | undefined;
      log?: string | undefined;
    },
  ): Promise<void> {
    await tx.query(sql.END_STEP, [
      id,
      storable(end.output),
      end.tokensIn ?? null,
      end.tokensOut ?? null,
      end.log === undefined ? null : tail(end.log),
      end.tokensCached ?? null,
    ]);
  }

  /** Processes of steps that did not end: they belong to a leader that is gone. */
  async strayProcesses(run: string): Promise<readonly { step: number; process: WorkerIdentity }[]> {
    return this.#database.query<{ step: number; process: WorkerIdentity }>(sql.STRAYS, [run]);
  }

  async manifest(run: string, step: number): Promise<ContextManifest | null> {
    const [row] = await this.#database.query<{ manifest: ContextManifest }>(sql.MANIFEST, [
      run,
      step,
    ]);
    return row?.manifest ?? null;
  }

  /**
   * What the integration command failed with is tried again when it is asked for: something else
   * may have changed.
   */
  async forgetFailedIntegrations(tx: Transaction, run: string, port: string): Promise<void> {
    await tx.query(sql.FORGET_FAILED, [run, port]);
  }
}

interface PortTriesMade {
  readonly made: number;
  readonly isBroken: boolean;
  readonly waiting: StepWaiting | null;
  /** Its tests pass without its work too. */
  readonly unproven: boolean;
}

/** Its end, without what a terminal obeys. */
function tail(text: string): string {
  const kept = stripVTControlCharacters(text.slice(-MAX_LOG));
  return text.length > MAX_LOG ? `…${kept}` : kept;
}
