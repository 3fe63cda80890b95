/** The records of runs: what is read and written of them in one place. */

import { stripVTControlCharacters } from "node:util";
import * as sql from "./run-statements.ts";
import type { Database, Transaction } from "../../durable/database.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import { storable } from "../../durable/storable.ts";
import type { Member, PlanRunStatus, RunOutcome } from "../../kernel/plans.ts";
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
   * As `write`, in one statement: what needs no answer in between. Gives the rows of the write that
   * returns some.
   */
  async put<Row extends object>(lease: Lease, writes: readonly Write[]): Promise<Row[]> {
    const parts = writes.map(({ part }) => part);
    const rows = await this.#database.query<Row>(sql.putStatement(parts), [
      ...[lease.name, lease.holder, lease.epoch],
      ...writes.flatMap(({ values }) => values),
    ]);
    // It says who has the lease.
    if (rows.length === 0) await this.write(lease, async () => {});

    return rows;
  }

  /**
   * Writes all of them. `also` writes with them, and is told what all of the run have used where they
   * count that.
   */
  async putAll(
    lease: Lease,
    { writes, stored }: Counting,
    also?: (tx: Transaction, use: StoredUse | undefined) => Promise<void>,
  ): Promise<void> {
    const used = async (): Promise<StoredUse | undefined> => {
      const rows = also
        ? await this.write(lease, async (tx) => {
            const returned: UseRow[] = [];
            for (const write of writes) {
              const found = await writeIn<UseRow>(tx, write);
              if (write.part.returns) returned.push(...found);
            }
            await also(tx, returned[0] && useOf(returned[0]));
            return returned;
          })
        : await this.put<UseRow>(lease, writes);
      // The row of a statement that counted nothing holds none.
      return typeof rows[0]?.tokens_in === "number" ? useOf(rows[0]) : undefined;
    };
    const use = await used();
    if (use) stored(use);
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
    if (changes.length > 0) await writeIn(tx, portsChanged(run, changes));
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

  /** What a port may use now, and what its run has used and may. */
  async allowances(run: string, port: string): Promise<Allowances | undefined> {
    const [row] = await this.#database.query<AllowanceRow>(sql.ALLOWANCES, [run, port]);
    if (!row) return undefined;
    const ofPort = {
      timeMs: row.time_ms,
      tokensMost: row.tokens_most,
      triesPair: row.tries_pair,
      triesOrchestrator: row.tries_orchestrator,
      hint: row.hint,
      grants: row.grants,
      weakerTestsAccepted: row.weaker_tests_accepted,
    };
    return { ofPort, ofRun: useOf(row.run) };
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
  async settle(tx: Transaction, run: string, settling: Settling): Promise<void> {
    await writeIn(tx, settled(run, settling));
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

  async violation(lease: Lease, run: string, violation: NewViolation): Promise<void> {
    await this.put(lease, violationsFound(run, [violation]));
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

/** What a port may use, and what its run has used and may. */
interface Allowances {
  readonly ofPort: Pick<
    PlanPort,
    | "timeMs"
    | "tokensMost"
    | "triesPair"
    | "triesOrchestrator"
    | "hint"
    | "grants"
    | "weakerTestsAccepted"
  >;
  readonly ofRun: StoredUse;
}

type AllowanceRow = Pick<
  PortRow,
  | "time_ms"
  | "tokens_most"
  | "tries_pair"
  | "tries_orchestrator"
  | "hint"
  | "grants"
  | "weaker_tests_accepted"
> & { readonly run: UseRow };

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

/** What is written under the lease of a run, alone or with others. */
export interface Write {
  readonly part: sql.WritePart;
  readonly values: readonly unknown[];
}

/** Writes of which one may count what was used. */
export interface Counting {
  readonly writes: readonly Write[];
  /** Told what all of the run have used then. */
  readonly stored: (use: StoredUse) => void;
}

/** In a transaction that has looked at the lease. */
export function writeIn<Row extends object>(
  tx: Transaction,
  { part, values }: Write,
): Promise<Row[]> {
  return tx.query<Row>(sql.aloneStatement(part), values);
}

export function portsChanged(run: string, changes: readonly PortChange[]): Write {
  return { part: sql.CHANGE_PORTS, values: [run, storable(changes.map(portParameter))] };
}

/** What a worker has used. It returns what all of the run have. */
export function useAdded(run: string, { input, cached, output, calls }: Used): Write {
  return { part: sql.ADD_TOKENS, values: [run, input, output, calls, cached] };
}

export function eventsEmitted(events: readonly NewPlatformEvent[]): readonly Write[] {
  return events.length === 0 ? [] : [{ part: sql.EMIT, values: [storable(events)] }];
}

/** A sign of a worker. Its tokens are those of all starts of the step so far. */
export function stepSigned(
  id: number,
  sign: Pick<PlanStep, "progress" | "task" | "tokensIn" | "tokensCached" | "tokensOut" | "log">,
): Write {
  const { progress, task, tokensIn, tokensCached, tokensOut, log } = sign;
  const values = [id, progress, task, tokensIn, tail(log), tokensCached, tokensOut];
  return { part: sql.STEP_SIGN, values };
}

export function stepEnded(
  id: number,
  end: {
    output: unknown;
    tokensIn?: number | undefined;
    tokensCached?: number | undefined;
    tokensOut?: number | undefined;
    log?: string | undefined;
  },
): Write {
  const values = [
    id,
    storable(end.output),
    end.tokensIn ?? null,
    end.tokensOut ?? null,
    end.log === undefined ? null : tail(end.log),
    end.tokensCached ?? null,
  ];
  return { part: sql.END_STEP, values };
}

/** What a step waits for; null: it goes on. */
export function stepWaits(id: number, waiting: StepWaiting | null): Write {
  return { part: sql.STEP_WAITING, values: [id, storable(waiting)] };
}

export function settled(run: string, { ports, types, except = [] }: Settling): Write {
  const values = [run, ports ? [...ports] : null, types ? [...types] : null, [...except]];
  return { part: sql.SETTLE, values };
}

export function violationsFound(
  run: string,
  violations: readonly NewViolation[],
): readonly Write[] {
  return violations.length === 0
    ? []
    : [{ part: sql.VIOLATION, values: [run, storable(violations)] }];
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
  readonly #records: Pick<RunRecords, "put">;

  constructor(database: Database, records: Pick<RunRecords, "put">) {
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
  async triesMade(
    run: string,
    ports?: readonly string[],
  ): Promise<ReadonlyMap<string, PortTriesMade>> {
    const rows = await this.#database.query<{
      port: string;
      tries: number;
      is_broken: boolean;
      waiting: StepWaiting | null;
      is_unproven: boolean | null;
    }>(sql.TRIES_MADE, [run, ports ? [...ports] : null]);
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

  /** What a member by this kind of worker has of its earlier steps and answers. */
  async past(run: string, port: string, { member, worker, before }: PastOf): Promise<StoredPast> {
    const given = [run, port, member, worker, before ?? null];
    const [row] = await this.#database.query<PastRow>(sql.PAST, given);
    const { step, session, talked_at: talked, summary, answered, answered_at: at } = row!;

    return {
      step,
      session,
      talkedAt: talked?.getTime() ?? null,
      summary,
      answered,
      answeredAt: at?.getTime() ?? null,
    };
  }

  /** Tries of a port that its pair has made. */
  async pairTries(run: string, port: string, tx?: Transaction): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ tries: number }>(sql.PAIR_TRIES, [
      run,
      port,
    ]);
    return row!.tries;
  }

  /**
   * The step's row: made now, found running (a crash lies between), or found done. `tells`: the event
   * of a worker that is begun.
   */
  async begin(
    lease: Lease,
    step: NewStep,
    tells: readonly NewPlatformEvent[] = [],
  ): Promise<PlanStep> {
    const hookToken = newHookToken();
    const values = [
      step.run,
      step.port,
      step.try,
      step.kind,
      step.member ?? null,
      step.worker ?? null,
      step.manifest === undefined ? null : storable(step.manifest),
      hashHookToken(hookToken),
    ];
    const told = tells.map((event) => ({ part: sql.EMIT_BEGUN, values: [storable([event])] }));
    const begun = { part: sql.BEGIN_STEP, values };
    const [row] = await this.#records.put<StepRow>(lease, [begun, ...told]);

    return { ...stepOf(row!), hookToken };
  }

  async noteProcess(lease: Lease, id: number, identity: WorkerIdentity): Promise<void> {
    await this.#records.put(lease, [{ part: sql.STEP_PROCESS, values: [id, storable(identity)] }]);
  }

  /** The conversation that the agent of a step has opened. */
  async noteSession(lease: Lease, id: number, session: string): Promise<void> {
    await this.#records.put(lease, [{ part: sql.STEP_SESSION, values: [id, session] }]);
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

/** Whose past; `before`: in tries before this one. */
interface PastOf {
  readonly member: Member;
  readonly worker: string;
  readonly before?: number | undefined;
}

/** Null: there is none. Moments in milliseconds. */
interface StoredPast {
  /** Its last one. */
  readonly step: number | null;
  /** The last conversation of its steps, and when that one began. */
  readonly session: string | null;
  readonly talkedAt: number | null;
  readonly summary: string | null;
  /** The conversation of its last answer. */
  readonly answered: string | null;
  readonly answeredAt: number | null;
}

type PastRow = Pick<StoredPast, "step" | "session" | "summary" | "answered"> & {
  readonly talked_at: Date | null;
  readonly answered_at: Date | null;
};

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
