/** How the last messages ended for one agent. */

import type { Database } from "../../durable/database.ts";
import type { HandlingOutcome } from "../../kernel/rooms.ts";
import type { RoomPerson } from "./room-person.ts";

/** How one message ended for an agent, for the agent's page. */
export interface RecentAnswer {
  readonly place: string;
  readonly placeName: string;
  /** Null: what was handled is the result of background work. */
  readonly message: string | null;
  readonly excerpt: string | null;
  readonly outcome: HandlingOutcome;
  readonly at: number;
}

/** Characters of a message that are shown. */
const EXCERPT = 140;

/**
 * What an agent has answered in rooms within a week, the newest first; only what the person may
 * see, by the rule of `maySee`.
 */
export async function recentAnswers(
  database: Database,
  agent: string,
  { who, limit }: { who: RoomPerson; limit: number },
): Promise<readonly RecentAnswer[]> {
  const rows = await database.query<Omit<RecentAnswer, "at"> & { at: Date }>(RECENT, [
    agent,
    who.tenant,
    who.person,
    who.seesAll === true,
    limit,
    EXCERPT,
  ]);

  return rows.map((row) => ({ ...row, at: row.at.getTime() }));
}

const RECENT = {
  name: "rooms.recent_answers",
  text: `
    select h.place, p.name as "placeName", h.message,
      case
        when length(m.text) > $6::integer then left(m.text, $6::integer - 1) || '…'
        else m.text
      end as excerpt,
      h.outcome, h.finished_at as at
    from dure.handlings h
    join dure.places p on p.id = h.place
    left join dure.room_messages m on m.id = h.message
    where h.state = 'done'
      and h.outcome is not null
      and h.finished_at > clock_timestamp() - interval '7 days'
      and h.agent = $1
      and dure.may_see_place(p, $2, $3, $4)
    order by h.finished_at desc
    limit $5`,
};
