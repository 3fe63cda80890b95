import type { SlotContext, SlotRead, SlotSpec, SlotSpecs, SlotValue } from "./form.ts";
import type { FormEntry, FormState, FormTask, SlotErrors, SlotValues } from "./form-state.ts";
import { Doubt, UNSURE, type Judged } from "./referee.ts";
import { namesATime } from "../parse/days/when.ts";
import { moveStage, type Stage } from "./stages.ts";

/** The form, and what its values are judged by. */
export interface FormContext extends SlotContext {
  readonly specs: SlotSpecs;
}

/** What a value becomes: one that was judged, or as a page sent it. */
export type NewValue = Exclude<Judged, undefined> | { readonly raw: unknown };

/** Values by slot. */
export type NewValues = Readonly<Record<string, NewValue>>;

/** An entry before its first value. */
export const NO_ENTRY: FormEntry = { slots: {}, slot_errors: {}, derived: {}, doubts: {} };

/**
 * Entries of one flow. A longer list is not read as one message any more; the person is asked to
 * split it.
 */
export const MAX_ENTRIES = 20;

/**
 * An entry with these values. One that is not taken removes the old one (who tried to change an
 * amount must not confirm the former one) and leaves its error. Pure.
 */
export function withValues(entry: FormEntry, values: NewValues, context: FormContext): FormEntry {
  let next = entry;
  for (const [slot, value] of Object.entries(values)) next = withValue(next, slot, value, context);
  return next;
}

function withValue(
  entry: FormEntry,
  slot: string,
  value: NewValue,
  context: FormContext,
): FormEntry {
  const empty = withoutSlot(entry, slot);
  if (value instanceof Doubt) {
    const options = value.error === UNSURE ? value.options : [];
    const kept = options.length > 0 ? { ...empty.doubts, [slot]: options } : empty.doubts;
    return { ...empty, slot_errors: { ...empty.slot_errors, [slot]: value.error }, doubts: kept };
  }
  if ("raw" in value && isNothing(value.raw)) return leftEmpty(entry, slot, context);
  const read =
    "raw" in value ? readSlot(slot, value.raw, context) : checked(slot, value.value, context);
  if (!read.ok) return { ...empty, slot_errors: { ...empty.slot_errors, [slot]: read.error } };
  const note = "raw" in value ? undefined : value.note;
  return {
    ...empty,
    slots: { ...empty.slots, [slot]: read.value },
    derived: note === undefined ? empty.derived : { ...empty.derived, [slot]: note },
  };
}

function isNothing(raw: unknown): boolean {
  return raw === null || raw === undefined || raw === "";
}

/** An entry whose person leaves a slot empty: one of `askOnce` is not asked for again. Pure. */
export function leftEmpty(
  entry: FormEntry,
  slot: string,
  { specs }: Pick<FormContext, "specs">,
): FormEntry {
  const empty = withoutSlot(entry, slot);
  if (!specs[slot]?.askOnce) return empty;
  return { ...empty, declined: [...new Set([...(entry.declined ?? []), slot])] };
}

/** An entry without what was known of a slot, and without its error. Pure. */
export function withoutSlot(
  { slots, slot_errors, derived, doubts, declined }: FormEntry,
  slot: string,
): FormEntry {
  return {
    declined,
    slots: without(slots, slot),
    slot_errors: without(slot_errors, slot),
    derived: without(derived, slot),
    doubts: without(doubts, slot),
  };
}

function without<Value>(
  record: Readonly<Record<string, Value>>,
  slot: string,
): Readonly<Record<string, Value>> {
  const { [slot]: _, ...rest } = record;
  return rest;
}

/** The current entry of a form. Pure. */
export function currentOf({ slots, meta }: FormState): FormEntry {
  const { slot_errors: errors, derived, doubts, declined } = meta;
  return { slots, slot_errors: withoutUnclear(errors), derived, doubts, declined };
}

/** An entry that waits, as an entry. Pure. */
export function entryOf({ derived = {}, doubts = {}, ...task }: FormTask): FormEntry {
  const { slots, slot_errors, declined } = task;
  return { slots, slot_errors, derived, doubts, declined };
}

