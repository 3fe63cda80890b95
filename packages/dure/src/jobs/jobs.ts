import { createHash } from "node:crypto";
import type { Cancel, Clock } from "../kernel/clock.ts";
import { durationMs, type Duration } from "../kernel/duration.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { canonicalJson } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import { sessionKey, type TenantView } from "../kernel/tenant.ts";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Notifications } from "../durable/notify.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { SweepRule } from "../durable/retention.ts";
import type { DeadProcess } from "../durable/takeover.ts";
import type { Conversations, Page } from "../engine/api.ts";
import { ALLOW_ALL, readAllowlist, type AskRules } from "./allowlist.ts";
import {
  agentUnknown,
  checkAllowed,
  checkPair,
  checkText,
  nobodyAsked,
  readRequest,
  resultOf,
  type AskRequest,
  type AskResult,
} from "./ask.ts";
import { endOf } from "./endings.ts";
import { runExchange, type ExchangeAgent } from "./exchange.ts";
import {
  isOver,
  jobOfSession,
  newJobId,
  transition,
  type Job,
  type JobTurn,
  type JobWords,
} from "./job.ts";
import { JobExchangeStore, JobFencedError, type AgentDirectory } from "./job-exchange-store.ts";
import { JOB_LIMITS, type JobLimits } from "./limits.ts";
import { MAX_RESULTS, renderResults } from "./turn-message.ts";
import { JOBS_TOPIC, JobStore, type NewJob } from "./store.ts";
import type { PlatformEvent, EventOf } from "../wire/events.ts";
import { type JobStatus, isJobEnd } from "../kernel/jobs.ts";

export interface JobsOptions {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly events: Pick<EventLog, "follow" | "read" | "now" | "caughtUp">;
  readonly lease: Pick<ProcessLease, "id" | "signal" | "whenHeld">;
  readonly conversations: Pick<Conversations, "accept" | "read" | "stopTurn">;
  readonly agents: AgentDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<JobLimits> | undefined;
  /** Which agent may ask which. Default: every agent may ask every agent. */
  readonly allow?: readonly string[] | undefined;
  /** For the jitter of retries. */
  readonly random?: (() => number) | undefined;
}

export interface JobDetail extends Job {
  readonly turns: readonly JobTurn[];
  readonly words: readonly JobWords[];
}

/** What a start or a takeover found. `incomplete`: jobs that have not ended. */
export interface RecoveryReport {
  readonly resumed: number;
  readonly abandoned: number;
  readonly removed: number;
  readonly incomplete: number;
}

type JobEnd = EventOf<"job.completed" | "job.failed" | "job.cancelled" | "job.abandoned">;

export type JobFrame =
  /** How the job stands; what follows comes behind `position`. */
  | { readonly kind: "job"; readonly job: JobDetail; readonly position: string }
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | { readonly kind: "reset"; readonly oldest: string };

/**
 * How often a process looks for jobs that wait, in milliseconds. Source: docs/spec/jobs §6, resume
 * begins within 2 s.
 */
const LOOK_EVERY_MS = 400;
/** How the leading of an exchange has ended here, in the log's words. */
const LEFT_BECAUSE = {
  rests: "waits for a person",
  over: "has ended",
  fenced: "is led by another process",
} as const;

/**
 * How often running time is counted and loose ends are looked for, in milliseconds. The permit's 30
 * s are counted by it.
 */
const TEND_EVERY_MS = 1_000;
/**
 * Running time that one count adds at most, in milliseconds: a jump of the clock is no running
 * time: two ticks.
 */
const MAX_STEP_MS = 2_000;
/**
 * Jobs that one look takes; the first of them goes on before the last is taken.
 */
const TAKE_AT_ONCE = 32;
const STALE_EVERY_MS = 60_000;
const PURGE_AT_ONCE = 500;
/** Failures of our own code with one job before it is given up here. */
const MAX_TROUBLES = 3;
/** A waiting call looks for the end at least this often, in milliseconds. */
const LOOK_ENDED_EVERY_MS = 500;
const PAGE_DEFAULT = 50;
const MAX_PAGE = 200;

