import type { Locale } from "../kernel/locales.ts";
import { z } from "zod";
import { defineState, type SlotDescription, type StateDefinition } from "../engine/turn/state.ts";
import type { FormTexts, SlotSpec, SlotSpecs, SlotValue } from "./form.ts";
import { NEXT_STAGES, STAGES, TERMINAL_STAGES } from "./stages.ts";

/** Values as they are stored, by slot. */
export type SlotValues = Readonly<Record<string, SlotValue>>;

/** What is wrong with a slot, by slot; `_unclear` is about the whole message. */
export type SlotErrors = Readonly<Record<string, string>>;

/**
 * Errors of a message that is about no slot, and `UNSURE`: a value that was not plainly said. Each
 * form's texts have words for them.
 */
export const MESSAGE_ERRORS = ["UNREADABLE", "UNKNOWN_SLOT", "TOO_MANY_TASKS", "UNSURE"] as const;

/** What a value may be, of which it must be asked; `note` says how it follows from the words. */
export interface DoubtOption {
  readonly value: SlotValue;
  readonly note?: string | undefined;
}

/** By slot: which of these is meant. Empty: nothing was read. */
export type OpenDoubts = Readonly<Record<string, readonly DoubtOption[]>>;

/** What is known of one entry. */
export interface FormEntry {
  readonly slots: SlotValues;
  readonly slot_errors: SlotErrors;
  /** By slot: how a value follows from words that do not say it, as it is shown. */
  readonly derived: Readonly<Record<string, string>>;
  readonly doubts: OpenDoubts;
  /** Slots of `askOnce` that the person leaves empty: they are not asked for again. */
  readonly declined?: readonly string[] | undefined;
}

/** An entry that waits: checked when it was said, and again when it becomes the current one. */
export type FormTask = Pick<FormEntry, "slots" | "slot_errors"> & Partial<FormEntry>;

/** What is asked before a form goes on, with two buttons. */
export type OpenChoice =
  /** Whether another entry stands in the place of the current one, or behind it. */
  | { readonly about: "change-or-add"; readonly entry: FormEntry; readonly other: string }
  /** Whether people who were named besides get an entry too. */
  | { readonly about: "passed-over"; readonly names: readonly string[] };

/** How one entry of a form ended. */
export interface FormResult<Values = SlotValues> {
  /** 1-based place among the entries. */
  readonly index: number;
  readonly outcome: "done" | "cancelled" | "failed" | "unsupported";
  readonly slots: Values;
  /** Why it failed; only when failed. */
  readonly code?: string;
  /** What the outside gave; see `Deed.details`. */
  readonly [detail: string]: unknown;
}

/** The whole state of a form; `{}` is the state before the first message. */
export interface FormState {
  readonly stage: (typeof STAGES)[number];
  readonly slots: SlotValues;
  /** What waits behind the current entry, in the order in which it was said. */
  readonly tasks: readonly FormTask[];
  /** 1-based place of the current entry among `total`. */
  readonly index: number;
  readonly total: number;
  readonly results: readonly FormResult[];
  readonly meta: {
    readonly slot_errors: SlotErrors;
    /** Of the current entry; see `Entry`. */
    readonly derived: FormEntry["derived"];
    readonly doubts: OpenDoubts;
    readonly declined?: FormEntry["declined"];
    readonly choice?: OpenChoice | undefined;
    /** Turns in a row that ended in FILLING and brought nothing new. */
    readonly fill_turns: number;
    /** One run from the first word to the reset; "" before it. */
    readonly flow_id: string;
    /** The question that was answered yes: the effect's key is made of it. "" before it. */
    readonly confirmed: string;
    /** After a failure: the next entry is loaded, and the person has not yet said to go on. */
    readonly awaiting_continue: boolean;
  };
}

