/**
 * What an author may say to the kinds of `slot`. An option that does not exist, or that can never
 * work, is refused where the slot is made: `SLOT_INVALID`, with the kind, the option, and what to do.
 */

import { LOCALES } from "../../kernel/locales.ts";
import { DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { wrongOption, type OptionKind, type OptionProblem } from "../../kernel/known-options.ts";
import type { SlotOption } from "../form.ts";
import type { KindOptions } from "./kind.ts";

/** The options, as they were given. Throws `SLOT_INVALID`. */
export function checkedOptions<Options extends object>(
  kind: string,
  options: Options,
  known: Readonly<Record<keyof Options & string, OptionKind>>,
): Options {
  const problem = wrongOption(options, known);
  if (problem) throw slotError(kind, problem);
  return options;
}

/** What an author is told of a slot that cannot be made: `SLOT_INVALID`. */
export function slotError(kind: string, { message, hint }: OptionProblem): DureError {
  return new DureError("SLOT_INVALID", `slot.${kind}: ${message}`, { class: "input", hint });
}

// --- what options take

export const SWITCH: OptionKind = {
  takes: "true or false",
  is: (value) => typeof value === "boolean",
};

const FUNCTION: OptionKind = {
  takes: "a function",
  is: (value) => typeof value === "function",
};

export const TEXTS: OptionKind = { takes: 'a list of texts, such as ["…"]', is: isTexts };

/** A number that is no NaN. */
export const NUMBER: OptionKind = { takes: "a number", is: Number.isFinite };

/** A number of characters, or of won. */
export const COUNT: OptionKind = {
  takes: "a whole number of 0 or more",
  is: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
};

/** `{ ko: "…", en: "…" }`, in one language or both. */
export const WORDS: OptionKind = {
  takes: '{ ko: "…", en: "…" }',
  is: (value) => isByLanguage(value, isText),
};

/** Words in each language; of which one has several. */
export const SPELLINGS: OptionKind = {
  takes: '{ ko: "…", en: ["…", "…"] }',
  is: (value) => isByLanguage(value, (words) => isText(words) || isTexts(words)),
};

const ERRORS: OptionKind = {
  takes: '{ en: { KEY: "sentence" } }',
  is: (value) =>
    isByLanguage(value, (words) => isObject(words) && Object.values(words).every(isText)),
};

/** One of these words. */
export function oneOfWords(words: readonly string[]): OptionKind {
  return {
    takes: words.map((word) => `"${word}"`).join(" or "),
    is: (value) => words.includes(value as string),
  };
}

/** What every kind takes. */
export const KIND_OPTIONS = {
  required: SWITCH,
  askOnce: SWITCH,
  description: WORDS,
  needed: FUNCTION,
  identifies: SWITCH,
  isAmount: SWITCH,
  examples: TEXTS,
  errors: ERRORS,
  validate: FUNCTION,
} as const satisfies Readonly<Record<keyof KindOptions<string>, OptionKind>>;

/** `{ value, names, synonyms }` of a choice. */
export function isSlotOption(value: unknown): boolean {
  if (!isObject(value) || wrongOption(value, SLOT_OPTION) !== undefined) return false;
  return value["value"] !== "";
}

const SLOT_OPTION = {
  value: { takes: "a text", is: isText, isRequired: true },
  names: { ...WORDS, isRequired: true },
  synonyms: TEXTS,
} satisfies Readonly<Record<keyof SlotOption, OptionKind>>;

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

function isByLanguage(value: unknown, isWord: (word: unknown) => boolean): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(
    ([language, words]) =>
      LOCALES.some((known) => known === language) && (words === undefined || isWord(words)),
  );
}
