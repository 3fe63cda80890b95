/** Agents that a conversation goes on with where a person continues it: below a message, or as a reply to one. */

import type { Queryable } from "../../durable/database.ts";
import type { OpenPlace, Place } from "../place.ts";
import { messageOf, type MessageRow, type StoredMessage } from "../room-store.ts";

/** A message that is continued. */
type Continued = Pick<StoredMessage, "authorKind" | "author" | "mentions" | "roles" | "mark">;

/**
 * Its author, if an agent, and the agents that it names; where there are none, those that answered it,
 * if its own author goes on. Pure. Source: docs/spec/collaboration §2.
 */
function agentsOf(message: Continued, speaker: string): readonly string[] {
  const { authorKind, author, mentions, roles, mark } = message;
  if (mark === "sink") return [];
  const spoken = authorKind === "agent" ? [author, ...mentions] : mentions;
  if (spoken.length > 0 || author !== speaker) return [...new Set(spoken)];
  return Object.keys(roles).filter((agent) => roles[agent]?.role === "HANDLER");
}

/**
 * The agents that a reply speaks to when its text names none: the author of an agent's message; of
 * a message of one's own those that it was for. Pure.
 */
export function agentsOfReply(replied: Continued, speaker: string): readonly string[] {
  if (replied.authorKind === "agent") return [replied.author];
  return isTo(replied, speaker) ? [] : agentsOf(replied, speaker);
}

/**
 * Whether a message that names no agent is for another person: it answers that person's message, or
 * begins with the platform's mention of one, or with `@` and the name of one who spoke there lately.
 */
export async function speaksToPerson(
  tx: Queryable,
  place: Pick<Place, "id">,
  {
    text,
    author,
    replied,
  }: { readonly text: string; readonly author: string; readonly replied: Continued | undefined },
): Promise<boolean> {
  if (replied !== undefined && isTo(replied, author)) return true;
  const called = /^\s*(?:(<@!?[\w.-]+>)|[@＠](?=\S))/u.exec(text);
  if (called === null || called[1] !== undefined) return called !== null;
  const said = text.slice(called[0].length);
  const people = await tx.query<{ name: string }>(PEOPLE, [place.id, author]);
  return people.some(({ name }) => said.startsWith(name));
}

function isTo({ authorKind, author }: Continued, speaker: string): boolean {
  return authorKind !== "agent" && author !== speaker;
}

/** The agents of the message below which a thread stands, without those that have left the thread. */
export async function agentsAbove(
  tx: Queryable,
  place: OpenPlace,
  speaker: string,
): Promise<readonly string[]> {
  const above = await messageAbove(tx, place);
  const agents = above ? agentsOf(above, speaker) : [];
  return agents.filter((agent) => !place.departed.includes(agent));
}

/** The message below which a thread stands; undefined for a thread that stands for itself. */
export async function messageAbove(
  tx: Queryable,
  { kind, adapter, thread }: Pick<Place, "kind" | "adapter" | "thread">,
): Promise<StoredMessage | undefined> {
  if (kind !== "thread" || thread === null) return undefined;
  const [row] = await tx.query<MessageRow>(ABOVE, [adapter, thread]);
  return row && messageOf(row);
}

/** Who wrote one of the newest 200 messages. */
const PEOPLE = {
  name: "continuing.people",
  text: `
    select distinct author_name as name
    from (
      select *
      from dure.room_messages
      where place = $1
      order by seq desc
      limit 200
    ) newest
    where author_kind = 'person' and author <> $2`,
};
/** A thread below a message has the message's own id on its platform; on the web, dure's. */
const ABOVE = {
  name: "continuing.above",
  text: `
    select m.*
    from dure.room_messages m
    where m.id = coalesce(
      (
        select p.message
        from dure.room_parts p
        where p.adapter = $1 and p.platform_id = $2
      ),
      $2
    )`,
};
