import type { FormResult, FormTexts, Locale } from "dure/slots";
import type { RoomSlots, SlotError } from "./slots.ts";

interface Texts extends FormTexts<RoomSlots> {
  slotError(error: SlotError): string;
}
type Result = FormResult<RoomSlots>;

const ERRORS_KO = {
  ROOM_UNKNOWN: "소회의실과 대회의실이 있어요.",
  DAY_UNREADABLE: "날짜를 알아볼 수 없어요. 예: 내일, 3월 5일",
  DAY_PAST: "지난 날짜는 예약할 수 없어요.",
  HOUR_CLOSED: "9시부터 18시까지 예약할 수 있어요.",
  PEOPLE_TOO_MANY: "1명에서 20명까지 쓸 수 있어요.",
  UNREADABLE: "말씀을 잘 이해하지 못했어요.",
  UNKNOWN_SLOT: "회의실, 날짜, 시간, 인원만 바꿀 수 있어요.",
  TOO_MANY_TASKS: "한 번에 20건까지 예약할 수 있어요.",
  UNSURE: "말씀하신 내용이 확실하지 않아요.",
} as const satisfies Record<SlotError, string>;

const ERRORS_EN = {
  ROOM_UNKNOWN: "There is a small room and a large room.",
  DAY_UNREADABLE: "I cannot read the day. Try tomorrow, or March 5.",
  DAY_PAST: "That day has passed.",
  HOUR_CLOSED: "Rooms can be used from 9 to 18 o'clock.",
  PEOPLE_TOO_MANY: "1 to 20 people can use a room.",
  UNREADABLE: "I did not understand that.",
  UNKNOWN_SLOT: "Room, day, hour and people can be changed.",
  TOO_MANY_TASKS: "20 bookings at once are the most.",
  UNSURE: "I am not sure what you meant.",
} as const satisfies Record<SlotError, string>;

const ROOM_EN = { 소회의실: "the small room", 대회의실: "the large room" } as const;

const bookingKo = ({ room = "소회의실", day = "", hour = 0, people = 0 }: RoomSlots): string =>
  `${day} ${hour}시 ${room} ${people}명`;
const bookingEn = ({ room = "소회의실", day = "", hour = 0, people = 0 }: RoomSlots): string =>
  `${ROOM_EN[room]} on ${day} at ${hour}:00 for ${people}`;

const ENDS_KO = { done: "완료", cancelled: "취소", failed: "실패", unsupported: "처리 불가" };
const ENDS_EN = { done: "done", cancelled: "cancelled", failed: "failed", unsupported: "given up" };

const ko: Texts = {
  buttons: { confirm: ["확인", "취소"], askContinue: ["계속 진행", "취소"] },
  labels: { slots: "예약 내용 정리 중", interaction: "답변 작성 중" },
  slotNames: { room: "회의실", day: "날짜", hour: "시간", people: "인원" },
  progress: ({ index, total }) => (total > 1 ? `(${index}/${total})` : ""),
  askSlot(slot) {
    const questions: Readonly<Record<string, string>> = {
      room: "소회의실과 대회의실 중 어디를 예약할까요?",
      day: "언제 쓰실 건가요?",
      hour: "몇 시부터 쓰실 건가요?",
      people: "몇 분이 쓰시나요?",
    };
    return questions[slot] ?? "";
  },
  slotError: (error) => ERRORS_KO[error],
  confirmQuestion: (slots) => `${bookingKo(slots)}으로 예약할까요?`,
  confirmAgain: "아직 예약하지 않았어요. 아래 내용을 다시 확인해 주세요.",
  added: (slots) => `${bookingKo(slots)} 예약도 더했어요.`,
  receipt: (slots) => `${bookingKo(slots)}으로 예약했어요.`,
  cancelled: "예약을 그만뒀어요. 잡힌 회의실은 없어요.",
  cancelledOne: "이 예약은 그만뒀어요.",
  restCancelled: "남은 예약은 하지 않았어요.",
  nothingToCancel: "지금은 취소할 예약이 없어요.",
  nothingToConfirm: "지금은 확인할 예약이 없어요.",
  unsupported: "필요한 내용을 다 알아듣지 못해서 여기서 마칠게요. 잡힌 회의실은 없어요.",
  failed: (code) =>
    code === "ROOM_TAKEN" ? "그 시간에는 이미 다른 예약이 있어요." : "예약하지 못했어요.",
  effectUnknown: (slots) => `${bookingKo(slots)} 예약이 됐는지 아직 확인하지 못했어요.`,
  resumed: "이미 확인하신 예약이라 결과를 확인했어요.",
  alreadySettled: "기다리던 예약은 이미 마무리됐어요.",
  stoppedTooLate: (result) => `멈췄지만 이 예약은 이미 처리됐어요. ${ko.result(result)}`,
  result: ({ index, slots, outcome }) => `${index}. ${bookingKo(slots)}: ${ENDS_KO[outcome]}`,
  askContinue: (remaining) => `아직 ${remaining}건이 남았어요. 계속 진행할까요?`,
  batchSummary: ({ done, cancelled, failed }) =>
    `완료 ${done}건, 취소 ${cancelled}건, 실패 ${failed}건이에요.`,
  status: ([last]: readonly Result[]) =>
    last ? `${bookingKo(last.slots)}: ${ENDS_KO[last.outcome]}` : "아직 끝난 예약이 없어요.",
  doubt: (slot, options) =>
    options.length > 1
      ? `${options.join(", ")} 중 어느 쪽인가요? ${ko.askSlot(slot, {})}`
      : `말씀하신 내용이 확실하지 않아요. ${ko.askSlot(slot, {})}`,
  noRepeats: "되풀이되는 예약은 할 수 없어요. 한 번씩 예약해 주세요.",
  noAnswer: "그건 제가 답해 드리기 어려워요. 회의실 예약을 도와드릴게요.",
};

