import { LOCALES } from "../kernel/locales.ts";
import { z } from "zod";
import { conversationalAgent, type Agent, type PromptsByLanguage } from "../engine/agent/agent.ts";
import { DureError } from "../kernel/errors.ts";
import { specsOf } from "./deeds.ts";
import type { SlotForm, SlotSpecs } from "./form.ts";
import { slotReadingSchema } from "./prompts.ts";

/**
 * The two agents of a form: one reads, one answers what is asked on the way. What they may do is kept
 * by the form's code. The reader's prompt is `prompts/slots.<language>.md`, filled with the form's
 * slots. A form with several deeds gives both: `slotAgents({ slots, deeds }, prompts)`.
 */
export function slotAgents(
  // oxlint-disable-next-line typescript/no-explicit-any -- the deeds are asked for their names alone
  of: SlotSpecs | Pick<SlotForm<any>, "slots" | "deeds">,
  prompts: { readonly interaction: string | PromptsByLanguage },
): { readonly slots: Agent; readonly interaction: Agent } {
  const specs = isForm(of) ? specsOf(of) : of;
  return {
    slots: conversationalAgent({
      name: "slots",
      schema: readingSchemaOf(specs),
      card: { temperature: 0, policy: { maxAttempts: 2, timeoutSec: 30 } },
    }),
    interaction: conversationalAgent({
      name: "interaction",
      prompt: prompts.interaction,
      schema: z.object({
        action: z.enum(["ask", "chat"]),
        message: z.string().trim().min(1).max(2_000),
      }),
      card: { policy: { maxAttempts: 2, timeoutSec: 30 } },
    }),
  };
}

/** A slot has a schema; the two parts of a form have none. */
function isForm(
  of: SlotSpecs | Pick<SlotForm, "slots" | "deeds">,
): of is Pick<SlotForm, "slots" | "deeds"> {
  const { slots } = of;
  return typeof slots === "object" && !("schema" in slots && "parse" in slots);
}

/** The shape of a reading of these slots. */
export function readingSchemaOf(specs: SlotSpecs): ReturnType<typeof slotReadingSchema> {
  const [first, ...others] = Object.keys(specs);
  if (first !== undefined) return slotReadingSchema([first, ...others]);
  throw new DureError("SLOTS_MISSING", "A form needs at least one slot.", { class: "input" });
}

const knownSlots = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** What the agents of a form know about the moment: the JSON of their context block. */
const factsSchema = z.object({
  /** Which of the two is asked. */
  agent: z.enum(["slots", "interaction"]),
  locale: z.enum(LOCALES),
  today: z.string(),
  /** `ANSWERING`: a question on the way is answered, and no slot is asked for. */
  stage: z.string(),
  slots: knownSlots,
  /** Entries behind the current one. Absent: none. */
  waiting: z.array(knownSlots).optional(),
  slot_errors: z.record(z.string(), z.string()),
  /** The same errors in words. */
  problems: z.array(z.string()),
  missing: z.array(z.string()),
  asked_slot: z.string().optional(),
  progress: z.object({ index: z.int(), total: z.int() }),
});
/**
 * What the agents of a form are told before each call. `today` is an ISO date; `asked_slot` is
 * absent where no slot was asked for.
 */
export type FormFacts = z.output<typeof factsSchema>;

/** The block as JSON. A `<` in what a person wrote cannot end the block that it stands in. */
export function contextBlock(facts: FormFacts): string {
  return JSON.stringify(facts).replaceAll("<", "\\u003c");
}

/** The facts that stand in an agent's system text; for a model that is a function. */
export function formFactsIn(system: string): FormFacts | undefined {
  const block = /<context>\n(.*)\n<\/context>/.exec(system)?.[1];
  return block === undefined ? undefined : factsSchema.parse(JSON.parse(block));
}
