import { conversationalAgent, defineService, tool, type Service } from "dure";
import {
  formTexts,
  josa,
  slot,
  slotAgents,
  slotFlow,
  type Look,
  type Shown,
  type SlotSpecs,
} from "dure/slots";
import { z } from "zod";
import { Practice, type Opening, type Visit } from "./practice.ts";

/** What is known of a visit. */
export interface VisitSlots {
  readonly deed?: "book" | "reschedule" | "cancel";
  /** Of a visit that is there: `A-7`. */
  readonly number?: string;
  readonly doctor?: "kim" | "lee";
  /** `YYYY-MM-DD` */
  readonly day?: string;
  /** `HH:MM` */
  readonly time?: string;
}

export const PROMPTS = {
  intent: `Does the person want to book, move or cancel a visit to the doctor? Answer with JSON:
{"scenario": "VISIT"} or {"scenario": "GENERAL"}`,
  interaction: `You answer questions about a doctor's practice, in the language of the context's
locale, in a sentence or two. You book, move and cancel nothing, and say of nothing that it was done.
Answer with JSON: {"action": "chat", "message": "…"}`,
} as const;

export const SLOTS = {
  number: slot.text({
    pattern: /^[A-Z]-\d{1,4}$/iu,
    identifies: true,
    examples: ["A-7"],
    description: { ko: "예약 번호, A-7", en: "the number of the visit, A-7" },
    errors: {
      ko: { TEXT_FORM: "예약 번호는 A-7처럼 써요." },
      en: { TEXT_FORM: "The number looks like A-7." },
    },
  }),
  doctor: slot.choice({
    description: { ko: "의사", en: "the doctor" },
    options: [
      { value: "kim", names: { ko: "김 원장", en: "Dr. Kim" }, synonyms: ["김원장님", "Kim"] },
      { value: "lee", names: { ko: "이 원장", en: "Dr. Lee" }, synonyms: ["이원장님", "Lee"] },
    ],
  }),
  day: slot.date({ description: { ko: "날짜", en: "the day" } }),
  time: slot.time({
    from: "09:00",
    to: "17:30",
    step: 30,
    description: { ko: "시각", en: "the time" },
  }),
} satisfies SlotSpecs;

/** Books, moves and cancels visits: three deeds over one subject. */
export function createVisitService(practice: Practice): Service {
  const deeds = deedsOf(practice);
  return defineService({
    name: "appointments",
    title: "진료 예약",
    description: "진료를 예약하고, 옮기고, 취소해요.",
    examples: ["내일 오후 3시에 김 원장님 예약해줘"],
    translations: {
      en: {
        title: "Appointments",
        description: "Books, moves and cancels visits to the doctor.",
        examples: ["Book Dr. Kim tomorrow at 3pm"],
      },
    },
    agents: {
      intent: conversationalAgent({
        name: "intent",
        prompt: PROMPTS.intent,
        schema: z.object({ scenario: z.enum(["VISIT", "GENERAL"]) }),
      }),
      ...slotAgents({ slots: SLOTS, deeds }, PROMPTS),
    },
    ...slotFlow<VisitSlots>({
      flow: "VISIT",
      slots: SLOTS,
      deeds,
      look: lookingAt(practice),
      texts: TEXTS,
      words: WORDS,
    }),
  });
}

/** How people here say yes to a visit. */
const WORDS = {
  yes: [
    "예약해 주세요",
    "예약해주세요",
    "예약해줘",
    "예약할게요",
    "확정해 주세요",
    "잡아줘요",
    "잡아",
    "잡아 줘",
    "잡아 주세요",
    "그때 뵐게요",
    "pop me in",
    "book it",
    "please book",
    "lock it in",
  ],
};

function deedsOf(practice: Practice) {
  const visit = ({ doctor, day, time }: VisitSlots): Visit => ({
    ...{ doctor: doctor ?? "", day: day ?? "", time: time ?? "" },
  });
  return {
    book: {
      names: { ko: "예약하기", en: "Book the visit" },
      says: ["예약", "진료 예약", "book", "make an appointment"],
      slots: ["doctor", "day", "time"],
      call: "book",
      tool: once("Books a visit.", practice, (key, input) => practice.book(key, input)),
      input: visit,
      details: ({ result }: { result: unknown }) => ({ number: result as string }),
    },
    reschedule: {
      names: { ko: "예약 옮기기", en: "Move the visit" },
      says: ["예약 변경", "예약 옮기기", "reschedule", "move my appointment"],
      slots: ["number", "day", "time"],
      call: "reschedule",
      tool: once("Moves a visit.", practice, (key, input) => practice.move(key, input)),
      input: (slots: VisitSlots) => ({ ...visit(slots), number: slots.number }),
      details: () => ({}),
    },
    cancel: {
      names: { ko: "예약 취소하기", en: "Cancel the visit" },
      says: ["예약 취소", "진료 취소", "cancel my appointment", "cancel the visit"],
      slots: ["number"],
      call: "cancel",
      tool: once("Cancels a visit.", practice, (key, input) => practice.cancel(key, input)),
      input: (slots: VisitSlots) => ({ number: slots.number }),
      details: () => ({}),
    },
  };
}