/** The form with this entry as its current one, in the stage that follows from it. Pure. */
export function withCurrent(
  state: FormState,
  { slots, slot_errors, derived, doubts, declined }: FormEntry,
  context: Pick<FormContext, "specs">,
): FormState {
  const { _unclear: unclear } = state.meta.slot_errors;
  const own = ofItsOwn(slot_errors, slots, context);
  const errors = unclear === undefined ? own : { ...own, _unclear: unclear };
  const open = ofItsOwn(doubts, slots, context);
  const meta = { ...state.meta, slot_errors: errors, derived, doubts: open, declined };
  return withStageOfSlots({ ...state, slots, meta }, context);
}

/** What is wrong or open of slots that the entry has a place for. */
function ofItsOwn<Value>(
  bySlot: Readonly<Record<string, Value>>,
  slots: SlotValues,
  { specs }: Pick<FormContext, "specs">,
): Readonly<Record<string, Value>> {
  const own = Object.entries(bySlot).filter(
    ([slot]) => specs[slot] === undefined || belongs(specs[slot], slots),
  );
  return Object.fromEntries(own);
}

/** The form with an error about the whole message. Pure. */
export function withUnclear(state: FormState, error: string): FormState {
  const errors = { ...state.meta.slot_errors, _unclear: error };
  return { ...state, meta: { ...state.meta, slot_errors: errors } };
}

/**
 * What a page sent, slot by slot: it edits what it shows, so its values count as they are. Null or
 * empty takes a value out; a name that no slot has is an error of the message. Pure.
 */
export function withEdits(
  state: FormState,
  edits: Readonly<Record<string, unknown>>,
  context: FormContext,
): FormState {
  if (!takesSlots(state.stage)) return state;
  const isKnown = (slot: string): boolean => Object.hasOwn(context.specs, slot);
  const known = Object.entries(edits).filter(([slot]) => isKnown(slot));
  const values = Object.fromEntries(known.map(([slot, raw]) => [slot, { raw }]));
  const next = withCurrent(state, withValues(currentOf(state), values, context), context);
  return known.length < Object.keys(edits).length ? withUnclear(next, "UNKNOWN_SLOT") : next;
}

/** Whether values can be filled in. */
export function takesSlots(stage: Stage): boolean {
  return stage === "INIT" || stage === "FILLING" || stage === "READY";
}

/**
 * The errors that the slots have as of today; a required slot that is merely absent is none. Pure.
 */
export function validateSlots(slots: SlotValues, context: FormContext): SlotErrors {
  const errors: Record<string, string> = {};
  for (const [slot, value] of Object.entries(slots)) {
    const read = checked(slot, value, context);
    if (!read.ok) errors[slot] = read.error;
  }
  return errors;
}

/** Whether an entry cannot be done without a slot, by what is known. Pure. */
export function isNeeded(spec: SlotSpec, slots: SlotValues): boolean {
  return !spec.askOnce && (spec.needed?.(slots) ?? spec.required);
}

/** Whether an entry has a place for a slot, by what is known. Pure. */
export function belongs(spec: SlotSpec, slots: SlotValues): boolean {
  return spec.belongs?.(slots) ?? spec.needed?.(slots) ?? true;
}

/** The values of a whole entry that have no place in it: a limit, of what is a debit card now. Pure. */
export function foreignSlots(
  { slots }: Pick<FormEntry, "slots">,
  { specs }: Pick<FormContext, "specs">,
): readonly string[] {
  return Object.keys(slots).filter((slot) => specs[slot] && !belongs(specs[slot], slots));
}

/**
 * Slots without a value, in the order in which they are asked for: those that are needed, then those
 * of `askOnce` that are not `declined`. Pure.
 */
export function missingSlots(
  slots: SlotValues,
  specs: SlotSpecs,
  declined: FormEntry["declined"] = [],
): string[] {
  const empty = Object.keys(specs).filter((slot) => slots[slot] === undefined);
  const needed = empty.filter((slot) => isNeeded(specs[slot]!, slots));
  const offered = empty.filter((slot) => {
    const { askOnce = false, needed: isWanted } = specs[slot]!;
    return askOnce && !declined.includes(slot) && (isWanted?.(slots) ?? true);
  });
  return [...needed, ...offered];
}

