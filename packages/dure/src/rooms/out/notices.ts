/** Lines that dure says in an agent's name, and words that are said anew. */

import type { Queryable, Transaction } from "../../durable/database.ts";
import { enqueue } from "../../durable/outbox.ts";
import type { TransactionalHandler } from "../../durable/outbox-handler.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import type { Place } from "../place.ts";

/** One line that dure says in an agent's name: it names no agent and wakes none. */
export interface Notice {
  readonly place: string;
  readonly author: string;
  readonly text: string;
  /** The same line is said once under it. Absent: each time. */
  readonly key?: string | undefined;
  /** Answers to an escalation: `escalation-id:value`. */
  readonly buttons?:
    | readonly {
        readonly value: string;
        readonly label: string;
        readonly code?: string | undefined;
      }[]
    | undefined;
}

export const NOTICE_TOPIC = "room.notice";

/**
 * For a line in another place than the one that is locked: a transaction holds the lock of one
 * place.
 */
export async function enqueueNotice(tx: Queryable, { key, ...notice }: Notice): Promise<void> {
  const payload = { ...notice };
  await enqueue(tx, [{ topic: NOTICE_TOPIC, ordering: notice.place, key, payload }]);
}

/** Says what was enqueued; a place that is gone meanwhile hears nothing. */
export function noticeHandler(setting: RoomsSetting, talk: Talk): TransactionalHandler {
  return {
    transactional: true,
    run: async (payload, { tx }) => {
      const { place: id, author, text, buttons } = payload as unknown as Notice;
      const place = await setting.store.open(tx, id);
      if (!place || place.state === "closed" || !setting.directory.account(place.adapter, author)) {
        return;
      }
      await talk.say(tx, place, { author, text, mark: "notice", buttons });
      setting.clock.after(0, () => talk.announce());
    },
  };
}

/** One account's messages leave only where that account is connected. */
export function topicOf(adapter: string, account: string, isLocal: boolean): string {
  return isLocal ? `room.${adapter}` : `room.${adapter}.${account}`;
}

export function orderingOf(account: string, place: string): string {
  return `${account}@${place}`;
}

export function partKey(message: string, part: number): string {
  return `${message}/${part}`;
}

/** Room for mentions, which are longer on their platform than in dure's text. */
export function partLength(messageLength: number): number {
  return messageLength - Math.min(200, Math.floor(messageLength / 10));
}

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
