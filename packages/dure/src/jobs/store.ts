import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { TenantView } from "../kernel/tenant.ts";
import type { Database } from "../durable/database.ts";
import { EVENTS_TOPIC } from "../durable/event-log.ts";
import type { Notifications } from "../durable/notify.ts";
import { storable } from "../durable/storable.ts";
import { UNATTENDED_TOPIC } from "../durable/turns.ts";
import type { ExchangeEnd } from "./endings.ts";
import type { Rest } from "./exchange.ts";
import type { Job, JobError, JobTurn, JobWords } from "./job.ts";
import type { JobPayload } from "./payloads.ts";
import type { JobStatus } from "../kernel/jobs.ts";
import type { NewPlatformEvent } from "../wire/events.ts";

/** Wakes every process: a job waits, or one has ended. */
export const JOBS_TOPIC = "jobs";

export interface NewJob {
  readonly id: string;
  readonly tenant: string;
  readonly requester: string;
  readonly target: string;
  readonly message: string;
  readonly payload: JobPayload | null;
  readonly topic: string | null;
  readonly intent: string;
  readonly conversation: string | null;
  /** Used when no conversation is found. */
  readonly new_conversation: string;
  readonly parent: string | null;
  readonly retry_of: string | null;
  readonly max_turns: number;
  readonly key: string | null;
  readonly body_hash: string;
  readonly origin_session: string | null;
  readonly origin_turn: string | null;
  /** How long the caller waits for the answer itself, milliseconds. */
  readonly wait_ms: number;
  readonly max_depth: number;
  readonly max_tree: number;
}

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

/** A job as its holder needs it. */
export interface HeldJob {
  readonly job: Job;
  readonly epoch: number;
  readonly turns: readonly JobTurn[];
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

/** What an agent said in an earlier exchange of the same conversation. */
export interface EarlierWords {
  readonly speaker: string;
  readonly text: string;
}

/** Outcome of background work that an agent asked for in its exchange. */
export interface JobResult {
  readonly jobId: string;
  /** Who was asked. */
  readonly target: string;
  readonly message: string;
  readonly status: JobStatus;
  readonly error: JobError | null;
  /** What the asked agent said last. */
  readonly reply: string | null;
}

export interface JobQuery {
  readonly tenant: TenantView;
  readonly status?: JobStatus | undefined;
  /** As requester or as target. */
  readonly agent?: string | undefined;
  readonly conversation?: string | undefined;
  /** The job that asked for it. */
  readonly parent?: string | undefined;
  /** The job with which its whole work began. */
  readonly root?: string | undefined;
  /** Milliseconds. */
  readonly sinceMs?: number | undefined;
  readonly before?: number | undefined;
  readonly limit: number;
}

/** Words of earlier exchanges that are told at the beginning of another one. */
const MAX_EARLIER = 3;
const RETRY_FIRST_MS = 25;
const MAX_RETRY_MS = 500;

/** Refusals of `dure.ask_job`, by SQLSTATE. */
const REFUSALS: Readonly<Record<string, (job: NewJob) => DureError>> = {
  DU404: ({ parent }) =>
    new DureError("JOB_UNKNOWN", `There is no job ${parent}.`, {
      class: "not-found",
      hint: "Check the parent's id.",
    }),
  DU409: ({ parent }) =>
    new DureError("JOB_OVER", `The job ${parent} has ended and asks for nothing more.`, {
      class: "conflict",
      hint: "Ask from a session of its own.",
    }),
  DU413: ({ max_depth: most }) =>
    new DureError("JOB_TOO_DEEP", `This request would be more than ${most} requests deep.`, {
      class: "limit",
      hint: "Answer with what is known; the rest can be asked for outside of this exchange.",
    }),
  DU422: ({ key }) =>
    new DureError("IDEMPOTENCY_KEY_REUSED", `The key ${key} was used for another request.`, {
      class: "input",
      hint: "Use a new key for a new request.",
    }),
  DU429: ({ max_tree: most }) =>
    new DureError(
      "JOB_TREE_FULL",
      `The work that this request belongs to has ${most} jobs already.`,
      {
        class: "limit",
        hint: "Answer with what is known; the rest can be asked for outside of this work.",
      },
    ),
};

/**
 * The statements of a job's life. Each is safe to repeat, so a lost answer is asked for again until
 * it comes or `signal` says that this process may not write any longer.
 */
export class JobStore {
  readonly #database: Database;
  readonly #notifications: Pick<Notifications, "publish">;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;

