import { z } from "zod";
import { defineState, type StateDefinition } from "../engine/turn/state.ts";
import type { FormTexts, SlotSpecs } from "./form.ts";
import { NEXT_STAGES, STAGES, TERMINAL_STAGES } from "./stages.ts";

/** Values as they are stored, by slot. */
export type SlotValues = Readonly<Record<string, string | number>>;

/** What is wrong with a slot, by slot; `_unclear` is about the whole message. */
export type SlotErrors = Readonly<Record<string, string>>;

/**
 * Errors of a message that is about no slot, and `UNSURE`: a value that was not plainly said. Each
 * form's texts have words for them.
 */
export const MESSAGE_ERRORS = ["UNREADABLE", "UNKNOWN_SLOT", "TOO_MANY_TASKS", "UNSURE"] as const;

/** An entry that waits: checked when it was said, and again when it becomes the current one. */
export interface FormTask {
  readonly slots: SlotValues;
  readonly slot_errors: SlotErrors;
}

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
    /** Turns that ended in FILLING since the current entry began. */
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
  names: Readonly<Record<"ko" | "en", FormTexts["slotNames"]>>,
): StateDefinition<FormState> {
  const schema = stateSchema(slots);
  return defineState({
    schema,
    initial: () => schema.parse({}),
    stages: { initial: "INIT", terminal: TERMINAL_STAGES, transitions: NEXT_STAGES },
    slots: Object.entries(slots).map(([name, { required, type }]) => ({
      name,
      label: names.ko[name] ?? name,
      labels: { ko: names.ko[name] ?? name, en: names.en[name] ?? name },
      required,
      type: type === "recurrence" ? "text" : type,
    })),
  });
}

function stateSchema(slots: SlotSpecs): z.ZodType<FormState> {
  const value = z.union([z.string(), z.number()]);
  const values = z.strictObject(
    Object.fromEntries(Object.keys(slots).map((name) => [name, value.exactOptional()])),
  ) as unknown as z.ZodType<SlotValues>;
  const errors = z.partialRecord(z.enum([...Object.keys(slots), "_unclear"]), z.string());
  const slotErrors = errors as unknown as z.ZodType<SlotErrors>;
  const result = z.looseObject({
    index: z.int().min(1),
    outcome: z.enum(["done", "cancelled", "failed", "unsupported"]),
    slots: values,
    code: z.string().exactOptional(),
  });
  return z.strictObject({
    stage: z.enum(STAGES).default("INIT"),
    slots: values.default({}),
    tasks: z.array(z.strictObject({ slots: values, slot_errors: slotErrors })).default([]),
    index: z.int().min(1).default(1),
    total: z.int().min(1).default(1),
    results: z.array(result).default([]),
    meta: z
      .strictObject({
        slot_errors: slotErrors.default({}),
        fill_turns: z.int().min(0).default(0),
        flow_id: z.string().default(""),
        confirmed: z.string().default(""),
        awaiting_continue: z.boolean().default(false),
      })
      .prefault({}),
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
    meta: { slot_errors: {}, fill_turns: 0, flow_id: "", confirmed: "", awaiting_continue: false },
  };
}
