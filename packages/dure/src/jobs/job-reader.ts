import type { RowOf } from "../durable/rows.ts";
import { SESSION_FILES } from "../durable/files/named-files.ts";
import type { FileRef } from "../kernel/files.ts";
import type { KnownTo, TenantView } from "../kernel/tenant.ts";
import { OPEN_JOB_STATUSES, type JobStatus, type OpenJobStatus } from "../kernel/jobs.ts";
import type { Job } from "./job.ts";
import { JOB_COLUMNS, jobOf, ms, WORDS, wordsOf, type JobRow, type WordsRow } from "./job-rows.ts";
import type { JobStatements } from "./job-statements.ts";
import type { GivenAnswer, JobTurn, JobWords } from "../wire/jobs.ts";

export interface JobQuery {
  readonly tenant: TenantView;
  /** Absent: an operator, who knows of all. */
  readonly knownTo?: KnownTo | undefined;
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

type TurnRow = RowOf<JobTurn>;

/** Which jobs a list has; $6 is how many. */
const LISTED = `
  (
    $1::text is null
    or tenant = $1
  )
  and (
    $2::text is null
    or status = $2
  )
  and (
    $3::bigint is null
    or seq < $3
  )
  and (
    $4::float8 is null
    or created_at > clock_timestamp() - $4 * interval '1 millisecond'
  )
  and (
    $5::text is null
    or conversation_id = $5
  )
  and (
    $7::text is null
    or parent_id = $7
  )
  and (
    $8::text is null
    or root_id = $8
  )
  and (
    $9::text is null
    or dure.may_know_job(id, $9, $10::text)
  )`;

/** Looks at jobs; changes nothing. */
export class JobReader {
  readonly #statements: JobStatements;

  constructor(statements: JobStatements) {
    this.#statements = statements;
  }

  async find(id: string, tenant: TenantView): Promise<Job | undefined> {
    const [row] = await this.#statements.many<JobRow>(
      "job.find",
      `
        select ${JOB_COLUMNS}
        from dure.jobs
        where id = $1 and ($2::text is null or tenant = $2)`,
      [id, tenant],
    );
    return row && jobOf(row);
  }

  /** The session in which the job's whole work was asked for: empty for none; undefined: it is gone. */
  async originOf(id: string): Promise<string | undefined> {
    const [row] = await this.#statements.many<{ session: string }>(
      "job.origin",
      `select coalesce(r.origin_session, '') as session
        from dure.jobs j join dure.jobs r on r.id = j.root_id
        where j.id = $1`,
      [id],
    );
    return row?.session;
  }

  /** Files of a session, the newest first. */
  async filesOf(session: string): Promise<readonly FileRef[]> {
    const { name, text } = SESSION_FILES;
    return this.#statements.many<FileRef>(name, text, [session]);
  }

  async turns(id: string): Promise<readonly JobTurn[]> {
    const rows = await this.#statements.many<TurnRow>(
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

  async answer(id: string): Promise<GivenAnswer | null> {
    const [row] = await this.#statements.many<{ answer: GivenAnswer | null }>(
      "job.answer",
      "select answer from dure.jobs where id = $1",
      [id],
    );
    return row?.answer ?? null;
  }

  /** Newest first, with the position to read on from. */
  async list(query: JobQuery): Promise<readonly (Job & { readonly seq: number })[]> {
    // One statement per agent's part in it, so that each has its index.
    const part = (more: string): string =>
      `
        select *
        from dure.jobs
        where ${LISTED}${more}
        order by seq desc
        limit $6`;
    const from =
      query.agent === undefined
        ? part("")
        : `(${part(" and target = $11")}) union all (${part(" and requester = $11")})`;
    const values = [
      query.tenant,
      query.status ?? null,
      query.before ?? null,
      query.sinceMs ?? null,
      query.conversation ?? null,
      query.limit,
      query.parent ?? null,
      query.root ?? null,
      query.knownTo?.tenant ?? null,
      query.knownTo?.person ?? null,
      ...(query.agent === undefined ? [] : [query.agent]),
    ];
    // A name of its own would fix one plan for all filters.
    const rows = await this.#statements.once<JobRow & { seq: number }>(
      {
        text: `
        select ${JOB_COLUMNS}, seq
        from (${from}) jobs
        order by seq desc
        limit $6`,
      },
      values,
    );
    return rows.map((row) => ({ ...jobOf(row), seq: row.seq }));
  }

  async session(id: string): Promise<{ tenant: string; service: string } | undefined> {
    const [row] = await this.#statements.many<{ tenant: string; service: string }>(
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
    const rows = await this.#statements.once<
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

  async allWords(id: string): Promise<readonly JobWords[]> {
    const rows = await this.#statements.many<WordsRow>(
      "job.all-words",
      `${WORDS} where job_id = $1 order by id`,
      [id],
    );
    return rows.map(wordsOf);
  }

  /** Open jobs by status. */
  async standing(): Promise<Readonly<Record<OpenJobStatus, number>>> {
    const rows = await this.#statements.many<{ status: string; count: number }>(
      "job.counts",
      `
        select status, count(*) as count
        from dure.jobs
        where status in ('PENDING', 'RUNNING')
        group by status`,
      [],
    );
    const none = Object.fromEntries(OPEN_JOB_STATUSES.map((status) => [status, 0]));
    const found = Object.fromEntries(rows.map(({ status, count }) => [status, count]));
    return { ...none, ...found } as Record<OpenJobStatus, number>;
  }
}
