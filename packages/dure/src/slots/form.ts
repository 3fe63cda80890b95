import type { Locale } from "../kernel/locales.ts";
import type { z } from "zod";
import type { SlotDescription } from "../engine/turn/state.ts";
import type { EffectOutcome, TurnContext } from "../engine/turn/turn-context.ts";
import type { Tool } from "../engine/agent/tool.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { BatchCounts } from "./batch.ts";
import type { FormResult, SlotValues } from "./form-state.ts";
import type { IsoDate } from "../parse/days/days.ts";
import type { MoreWords } from "../parse/lexicon/index.ts";
import type { Reader } from "../parse/reading.ts";
import type { SlotExample } from "./prompts.ts";

/** What a value is judged by. */
export interface SlotContext {
  /** In the session's time zone. */
  readonly today: IsoDate;
  /** All slots of the form, where it is known: beside one for the time, a day loses no time. */
  readonly specs?: SlotSpecs | undefined;
}

/** One of the values of a choice, and how people call it. */
export interface SlotOption<Value extends string = string> {
  readonly value: Value;
  readonly names: Readonly<Partial<Record<Locale, string>>>;
  readonly synonyms?: readonly string[] | undefined;
}

/** Least and most: of a number, or of the characters of a text. */
export interface SlotLimits {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** A value as it is stored. */
export type SlotValue = string | number | boolean;

/** The kinds of values that people give; `slot` makes a slot of each. */
export const SLOT_TYPES = [
  "text",
  "integer",
  "number",
  "money",
  "date",
  "date_range",
  "time",
  "choice",
  "boolean",
  "person",
  "phone",
  "address",
  "file",
  "recurrence",
] as const satisfies readonly SlotDescription["type"][];
/** One of `SLOT_TYPES`. */
export type SlotType = (typeof SLOT_TYPES)[number];

/** A slot's value, or why it was not taken. */
export type SlotRead<Value> =
  | { readonly ok: true; readonly value: Value }
  /** A key that the form's texts have words for. */
  | { readonly ok: false; readonly error: string };

/** One thing that a form needs to know. */
export interface SlotSpec<Value extends SlotValue = SlotValue> {
  readonly required: boolean;
  /**
   * Of a slot that is not required: it is asked for too, behind the others, until it has a value or
   * the person leaves it empty (없어요, skip). Default: it is never asked for.
   */
  readonly askOnce?: boolean | undefined;
  /** Whether it is asked for, by what is known. Default: `required`, or `askOnce`. */
  readonly needed?: ((slots: SlotValues) => boolean) | undefined;
  /**
   * Whether an entry has a place for it, by what is known. Where it has none a value that was said is
   * left out, and the person is told so before the yes. Default: where `needed` holds, else always.
   */
  readonly belongs?: ((slots: SlotValues) => boolean) | undefined;
  readonly type: SlotType;
  /** What it means and how it is said, for the model. Default: its name for people. */
  readonly description?: Readonly<Partial<Record<Locale, string>>> | undefined;
  /**
   * Names the thing that one entry is about, such as the recipient. Another value for it is another
   * entry, unless the words change the one that is there.
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
  /**
   * Brings what a person, a model or a page may have sent into its stored form, once: what is stored
   * is not read again.
   */
  parse(raw: unknown, context: SlotContext): SlotRead<Value>;
  /** The stored form, and the error of a value that does not have it. */
  readonly schema: z.ZodType<Value>;
  readonly schemaError: string;
  /** What the form cannot say, such as a day that has passed. */
  validate?(value: Value, context: SlotContext): string | undefined;
  /** Words that it takes. The start of a service tries each: `FORM_INVALID` names one that fails. */
  readonly examples?: readonly string[] | undefined;
  /** The value as people read it, such as `오후 3시` for 15:00. Default: as it is. */
  show?(value: Value, locale: Locale): string;
  /** Sentences of its errors, by language; a form's own texts go before them. */
  readonly errors?: Readonly<Partial<Record<Locale, Readonly<Record<string, string>>>>> | undefined;
  /** Of a choice: its values, and how people call them. */
  readonly options?: readonly SlotOption[] | undefined;
  readonly limits?: SlotLimits | undefined;
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

/** One of several deeds of a form, such as to book and to cancel. */
export interface NamedDeed<Values = SlotValues> extends Deed<Values> {
  /** What its button says, as something to do: `예약하기`, `Book`. */
  readonly names: Readonly<Partial<Record<Locale, string>>>;
  /** How people ask for it: `예약 취소`, `cancel`. Its names count anyway. */
  readonly says?: readonly string[] | undefined;
  /** Slots that it needs. Default: all that are required. */
  readonly slots?: readonly string[] | undefined;
}

/** A person whom the one who talks knows under other names. */
export interface Contact {
  /** What is stored, and shown: `김영숙`. */
  readonly name: string;
  /** How the person says it: `엄마`. */
  readonly says: readonly string[];
}

/** What a service knows beside the words. */
export interface FormEntities {
  /**
   * The contacts of the one who talks, at most 500; for slots of the type `person`. Asked once in a
   * turn that names people, and recorded.
   */
  contacts?(turn: TurnContext): Promise<readonly Contact[]> | readonly Contact[];
  /**
   * What "all of it" means to a slot of the type `money`, in whole won: a balance. Asked once in a
   * turn whose words speak of all there is, and recorded; the model is told it as `available`.
   * Absent, without an answer, or no whole number above 0: such words are asked about. An error of
   * it fails the turn.
   */
  whole?(turn: TurnContext): Promise<number | undefined> | number | undefined;
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

/** A question with the words of its answers. */
export interface Offer {
  readonly question: string;
  readonly buttons: readonly string[];
}

/** All words for people, in one language. */
export interface FormTexts<Values = SlotValues> {
  readonly buttons: {
    readonly confirm: readonly [string, string];
    readonly askContinue: readonly [string, string];
    /** Of a question whether one value is meant. */
    readonly yesNo: readonly [string, string];
    /** Leaves the slot empty that is asked for (`SlotSpec.askOnce`). Absent: no button. */
    readonly skip?: string | undefined;
  };
  readonly labels: { readonly slots: string; readonly interaction: string };
  readonly slotNames: Readonly<Record<string, string>>;
  progress(progress: Progress): string;
  askSlot(slot: string, slots: Values, progress?: Progress): string;
  /** Asks for several at once. Absent, or without an answer: one after the other. */
  askSlots?(names: readonly string[], slots: Values, progress?: Progress): string | undefined;
  /** What is wrong with a value; `slot` is absent where it is about the whole message. */
  slotError(error: string, slot?: string): string;
  /** A value as people read it, such as `5시` for 5. */
  value(slot: string, value: SlotValue): string;
  /**
   * Asks which value is meant, where words and model differ or the words are not exact. One option:
   * whether it is meant is not sure. None: nothing was read.
   */
  doubt(slot: string, options: readonly SlotValue[]): string;
  /** Words of the message that were not understood, beside those which were. */
  unread(words: string): string;
  /** Of a value that the words do not say themselves: `“금요일” = 12월 4일`. */
  derived(words: string, shown: string): string;
  /** Whether `other` is in the place of `current`, or one more. Buttons: change, add. */
  changeOrAdd(current: string, other: string): Offer;
  /** Whether these, who were named too, are to get an entry of their own. Buttons: yes, no. */
  passedOver(names: readonly string[]): Offer;
  /** Instead of something that repeats, where no slot is a recurrence. */
  readonly noRepeats: string;
  /** Says everything that a yes leads to: what is not in it has not been seen. */
  confirmQuestion(slots: Values, progress?: Progress): string;
  /** Before the question, when a button of an earlier one was pressed. */
  readonly outdated: string;
  /** Before the question, when a yes did not count. */
  readonly confirmAgain: string;
  /** Before the question, when a look (`SlotForm.look`) gave no answer. A form that looks needs it. */
  readonly unchecked?: string | undefined;
  /** Another entry waits behind the one that is asked about. */
  added(slots: Values): string;
  /**
   * A bare "cancel", where the deed is called so too: it can mean either button. Absent:
   * `confirmAgain`.
   */
  cancelsWhich?(buttons: readonly [deed: string, leave: string]): string;
  /** Values with these names have no place in what is asked about, and were left out of it. */
  leftOut(names: readonly string[]): string;
  /** An entry that waited was taken out. */
  removed(slots: Values): string;
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
  /** `deed` is no name of a slot. */
  readonly slots: SlotSpecs;
  /** What a yes does. Either this or `deeds`. */
  readonly deed?: Deed<Values> | undefined;
  /**
   * Several things that can be done with the slots, by name. Which one is meant is a value like the
   * others: `slots.deed`.
   */
  readonly deeds?: Readonly<Record<string, NamedDeed<Values>>> | undefined;
  /** Absent: what the outside refuses is heard after the yes. */
  readonly look?: Look<Values> | undefined;
  /** In one language or both. */
  readonly texts: Readonly<Partial<Record<Locale, FormTexts<Values> | undefined>>>;
  /** Messages and how they are read, for the model; at most four count. */
  readonly examples?: Readonly<Partial<Record<Locale, readonly SlotExample[]>>> | undefined;
  readonly entities?: FormEntities | undefined;
  /** Words of this service beside those of dure: another yes, another filler. */
  readonly words?: MoreWords | undefined;
  /**
   * Slots whose values in a message cannot count, with the error that is said of them: 엄마랑 아빠한테
   * 5만원 does not say whether each is to get it. `entries`: of how many the model speaks.
   */
  readonly doubts?:
    | ((message: string, entries: number) => Readonly<Record<string, string>>)
    | undefined;
  /** What cannot be done is said, not bent into something else. Gives the sentence. */
  refuses?(message: string, locale: Locale): string | undefined;
  /**
   * Turns in a row in which nothing new was understood, before an entry is given up. Default:
   * `limits.maxFillTurns` of the team.
   */
  readonly maxFillTurns?: number | undefined;
}
