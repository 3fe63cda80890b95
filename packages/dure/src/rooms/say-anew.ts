import type { Transaction } from "../durable/database.ts";
import { enqueue } from "../durable/outbox.ts";
import { orderingOf, partKey, topicOf } from "./outbox-keys.ts";
import type { Place } from "./place.ts";
import type { RoomsSetting } from "./talk.ts";

interface Posted {
  readonly author: string;
  readonly platform_id: string;
}

/**
 * A message of one part became another one here: so it does at its platform, with its buttons. One
 * that has not left yet leaves as it is now.
 */
export async function sayAnew(
  tx: Transaction,
  { directory, adapters }: RoomsSetting,
  message: string,
  place: Place,
): Promise<void> {
  const adapter = adapters.get(place.adapter);
  const [posted] = await tx.query<Posted>(POSTED, [message, place.adapter]);
  const account = posted && directory.account(place.adapter, posted.author);
  if (!adapter?.edit || !account) return;
  const key = `${partKey(message, 0)}/anew`;
  const over = { key, platformId: posted.platform_id };
  await enqueue(tx, [
    {
      topic: topicOf(place.adapter, account.id, adapter.isLocal),
      ordering: orderingOf(account.id, place.id),
      key,
      payload: { kind: "post", message, part: 0, parts: 1, over },
    },
  ]);
}

const POSTED = {
  name: "say_anew.posted",
  text: `
    select m.author, p.platform_id
    from dure.room_messages m
    join dure.room_parts p on p.message = m.id and p.adapter = $2
    where m.id = $1
    order by p.part desc
    limit 1`,
};
