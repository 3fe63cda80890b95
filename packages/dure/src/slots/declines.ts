import { isDeclined } from "../parse/lexicon/answers.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import { spokenWords } from "../parse/lexicon/spoken.ts";
import { LONGEST_VALUE } from "../parse/reading.ts";
import { fold } from "../parse/text.ts";
import { isNeeded, openSlotsOf, readSlot, type FormContext } from "./entries.ts";
import type { FormTexts, SlotForm } from "./form.ts";
import type { FormState } from "./form-state.ts";

/** What a message is looked at with. */
interface Declining {
  readonly form: Pick<SlotForm, "texts">;
  readonly texts: Pick<FormTexts, "buttons">;
  readonly lexicon: Lexicon;
  readonly context: FormContext;
}

/**
 * The slot that a message leaves empty, where the deed can be done without it: the one that is asked
 * for (없어요, skip, no), or one that is named (메모는 없이, no memo). A no to what is asked with yes or no
 * is its value. Pure.
 */
export function declinedSlot(
  message: string,
  state: FormState,
  { form, texts, lexicon, context }: Declining,
): string | undefined {
  if (message.length > LONGEST_VALUE || /[?？]/u.test(message)) return undefined;
  const asked = askedOptional(state, context);
  const isBare = isDeclined(spokenWords(message), lexicon) || isSkip(message, texts);
  const isNamed = (slot: string): boolean => {
    const rest = withoutName(message, namesOf(slot, form));
    return rest !== undefined && isDeclined(spokenWords(rest), lexicon);
  };
  return Object.keys(context.specs).find((slot) => {
    if (isNeeded(context.specs[slot]!, state.slots)) return false;
    const isMeant = (isBare && slot === asked) || isNamed(slot);
    return isMeant && !isValueOf(slot, message, context);
  });
}

/** The slot that is asked for, where it may be left empty. Pure. */
export function askedOptional(state: FormState, { specs }: FormContext): string | undefined {
  const { asked } = openSlotsOf(state, specs);
  if (state.stage !== "FILLING" || asked === undefined) return undefined;
  return isNeeded(specs[asked]!, state.slots) ? undefined : asked;
}

/** The button under its question. */
function isSkip(message: string, { buttons }: Declining["texts"]): boolean {
  return buttons.skip !== undefined && fold(buttons.skip) === fold(message.trim());
}

/** 없음 can be the name of an option, and 아니요 a value of its own. */
function isValueOf(slot: string, message: string, context: FormContext): boolean {
  const { type } = context.specs[slot]!;
  const isOneOfSome = type === "boolean" || type === "choice";
  return isOneOfSome && readSlot(slot, message, context).ok;
}

function namesOf(slot: string, { texts }: Declining["form"]): readonly string[] {
  return Object.values(texts).flatMap((one) => one?.slotNames[slot] ?? []);
}

/** A message without the name of a slot; undefined where it does not have it. */
function withoutName(message: string, names: readonly string[]): string | undefined {
  const line = fold(message);
  for (const name of names) {
    const letters = fold(name).replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&");
    const pattern = `(?<![\\p{L}\\p{N}])(?:(?:an?|the|any|my) )?${letters}(?:은|는|이|가|을|를|도)?(?![\\p{L}\\p{N}])`;
    const rest = line.replace(new RegExp(pattern, "u"), " ");
    if (rest !== line) return rest;
  }
  return undefined;
}
