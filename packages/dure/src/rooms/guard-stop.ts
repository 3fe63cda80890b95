import type { Database, Transaction } from "../durable/database.ts";
import { DureError } from "../kernel/errors.ts";
import { dropParts, failMessage } from "./failed-message.ts";
import { endUnsaid, type UnsaidHandling } from "./handled.ts";
import type { OpenPlace, Place } from "./place.ts";
import type { RoomsSetting } from "./talk.ts";

/**
 * A guard has stopped the agents of a place, which is locked: what they were about to say to each
 * other is not said. Answers that have not begun end as `silent`; words that wait to leave, and have
 * certainly not left, are dropped. One that is being written ends silent by `isStoppedTalk`. Answers
 * to people, and to a request, are none of it. Source: docs/spec/collaboration §5.
 */
export async function stopTalkIn(
  tx: Transaction,
  setting: RoomsSetting,
  place: OpenPlace,
): Promise<void> {
  for (const handling of await tx.query<UnsaidHandling>(END_WAITING, [place.id])) {
    await endUnsaid(tx, setting, place, { handling, outcome: "silent" });
  }
  for (const { id, author } of await tx.query<{ id: string; author: string }>(UNSENT, [place.id])) {
    await dropParts(tx, id, STOPPED);
    const unsent = { id, author, place: place.id };
    await failMessage(tx, setting, unsent, { outcome: "failed", error: STOPPED });
  }
}

/** Whether a handling answers an agent in a place whose talk a guard has stopped. */
export async function isStoppedTalk(
  tx: Transaction,
  { state }: Pick<OpenPlace, "state">,
  handling: { readonly id: string },
): Promise<boolean> {
  if (state !== "suspended" && state !== "resting") return false;
  return (await tx.query(IS_TALK, [handling.id])).length > 0;
}

/**
 * Words that were on their way when the guard stopped their place, and were not taken: they are not
 * brought again. Throws `GUARD_STOPPED`.
 */
export async function refuseStopped(
  database: Database,
  { state }: Pick<Place, "state">,
  message: string,
): Promise<void> {
  if (state !== "suspended" && state !== "resting") return;
  const [stopped] = await database.query(IS_STOPPED, [message]);
  if (stopped) throw new DureError(STOPPED.code, STOPPED.message);
}

/** Code of words that a guard has kept from leaving. */
export const GUARD_STOPPED = "GUARD_STOPPED";
const STOPPED = {
  code: GUARD_STOPPED,
  message: "A guard stopped the agents here before it left.",
};

/** `m` is what is answered: an agent's words that ask for nothing. */
const TALK = `m.author_kind <> 'person' and m.mark is null
  and not exists (select from dure.requests r where r.message = m.id)`;
/** Those that another process is starting right now end by `isStoppedTalk`. */
const END_WAITING = {
  name: "guard_stop.end_waiting",
  text: `
    with waiting as (
      select h.id
      from dure.handlings h
      join dure.room_messages m on m.id = h.message
      where h.place = $1 and h.state = 'waiting' and ${TALK}
      order by h.id
      for update of h skip locked
    )
    update dure.handlings h
    set state = 'done', outcome = 'silent', finished_at = clock_timestamp(), input = null
    from waiting
    where h.id = waiting.id
    returning h.id, h.agent, h.session, h.turn, h.message, h.preview`,
};
/** Locks the first part of each, so that no process sends it meanwhile. */
const UNSENT = {
  name: "guard_stop.unsent",
  text: `
    select said.id, said.author
    from dure.room_messages said
    join dure.handlings h on h.turn = said.turn
    join dure.room_messages m on m.id = h.message
    join dure.outbox o on o.key = said.id || '/0'
    where said.place = $1
      and said.delivery = 'queued'
      and said.author_kind = 'agent'
      and said.mark is null
      and o.state = 'pending'
      and not o.in_doubt
      and ${TALK}
    order by said.seq
    for update of o skip locked`,
};
const IS_TALK = {
  name: "guard_stop.is_talk",
  text: `
    select
    from dure.handlings h
    join dure.room_messages m on m.id = h.message
    where h.id = $1 and ${TALK}`,
};
const IS_STOPPED = {
  name: "guard_stop.is_stopped",
  text: `
    select
    from dure.room_messages said
    join dure.places p on p.id = said.place
    join dure.handlings h on h.turn = said.turn
    join dure.room_messages m on m.id = h.message
    where said.id = $1
      and said.author_kind = 'agent'
      and said.mark is null
      and (
        p.state = 'resting'
        or p.state = 'suspended' and p.suspended_until > clock_timestamp()
      )
      and ${TALK}`,
};
