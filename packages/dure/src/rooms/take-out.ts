import { DureError } from "../kernel/errors.ts";
import type { Place } from "./place.ts";
import type { RoomsSetting, Talk } from "./talk.ts";
import { roomTexts } from "./texts.ts";

/** A person takes an agent out of a thread, which is told there. Throws `PARTICIPANT_UNKNOWN`. */
export async function takeOut(
  { database, store, directory, locale }: RoomsSetting,
  talk: Talk,
  { place, agent, by }: { readonly place: Place; readonly agent: string; readonly by: string },
): Promise<void> {
  await database.transaction(async (tx) => {
    const open = await store.open(tx, place.id);
    const gone = await tx.query(REMOVE, [place.id, agent]);
    if (gone.length === 0) {
      throw new DureError("PARTICIPANT_UNKNOWN", `${agent} takes no part in ${place.name}.`, {
        class: "not-found",
      });
    }
    const data = { by, parent: place.parent };
    await store.emit(tx, [{ type: "room.left", role: "system", room: place.id, agent, data }]);
    if (!open || open.state === "closed" || !directory.account(place.adapter, agent)) return;
    const text = roomTexts(locale).removed(directory.nameOf(agent), by);
    await talk.say(tx, open, { author: agent, text, mark: "notice" });
  });
}

const REMOVE = {
  name: "rooms.remove",
  text: `
    delete from dure.participants
    where place = $1 and agent = $2
    returning agent`,
};
