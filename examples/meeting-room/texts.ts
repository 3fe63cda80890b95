import { formTexts, josa, type Locale, type Shown } from "dure/slots";
import { SLOTS, type RoomSlots } from "./slots.ts";

const ko = formTexts<RoomSlots>("ko", {
  slots: SLOTS,
  slotNames: { room: "회의실", day: "날짜", time: "시각", people: "인원" },
  questions: {
    room: "소회의실과 대회의실 중 어디를 예약할까요?",
    day: "언제 쓰실 건가요?",
    time: "몇 시부터 쓰실 건가요?",
    people: "몇 분이 쓰시나요?",
  },
  describe: (_slots, shown) => bookingKo(shown),
  confirmQuestion: (_slots, shown) => `${josa(bookingKo(shown), "으로/로")} 예약할까요?`,
  receipt: (_slots, _details, shown) => `${josa(bookingKo(shown), "으로/로")} 예약했어요.`,
  cancelled: "예약을 그만뒀어요. 잡힌 회의실은 없어요.",
  failed: (code) =>
    code === "ROOM_TAKEN" ? "그 시간에는 이미 다른 예약이 있어요." : "예약하지 못했어요.",
  noAnswer: "그건 제가 답해 드리기 어려워요. 회의실 예약을 도와드릴게요.",
});

const en = formTexts<RoomSlots>("en", {
  slots: SLOTS,
  slotNames: { room: "room", day: "day", time: "time", people: "people" },
  questions: {
    room: "The small room or the large room?",
    day: "On which day?",
    time: "From what time?",
    people: "For how many people?",
  },
  describe: (_slots, shown) => bookingEn(shown),
  confirmQuestion: (_slots, shown) => `Shall I book ${bookingEn(shown)}?`,
  receipt: (_slots, _details, shown) => `Booked: ${bookingEn(shown)}.`,
  cancelled: "The booking is cancelled. No room is taken.",
  failed: (code) =>
    code === "ROOM_TAKEN" ? "That room is taken at that time." : "The room could not be booked.",
  noAnswer: "I cannot answer that. I can book a meeting room for you.",
});

function bookingKo({ room, day, time, people }: Shown<RoomSlots>): string {
  return `${day} ${time} ${room} ${people}`;
}

function bookingEn({ room, day, time, people }: Shown<RoomSlots>): string {
  return `${room} on ${day} at ${time} for ${people}`;
}

/** Every text that a person can read in this example. */
export const TEXTS = { ko, en } as const satisfies Record<Locale, unknown>;
