import { LOCALES } from "../kernel/locales.ts";
import { unknownOption, unknownValue, type OptionProblem } from "../kernel/known-options.ts";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { todayIn, type IsoDate } from "../parse/days/days.ts";
import { DEED_SLOT } from "./deed-slot.ts";
import {
  SLOT_TYPES,
  type Deed,
  type Look,
  type NamedDeed,
  type SlotForm,
  type SlotSpec,
} from "./form.ts";
import { valuesProblem } from "./kinds/check.ts";

const FORM_OPTIONS = {
  flow: true,
  slots: true,
  deed: true,
  deeds: true,
  look: true,
  texts: true,
  examples: true,
  entities: true,
  words: true,
  doubts: true,
  refuses: true,
  maxFillTurns: true,
} satisfies Record<keyof SlotForm, true>;

const SLOT_OPTIONS = {
  required: true,
  askOnce: true,
  needed: true,
  belongs: true,
  type: true,
  description: true,
  identifies: true,
  isAmount: true,
  reader: true,
  remark: true,
  parse: true,
  schema: true,
  schemaError: true,
  validate: true,
  examples: true,
  show: true,
  errors: true,
  options: true,
  limits: true,
} satisfies Record<keyof SlotSpec, true>;

const DEED_OPTIONS = {
  call: true,
  tool: true,
  input: true,
  details: true,
} satisfies Record<keyof Deed, true>;

const NAMED_DEED_OPTIONS = {
  ...DEED_OPTIONS,
  names: true,
  says: true,
  slots: true,
} satisfies Record<keyof NamedDeed, true>;

const LOOK_OPTIONS = {
  call: true,
  tool: true,
  input: true,
  errors: true,
} satisfies Record<keyof Look, true>;

/**
 * Throws `FORM_INVALID` where an option is misspelt (nothing would read it), and for what can never
 * work: no deed, no language, a slot without a name, one that refuses what it says that it takes.
 * `today`: the day that examples such as 내일 are seen from.
 */
export function assertForm(
  form: SlotForm,
  today: IsoDate = todayIn("UTC", systemClock.now()),
): void {
  const where = `Form ${form.flow}`;
  check(where, unknownOption(form, FORM_OPTIONS) ?? speechless(form) ?? deedProblem(form));
  check(`${where}, deed`, form.deed && unknownOption(form.deed, DEED_OPTIONS));
  for (const [name, deed] of Object.entries(form.deeds ?? {})) {
    check(`${where}, deed ${name}`, namedDeedProblem(form, deed));
  }
  check(`${where}, look`, form.look && lookProblem(form, form.look));
  for (const [name, slot] of Object.entries(form.slots)) {
    const problem =
      unknownOption(slot, SLOT_OPTIONS) ?? unknownValue("type", slot.type, SLOT_TYPES);
    const slotOf = `Slot ${name} of form ${form.flow}`;
    check(slotOf, problem ?? nameless(form, name) ?? valuesProblem(name, form.slots, today));
  }
}

function speechless({ texts }: SlotForm): OptionProblem | undefined {
  if (LOCALES.some((locale) => texts[locale] !== undefined)) return undefined;
  return { message: "it has no texts.", hint: "Give them in one language or both: texts: { en }." };
}

function deedProblem({ deed, deeds, slots }: SlotForm): OptionProblem | undefined {
  if ((deed === undefined) === (deeds === undefined)) {
    return {
      message: deed ? "it has both deed and deeds." : "a yes would lead to nothing.",
      hint: "Give either deed, or deeds with a name for each.",
    };
  }
  if (deed?.tool.effect === "none") return DOES_NOTHING;
  if (deeds && Object.keys(deeds).length === 0) {
    return { message: "deeds is empty.", hint: "Name at least one: deeds: { book: … }." };
  }
  if (!deeds || !Object.hasOwn(slots, DEED_SLOT)) return undefined;
  return {
    message: `a slot has the name ${DEED_SLOT}, which says which deed is meant.`,
    hint: "Give that slot another name.",
  };
}

const DOES_NOTHING: OptionProblem = {
  message: "its tool has no effect, so that a yes would do nothing once.",
  hint: 'Say how it is done: effect: "once" or "idempotent".',
};

function namedDeedProblem(form: SlotForm, deed: NamedDeed): OptionProblem | undefined {
  const unknown = unknownOption(deed, NAMED_DEED_OPTIONS);
  if (unknown) return unknown;
  if (deed.tool.effect === "none") return DOES_NOTHING;
  const language = spoken(form).find((one) => deed.names?.[one] === undefined);
  if (language !== undefined) {
    return {
      message: `its button has no words in names.${language}.`,
      hint: 'Say what it does: names: { en: "Book" }.',
    };
  }
  const stranger = deed.slots?.find((slot) => !Object.hasOwn(form.slots, slot));
  if (stranger === undefined) return undefined;
  return {
    message: `it needs a slot ${stranger}, which the form does not have.`,
    hint: `Its slots are ${Object.keys(form.slots).join(", ")}.`,
  };
}

/** The languages that a form speaks. */
function spoken({ texts }: SlotForm): readonly (typeof LOCALES)[number][] {
  return LOCALES.filter((locale) => texts[locale] !== undefined);
}

function lookProblem(form: SlotForm, look: Look): OptionProblem | undefined {
  const unknown = unknownOption(look, LOOK_OPTIONS);
  if (unknown) return unknown;
  if (look.tool.effect !== "none") {
    return { message: "its tool has an effect.", hint: 'A look changes nothing: effect: "none".' };
  }
  const { texts } = form;
  const language = spoken(form).find((one) => texts[one]?.unchecked === undefined);
  if (language === undefined) return undefined;
  return {
    message: `there are no words in texts.${language}.unchecked for a look without an answer.`,
    hint: "Say what is not known, and who decides it later.",
  };
}

function nameless(form: SlotForm, name: string): OptionProblem | undefined {
  const { texts } = form;
  const language = spoken(form).find((one) => texts[one]?.slotNames[name] === undefined);
  if (language === undefined) return undefined;
  return {
    message: `it has no name for people in texts.${language}.slotNames.`,
    hint: `Give it one: slotNames: { ${name}: "…" }.`,
  };
}

function check(where: string, problem: OptionProblem | undefined): void {
  if (problem === undefined) return;
  const { message, hint } = problem;
  throw new DureError("FORM_INVALID", `${where}: ${message}`, { class: "input", hint });
}
