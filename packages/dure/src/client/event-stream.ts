import { isObject } from "../kernel/json.ts";
import { overConnections, type Connection, type ConnectionParts } from "./connections.ts";
import { frameData } from "./sse.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { RoomPeople } from "../wire/rooms.ts";
import { fromWire } from "../kernel/wire.ts";

export interface EventStreamParts extends ConnectionParts {
  readonly lastEventId: string | undefined;
  /**
   * The position was older than the retention: what lies before `oldest` is gone, and the log goes
   * on from there.
   */
  readonly onReset?: ((reset: { readonly oldest: string | undefined }) => void) | undefined;
  /** Who is in a web room now, where the filter asks for it; no part of the log. */
  readonly onPeople?: ((people: RoomPeople) => void) | undefined;
}

/**
 * Events from a position on, without gap or duplicate, over any number of connections, until the
 * signal aborts.
 */
export async function* followEvents(parts: EventStreamParts): AsyncGenerator<PlatformEvent, never> {
  let position = parts.lastEventId;
  let last: string | undefined;

  const read = async function* ({ frames }: Connection): AsyncGenerator<PlatformEvent, "another"> {
    for await (const frame of frames) {
      const data = frameData(frame);
      if (frame.event === "reset") {
        position =
          isObject(data) && typeof data["oldest"] === "string" ? data["oldest"] : undefined;
        parts.onReset?.({ oldest: position });
        continue;
      }
      if (frame.event === "people") {
        parts.onPeople?.(fromWire(data) as RoomPeople);
        continue;
      }
      if (!isPlatformEvent(data) || data.id === last) continue;
      position = last = data.id;
      yield data;
    }
    return "another";
  };

  // Before its first event the log says where "from now on" is, so that a cut right then loses
  // nothing.
  const onId = (id: string): void => {
    if (last === undefined) position ??= id;
  };

  return yield* overConnections(parts, { position: () => position, read, onId });
}

function isPlatformEvent(value: unknown): value is PlatformEvent {
  return isObject(value) && typeof value["id"] === "string" && typeof value["type"] === "string";
}
