import { readFileSync } from "node:fs";
import { z } from "zod";
import type { SlotReading } from "../../src/slots/prompts.ts";

const value = z.union([z.string(), z.number(), z.boolean()]);
const itemSchema = z.strictObject({
  move: z.enum(["set", "correct", "add", "remove", "swap"]).default("set"),
  entry: z.string().default(""),
  changes: z
    .array(z.union([z.tuple([z.string(), value]), z.tuple([z.string(), value, z.string()])]))
    .default([]),
});

const caseSchema = z.strictObject({
  in: z.enum(["transfer", "card", "appointment"]),
  lang: z.enum(["ko", "en"]),
  /** What stands before the message. */
  at: z.enum(["empty", "target", "filling", "ready", "batch", "cancelling", "receipt"]),
  say: z.string().min(1),
  /** What a competent model reads. */
  model: z.strictObject({
    kind: z.enum([
      ...(["details", "question", "confirm", "refuse"] as const),
      ...(["cancel", "cancel_all", "unsupported", "other"] as const),
    ]),
    items: z.array(itemSchema).default([]),
    clear: z.array(z.string()).default([]),
    note: z.string().optional(),
  }),
  /** What must follow: exactly one of `entries`, `asks` and `ends`. */
  want: z.strictObject({
    /** All entries after the message, the current one first. */
    entries: z.array(z.record(z.string(), value)).optional(),
    /** Slots that are shown with the words that they follow from. */
    derived: z.array(z.string()).optional(),
    asks: z.enum(["value", "person", "again"]).optional(),
    ends: z.enum(["yes", "left", "all-left", "nothing"]).optional(),
  }),
});

/** A message, where it is said, what a competent model reads in it, and what must follow. */
export type Case = z.output<typeof caseSchema>;

/** Throws with the line where one is no case. */
export function readCases(file: string): readonly Case[] {
  const text = readFileSync(new URL(`by-hand/${file}.jsonl`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, place) => {
      const read = caseSchema.safeParse(JSON.parse(line));
      if (read.success) return read.data;
      throw new Error(`${file}.jsonl, line ${place + 1}: ${z.prettifyError(read.error)}`);
    });
}

/** The competent model's reading, in the shape that a model answers in. */
export function readingOf({ model }: Case): SlotReading {
  return {
    kind: model.kind,
    items: model.items.map(({ move, entry, changes }) => ({
      move,
      entry,
      changes: changes.map(([slot, said, quote = ""]) => ({ slot, value: said, quote })),
    })),
    clear: model.clear,
    note: "",
  };
}
