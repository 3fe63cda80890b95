import { offlineModel, type OfflineModel } from "dure";
import { formFactsIn, type FormFacts } from "dure/slots";
import { PROMPTS } from "./service.ts";
import type { RoomSlots } from "./slots.ts";
import { TEXTS } from "./texts.ts";

/** Stands in for a model: reads bookings by patterns, in Korean and English. */
export const roomModel: OfflineModel = offlineModel("meeting-room", ({ system = "", messages }) => {
  const text = messages.findLast((message) => message.role === "user")?.text ?? "";
  if (system.startsWith(PROMPTS.intent)) {
    return { object: { scenario: /회의실|예약|book|room/iu.test(text) ? "BOOKING" : "GENERAL" } };
  }
  const facts = formFactsIn(system);
  if (!facts) return "";
  if (facts.agent === "slots") {
    const changes = changesIn(text, facts);
    return { object: { kind: changes.length > 0 ? "details" : "other", items: [{ changes }] } };
  }
  return { object: { action: "ask", message: wordsFor(facts) } };
});

const VALUES = {
  room: /[소대]회의실|작은|큰|small room|large room/iu,
  day: /오늘|내일|모레|\d{1,2}월 ?\d{1,2}일|today|tomorrow/iu,
  hour: /(?:오전|오후)? ?\d{1,2}시|\d{1,2} ?(?:am|pm)/iu,
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

function wordsFor({ locale, stage, problems, asked_slot: asked }: FormFacts): string {
  const texts = TEXTS[locale];
  if (stage !== "FILLING" || asked === undefined) return texts.noAnswer;
  return [...problems, texts.askSlot(asked, {})].join(" ");
}
