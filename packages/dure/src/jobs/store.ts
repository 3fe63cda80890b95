import { codeOf } from "../kernel/errors.ts";
import { EVENTS_TOPIC } from "../durable/event-rows.ts";
import type { Notifications } from "../durable/notify.ts";
import { storable } from "../durable/storable.ts";
import { UNATTENDED_TOPIC } from "../durable/turns.ts";
import type { JobStatus } from "../kernel/jobs.ts";
import type { NewPlatformEvent } from "../wire/events.ts";
import type { ExchangeStore, Rest } from "./exchange.ts";
import { earlierWords } from "./earlier-words.ts";
import type { EarlierWords, Job, JobResult } from "./job.ts";
import { JobReader } from "./job-reader.ts";
import type { RetriedJob } from "./retry-refusal.ts";
import { JOB_COLUMNS, jobOf, RESULTS, type JobRow } from "./job-rows.ts";
import { JobStatements, type JobStatementsOptions } from "./job-statements.ts";
import { refusalOf, type NewJob } from "./new-job.ts";
import type { GivenAnswer, JobTurn } from "../wire/jobs.ts";

/** How a job begins to wait for a person, or for the resume of its agent. */
const WAITS = {
  person: ["job.wait", "select dure.wait_job($1, $2) as value"],
  resume: ["job.rest-paused", "select dure.rest_paused_job($1, $2) as value"],
} as const;

/** Wakes every process: a job waits, or one has ended. */
export const JOBS_TOPIC = "jobs";

/**
 * What an agent is told in one attempt of an exchange turn; kept, so that a resumed job says the
 * same.
 */
export interface AttemptInput {
  readonly session: string;
  readonly service: string;
  readonly message: string;
  readonly background: string;
}

/** An escalation whose answer is to try its job again. */
export interface RetryAsked {
  readonly escalation: string;
  readonly job: string;
  readonly tenant: string;
  readonly by: string;
}

/** A job and the epoch under which it is led. */
export interface HeldAs {
  readonly id: string;
  readonly epoch: number;
}

/** A job as its holder needs it. */
export interface HeldJob {
  readonly job: Job;
  readonly epoch: number;
  readonly turns: readonly JobTurn[];
  /** With these turns. */
  readonly answer: GivenAnswer | null;
  /** Attempts of the turn under way that were begun; 0 before the first. */
  readonly attempt: number;
  readonly input: AttemptInput | null;
  /** The session's first message that can be this attempt's. */
  readonly attemptFrom: number | null;
  readonly currentTurn: string | null;
  /**
   * The last words of earlier exchanges of the same conversation, oldest first; empty behind the
   * first turn.
   */
  readonly earlier: readonly EarlierWords[];
}

interface Released {
  readonly resumed: number;
  readonly abandoned: number;
}

/**
 * The statements of a job's life. Each is safe to repeat, so a lost answer is asked for again until
 * it comes or `signal` says that this process may not write any longer.
 */
export class JobStore {
  readonly #statements: JobStatements;
  readonly #reader: JobReader;
  readonly #notifications: Pick<Notifications, "publish">;

  constructor(options: JobStatementsOptions & { notifications: Pick<Notifications, "publish"> }) {
    this.#statements = new JobStatements(options);
    this.#reader = new JobReader(this.#statements);
    this.#notifications = options.notifications;
  }

