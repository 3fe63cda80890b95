import { offlineModel, type ModelRequest, type OfflineAnswer } from "dure";
import { formFactsIn } from "dure/slots";
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
  const { locale, stage, slots, waiting, slot_errors: slotErrors, asked_slot: askedSlot } = facts;
  if (agent === "slots") {
    const reading = offlineSlots(text, { stage, slots, waiting, askedSlot });
    return { object: JSON.parse(JSON.stringify(reading)) };
  }
  const message = offlineReply({ text, locale, stage, slotErrors });
  return { object: { action: "chat", message } };
}

/** The transfer service alone, without a key: `offline:transfer`. */
export const transferModel = offlineModel("transfer", (request) => answerTransfer(request) ?? "");
