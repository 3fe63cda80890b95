import { conversationalAgent, type Agent } from "dure";
import { todayIn, type Locale } from "dure/slots";
import { z } from "zod";
import { MESSAGES, type Progress } from "./messages.ts";
import { askedSlotOf } from "./offline-model.ts";
import { PROMPTS } from "./prompts.ts";
import { missingSlots } from "./slots.ts";
import { STAGES } from "./stages.ts";
import {
  SLOT_ERROR_KEYS,
  SLOT_NAMES,
  slotsSchema,
  type SlotErrorKey,
  type TransferState,
} from "./state.ts";

/**
 * The agents of the transfer service. They classify, extract and word; every decision about money
 * is code.
 */
export const AGENTS = {
  intent: conversationalAgent({
    name: "intent",
    prompt: PROMPTS.intent,
    schema: z.object({ scenario: z.enum(["TRANSFER", "GENERAL"]) }),
    card: { policy: { maxAttempts: 2, timeoutSec: 20 } },
  }),
  slots: conversationalAgent({
    name: "slots",
    prompt: PROMPTS.slots,
    // Only the shape that the model is asked for; `applyDelta` judges every operation and value of
    // it.
    schema: z.object({
      operations: z.array(
        z.object({
          op: z.enum(["set", "clear", "confirm", "continue_flow", "cancel_flow"]),
          slot: z.string().optional(),
          value: rawValue().optional(),
        }),
      ),
      tasks: z
        .array(
          z.object(Object.fromEntries(SLOT_NAMES.map((slot) => [slot, rawValue().optional()]))),
        )
        .optional(),
    }),
    card: { policy: { maxAttempts: 2, timeoutSec: 30 } },
  }),
  interaction: conversationalAgent({
    name: "interaction",
    prompt: PROMPTS.interaction,
    schema: z.object({
      action: z.enum(["ask", "chat"]),
      message: z.string().trim().min(1).max(2_000),
    }),
    card: { policy: { maxAttempts: 2, timeoutSec: 30 } },
  }),
} as const satisfies Record<string, Agent>;

function rawValue() {
  return z.union([z.string(), z.number()]);
}

/**
 * What the slot agent and the interaction agent know about the moment. Read back by the offline
 * model.
 */
export const contextSchema = z.object({
  locale: z.enum(["ko", "en"]),
  today: z.string(),
  stage: z.enum(STAGES),
  slots: slotsSchema,
  slot_errors: z.partialRecord(z.enum([...SLOT_NAMES, "_unclear"]), z.enum(SLOT_ERROR_KEYS)),
  /** The same errors in words. */
  problems: z.array(z.string()),
  missing: z.array(z.enum(SLOT_NAMES)),
  asked_slot: z.enum(SLOT_NAMES).optional(),
  progress: z.object({ index: z.int(), total: z.int() }),
});
export type AgentFacts = z.output<typeof contextSchema>;

/**
 * The context block, as JSON. A `<` in what a person wrote cannot end the block that it stands in.
 */
export function contextBlock(
  state: TransferState,
  { locale, timeZone, at }: { locale: Locale; timeZone: string; at: number },
): string {
  const { stage, slots, meta } = state;
  const asked = stage === "FILLING" ? askedSlotOf(slots, meta.slot_errors) : undefined;
  const facts: AgentFacts = {
    locale,
    today: todayIn(timeZone, at),
    stage,
    slots,
    slot_errors: meta.slot_errors,
    problems: Object.values(meta.slot_errors).map((error: SlotErrorKey) =>
      MESSAGES[locale].slotError(error),
    ),
    missing: missingSlots(slots),
    asked_slot: asked,
    progress: progressOf(state),
  };
  return JSON.stringify(facts).replaceAll("<", "\\u003c");
}

export function progressOf({ index, total }: Pick<TransferState, "index" | "total">): Progress {
  return { index, total };
}
