import { DureError } from "../kernel/errors.ts";
import { spellingOf } from "../parse/choice.ts";
import { LOCALES, type Locale } from "../kernel/locales.ts";
import { choiceSlot } from "./kinds/choice.ts";
import { belongs } from "./entries.ts";
import { DEED_SLOT } from "./deed-slot.ts";
import type { Deed, FormTexts, NamedDeed, SlotForm, SlotSpec, SlotSpecs } from "./form.ts";
import type { SlotValues } from "./form-state.ts";
import { fold } from "../parse/text.ts";

/**
 * The slots of a form as its engine sees them: of several deeds the first slot says which one, and
 * the others are asked for by what that one needs. Pure.
 */
export function specsOf({ slots, deeds }: Pick<SlotForm, "slots" | "deeds">): SlotSpecs {
  if (!deeds) return slots;
  const needing = Object.entries(slots).map(([name, spec]) => [name, neededBy(name, spec, deeds)]);
  return { [DEED_SLOT]: deedSlot(deeds), ...(Object.fromEntries(needing) as SlotSpecs) };
}

function neededBy(name: string, spec: SlotSpec, deeds: NonNullable<SlotForm["deeds"]>): SlotSpec {
  return {
    ...spec,
    needed(known) {
      const deed = deeds[String(known[DEED_SLOT])];
      if (!deed) return false;
      if (deed.slots && !deed.slots.includes(name)) return false;
      const isAsked = spec.needed?.(known) ?? (spec.required || spec.askOnce === true);
      return deed.slots !== undefined || isAsked;
    },
    belongs(known) {
      const deed = deeds[String(known[DEED_SLOT])];
      if (!deed) return true;
      return deed.slots?.includes(name) ?? belongs(spec, known);
    },
  };
}

function deedSlot(deeds: NonNullable<SlotForm["deeds"]>): SlotSpec {
  assertToldApart(deeds);
  const options = Object.entries(deeds).map(([value, deed]) => ({
    value,
    names: deed.names,
    synonyms: [...(deed.says ?? []), ...(isCancelling(deed) ? CANCELLING : [])],
  }));
  const list = (locale: Locale): string =>
    options.map(({ value, names }) => `${value} (${names[locale] ?? value})`).join(", ");
  const description = Object.fromEntries(LOCALES.map((one) => [one, list(one)]));
  return { ...choiceSlot({ options }), description };
}

/** Throws `FORM_INVALID` for two deeds that are asked for with the same words. */
function assertToldApart(deeds: NonNullable<SlotForm["deeds"]>): void {
  const known = new Map<string, string>();
  for (const [deed, { names = {}, says = [] }] of Object.entries<Partial<NamedDeed>>(deeds)) {
    for (const words of [...Object.values(names), ...says]) {
      const other = known.get(spellingOf(words)) ?? deed;
      if (other !== deed) {
        throw new DureError("FORM_INVALID", `Deeds ${other} and ${deed}: both are "${words}".`, {
          hint: "Take the words out of says or names of one of the two.",
          class: "input",
        });
      }
      known.set(spellingOf(words), deed);
    }
  }
}

/** What a deed that cancels is called in short: 취소해 주세요, please cancel it. */
const CANCELLING = ["취소", "cancel"];

/** What a yes to these values does; undefined while it is not known which deed is meant. Pure. */
export function deedOf({ deed, deeds }: SlotForm, slots: SlotValues): Deed | undefined {
  return deed ?? deeds?.[String(slots[DEED_SLOT])];
}

/** Whether a deed of the form is itself called a cancelling: 취소 is then no end of the form. Pure. */
export function cancelsByName({ deeds = {} }: Pick<SlotForm, "deeds">): boolean {
  return Object.values(deeds).some(isCancelling);
}

/** Whether the deed that waits for its yes is called a cancelling. Pure. */
export function isCancellingDeed(
  { deeds = {} }: Pick<SlotForm, "deeds">,
  slots: SlotValues,
): boolean {
  const deed = deeds[String(slots[DEED_SLOT])];
  return deed !== undefined && isCancelling(deed);
}

function isCancelling({ names, says = [] }: NamedDeed): boolean {
  return [...Object.values(names), ...says].some(saysCancel);
}

/** Whether words speak of cancelling by name: 취소해줘, and no 그만둘래. Pure. */
export function saysCancel(words: string): boolean {
  return /취소|cancel/u.test(fold(words));
}

/** The texts of a form, with its deeds under the names of their buttons. Pure. */
export function withDeedNames(texts: FormTexts, specs: SlotSpecs, locale: Locale): FormTexts {
  const deed = specs[DEED_SLOT];
  if (!deed?.show) return texts;
  const show = deed.show.bind(deed);
  return {
    ...texts,
    value: (slot, value) => (slot === DEED_SLOT ? show(value, locale) : texts.value(slot, value)),
    slotError: (error, slot) =>
      (slot === DEED_SLOT ? deed.errors?.[locale]?.[error] : undefined) ??
      texts.slotError(error, slot),
    doubt: (slot, options) =>
      texts.doubt(slot, slot === DEED_SLOT ? options.map((value) => show(value, locale)) : options),
  };
}

/**
 * Whether words say not to do one of these: don't move it, 옮기지 마. They are the first word of what a
 * deed is called in English, and the stem of its last one in Korean. Pure.
 */
export function saysNotTo(message: string, deeds: readonly NamedDeed[]): boolean {
  const line = fold(message).replaceAll(/['’]/gu, "");
  return deeds.some(({ names, says = [] }) => {
    const all = [...Object.values(names), ...says].map((words) => fold(words).split(" "));
    const verbs = all.flatMap(([first = ""]) => (/^[a-z]+$/u.test(first) ? [first] : []));
    const stems = all.flatMap(
      (words) => /^([가-힣]+)기$/u.exec(words.at(-1) ?? "")?.slice(1) ?? [],
    );
    return (
      verbs.some((verb) =>
        new RegExp(`\\b(?:dont|do not|never) (?:please )?${verb}\\b`, "u").test(line),
      ) || stems.some((stem) => new RegExp(`${stem}지 ?(?:마|말)`, "u").test(line))
    );
  });
}

/** What the buttons of its question say: the deed, and to leave it. Pure. */
export function deedButtons(
  { deeds = {} }: Pick<SlotForm, "deeds">,
  slots: SlotValues,
  locale: Locale,
): readonly [string, string] | undefined {
  const deed = deeds[String(slots[DEED_SLOT])];
  const name = deed?.names[locale];
  return name === undefined ? undefined : [name, LEAVE[locale]];
}

const LEAVE = { ko: "그만두기", en: "Never mind" } as const satisfies Record<Locale, string>;