/** Asks the book before the person is asked; the practice decides anew when the visit is booked. */
function lookingAt(practice: Practice): Look<VisitSlots, VisitSlots, Opening> {
  return {
    call: "opening",
    tool: tool({
      description: "Says whether the doctor is free then.",
      inputSchema: z.custom<VisitSlots>(),
      effect: "none",
      execute: ({ deed, number, doctor = "", day = "", time = "" }) =>
        deed === "cancel" ? "free" : practice.opening({ doctor, day, time }, number),
    }),
    input: (slots) => slots,
    errors: (seen) => (seen === "free" ? {} : { time: `TIME_${seen.toUpperCase()}` }),
  };
}

/** A deed of the practice, once for its key. */
function once(
  description: string,
  practice: Practice,
  work: (key: string, input: Partial<Visit> & { readonly number?: string | undefined }) => string,
) {
  return tool({
    description,
    inputSchema: z.looseObject({}),
    effect: "once",
    settle: "1s",
    execute: async (input, { key }) => work(key, input as Partial<Visit>),
    probe: async ({ key }) => (practice.has(key) ? "happened" : "not_happened"),
  });
}

/** Every text that a person can read in this example. */
export const TEXTS = {
  ko: formTexts<VisitSlots>("ko", {
    slots: SLOTS,
    slotNames: { deed: "할 일", number: "예약 번호", doctor: "의사", day: "날짜", time: "시각" },
    questions: {
      deed: "예약하기, 옮기기, 취소하기 중 무엇을 도와드릴까요?",
      number: "예약 번호가 어떻게 되나요? 예: A-7",
      doctor: "어느 원장님께 예약할까요?",
      day: "언제 오실 건가요?",
      time: "몇 시에 오실 건가요?",
    },
    describe: (_slots, shown) => visitKo(shown),
    confirmQuestion: ({ deed, number }, shown) => {
      if (deed === "cancel") return `예약 ${number}, 취소할까요?`;
      if (deed === "reschedule") {
        return `예약 ${number}, ${josa(whenKo(shown), "으로/로")} 옮길까요?`;
      }
      return `${josa(visitKo(shown), "으로/로")} 예약할까요?`;
    },
    receipt: (slots, { number }, shown) => {
      if (slots.deed === "cancel") return `예약 ${slots.number}, 취소했어요.`;
      if (slots.deed === "reschedule") {
        return `예약 ${slots.number}, ${josa(whenKo(shown), "으로/로")} 옮겼어요.`;
      }
      return `${josa(visitKo(shown), "으로/로")} 예약했어요. 예약 번호: ${String(number)}`;
    },
    errors: {
      TIME_PASSED: "그 시각은 이미 지났어요.",
      TIME_TAKEN: "그 시각에는 다른 예약이 있어요.",
    },
    unchecked: "그 시각이 비어 있는지 미리 확인하지 못했어요.",
    cancelled: "여기서 그만둘게요. 바뀐 예약은 없어요.",
  }),
  en: formTexts<VisitSlots>("en", {
    slots: SLOTS,
    slotNames: { deed: "what to do", number: "number", doctor: "doctor", day: "day", time: "time" },
    questions: {
      deed: "Shall I book, move or cancel a visit?",
      number: "What is the number of the visit, such as A-7?",
      doctor: "Dr. Kim or Dr. Lee?",
      day: "On which day?",
      time: "At what time?",
    },
    describe: (_slots, shown) => visitEn(shown),
    confirmQuestion: ({ deed, number }, shown) => {
      if (deed === "cancel") return `Shall I cancel visit ${number}?`;
      if (deed === "reschedule") return `Shall I move ${number} to ${whenEn(shown)}?`;
      return `Shall I book ${visitEn(shown)}?`;
    },
    receipt: (slots, { number }, shown) => {
      if (slots.deed === "cancel") return `Visit ${slots.number} is cancelled.`;
      if (slots.deed === "reschedule") return `Visit ${slots.number} is now on ${whenEn(shown)}.`;
      return `Booked: ${visitEn(shown)}. Number ${String(number)}.`;
    },
    errors: {
      TIME_PASSED: "That time has passed.",
      TIME_TAKEN: "Another visit is booked at that time.",
    },
    unchecked: "I could not check whether that time is free.",
    cancelled: "I stop here. No visit was changed.",
  }),
} as const;

function whenKo({ day, time }: Shown<VisitSlots>): string {
  return [day, time].filter(Boolean).join(" ");
}

function whenEn({ day, time }: Shown<VisitSlots>): string {
  return [day, time].filter(Boolean).join(" at ");
}

function visitKo(shown: Shown<VisitSlots>): string {
  return [shown.number, shown.doctor, whenKo(shown)].filter(Boolean).join(" ");
}

function visitEn(shown: Shown<VisitSlots>): string {
  return [shown.number, shown.doctor, whenEn(shown)].filter(Boolean).join(", ");
}

export default createVisitService(new Practice());
