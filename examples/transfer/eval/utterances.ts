import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

/** What an utterance is about; `people`, `amount`, `date` and `recurrence` are the money classes. */
export const CLASSES = [
  "people",
  "amount",
  "date",
  "recurrence",
  "yes",
  "no",
  "cancel-one",
  "cancel-all",
  "change",
  "question",
  "other",
  "unsure",
] as const;

const paymentSchema = z.strictObject({ to: z.string(), won: z.int().optional() });
export type PaymentLabel = z.output<typeof paymentSchema>;

const utteranceSchema = z.strictObject({
  text: z.string().min(1),
  class: z.enum(CLASSES),
  /** INIT: nothing is open. FILLING: `asked` was asked for. READY: the confirmation was asked. */
  stage: z.enum(["INIT", "FILLING", "READY"]),
  asked: z.enum(["target", "amount", "date", "confirm"]).optional(),
  want: z
    .strictObject({
      payments: z.array(paymentSchema).optional(),
      to: z.string().optional(),
      won: z.int().optional(),
      /** Seen from {@link TODAY}. */
      day: z.iso.date().optional(),
      /** It must be asked what is meant, or that it is meant. */
      ask: z.boolean().optional(),
      /** It must be said that this cannot be done. */
      unsupported: z.enum(["recurring", "foreign"]).optional(),
    })
    .default({}),
});
export type Utterance = z.output<typeof utteranceSchema>;
export type Label = Utterance["class"];

/** The Wednesday on which all of them were said, at 10:00 in Seoul. */
export const TODAY = "2026-11-18";
/** What READY had asked: 엄마에게 50,000원을 보낼까요? */
export const SHOWN = { to: "엄마", won: 50_000 } as const;

/** @throws SyntaxError or ZodError, which name the fault, when a line is not an utterance. */
export async function readUtterances(): Promise<readonly Utterance[]> {
  const file = path.join(import.meta.dirname, "../utterances.jsonl");
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => utteranceSchema.parse(JSON.parse(line)));
}
