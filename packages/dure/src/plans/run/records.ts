import type { Database, Transaction } from "../../durable/database.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import { storable } from "../../durable/storable.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { EscalationSeverity, EscalationType } from "../../kernel/escalation.ts";
import type { NewPlatformEvent } from "../../kernel/platform-events.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { Promises } from "../sandbox/proof.ts";
import type { Plan } from "../plan.ts";
import type { PortStatus } from "../scheduler.ts";
import type { ProcessIdentity } from "../sandbox/sandbox.ts";
import type { Member } from "../workers/worker.ts";
import { hashHookToken, newHookToken } from "./hook-token.ts";
import { LISTEN_SLOTS } from "./listen.ts";
import { workerNode } from "./tree.ts";
import type {
  Because,
  PathGrant,
  PlanPort,
  PlanRun,
  PlanRunStatus,
  PlanStep,
  RunMode,
  RunOrder,
  RunPhase,
  RunReport,
  StepKind,
} from "./run.ts";

/** Rows that one statement reads of a list. */
const PAGE = 200;
/** Other runs that may take the same slot of TCP ports in the same moment. Source: our choice. */
const MAX_CLAIMS = 20;
/** Source: PostgreSQL, appendix A. */
const UNIQUE_VIOLATION = "23505";
/** Characters kept of what a step printed, its end. Source: our choice. */
const MAX_LOG = 32_000;

/**
 * Change of a port; what is absent stays. `add…` is added to what the row has, so that two writers
 * do not lose each other's.
 */
export interface PortChange {
  readonly position: number;
  readonly status?: PortStatus | undefined;
  readonly attempt?: number | undefined;
  readonly because?: Because | null | undefined;
  readonly triesPair?: number | undefined;
  readonly triesOrchestrator?: number | undefined;
  readonly addSpentMs?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly addTokensIn?: number | undefined;
  readonly addTokensOut?: number | undefined;
  readonly tokensMost?: number | null | undefined;
  readonly hint?: string | null | undefined;
  readonly grants?: readonly PathGrant[] | undefined;
  readonly startCommit?: string | null | undefined;
  readonly resultCommit?: string | null | undefined;
}

export interface RunChange {
  readonly status?: PlanRunStatus | undefined;
  readonly phase?: RunPhase | undefined;
  readonly startCommit?: string | undefined;
  readonly isolation?: string | undefined;
  readonly promises?: Promises | undefined;
  readonly mode?: RunMode | undefined;
  readonly report?: RunReport | undefined;
  readonly because?: Because | null | undefined;
  readonly tokensMost?: number | undefined;
}

export interface NewRun {
  readonly id: string;
  readonly tenant: string;
  readonly plan: Plan;
  readonly file: string | null;
  readonly repository: string;
  readonly folder: string;
  readonly host: string;
  readonly baseCommit: string;
  readonly startedBy: string;
  readonly key: string | null;
  readonly bodyHash: string;
  readonly triesOrchestrator: number;
}

export interface OpenOrder {
  readonly id: number;
  readonly order: RunOrder;
  readonly by: string;
}

export type OrderOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string };

/**
 * The rows of runs. Whoever leads a run writes through `write`, which nobody may who has lost its
 * lease.
 */
export class RunRecords {
  readonly #database: Database;
  readonly #leases: Leases;

  constructor(options: { database: Database; leases: Leases }) {
    this.#database = options.database;
    this.#leases = options.leases;
  }

