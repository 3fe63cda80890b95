import { offlineModel, type ModelRequest, type OfflineAnswer } from "dure";
import { findMoney, formFactsIn, parseMoney, type Delta, type SlotReading } from "dure/slots";
import { offlineIntent, offlineReply, offlineSlots } from "./offline-model.ts";
import { agentAsked } from "./prompts.ts";

/**
 * Answers as the model of the transfer agents would, from the same request; undefined when another
 * agent is asked.
 */
export function answerTransfer(request: ModelRequest): OfflineAnswer | undefined {
  const { system = "" } = request;
  const text = request.messages.findLast((message) => message.role === "user")?.text ?? "";
  const agent = agentAsked(system);
  if (agent === "intent") return { object: { scenario: offlineIntent(text).scenario } };
  const facts = formFactsIn(system);
  if (!facts) return undefined;
  const { locale, stage, slots, slot_errors: slotErrors, progress, asked_slot: askedSlot } = facts;
  if (agent === "slots") {
    const reading = readingOf(offlineSlots(text, { stage, askedSlot }), text);
    return { object: JSON.parse(JSON.stringify(reading)) };
  }
  const message = offlineReply({ text, locale, stage, slots, slotErrors, progress });
  return { object: { action: stage === "FILLING" ? "ask" : "chat", message } };
}

/** A delta as the model's reading: each value with the words that it stands in. */
function readingOf({ operations, tasks }: Delta, text: string): SlotReading {
  const changesOf = (raw: Readonly<Record<string, unknown>>): Change[] =>
    Object.entries(raw).flatMap(([slot, value]) =>
      value === undefined ? [] : [{ slot, value: value as string, quote: quoteOf(value, text) }],
    );
  const sets = Object.fromEntries(
    operations.flatMap((one) => (one.op === "set" ? [[one.slot, one.value]] : [])),
  );
  const items = tasks ?? (Object.keys(sets).length > 0 ? [sets] : []);
  return {
    kind: items.length > 0 || operations.length > 0 ? "details" : "other",
    items: items.map((raw) => ({ changes: changesOf(raw) })),
    clear: operations.flatMap((one) => (one.op === "clear" ? [one.slot] : [])),
    note: "",
  };
}

type Change = SlotReading["items"][number]["changes"][number];

function quoteOf(value: unknown, text: string): string {
  if (typeof value !== "string" || text.includes(value)) return String(value);
  const sum = parseMoney(value);
  const said = findMoney(text).find((one) => one.ok && sum.ok && one.value === sum.value);
  return said?.words ?? "";
}

/** The transfer service alone, without a key: `offline:transfer`. */
export const transferModel = offlineModel("transfer", (request) => answerTransfer(request) ?? "");
