/** The runs of plans as the server and the command line see them. */

import path from "node:path";
import { createHash } from "node:crypto";
import type { EventLog } from "../../durable/event-log.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { SweepRule } from "../../durable/retention.ts";
import { DureError, ProcessError } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { Plan } from "../plan.ts";
import type { SettleSetup } from "../project/settle-setup.ts";
import type {
  ContextManifest,
  RunsCleaned,
  TestFeedback,
  Transcript,
  TranscriptFilter,
} from "../../wire/runs.ts";
import type { HookFeedbackTaken } from "../../wire/hooks.ts";
import { takeTestReport } from "../port/hooks.ts";
import { narrowed, type PortChoice } from "./narrow-plan.ts";
import { answerRuns } from "./run-answers.ts";
import {
  RunCleaner,
  type CleanFor,
  type CleanRuns,
  OldRuns,
  rowsOfOldRuns,
} from "./run-cleaner.ts";
import { RunCommands, RunReviews } from "./run-commands.ts";
import { RunLeading, type LeadingOptions } from "../lead/run-leading.ts";
import type { RunWork } from "../lead/leader-parts.ts";
import type { MovedConflict, MovedSolution } from "../merge/moved-conflict.ts";
import {
  RunQueries,
  type PortDetail,
  type RunDetail,
  type RunFilter,
  type RunFrame,
} from "./run-queries.ts";
import { noteDelivery, type DeliveryNote } from "../rows/published-rows.ts";
import { RunRecords } from "../rows/records.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import { ORCHESTRATOR_TRIES } from "../port/tries.ts";
import type { Leases } from "../../durable/leases.ts";
import type { Tried } from "../merge/integration.ts";
import { runCleaned } from "./run-requests.ts";

/** Wakes the processes of a machine: a run was begun, or an order to one is there. */
const RUNS_TOPIC = "plan-runs";

export interface RunsOptions extends LeadingOptions {
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly events: Pick<EventLog, "announce" | "now" | "read" | "follow" | "caughtUp">;
  /** Everything that dure was started with. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of data of this machine; runs keep their files in `plans/<run>`. */
  readonly home: string;
  /** What the base names in a repository: a commit. Throws what is wrong with the repository. */
  readonly resolveBase: (
    repository: string,
    base: string,
    options: { signal: AbortSignal },
  ) => Promise<{ commit: string; repository: string }>;
  /** A plan with `setup: auto` as the files of its base say. Default: it stays as it is. */
  readonly settle?: SettleSetup | undefined;
  /**
   * Files of runs that ended longer ago are removed by themselves, milliseconds, where nothing
   * unmerged goes with them. Default 90 days, as their rows.
   */
  readonly keepFilesMs?: number;
}

export interface StartRun extends PortChoice {
  readonly plan: Plan;
  /** Where it was read, for people. */
  readonly file?: string | undefined;
  /** The user's repository; default: what the caller's layer finds. */
  readonly repository: string;
  readonly tenant?: string | undefined;
  /** Its setup may reach what the repository names. Default false. */
  readonly reachesOut?: boolean | undefined;
  readonly by: string;
  /** The same key gives the same run. */
  readonly key?: string | undefined;
}

interface ForTenant {
  readonly tenant?: TenantView;
}

/**
 * Runs of plans, durable: begun here, led by one process of the machine that holds their files,
 * watched from anywhere.
 *
 * - *start* stores a row; from then on the run ends even if processes die.
 * - *look*: every process looks for runs of its machine without a leader; leading is holding the
 *   lease `run:<id>`.
 * - *order*: pause, resume, cancel, retry are rows; the leader carries them out in their order.
 */
export class Runs {
  readonly records: RunRecords;
  /** What people say about lines that ports have changed. */
  readonly reviews: RunReviews;
  /** What is to be merged of ended runs, and its tests. */
  readonly trials: RunTrials;
  /** What people tell them. */
  readonly commands: RunCommands;
  readonly #options: RunsOptions;
  readonly #queries: RunQueries;
  readonly #cleaner: RunCleaner;
  readonly #leading: RunLeading;
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  readonly #old: OldRuns;
  #unsubscribe: (() => void) | undefined;

