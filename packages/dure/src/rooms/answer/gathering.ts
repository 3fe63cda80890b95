/** What one person says in a row is answered once. Source: docs/spec/collaboration §2, "Lines". */

import type { Queryable, Transaction } from "../../durable/database.ts";
import type { Place } from "../place.ts";
import { messageOf, type MessageRow, type StoredMessage } from "../room-store.ts";
import type { GatherRule } from "../limits.ts";
import type { RoomsSetting } from "../talk.ts";
import { emitHandled, endUnsaid, type HandlingRow, type UnsaidHandling } from "./handling.ts";
import { endWait } from "./model-wait-notice.ts";
import { roomTexts } from "../texts.ts";

/** How long the work of a message waits for more of its person's words. Pure. */
export function restOf(
  { authorKind, mark }: Pick<StoredMessage, "authorKind" | "mark">,
  { policy, restMs, mostMs }: GatherRule,
): { readonly rest_ms?: number; readonly most_ms?: number } {
  const isOwnWords = authorKind === "person" && mark === null;
  return isOwnWords && policy !== "queue" ? { rest_ms: restMs, most_ms: mostMs } : {};
}

/** The message of a handling and those that its person has added, in their order. */
export async function messagesOf(
  database: Queryable,
  { id }: Pick<HandlingRow, "id">,
): Promise<readonly StoredMessage[]> {
  return (await database.query<MessageRow>(MESSAGES, [id])).map(messageOf);
}

/**
 * Ends the answers that a person is being given in a place, since more of the same person's words
 * have come. What a tool has done is done: the next turn knows of it.
 */
export async function interruptAnswers(
  tx: Transaction,
  setting: RoomsSetting,
  place: Place,
  { sessions, author }: { readonly sessions: readonly string[]; readonly author: string },
): Promise<void> {
  const ended = await tx.query<UnsaidHandling>(INTERRUPT, [place.id, sessions, author]);
  await endAnswers(tx, setting, place, { ended, outcome: "stopped" });
}

/** Ends what waits or runs for a message that is gone, unless it answers others with it. */
export async function endHandlingsOf(
  tx: Transaction,
  setting: RoomsSetting,
  place: Place,
  message: string,
): Promise<void> {
  const ended = await tx.query<UnsaidHandling>(WITHDRAW, [message]);
  await endAnswers(tx, setting, place, { ended, outcome: "deleted" });
}

/** Agents whose work on a message has begun, or is over. */
export async function begunBy(tx: Queryable, message: string): Promise<readonly string[]> {
  return (await tx.query<{ agent: string }>(BEGUN, [message])).map(({ agent }) => agent);
}

/**
 * Takes away the work on a message that has not begun, of agents that it is not for any more. The next
 * edit may make it theirs again.
 */
export async function endOthers(
  tx: Transaction,
  setting: RoomsSetting,
  place: Place,
  { message, handlers }: { readonly message: string; readonly handlers: readonly string[] },
): Promise<void> {
  const ended = await tx.query<UnsaidHandling>(END_OTHERS, [message, handlers]);
  for (const handling of ended) {
    await emitHandled(tx, setting, place, { handling, outcome: "deleted", answer: null });
  }
}

async function endAnswers(
  tx: Transaction,
  setting: RoomsSetting,
  place: Place,
  { ended, outcome }: { ended: readonly UnsaidHandling[]; outcome: "stopped" | "deleted" },
): Promise<void> {
  const text = roomTexts(setting.locale).waitStopped();
  for (const handling of ended) {
    await endWait(tx, setting, { ...handling, place: place.id }, text);
    await endUnsaid(tx, setting, place, { handling, outcome });
  }
  await tx.query(STOP_TURNS, [ended.flatMap(({ turn }) => turn ?? []), "person"]);
}

const MESSAGES = {
  name: "gathering.messages",
  text: `
    select m.*
    from dure.handlings h
    join dure.room_messages m on m.id = h.message
    where h.id = $1 or h.gathered_by = $1
    order by m.seq`,
};
const INTERRUPT = {
  name: "gathering.interrupt",
  text: `
    update dure.handlings h
    set state = 'done', outcome = 'stopped', finished_at = clock_timestamp(), input = null
    from dure.room_messages m
    where m.id = h.message
      and h.place = $1
      and h.session = any($2)
      and h.state = 'running'
      and h.request is null
      and m.author_kind = 'person'
      and m.author = $3
    returning h.id, h.agent, h.session, h.turn, h.message, h.preview`,
};
const WITHDRAW = {
  name: "gathering.withdraw",
  text: `
    update dure.handlings h
    set state = 'done', outcome = 'deleted', finished_at = clock_timestamp(), input = null
    where h.message = $1
      and h.state <> 'done'
      and h.request is null
      and not exists (select from dure.handlings g where g.gathered_by = h.id)
    returning h.id, h.agent, h.session, h.turn, h.message, h.preview`,
};
const BEGUN = {
  name: "gathering.begun",
  text: `
    select agent
    from dure.handlings h
    where message = $1
      and (
        state <> 'waiting'
        or input is not null
        or exists (select from dure.handlings g where g.gathered_by = h.id)
      )`,
};
const END_OTHERS = {
  name: "gathering.end_others",
  text: `
    delete from dure.handlings h
    where message = $1
      and state = 'waiting'
      and input is null
      and agent <> all($2)
      and not exists (select from dure.handlings g where g.gathered_by = h.id)
    returning id, agent, session, turn, message, preview`,
};
const STOP_TURNS = {
  name: "gathering.stop_turns",
  text: `
    update dure.turns
    set stop = coalesce(stop, jsonb_build_object('by', $2::text))
    where id = any($1) and status <> 'done'`,
};
