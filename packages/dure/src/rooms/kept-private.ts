import type { Transaction } from "../durable/database.ts";
import { refuse, type Asking, type Refusal } from "./collaborate-call.ts";
import { enqueueNotice } from "./notices.ts";
import type { Place } from "./place.ts";
import type { RoomsSetting } from "./talk.ts";
import { roomTexts } from "./texts.ts";

/** No place of the platform has just these readers. */
export function refusePrivate({ from, target }: Asking): Refusal {
  return refuse(
    "PRIVATE_ORIGIN",
    `This began in a private conversation, and no place here is read by its person, ${from.id} ` +
      `and ${target.id} alone. Nothing was handed over.`,
    `Answer yourself, or ask the person to write to ${target.id} directly, or to repeat it in a ` +
      "channel where all may read it.",
  );
}

/**
 * Tells the person of a direct message, which has no private thread, what to do instead, whatever the
 * agent makes of the refusal: once for each of the person's words and each agent.
 */
export async function tellKeptPrivate(
  tx: Transaction,
  { locale }: Pick<RoomsSetting, "locale">,
  { from, target }: Asking,
  began: Place,
): Promise<void> {
  if (began.kind !== "direct" || began.adapter === "web") return;
  const [asked] = await tx.query<{ id: string }>(LAST_WORDS, [began.id]);
  if (!asked) return;
  await enqueueNotice(tx, {
    place: began.id,
    author: began.agent ?? from.id,
    text: roomTexts(locale).keptPrivate(target.displayName),
    key: `${asked.id}/kept-private/${target.id}`,
  });
}

const LAST_WORDS = {
  name: "kept_private.last_words",
  text: `
    select id
    from dure.room_messages
    where place = $1 and author_kind = 'person'
    order by seq desc
    limit 1`,
};