  constructor(options: RunsOptions) {
    this.#options = options;
    const { database, leases, events } = options;
    const records = new RunRecords({ database, leases });
    const queries = new RunQueries({ records, database, events });
    const announce = (): void => events.announce();
    this.records = records;
    this.reviews = new RunReviews({ database, queries });
    this.trials = new RunTrials({ records, leases, work: options.work });
    this.#queries = queries;
    this.#signal = AbortSignal.any([this.#over.signal, options.lease.signal]);
    this.#cleaner = new RunCleaner({ ...options, records, queries, announce });
    this.#leading = new RunLeading({ ...options, records, announce, signal: this.#signal });
    this.#old = new OldRuns({
      ...options,
      clean: (wanted) => this.clean(wanted),
      signal: this.#signal,
    });
    const wake = (): void => options.notifications.publish(RUNS_TOPIC);
    this.commands = new RunCommands({ ...options, records, queries, wake, signal: this.#signal });
    answerRuns(options.inbox, records, wake);
  }

  /** The machine whose runs are led here. */
  get host(): string {
    return this.#options.host;
  }

  /** Runs that are led here. */
  get leading(): number {
    return this.#leading.size;
  }

  start(): void {
    const { notifications } = this.#options;
    this.#unsubscribe ??= notifications.subscribe(RUNS_TOPIC, () => this.#leading.notice());
    this.#leading.start();
    this.#old.start();
  }

  /** Stops leading: workers are ended, runs go on with the next process of this machine. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#over.abort(
      new ProcessError("PROCESS_STOPPED", "The runs of this process were stopped.", {
        class: "unavailable",
      }),
    );
    await this.#old.stop();
    await this.#leading.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // --- asking

  /**
   * Throws `IDEMPOTENCY_KEY_REUSED`, `PLAN_PORT_UNKNOWN`, and what is wrong with the repository;
   * then there is no run.
   */
  async run(
    request: StartRun,
    { signal = this.#signal }: { signal?: AbortSignal } = {},
  ): Promise<PlanRun> {
    const { key, tenant = "", repository } = request;
    const plan = narrowed(request);
    const body = canonicalJson({ plan, repository });
    const bodyHash = createHash("sha256").update(body).digest("hex");
    if (key !== undefined) {
      const known = await this.records.runByKey(tenant, key);
      if (known) return sameRequest(known, bodyHash, key);
    }
    const base = await this.#options.resolveBase(repository, plan.base, { signal });
    const about = { ...base, reachesOut: request.reachesOut ?? false };
    const settled = (await this.#options.settle?.(plan, about, { signal })) ?? plan;
    const id = await this.#create(request, { plan: settled, base, bodyHash });
    if (id === undefined) {
      return sameRequest((await this.records.runByKey(tenant, key!))!, bodyHash, key!);
    }
    this.#options.events.announce();
    this.#options.notifications.publish(RUNS_TOPIC);

    return (await this.records.run(id))!;
  }

  /** Undefined: a run was begun under this key meanwhile. */
  async #create(
    { tenant = "", file, by, key }: StartRun,
    {
      plan,
      base,
      bodyHash,
    }: { plan: Plan; base: { commit: string; repository: string }; bodyHash: string },
  ): Promise<string | undefined> {
    const { clock, home, host } = this.#options;
    const id = `run_${ulid(clock.now())}`;
    const run = {
      id,
      tenant,
      plan,
      file: file ?? null,
      repository: base.repository,
      folder: path.join(home, "plans", id),
      host,
      baseCommit: base.commit,
      startedBy: by,
      key: key ?? null,
      bodyHash,
      triesOrchestrator: plan.workers.orchestrator ? ORCHESTRATOR_TRIES : 0,
    };
    const data = { plan: plan.name, ports: plan.ports.length, by };
    const isMade = await this.records.create(run, [
      { type: "session.start", role: "orchestration", run: id, data },
    ]);

    return isMade ? id : undefined;
  }

  /**
   * Takes a report of tests from a tool of a running step. Throws `HOOK_TOKEN_INVALID`,
   * `CHANNEL_FULL`.
   */
  async takeTestReport(
    token: string,
    feedback: TestFeedback,
  ): Promise<HookFeedbackTaken & { readonly run: string }> {
    const answer = await takeTestReport(this.#options, token, feedback);
    this.#options.events.announce();

    return answer;
  }

  // --- looking

  async get(
    id: string,
    { tenant = "" }: ForTenant = {},
  ): Promise<PlanRun & { readonly ports: readonly PlanPort[] }> {
    return this.#queries.get(id, tenant);
  }

  /** As `get`, with the orchestrator's steps. */
  async detail(id: string, { tenant = "" }: ForTenant = {}): Promise<RunDetail> {
    return this.#queries.detail(id, tenant);
  }

  /** Some of the ports of `detail`, with their plan. */
  async ports(
    id: string,
    names: readonly string[],
    { tenant = "" }: ForTenant = {},
  ): Promise<Pick<RunDetail, "plan" | "ports">> {
    return this.#queries.ports(id, names, tenant);
  }

  /**
   * How the run stands and then what happens to it, until it has ended; a run that is taken up
   * again goes on here. With `after` (the `id` of an event) only what came behind it. Ends with the
   * abort of `signal`.
   */
  stream(
    id: string,
    {
      tenant = "",
      after,
      signal,
    }: ForTenant & { after?: string | undefined; signal?: AbortSignal } = {},
  ): AsyncGenerator<RunFrame, void, undefined> {
    return this.#queries.stream(id, { tenant, after, signal });
  }

  /**
   * What the prompt of a step was made of; null for a step without one. Throws `RUN_UNKNOWN`,
   * `STEP_UNKNOWN`.
   */
  async manifest(
    id: string,
    port: string,
    step: number,
    { tenant = "" }: ForTenant = {},
  ): Promise<ContextManifest | null> {
    return this.#queries.manifest(id, port, step, tenant);
  }

  /** What the workers of a port have said and done. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`. */
  async transcript(
    id: string,
    port: string,
    filter: TranscriptFilter,
    { tenant = "" }: ForTenant = {},
  ): Promise<Transcript> {
    return this.#queries.transcript(id, port, filter, tenant);
  }

  /** Writes into the report of a run what became of its result. */
  async noteDelivery(id: string, delivery: DeliveryNote): Promise<void> {
    await noteDelivery(this.#options.database, id, delivery);
  }

  async port(id: string, port: string, { tenant = "" }: ForTenant = {}): Promise<PortDetail> {
    return this.#queries.port(id, port, tenant);
  }

  /** Newest first. */
  async list(filter: RunFilter = {}): ReturnType<RunQueries["list"]> {
    return this.#queries.list(filter);
  }

  // --- cleaning

  /** Rows of ended runs age with their files. */
  retentionRule(): SweepRule {
    return rowsOfOldRuns();
  }

  /**
   * Removes the files and refs of ended runs of this machine, at most `limit`, oldest first; their
   * history stays. One that goes on, that has an open order, or whose result is on no branch is
   * kept and says why; `force` removes what is on no branch too. `run`: this one alone, however
   * old. Throws `RUN_UNKNOWN`, `RUN_ELSEWHERE`.
   */
  async clean(wanted: CleanRuns, how: CleanFor = {}): Promise<RunsCleaned> {
    return this.#cleaner.clean(wanted, how, how.signal ?? this.#signal);
  }
}

function sameRequest(
  known: { run: PlanRun; bodyHash: string },
  bodyHash: string,
  key: string,
): PlanRun {
  if (known.bodyHash === bodyHash) return known.run;
  throw new DureError("IDEMPOTENCY_KEY_REUSED", `The key ${key} was used for another run.`, {
    class: "conflict",
    hint: "Use a new key for a new request.",
  });
}

interface RunTrialParts {
  readonly records: RunRecords;
  readonly leases: Leases;
  readonly work: LeadingOptions["work"];
}

/** Tries what is to be merged of runs that have ended. */
class RunTrials {
  readonly #parts: RunTrialParts;

  constructor(parts: RunTrialParts) {
    this.#parts = parts;
  }

  /**
   * What the tests come to on a merge commit. Undefined: another process works on the run, so
   * nothing was tried. Throws `RUN_CLEANED`.
   */
  tryOut(
    id: string,
    commit: string,
    { signal }: { signal: AbortSignal },
  ): Promise<Tried | undefined> {
    return this.#hold(id, signal, (work, run, held) => work.tryMerged(run, commit, held));
  }

  /** As {@link tryOut}: what becomes of the conflicts of a merge. */
  solve(
    id: string,
    conflict: MovedConflict,
    { signal }: { signal: AbortSignal },
  ): Promise<MovedSolution | undefined> {
    return this.#hold(id, signal, (work, run, held) => work.solveMoved(run, conflict, held));
  }

  async #hold<T>(
    id: string,
    signal: AbortSignal,
    task: (work: RunWork, run: PlanRun, held: { signal: AbortSignal }) => Promise<T>,
  ): Promise<T | undefined> {
    const { records, leases } = this.#parts;
    const held = await leases.hold(
      `run:${id}`,
      async (lease, whileHeld) => {
        const run = (await records.run(id))!;
        if (run.cleanedAt !== null) throw runCleaned(run);
        const work = this.#parts.work({ records, lease, run });
        await work.clear(run, whileHeld);

        return task(work, run, whileHeld);
      },
      { signal },
    );

    return held.ok ? held.value : undefined;
  }
}
