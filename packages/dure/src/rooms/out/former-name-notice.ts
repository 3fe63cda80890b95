/** The line that tells people that an agent whom they call is not there any more. */

import type { Queryable, Transaction } from "../../durable/database.ts";
import type { SpokenMessage } from "../decide/consequences.ts";
import { formerNameIn, MAX_KNOWN_NAMES, type KnownName } from "../decide/former-names.ts";
import { noticeAuthor } from "../directory.ts";
import type { RoomsSetting } from "../talk.ts";
import { roomTexts } from "../texts.ts";
import { enqueueNotice } from "./notices.ts";

/** Agents that a notice lists. */
const MAX_LISTED = 20;

/**
 * Says in the place that no agent has the name, and who is there: once for each name and place. Whether
 * there was something to say.
 */
export async function tellFormerName(
  tx: Transaction,
  { place, message }: Pick<SpokenMessage, "place" | "message">,
  { directory, locale }: Pick<RoomsSetting, "directory" | "locale">,
): Promise<boolean> {
  const name = formerNameIn(message, directory);
  const author = noticeAuthor(directory, place.adapter);
  // The agent of a direct room answers all that is said there.
  if (name === undefined || place.kind === "direct" || place.isSink || !author) return false;
  const there = directory.accountsOf(place.adapter).map(({ displayName }) => displayName);
  await enqueueNotice(tx, {
    place: place.id,
    author: author.id,
    text: roomTexts(locale).noSuchAgent(name, there.slice(0, MAX_LISTED).join(", ")),
    key: `${place.id}/no-such-agent/${name}`,
  });
  return true;
}

/** What agents of this database are called, and were lately. */
export async function readKnownNames(database: Queryable): Promise<readonly KnownName[]> {
  return database.query<KnownName>(KNOWN_NAMES, [MAX_KNOWN_NAMES]);
}

/** Accounts stay when their agent is gone; an agent of another name has signed what it said. */
const KNOWN_NAMES = {
  name: "former_names.known",
  text: `
    (
      select agent, display_name as name, id as account, platform_id
      from dure.accounts
      order by changed_at desc
      limit $1
    )
    union all
    (
      select distinct author, author_name, null, null
      from (
        select author_kind, author, author_name
        from dure.room_messages
        order by id desc
        limit 10000
      ) lately
      where author_kind = 'agent'
      limit $1
    )`,
};
