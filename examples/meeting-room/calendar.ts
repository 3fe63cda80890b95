import { tool, type Tool } from "dure";
import { z } from "zod";

/** A room, a day and a time; one booking of it at most. */
export interface Booking {
  readonly room: string;
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** `HH:MM` */
  readonly time: string;
  readonly people: number;
}

/** The calendar of the building: keeps keys, so that the same key books once. */
export class Calendar {
  readonly #byKey = new Map<string, Booking>();

  get bookings(): readonly Booking[] {
    return [...this.#byKey.values()];
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** False: another key has this room at this time. */
  book(key: string, booking: Booking): boolean {
    const isTaken = [...this.#byKey].some(
      ([other, { room, day, time }]) =>
        other !== key && room === booking.room && day === booking.day && time === booking.time,
    );
    if (isTaken) return false;
    this.#byKey.set(key, booking);
    return true;
  }
}

/** A definite no of the calendar: nothing was booked. */
class RoomTaken extends Error {
  readonly code = "ROOM_TAKEN";
  readonly definite = true;
}

const bookingSchema: z.ZodType<Booking> = z.object({
  room: z.string(),
  day: z.string(),
  time: z.string(),
  people: z.int(),
});

/** Books a room once per key. */
export function bookRoomTool(calendar: Calendar): Tool<Booking, null> {
  return tool({
    description: "Books a meeting room.",
    inputSchema: bookingSchema,
    effect: "once",
    settle: "1s",
    async execute(booking, { key }): Promise<null> {
      if (!calendar.book(key, booking)) throw new RoomTaken("The room is taken at that time.");
      return null;
    },
    probe: async ({ key }) => (calendar.has(key) ? "happened" : "not_happened"),
  });
}
