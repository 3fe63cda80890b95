import type { Transaction } from "../durable/database.ts";
import type { GivenUp } from "../durable/outbox-handler.ts";
import { allPartsOf } from "./outgoing.ts";
import type { RoomsSetting } from "./talk.ts";

/** Why words have not left, as the outbox and their message keep it. */
export interface StoredError {
  readonly code?: string;
  readonly message?: string;
}

interface UnsentMessage {
  readonly id: string;
  readonly author: string;
  readonly place: string;
}

/** Records that a message has not left, or that this is unknown, and tells it. */
export async function failMessage(
  tx: Transaction,
  { store }: Pick<RoomsSetting, "store">,
  { id, author, place }: UnsentMessage,
  { outcome, error }: { outcome: GivenUp["outcome"]; error: StoredError },
): Promise<void> {
  await tx.query(FAILED, [id, outcome, JSON.stringify(error)]);
  const data = { message: id, outcome, code: error.code ?? null, detail: error.message ?? null };
  await store.emit(tx, [
    { type: "room.delivery_failed", role: "system", room: place, agent: author, data },
  ]);
}

/** No part of the message leaves that is still there. */
export async function dropParts(
  tx: Transaction,
  message: string,
  error: StoredError,
): Promise<void> {
  await tx.query(DROP_PARTS, [allPartsOf(message), JSON.stringify(error)]);
}

export const FAILED = {
  name: "room.failed",
  text: `
    update dure.room_messages
    set delivery = $2, delivery_error = $3
    where id = $1`,
};
const DROP_PARTS = {
  name: "room.drop_parts",
  text: `
    update dure.outbox
    set state = 'failed', settled_at = clock_timestamp(),
      error = $2
    where starts_with(key, $1) and state = 'pending'`,
};
