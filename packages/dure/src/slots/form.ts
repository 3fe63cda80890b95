import type { z } from "zod";
import type { EffectOutcome } from "../engine/turn/turn-context.ts";
import type { Tool } from "../engine/agent/tool.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { BatchCounts } from "./batch.ts";
import type { FormResult, SlotValues } from "./form-state.ts";
import type { IsoDate } from "../parse/days.ts";
import type { Reader } from "../parse/reading.ts";
import type { Locale } from "../parse/text.ts";
import type { SlotExample } from "./prompts.ts";

/** What a value is judged by. */
export interface SlotContext {
  /** In the session's time zone. */
  readonly today: IsoDate;
}

/** A slot's value, or why it was not taken. */
export type SlotRead<Value> =
  | { readonly ok: true; readonly value: Value }
  /** A key that the form's texts have words for. */
  | { readonly ok: false; readonly error: string };

/** One thing that a form needs to know. */
export interface SlotSpec<Value extends string | number = string | number> {
  readonly required: boolean;
  readonly type: "text" | "integer" | "date" | "recurrence";
  /** What it means and how it is said, for the model. Default: its name for people. */
  readonly description?: Readonly<Record<Locale, string>> | undefined;
  /**
   * Names the thing that one entry is about, such as the recipient. Another value for it, with words
   * of adding, is another entry and replaces nothing.
   */
  readonly identifies?: boolean | undefined;
  /** A sum that a yes would move; it stands in the stored question. */
  readonly isAmount?: boolean | undefined;
  /**
   * Reads the person's words, to hold a model's value against them. Default: `parse`, for the words
   * that the model quotes; a text without a reader must merely have been said.
   */
  reader?(context: SlotContext): Reader<Value>;
  /** What was said with a value and is not kept, such as the hour of a day; a key of the texts. */
  remark?(words: string, context: SlotContext): string | undefined;
  /** Reads what a person, a model or a page may have sent, and brings it into its stored form. */
  parse(raw: unknown, context: SlotContext): SlotRead<Value>;
  /** The stored form, and the error of a value that does not have it. */
  readonly schema: z.ZodType<Value>;
  readonly schemaError: string;
  /** What the form cannot say, such as a day that has passed. */
  validate?(value: Value, context: SlotContext): string | undefined;
}

/** The slots of a form by their names, in the order in which they are asked. */
// oxlint-disable-next-line typescript/no-explicit-any -- slots of different values stand in one form
export type SlotSpecs = Readonly<Record<string, SlotSpec<any>>>;

/** The one effect that a yes leads to. */
// oxlint-disable-next-line typescript/no-explicit-any -- what goes in and comes out is the tool's
export interface Deed<Values = SlotValues, Input = any, Output = any> {
  /** Names the call; part of the effect's key. */
  readonly call: string;
  readonly tool: Tool<Input, Output>;
  input(slots: Values): Input;
  /** What is kept of the outcome with the entry, such as the number that the outside gave. */
  details(outcome: Extract<EffectOutcome<Output>, { status: "done" }>): JsonObject;
}

/**
 * What the outside says beforehand of a deed: a look before each question that waits for a yes. The
 * deed decides anew; a look that gives no answer holds no question up.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- what goes in and comes out is the tool's
export interface Look<Values = SlotValues, Input = any, Output = any> {
  /** Names the call. */
  readonly call: string;
  /** Reads alone, `effect: "none"`. Its timeout is how long the question waits. */
  readonly tool: Tool<Input, Output>;
  input(slots: Values): Input;
  /**
   * Which slots have values that the outside would refuse, each with a key that the form's texts
   * have words for: they are taken out and asked for anew. None: the question is asked.
   */
  errors(seen: Output, slots: Values): Readonly<Record<string, string>>;
}

/** Where an entry stands among those of one message; `(i/N)` is written only when there are several. */
export interface Progress {
  readonly index: number;
  readonly total: number;
}

/** Facts of an outcome, by name. */
export type Details = Readonly<Record<string, unknown>>;

/** All words for people, in one language. */
export interface FormTexts<Values = SlotValues> {
  readonly buttons: {
    readonly confirm: readonly [string, string];
    readonly askContinue: readonly [string, string];
  };
  readonly labels: { readonly slots: string; readonly interaction: string };
  readonly slotNames: Readonly<Record<string, string>>;
  progress(progress: Progress): string;
  askSlot(slot: string, slots: Values, progress?: Progress): string;
  slotError(error: string): string;
  /**
   * Asks which value is meant, where words and model differ or the words are not exact. One option:
   * whether it is meant is not sure. None: nothing was read.
   */
  doubt(slot: string, options: readonly (string | number)[]): string;
  /** Instead of something that repeats, where no slot is a recurrence. */
  readonly noRepeats: string;
  /** Says everything that a yes leads to: what is not in it has not been seen. */
  confirmQuestion(slots: Values, progress?: Progress): string;
  /** Before the question, when a yes did not count. */
  readonly confirmAgain: string;
  /** Before the question, when a look (`SlotForm.look`) gave no answer. A form that looks needs it. */
  readonly unchecked?: string | undefined;
  /** Another entry waits behind the one that is asked about. */
  added(slots: Values): string;
  /** `details`: what the outside gave; see `Deed.details`. */
  receipt(slots: Values, details: Details, progress?: Progress): string;
  readonly cancelled: string;
  /** One of several: says nothing about the others. */
  readonly cancelledOne: string;
  /** All that was left. */
  readonly restCancelled: string;
  readonly nothingToCancel: string;
  /** A yes, where nothing is asked. */
  readonly nothingToConfirm: string;
  readonly unsupported: string;
  failed(code: string | undefined, slots: Values): string;
  /** It may have happened: neither a success nor a failure is claimed. */
  effectUnknown(slots: Values): string;
  /** What was said while a confirmed entry was open: it cannot be changed any more. */
  readonly resumed: string;
  readonly alreadySettled: string;
  stoppedTooLate(result: FormResult<Values>): string;
  result(result: FormResult<Values>): string;
  askContinue(remaining: number): string;
  batchSummary(counts: BatchCounts): string;
  /** Of the finished entries, the newest first. */
  status(results: readonly FormResult<Values>[]): string;
  /** Where the model gives nothing that can be shown. */
  readonly noAnswer: string;
}

/** What a service is that collects slots, asks for a yes, and does one thing with them. */
export interface SlotForm<Values = SlotValues> {
  /** Key of the flow, such as `TRANSFER`. */
  readonly flow: string;
  readonly slots: SlotSpecs;
  readonly deed: Deed<Values>;
  /** Absent: what the outside refuses is heard after the yes. */
  readonly look?: Look<Values> | undefined;
  readonly texts: Readonly<Record<Locale, FormTexts<Values>>>;
  /** Messages and how they are read, for the model; at most four count. */
  readonly examples?: Readonly<Record<Locale, readonly SlotExample[]>> | undefined;
  /**
   * Slots whose values in a message cannot count, with the error that is said of them: 엄마랑 아빠한테
   * 5만원 does not say whether each is to get it.
   */
  readonly doubts?: ((message: string) => Readonly<Record<string, string>>) | undefined;
  /** What cannot be done is said, not bent into something else. Gives the sentence. */
  refuses?(message: string, locale: Locale): string | undefined;
  /** Turns in which one entry may be filled. Default: `limits.maxFillTurns` of the team. */
  readonly maxFillTurns?: number | undefined;
}
