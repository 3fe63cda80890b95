import type { Locale } from "../kernel/locales.ts";
import { z } from "zod";
import { examplesText, fillPrompt } from "../models/prompt-files.ts";

/** One slot as the model is told of it. */
export interface PromptSlot {
  readonly name: string;
  /** What the slot means and how it is said, in the prompt's language. */
  readonly description: string;
  readonly required?: boolean | undefined;
}

/** A message and how it is read. */
export interface SlotExample {
  readonly said: string;
  readonly reading: SlotReading;
}

/** What the model is told about the moment. */
export interface SlotPromptFacts {
  readonly language: Locale;
  /** ISO date and time in the session's zone, with the weekday. See `promptMoment`. */
  readonly today: string;
  readonly zone: string;
  readonly slots: readonly PromptSlot[];
  /** Values as they were understood and shown. */
  readonly known: Readonly<Record<string, unknown>>;
  /** Values of entries that ended in this session, the newest first: "as last time". */
  readonly finished?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** What the person was asked last, word for word; absent: nothing. */
  readonly lastQuestion?: string | undefined;
  /** At most {@link MAX_EXAMPLES} are used. */
  readonly examples?: readonly SlotExample[] | undefined;
}

/** Examples in one prompt. */
export const MAX_EXAMPLES = 4;

const NOTHING = { ko: "없음", en: "none" } as const satisfies Record<Locale, string>;
const REQUIRED = { ko: "필수", en: "required" } as const satisfies Record<Locale, string>;

/**
 * The system text for reading slots out of a message. Pure.
 * @param template `slots.<language>.md`, or a user's text in its place.
 */
export function slotPrompt(facts: SlotPromptFacts, template: string): string {
  const { language, today, zone, slots, known, lastQuestion, examples = [] } = facts;
  const { finished = [] } = facts;
  const nothing = NOTHING[language];
  const lines = slots.map((slot) => slotLine(slot, language));
  const shown = examples.slice(0, MAX_EXAMPLES).map(({ said, reading }) => ({
    said,
    answer: reading,
  }));

  return fillPrompt(template, {
    today,
    zone,
    slots: lines.join("\n"),
    known: Object.keys(known).length === 0 ? nothing : JSON.stringify(known),
    finished: finished.length === 0 ? nothing : JSON.stringify(finished),
    question: lastQuestion ?? nothing,
    examples: examplesText(shown, language),
  });
}

function slotLine({ name, description, required }: PromptSlot, language: Locale): string {
  return `- ${name}${required ? ` (${REQUIRED[language]})` : ""}: ${description}`;
}

/** Things in one message; a longer list is refused, and the person is asked to split it. */
const MAX_ITEMS = 20;
/** Changes of one thing: each slot of a large form twice. */
const MAX_CHANGES = 40;
/** Characters of a value or a quote. */
const MAX_VALUE = 500;

const MESSAGE_KINDS = [
  "details",
  "question",
  "confirm",
  "refuse",
  "cancel",
  "cancel_all",
  "unsupported",
  "other",
] as const;

/**
 * What a message is, as a model sees it. `refuse` does not want what was asked or said. A model's
 * `confirm` is never a yes: it asks the question again, where code hears no plain one.
 */
export type MessageKind = (typeof MESSAGE_KINDS)[number];

const MOVES = ["set", "correct", "add", "remove", "swap"] as const;

/**
 * What is done with values: filled in, put in the place of others, added as a further entry, taken
 * out, or exchanged between two entries.
 */
export type Move = (typeof MOVES)[number];

/**
 * The shape that the model answers in. No member may be left out, so that every provider's strict
 * mode takes it; the forgiving defaults are for the other providers.
 */
export function slotReadingSchema<const Names extends readonly [string, ...string[]]>(
  names: Names,
) {
  const slot = z.enum(names);
  const change = z.object({
    slot,
    value: z.union([z.string().max(MAX_VALUE), z.number(), z.boolean()]),
    /** The person's words, so that code can check the value. */
    quote: z.string().max(MAX_VALUE).default(""),
  });

  return z.object({
    kind: z.enum(MESSAGE_KINDS),
    items: z
      .array(
        z.object({
          move: z.enum(MOVES).default("set"),
          /** Whose entry it is about, where it is not the current one. */
          entry: z.string().max(MAX_VALUE).default(""),
          changes: z.array(change).max(MAX_CHANGES),
        }),
      )
      .max(MAX_ITEMS)
      .default([]),
    clear: z.array(slot).max(MAX_CHANGES).default([]),
    note: z.string().max(MAX_VALUE).default(""),
  });
}

/** What a model reads out of one message: the schema's output, with names that are plain texts. */
export interface SlotReading {
  readonly kind: MessageKind;
  /** One per thing: a message may name several. */
  readonly items: readonly SlotItem[];
  readonly clear: readonly string[];
  readonly note: string;
}

/** What a model reads of one thing. */
export interface SlotItem {
  /** Default `set`. */
  readonly move?: Move | undefined;
  /** Default: the current entry, or the one that its own values name. */
  readonly entry?: string | undefined;
  readonly changes: readonly SlotChange[];
}

/** One value, and the words that it stands in; of `remove`, the value is not looked at. */
export interface SlotChange {
  readonly slot: string;
  readonly value: string | number | boolean;
  readonly quote: string;
}
