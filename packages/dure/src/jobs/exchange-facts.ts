import type { JobResult } from "./job.ts";
import { RESULTS, WORDS, wordsOf, type WordsRow } from "./job-rows.ts";
import type { JobStatements } from "./job-statements.ts";
import type { JobWords } from "../wire/jobs.ts";

/** A turn of a job's conversation. */
interface TurnOfJob {
  readonly job: string;
  readonly turn: string;
  readonly session: string;
}

/**
 * What the holder of a job asks the database for while it leads the exchange.
 */
export class ExchangeFacts {
  readonly #statements: JobStatements;

  constructor(statements: JobStatements) {
    this.#statements = statements;
  }

  /**
   * Words that no agent was told yet, and those that the turn's earlier
   * attempts were told.
   */
  async words(id: string, turn: number): Promise<readonly JobWords[]> {
    const rows = await this.#statements.many<WordsRow>(
      "job.words",
      `${WORDS} where job_id = $1 and (turn_number is null or turn_number = $2) order by id`,
      [id, turn],
    );
    return rows.map(wordsOf);
  }

  /**
   * Results for `agent` that it was not told yet, and those that the turn's
   * earlier attempts told it; oldest first, at most `limit`.
   */
  async results(
    id: string,
    turn: number,
    agent: string,
    limit: number,
  ): Promise<readonly JobResult[]> {
    return this.#statements.many<JobResult>(
      "job.results",
      `${RESULTS} join dure.job_results r on r.child_id = c.id
        where r.job_id = $1 and r.agent = $3 and (r.turn_number is null or r.turn_number = $2) \
order by r.at, c.id limit $4`,
      [id, turn, agent, limit],
    );
  }

  /**
   * What all jobs of one root have used so far: in finished turns, and in the
   * recorded calls of turns that are under way or were never finished.
   */
  async spent(root: string): Promise<{ tokens: number; microUsd: number }> {
    const [row] = await this.#statements.many<{ tokens: number; micro_usd: number }>(
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

  /**
   * The conversation turn that an attempt was accepted as, when its acceptance
   * was never noted.
   */
  async acceptedTurn(session: string, from: number): Promise<string | undefined> {
    const [row] = await this.#statements.many<{ id: string }>(
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
      (await this.#statements.retrying<string | null>(
        "job.turn-behind",
        "select dure.turn_behind($1, $2) as value",
        [session, turn],
      )) ?? undefined
    );
  }

  /** Whether a question to a person is open in this session. */
  async isAsking(session: string): Promise<boolean> {
    const rows = await this.#statements.many(
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
        await this.#statements.many(
          "job.effects",
          "select key from dure.effects where turn_id = $1 limit 1",
          [turn],
        )
      ).length > 0
    );
  }

  /**
   * `isAsked`: `end_conversation` or `finish` was called in this attempt of the exchange turn, in
   * this conversation turn or in one that a person's answer went on with. `goesOn`: a question about
   * another call is open in the session, or has been answered, and its turn is behind this one.
   */
  async endOf({ job, turn, session }: TurnOfJob): Promise<{
    readonly isAsked: boolean;
    readonly goesOn: boolean;
    /** The result of `finish`. */
    readonly finished: string | undefined;
  }> {
    const [row] = await this.#statements.many<{
      asked: boolean;
      goes_on: boolean;
      finished: string | null;
    }>(
      "job.end-of-turn",
      `
        select coalesce(ended_by_turn = $2 or ended_by_turn = any(attempt_turns), false) as asked,
          case when finish->>'turn' = $2 or finish->>'turn' = any(attempt_turns)
            then finish->>'text' end as finished,
          dure.turn_behind($3, $2) is not null or exists (
            select
            from dure.escalations
            where session_id = $3
              and status = 'open'
              and type in ('decision', 'effect_unknown')
              and (expires_at is null or expires_at > clock_timestamp())
          ) as goes_on
        from dure.jobs
        where id = $1`,
      [job, turn, session],
    );
    const { asked = false, goes_on: goesOn = false, finished = null } = row ?? {};
    return { isAsked: asked, goesOn, finished: (asked ? finished : null) ?? undefined };
  }
}