  /** False when a run was begun under this key before; then nothing is written. */
  async create(run: NewRun, events: readonly NewPlatformEvent[]): Promise<boolean> {
    return this.#database.transaction(async (tx) => {
      const made = await tx.query(CREATE, [
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
        run.plan.limits.budget?.tokens ?? null,
      ]);
      if (made.length === 0) return false;
      const ports = run.plan.ports.map((port, position) => ({
        position,
        id: port.id,
        tries_pair: run.plan.limits.tries,
        tries_orchestrator: run.triesOrchestrator,
        time_ms: port.timeoutMs,
        tokens_most: port.budget?.tokens ?? null,
      }));
      await tx.query(CREATE_PORTS, [run.id, storable(ports)]);
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
      await tx.query(CHANGE_PORTS, [run, storable(changes.map(portParameter))]);
    }
  }

  /**
   * Ports that have an outcome now: steps that were under way have stopped, and what came of the
   * others is told.
   */
  async stopSteps(tx: Transaction, run: string, ports: readonly string[]): Promise<void> {
    if (ports.length > 0) await tx.query(STOP_STEPS, [run, [...ports]]);
  }

  async changeRun(tx: Transaction, run: string, change: RunChange): Promise<void> {
    const { status, phase, startCommit, isolation, promises, mode, report } = change;
    await tx.query(CHANGE_RUN, [
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
    ]);
  }

  async addTokens(
    tx: Transaction,
    run: string,
    tokens: { input: number; output: number },
  ): Promise<{ used: number; most: number | null }> {
    const [row] = await tx.query<{ used: number; most: number | null }>(ADD_TOKENS, [
      run,
      tokens.input,
      tokens.output,
    ]);
    return row!;
  }

  async run(id: string, tx?: Transaction): Promise<PlanRun | undefined> {
    const [row] = await (tx ?? this.#database).query<RunRow>(RUN, [id]);
    return row && runOf(row);
  }

  async runByKey(
    tenant: string,
    key: string,
  ): Promise<{ run: PlanRun; bodyHash: string } | undefined> {
    const [row] = await this.#database.query<RunRow & { body_hash: string }>(RUN_BY_KEY, [
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
  }): Promise<readonly { run: PlanRun; seq: number; counts: Readonly<Record<string, number>> }[]> {
    const rows = await this.#database.query<
      RunRow & { seq: number; counts: Record<string, number> | null }
    >(RUNS, [
      filter.tenant,
      filter.plan ?? null,
      filter.status ?? null,
      filter.before ?? null,
      Math.min(filter.limit, PAGE),
    ]);
    return rows.map((row) => ({ run: runOf(row), seq: row.seq, counts: row.counts ?? {} }));
  }

  async ports(run: string): Promise<PlanPort[]> {
    return (await this.#database.query<PortRow>(PORTS, [run])).map(portOf);
  }

  async port(run: string, id: string, tx?: Transaction): Promise<PlanPort | undefined> {
    const [row] = await (tx ?? this.#database).query<PortRow>(PORT, [run, id]);
    return row && portOf(row);
  }

  /** Those of them, in the order of the plan. */
  async portsNamed(run: string, ids: readonly string[]): Promise<PlanPort[]> {
    return ids.length === 0
      ? []
      : (await this.#database.query<PortRow>(PORTS_NAMED, [run, [...ids]])).map(portOf);
  }

  // --- steps

  async steps(run: string, port?: string): Promise<PlanStep[]> {
    return (await this.#database.query<StepRow>(STEPS, [run, port ?? null])).map(stepOf);
  }

  /**
   * Tries that were begun, by port; a port without one is absent. `isBroken`: what another port
   * made broke its check once.
   */
  async triesMade(
    run: string,
  ): Promise<ReadonlyMap<string, { readonly made: number; readonly isBroken: boolean }>> {
    const rows = await this.#database.query<{ port: string; tries: number; is_broken: boolean }>(
      TRIES_MADE,
      [run],
    );
    return new Map(
      rows.map(({ port, tries, is_broken: isBroken }) => [port, { made: tries, isBroken }]),
    );
  }

  /** Tries of a port that its pair has made. */
  async pairTries(run: string, port: string, tx?: Transaction): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ tries: number }>(PAIR_TRIES, [run, port]);
    return row!.tries;
  }

  /** The step's row: made now, found running (a crash lies between), or found done. */
  async beginStep(
    lease: Lease,
    step: {
      run: string;
      port: string;
      try: number;
      kind: StepKind;
      member?: Member | undefined;
      worker?: string | undefined;
      manifest?: unknown;
    },
  ): Promise<PlanStep> {
    return this.write(lease, async (tx) => {
      const hookToken = newHookToken();
      const [row] = await tx.query<StepRow>(BEGIN_STEP, [
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

  async stepProcess(lease: Lease, id: number, identity: ProcessIdentity): Promise<void> {
    await this.write(lease, (tx) => tx.query(STEP_PROCESS, [id, storable(identity)]));
  }

  /** A sign of a worker. `tokensIn`: of all starts of the step so far. */
  async stepSign(
    tx: Transaction,
    id: number,
    sign: { progress: number; task: string; tokensIn: number; log: string },
  ): Promise<void> {
    await tx.query(STEP_SIGN, [id, sign.progress, sign.task, sign.tokensIn, tail(sign.log)]);
  }

  async endStep(
    tx: Transaction,
    id: number,
    end: {
      output: unknown;
      tokensIn?: number | undefined;
      tokensOut?: number | undefined;
      log?: string | undefined;
    },
  ): Promise<void> {
    await tx.query(END_STEP, [
      id,
      storable(end.output),
      end.tokensIn ?? null,
      end.tokensOut ?? null,
      end.log === undefined ? null : tail(end.log),
    ]);
  }

  /** Processes of steps that did not end: they belong to a leader who is gone. */
  async strayProcesses(
    run: string,
  ): Promise<readonly { step: number; process: ProcessIdentity }[]> {
    return this.#database.query<{ step: number; process: ProcessIdentity }>(STRAYS, [run]);
  }

  async manifest(run: string, step: number): Promise<unknown> {
    const [row] = await this.#database.query<{ manifest: unknown }>(MANIFEST, [run, step]);
    return row?.manifest ?? null;
  }

  /**
   * What the integration command failed with is tried again when it is asked for: something else
   * may have changed.
   */
  async forgetFailedIntegrations(tx: Transaction, run: string, port: string): Promise<void> {
    await tx.query(FORGET_FAILED, [run, port]);
  }

  // --- escalations

  /** Questions of the run that nobody needs to answer any more. */
  async settle(
    tx: Transaction,
    run: string,
    { ports, types, except = [], severity }: Settling,
  ): Promise<void> {
    await tx.query(SETTLE, [
      run,
      ports ? [...ports] : null,
      types ? [...types] : null,
      [...except],
      severity ?? null,
    ]);
  }

  // --- orders

  async order(
    tx: Transaction | undefined,
    run: string,
    order: RunOrder,
    by: string,
  ): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ id: number }>(ORDER, [
      run,
      storable(order),
      by,
    ]);
    return row!.id;
  }

  async openOrders(run: string): Promise<readonly OpenOrder[]> {
    const rows = await this.#database.query<{ id: number; wish: RunOrder; by_whom: string }>(
      OPEN_ORDERS,
      [run],
    );
    return rows.map(({ id, wish, by_whom }) => ({ id, order: wish, by: by_whom }));
  }

  async closeOrder(tx: Transaction, id: number, outcome: OrderOutcome): Promise<void> {
    await tx.query(CLOSE_ORDER, [id, storable(outcome)]);
  }

  async orderOutcome(id: number): Promise<OrderOutcome | undefined> {
    const [row] = await this.#database.query<{ outcome: OrderOutcome | null }>(ORDER_OUTCOME, [id]);
    return row?.outcome ?? undefined;
  }

  // --- violations

  async violation(
    tx: Transaction,
    run: string,
    violation: {
      port: string;
      try: number;
      member: Member;
      path: string;
      wanted: "read" | "write";
      because: string;
      detail?: string | undefined;
      found: "request" | "commit";
    },
  ): Promise<void> {
    await tx.query(VIOLATION, [
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
    const rows = await this.#database.query<Omit<PlanViolation, "at"> & { at: Date }>(VIOLATIONS, [
      run,
      port ?? null,
    ]);
    return rows.map((row) => ({ ...row, at: row.at.getTime() }));
  }

  // --- clean

  /**
   * Ended runs of a machine whose files are there, oldest first, and those of which a part is gone.
   * `tenant` null or undefined: of all.
   */
  async cleanable(about: {
    tenant: TenantView | undefined;
    host: string;
    olderThanMs: number;
    after: number;
    limit: number;
  }): Promise<readonly { id: string; seq: number }[]> {
    return this.#database.query(CLEANABLE, [
      about.tenant ?? null,
      about.host,
      about.olderThanMs,
      about.after,
      Math.min(about.limit, PAGE),
    ]);
  }

  /**
   * From now on nobody works on the run, and its questions need no answer. False: somebody wants
   * something of it.
   */
  async beginClean(tx: Transaction, run: string): Promise<boolean> {
    if ((await tx.query(BEGIN_CLEAN, [run])).length === 0) return false;
    await this.settle(tx, run, {});
    return true;
  }

  async cleaned(tx: Transaction, run: string): Promise<void> {
    await tx.query(CLEANED, [run]);
  }

  // --- who leads

  /**
   * A slot of TCP ports that no other run of this machine has. Kept by a run that has one; runs
   * beyond the last slot go without.
   */
  async claimListenSlot(lease: Lease, run: string): Promise<void> {
    for (let tries = 1; tries <= MAX_CLAIMS; tries++) {
      try {
        return await this.write(
          lease,
          async (tx) => void (await tx.query(CLAIM_LISTEN, [run, LISTEN_SLOTS])),
        );
      } catch (error) {
        if (codeOf(error) !== UNIQUE_VIOLATION) throw error; // another run took the same one in this moment
      }
    }
  }

  async releaseListenSlot(lease: Lease, run: string): Promise<void> {
    await this.write(lease, (tx) => tx.query(RELEASE_LISTEN, [run]));
  }

  /** Runs of this machine that want a leader: they go on, or somebody wants something of them. */
  async waiting(host: string, known: readonly string[]): Promise<readonly string[]> {
    return (await this.#database.query<{ id: string }>(WAITING, [host, [...known]])).map(
      ({ id }) => id,
    );
  }

  /** A process of this machine lives. */
  async hostSeen(host: string): Promise<void> {
    await this.#database.query(HOST_SEEN, [host]);
  }

  /** Runs of other machines that wait for theirs, which is still gone. */
  async deserted(host: string, afterMs: number): Promise<readonly string[]> {
    return (await this.#database.query<{ id: string }>(DESERTED, [host, afterMs])).map(
      ({ id }) => id,
    );
  }

  /**
   * Runs whose machine has had no living process for `afterMs`: nobody can go on with them. Gives
   * those that were not known to be so.
   */
  async orphaned(
    tx: Transaction,
    afterMs: number,
  ): Promise<readonly { id: string; host: string; tenant: string; plan: string }[]> {
    return tx.query(ORPHANED, [afterMs]);
  }
}