const en: Texts = {
  buttons: { confirm: ["Confirm", "Cancel"], askContinue: ["Continue", "Cancel"] },
  labels: { slots: "Reading the booking", interaction: "Writing an answer" },
  slotNames: { room: "room", day: "day", hour: "hour", people: "people" },
  progress: ({ index, total }) => (total > 1 ? `(${index}/${total})` : ""),
  askSlot(slot) {
    const questions: Readonly<Record<string, string>> = {
      room: "The small room or the large room?",
      day: "On which day?",
      hour: "From what hour?",
      people: "For how many people?",
    };
    return questions[slot] ?? "";
  },
  slotError: (error) => ERRORS_EN[error],
  confirmQuestion: (slots) => `Shall I book ${bookingEn(slots)}?`,
  confirmAgain: "Nothing is booked yet. Please check this again.",
  added: (slots) => `Added: ${bookingEn(slots)}.`,
  receipt: (slots) => `Booked: ${bookingEn(slots)}.`,
  cancelled: "The booking is cancelled. No room is taken.",
  cancelledOne: "This booking is cancelled.",
  restCancelled: "The remaining bookings were not made.",
  nothingToCancel: "There is no booking to cancel right now.",
  nothingToConfirm: "There is no booking to confirm right now.",
  unsupported: "I could not make out all I need, so I end this here. No room is taken.",
  failed: (code) =>
    code === "ROOM_TAKEN" ? "That room is taken at that hour." : "The room could not be booked.",
  effectUnknown: (slots) => `I do not know yet whether ${bookingEn(slots)} is booked.`,
  resumed: "You had confirmed this booking already, so I asked what became of it.",
  alreadySettled: "The booking that was waiting has been settled already.",
  stoppedTooLate: (result) => `Stopped, but this was settled before. ${en.result(result)}`,
  result: ({ index, slots, outcome }) => `${index}. ${bookingEn(slots)}: ${ENDS_EN[outcome]}`,
  askContinue: (remaining) => `${remaining} left. Shall I go on?`,
  batchSummary: ({ done, cancelled, failed }) =>
    `${done} done, ${cancelled} cancelled, ${failed} failed.`,
  status: ([last]: readonly Result[]) =>
    last ? `${bookingEn(last.slots)}: ${ENDS_EN[last.outcome]}` : "No booking has ended yet.",
  doubt: (slot, options) =>
    options.length > 1
      ? `Is it ${options.join(" or ")}? ${en.askSlot(slot, {})}`
      : `I am not sure what you meant. ${en.askSlot(slot, {})}`,
  noRepeats: "Bookings that repeat are not possible. Please book each of them.",
  noAnswer: "I cannot answer that. I can book a meeting room for you.",
};

/** Every text that a person can read in this example. */
export const TEXTS = { ko, en } as const satisfies Record<Locale, Texts>;
