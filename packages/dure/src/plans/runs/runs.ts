import { createHash } from "node:crypto";
import path from "node:path";
import type { EventLog } from "../../durable/event-log.ts";
import { Looker, type LookResult } from "../../durable/looker.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { SweepRule } from "../../durable/retention.ts";
import type { Member } from "../../kernel/plans.ts";
import { DureError } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { Plan } from "../plan.ts";
import type {
  ContextManifest,
  RunsCleaned,
  TestFeedback,
  Transcript,
  TranscriptFilter,
} from "../../wire/runs.ts";
import { sendFromOutside } from "../rows/outside-message.ts";
import type { HookFeedbackTaken } from "../../wire/hooks.ts";
import { takeTestReport } from "../port/hooks.ts";
import { narrowed, type PortChoice } from "./narrow-plan.ts";
import { answerRuns } from "./run-answers.ts";
import { RunCleaner, type CleanFor, type CleanRuns } from "./run-cleaner.ts";
import { RunReviews } from "./run-reviews.ts";
import { RunTrials } from "./run-trials.ts";
import { RunLeading, type LeadingOptions } from "../lead/run-leading.ts";
import {
  RunQueries,
  type PortDetail,
  type RunDetail,
  type RunFilter,
  type RunFrame,
} from "./run-queries.ts";
import {
  assertListens,
  assertOrchestrator,
  assertRetry,
  assertWords,
  runCleaned,
} from "./run-requests.ts";
import { notePublished } from "../rows/published-rows.ts";
import { RunRecords } from "../rows/records.ts";
import type { PlanPort, PlanRun, RunOrder } from "../rows/run.ts";
import { ORCHESTRATOR_TRIES } from "../port/tries.ts";

/** Wakes the processes of a machine: a run was begun, or an order to one is there. */
const RUNS_TOPIC = "plan-runs";

export interface RunsOptions extends LeadingOptions {
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly events: Pick<EventLog, "announce" | "now" | "read" | "follow" | "caughtUp">;
  /** Folder of data of this machine; runs keep their files in `plans/<run>`. */
  readonly home: string;
  /** What the base names in a repository: a commit. Throws what is wrong with the repository. */
  readonly resolveBase: (
    repository: string,
    base: string,
    options: { signal: AbortSignal },
  ) => Promise<{ commit: string; repository: string }>;
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
  readonly by: string;
  /** The same key gives the same run. */
  readonly key?: string | undefined;
}

/**
 * Longest wait for an order to be carried out, in milliseconds; it is carried out later all the
 * same.
 */
const ORDER_WAIT_MS = 5_000;
const ORDER_LOOK_MS = 50;
/** Runs that are cleaned by themselves each hour; one takes some tenths of a second. */
const CLEAN_AT_ONCE = 20;
const CLEAN_EVERY_MS = 3_600_000;
const KEEP_FILES_MS = 90 * 86_400_000;
/** Messages of the operator that a port hears in all. */
const MAX_SAYINGS = 50;

