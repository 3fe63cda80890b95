import type { Clock } from "../kernel/clock.ts";
import { durationMs, type Duration } from "../kernel/duration.ts";
import { DureError, ProcessError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { KnownTo, TenantView } from "../kernel/tenant.ts";
import type { Files } from "../durable/files/files.ts";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Notifications } from "../durable/notify.ts";
import { pageLimit, pageOf, readCursor, type RowPage } from "../durable/page.ts";
import type { Pauses } from "../durable/pauses.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { SweepRule } from "../durable/retention.ts";
import type { DeadProcess } from "../durable/takeover.ts";
import type { Conversations } from "../engine/api.ts";
import { ALLOW_ALL, readAllowlist } from "./allowlist.ts";
import { checkText, resultOf, type AskRequest, type AskResult } from "./ask.ts";
import { JobAsking } from "./asking.ts";
import { EndedJobs } from "./ended-jobs.ts";
import { ExchangeFacts } from "./exchange-facts.ts";
import { jobOfSession, transition, type Job, type JobDetail } from "./job.ts";
import type { AgentDirectory } from "./job-exchange-store.ts";
import { JobFiles } from "./job-files.ts";
import { JobReader } from "./job-reader.ts";
import { JobStatements } from "./job-statements.ts";
import { followJob, type JobFrame } from "./job-stream.ts";
import { JobLeading } from "./leading.ts";
import { JOB_LIMITS, type JobLimits } from "./limits.ts";
import { JobRecovery, purgeJobs, type RecoveryReport } from "./recovery.ts";
import { jobRetryRefusal } from "./retry-refusal.ts";
import { JobStore, JOBS_TOPIC } from "./store.ts";
import { JobTimekeeping } from "./job-timekeeping.ts";
import { MAX_RESULTS, renderResults } from "./turn-message.ts";
import { isJobOver, type JobStatus, type OpenJobStatus } from "../kernel/jobs.ts";

export interface JobsOptions {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly events: Pick<EventLog, "follow" | "read" | "now" | "caughtUp">;
  readonly lease: Pick<ProcessLease, "id" | "signal" | "whenHeld">;
  readonly conversations: Pick<Conversations, "accept" | "read">;
  readonly agents: AgentDirectory;
  /** Absent: no agent is ever paused. */
  readonly pauses?: Pick<Pauses, "get" | "onChange"> | undefined;
  /** Absent: an exchange carries none. */
  readonly files?: Pick<Files, "read"> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits?: Partial<JobLimits> | undefined;
  /** Which agent may ask which. Default: every agent may ask every agent. */
  readonly allow?: readonly string[] | undefined;
  /** For the jitter of retries. */
  readonly random?: (() => number) | undefined;
}

/** Whose job is steered, and by whom. */
interface Steering {
  readonly tenant?: TenantView | undefined;
  readonly by?: string | undefined;
}

