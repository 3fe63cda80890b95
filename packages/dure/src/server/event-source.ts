import { DureError } from "../kernel/errors.ts";
import type { EventFilter, PlatformEvent } from "../kernel/platform-events.ts";

export type EventFrame = { readonly kind: "event"; readonly event: PlatformEvent } | { readonly kind: "reset"; readonly oldest: string };

/** The durable log as the server reads it. */
export interface EventSource {
  /**
   * Events behind `after`, then new ones, for ever; without `after` only new ones. A position older than the retention
   * gives one `reset` and goes on from the oldest kept. Ends when the signal aborts.
   */
  follow(filter: EventFilter, options: { after?: string; signal?: AbortSignal }): AsyncIterable<EventFrame>;
}

/** A position in the log as clients give it back: `era.xid.seq`. Throws `EVENT_POSITION_INVALID`. */
export function parseEventPosition(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,19}\.\d{1,20}\.\d{1,19}$/.test(text)) return text;
  throw new DureError("EVENT_POSITION_INVALID", "Last-Event-ID is no position in the event log.", {
    class: "input",
    hint: "Give back an id that /v1/events sent, or none to start from now.",
  });
}
