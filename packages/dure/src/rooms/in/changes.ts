/** What people change of what they have said, on every platform: other words, or none. */

import type { Transaction } from "../../durable/database.ts";
import { DureError } from "../../kernel/errors.ts";
import { endHandlingsOf } from "../answer/gathering.ts";
import { addressedBy } from "../decide/continuing.ts";
import { enqueueForgetting, type GoneWords } from "./forgetting.ts";
import { isEmoji, keepReaction, type Reaction } from "./reactions.ts";
import type { RoomPerson } from "../look/room-person.ts";
import type { HeardPlace } from "../place.ts";
import { namesOf, type MessageName, type StoredMessage } from "../room-store.ts";
import { recordOf, type RoomsSetting, type Talk } from "../talk.ts";

/**
 * The message has other words. What has not been answered is answered as it reads now; an agent that
 * has answered it is told on its next turn. The same words again change nothing.
 */
export async function editMessage(
  setting: RoomsSetting,
  talk: Pick<Talk, "announce" | "redecide">,
  message: MessageName,
  text: string,
): Promise<void> {
  const { database, store, directory } = setting;
  const [found] = await database.query<FoundMessage>(FIND, namesOf(message));
  if (!found) return;
  await database.transaction(async (tx) => {
    const { id, author } = found;
    const place = await store.openFor(tx, found.place, {
      author,
      message: id,
      seeksLost: false,
    });
    const [edited] = await tx.query<{ id: string; place: string; is_news: boolean }>(EDIT, [
      ...namesOf(message),
      text,
    ]);
    if (edited) await tx.query(EDIT_RECORD, [edited.place, edited.id, recordOf(text, directory)]);
    if (!place || edited?.is_news !== true) return;
    await store.emitEdited(tx, edited.place, edited.id);
    await addressAnew(tx, setting, talk, { place, id: edited.id });
  });
  talk.announce();
}

/** Other words may be for other agents, as long as none has begun to answer. */
async function addressAnew(
  tx: Transaction,
  { store, directory, gather }: RoomsSetting,
  talk: Pick<Talk, "redecide">,
  { place, id }: { readonly place: HeardPlace; readonly id: string },
): Promise<void> {
  const message = await store.message(id, tx);
  if (message?.authorKind !== "person") return;
  if ((await tx.query(UNBEGUN, [id, gather.mostMs])).length === 0) return;
  const { replyTo } = message;
  const replied = replyTo === null ? undefined : await store.message(replyTo, tx);
  const rule = { names: directory.names, gather };
  const addressed = await addressedBy(tx, place, { ...message, replied }, rule);
  await talk.redecide(tx, place, message, addressed);
}

/**
 * The message is gone: its words and files leave the record, the answer that waits or runs for it alone
 * ends unsaid, and agents that have answered it are told on their next turn and remember its words no
 * more. Every account tells of it; the first one counts.
 */
export async function deleteMessage(
  setting: RoomsSetting,
  talk: Pick<Talk, "announce">,
  message: MessageName,
): Promise<void> {
  const { database, store, notifications } = setting;
  const [found] = await database.query<FoundMessage>(FIND, namesOf(message));
  if (!found) return;
  await database.transaction(async (tx) => {
    const place = await store.open(tx, found.place);
    const [gone] = await tx.query<GoneMessage>(DELETE, [found.id]);
    if (!gone || !place) return;
    await tx.query(FORGET_RECORD, [gone.place, gone.id]);
    await tx.query(FORGET_FILES, [gone.id, gone.place]);
    await endHandlingsOf(tx, setting, place, gone.id);
    await enqueueForgetting(tx, setting, gone);
    await store.emitEdited(tx, gone.place, gone.id);
  });
  notifications.publish("stops");
  talk.announce();
}

/** What people change of their own messages in web rooms; on other platforms these tell of it. */
export class OwnMessages {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #rooms: OwnMessagesParts;

  constructor(setting: RoomsSetting, talk: Talk, rooms: OwnMessagesParts) {
    this.#setting = setting;
    this.#talk = talk;
    this.#rooms = rooms;
  }

