import type { JsonObject } from "../kernel/json.ts";
import { askedOptional, declinedSlot } from "./declines.ts";
import {
  currentOf,
  leftEmpty,
  openSlotsOf,
  withCurrent,
  withEdits,
  withStageOfSlots,
  withUnclear,
  type FormContext,
} from "./entries.ts";
import type { FormParts } from "./form-parts.ts";
import type { SlotSpecs } from "./form.ts";
import type { FormState } from "./form-state.ts";
import { mannerOf, type HeldReading } from "./hearing.ts";
import { applyMoves, type Manner, type Moved } from "./moves.ts";
import type { MessageKind } from "./prompts.ts";

/** What one message was read as. */
interface Read {
  readonly kind?: MessageKind | undefined;
  readonly moved?: Moved | undefined;
  /** Whether anything of it was understood, be it what is known already. */
  readonly isHeard: boolean;
}

/** What the person's words change in a form. */
export class FormReading {
  readonly #parts: FormParts;
  readonly manner: Manner;
  /** Whether this message brought anything new. */
  #isNew = false;

  constructor(parts: FormParts) {
    this.#parts = parts;
    this.manner = mannerOf(parts.turn.message);
  }

  get isNew(): boolean {
    return this.#isNew;
  }

  /** A page's edits count as they are; what a model reads is held against the words. */
  async read(): Promise<Read> {
    const { turn, speech, texts, state } = this.#parts;
    if (turn.slots) {
      this.edit(turn.slots);
      return { isHeard: true };
    }
    const heard = await speech.hear(state);
    if (!heard) {
      this.#parts.put(withUnclear(state, "UNREADABLE"));
      return { isHeard: false };
    }
    const { kind, moves, isNoOrder, remarks, unread } = heard;
    if (kind === "unsupported") return { kind, isHeard: false };
    if (isNoOrder) {
      this.#parts.put(withUnclear(state, "UNREADABLE"));
      return { kind: "other", isHeard: true };
    }
    if (kind === "refuse" && moves.length === 0 && this.#declineAsked()) return { isHeard: true };
    this.#parts.say(...remarks.map((remark) => texts.slotError(remark)));
    if (unread !== "") this.#parts.say(texts.unread(unread));
    return { kind, moved: this.#apply(heard), isHeard: moves.length > 0 };
  }

  /** Leaves a slot empty where the message declines it: 없어요, no memo. Gives whether it does. */
  decline(): boolean {
    const { turn, state, form, texts, lexicon, context } = this.#parts;
    if (turn.slots || turn.confirmId !== undefined) return false;
    const slot = declinedSlot(turn.message, state, { form, texts, lexicon, context });
    return slot !== undefined && this.#leave(slot);
  }

  /** Leaves what is asked for empty, where it may be. Gives whether it does. */
  #declineAsked(): boolean {
    const asked = askedOptional(this.#parts.state, this.#parts.context);
    return asked !== undefined && this.#leave(asked);
  }

  #leave(slot: string): boolean {
    const { state, context } = this.#parts;
    const left = leftEmpty(currentOf(state), slot, context);
    const next = withCurrent(withoutUnclear(state), left, context);
    this.#isNew ||= !sameSlots(state, next);
    this.#parts.put(next);
    return true;
  }

  /** What a page sent. What was sent with a value and is not kept is said. */
  edit(slots: JsonObject): void {
    const { state: before, context, texts } = this.#parts;
    const next = withEdits(withoutUnclear(before), slots, context);
    this.#parts.put(next);
    this.#isNew ||= !sameSlots(before, next);
    const remarks = remarksOn(slots, next, context);
    this.#parts.say(...remarks.map((remark) => texts.slotError(remark)));
  }

  #apply({ moves, passedOver }: HeldReading): Moved {
    const { specs, context } = this.#parts;
    const state = withoutUnclear(this.#parts.state);
    const asked = askedBefore(state, specs);
    const moved = applyMoves(state, moves, { ...context, manner: this.manner, asked });
    const isAsked = passedOver.length > 0 && moved.state.meta.choice === undefined;
    const next = isAsked ? withPassedOver(moved.state, passedOver) : moved.state;
    return this.take({ ...moved, state: withStageOfSlots(next, context) });
  }

  /** Stores what moves made of the form, and says what now waits, and what does not any more. */
  take(moved: Moved): Moved {
    const { state: before, texts } = this.#parts;
    this.#parts.put(moved.state);
    this.#isNew ||= !sameSlots(before, moved.state);
    if (moved.added.length > 0 || moved.removed.length > 0) this.#parts.tellProgress();
    this.#parts.say(...moved.removed.map(({ slots }) => texts.removed(slots)));
    if (before.stage === "INIT") return moved;
    this.#parts.say(...moved.added.map(({ slots }) => texts.added(slots)));
    return moved;
  }
}

/** The slot that was asked for when the message was written. */
function askedBefore(state: FormState, specs: SlotSpecs): string | undefined {
  return state.stage === "FILLING" ? openSlotsOf(state, specs).asked : undefined;
}

function withoutUnclear(state: FormState): FormState {
  const { _unclear: _, ...errors } = state.meta.slot_errors;
  return { ...state, meta: { ...state.meta, slot_errors: errors } };
}

function withPassedOver(state: FormState, names: readonly string[]): FormState {
  return { ...state, meta: { ...state.meta, choice: { about: "passed-over", names } } };
}

/** Keys of words about what a page sent beside the values that count. */
function remarksOn(
  sent: JsonObject,
  { slots: kept }: FormState,
  { specs, today }: FormContext,
): readonly string[] {
  return Object.entries(sent).flatMap(([slot, value]) => {
    if (typeof value !== "string" || kept[slot] === undefined) return [];
    return specs[slot]?.remark?.(value, { today, specs }) ?? [];
  });
}

/** Whether nothing of a form has changed but how often it was asked. Pure. */
export function sameSlots(a: FormState, b: FormState): boolean {
  const seen = ({ slots, tasks, meta, total }: FormState): string => {
    const { slot_errors: errors, doubts, declined, choice } = meta;
    return JSON.stringify([slots, tasks, errors, doubts, declined, choice, total]);
  };
  return seen(a) === seen(b);
}
