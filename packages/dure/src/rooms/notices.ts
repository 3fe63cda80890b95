import type { Queryable } from "../durable/database.ts";
import { enqueue } from "../durable/outbox.ts";
import type { TransactionalHandler } from "../durable/outbox-handler.ts";
import type { RoomsSetting, Talk } from "./talk.ts";

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