  /**
   * The message has other words. Throws `MESSAGE_NOT_YOURS`, `MESSAGE_DELETED`,
   * `ROOM_MESSAGE_UNKNOWN`, `ROOM_NOT_OURS`, `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`.
   */
  async edit(id: string, who: RoomPerson, text: string): Promise<StoredMessage> {
    const { deletedAt } = await this.#own(id, who);
    if (deletedAt !== null) {
      throw new DureError("MESSAGE_DELETED", `The message ${id} is deleted.`, {
        class: "conflict",
        hint: "Write a new one.",
      });
    }
    await editMessage(this.#setting, this.#talk, { id }, this.#rooms.wordsOf(text));
    return this.#rooms.find(id, who);
  }

  /** The message is gone. Again it is gone already. Throws as `edit`. */
  async delete(id: string, who: RoomPerson): Promise<void> {
    await this.#own(id, who);
    await deleteMessage(this.#setting, this.#talk, { id });
  }

  /**
   * Sets a sign below any message that the person sees in a web room, or takes the own one away. Throws
   * `REACTION_INVALID`, `ROOM_MESSAGE_UNKNOWN`, `ROOM_NOT_OURS`.
   */
  async react(
    id: string,
    who: RoomPerson,
    reaction: Pick<Reaction, "emoji" | "isSet">,
  ): Promise<StoredMessage> {
    await this.#rooms.find(id, who);
    if (!isEmoji(reaction.emoji)) {
      throw new DureError("REACTION_INVALID", `"${reaction.emoji.slice(0, 40)}" is no emoji.`, {
        class: "input",
        hint: "Send one emoji, such as 👍.",
      });
    }
    await keepReaction(this.#setting, this.#talk, { id }, { ...reaction, author: who.person });
    return this.#rooms.find(id, who);
  }

  async #own(id: string, who: RoomPerson): Promise<StoredMessage> {
    const message = await this.#rooms.find(id, who);
    if (message.authorKind === "person" && message.author === who.person) return message;
    throw new DureError("MESSAGE_NOT_YOURS", `The message ${id} is not yours.`, {
      class: "forbidden",
      hint: "People change what they have written themselves.",
    });
  }
}

interface OwnMessagesParts {
  /** A message of a web room that the person may see; refused otherwise. */
  readonly find: (id: string, who: RoomPerson) => Promise<StoredMessage>;
  /** A text as it is stored; refused where it cannot be. */
  readonly wordsOf: (text: string) => string;
}

interface FoundMessage {
  readonly id: string;
  readonly place: string;
  readonly author: string;
}

interface GoneMessage extends GoneWords {
  readonly place: string;
}

/**
 * Every account tells of an edit, each after it has heard the message: the first one is the news.
 * In a place that is closed nothing is recorded.
 */
const EDIT = {
  name: "changes.edit",
  text: `
    with old as (
      select m.id, m.text
      from dure.room_messages m
      join dure.places at on at.id = m.place
      where m.id = coalesce(
          $3,
          (
            select p.message
            from dure.room_parts p
            where p.adapter = $1 and p.platform_id = $2
          )
        )
        and m.author_kind <> 'agent'
        and m.deleted_at is null
        and at.state <> 'closed'
      for update of m
    )
    update dure.room_messages m
    set text = $4,
      edited_at = case when old.text = $4 then m.edited_at else clock_timestamp() end,
      changed_at = case when old.text = $4 then m.changed_at else clock_timestamp() end
    from old
    where m.id = old.id
    returning m.id, m.place, old.text <> $4 as is_news`,
};
/** What was heard is what stands there now. */
const EDIT_RECORD = {
  name: "changes.edit_record",
  text: `
    update dure.observations
    set excerpt = $3
    where place = $1 and message = $2`,
};
/** It waits for an agent, or was said just now; and none has begun with it. */
const UNBEGUN = {
  name: "changes.unbegun",
  text: `
    select m.id
    from dure.room_messages m
    where m.id = $1
      and (
        m.heard_at > clock_timestamp() - $2::double precision * interval '1 millisecond'
        or exists (select from dure.handlings h where h.message = m.id and h.state = 'waiting')
      )
      and not exists (
        select
        from dure.handlings h
        where h.message = m.id and (h.state <> 'waiting' or h.input is not null)
      )`,
};
const FIND = {
  name: "changes.find",
  text: `
    select id, place, author
    from dure.room_messages
    where id = coalesce(
        $3,
        (
          select p.message
          from dure.room_parts p
          where p.adapter = $1 and p.platform_id = $2
        )
      )
      and author_kind <> 'agent'`,
};
const DELETE = {
  name: "changes.delete",
  text: `
    with old as (
      select *
      from dure.room_messages
      where id = $1 and deleted_at is null
      for update
    )
    update dure.room_messages m
    set text = '', attachments = '[]', buttons = null,
      deleted_at = clock_timestamp(), changed_at = clock_timestamp()
    from old
    where m.id = old.id
    returning m.id, m.place, m.author_name, old.text`,
};
const FORGET_RECORD = {
  name: "changes.forget_record",
  text: `
    delete from dure.observations
    where place = $1 and message = $2`,
};
const FORGET_FILES = {
  name: "changes.forget_files",
  text: `
    delete from dure.files
    where turn_id = $1 and session_id = 'place ' || $2`,
};
