import type { Locale } from "../kernel/locales.ts";
import { fold } from "../parse/text.ts";
import { pickOf } from "../parse/replies/pick.ts";
import type { Lexicon } from "../parse/lexicon/index.ts";
import { currentOf, openSlotsOf, withCurrent, withValues, type FormContext } from "./entries.ts";
import { askedOptional } from "./declines.ts";
import type { FormTexts, Offer, SlotValue } from "./form.ts";
import type { DoubtOption, FormState } from "./form-state.ts";
import { settleChoice, type Manner, type Moved } from "./moves.ts";

/** What a form asks before it goes on, in words, with its buttons. */
export interface OpenOffer extends Offer {
  /** The form after the answer with this place, or after none of them. */
  settle(picked: number | "none", context: FormContext): Moved;
  /** Spellings of each answer. */
  readonly options: readonly { readonly words: readonly string[] }[];
  /** Which answer the manner of the words gives, where they pick none by name. */
  readonly byManner: Readonly<Partial<Record<NonNullable<Manner>, number>>>;
}

/** What is open: whether another person is meant, people who were named besides, a value in doubt. */
export function openOffer(
  state: FormState,
  {
    texts,
    specs,
    identity,
  }: { texts: FormTexts; specs: FormContext["specs"]; identity?: string | undefined },
): OpenOffer | undefined {
  const { choice, doubts } = state.meta;
  const settle: OpenOffer["settle"] = (picked, context) =>
    settleChoice(state, picked === "none" ? NONE : picked, context);
  if (choice?.about === "change-or-add") {
    const current = identity === undefined ? undefined : state.slots[identity];
    const shown = (value: SlotValue): string => texts.value(identity ?? "", value);
    const offer = texts.changeOrAdd(shown(current ?? ""), shown(choice.other));
    const dropped: OpenOffer["settle"] = (picked, context) =>
      picked === "none" ? withoutChoice(state) : settle(picked, context);
    return {
      ...offer,
      settle: dropped,
      options: wordsOf(offer),
      byManner: { changes: 0, adds: 1 },
    };
  }
  if (choice) {
    const offer = texts.passedOver(choice.names); // as they were said
    const [yes = ""] = offer.buttons;
    const options = [{ words: [yes, ...choice.names] }];
    return { ...offer, settle, options, byManner: { adds: 0 } };
  }
  const slot = doubtedSlot(state, specs);
  return slot === undefined ? undefined : valueOffer(state, slot, doubts[slot]!, texts);
}

/** No button: nothing is added, and nothing changes. */
const NONE = 1;

function withoutChoice(state: FormState): Moved {
  const { choice: _, ...meta } = state.meta;
  return { state: { ...state, meta }, added: [], removed: [], leavesCurrent: false };
}

function wordsOf({ buttons }: Offer): OpenOffer["options"] {
  return buttons.map((words) => ({ words: [words] }));
}

/** The slot whose doubt is asked about: the one that is asked for anyway, else the first. */
function doubtedSlot(state: FormState, specs: FormContext["specs"]): string | undefined {
  const { asked } = openSlotsOf(state, specs);
  const doubted = Object.keys(state.meta.doubts);
  return doubted.find((slot) => slot === asked) ?? doubted[0];
}

function valueOffer(
  state: FormState,
  slot: string,
  options: readonly DoubtOption[],
  texts: FormTexts,
): OpenOffer {
  const shown = options.map(({ value }) => texts.value(slot, value));
  const values = options.map(({ value }) => value);
  return {
    question: texts.doubt(slot, values),
    buttons: shown.length === 1 ? texts.buttons.yesNo : shown,
    options: options.map(({ value }, place) => ({ words: [shown[place]!, String(value)] })),
    byManner: {},
    settle(picked, context) {
      const option = picked === "none" ? undefined : options[picked];
      const { [slot]: _, ...doubts } = state.meta.doubts;
      const left = { ...state, meta: { ...state.meta, doubts } };
      const judged = option && { value: option.value, note: option.note };
      const next = judged
        ? withCurrent(left, withValues(currentOf(left), { [slot]: judged }, context), context)
        : left;
      return { state: next, added: [], removed: [], leavesCurrent: false };
    },
  };
}

/** Which answer a message gives to an open offer; undefined where it says something else. Pure. */
export function answerTo(
  message: string,
  { buttons, options, byManner }: OpenOffer,
  { manner, lexicon }: { readonly manner: Manner; readonly lexicon: Lexicon },
): number | "none" | undefined {
  const pressed = buttons.findIndex((label) => fold(label) === fold(message.trim()));
  if (pressed >= 0) return pressed < options.length ? pressed : "none";
  const picked = pickOf(message, options, lexicon);
  if (picked !== undefined || manner === undefined || message.length > LONGEST_MANNER) {
    return picked;
  }
  return byManner[manner];
}

/** Characters of an answer that has only its manner: 바꿔줘, 둘 다 보내줘. */
const LONGEST_MANNER = 20;

/** Most buttons under a question. */
const MAX_BUTTONS = 6;

/** The values of a choice that is asked for alone, as buttons; and one to leave a slot empty. Pure. */
export function choicesOf(
  state: FormState,
  context: FormContext,
  { locale, texts }: { readonly locale: Locale; readonly texts: FormTexts },
): readonly string[] {
  const { specs } = context;
  const { asked, missing } = openSlotsOf(state, specs);
  const { options = [] } = (asked === undefined ? undefined : specs[asked]) ?? {};
  const skip = askedOptional(state, context) === undefined ? undefined : texts.buttons.skip;
  const isAlone = skip !== undefined || missing.every((slot) => slot === asked);
  const choices = isAlone && options.length <= MAX_BUTTONS ? options : [];
  const names = choices.map(({ names: ofOption, value }) => ofOption[locale] ?? value);
  return skip === undefined ? names : [...names, skip];
}
