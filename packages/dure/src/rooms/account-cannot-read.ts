import type { Queryable } from "../durable/database.ts";

/**
 * The subject of the one report of an agent and a place it does not hear, whether it may not see it
 * any more or could not read it: to an operator it is one thing.
 */
export function deafSubject(agent: string, place: string): string {
  return `room:deaf:${agent}:${place}`;
}

/** Stands in the report's context where nothing that is said there reaches the agent. */
export const SHUT_OUT = "access-lost";

/** What was reported of an agent and is not over, by subject. */
export async function openReportsOf(
  agent: string,
  database: Queryable,
): Promise<readonly string[]> {
  return (await database.query<{ subject: string }>(OF_AGENT, [agent])).map(
    ({ subject }) => subject,
  );
}

/** Who does not hear in these places. */
export async function deafIn(
  places: readonly string[],
  database: Queryable,
): Promise<readonly { readonly place: string; readonly agent: string }[]> {
  return database.query(IN_PLACES, [places]);
}

/**
 * Whether an agent cannot see the place: it was removed from its server, and operators have not
 * said that they know.
 */
export async function isShutOut(
  agent: string,
  place: string,
  database: Queryable,
): Promise<boolean> {
  return (await database.query(IS_SHUT_OUT, [deafSubject(agent, place), SHUT_OUT])).length > 0;
}

const OF_AGENT = {
  name: "deaf.of_agent",
  text: `
    select subject
    from dure.escalations
    where status = 'open' and starts_with(subject, 'room:deaf:' || $1 || ':')`,
};
const IN_PLACES = {
  name: "deaf.in_places",
  text: `
    select context->>'place' as place, context->>'agent' as agent
    from dure.escalations
    where status = 'open'
      and starts_with(subject, 'room:deaf:')
      and context->>'place' = any($1::text[])`,
};
const IS_SHUT_OUT = {
  name: "deaf.is_shut_out",
  text: `
    select
    from dure.escalations
    where subject = $1 and status = 'open' and context->>'because' = $2`,
};