/** The slot that is asked for next: one with an error, else the first that is missing. Pure. */
export function askedSlotOf(
  slots: SlotValues,
  errors: SlotErrors,
  specs: SlotSpecs,
  declined: FormEntry["declined"] = [],
): string | undefined {
  const wrong = Object.keys(specs).find((slot) => errors[slot] !== undefined);
  return wrong ?? missingSlots(slots, specs, declined)[0];
}

/** What a form misses, and what it asks for next. Pure. */
export function openSlotsOf(
  { slots, meta }: FormState,
  specs: SlotSpecs,
): { readonly missing: readonly string[]; readonly asked: string | undefined } {
  const { slot_errors: errors, declined } = meta;
  return {
    missing: missingSlots(slots, specs, declined),
    asked: askedSlotOf(slots, errors, specs, declined),
  };
}

/**
 * READY when nothing needed is missing and no slot has an error, else FILLING; other stages stay as
 * they are.
 */
export function withStageOfSlots(
  state: FormState,
  { specs }: Pick<FormContext, "specs">,
): FormState {
  const errors = withoutUnclear(state.meta.slot_errors);
  const { missing } = openSlotsOf(state, specs);
  const isWhole = missing.length === 0 && Object.keys(errors).length === 0;
  const wanted: Stage = isWhole ? "READY" : "FILLING";
  if (!takesSlots(state.stage) || wanted === state.stage) return state;

  const move = moveStage(state.stage, wanted);
  return move.ok ? { ...state, stage: move.stage } : state;
}

/** Without the values that have these errors; a form that was READY is FILLING then. Pure. */
export function withoutWrong(
  state: FormState,
  errors: SlotErrors,
  context: Pick<FormContext, "specs">,
): FormState {
  const { slots, derived, doubts } = Object.keys(errors).reduce(withoutSlot, currentOf(state));
  const meta = { ...state.meta, derived, doubts };
  const slotErrors = { ...state.meta.slot_errors, ...errors };
  return withStageOfSlots({ ...state, slots, meta: { ...meta, slot_errors: slotErrors } }, context);
}

/** An entry as of today: what was stored is looked at again, and not read again. Pure. */
export function asOfToday(entry: FormEntry, context: FormContext): FormEntry {
  const errors = validateSlots(entry.slots, context);
  const kept = Object.keys(errors).reduce(withoutSlot, entry);
  return { ...kept, slot_errors: { ...kept.slot_errors, ...errors } };
}

/** Parse, check the form, validate: the one way by which words get into a slot. */
export function readSlot(slot: string, raw: unknown, context: FormContext): SlotRead<SlotValue> {
  const spec = context.specs[slot];
  if (!spec) return { ok: false, error: "UNKNOWN_SLOT" };
  if (hasLostTime(raw, spec, context)) return { ok: false, error: spec.schemaError };
  const parsed = spec.parse(raw, context) as SlotRead<SlotValue>;
  return parsed.ok ? checked(slot, parsed.value, context) : parsed;
}

/** A value in its stored form, by its schema and by what the schema cannot say. */
function checked(slot: string, value: SlotValue, context: FormContext): SlotRead<SlotValue> {
  const spec = context.specs[slot];
  if (!spec) return { ok: false, error: "UNKNOWN_SLOT" };
  if (!spec.schema.safeParse(value).success) return { ok: false, error: spec.schemaError };
  const error = spec.validate?.(value, context);
  return error === undefined ? { ok: true, value } : { ok: false, error };
}

/** A time with a day would be dropped without a word, where the slot has none for it. */
function hasLostTime(raw: unknown, spec: SlotSpec, context: SlotContext): boolean {
  if (spec.type !== "date" || spec.remark !== undefined || typeof raw !== "string") return false;
  return namesATime(raw, context);
}

function withoutUnclear({ _unclear, ...errors }: SlotErrors): SlotErrors {
  return errors;
}

/** The slot by which entries are told apart. */
export function identityOf(specs: SlotSpecs): string | undefined {
  return Object.keys(specs).find((slot) => specs[slot]!.identifies);
}
