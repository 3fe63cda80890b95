import { fold } from "../parse/text.ts";
import {
  currentOf,
  entryOf,
  identityOf,
  leftEmpty,
  MAX_ENTRIES,
  NO_ENTRY,
  takesSlots,
  withCurrent,
  withoutSlot,
  withStageOfSlots,
  withUnclear,
  withValues,
  type FormContext,
  type NewValues,
} from "./entries.ts";
import type { SlotValue } from "./form.ts";
import type { FormEntry, FormState, FormTask, OpenChoice } from "./form-state.ts";
import type { Move } from "./prompts.ts";
import { Doubt } from "./referee.ts";

/** A move of a model, its values held against the words. */
export interface HeldMove {
  readonly move: Move;
  /** Whose entry it is about; "" for the one that its values name, or the current one. */
  readonly entry: string;
  readonly values: NewValues;
  /** Slots that are emptied. */
  readonly clear: readonly string[];
}

/** How the person's words speak of another person, as code hears them. */
export type Manner = "changes" | "adds" | undefined;

/** What moves make of a form. */
export interface Moved {
  readonly state: FormState;
  /** Entries that wait now and did not before. */
  readonly added: readonly FormTask[];
  /** Entries that waited and were taken out. */
  readonly removed: readonly FormTask[];
  /** The current entry is not wanted any more. */
  readonly leavesCurrent: boolean;
}

/** How the words speak, and what was asked. */
export interface MoveContext extends FormContext {
  readonly manner: Manner;
  /** The slot that was asked for before the message: another name for it is an answer. */
  readonly asked?: string | undefined;
}

/**
 * The form after the moves of one message, in their order. Which entry a move is about is said by
 * its name, or by the values. Where another person is named and neither the model nor the words say
 * whether in the place of the current one, the form has an open choice, and asks. Pure.
 */
export function applyMoves(
  state: FormState,
  moves: readonly HeldMove[],
  context: MoveContext,
): Moved {
  let moved: Moved = { state, added: [], removed: [], leavesCurrent: false };
  if (!takesSlots(state.stage)) return moved;
  moved = { ...moved, state: withoutSettledChoice(state, moves, context) };
  const [first, ...others] = moves.filter((move) => nameIn(move, context) !== undefined);
  const isOneOfSeveral = others.length > 0;
  const touched = new Set<string>();
  for (const move of moves) {
    const isFirst = move === first;
    moved = withMove(moved, move, { ...context, isOneOfSeveral, isFirst, touched });
  }
  if (moved.state.total <= MAX_ENTRIES) return moved;
  const unclear = withStageOfSlots(withUnclear(state, "TOO_MANY_TASKS"), context);
  return { state: unclear, added: [], removed: [], leavesCurrent: false };
}

/** Who was open stands in the message again, with words that decide it. */
function withoutSettledChoice(
  state: FormState,
  moves: readonly HeldMove[],
  context: FormContext,
): FormState {
  const { choice, ...meta } = state.meta;
  if (choice?.about !== "change-or-add") return state;
  const isNamed = moves.some((move) => isSame(nameIn(move, context), choice.other));
  return isNamed ? { ...state, meta } : state;
}

interface OneMove extends MoveContext {
  /** Of a message that names several: only the first can stand in the place of another. */
  readonly isOneOfSeveral: boolean;
  readonly isFirst: boolean;
  /** Slots of the current entry that moves of this message have filled. */
  readonly touched: Set<string>;
}

function withMove(moved: Moved, move: HeldMove, context: OneMove): Moved {
  const place = placeOf(moved.state, move, context);
  switch (place.at) {
    case "current":
      return move.move === "remove" && isBare(move)
        ? { ...moved, leavesCurrent: true }
        : { ...moved, state: inCurrent(moved.state, move, context) };

    case "task":
      return inTask(moved, place.index, move, context);
    case "swap":
      return { ...moved, state: swapped(moved.state, place.index, move, context) };
    case "new":
      return withTask(moved, withValues(NO_ENTRY, move.values, context));
    case "open":
      return { ...moved, state: withChoice(moved.state, move, place.other, context) };
    case "nowhere":
      return { ...moved, state: withUnclear(moved.state, "UNREADABLE") };
  }
}

