import type { Transaction } from "../durable/database.ts";
import { enqueue } from "../durable/outbox.ts";
import { nonceOf } from "./outgoing.ts";
import type { HandlingRow } from "./handling.ts";
import { orderingOf, topicOf } from "./outbox-keys.ts";
import type { Place } from "./place.ts";
import type { RoomsSetting } from "./talk.ts";

/**
 * Of a handling: what its preview is posted under. The same in every process, so that the platform
 * keeps one.
 */
export function previewKey(handling: string): string {
  return nonceOf(`${handling}/preview`);
}

/**
 * Takes away what was shown of an answer that is none. `preview` is the platform's id of it; empty:
 * it is not recorded whether it was posted. Where its id is recorded later, that one is taken away
 * too.
 */
export async function removePreview(
  tx: Transaction,
  { directory, adapters }: RoomsSetting,
  { id, agent }: Pick<HandlingRow, "id" | "agent">,
  { place, preview }: { place: Pick<Place, "id" | "adapter">; preview: string },
): Promise<void> {
  const account = directory.account(place.adapter, agent);
  if (!account) return;
  const isLocal = adapters.get(place.adapter)?.isLocal === true;
  await enqueue(tx, [
    {
      topic: topicOf(place.adapter, account.id, isLocal),
      ordering: orderingOf(account.id, place.id),
      key: preview === "" ? `${id}/unsay` : `${id}/unsay/${preview}`,
      payload: {
        kind: "unsay",
        place: place.id,
        agent,
        over: { key: previewKey(id), platformId: preview },
      },
    },
  ]);
}
