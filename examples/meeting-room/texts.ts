import { formTexts, type Locale } from "dure/slots";
import type { RoomSlots, SlotError } from "./slots.ts";

type OwnErrors = Readonly<Record<SlotError, string>>;

const ROOM_EN = { 소회의실: "the small room", 대회의실: "the large room" } as const;

const ko = formTexts<RoomSlots>("ko", {
  slotNames: { room: "회의실", day: "날짜", hour: "시간", people: "인원" },
  questions: {
    room: "소회의실과 대회의실 중 어디를 예약할까요?",
    day: "언제 쓰실 건가요?",
    hour: "몇 시부터 쓰실 건가요?",
    people: "몇 분이 쓰시나요?",
  },
  errors: {
    ROOM_UNKNOWN: "소회의실과 대회의실이 있어요.",
    DAY_UNREADABLE: "날짜를 알아볼 수 없어요. 예: 내일, 3월 5일",
    DAY_PAST: "지난 날짜는 예약할 수 없어요.",
    HOUR_CLOSED: "9시부터 18시까지 예약할 수 있어요.",
    PEOPLE_TOO_MANY: "1명에서 20명까지 쓸 수 있어요.",
  } satisfies OwnErrors,
  describe: bookingKo,
  value: (slot, value) => (slot === "hour" ? `${value}시` : String(value)),
  confirmQuestion: (slots) => `${bookingKo(slots)}으로 예약할까요?`,
  receipt: (slots) => `${bookingKo(slots)}으로 예약했어요.`,
  cancelled: "예약을 그만뒀어요. 잡힌 회의실은 없어요.",
  failed: (code) =>
    code === "ROOM_TAKEN" ? "그 시간에는 이미 다른 예약이 있어요." : "예약하지 못했어요.",
  noAnswer: "그건 제가 답해 드리기 어려워요. 회의실 예약을 도와드릴게요.",
});

const en = formTexts<RoomSlots>("en", {
  slotNames: { room: "room", day: "day", hour: "hour", people: "people" },
  questions: {
    room: "The small room or the large room?",
    day: "On which day?",
    hour: "From what hour?",
    people: "For how many people?",
  },
  errors: {
    ROOM_UNKNOWN: "There is a small room and a large room.",
    DAY_UNREADABLE: "I cannot read the day. Try tomorrow, or March 5.",
    DAY_PAST: "That day has passed.",
    HOUR_CLOSED: "Rooms can be used from 9 to 18 o'clock.",
    PEOPLE_TOO_MANY: "1 to 20 people can use a room.",
  } satisfies OwnErrors,
  describe: bookingEn,
  value: (slot, value) => (slot === "hour" ? `${value}:00` : String(value)),
  confirmQuestion: (slots) => `Shall I book ${bookingEn(slots)}?`,
  receipt: (slots) => `Booked: ${bookingEn(slots)}.`,
  cancelled: "The booking is cancelled. No room is taken.",
  failed: (code) =>
    code === "ROOM_TAKEN" ? "That room is taken at that hour." : "The room could not be booked.",
  noAnswer: "I cannot answer that. I can book a meeting room for you.",
});

function bookingKo({ room = "소회의실", day = "", hour = 0, people = 0 }: RoomSlots): string {
  return `${day} ${hour}시 ${room} ${people}명`;
}

function bookingEn({ room = "소회의실", day = "", hour = 0, people = 0 }: RoomSlots): string {
  return `${ROOM_EN[room]} on ${day} at ${hour}:00 for ${people}`;
}

/** Every text that a person can read in this example. */
export const TEXTS = { ko, en } as const satisfies Record<Locale, unknown>;
