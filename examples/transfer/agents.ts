import { conversationalAgent, type Agent } from "dure";
import { slotAgents } from "dure/slots";
import { z } from "zod";
import { PROMPTS } from "./prompts.ts";
import { SLOTS } from "./slots.ts";

/**
 * The agents of the transfer service. They classify, extract and word; every decision about money
 * is code.
 */
export const AGENTS = {
  intent: conversationalAgent({
    name: "intent",
    prompt: PROMPTS.intent,
    schema: z.object({ scenario: z.enum(["TRANSFER", "GENERAL"]) }),
    card: { temperature: 0, policy: { maxAttempts: 2, timeoutSec: 20 } },
  }),
  ...slotAgents(SLOTS, PROMPTS),
} as const satisfies Record<string, Agent>;
