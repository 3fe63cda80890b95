import type { JsonObject } from "../kernel/json.ts";
import {
  askedSlotOf,
  withEdits,
  withStageOfSlots,
  withUnclear,
  type FormContext,
} from "./entries.ts";
import type { FormParts } from "./form-parts.ts";
import type { SlotSpecs } from "./form.ts";
import type { FormState } from "./form-state.ts";
import { mannerOf, type Heard } from "./hearing.ts";
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
    this.#parts.say(...remarks.map((remark) => texts.slotError(remark)));
    if (unread !== "") this.#parts.say(texts.unread(unread));
    return { kind, moved: this.#apply(heard), isHeard: moves.length > 0 };
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

  #apply({ moves, passedOver }: Heard): Moved {
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
function askedBefore({ stage, slots, meta }: FormState, specs: SlotSpecs): string | undefined {
  return stage === "FILLING" ? askedSlotOf(slots, meta.slot_errors, specs) : undefined;
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
  const seen = ({ slots, tasks, meta, total }: FormState): string =>
    JSON.stringify([slots, tasks, meta.slot_errors, meta.doubts, meta.choice, total]);
  return seen(a) === seen(b);
}
