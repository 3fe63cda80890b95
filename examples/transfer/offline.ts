import { offlineModel, type ModelRequest, type OfflineAnswer } from "dure";
import { formFactsIn, type FormFacts } from "dure/slots";
import { offlineIntent, offlineReply, offlineSlots } from "./offline-model.ts";
import { isPrompt, PROMPTS } from "./prompts.ts";

/**
 * Answers as the model of the transfer agents would, from the same request; undefined when another
 * agent is asked.
 */
export function answerTransfer(request: ModelRequest): OfflineAnswer | undefined {
  const { system = "" } = request;
  const text = request.messages.findLast((message) => message.role === "user")?.text ?? "";
  if (isPrompt(system, PROMPTS.intent)) {
    return { object: { scenario: offlineIntent(text).scenario } };
  }
  if (isPrompt(system, PROMPTS.slots)) {
    const { stage, asked_slot: askedSlot } = factsOf(system);
    return { object: JSON.parse(JSON.stringify(offlineSlots(text, { stage, askedSlot }))) };
  }
  if (isPrompt(system, PROMPTS.interaction)) {
    const { locale, stage, slots, slot_errors: slotErrors, progress } = factsOf(system);
    const message = offlineReply({ text, locale, stage, slots, slotErrors, progress });
    return { object: { action: stage === "FILLING" ? "ask" : "chat", message } };
  }
  return undefined;
}

/** The transfer service alone, without a key: `offline:transfer`. */
export const transferModel = offlineModel("transfer", (request) => answerTransfer(request) ?? "");

function factsOf(system: string): FormFacts {
  const facts = formFactsIn(system);
  if (facts) return facts;
  throw new Error(
    "The request has no context block; the transfer flow gives one to every agent but intent.",
  );
}
