/** A thread that was made, and whose first words its platform refused. */

import type { Queryable, Transaction } from "../../durable/database.ts";
import { enqueue } from "../../durable/outbox.ts";
import type { ChannelFailure } from "../channel-adapter.ts";
import { addressOf, type Place } from "../place.ts";
import type { RoomsSetting } from "../talk.ts";
import { orderingOf, topicOf } from "./notices.ts";

/** A thread of an agent's account in which nothing stands is to go. */
export interface EmptyThreadDeparture {
  readonly kind: "unthread";
  readonly place: string;
  readonly agent: string;
}

/** What people must mend first, so that nothing more is said there meanwhile. */
const ENDS_THREADS: ReadonlySet<ChannelFailure> = new Set(["permission", "invalid", "full"]);

/**
 * Closes it and takes it away, if nothing stands or waits in it. The next hand-over makes a new one.
 */
export async function endEmptyThread(
  tx: Transaction,
  { directory, adapters }: Pick<RoomsSetting, "directory" | "adapters">,
  place: Place,
  { failure, why }: { failure: ChannelFailure | undefined; why: string },
): Promise<void> {
  const { id, kind, thread, owner } = place;
  if (kind !== "thread" || thread === null || owner === null) return;
  if (failure === undefined || !ENDS_THREADS.has(failure)) return;
  const [closed] = await tx.query(CLOSE_EMPTY, [id, why]);
  const adapter = adapters.get(place.adapter);
  const account = directory.account(place.adapter, owner);
  if (!closed || !adapter?.removeThread || !account) return;
  await enqueue(tx, [
    {
      topic: topicOf(place.adapter, account.id, adapter.isLocal),
      ordering: orderingOf(account.id, id),
      key: `${id}/unmade`,
      payload: { kind: "unthread", place: id, agent: owner },
    },
  ]);
}

/** Not where words came meanwhile. What the account may not take away stays. */
export async function removeEmptyThread(
  { store, directory, adapters, database }: RoomsSetting,
  { place: id, agent }: EmptyThreadDeparture,
  signal: AbortSignal,
): Promise<void> {
  const place = await store.place(id);
  const account = place && directory.account(place.adapter, agent);
  if (!place || !account || !(await isEmpty(database, id))) return;
  await adapters.get(place.adapter)?.removeThread?.(account, addressOf(place), { signal });
}

async function isEmpty(database: Queryable, place: string): Promise<boolean> {
  const words = await database.query(WORDS_IN, [place]);
  return words.length === 0;
}

const CLOSE_EMPTY = {
  name: "empty_thread.close",
  text: `
    update dure.places p
    set state = 'closed', closed_because = $2
    where id = $1
      and state <> 'closed'
      and not exists (
        select
        from dure.room_messages m
        where m.place = p.id and m.delivery <> 'failed'
      )
    returning id`,
};
const WORDS_IN = {
  name: "empty_thread.words",
  text: `
    select
    from dure.room_messages
    where place = $1 and delivery <> 'failed'
    limit 1`,
};
