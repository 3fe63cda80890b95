import { conversationalAgent, defineService, type Service } from "dure";
import { slotAgents, slotFlow } from "dure/slots";
import { z } from "zod";
import { bookRoomTool, Calendar, type Booking } from "./calendar.ts";
import { SLOTS, type RoomSlots } from "./slots.ts";
import { TEXTS } from "./texts.ts";

export const PROMPTS = {
  intent: `Does the person want to book a meeting room? Answer with JSON:
{"scenario": "BOOKING"} or {"scenario": "GENERAL"}`,
  interaction: `You help with meeting rooms, in the language of the context's locale. Answer what was
asked in a sentence or two. Never say that a room was booked.
Answer with JSON: {"action": "chat", "message": "…"}`,
} as const;

/** Books a meeting room, in Korean and English: a second use of the slots that the transfer fills. */
export function createRoomService(calendar: Calendar): Service {
  return defineService({
    name: "meeting-room",
    title: "회의실",
    description: "회의실 예약: 방, 날짜, 시간, 인원을 묻고 확인을 받아 한 번만 예약해요.",
    examples: ["내일 오후 3시에 소회의실 5명 예약해줘"],
    translations: {
      en: {
        title: "Meeting rooms",
        description: "Books a room: asks for room, day, time and people, and books it once.",
        examples: ["Book the large room tomorrow at 3pm for 8"],
      },
    },
    agents: {
      intent: conversationalAgent({
        name: "intent",
        prompt: PROMPTS.intent,
        schema: z.object({ scenario: z.enum(["BOOKING", "GENERAL"]) }),
      }),
      ...slotAgents(SLOTS, PROMPTS),
    },
    ...slotFlow<RoomSlots>({
      flow: "BOOKING",
      slots: SLOTS,
      deed: {
        call: "book-room",
        tool: bookRoomTool(calendar),
        input: (slots): Booking => slots as Required<RoomSlots>, // whole: a yes was said to it
        details: () => ({}),
      },
      texts: TEXTS,
    }),
  });
}

export default createRoomService(new Calendar());
