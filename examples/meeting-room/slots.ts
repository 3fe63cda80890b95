import {
  dayOnlyReader,
  isIsoDate,
  parseDate,
  type SlotContext,
  type SlotRead,
  type SlotSpecs,
} from "dure/slots";
import { z } from "zod";

export const ROOMS = ["소회의실", "대회의실"] as const;

export const SLOT_ERRORS = [
  "ROOM_UNKNOWN",
  "DAY_UNREADABLE",
  "DAY_PAST",
  "HOUR_CLOSED",
  "PEOPLE_TOO_MANY",
] as const;
export type SlotError = (typeof SLOT_ERRORS)[number];

export interface RoomSlots {
  readonly room?: (typeof ROOMS)[number];
  readonly day?: string;
  readonly hour?: number;
  readonly people?: number;
}

/** What a booking needs. */
export const SLOTS = {
  room: {
    required: true,
    type: "text",
    description: { ko: "소회의실 또는 대회의실", en: "the small room or the large room" },
    parse: readRoom,
    schema: z.enum(ROOMS),
    schemaError: "ROOM_UNKNOWN",
  },
  day: {
    required: true,
    type: "date",
    description: { ko: "쓰는 날, YYYY-MM-DD", en: "the day, YYYY-MM-DD" },
    reader: dayOnlyReader,
    parse: readDay,
    schema: z.string().refine(isIsoDate),
    schemaError: "DAY_UNREADABLE",
    validate: (day: string, { today }: SlotContext) => (day < today ? "DAY_PAST" : undefined),
  },
  hour: {
    required: true,
    type: "integer",
    description: { ko: "시작하는 시각, 0에서 23", en: "the hour of the start, 0 to 23" },
    parse: (raw: unknown) => readNumber(raw, "HOUR_CLOSED"),
    schema: z.int().min(9).max(18),
    schemaError: "HOUR_CLOSED",
  },
  people: {
    required: true,
    type: "integer",
    description: { ko: "쓰는 사람 수", en: "how many people" },
    parse: (raw: unknown) => readNumber(raw, "PEOPLE_TOO_MANY"),
    schema: z.int().min(1).max(20),
    schemaError: "PEOPLE_TOO_MANY",
  },
} as const satisfies SlotSpecs;

function readRoom(raw: unknown): SlotRead<string> {
  if (typeof raw !== "string") return { ok: false, error: "ROOM_UNKNOWN" };
  if (/소회의실|작은|small/iu.test(raw)) return { ok: true, value: "소회의실" };
  if (/대회의실|큰|large|big/iu.test(raw)) return { ok: true, value: "대회의실" };
  return { ok: false, error: "ROOM_UNKNOWN" };
}

function readDay(raw: unknown, context: SlotContext): SlotRead<string> {
  const read = typeof raw === "string" ? parseDate(raw, context) : undefined;
  if (!read?.ok) return { ok: false, error: "DAY_UNREADABLE" };
  return { ok: true, value: read.date };
}

/** `3시`, `오후 3시`, `3pm`, `5명`: the number that is meant. */
function readNumber(raw: unknown, error: SlotError): SlotRead<number> {
  if (typeof raw === "number") return { ok: true, value: raw };
  const match = typeof raw === "string" ? /\d+/.exec(raw) : null;
  if (!match) return { ok: false, error };
  const value = Number(match[0]);
  const isAfternoon = /오후|pm/iu.test(String(raw)) && value < 12;
  return { ok: true, value: isAfternoon ? value + 12 : value };
}
