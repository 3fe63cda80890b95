import { offlineModel, type ModelRequest, type OfflineAnswer, type OfflineModel } from "dure";
import { formFactsIn, type FormFacts } from "dure/slots";
import { PROMPTS } from "./service.ts";
import type { RoomSlots } from "./slots.ts";
import { TEXTS } from "./texts.ts";

/**
 * Answers as the model of the room's agents would: reads bookings by patterns, in Korean and
 * English. Undefined when another agent is asked.
 */
export function answerRooms({ system = "", messages }: ModelRequest): OfflineAnswer | undefined {
  const text = messages.findLast((message) => message.role === "user")?.text ?? "";
  if (system.startsWith(PROMPTS.intent)) {
    return { object: { scenario: /회의실|예약|book|room/iu.test(text) ? "BOOKING" : "GENERAL" } };
  }
  const facts = formFactsIn(system);
  if (!facts || !isAboutRooms(facts)) return undefined;
  if (facts.agent === "slots") {
    const changes = changesIn(text, facts);
    return { object: { kind: changes.length > 0 ? "details" : "other", items: [{ changes }] } };
  }
  return { object: { action: "chat", message: TEXTS[facts.locale].noAnswer } };
}

/** A required slot is either known or missing. */
function isAboutRooms({ slots, missing }: FormFacts): boolean {
  return "room" in slots || missing.includes("room");
}

/** The meeting rooms alone, without a key: `offline:meeting-room`. */
export const roomModel: OfflineModel = offlineModel(
  "meeting-room",
  (request) => answerRooms(request) ?? "",
);

const VALUES = {
  room: /[소대]회의실|작은|큰|small room|large room/iu,
  day: /오늘|내일|모레|\d{1,2}월 ?\d{1,2}일|today|tomorrow/iu,
  time: /(?:오전|오후)? ?\d{1,2}시|\d{1,2} ?(?:am|pm)/iu,
  people: /\d{1,2} ?(?:명|분|people)|(?<=for )\d{1,2}/iu,
} as const satisfies Record<keyof RoomSlots, RegExp>;

type Change = Readonly<Record<"slot" | "value" | "quote", string>>;

function changesIn(text: string, { asked_slot: asked }: FormFacts): Change[] {
  const found = Object.entries(VALUES).flatMap(([slot, pattern]) => {
    const value = pattern.exec(text)?.[0];
    return value === undefined ? [] : [{ slot, value, quote: value }];
  });
  if (found.length > 0 || asked === undefined || !/^\d+$/.test(text.trim())) return found;
  return [{ slot: asked, value: text.trim(), quote: text.trim() }];
}
