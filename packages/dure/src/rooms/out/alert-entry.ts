/** Messages of web rooms that may wait for a person, who is then told outside of the page. */

import type { NewEntry } from "../../durable/outbox.ts";
import type { Place } from "../place.ts";
import type { MessageButton } from "../room-store.ts";

/** Topic of the outbox. */
export const ALERT_TOPIC = "alert.message";

/** What an entry holds. */
export interface AlertEntry {
  readonly message: string;
}

/** A message as far as it says whether it may wait for a person. */
interface WaitingMessage {
  readonly id: string;
  readonly authorKind: "person" | "agent" | "foreign";
  readonly text: string;
  readonly replyTo?: string | null | undefined;
  readonly buttons?: readonly MessageButton[] | null | undefined;
}

/**
 * For the transaction that stores a message, or records that its room has it. Who is told is looked
 * at after `waitMs`: a person who has the room open has read it by then. Pure.
 */
export function alertEntries(
  { adapter, id: place, kind, isSink }: Place,
  { id, ...message }: WaitingMessage,
  waitMs: number | undefined,
): readonly NewEntry[] {
  if (waitMs === undefined || adapter !== "web" || isSink) return [];
  const isAnswer = message.authorKind === "agent" && (message.replyTo || kind === "direct");
  const isQuestion = message.buttons?.some((button) => button.for !== undefined);
  if (!isAnswer && !isQuestion && !/[@＠]/u.test(message.text)) return [];
  const payload = { message: id };
  return [{ topic: ALERT_TOPIC, ordering: place, key: `alert/${id}`, payload, delayMs: waitMs }];
}