/** The state of a form, for `defineService({ state })`. */
export function formStateOf(
  slots: SlotSpecs,
  names: Readonly<Partial<Record<Locale, FormTexts["slotNames"] | undefined>>>,
): StateDefinition<FormState> {
  const schema = stateSchema(slots);
  const labelIn = (language: Locale, name: string): string =>
    names[language]?.[name] ?? names.ko?.[name] ?? names.en?.[name] ?? name;
  return defineState({
    schema,
    initial: () => schema.parse({}),
    stages: { initial: "INIT", terminal: TERMINAL_STAGES, transitions: NEXT_STAGES },
    slots: Object.entries(slots).map(([name, spec]) => ({
      name,
      label: labelIn("ko", name),
      labels: { ko: labelIn("ko", name), en: labelIn("en", name) },
      required: spec.required,
      type: spec.type,
      options: choicesOf(spec),
    })),
  });
}

/** The few values that a slot takes, as people read them; undefined where it takes others. */
function choicesOf(spec: SlotSpec): SlotDescription["options"] {
  const values = spec.type === "boolean" ? [true, false] : spec.options?.map(({ value }) => value);
  if (!values || !spec.show) return undefined;
  return values.map((value) => {
    const labels = { ko: spec.show!(value, "ko"), en: spec.show!(value, "en") };
    return { value: String(value), label: labels.ko, labels };
  });
}

function stateSchema(slots: SlotSpecs): z.ZodType<FormState> {
  const value = z.union([z.string(), z.number(), z.boolean()]);
  const names = Object.keys(slots);
  const values = z.strictObject(
    Object.fromEntries(names.map((name) => [name, value.exactOptional()])),
  ) as unknown as z.ZodType<SlotValues>;
  const errors = z.partialRecord(z.enum([...names, "_unclear"]), z.string());
  const slotErrors = errors as unknown as z.ZodType<SlotErrors>;
  const derived = z.record(z.string(), z.string());
  const option = z.strictObject({ value, note: z.string().exactOptional() });
  const doubts = z.record(z.string(), z.array(option));
  const declined = z.array(z.string()).optional();
  const entry = z.strictObject({
    slots: values,
    slot_errors: slotErrors,
    derived,
    doubts,
    declined,
  });
  const task = z.looseObject({
    slots: values,
    slot_errors: slotErrors,
    derived: derived.exactOptional(),
    doubts: doubts.exactOptional(),
    declined,
  });
  const choice = z.discriminatedUnion("about", [
    z.strictObject({ about: z.literal("change-or-add"), entry, other: z.string() }),
    z.strictObject({ about: z.literal("passed-over"), names: z.array(z.string()) }),
  ]);
  // Loose: an older process reads what a newer one has stored beside what it knows.
  const meta = z.looseObject({
    slot_errors: slotErrors.default({}),
    derived: derived.default({}),
    doubts: doubts.default({}),
    declined,
    choice: choice.exactOptional(),
    fill_turns: z.int().min(0).default(0),
    flow_id: z.string().default(""),
    confirmed: z.string().default(""),
    awaiting_continue: z.boolean().default(false),
  });
  return z.strictObject({
    stage: z.enum(STAGES).default("INIT"),
    slots: values.default({}),
    tasks: z.array(task).default([]),
    index: z.int().min(1).default(1),
    total: z.int().min(1).default(1),
    results: z.array(resultSchema(values)).default([]),
    meta: meta.prefault({}),
  }) as unknown as z.ZodType<FormState>;
}

function resultSchema(values: z.ZodType<SlotValues>): z.ZodType {
  return z.looseObject({
    index: z.int().min(1),
    outcome: z.enum(["done", "cancelled", "failed", "unsupported"]),
    slots: values,
    code: z.string().exactOptional(),
  });
}

/** A form before its first word. */
export function emptyForm(): FormState {
  return {
    stage: "INIT",
    slots: {},
    tasks: [],
    index: 1,
    total: 1,
    results: [],
    meta: {
      slot_errors: {},
      derived: {},
      doubts: {},
      fill_turns: 0,
      flow_id: "",
      confirmed: "",
      awaiting_continue: false,
    },
  };
}
