import { DureError } from "../kernel/errors.ts";

/** Positions in the log of events, and when one is void. Pure. */

export interface Reset {
  /** The position before the oldest event that is kept. */
  readonly oldest: string;
  readonly because: "retention" | "era";
}

export interface EventPosition {
  readonly era: number;
  readonly xid: bigint;
  readonly seq: bigint;
}

export const START: EventPosition = { era: 0, xid: 0n, seq: 0n };

/** `era.xid.seq`. Throws EVENT_POSITION_INVALID. */
export function parsePosition(text: string): EventPosition {
  const match = /^([1-9]\d{0,14})\.(\d{1,20})\.(\d{1,19})$/.exec(text);
  const position = match && {
    era: Number(match[1]),
    xid: BigInt(match[2]!),
    seq: BigInt(match[3]!),
  };

  if (position && position.xid < 2n ** 64n && position.seq < 2n ** 63n) return position;

  throw new DureError(
    "EVENT_POSITION_INVALID",
    `"${text.slice(0, 80)}" is not a position in the event log.`,
    {
      class: "input",
      hint: "Give back the `id` of an event as it came, or leave it out to begin with the present.",
    },
  );
}

export function formatPosition({ era, xid, seq }: EventPosition): string {
  return `${era}.${xid}.${seq}`;
}

export function comparePositions(a: EventPosition, b: EventPosition): number {
  if (a.era !== b.era) return a.era - b.era;
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1;
  return a.seq < b.seq ? -1 : a.seq > b.seq ? 1 : 0;
}

/** State of the log when a statement ran. */
export interface Frame {
  readonly era: number;
  /** Behind everything readable. */
  readonly end: EventPosition;
  /** First transaction id that was not given out yet. */
  readonly xmax: bigint;
  /** The last event that retention removed. */
  readonly swept: { readonly xid: bigint; readonly seq: bigint };
}

/** Why nothing can be read on from `position`, if so. Pure. */
export function whyLost(position: EventPosition, frame: Frame): Reset["because"] | undefined {
  if (position.era !== frame.era) return position.era === 0 ? undefined : "era";
  if (position.xid > frame.xmax) return "era"; // from a future that this database does not have
  return comparePositions(position, { ...frame.swept, era: frame.era }) < 0 && position.xid > 0n
    ? "retention"
    : undefined;
}