/** Which open questions of a run: every member that is given must fit. */
export interface Settling {
  /** `""`: those of no port. */
  readonly ports?: readonly string[];
  readonly types?: readonly EscalationType[];
  readonly except?: readonly EscalationType[];
  readonly severity?: EscalationSeverity;
}

export interface PlanViolation {
  readonly port: string;
  readonly try: number;
  readonly member: Member;
  readonly path: string;
  readonly wanted: "read" | "write";
  readonly because: string;
  readonly detail: string | null;
  readonly found: "request" | "commit";
  readonly at: number;
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

function tail(text: string): string {
  return text.length > MAX_LOG ? `…${text.slice(-MAX_LOG)}` : text;
}

function portParameter(change: PortChange): Record<string, unknown> {
  const {
    position,
    triesPair,
    triesOrchestrator,
    addSpentMs,
    timeMs,
    addTokensIn,
    addTokensOut,
    tokensMost,
    startCommit,
    resultCommit,
    ...same
  } = change;
  const named = {
    tries_pair: triesPair,
    tries_orchestrator: triesOrchestrator,
    add_spent_ms: addSpentMs === undefined ? undefined : Math.round(addSpentMs),
    time_ms: timeMs,
    add_tokens_in: addTokensIn,
    add_tokens_out: addTokensOut,
    tokens_most: tokensMost,
    start_commit: startCommit,
    result_commit: resultCommit,
  };
  return { position, ...same, ...named };
}

interface RunRow {
  readonly id: string;
  readonly tenant: string;
  readonly definition: Plan;
  readonly file: string | null;
  readonly repository: string;
  readonly folder: string;
  readonly host: string;
  readonly base_commit: string;
  readonly start_commit: string | null;
  readonly status: PlanRunStatus;
  readonly status_before: PlanRunStatus | null;
  readonly phase: RunPhase;
  readonly listen_slot: number | null;
  readonly isolation: string | null;
  readonly promises: Promises | null;
  readonly mode: RunMode | null;
  readonly report: RunReport | null;
  readonly because: Because | null;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_most: number | null;
  readonly started_by: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly finished_at: Date | null;
  readonly clean_began_at: Date | null;
}

function runOf(row: RunRow): PlanRun {
  return {
    id: row.id,
    tenant: row.tenant,
    plan: row.definition,
    file: row.file,
    repository: row.repository,
    folder: row.folder,
    host: row.host,
    baseCommit: row.base_commit,
    startCommit: row.start_commit,
    status: row.status,
    statusBefore: row.status_before,
    phase: row.phase,
    listenSlot: row.listen_slot,
    isolation: row.isolation,
    promises: row.promises,
    mode: row.mode,
    report: row.report,
    because: row.because,
    tokensIn: row.tokens_in,
    tokensOut: row.tokens_out,
    tokensMost: row.tokens_most,
    startedBy: row.started_by,
    createdAt: row.created_at.getTime(),
    updatedAt: row.updated_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
    cleanedAt: row.clean_began_at?.getTime() ?? null,
  };
}

interface PortRow {
  readonly position: number;
  readonly id: string;
  readonly status: PortStatus;
  readonly attempt: number;
  readonly because: Because | null;
  readonly tries_pair: number;
  readonly tries_orchestrator: number;
  readonly spent_ms: number;
  readonly time_ms: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_most: number | null;
  readonly hint: string | null;
  readonly grants: readonly PathGrant[];
  readonly start_commit: string | null;
  readonly result_commit: string | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
}

function portOf(row: PortRow): PlanPort {
  return {
    position: row.position,
    id: row.id,
    status: row.status,
    attempt: row.attempt,
    because: row.because,
    triesPair: row.tries_pair,
    triesOrchestrator: row.tries_orchestrator,
    spentMs: row.spent_ms,
    timeMs: row.time_ms,
    tokensIn: row.tokens_in,
    tokensOut: row.tokens_out,
    tokensMost: row.tokens_most,
    hint: row.hint,
    grants: row.grants,
    startCommit: row.start_commit,
    resultCommit: row.result_commit,
    startedAt: row.started_at?.getTime() ?? null,
    finishedAt: row.finished_at?.getTime() ?? null,
  };
}

interface StepRow {
  readonly id: number;
  readonly run: string;
  readonly port: string;
  readonly try: number;
  readonly kind: StepKind;
  readonly member: Member | null;
  readonly worker: string | null;
  readonly status: PlanStep["status"];
  readonly told: boolean;
  readonly starts: number;
  readonly progress: number;
  readonly task: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly output: unknown;
  readonly log: string;
  readonly started_at: Date;
  readonly seen_at: Date;
  readonly finished_at: Date | null;
}

function stepOf(row: StepRow): PlanStep {
  return {
    id: row.id,
    node: workerNode(row.run, row),
    port: row.port,
    try: row.try,
    kind: row.kind,
    member: row.member,
    worker: row.worker,
    status: row.status,
    told: row.told,
    starts: row.starts,
    progress: row.progress,
    task: row.task,
    tokensIn: row.tokens_in,
    tokensOut: row.tokens_out,
    output: row.output,
    log: row.log,
    startedAt: row.started_at.getTime(),
    seenAt: row.seen_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
  };
}

const CREATE = {
  name: "plan.create",
  text: `insert into dure.plan_runs (id, tenant, plan, definition, file, repository, folder, host, base_commit, started_by, start_key, body_hash, tokens_most)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict (tenant, start_key) where start_key is not null do nothing returning id`,
};
const CREATE_PORTS = {
  name: "plan.create_ports",
  text: `insert into dure.plan_ports (run, position, id, tries_pair, tries_orchestrator, time_ms, tokens_most)
    select $1, p.position, p.id, p.tries_pair, p.tries_orchestrator, p.time_ms, p.tokens_most
      from jsonb_to_recordset($2) as p(position integer, id text, tries_pair integer, tries_orchestrator integer, time_ms bigint, tokens_most bigint)`,
};
const CHANGE_PORTS = { name: "plan.change_ports", text: "select dure.change_ports($1, $2)" };
const CHANGE_RUN = {
  name: "plan.change_run",
  text: `update dure.plan_runs set status = coalesce($2, status), phase = coalesce($3, phase), start_commit = coalesce($4, start_commit), isolation = coalesce($5, isolation),
      mode = coalesce($6::jsonb, mode), report = coalesce($7::jsonb, report), because = case when $8 then because else nullif($9::jsonb, 'null') end, tokens_most = coalesce($10, tokens_most), promises = coalesce($11::jsonb, promises), updated_at = clock_timestamp(),
      finished_at = case when $2 is null then finished_at when $2 in ('success', 'partial', 'failed', 'cancelled') then clock_timestamp() end
    where id = $1`,
};
const ADD_TOKENS = {
  name: "plan.add_tokens",
  text: "update dure.plan_runs set tokens_in = tokens_in + $2, tokens_out = tokens_out + $3, updated_at = clock_timestamp() where id = $1 returning tokens_in + tokens_out as used, tokens_most as most",
};
const RUN = { name: "plan.run", text: "select * from dure.plan_runs where id = $1" };
const RUN_BY_KEY = {
  name: "plan.run_by_key",
  text: "select * from dure.plan_runs where tenant = $1 and start_key = $2",
};
const RUNS = {
  name: "plan.runs",
  text: `select r.*, (select jsonb_object_agg(status, n) from (select p.status, count(*) as n from dure.plan_ports p where p.run = r.id group by 1) c) as counts
    from dure.plan_runs r where ($1::text is null or r.tenant = $1) and ($2::text is null or r.plan = $2) and ($3::text is null or r.status = $3) and ($4::bigint is null or r.seq < $4)
    order by r.seq desc limit $5`,
};
const PORTS = {
  name: "plan.ports",
  text: "select * from dure.plan_ports where run = $1 order by position",
};
const PORT = {
  name: "plan.port",
  text: "select * from dure.plan_ports where run = $1 and id = $2",
};
const PORTS_NAMED = {
  name: "plan.ports_named",
  text: "select * from dure.plan_ports where run = $1 and id = any($2) order by position",
};
const STEPS = {
  name: "plan.steps",
  text: "select * from dure.plan_steps where run = $1 and ($2::text is null or port = $2) order by id limit 2000",
};
const TRIES_MADE = {
  name: "plan.tries_made",
  text: "select port, max(try) as tries, bool_or(kind = 'module' and output->'broken' ? 'by') is true as is_broken from dure.plan_steps where run = $1 and kind in ('implement', 'module') group by port",
};
const PAIR_TRIES = {
  name: "plan.pair_tries",
  text: "select count(*)::integer as tries from dure.plan_steps where run = $1 and port = $2 and kind = 'implement' and member = 'implementer' and status = 'done'",
};
const BEGIN_STEP = {
  name: "plan.begin_step",
  text: `insert into dure.plan_steps as s (run, port, try, kind, member, worker, manifest, hook_hash) values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict (run, port, try, kind) do update set
      starts = s.starts + case when s.status = 'done' then 0 else 1 end,
      process = case when s.status = 'done' then s.process end,
      seen_at = case when s.status = 'done' then s.seen_at else clock_timestamp() end,
      status = case when s.status = 'done' then s.status else 'running' end,
      told = s.status = 'done' and s.told,
      member = case when s.status = 'done' then s.member else excluded.member end,
      worker = case when s.status = 'done' then s.worker else excluded.worker end,
      manifest = case when s.status = 'done' then s.manifest else coalesce(excluded.manifest, s.manifest) end,
      hook_hash = case when s.status = 'done' then null else excluded.hook_hash end
    returning *`,
};
const STEP_PROCESS = {
  name: "plan.step_process",
  text: "update dure.plan_steps set process = $2 where id = $1",
};
const STEP_SIGN = {
  name: "plan.step_sign",
  text: "update dure.plan_steps set progress = greatest(progress, $2), task = $3, tokens_in = $4, log = $5, seen_at = clock_timestamp() where id = $1 and status = 'running'",
};
const END_STEP = {
  name: "plan.end_step",
  text: `update dure.plan_steps set status = 'done', output = $2, progress = 1, process = null, hook_hash = null, tokens_in = coalesce($3, tokens_in), tokens_out = coalesce($4, tokens_out), log = coalesce($5, log),
    seen_at = clock_timestamp(), finished_at = clock_timestamp() where id = $1`,
};
const STOP_STEPS = {
  name: "plan.stop_steps",
  text: `update dure.plan_steps set told = true, finished_at = case when status = 'running' then clock_timestamp() else finished_at end, process = null, status = case when status = 'running' then 'stopped' else status end
    where run = $1 and port = any($2) and (status = 'running' or not told)`,
};
const FORGET_FAILED = {
  name: "plan.forget_failed",
  text: "update dure.plan_steps set status = 'stopped' where run = $1 and port = $2 and kind = 'integrate' and status = 'done' and output #>> '{feedback,success}' = 'false'",
};
const SETTLE = {
  name: "plan.settle",
  text: `select c.id from dure.escalations e cross join lateral dure.close_escalation(e.id, 'resolved', '{"value": "settled"}', 'system') c
    where e.run = $1 and e.status = 'open' and ($2::text[] is null or coalesce(e.port, '') = any($2)) and ($3::text[] is null or e.type = any($3)) and e.type <> all($4::text[]) and ($5::text is null or e.severity = $5)`,
};
const STRAYS = {
  name: "plan.strays",
  text: "select id as step, process from dure.plan_steps where run = $1 and status = 'running' and process is not null",
};
const MANIFEST = {
  name: "plan.manifest",
  text: "select manifest from dure.plan_steps where run = $1 and id = $2",
};
const ORDER = {
  name: "plan.order",
  text: "insert into dure.plan_orders (run, wish, by_whom) values ($1, $2, $3) returning id",
};
const OPEN_ORDERS = {
  name: "plan.open_orders",
  text: "select id, wish, by_whom from dure.plan_orders where run = $1 and outcome is null order by id limit 100",
};
const CLOSE_ORDER = {
  name: "plan.close_order",
  text: "update dure.plan_orders set outcome = $2, done_at = clock_timestamp() where id = $1",
};
const ORDER_OUTCOME = {
  name: "plan.order_outcome",
  text: "select outcome from dure.plan_orders where id = $1",
};
const VIOLATION = {
  name: "plan.violation",
  text: "insert into dure.plan_violations (run, port, try, member, path, wanted, because, detail, found) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
};
const VIOLATIONS = {
  name: "plan.violations",
  text: "select port, try, member, path, wanted, because, detail, found, at from dure.plan_violations where run = $1 and ($2::text is null or port = $2) order by id limit 500",
};
const WAITING = {
  name: "plan.waiting",
  text: `select r.id from dure.plan_runs r left join dure.leases l on l.name = 'run:' || r.id
    where r.host = $1 and r.id <> all($2::text[])
      and (r.status in ('running', 'paused', 'cancelling', 'waiting_host') or exists (select 1 from dure.plan_orders o where o.run = r.id and o.outcome is null))
      and (l.holder is null or l.renewed_at < clock_timestamp() - interval '6 seconds' or exists (select 1 from dure.processes p where p.id = l.holder and p.ended_at is not null))
    order by r.seq limit 50`,
};
const CLEANABLE = {
  name: "plan.cleanable",
  text: `select id, seq from dure.plan_runs
    where host = $2 and ($1::text is null or tenant = $1) and cleaned_at is null and seq > $4
      and (clean_began_at is not null or (finished_at <= clock_timestamp() - $3::double precision * interval '1 millisecond' and status in ('success', 'partial', 'failed', 'cancelled')))
    order by seq limit $5`,
};
const BEGIN_CLEAN = {
  name: "plan.begin_clean",
  text: `update dure.plan_runs r set clean_began_at = coalesce(clean_began_at, clock_timestamp()), updated_at = clock_timestamp()
    where id = $1 and (clean_began_at is not null or not exists (select 1 from dure.plan_orders o where o.run = r.id and o.outcome is null)) returning id`,
};
const CLEANED = {
  name: "plan.cleaned",
  text: "update dure.plan_runs set cleaned_at = clock_timestamp(), updated_at = clock_timestamp() where id = $1",
};
const HOST_SEEN = {
  name: "plan.host_seen",
  text: "insert into dure.plan_hosts (host) values ($1) on conflict (host) do update set seen_at = clock_timestamp()",
};
const CLAIM_LISTEN = {
  name: "plan.claim_listen",
  text: `update dure.plan_runs r set listen_slot = (
      select min(slot) from generate_series(0, $2::integer - 1) slot
        where not exists (select 1 from dure.plan_runs o where o.host = r.host and o.listen_slot = slot))
    where r.id = $1 and r.listen_slot is null`,
};
const RELEASE_LISTEN = {
  name: "plan.release_listen",
  text: "update dure.plan_runs set listen_slot = null where id = $1 and listen_slot is not null",
};
const DESERTED = {
  name: "plan.deserted",
  text: `select r.id from dure.plan_runs r where r.status = 'waiting_host' and r.host <> $1
      and not exists (select 1 from dure.plan_hosts h where h.host = r.host and h.seen_at > clock_timestamp() - $2::double precision * interval '1 millisecond')
    order by r.seq limit 50`,
};
const ORPHANED = {
  name: "plan.orphaned",
  text: `update dure.plan_runs r set status = 'waiting_host', status_before = r.status, listen_slot = null, updated_at = clock_timestamp()
    where r.status in ('running', 'paused', 'cancelling')
      and r.created_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
      and not exists (select 1 from dure.plan_hosts h where h.host = r.host and h.seen_at > clock_timestamp() - $1::double precision * interval '1 millisecond')
    returning r.id, r.host, r.tenant, r.plan`,
};
