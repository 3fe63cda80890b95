import type { EventRole } from "../kernel/platform-events.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { Statement } from "./database.ts";
import type { Frame, EventPosition } from "./event-position.ts";

/** Rows of the log of events, and the state of the log that is read with them. */

/** Of notifications that events were appended. */
export const EVENTS_TOPIC = "events";

export interface FrameRow {
  readonly era: number;
  readonly xmin: string;
  readonly xmax: string;
  readonly swept_xid: string;
  readonly swept_seq: string;
}

export interface EventRow {
  readonly xid: string;
  readonly seq: string | null;
  readonly at: number;
  readonly type: string;
  readonly role: EventRole;
  readonly session: string | null;
  readonly turn: string | null;
  readonly service: string | null;
  readonly agent: string | null;
  readonly room: string | null;
  readonly run: string | null;
  readonly job: string | null;
  /** Null: the subject of the event is deleted, and its tenant is unknown. */
  readonly tenant: string | null;
  readonly data: Record<string, unknown>;
  readonly scanned_xid?: string | null;
  readonly scanned_seq?: string | null;
}

export function frameOf(row: FrameRow): Frame {
  const { era } = row;
  return {
    era,
    end: { era, xid: BigInt(row.xmin), seq: 0n },
    xmax: BigInt(row.xmax),
    swept: { xid: BigInt(row.swept_xid), seq: BigInt(row.swept_seq) },
  };
}

export function scannedOf(row: EventRow, era: number): EventPosition | undefined {
  if (!row.scanned_xid || !row.scanned_seq) return undefined;
  return { era, xid: BigInt(row.scanned_xid), seq: BigInt(row.scanned_seq) };
}

const SUBJECTS = ["tenant", "session", "turn", "service", "agent", "room", "run", "job"] as const;

export function eventOf(row: EventRow, era: number): PlatformEvent {
  const subjects = Object.fromEntries(
    SUBJECTS.flatMap((name) => (row[name] === null ? [] : [[name, row[name]]])),
  );
  const event = {
    id: `${era}.${row.xid}.${row.seq}`,
    at: row.at,
    type: row.type,
    role: row.role,
    ...subjects,
    data: row.data,
  };

  return event as PlatformEvent; // a process of this release or of a newer one has written it
}

/** The state of the log, from the snapshot in which the reader also reads. */
export const FRAME_COLUMNS = `
  m.era, pg_snapshot_xmin(pg_current_snapshot())::text as xmin,
    pg_snapshot_xmax(pg_current_snapshot())::text as xmax,
  m.events_swept_xid::text as swept_xid, m.events_swept_seq::text as swept_seq`;

export const EVENT_COLUMNS = `
  e.xid::text as xid, e.seq::text as seq, extract(epoch from e.at)::float8 * 1000 as at, e.type, e.role,
  e.session, e.turn, e.service, e.agent, e.room, e.run, e.job, e.tenant, e.data`;

export const FRAME: Statement = {
  name: "events.frame",
  text: `select ${FRAME_COLUMNS} from dure.meta m`,
};
