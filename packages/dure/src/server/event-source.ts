import { parsePosition } from "../durable/event-position.ts";
import type { EventFilter } from "../kernel/platform-events.ts";
import type { PlatformEvent } from "../wire/events.ts";

export type EventFrame =
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | { readonly kind: "reset"; readonly oldest: string };

/** The durable log as the server reads it. */
export interface EventSource {
  /** The position behind everything that can be read now. */
  now(): Promise<string>;
  /** The position before the newest `count` events that match. */
  beforeLast(count: number, filter: EventFilter): Promise<string>;
  /**
   * Events behind `after`, then new ones, for ever. A position older than the retention gives one
   * `reset` and goes on from the oldest kept. Ends when the signal aborts.
   */
  follow(
    filter: EventFilter,
    options: { after: string; signal: AbortSignal },
  ): AsyncIterable<EventFrame>;
}

/**
 * The position that a client gave back; undefined when there is none. Throws
 * `EVENT_POSITION_INVALID` before anything was answered.
 */
export function readEventPosition(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  parsePosition(text);
  return text;
}