const PAGE = { usual: 50, most: 200 } as const;

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
  readonly #store: JobStore;
  readonly #reader: JobReader;
  readonly #asking: JobAsking;
  readonly #leading: JobLeading;
  readonly #tending: JobTimekeeping;
  readonly #ended: EndedJobs;
  readonly #recovery: JobRecovery;
  /** Files that came with a job. */
  readonly files: JobFiles;
  readonly #over = new AbortController();
  #unsubscribe: (() => void) | undefined;

  constructor(options: JobsOptions) {
    const { database, notifications, lease, clock, random = Math.random } = options;
    const limits = { ...JOB_LIMITS, ...options.limits };
    const allow = readAllowlist(options.allow ?? ALLOW_ALL);
    const statements = new JobStatements({ database, clock, signal: lease.signal });
    const store = new JobStore({ database, notifications, clock, signal: lease.signal });
    const reader = new JobReader(statements);
    const facts = new ExchangeFacts(statements);
    const signal = AbortSignal.any([this.#over.signal, lease.signal]);
    this.files = new JobFiles(statements, options.files);
    const parts = { ...options, limits, store, reader, facts, random, signal, files: this.files };
    this.#options = options;
    this.#limits = limits;
    this.#store = store;
    this.#reader = reader;
    this.#asking = new JobAsking({ ...parts, allow });
    this.#leading = new JobLeading(parts);
    this.#tending = new JobTimekeeping({
      ...parts,
      retry: ({ job, tenant, by }) => this.retry(job, { tenant, by }),
    });
    this.#ended = new EndedJobs(parts);
    this.#recovery = new JobRecovery({ ...parts, onReleased: () => this.#leading.wake() });
  }

  /** Exchanges that are led here. */
  get running(): number {
    return this.#leading.size;
  }

  /**
   * Begins to take jobs. Meanwhile the rest of an earlier life is checked; `recovered` says what
   * was found. Idempotent.
   */
  start(): void {
    this.#unsubscribe ??= this.#options.notifications.subscribe(JOBS_TOPIC, () => {
      this.#leading.wake();
      this.#ended.wake();
    });
    this.#recovery.start();
    this.#leading.start();
    this.#tending.start();
    this.#ended.start();
  }

  /** What the start found. Rejects when this process stopped before. */
  get recovered(): Promise<RecoveryReport> {
    return this.#recovery.recovered;
  }

  /**
   * Takes nothing more and lets go of what it leads; others go on with it when this process's lease
   * has ended. Their turns finish here, with the engine.
   */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#over.abort(
      new ProcessError("PROCESS_STOPPED", "The jobs of this process were stopped.", {
        class: "unavailable",
      }),
    );
    await this.#tending.stop();
    await this.#ended.stop();
    await this.#recovery.stop();
    await this.#leading.stop();
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
    const { job, waitSec } = await this.#asking.jobOf(request);
    signal?.throwIfAborted();
    const { id } = await this.#store.ask(job);
    if (waitSec === 0) return { status: "accepted", jobId: id };
    return this.#answer(id, job.tenant, waitSec * 1_000, signal);
  }

  /** Notes that an agent ends its exchange with this turn. False outside of one. */
  async endExchange(session: string, turn: string, result?: string): Promise<boolean> {
    const job = jobOfSession(session);
    return job !== undefined && this.#store.endAsked(job, turn, result);
  }

  // --- looking

  /** Throws `JOB_UNKNOWN`, also for another tenant's job. */
  async get(
    jobId: string,
    { tenant = "" }: { tenant?: TenantView | undefined } = {},
  ): Promise<JobDetail> {
    const job = await this.#find(jobId, tenant);
    const [turns, words, answer] = await Promise.all([
      this.#reader.turns(jobId),
      this.#reader.allWords(jobId),
      this.#reader.answer(jobId),
    ]);
    // A turn that ended between the two questions is seen with the next one.
    return { ...job, answer, turns: turns.slice(0, job.turnsDone), words };
  }

  /** Newest first. */
  async list(
    options: {
      tenant?: TenantView | undefined;
      knownTo?: KnownTo | undefined;
      status?: JobStatus | undefined;
      agent?: string | undefined;
      conversation?: string | undefined;
      parent?: string | undefined;
      root?: string | undefined;
      since?: Duration | undefined;
      limit?: number | undefined;
      cursor?: string | undefined;
    } = {},
  ): Promise<RowPage<Job>> {
    const { tenant = "", since, cursor, ...rest } = options;
    const limit = pageLimit(options.limit, PAGE);
    const [before] = readCursor(cursor, /^(\d{1,15})$/) ?? [];
    const rows = await this.#reader.list({
      ...rest,
      tenant,
      limit: limit + 1,
      before: before === undefined ? undefined : Number(before),
      sinceMs: since === undefined ? undefined : durationMs(since),
    });
    const { items, nextCursor } = pageOf(rows, limit, ({ seq }) => [seq]);
    return { items: items.map(({ seq: _seq, ...job }) => job), nextCursor };
  }

  /**
   * How the job stands and then what happens to it, until it has ended. With `after` (the `id` of
   * an event) only what came behind it. Ends with the abort of `signal`.
   */
  stream(
    jobId: string,
    {
      tenant = "",
      after,
      signal,
    }: {
      tenant?: TenantView | undefined;
      after?: string | undefined;
      signal?: AbortSignal | undefined;
    } = {},
  ): AsyncGenerator<JobFrame, void, undefined> {
    const { events } = this.#options;
    const read = (): Promise<JobDetail> => this.get(jobId, { tenant });
    return followJob({ jobId, events, after, signal, read });
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
    return this.#reader.audit(tenant, { stuckMs: durationMs(stuck), resumes });
  }

  /** See `JobReader.originOf`. */
  async originOf(jobId: string): Promise<string | undefined> {
    return this.#reader.originOf(jobId);
  }

  /** Open jobs by status, for metrics. */
  async standing(): Promise<Readonly<Record<OpenJobStatus, number>>> {
    return this.#reader.standing();
  }

  // --- steering

  /**
   * Cancels the job and all that it asked for, wherever they run. Stored when this resolves. Throws
   * `JOB_UNKNOWN`, `JOB_TRANSITION` (it has ended otherwise).
   */
  async cancel(jobId: string, { tenant: view = "", by = "" }: Steering = {}): Promise<Job> {
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
    const tenant = (await this.#reader.session(session))?.tenant;
    const job = tenant === undefined ? undefined : await this.#reader.find(jobId, tenant);
    if (job?.requester !== requester) {
      throw new DureError("JOB_UNKNOWN", `There is no job ${jobId} of yours.`, {
        class: "not-found",
        hint: "Only who asked may cancel here.",
      });
    }
    return this.cancel(jobId, { tenant: job.tenant, by: requester });
  }

  /**
   * Goes on with a job that failed or was given up: the same job, behind its finished turns. The turn
   * that was cut goes on from its journal, so what it has done is not done again. Asked twice, it is
   * one retry. Throws `JOB_UNKNOWN`, `JOB_NOT_RETRYABLE` (it was completed, cancelled or stopped, or
   * its turn has acted and cannot go on), `JOB_NOT_ALLOWED` (the team's rules have changed).
   */
  async retry(jobId: string, { tenant: view = "", by = "" }: Steering = {}): Promise<Job> {
    const job = await this.#find(jobId, view);
    this.#asking.checkAllowed(job);
    const answer = await this.#store.retry(jobId, job.tenant, by);
    if (answer === null) throw jobUnknown(jobId);
    const refusal = jobRetryRefusal(jobId, answer);
    if (refusal) throw refusal;
    return this.#find(jobId, job.tenant);
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
    const owner = await this.#ownerOf(jobId, tenant);
    const { words } = this.#limits;
    const status = await this.#store.speak(jobId, owner, { author: by, text: text.trim() }, words);
    if (status === null) throw jobUnknown(jobId);
    if (status === "full") throw wordsFull(jobId, words);
    if (isJobOver(status)) throw jobOver(jobId, status);
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
      : renderResults(results, (agent) => this.#asking.named(agent).displayName);
  }

  /** Removes finished jobs older than `olderThan`, in bounded bites. Returns how many. */
  async purge({
    olderThan,
    signal,
  }: { olderThan?: Duration | undefined; signal?: AbortSignal | undefined } = {}): Promise<number> {
    const keepMs = olderThan === undefined ? this.#limits.keepMs : durationMs(olderThan);
    return purgeJobs(this.#store, { keepMs, signal });
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

  /**
   * For Takeover, before the recoverer of turns: the jobs of a dead process go back in line, or are
   * given up. May be run twice.
   */
  async recoverDead(dead: Pick<DeadProcess, "id" | "because">): Promise<void> {
    await this.#recovery.recoverDead(dead);
  }

  async #answer(
    id: string,
    tenant: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<AskResult> {
    if (!(await this.#ended.until(id, waitMs, signal))) return { status: "timeout", jobId: id };
    const job = await this.get(id, { tenant });
    // A caller that asks again after a crash may find that the place was told meanwhile: a result
    // is told once.
    return (await this.#store.answered(id)) ? resultOf(job) : { status: "timeout", jobId: id };
  }

  /** Whose job it is, for who sees all tenants. Throws `JOB_UNKNOWN`. */
  async #ownerOf(jobId: string, view: TenantView): Promise<string> {
    return view ?? (await this.#find(jobId, view)).tenant;
  }

  async #find(jobId: string, tenant: TenantView): Promise<Job> {
    const job = await this.#reader.find(jobId, tenant);
    if (!job) throw jobUnknown(jobId);
    return job;
  }
}

function jobUnknown(jobId: string): DureError {
  return new DureError("JOB_UNKNOWN", `There is no job ${jobId}.`, {
    class: "not-found",
    hint: "Finished jobs are kept 7 days; check the id.",
  });
}

function jobOver(jobId: string, status: JobStatus): DureError {
  return new DureError("JOB_OVER", `The job ${jobId} is ${status}; no worker listens any more.`, {
    class: "conflict",
    hint: "Ask anew, or retry it.",
  });
}

function wordsFull(jobId: string, { count, bytes }: JobLimits["words"]): DureError {
  return new DureError(
    "JOB_WORDS_FULL",
    `The next turn of ${jobId} is told ${count} texts of ${bytes} bytes together at most.`,
    {
      class: "limit",
      hint: "Wait until the next turn has heard what waits, or say it shorter.",
    },
  );
}