type EntryPlace =
  | { readonly at: "current" | "new" | "nowhere" }
  | { readonly at: "task" | "swap"; readonly index: number }
  | { readonly at: "open"; readonly other: string };

/** Which entry a move is about. */
function placeOf(state: FormState, move: HeldMove, context: OneMove): EntryPlace {
  const named = move.entry === "" ? undefined : entryNamed(state, move.entry, context);
  const name = nameIn(move, context);
  if (move.move === "swap" && !namesAnother(name, state, context)) return swapPlace(state, named);
  if (named === "current") return { at: "current" };
  if (named !== undefined) return { at: "task", index: named };
  if (move.move === "remove") return { at: move.entry === "" ? "current" : "nowhere" };

  const identity = identityOf(context.specs);
  const current = identity === undefined ? undefined : state.slots[identity];
  if (name === undefined) return placeOfUnnamed(state, move, { ...context, identity });
  if (current === undefined || isSame(name, current)) return { at: "current" };
  const waiting = entryNamed(state, String(name), context);
  if (typeof waiting === "number") return { at: "task", index: waiting };
  return placeOfOther(move, String(name), { ...context, identity });
}

/**
 * Values without a name are the current entry's, unless another move of the message has filled them;
 * a name in doubt beside a known one is an entry of its own.
 */
function placeOfUnnamed(
  state: FormState,
  { move, values }: HeldMove,
  { identity, asked, touched }: OneMove & { readonly identity: string | undefined },
): EntryPlace {
  const isNameInDoubt = identity !== undefined && values[identity] instanceof Doubt;
  const isKnown = identity !== undefined && state.slots[identity] !== undefined;
  if (isNameInDoubt && isKnown && move !== "correct" && asked !== identity) return { at: "new" };
  return Object.keys(values).some((slot) => touched.has(slot))
    ? { at: "nowhere" }
    : { at: "current" };
}

/** Another person than the current one: instead, besides, or it is asked. */
function placeOfOther(
  { move }: HeldMove,
  other: string,
  context: OneMove & { readonly identity: string | undefined },
): EntryPlace {
  const { manner, asked, isOneOfSeveral, isFirst, identity } = context;
  const isReplacing = move === "correct" || move === "swap";
  const isCorrection = isReplacing || (move === "set" && asked === identity);
  if (isOneOfSeveral && !(isCorrection && isFirst)) return { at: "new" };
  if (isCorrection) return manner === "adds" ? { at: "open", other } : { at: "current" };
  if (move === "add") return manner === "changes" ? { at: "open", other } : { at: "new" };
  if (manner === "changes") return { at: "current" };
  return manner === "adds" ? { at: "new" } : { at: "open", other };
}

/** Who is exchanged for a person whom the form does not have takes a place: a correction. */
function namesAnother(
  name: SlotValue | undefined,
  state: FormState,
  context: FormContext,
): boolean {
  return name !== undefined && entryNamed(state, String(name), context) === undefined;
}

function swapPlace(state: FormState, named: "current" | number | undefined): EntryPlace {
  if (typeof named === "number") return { at: "swap", index: named };
  return state.tasks.length === 1 ? { at: "swap", index: 0 } : { at: "nowhere" };
}

/** The entry that has this name: the current one, or the place of one that waits. */
function entryNamed(
  { slots, tasks }: FormState,
  name: string,
  { specs }: FormContext,
): "current" | number | undefined {
  const identity = identityOf(specs);
  if (identity === undefined) return undefined;
  if (isSame(slots[identity], name)) return "current";
  const index = tasks.findIndex((task) => isSame(task.slots[identity], name));
  return index < 0 ? undefined : index;
}

function isSame(a: SlotValue | undefined, b: SlotValue): boolean {
  const bare = (value: SlotValue): string => fold(String(value)).replaceAll(" ", "");
  return a !== undefined && bare(a) === bare(b);
}