/**
 * Exchanges between agents, durable: asked for here, led wherever there is room, watched from
 * anywhere.
 *
 * - *ask* stores a row. From then on the job ends even if processes die.
 * - *take*: every process looks for jobs in line; taking one is getting its permit.
 * - *lead*: `runExchange` over the job's rows and the engine's turns.
 * - *recover*: jobs of a dead process go back in line. Register `recoverDead` with Takeover before
 *   the turns' recoverer.
 */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #limits: JobLimits;
  readonly #allow: AskRules;
  readonly #store: JobStore;
  readonly #runs = new Map<string, Run>();
  readonly #troubles = new Map<string, number>();
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #cancels: Cancel[] = [];
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #lookingEnded: Promise<void> | undefined;
  #lookEndedAgain = false;
  #tending: Promise<void> | undefined;
  #staleAt = 0;
  #recovered: Promise<RecoveryReport> | undefined;
  readonly #clearing = new Set<Promise<void>>();

  constructor(options: JobsOptions) {
    this.#options = options;
    this.#limits = { ...JOB_LIMITS, ...options.limits };
    this.#allow = readAllowlist(options.allow ?? ALLOW_ALL);
    this.#signal = AbortSignal.any([this.#over.signal, options.lease.signal]);
    this.#store = new JobStore({
      database: options.database,
      notifications: options.notifications,
      clock: options.clock,
      signal: options.lease.signal,
    });
  }

  /** Exchanges that are led here. */
  get running(): number {
    return this.#runs.size;
  }

  /**
   * Begins to take jobs. Meanwhile the rest of an earlier life is checked; `recovered` says what
   * was found. Idempotent.
   */
  start(): void {
    if (this.#cancels.length > 0) return;
    const { clock, notifications } = this.#options;
    this.#cancels.push(
      clock.every(LOOK_EVERY_MS, () => void this.#look()),
      clock.every(TEND_EVERY_MS, () => void this.#tend()),
      clock.every(LOOK_ENDED_EVERY_MS, () => void (this.#waiters.size > 0 && this.#lookEnded())),
      notifications.subscribe(JOBS_TOPIC, () => {
        void this.#look();
        void this.#lookEnded();
      }),
    );
    this.#recovered ??= this.#recover();
    this.#recovered.catch(() => {});
    void this.#look();
  }

  /** What the start found. Rejects when this process stopped before. */
  get recovered(): Promise<RecoveryReport> {
    return (
      this.#recovered ??
      Promise.reject(
        new DureError("JOBS_NOT_STARTED", "The jobs were not started.", {
          hint: "Call start first.",
        }),
      )
    );
  }

  /**
   * Takes nothing more and lets go of what it leads; others go on with it when this process's lease
   * has ended. Their turns finish here, with the engine.
   */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#over.abort(
      new DureError("PROCESS_STOPPED", "The jobs of this process were stopped.", {
        class: "unavailable",
      }),
    );
    await this.#looking;
    await this.#tending;
    await this.#lookingEnded;
    await this.#recovered?.catch(() => {});
    await Promise.all(this.#clearing);
    await Promise.allSettled([...this.#runs.values()].map((run) => run.finished));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  // --- asking

  /**
   * Makes a job and waits for its end, at most `waitSec`. Errors of the caller are thrown
   * (`AGENT_UNKNOWN`, `JOB_SELF`, `JOB_NOT_ALLOWED`, `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`,
   * `PAYLOAD_INVALID`, `PAYLOAD_TOO_LONG`, `WAIT_INVALID`, `TURNS_INVALID`, `SESSION_UNKNOWN`,
   * `IDEMPOTENCY_KEY_REUSED`, `JOB_TOO_DEEP`, `JOB_TREE_FULL`, `JOB_OVER`), and then there is no
   * job.
   */
  async ask(
    request: AskRequest,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<AskResult> {
    const { job, waitSec } = await this.#read(request);
    signal?.throwIfAborted();
    const { id } = await this.#store.ask(job);
    if (waitSec === 0) return { status: "accepted", jobId: id };
    return this.#answer(id, job.tenant, waitSec * 1_000, signal);
  }

  /**
   * Notes that an agent called `end_conversation` in a turn of an exchange. False outside of one.
   */
  async endExchange(session: string, turn: string): Promise<boolean> {
    const job = jobOfSession(session);
    return job !== undefined && this.#store.endAsked(job, turn);
  }

  // --- looking

  /** Throws `JOB_UNKNOWN`, also for another tenant's job. */
  async get(
    jobId: string,
    { tenant = "" }: { tenant?: TenantView | undefined } = {},
  ): Promise<JobDetail> {
    const job = await this.#find(jobId, tenant);
    const [turns, words] = await Promise.all([
      this.#store.turns(jobId),
      this.#store.allWords(jobId),
    ]);
    // A turn that ended between the two questions is seen with the next one.
    return { ...job, turns: turns.slice(0, job.turnsDone), words };
  }

  /** Newest first. */
  async list(
    options: {
      tenant?: TenantView | undefined;
      status?: JobStatus | undefined;
      agent?: string | undefined;
      conversation?: string | undefined;
      parent?: string | undefined;
      root?: string | undefined;
      since?: Duration | undefined;
      limit?: number | undefined;
      cursor?: string | undefined;
    } = {},
  ): Promise<Page<Job>> {
    const { tenant = "", since, cursor, ...rest } = options;
    const limit = Math.min(Math.max(options.limit ?? PAGE_DEFAULT, 1), MAX_PAGE);
    const before = cursor === undefined ? undefined : readCursor(cursor);
    const rows = await this.#store.list({
      ...rest,
      tenant,
      limit: limit + 1,
      before,
      sinceMs: since === undefined ? undefined : durationMs(since),
    });
    const items = rows.slice(0, limit).map(({ seq: _seq, ...job }) => job);
    const last = rows[limit - 1];
    return {
      items,
      nextCursor:
        rows.length > limit && last ? Buffer.from(String(last.seq)).toString("base64url") : null,
    };
  }

  /**
   * How the job stands and then what happens to it, until it has ended. With `after` (the `id` of
   * an event) only what came behind it. Ends with the abort of `signal`.
   */
  async *stream(
    jobId: string,
    options: {
      tenant?: TenantView | undefined;
      after?: string | undefined;
      signal?: AbortSignal | undefined;
    } = {},
  ): AsyncGenerator<JobFrame, void, undefined> {
    const { tenant = "", after, signal } = options;
    const { events } = this.#options;
    const filter = { types: ["job.*"], role: "delegation" as const, job: jobId };
    const position = after ?? (await events.now());
    const job = await this.get(jobId, { tenant });
    if (isOver(job.status)) {
      await events.caughtUp({ signal }); // its last events may stand behind a transaction that is still open
      if (after === undefined) return yield { kind: "job", job, position: await events.now() };
      for (let from = after; ;) {
        const page = await events.read(from, filter, 500);
        if (page.reset) yield { kind: "reset", oldest: page.reset.oldest };
        for (const event of page.events) yield { kind: "event", event };
        if (page.atEnd || signal?.aborted) return;
        from = page.next;
      }
    }
    if (after === undefined) yield { kind: "job", job, position };
    let seen = job.turnsDone;
    let last: JobEnd | undefined;
    for await (const item of events.follow(filter, {
      after: position,
      signal,
    })) {
      if (item.kind === "reset") {
        yield { kind: "reset", oldest: item.oldest };
        continue;
      }
      const { event } = item;
      if (after === undefined && event.type === "job.turn") {
        const { number } = event.data;
        if (number <= seen) continue;
        seen = number;
      }
      if (isJobEnd(event)) last = event;
      else yield { kind: "event", event };
      // A cancel that waited for the record of a turn stands before it in the log.
      if (!last || (after === undefined && seen < last.data.turnsDone)) continue;
      yield { kind: "event", event: last };
      return;
    }
  }

  /**
   * Jobs that an operator should look at, with the reason. `stuck`: without progress for `stuck` of
   * running time, default 10 minutes.
   */
  async audit({
    tenant = "",
    stuck = "10m",
    resumes = 3,
  }: {
    tenant?: TenantView | undefined;
    stuck?: Duration | undefined;
    resumes?: number | undefined;
  } = {}): Promise<readonly (Job & { readonly why: "stuck" | "orphaned" | "resumed-often" })[]> {
    return this.#store.audit(tenant, { stuckMs: durationMs(stuck), resumes });
  }

  /** Open jobs by status, for metrics. */
  async standing(): Promise<{ readonly pending: number; readonly running: number }> {
    const counts = await this.#store.counts();
    return { pending: counts["PENDING"] ?? 0, running: counts["RUNNING"] ?? 0 };
  }

  // --- steering

  /**
   * Cancels the job and all that it asked for, wherever they run. Stored when this resolves. Throws
   * `JOB_UNKNOWN`, `JOB_TRANSITION` (it has ended otherwise).
   */
  async cancel(
    jobId: string,
    {
      tenant: view = "",
      by = "",
    }: { tenant?: TenantView | undefined; by?: string | undefined } = {},
  ): Promise<Job> {
    const tenant = await this.#ownerOf(jobId, view);
    const answer = await this.#store.cancel(jobId, tenant, by);
    if (!answer) throw jobUnknown(jobId);
    if (answer.before !== "CANCELLED") transition(answer.before, "CANCELLED");
    return this.#find(jobId, tenant);
  }

  /**
   * Of the agent that has asked for it, from the session in which it speaks: the same as `cancel`,
   * for jobs of its own tenant. Throws `JOB_UNKNOWN` for all others.
   */
  async cancelAsked(
    jobId: string,
    { requester, session }: { requester: string; session: string },
  ): Promise<Job> {
    const tenant = (await this.#store.session(session))?.tenant;
    const job = tenant === undefined ? undefined : await this.#store.find(jobId, tenant);
    if (job?.requester !== requester) {
      throw new DureError("JOB_UNKNOWN", `There is no job ${jobId} of yours.`, {
        class: "not-found",
        hint: "Only who asked may cancel here.",
      });
    }
    return this.cancel(jobId, { tenant: job.tenant, by: requester });
  }

  /**
   * Retries a job that did not succeed, as a new job after its finished turns. It takes the old
   * one's place: same parent, same root, same budget. Asked twice, it gives the same one. Throws
   * `JOB_UNKNOWN`, `JOB_NOT_RETRYABLE` (it goes on, or was completed), `JOB_NOT_ALLOWED` (the
   * team's rules have changed), `JOB_TREE_FULL`.
   */
  async retry(
    jobId: string,
    { tenant: view = "" }: { tenant?: TenantView | undefined } = {},
  ): Promise<Job> {
    const old = await this.#find(jobId, view);
    const { tenant } = old;
    if (!isOver(old.status) || old.status === "COMPLETED") {
      throw new DureError("JOB_NOT_RETRYABLE", `The job ${jobId} is ${old.status}.`, {
        class: "conflict",
        hint:
          old.status === "COMPLETED"
            ? "It did what it was asked; ask again for more."
            : "It goes on by itself; cancel it first.",
      });
    }
    checkAllowed(this.#allow, this.#named(old.requester), this.#named(old.target));
    const { id } = await this.#store.ask({
      id: newJobId(),
      tenant,
      requester: old.requester,
      target: old.target,
      message: old.message,
      payload: old.payload,
      topic: old.topic,
      intent: old.intent,
      conversation: old.conversationId,
      new_conversation: old.conversationId,
      parent: null,
      retry_of: jobId,
      max_turns: old.maxTurns,
      key: `retry:${jobId}`,
      body_hash: jobId,
      origin_session: old.origin?.session ?? null,
      origin_turn: old.origin?.turn ?? null,
      wait_ms: 0,
      max_depth: this.#limits.depth,
      max_tree: this.#limits.tree,
    });
    return this.#find(id, tenant);
  }

  /**
   * A person's words for the next exchange turn; they go before what the agents say, and are told
   * whole. Throws `JOB_UNKNOWN`, `JOB_OVER`, `JOB_WORDS_FULL` (one turn cannot be told more),
   * `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`.
   */
  async speak(
    jobId: string,
    text: string,
    { tenant = "", by }: { tenant?: TenantView | undefined; by: string },
  ): Promise<void> {
    checkText(text, this.#limits.messageBytes);
    const { words } = this.#limits;
    const status = await this.#store.speak(
      jobId,
      await this.#ownerOf(jobId, tenant),
      by,
      text.trim(),
      { words: words.count, bytes: words.bytes },
    );
    if (status === null) throw jobUnknown(jobId);
    if (status === "full") {
      throw new DureError(
        "JOB_WORDS_FULL",
        `The next turn of ${jobId} is told ${words.count} texts of ${words.bytes} bytes together at most.`,
        {
          class: "limit",
          hint: "Wait until the next turn has heard what waits, or say it shorter.",
        },
      );
    }
    if (isOver(status)) {
      throw new DureError(
        "JOB_OVER",
        `The job ${jobId} is ${status}; no worker listens any more.`,
        {
          class: "conflict",
          hint: "Ask anew, or retry it.",
        },
      );
    }
  }

  /**
   * For a requester that gets no turn of its own for the result: the next turn of that session
   * tells it the outcome of the job.
   */
  async keepNote(jobId: string, session: string): Promise<void> {
    await this.#store.keepNote(jobId, session);
  }

  /**
   * What a turn has to tell its agent of jobs that were asked for in the session; undefined for
   * nothing. The same turn gets the same again.
   */
  async notes({ session, turn }: { session: string; turn: string }): Promise<string | undefined> {
    const results = await this.#store.takeNotes(session, turn, MAX_RESULTS);
    return results.length === 0
      ? undefined
      : renderResults(results, (agent) => this.#named(agent).displayName);
  }

  /** Removes finished jobs older than `olderThan`, in bounded bites. Returns how many. */
  async purge({
    olderThan,
    signal,
  }: { olderThan?: Duration | undefined; signal?: AbortSignal | undefined } = {}): Promise<number> {
    const keepMs = olderThan === undefined ? this.#limits.keepMs : durationMs(olderThan);
    for (let total = 0; ;) {
      signal?.throwIfAborted();
      const removed = await this.#store.purge(keepMs, PURGE_AT_ONCE);
      total += removed;
      if (removed < PURGE_AT_ONCE) return total;
    }
  }

  retentionRule(): SweepRule {
    return {
      name: "jobs",
      keep: this.#limits.keepMs,
      sweep: async (tx, { keepMs, limit }) =>
        (
          await tx.query<{ value: number }>(
            { name: "job.purge", text: "select dure.purge_jobs($1, $2) as value" },
            [keepMs, limit],
          )
        )[0]!.value,
    };
  }

  // --- recovery

  /**
   * For Takeover, before the recoverer of turns: the jobs of a dead process go back in line, or are
   * given up. May be run twice.
   */
  async recoverDead(dead: Pick<DeadProcess, "id" | "because">): Promise<void> {
    const released = await this.#store.release(dead.id, {
      counts: dead.because !== "stopped",
      resumesMost: this.#limits.resumes,
      staleMs: this.#limits.staleMs,
    });
    void this.#look();
    // Runs concurrently: what waits for this recovery must not wait for old jobs.
    const cleared = this.#clearAfter(dead.id, released).finally(() =>
      this.#clearing.delete(cleared),
    );
    this.#clearing.add(cleared);
  }

  /** Never rejects. */
  async #clearAfter(dead: string, released: { resumed: number; abandoned: number }): Promise<void> {
    try {
      const removed = await this.purge({ signal: this.#signal });
      if (released.resumed + released.abandoned + removed > 0) {
        await this.#report({ ...released, removed }, `after ${dead} died`);
      }
    } catch (error) {
      if (!this.#signal.aborted) {
        this.#options.logger.warn(
          { code: codeOf(error), error: messageOf(error) },
          `old jobs could not be removed after ${dead} died; retention does it`,
        );
      }
    }
  }

  async #recover(): Promise<RecoveryReport> {
    await this.#options.lease.whenHeld({ signal: this.#signal });
    const dead = await this.#options.database.query<{
      id: string;
      because: DeadProcess["because"];
    }>({
      name: "job.dead-holders",
      text: `
        select distinct j.holder as id, coalesce(p.ended_because, 'gone') as because
        from dure.jobs j
        left join dure.processes p on p.id = j.holder
        where j.status = 'RUNNING'
          and j.holder is not null
          and (p.id is null or p.ended_at is not null)`,
    });
    let [resumed, abandoned] = [0, await this.#store.abandonStale(this.#limits.staleMs)];
    for (const { id, because } of dead) {
      const released = await this.#store.release(id, {
        counts: because !== "stopped",
        resumesMost: this.#limits.resumes,
        staleMs: this.#limits.staleMs,
      });
      resumed += released.resumed;
      abandoned += released.abandoned;
    }
    void this.#look();
    const removed = await this.purge({ signal: this.#signal });
    return this.#report({ resumed, abandoned, removed }, "at the start");
  }

  async #report(found: Omit<RecoveryReport, "incomplete">, when: string): Promise<RecoveryReport> {
    const { pending, running } = await this.standing();
    const report = { ...found, incomplete: pending + running };
    this.#options.logger.info(
      { ...report },
      `jobs ${when}: ${report.resumed} resumed, ${report.abandoned} given up, ` +
        `${report.removed} old ones removed, ${report.incomplete} have not ended`,
    );
    await this.#store.emit({ type: "jobs.recovered", role: "system", data: report });
    return report;
  }

  // --- leading

  /** Takes what waits; called at least every 400 ms, and once more when it is called meanwhile. */
  #look(): Promise<void> {
    this.#lookAgain = true;
    this.#looking ??= this.#takeAll().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #takeAll(): Promise<void> {
    try {
      while (this.#lookAgain && !this.#signal.aborted) {
        this.#lookAgain = false;
        await this.#take();
      }
    } catch (error) {
      if (!this.#signal.aborted) {
        this.#options.logger.warn(
          { code: codeOf(error), error: messageOf(error) },
          "could not look for jobs; trying again",
        );
      }
    }
  }

  async #take(): Promise<void> {
    const { lease, agents } = this.#options;
    await lease.whenHeld({ signal: this.#signal });
    const { taken, lost } = await this.#store.take({
      holder: lease.id,
      known: [...this.#runs.keys()],
      alone: [...this.#runs].filter(([, run]) => run.quarantined).map(([id]) => id),
      room: Math.min(TAKE_AT_ONCE, this.#limits.running - this.#runs.size),
      agents: agents.all().map(({ id }) => id),
      permits: this.#limits.permits,
      permitWaitMs: this.#limits.permitWaitMs,
      unknownAgentMs: this.#limits.unknownAgentMs,
    });
    for (const id of lost) this.#runs.get(id)?.controller.abort(new JobFencedError(id));
    for (const { id, quarantined } of taken) this.#begin(id, quarantined);
    // There may be more than one statement gives.
    if (taken.length > 0 && !taken.some(({ quarantined }) => quarantined)) this.#lookAgain = true;
  }

  #begin(id: string, quarantined: boolean): void {
    this.#runs.get(id)?.controller.abort(new JobFencedError(id));
    const controller = new AbortController();
    const run: Run = { controller, quarantined, finished: Promise.resolve() };
    this.#runs.set(id, run);
    run.finished = this.#lead(id, run, AbortSignal.any([controller.signal, this.#signal])).then(
      () => {
        if (this.#runs.get(id) === run) this.#runs.delete(id);
        void this.#look();
      },
    );
  }

  /** Never rejects. */
  async #lead(id: string, run: Run, signal: AbortSignal): Promise<void> {
    const { lease, clock, logger, conversations, agents, random = Math.random } = this.#options;
    let epoch: number | undefined;
    try {
      const held = await this.#store.held(id, lease.id);
      if (!held) return;
      epoch = held.epoch;
      const { job } = held;
      if (job.resumes > 0) {
        logger.info(
          { job: id, turn: job.turnsDone + 1, resumeCount: job.resumeCount },
          `job ${id} resumed at turn ${job.turnsDone + 1} of ${Math.max(job.maxTurns, 1)}`,
        );
      }
      const onProgress = (): void => {
        if (!run.quarantined) return;
        run.quarantined = false;
        void this.#look();
      };
      const exchangeStore = new JobExchangeStore({
        held,
        store: this.#store,
        conversations,
        agents,
        clock,
        limits: this.#limits,
        onProgress,
      });
      const end = await runExchange(
        { job, turns: held.turns, attempt: held.attempt, earlier: held.earlier },
        exchangeStore,
        { limits: this.#limits, clock, random, signal },
      );
      this.#troubles.delete(id);
      logger.info({ job: id, end }, `job ${id} ` + LEFT_BECAUSE[end]);
    } catch (error) {
      if (signal.aborted || error instanceof JobFencedError) return;
      await this.#stumble(id, epoch, error);
    }
  }

  /** dure's own code failed with a job: it is retried after a pause, a limited number of times. */
  async #stumble(id: string, epoch: number | undefined, error: unknown): Promise<void> {
    const { logger } = this.#options;
    const troubles = (this.#troubles.get(id) ?? 0) + 1;
    this.#troubles.set(id, troubles);
    logger.error(
      { job: id, code: codeOf(error), error: messageOf(error) },
      `job ${id} could not be led (${troubles} of ${MAX_TROUBLES})`,
    );
    if (troubles < MAX_TROUBLES || epoch === undefined) return;
    this.#troubles.delete(id);
    const end = endOf("agent_error", {
      error: { code: codeOf(error) ?? "INTERNAL", message: messageOf(error) },
    });
    await this.#store
      .settle(id, epoch, { end })
      .catch((reason: unknown) =>
        logger.error({ job: id, error: messageOf(reason) }, `job ${id} could not be ended`),
      );
  }

  #tend(): Promise<void> {
    this.#tending ??= this.#tendAll().finally(() => (this.#tending = undefined));
    return this.#tending;
  }

  async #tendAll(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#store.tend(MAX_STEP_MS);
      for (const asked of await this.#store.retriesAsked()) await this.#retryAsked(asked);
      const now = clock.monotonic();
      if (now - this.#staleAt < STALE_EVERY_MS) return;
      this.#staleAt = now;
      await this.#store.abandonStale(this.#limits.staleMs);
    } catch (error) {
      if (!this.#signal.aborted) {
        logger.warn(
          { code: codeOf(error), error: messageOf(error) },
          "jobs could not be tended; the next time follows",
        );
      }
    }
  }

  async #retryAsked({
    escalation,
    job,
    tenant,
  }: {
    escalation: string;
    job: string;
    tenant: string;
  }): Promise<void> {
    try {
      await this.retry(job, { tenant });
    } catch (error) {
      if (
        !(error instanceof DureError) ||
        error.class === "internal" ||
        error.class === "unavailable"
      ) {
        throw error;
      }
      // Purged meanwhile, or no longer allowed: asking again each second changes nothing.
      this.#options.logger.warn(
        { job, code: error.code, error: error.message },
        `job ${job} is not tried again: ${error.message}`,
      );
    }
    await this.#store.retryUsed(escalation);
  }

  // --- how asking works

  async #read(request: AskRequest): Promise<{ job: NewJob; waitSec: number }> {
    const { agents } = this.#options;
    const { message, origin } = request;
    const { payload, topic, intent, maxTurns, waitSec } = readRequest(request, this.#limits);
    const asking = this.#agent(request.requester);
    const tenant =
      request.tenant ?? (origin && (await this.#store.session(origin.session))?.tenant) ?? "";
    const target = await this.#target(request, tenant);
    checkPair(asking, target, this.#allow, agents.all());
    const job: NewJob = {
      id: newJobId(),
      tenant,
      requester: asking.id,
      target: target.id,
      message,
      payload,
      topic,
      intent,
      conversation: request.conversationId ?? null,
      new_conversation: `conv_${ulid()}`,
      parent: (origin && jobOfSession(origin.session)) ?? null,
      retry_of: null,
      max_turns: maxTurns,
      key: request.key === undefined ? null : `ask:${asking.id}:${request.key}`,
      body_hash: createHash("sha256")
        .update(
          canonicalJson([
            target.id,
            message,
            payload,
            request.topic,
            request.conversationId,
            request.maxTurns,
          ]),
        )
        .digest("hex"),
      origin_session: origin?.session ?? null,
      origin_turn: origin?.turn ?? null,
      wait_ms: waitSec * 1_000,
      max_depth: this.#limits.depth,
      max_tree: this.#limits.tree,
    };
    return { job, waitSec };
  }

  /** Also one that is no longer in the team. */
  #named(id: string): Pick<ExchangeAgent, "id" | "displayName"> {
    return this.#options.agents.find(id) ?? { id, displayName: id };
  }

  #agent(id: string): ExchangeAgent {
    const { agents } = this.#options;
    const agent = agents.find(id);
    if (agent) return agent;
    throw agentUnknown(id, agents.all());
  }

  async #target(request: AskRequest, tenant: string): Promise<ExchangeAgent> {
    if (request.agent !== undefined) return this.#agent(request.agent);
    if (request.session === undefined) throw nobodyAsked();
    const session = await this.#store.session(sessionKey(tenant, request.session));
    const agent =
      session?.tenant === tenant
        ? this.#options.agents.all().find(({ service }) => service === session.service)
        : undefined;
    if (!agent) {
      throw new DureError(
        "SESSION_UNKNOWN",
        `No agent of yours answers in a session ${request.session}.`,
        { class: "not-found", hint: "Check the session id, or name the agent." },
      );
    }
    return agent;
  }

  async #answer(
    id: string,
    tenant: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<AskResult> {
    if (!(await this.#untilEnded(id, waitMs, signal))) return { status: "timeout", jobId: id };
    const job = await this.get(id, { tenant });
    // A caller that asks again after a crash may find that the place was told meanwhile: a result
    // is told once.
    return (await this.#store.answered(id)) ? resultOf(job) : { status: "timeout", jobId: id };
  }

  /** False when it has not ended within `waitMs`. */
  async #untilEnded(id: string, waitMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { clock } = this.#options;
    let ended = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const onEnd = (): void => {
      ended = true;
      resolve();
    };
    const waiting = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiting.add(onEnd));
    const cancel = clock.after(waitMs, resolve);
    const signals = signal ? [signal, this.#signal] : [this.#signal];
    const onAbort = (): void => resolve();
    for (const one of signals) one.addEventListener("abort", onAbort, { once: true });
    if (signals.some((one) => one.aborted)) resolve();
    void this.#lookEnded();
    try {
      await promise;
      if (!ended) {
        signal?.throwIfAborted();
        this.#signal.throwIfAborted();
      }
      return ended;
    } finally {
      cancel();
      for (const one of signals) one.removeEventListener("abort", onAbort);
      waiting.delete(onEnd);
      if (waiting.size === 0) this.#waiters.delete(id);
    }
  }

  /** One question for all who wait. */
  #lookEnded(): Promise<void> {
    this.#lookEndedAgain = true;
    this.#lookingEnded ??= this.#tellEnded().finally(() => (this.#lookingEnded = undefined));
    return this.#lookingEnded;
  }

  async #tellEnded(): Promise<void> {
    try {
      while (this.#lookEndedAgain && this.#waiters.size > 0) {
        this.#lookEndedAgain = false;
        const ended = await this.#options.database.query<{ id: string }>(
          {
            name: "job.ended",
            text: "select id from dure.jobs where id = any($1) and finished_at is not null",
          },
          [[...this.#waiters.keys()]],
        );
        for (const { id } of ended) for (const onEnd of this.#waiters.get(id) ?? []) onEnd();
      }
    } catch (error) {
      if (!this.#signal.aborted) {
        this.#options.logger.debug(
          { code: codeOf(error) },
          "could not look for ended jobs; looking again",
        );
      }
    }
  }

  /** Whose job it is, for who sees all tenants. Throws `JOB_UNKNOWN`. */
  async #ownerOf(jobId: string, view: TenantView): Promise<string> {
    return view ?? (await this.#find(jobId, view)).tenant;
  }

  async #find(jobId: string, tenant: TenantView): Promise<Job> {
    const job = await this.#store.find(jobId, tenant);
    if (!job) throw jobUnknown(jobId);
    return job;
  }
}

interface Run {
  readonly controller: AbortController;
  /** Nothing else runs here until it has made progress. */
  quarantined: boolean;
  finished: Promise<void>;
}

function readCursor(cursor: string): number {
  const seq = Number(Buffer.from(cursor, "base64url").toString());
  if (Number.isSafeInteger(seq) && seq > 0) return seq;
  throw new DureError("CURSOR_INVALID", "This cursor was not given out by this list.", {
    class: "input",
    hint: "Give back nextCursor as it came.",
  });
}

function jobUnknown(jobId: string): DureError {
  return new DureError("JOB_UNKNOWN", `There is no job ${jobId}.`, {
    class: "not-found",
    hint: "Finished jobs are kept 7 days; check the id.",
  });
}
