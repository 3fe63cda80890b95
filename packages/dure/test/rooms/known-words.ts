import type { TestTeam } from "./team.ts";

/**
 * What holds a secret and may be known to a person: messages, names of places, events, escalations,
 * records and sessions.
 */
export async function wordsKnownTo(
  { database }: TestTeam,
  person: string,
  secret: string,
): Promise<readonly unknown[]> {
  return database.query(
    {
      text: `
        select 'message' as what, text as words
        from dure.room_messages
        where text like $1 and dure.may_know_place(place, '', $2)
        union all
        select 'place', name from dure.places where name like $1
        union all
        select 'event', data::text
        from dure.events
        where data::text like $1
          and dure.may_know_place(room, '', $2)
          and dure.may_know_session(session, '', $2)
          and dure.may_know_job(job, '', $2)
        union all
        select 'escalation', title
        from dure.escalations
        where concat(title, description, context) like $1
          and dure.may_know_place(room, '', $2)
          and dure.may_know_session(session_id, '', $2)
        union all
        select 'record', excerpt
        from dure.observations
        where excerpt like $1 and dure.may_know_place(place, '', $2)
        union all
        select 'session', title
        from dure.sessions
        where title like $1 and dure.may_know_session(id, '', $2)`,
    },
    [`%${secret}%`, person],
  );
}
