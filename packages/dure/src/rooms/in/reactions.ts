/** Signs that people set below messages, on every platform: kept, shown, and read as feedback. */

import type { RoomsSetting, Talk } from "../talk.ts";
import { namesOf, type MessageName } from "../room-store.ts";

/** A sign that a person sets below a message, or takes away. */
export interface Reaction {
  /** The platform's id of the person; on the web the name. */
  readonly author: string;
  /** An emoji, or the name of one of the platform's own between colons. */
  readonly emoji: string;
  readonly isSet: boolean;
}

/** UTF-16 units of a sign: the longest emoji of Unicode has 25, a platform's name 32. */
const LONGEST_EMOJI = 40;
/** Signs that one message keeps, of all people; more are left out. */
const MOST_OF_A_MESSAGE = 1_000;
/** An emoji of Unicode, or a name of the platform's own. */
const EMOJI =
  /^(?:(?=.*[\p{Extended_Pictographic}\p{Regional_Indicator}\u20E3])(?:\p{Emoji}|\p{Emoji_Component})+|:[\w+'-]{1,38}:)$/u;

/** Whether a text is one sign. Pure. */
export function isEmoji(text: string): boolean {
  return text.length <= LONGEST_EMOJI && EMOJI.test(text);
}

/** Every account tells of it; the same again changes nothing. A message that is not known has none. */
export async function keepReaction(
  { database, store }: RoomsSetting,
  talk: Pick<Talk, "announce">,
  message: MessageName,
  { author, emoji, isSet }: Reaction,
): Promise<void> {
  if (!isEmoji(emoji)) return;
  const isNews = await database.transaction(async (tx) => {
    const [changed] = await tx.query<{ message: string; place: string }>(isSet ? SET : UNSET, [
      ...namesOf(message),
      author,
      emoji,
      ...(isSet ? [MOST_OF_A_MESSAGE] : []),
    ]);
    if (changed) await store.emitEdited(tx, changed.place, changed.message);
    return changed !== undefined;
  });
  if (isNews) talk.announce();
}

const SET = {
  name: "reactions.set",
  text: `
    insert into dure.room_reactions (message, author, emoji)
    select m.id, $4, $5
    from dure.room_messages m
    where m.id = coalesce(
        $3,
        (
          select p.message
          from dure.room_parts p
          where p.adapter = $1 and p.platform_id = $2
        )
      )
      and m.deleted_at is null
      and (select count(*) from dure.room_reactions r where r.message = m.id) < $6
    on conflict do nothing
    returning message, (select place from dure.room_messages where id = message) as place`,
};
const UNSET = {
  name: "reactions.unset",
  text: `
    delete from dure.room_reactions
    where message = coalesce(
        $3,
        (
          select p.message
          from dure.room_parts p
          where p.adapter = $1 and p.platform_id = $2
        )
      )
      and author = $4
      and emoji = $5
    returning message, (select place from dure.room_messages where id = message) as place`,
};