  constructor(options: {
    database: Database;
    notifications: Pick<Notifications, "publish">;
    clock: Clock;
    signal: AbortSignal;
  }) {
    this.#database = options.database;
    this.#notifications = options.notifications;
    this.#clock = options.clock;
    this.#signal = options.signal;
  }

  /** Throws the refusals of `ask_job`. */
  async ask(job: NewJob): Promise<{ outcome: "accepted" | "repeated"; id: string }> {
    try {
      const answer = await this.#surely<{ outcome: "accepted" | "repeated"; id: string }>(
        "job.ask",
        "select dure.ask_job($1) as value",
        [storable(job)],
      );
      this.#tell();
      return answer;
    } catch (error) {
      throw REFUSALS[codeOf(error) ?? ""]?.(job) ?? error;
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
    const [row] = await this.#database.query<{
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
    const [row] = await this.#many<HeldRow>(
      "job.held",
      `
        select ${JOB_COLUMNS}, epoch, attempt, attempt_input, attempt_from, current_turn
        from dure.jobs
        where id = $1 and holder = $2 and status = 'RUNNING'`,
      [id, holder],
    );
    if (!row) return undefined;
    const job = jobOf(row);
    const earlier = job.turnsDone === 0 ? await this.#earlier(job) : [];
    return {
      job,
      epoch: row.epoch,
      earlier,
      turns: await this.turns(id),
      attempt: row.attempt,
      input: row.attempt_input,
      attemptFrom: row.attempt_from,
      currentTurn: row.current_turn,
    };
  }