/** Whom a move names by its values; a name in doubt is a name too. */
function nameIn({ values }: HeldMove, { specs }: FormContext): SlotValue | undefined {
  const identity = identityOf(specs);
  const value = identity === undefined ? undefined : values[identity];
  if (value === undefined || value instanceof Doubt) return undefined;
  return "raw" in value ? String(value.raw) : value.value;
}

function isBare({ values, clear }: HeldMove): boolean {
  return Object.keys(values).length === 0 && clear.length === 0;
}

// --- what a move does

function changed(entry: FormEntry, { values, clear }: HeldMove, context: FormContext): FormEntry {
  const left = clear.reduce((one, slot) => leftEmpty(one, slot, context), entry);
  return withValues(left, values, context);
}

function inCurrent(state: FormState, move: HeldMove, context: OneMove): FormState {
  for (const slot of Object.keys(move.values)) context.touched.add(slot);
  return withCurrent(state, changed(currentOf(state), move, context), context);
}

function inTask(moved: Moved, index: number, move: HeldMove, context: FormContext): Moved {
  const { state } = moved;
  const task = state.tasks[index]!;
  if (move.move === "remove" && isBare(move)) {
    const tasks = state.tasks.filter((_, place) => place !== index);
    const total = state.total - 1;
    return { ...moved, state: { ...state, tasks, total }, removed: [...moved.removed, task] };
  }
  const next = changed(entryOf(task), move, context);
  return { ...moved, state: { ...state, tasks: state.tasks.with(index, next) } };
}

function withTask({ state, added, ...moved }: Moved, entry: FormEntry): Moved {
  const next = { ...state, tasks: [...state.tasks, entry], total: state.total + 1 };
  return { ...moved, state: next, added: [...added, entry] };
}

/** The values of two entries change places, and each keeps its name. */
function swapped(
  state: FormState,
  index: number,
  { values, clear }: HeldMove,
  context: FormContext,
): FormState {
  const identity = identityOf(context.specs);
  const named = [...Object.keys(values), ...clear].filter((slot) => slot !== identity);
  const others = Object.keys(context.specs).filter((slot) => slot !== identity);
  const slots = named.length > 0 ? named : others;
  const [current, task] = [currentOf(state), entryOf(state.tasks[index]!)];
  const next = { ...state, tasks: state.tasks.with(index, taking(task, current, slots)) };
  return withCurrent(next, taking(current, task, slots), context);
}

function taking(entry: FormEntry, from: FormEntry, slots: readonly string[]): FormEntry {
  let next = slots.reduce(withoutSlot, entry);
  for (const slot of slots) {
    const value = from.slots[slot];
    if (value !== undefined) next = { ...next, slots: { ...next.slots, [slot]: value } };
  }
  return next;
}

function withChoice(
  state: FormState,
  move: HeldMove,
  other: string,
  context: FormContext,
): FormState {
  const entry = withValues(NO_ENTRY, move.values, context);
  const choice: OpenChoice = { about: "change-or-add", entry, other };
  return { ...state, meta: { ...state.meta, choice } };
}

/** The form after its open choice was answered by the button at this place. Pure. */
export function settleChoice(state: FormState, picked: number, context: FormContext): Moved {
  const { choice, ...meta } = state.meta;
  const rest: Moved = { state: { ...state, meta }, added: [], removed: [], leavesCurrent: false };
  if (choice === undefined) return rest;
  if (choice.about === "passed-over") {
    if (picked !== 0) return rest;
    const identity = identityOf(context.specs)!;
    return choice.names.reduce<Moved>(
      (moved, name) =>
        withTask(moved, withValues(NO_ENTRY, { [identity]: { raw: name } }, context)),
      rest,
    );
  }
  if (picked !== 0) return withTask(rest, choice.entry);
  const { slots, slot_errors, derived, doubts } = choice.entry;
  const touched = [...Object.keys(slots), ...Object.keys(slot_errors)];
  const left = touched.reduce(withoutSlot, currentOf(rest.state));
  const entry = {
    ...left,
    slots: { ...left.slots, ...slots },
    slot_errors: { ...left.slot_errors, ...slot_errors },
    derived: { ...left.derived, ...derived },
    doubts: { ...left.doubts, ...doubts },
  };
  return { ...rest, state: withCurrent(rest.state, entry, context) };
}
