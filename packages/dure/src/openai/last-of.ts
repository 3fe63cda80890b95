import type { TurnFrame } from "../engine/api.ts";
import { DureError } from "../kernel/errors.ts";
import type { Done } from "../kernel/turn-events.ts";

/** How a turn has ended. Throws `TURN_UNFINISHED`. */
export async function lastOf(frames: AsyncIterable<TurnFrame>): Promise<Done> {
  for await (const { event } of frames) if (event.type === "DONE") return event.data;
  throw new DureError("TURN_UNFINISHED", "The turn could not be read to its end.", {
    class: "unavailable",
  });
}