type Published = Parameters<typeof notePublished>[2];

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
  readonly #options: RunsOptions;
  readonly #queries: RunQueries;
  readonly #cleaner: RunCleaner;
  readonly #leading: RunLeading;
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  readonly #cleaning: Looker;
  #unsubscribe: (() => void) | undefined;
  /** The last run that was looked at for cleaning, by its number. */
  #cleanAfter = 0;

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
    this.#cleaning = new Looker({
      what: "old runs to clean",
      look: () => this.#cleanOld(),
      everyMs: CLEAN_EVERY_MS,
      clock: options.clock,
      logger: options.logger,
      signal: this.#signal,
    });
    answerRuns(options.inbox, records, () => options.notifications.publish(RUNS_TOPIC));
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
    this.#cleaning.start({ inMs: CLEAN_EVERY_MS });
  }

  /** Stops leading: workers are ended, runs go on with the next process of this machine. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#over.abort(
      new DureError("PROCESS_STOPPED", "The runs of this process were stopped.", {
        class: "unavailable",
      }),
    );
    await this.#cleaning.stop();
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
    const id = await this.#create(request, { plan, base, bodyHash });
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
   * Orders are carried out by the leader; this waits 5 s for it. Throws `RUN_UNKNOWN`,
   * `PLAN_PORT_UNKNOWN`, `TRIES_EXHAUSTED`, `ORCHESTRATOR_MISSING`, `PATH_INVALID`,
   * `RUN_ORDER_REFUSED`.
   */
  async order(
    id: string,
    given: RunOrder,
    { tenant = "", by, signal = this.#signal }: ForTenant & { by: string; signal?: AbortSignal },
  ): Promise<{ carriedOut: boolean }> {
    const run = await this.#queries.find(id, tenant);
    if (run.cleanedAt !== null) throw runCleaned(run);
    const order = await this.#checkedOrder(run, given);
    const number = await this.records.orders.give(undefined, id, order, by);
    this.#options.notifications.publish(RUNS_TOPIC);

    return { carriedOut: await this.#isCarriedOut(number, signal) };
  }

  async #checkedOrder(run: PlanRun, order: RunOrder): Promise<RunOrder> {
    if (order.type !== "retry" && order.type !== "skip") return order;
    const isReassigned = order.type === "retry" && order.by === "orchestrator";
    if (isReassigned) assertOrchestrator(run, order.port);
    const port = await this.#queries.findPort(run, order.port);
    if (order.type === "retry") assertRetry(order, port);
    if (!isReassigned) return order;

    return { ...order, pairTries: await this.records.steps.pairTries(run.id, order.port) };
  }

  /** False: the leader has not come to it yet. Throws `RUN_ORDER_REFUSED`. */
  async #isCarriedOut(order: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const until = clock.monotonic() + ORDER_WAIT_MS;
    for (;;) {
      const outcome = await this.records.orders.outcome(order);
      if (outcome?.ok) return true;
      if (outcome) {
        throw new DureError("RUN_ORDER_REFUSED", outcome.message, {
          class: "conflict",
          details: { because: outcome.code },
          hint: "Look at the run with: dure plan status",
        });
      }
      if (clock.monotonic() >= until) return false;
      await clock.sleep(ORDER_LOOK_MS, { signal });
    }
  }

  /**
   * Sends the operator's message to a member of a port. A listening worker reads it at its next turn;
   * others in their next prompt. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`, `MESSAGE_INVALID`,
   * `RUN_OVER`, `PORT_OVER`, `TESTER_MISSING`, `ORCHESTRATOR_MISSING`, `WORKER_DEAF`, `MEMBER_DONE`,
   * `CHANNEL_FULL`.
   */
  async say(
    id: string,
    port: string,
    words: { to: Member; text: string },
    { tenant = "", by, key }: ForTenant & { by: string; key?: string | undefined },
  ): Promise<{ id: number }> {
    const text = words.text.trim();
    assertWords(text);
    const run = await this.#queries.find(id, tenant);
    const found = await this.#queries.findPort(run, port);
    const steps = await this.records.steps.of(id, port);
    assertListens(run, { ...found, steps }, words.to);
    const message = await sendFromOutside(this.#options, {
      run: id,
      port,
      from: "operator",
      to: words.to,
      payload: { text, by },
      key: `operator:${key ?? ulid(this.#options.clock.now())}`,
      most: { keys: "operator:", count: MAX_SAYINGS },
    });

    return { id: message };
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

  /** Writes what was sent of a run's result into its report. */
  async notePublished(id: string, published: Published): Promise<void> {
    await notePublished(this.#options.database, id, published);
  }

  async port(id: string, port: string, { tenant = "" }: ForTenant = {}): Promise<PortDetail> {
    return this.#queries.port(id, port, tenant);
  }

  /** Newest first. */
  async list(filter: RunFilter = {}): ReturnType<RunQueries["list"]> {
    return this.#queries.list(filter);
  }

  // --- cleaning

  /**
   * Rows of ended runs age with their files: what could still be merged is known as long as it is
   * there. Files on a machine that is gone are removed by no process.
   */
  retentionRule(): SweepRule {
    return {
      name: "plan-runs",
      keep: "90d",
      sweep: async (tx, { keepMs, limit }) => (await tx.query(PURGE, [keepMs, limit])).length,
    };
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

  /** Every hour some runs that are old enough, one page after the other. */
  async #cleanOld(): Promise<LookResult> {
    const { keepFilesMs = KEEP_FILES_MS } = this.#options;
    const { next } = await this.clean({
      olderThanMs: keepFilesMs,
      after: this.#cleanAfter,
      limit: CLEAN_AT_ONCE,
    });
    this.#cleanAfter = next ?? 0;

    return "rest";
  }
}

/** Cleaned ones, and those of machines that have not been seen for as long. */
const PURGE = {
  name: "plan.purge",
  text: `delete from dure.plan_runs where id in (
      select r.id from dure.plan_runs r
      where r.finished_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
        and (r.cleaned_at is not null
          or not exists (
            select 1 from dure.plan_hosts h
            where h.host = r.host
              and h.seen_at > clock_timestamp() - $1::double precision * interval '1 millisecond'
          ))
      limit $2
    )
    returning id`,
};

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
