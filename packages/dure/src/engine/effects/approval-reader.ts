import type { Database } from "../../durable/database.ts";
import type { ApprovalNeeds } from "../../kernel/escalation.ts";
import type { RoomAsker } from "../../kernel/rooms.ts";
import type { AskedInRoom } from "../turn/heard-answers.ts";
import type { StandingCalls } from "./standing.ts";

/** What people have allowed in sessions. */
export class ApprovalReader {
  readonly #database: Pick<Database, "query">;

  constructor(database: Pick<Database, "query">) {
    this.#database = database;
  }

  /**
   * A valid approval for `subject` that is unused or was used by an earlier life of `turn`, else
   * the question that is open;
   * `known`: those that this life has used.
   */
  async find(
    subject: string,
    { turn, known }: { turn: string; known: readonly string[] },
  ): Promise<{ readonly id: string; readonly isOpen: boolean } | undefined> {
    const [row] = await this.#database.query<{ id: string; isOpen: boolean }>(
      {
        text: `select id, status = 'open' as "isOpen"
          from dure.escalations
          where subject = $1
            and (status = 'open'
              or status = 'resolved' and resolution->>'value' = 'approve'
                and not resolution ? 'input')
            and (used_at is null and (expires_at is null or expires_at > clock_timestamp())
              or used_by = $2 and not (id = any($3)))
          order by status = 'open', used_at nulls last, created_at desc
          limit 1`,
      },
      [subject, turn, known],
    );
    return row;
  }

  /**
   * What a room shows that asks this person, in a session, oldest first: what is open, and what `turn`
   * has closed.
   */
  async askedIn(
    session: string,
    { adapter, id }: RoomAsker,
    turn: string,
  ): Promise<readonly AskedInRoom[]> {
    return this.#database.query(
      {
        name: "asked_in_room",
        text: `select e.subject, e.turn_id as turn, q.message, q.shown_seq::float8 as seq,
            floor(extract(epoch from q.shown_at) * 1000)::float8 as at
          from dure.escalations e
          join dure.room_questions q on q.escalation = e.id
          where q.shown_seq is not null and session_id = $1
            and type = 'decision' and context->>'by' = 'person'
            and context->'asker'->>'adapter' = $2 and context->'asker'->>'id' = $3
            and (status = 'open' or resolution->>'turn' = $4)
          order by created_at, id`,
      },
      [session, adapter, id, turn],
    );
  }

  /**
   * What people have allowed for the rest of a session that a turn was accepted in, newest first,
   * and how many calls of the tool were begun since; that under `key` is not counted.
   */
  async standing(
    session: string,
    {
      tool,
      key,
      acceptedAt,
      needs,
    }: { tool: string; key: string; acceptedAt: number; needs: ApprovalNeeds | undefined },
  ): Promise<readonly { readonly standing: StandingCalls; readonly used: number }[]> {
    return this.#database.query(
      {
        name: "standing_approvals",
        text: `select context->'standing' as standing,
            (select count(*)::integer
              from dure.effects f
              where f.session_id = e.session_id and f.tool = $2 and f.key <> $3
                and f.created_at > e.resolved_at) as used
          from dure.escalations e
          where session_id = $1 and type = 'decision' and status = 'resolved'
            and context->>'tool' = $2 and resolution->>'value' = 'approve_session'
            and (extract(epoch from resolved_at) * 1000)::float8
              + (context->'standing'->>'hours')::float8 * 3600000 > $4
            and coalesce(context->'needs', '{}') = $5::jsonb
          order by resolved_at desc
          limit 5`,
      },
      [session, tool, key, acceptedAt, JSON.stringify(needs ?? {})],
    );
  }
}