  /** Throws the refusals of `ask_job`. */
  async ask(job: NewJob): Promise<{ outcome: "accepted" | "repeated"; id: string }> {
    try {
      const answer = await this.#statements.retrying<{
        outcome: "accepted" | "repeated";
        id: string;
      }>("job.ask", "select dure.ask_job($1) as value", [storable(job)]);
      this.#tell();
      return answer;
    } catch (error) {
      throw refusalOf(error, job) ?? error;
    }
  }

  /**
   * @param options.alone jobs in quarantine: beside them only what they have asked for is given.
   */
  async take(options: {
    holder: string;
    known: readonly string[];
    alone: readonly string[];
    room: number;
    agents: readonly string[];
    permits: number;
    permitWaitMs: number;
    unknownAgentMs: number;
  }): Promise<{
    taken: readonly { id: string; quarantined: boolean }[];
    lost: readonly string[];
  }> {
    const { permitWaitMs, unknownAgentMs, ...rest } = options;
    // Asked once: jobs of a lost answer are found again as this process's own.
    const [row] = await this.#statements.once<{
      value: { taken: readonly { id: string; quarantined: boolean }[]; lost: readonly string[] };
    }>({ name: "job.take", text: "select dure.take_jobs($1) as value" }, [
      storable({ ...rest, permit_wait_ms: permitWaitMs, unknown_agent_ms: unknownAgentMs }),
    ]);
    if (row!.value.taken.length > 0) {
      this.#notifications.publish(EVENTS_TOPIC);
      this.#notifications.publish(UNATTENDED_TOPIC);
    }
    return row!.value;
  }

  /** Undefined when `holder` has it no longer. */
  async held(id: string, holder: string): Promise<HeldJob | undefined> {
    const [row] = await this.#statements.many<HeldRow>(
      "job.held",
      `
        select ${JOB_COLUMNS}, epoch, attempt, attempt_input, attempt_from, current_turn, answer
        from dure.jobs
        where id = $1 and holder = $2 and status = 'RUNNING'`,
      [id, holder],
    );
    if (!row) return undefined;
    const job = jobOf(row);
    const earlier = job.turnsDone === 0 ? await earlierWords(this.#statements, job) : [];
    return {
      job,
      epoch: row.epoch,
      earlier,
      turns: await this.#reader.turns(id),
      answer: row.answer,
      attempt: row.attempt,
      input: row.attempt_input,
      attemptFrom: row.attempt_from,
      currentTurn: row.current_turn,
    };
  }

  /** @param told the persons' words and the results that `input` tells. */
  async begin(
    { id, epoch }: HeldAs,
    attempt: number,
    input: AttemptInput,
    told: { words: readonly number[]; results: readonly string[] },
  ): Promise<boolean> {
    return this.#statements.retrying(
      "job.begin",
      "select dure.begin_job_turn($1, $2, $3, $4, $5, $6) as value",
      [id, epoch, attempt, storable(input), told.words, told.results],
    );
  }

  async note(id: string, epoch: number, turn: string): Promise<boolean> {
    return this.#statements.retrying("job.note", "select dure.note_job_turn($1, $2, $3) as value", [
      id,
      epoch,
      turn,
    ]);
  }

  /**
   * Stops a conversation turn of the job, by the process that leads it. False: another one does, or
   * the job is over; then nothing is stopped here.
   */
  async stopTurn({ id, epoch }: HeldAs, turn: string): Promise<boolean> {
    const isOurs = await this.#statements.retrying<boolean>(
      "job.stop-turn",
      `
        with led as (
          select tenant
          from dure.jobs
          where id = $1 and epoch = $2 and status = 'RUNNING'
          for no key update
        )
        select count(coalesce(dure.stop_turn($3, tenant, 'jobs'), '')) > 0 as value
        from led`,
      [id, epoch, turn],
    );
    if (isOurs) this.#notifications.publish("stops");
    return isOurs;
  }

  async settle(
    id: string,
    epoch: number,
    settled: Parameters<ExchangeStore["settle"]>[0],
  ): Promise<"continues" | "over" | "fenced"> {
    const answer = await this.#statements.retrying<"continues" | "over" | "fenced">(
      "job.settle",
      "select dure.settle_job($1) as value",
      [storable({ job: id, epoch, ...settled })],
    );
    this.#notifications.publish(EVENTS_TOPIC);
    if (answer === "over") {
      for (const topic of [JOBS_TOPIC, "outbox", "stops"]) this.#notifications.publish(topic);
    }
    return answer;
  }

  async wait(id: string, epoch: number, what: "person" | "resume" = "person"): Promise<Rest> {
    const [name, text] = WAITS[what];
    const answer = await this.#statements.retrying<Rest>(name, text, [id, epoch]);
    this.#tell();
    return answer;
  }

  /**
   * Notes that an agent wants to end the exchange, with what it gave to `finish`; false when the
   * conversation turn is not one of the present attempt. Its holder may not have noted it yet.
   */
  async endAsked(id: string, turn: string, result?: string): Promise<boolean> {
    const rows = await this.#statements.many(
      "job.end-asked",
      `
        update dure.jobs j
        set ended_by_turn = $2,
          finish = case
            when $3::text is null then finish
            else jsonb_build_object('turn', $2::text, 'text', $3::text)
          end
        where j.id = $1
          and j.status = 'RUNNING'
          and (
            j.current_turn = $2
            or exists (
              select
              from dure.messages m
              where m.turn_id = $2
                and m.session_id = j.attempt_input->>'session'
                and m.ordinal >= j.attempt_from
            )
          )
        returning j.id`,
      [id, turn, result ?? null],
    );
    return rows.length > 0;
  }

  async cancel(
    id: string,
    tenant: string,
    by: string,
  ): Promise<{ before: JobStatus; cancelled: number } | null> {
    const answer = await this.#statements.retrying<{
      before: JobStatus;
      cancelled: number;
    } | null>("job.cancel", "select dure.cancel_job($1, $2, $3) as value", [id, tenant, by]);
    this.#tell();
    for (const topic of ["stops", "outbox", UNATTENDED_TOPIC]) this.#notifications.publish(topic);
    return answer;
  }

  /** Opens a job that has ended; null: no such job. See `dure.retry_job`. */
  async retry(id: string, tenant: string, by: string): Promise<RetriedJob | null> {
    const text = "select dure.retry_job($1, $2, $3) as value";
    const answer = await this.#statements
      .retrying<RetriedJob | null>("job.retry", text, [id, tenant, by])
      .catch((error: unknown) => {
        if (codeOf(error) === "DU409") return "acted" as const;
        throw error;
      });
    this.#tell();
    return answer;
  }

  /**
   * Null: no such job; `full`: one turn cannot be told so much. @param most words and their bytes
   * that one turn is told.
   */
  async speak(
    id: string,
    tenant: string,
    said: { author: string; text: string },
    most: { count: number; bytes: number },
  ): Promise<JobStatus | "full" | null> {
    const [row] = await this.#statements.once<{ value: JobStatus | "full" | null }>(
      { name: "job.speak", text: "select dure.speak_into_job($1, $2, $3, $4, $5, $6) as value" },
      [id, tenant, said.author, said.text, most.count, most.bytes],
    );
    this.#tell();
    return row!.value;
  }

  /** Keeps the result of a job for the next turn of a session; nothing when either is gone. */
  async keepNote(id: string, session: string): Promise<void> {
    await this.#statements.retrying("job.keep-note", "select dure.keep_job_note($1, $2) as value", [
      id,
      session,
    ]);
  }

  /**
   * The notes of a session that this turn tells: not told yet, or told by a turn that failed;
   * oldest first, at most `limit`. The same turn gets the same again.
   */
  async takeNotes(session: string, turn: string, limit: number): Promise<readonly JobResult[]> {
    const taken = await this.#statements.retrying<readonly string[]>(
      "job.take-notes",
      "select dure.take_job_notes($1, $2, $3) as value",
      [session, turn, limit],
    );
    return this.#statements.many<JobResult>(
      "job.notes",
      `${RESULTS} where c.id = any($1) order by c.seq`,
      [taken],
    );
  }

  /** The caller takes the answer itself. False: its notice has left already, and tells it. */
  async answered(id: string): Promise<boolean> {
    return this.#statements.retrying<boolean>(
      "job.answered",
      "select dure.job_answered($1) as value",
      [id],
    );
  }

  async tend(stepMostMs: number): Promise<{ open: number; notices: number }> {
    const [row] = await this.#statements.once<{ value: { open: number; notices: number } }>(
      { name: "job.tend", text: "select dure.tend_jobs($1) as value" },
      [stepMostMs],
    );
    if (row!.value.notices > 0) this.#notifications.publish("outbox");
    return row!.value;
  }

  async release(
    holder: string,
    options: { counts: boolean; resumesMost: number; staleMs: number },
  ): Promise<{ resumed: number; abandoned: number }> {
    const answer = await this.#statements.retrying<Released>(
      "job.release",
      "select dure.release_jobs($1, $2, $3, $4) as value",
      [holder, options.counts, options.resumesMost, options.staleMs],
    );
    this.#tell();
    this.#notifications.publish("outbox");
    return answer;
  }

  async abandonStale(staleMs: number): Promise<number> {
    const count = await this.#statements.retrying<number>(
      "job.stale",
      "select dure.abandon_stale_jobs($1) as value",
      [staleMs],
    );
    if (count > 0) {
      for (const topic of [JOBS_TOPIC, EVENTS_TOPIC, "outbox", "stops"]) {
        this.#notifications.publish(topic);
      }
    }
    return count;
  }

  async purge(keepMs: number, limit: number): Promise<number> {
    return this.#statements.retrying("job.purge", "select dure.purge_jobs($1, $2) as value", [
      keepMs,
      limit,
    ]);
  }

  /** Escalations that ask for a job to be tried again. */
  async retriesAsked(): Promise<readonly RetryAsked[]> {
    return this.#statements.many(
      "job.retries-asked",
      `
        select id as escalation, context->>'jobId' as job, tenant,
          coalesce(resolved_by, '') as by
        from dure.escalations
        where type = 'job_abandoned'
          and status = 'resolved'
          and used_at is null
          and resolution->>'value' = 'retry'
        limit 20`,
      [],
    );
  }

  async retryUsed(escalation: string): Promise<void> {
    await this.#statements.once(
      {
        name: "job.retry-used",
        text: `
          update dure.escalations
          set used_at = clock_timestamp()
          where id = $1`,
      },
      [escalation],
    );
  }

  /** Emits within a statement of its own. */
  async emit(event: NewPlatformEvent): Promise<void> {
    await this.#statements.once({ name: "job.emit", text: "select dure.emit($1)" }, [
      storable([event]),
    ]);
    this.#notifications.publish(EVENTS_TOPIC);
  }

  #tell(): void {
    this.#notifications.publish(JOBS_TOPIC);
    this.#notifications.publish(EVENTS_TOPIC);
  }
}

type HeldRow = JobRow & {
  readonly epoch: number;
  readonly attempt: number;
  readonly attempt_input: AttemptInput | null;
  readonly attempt_from: number | null;
  readonly current_turn: string | null;
  readonly answer: GivenAnswer | null;
};