  /** @param told the persons' words and the results that `input` tells. */
  async begin(
    id: string,
    epoch: number,
    attempt: number,
    input: AttemptInput,
    told: { words: readonly number[]; results: readonly string[] },
  ): Promise<boolean> {
    return this.#surely(
      "job.begin",
      "select dure.begin_job_turn($1, $2, $3, $4, $5, $6) as value",
      [id, epoch, attempt, storable(input), told.words, told.results],
    );
  }

  async note(id: string, epoch: number, turn: string): Promise<boolean> {
    return this.#surely("job.note", "select dure.note_job_turn($1, $2, $3) as value", [
      id,
      epoch,
      turn,
    ]);
  }

  async settle(
    id: string,
    epoch: number,
    settled: {
      turn?: { number: number; speaker: string; text: string };
      end?: ExchangeEnd | undefined;
    },
  ): Promise<"continues" | "over" | "fenced"> {
    const answer = await this.#surely<"continues" | "over" | "fenced">(
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

  async wait(id: string, epoch: number): Promise<Rest> {
    const answer = await this.#surely<Rest>("job.wait", "select dure.wait_job($1, $2) as value", [
      id,
      epoch,
    ]);
    this.#tell();
    return answer;
  }

  /** Words that no agent was told yet, and those that the turn's earlier attempts were told. */
  async words(id: string, turn: number): Promise<readonly JobWords[]> {
    const rows = await this.#many<WordsRow>(
      "job.words",
      `${WORDS} where job_id = $1 and (turn_number is null or turn_number = $2) order by id`,
      [id, turn],
    );
    return rows.map(wordsOf);
  }

  /**
   * Results for `agent` that it was not told yet, and those that the turn's earlier attempts told
   * it; oldest first, at most `limit`.
   */
  async results(
    id: string,
    turn: number,
    agent: string,
    limit: number,
  ): Promise<readonly JobResult[]> {
    return this.#many<JobResult>(
      "job.results",
      `${RESULTS} join dure.job_results r on r.child_id = c.id
        where r.job_id = $1 and r.agent = $3 and (r.turn_number is null or r.turn_number = $2) \
order by r.at, c.id limit $4`,
      [id, turn, agent, limit],
    );
  }

  async allWords(id: string): Promise<readonly JobWords[]> {
    return (
      await this.#many<WordsRow>("job.all-words", `${WORDS} where job_id = $1 order by id`, [id])
    ).map(wordsOf);
  }

  /**
   * What all jobs of one root have used so far: in finished turns, and in the recorded calls of
   * turns that are under way or were never finished.
   */
  async spent(root: string): Promise<{ tokens: number; microUsd: number }> {
    const [row] = await this.#many<{ tokens: number; micro_usd: number }>(
      "job.spent",
      `
        select coalesce(sum(u.tokens), 0)::float8 as tokens,
          coalesce(sum(u.micro_usd), 0)::float8 as micro_usd
        from dure.jobs j
        cross join lateral (
          select t.tokens_in + t.tokens_out as tokens, t.cost_micro_usd as micro_usd
          from dure.job_turns t
          where t.job_id = j.id
          union all
          select c.tokens_in + c.tokens_out, c.cost_micro_usd
          from dure.model_calls c
          where c.session_id = j.attempt_input->>'session'
            and c.turn_id = any(j.attempt_turns)
        ) u
        where j.root_id = $1`,
      [root],
    );
    return { tokens: row!.tokens, microUsd: row!.micro_usd };
  }

  /** The conversation turn that an attempt was accepted as, when its acceptance was never noted. */
  async acceptedTurn(session: string, from: number): Promise<string | undefined> {
    const [row] = await this.#many<{ id: string }>(
      "job.accepted-turn",
      `
        select t.id
        from dure.messages m
        join dure.turns t on t.id = m.turn_id
        where m.session_id = $1 and m.ordinal >= $2 and t.author = 'person'
        order by m.ordinal desc
        limit 1`,
      [session, from],
    );
    return row?.id;
  }

  /** The turn that a person's answer has started behind `turn`. */
  async turnBehind(session: string, turn: string): Promise<string | undefined> {
    return (
      (await this.#surely<string | null>(
        "job.turn-behind",
        "select dure.turn_behind($1, $2) as value",
        [session, turn],
      )) ?? undefined
    );
  }

  /** Whether a question to a person is open in this session. */
  async isAsking(session: string): Promise<boolean> {
    const rows = await this.#many(
      "job.asking",
      `
        select id
        from dure.escalations
        where session_id = $1
          and status = 'open'
          and (expires_at is null or expires_at > clock_timestamp())
        limit 1`,
      [session],
    );
    return rows.length > 0;
  }

  async hadEffects(turn: string): Promise<boolean> {
    return (
      (
        await this.#many("job.effects", "select key from dure.effects where turn_id = $1 limit 1", [
          turn,
        ])
      ).length > 0
    );
  }

  /**
   * Whether `end_conversation` was called in this attempt of the exchange turn: in this
   * conversation turn, or in one that a person's answer went on with.
   */
  async wasEnded(id: string, turn: string): Promise<boolean> {
    return (
      (
        await this.#many(
          "job.was-ended",
          `
            select id
            from dure.jobs
            where id = $1 and (ended_by_turn = $2 or ended_by_turn = any(attempt_turns))`,
          [id, turn],
        )
      ).length > 0
    );
  }

  /**
   * Notes that an agent wants to end the exchange; false when the conversation turn is not one of
   * the present attempt. Its holder may not have noted it yet.
   */
  async endAsked(id: string, turn: string): Promise<boolean> {
    const rows = await this.#many(
      "job.end-asked",
      `
        update dure.jobs j
        set ended_by_turn = $2
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
      [id, turn],
    );
    return rows.length > 0;
  }

  async cancel(
    id: string,
    tenant: string,
    by: string,
  ): Promise<{ before: JobStatus; cancelled: number } | null> {
    const answer = await this.#surely<{ before: JobStatus; cancelled: number } | null>(
      "job.cancel",
      "select dure.cancel_job($1, $2, $3) as value",
      [id, tenant, by],
    );
    this.#tell();
    for (const topic of ["stops", "outbox", UNATTENDED_TOPIC]) this.#notifications.publish(topic);
    return answer;
  }

  /**
   * Null: no such job; `full`: one turn cannot be told so much. @param most words and their bytes
   * that one turn is told.
   */
  async speak(
    id: string,
    tenant: string,
    author: string,
    text: string,
    most: { words: number; bytes: number },
  ): Promise<JobStatus | "full" | null> {
    const [row] = await this.#database.query<{ value: JobStatus | "full" | null }>(
      { name: "job.speak", text: "select dure.speak_into_job($1, $2, $3, $4, $5, $6) as value" },
      [id, tenant, author, text, most.words, most.bytes],
    );
    this.#tell();
    return row!.value;
  }

  /** Keeps the result of a job for the next turn of a session; nothing when either is gone. */
  async keepNote(id: string, session: string): Promise<void> {
    await this.#surely("job.keep-note", "select dure.keep_job_note($1, $2) as value", [
      id,
      session,
    ]);
  }

  /**
   * The notes of a session that this turn tells: not told yet, or told by a turn that failed;
   * oldest first, at most `limit`. The same turn gets the same again.
   */
  async takeNotes(session: string, turn: string, limit: number): Promise<readonly JobResult[]> {
    const taken = await this.#surely<readonly string[]>(
      "job.take-notes",
      "select dure.take_job_notes($1, $2, $3) as value",
      [session, turn, limit],
    );
    return this.#many<JobResult>("job.notes", `${RESULTS} where c.id = any($1) order by c.seq`, [
      taken,
    ]);
  }

  /** The caller takes the answer itself. False: its notice has left already, and tells it. */
  async answered(id: string): Promise<boolean> {
    return this.#surely<boolean>("job.answered", "select dure.job_answered($1) as value", [id]);
  }

  async tend(stepMostMs: number): Promise<{ open: number; notices: number }> {
    const [row] = await this.#database.query<{ value: { open: number; notices: number } }>(
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
    const answer = await this.#surely<{ resumed: number; abandoned: number }>(
      "job.release",
      "select dure.release_jobs($1, $2, $3, $4) as value",
      [holder, options.counts, options.resumesMost, options.staleMs],
    );
    this.#tell();
    this.#notifications.publish("outbox");
    return answer;
  }

  async abandonStale(staleMs: number): Promise<number> {
    const count = await this.#surely<number>(
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
    return this.#surely("job.purge", "select dure.purge_jobs($1, $2) as value", [keepMs, limit]);
  }

  /** Escalations that ask for a job to be tried again. */
  async retriesAsked(): Promise<
    readonly { escalation: string; job: string; tenant: string; by: string }[]
  > {
    return this.#many(
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
    await this.#database.query(
      {
        name: "job.retry-used",
        text: "update dure.escalations set used_at = clock_timestamp() where id = $1",
      },
      [escalation],
    );
  }

  /** Emits within a statement of its own. */
  async emit(event: NewPlatformEvent): Promise<void> {
    await this.#database.query({ name: "job.emit", text: "select dure.emit($1)" }, [
      storable([event]),
    ]);
    this.#notifications.publish(EVENTS_TOPIC);
  }

  // --- reading

  async find(id: string, tenant: TenantView): Promise<Job | undefined> {
    const [row] = await this.#many<JobRow>(
      "job.find",
      `select ${JOB_COLUMNS} from dure.jobs where id = $1 and ($2::text is null or tenant = $2)`,
      [id, tenant],
    );
    return row && jobOf(row);
  }

  async turns(id: string): Promise<readonly JobTurn[]> {
    const rows = await this.#many<TurnRow>(
      "job.turns",
      `
        select number, speaker, text, tokens_in, tokens_out, cost_micro_usd, turn_id,
          attempts, ${ms("started_at")}, ${ms("finished_at")}
        from dure.job_turns
        where job_id = $1
        order by number`,
      [id],
    );
    return rows.map((row) => ({
      number: row.number,
      speaker: row.speaker,
      text: row.text,
      tokensIn: row.tokens_in,
      tokensOut: row.tokens_out,
      costMicroUsd: row.cost_micro_usd,
      turnId: row.turn_id,
      attempts: row.attempts,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
    }));
  }

  /** Newest first, with the position to read on from. */
  async list(query: JobQuery): Promise<readonly (Job & { readonly seq: number })[]> {
    // One statement per agent's part in it, so that each has its index.
    const where = `($1::text is null or tenant = $1) and ($2::text is null or status = $2) and \
($3::bigint is null or seq < $3)
      and ($4::float8 is null or created_at > clock_timestamp() - $4 * interval '1 millisecond') \
and ($5::text is null or conversation_id = $5)
      and ($7::text is null or parent_id = $7) and ($8::text is null or root_id = $8)`;
    const part = (more: string): string =>
      `select * from dure.jobs where ${where}${more} order by seq desc limit $6`;
    const from =
      query.agent === undefined
        ? part("")
        : `(${part(" and target = $9")}) union all (${part(" and requester = $9")})`;
    const values = [
      query.tenant,
      query.status ?? null,
      query.before ?? null,
      query.sinceMs ?? null,
      query.conversation ?? null,
      query.limit,
      query.parent ?? null,
      query.root ?? null,
      ...(query.agent === undefined ? [] : [query.agent]),
    ];
    // A name of its own would fix one plan for all filters.
    const rows = await this.#database.query<JobRow & { seq: number }>(
      { text: `select ${JOB_COLUMNS}, seq from (${from}) jobs order by seq desc limit $6` },
      values,
    );
    return rows.map((row) => ({ ...jobOf(row), seq: row.seq }));
  }

  async session(id: string): Promise<{ tenant: string; service: string } | undefined> {
    const [row] = await this.#many<{ tenant: string; service: string }>(
      "job.session",
      "select tenant, service from dure.sessions where id = $1",
      [id],
    );
    return row;
  }

  async audit(
    tenant: TenantView,
    options: { stuckMs: number; resumes: number },
  ): Promise<readonly (Job & { readonly why: "stuck" | "orphaned" | "resumed-often" })[]> {
    const rows = await this.#database.query<
      JobRow & { why: "stuck" | "orphaned" | "resumed-often" }
    >(
      {
        text: `
          select ${JOB_COLUMNS}, why
          from (
            select j.*,
              case
                when status = 'RUNNING'
                  and waiting is null
                  and (
                    holder is null
                    or not exists (
                      select
                      from dure.processes p
                      where p.id = j.holder and p.ended_at is null
                    )
                  ) then 'orphaned'
                when status in ('PENDING', 'RUNNING')
                  and waiting is null
                  and progress_ms < (
                    select running_ms from dure.job_clock
                  ) - $2::bigint then 'stuck'
                when resumes >= $3 then 'resumed-often'
              end as why
            from dure.jobs j
            where ($1::text is null or tenant = $1)
              and (status in ('PENDING', 'RUNNING') or resumes >= $3)
          ) jobs
          where why is not null
          order by seq desc
          limit 200`,
      },
      [tenant, options.stuckMs, options.resumes],
    );
    return rows.map((row) => ({ ...jobOf(row), why: row.why }));
  }

  async counts(): Promise<Readonly<Record<string, number>>> {
    const rows = await this.#many<{ status: string; count: number }>(
      "job.counts",
      `
        select status, count(*) as count
        from dure.jobs
        where status in ('PENDING', 'RUNNING')
        group by status`,
      [],
    );
    return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
  }

  // --- how

  /** Of the same pair alone: a conversation's id is no secret. */
  #earlier({
    jobId,
    tenant,
    conversationId,
    requester,
    target,
  }: Job): Promise<readonly EarlierWords[]> {
    return this.#many<EarlierWords>(
      "job.earlier",
      `
        select speaker, text
        from (
          select c.seq, w.number, w.speaker, w.text
          from dure.jobs c
          cross join lateral (
            select 0 as number, c.requester as speaker, c.message as text
            union all
            select t.number, t.speaker, t.text
            from dure.job_turns t
            where t.job_id = c.id and t.text <> ''
          ) w
          where c.conversation_id = $2
            and c.tenant = $3
            and c.seq < (select seq from dure.jobs where id = $1)
            and least(c.requester, c.target) = least($4::text, $5::text)
            and greatest(c.requester, c.target) = greatest($4::text, $5::text)
          order by c.seq desc, w.number desc
          limit ${MAX_EARLIER}
        ) w
        order by seq, number`,
      [jobId, conversationId, tenant, requester, target],
    );
  }

  #tell(): void {
    this.#notifications.publish(JOBS_TOPIC);
    this.#notifications.publish(EVENTS_TOPIC);
  }

  async #surely<Value>(name: string, text: string, values: readonly unknown[]): Promise<Value> {
    const [row] = await this.#many<{ value: Value }>(name, text, values);
    return row!.value;
  }

  async #many<Row extends object>(
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    for (let wait = RETRY_FIRST_MS; ; wait = Math.min(wait * 2, MAX_RETRY_MS)) {
      this.#signal.throwIfAborted();
      try {
        return await this.#database.query<Row>({ name, text }, values);
      } catch (error) {
        if (codeOf(error) !== "DATABASE_UNAVAILABLE") throw error;
        await this.#clock.sleep(wait, { signal: this.#signal });
      }
    }
  }
}

interface JobRow {
  readonly id: string;
  readonly tenant: string;
  readonly status: JobStatus;
  readonly outcome: Job["outcome"];
  readonly last_error: JobError | null;
  readonly requester: string;
  readonly target: string;
  readonly message: string;
  readonly payload: JobPayload | null;
  readonly topic: string | null;
  readonly intent: Job["intent"];
  readonly conversation_id: string;
  readonly parent_id: string | null;
  readonly root_id: string;
  readonly depth: number;
  readonly retry_of: string | null;
  readonly max_turns: number;
  readonly turns_done: number;
  readonly resume_count: number;
  readonly resumes: number;
  readonly waiting: "person" | null;
  readonly origin_session: string | null;
  readonly origin_turn: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly turn_at: number | null;
}

type HeldRow = JobRow & {
  readonly epoch: number;
  readonly attempt: number;
  readonly attempt_input: AttemptInput | null;
  readonly attempt_from: number | null;
  readonly current_turn: string | null;
};

interface TurnRow {
  readonly number: number;
  readonly speaker: string;
  readonly text: string;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly cost_micro_usd: number | null;
  readonly turn_id: string | null;
  readonly attempts: number;
  readonly started_at: number;
  readonly finished_at: number;
}

interface WordsRow {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly turn_number: number | null;
  readonly at: number;
}

function ms(column: string): string {
  return `extract(epoch from ${column})::float8 * 1000 as ${column}`;
}

const JOB_COLUMNS = `id, tenant, status, outcome, last_error, requester, target, message, payload, \
topic, intent, conversation_id, parent_id, root_id, depth, retry_of, max_turns,
  turns_done, resume_count, resumes, waiting, origin_session, origin_turn, \
${["created_at", "updated_at", "started_at", "finished_at", "turn_at"].map(ms).join(", ")}`;

const RESULTS = `
  select c.id as "jobId", c.target, c.message, c.status, c.last_error as error,
    (
      select t.text
      from dure.job_turns t
      where t.job_id = c.id and t.speaker = c.target and t.text <> ''
      order by t.number desc
      limit 1
    ) as reply
  from dure.jobs c`;
const WORDS = `select id, author, text, turn_number, ${ms("at")} from dure.job_words`;

function jobOf(row: JobRow): Job {
  return {
    jobId: row.id,
    tenant: row.tenant,
    status: row.status,
    outcome: row.outcome,
    requester: row.requester,
    target: row.target,
    message: row.message,
    payload: row.payload,
    topic: row.topic,
    intent: row.intent,
    conversationId: row.conversation_id,
    parentJobId: row.parent_id,
    rootId: row.root_id,
    depth: row.depth,
    retryOf: row.retry_of,
    maxTurns: row.max_turns,
    turnsDone: row.turns_done,
    resumeCount: row.resume_count,
    resumes: row.resumes,
    lastError: row.last_error,
    waiting: row.waiting,
    origin:
      row.origin_session === null ? null : { session: row.origin_session, turn: row.origin_turn },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    turnStartedAt: row.finished_at === null ? row.turn_at : null,
  };
}

function wordsOf(row: WordsRow): JobWords {
  return { id: row.id, author: row.author, text: row.text, at: row.at, turn: row.turn_number };
}
