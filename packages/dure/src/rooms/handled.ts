import type { Transaction } from "../durable/database.ts";
import type { HandlingOutcome } from "../kernel/rooms.ts";
import type { HandlingRow } from "./handling.ts";
import type { Place } from "./place.ts";
import type { RoomsSetting } from "./talk.ts";
import { removePreview } from "./remove-preview.ts";

/** Whose work has ended, as its end is told. */
type Handled = Pick<HandlingRow, "message" | "agent" | "session" | "turn">;

/** A handling that has ended without words. */
export interface UnsaidHandling extends Handled {
  readonly id: string;
  /** What was shown of it as it was written; null: nothing. */
  readonly preview: string | null;
}

/** Tells that a handling has ended. */
export function emitHandled(
  tx: Transaction,
  { store }: Pick<RoomsSetting, "store">,
  place: Place,
  ended: { handling: Handled; outcome: HandlingOutcome | "silent"; answer: string | null },
): Promise<void> {
  const { handling, outcome, answer } = ended;
  const { message, agent, session, turn } = handling;
  return store.emit(tx, [
    {
      type: "room.handled",
      role: "conversation",
      room: place.id,
      agent,
      session,
      turn: turn ?? undefined,
      data: { message, outcome, answer, parent: place.parent },
    },
  ]);
}

/** Takes away what was shown of a handling that was ended from outside, and tells its end. */
export async function endUnsaid(
  tx: Transaction,
  setting: RoomsSetting,
  place: Place,
  { handling, outcome }: { handling: UnsaidHandling; outcome: "silent" | "stopped" },
): Promise<void> {
  const { preview } = handling;
  if (preview !== null) await removePreview(tx, setting, handling, { place, preview });
  await emitHandled(tx, setting, place, { handling, outcome, answer: null });
}
