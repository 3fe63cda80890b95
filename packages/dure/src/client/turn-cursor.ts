import type { EventSourceMessage } from "eventsource-parser";
import { TURN_EVENT_TYPES, type TurnEvent, type TurnEventType } from "../kernel/turn-events.ts";
import { turnEventFromWire } from "../kernel/wire.ts";
import { frameData } from "./sse.ts";

/**
 * A turn event as a reader gets it; `id` is its place in the turn, absent for text that is not
 * stored yet.
 */
export type TurnFrame = TurnEvent & { readonly id?: string };

/**
 * How far a reader has come in one turn. Text between two stored events has no id of its own, so it
 * is counted: `seen` characters are known behind the last stored event, and this connection has
 * delivered `delivered` of them. Source: docs/spec/conversation §6.
 */
export interface TurnCursor {
  readonly turnId: string | undefined;
  /** The last stored event that was read; 0 before the first. */
  readonly seq: number;
  readonly seen: number;
  readonly delivered: number;
}

export const TURN_BEGIN: TurnCursor = { turnId: undefined, seq: 0, seen: 0, delivered: 0 };

/** What to send as `Last-Event-ID`; nothing before the first stored event. */
export function lastEventId(cursor: TurnCursor): string | undefined {
  return cursor.turnId === undefined || cursor.seq === 0
    ? undefined
    : `${cursor.turnId}.${cursor.seq}`;
}

/**
 * The cursor at the begin of a new connection, which delivers from behind the last stored event.
 */
export function reconnected(cursor: TurnCursor): TurnCursor {
  return { ...cursor, delivered: 0 };
}

/** Where a given `Last-Event-ID` stands. */
export function cursorAt(turnId: string, id: string | undefined): TurnCursor {
  return { ...TURN_BEGIN, turnId, seq: id === undefined ? 0 : (placeOf(id)?.seq ?? 0) };
}

/**
 * Takes one frame in: the next cursor, and the event if it is new. Pure; the first rule that
 * applies wins.
 */
export function admit(
  cursor: TurnCursor,
  message: EventSourceMessage,
): { cursor: TurnCursor; frame?: TurnFrame } {
  if (!isTurnEventType(message.event)) return { cursor }; // a newer server may say more than we know

  const place = message.id === undefined ? undefined : placeOf(message.id);
  if (place !== undefined && place.seq <= cursor.seq) return { cursor }; // read before the cut

  const event = turnEventFromWire(message.event, frameData(message));
  const turnId = cursor.turnId ?? place?.turnId;
  const id = message.id === undefined ? {} : { id: message.id };

  if (event.type !== "LLM_TOKEN") {
    const seq = place?.seq ?? cursor.seq;
    return { cursor: { turnId, seq, seen: 0, delivered: 0 }, frame: { ...event, ...id } };
  }

  const end = cursor.delivered + event.data.length;
  const fresh = event.data.slice(Math.max(0, cursor.seen - cursor.delivered));
  const seen = Math.max(cursor.seen, end);

  const next =
    place === undefined
      ? { turnId, seq: cursor.seq, seen, delivered: end }
      : // The chunk is closed: count from behind it.
        { turnId, seq: place.seq, seen: seen - end, delivered: 0 };

  return fresh === ""
    ? { cursor: next }
    : { cursor: next, frame: { type: "LLM_TOKEN", data: fresh, ...id } };
}

/** The parts of `<turn_id>.<seq>`. */
function placeOf(id: string): { turnId: string; seq: number } | undefined {
  const dot = id.lastIndexOf(".");
  const seq = Number(id.slice(dot + 1));
  return dot > 0 && Number.isInteger(seq) && seq > 0
    ? { turnId: id.slice(0, dot), seq }
    : undefined;
}

function isTurnEventType(name: string | undefined): name is TurnEventType {
  return (TURN_EVENT_TYPES as readonly (string | undefined)[]).includes(name);
}
