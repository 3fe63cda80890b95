/** Slots that are one of several things, or a yes or a no. */

import type { Locale } from "../../kernel/locales.ts";
import { z } from "zod";
import { choiceReader } from "../../parse/choice.ts";
import { truthReader } from "../../parse/truth.ts";
import type { SlotOption, SlotSpec } from "../form.ts";
import { slotOf, takeExact, type KindOptions } from "./kind.ts";
import { checkedOptions, isSlotOption, KIND_OPTIONS, SPELLINGS } from "./options.ts";
import type { OptionKind } from "../../kernel/known-options.ts";

export interface ChoiceOptions<Value extends string> extends KindOptions<Value> {
  /** 1 to 50, each with a value of its own, and no name or synonym that means two of them. */
  readonly options: readonly SlotOption<Value>[];
}

const OPTIONS: OptionKind = {
  takes: 'a list such as [{ value: "debit", names: { en: "debit card" }, synonyms: ["debit"] }]',
  is: (value) => Array.isArray(value) && value.every(isSlotOption),
  isRequired: true,
};

const CHOICE_OPTIONS = { ...KIND_OPTIONS, options: OPTIONS };

/** One of several things: `체크카드`, `체크 카드로요`, `debit`. */
export function choiceSlot<const Value extends string>(
  given: ChoiceOptions<Value>,
): SlotSpec<Value> {
  const { options, ...own } = checkedOptions("choice", given, CHOICE_OPTIONS);
  const reader = choiceReader(
    options.map(({ value, names, synonyms = [] }) => ({
      value,
      names: [...Object.values(names), ...synonyms],
    })),
  );
  const show = (value: Value, locale: Locale): string => nameOf(options, value, locale);
  const list = (locale: Locale): string => listed(options.map(({ value }) => show(value, locale)));
  return slotOf<Value>(
    {
      type: "choice",
      reader: () => reader,
      parse: (raw) => {
        if (typeof raw !== "string") return { ok: false, error: "CHOICE_UNKNOWN" };
        const read = reader.parse(raw);
        const unclear = read.ok ? "CHOICE_SEVERAL" : "CHOICE_UNKNOWN";
        return takeExact(read, unclear);
      },
      schema: z.custom<Value>((value) => options.some((option) => option.value === value)),
      schemaError: "CHOICE_UNKNOWN",
      options,
      format: { ko: `다음 중 하나: ${list("ko")}`, en: `one of: ${list("en")}` },
      errors: {
        ko: {
          CHOICE_UNKNOWN: `다음 중에서 골라 주세요: ${list("ko")}`,
          CHOICE_SEVERAL: `하나만 골라 주세요: ${list("ko")}`,
        },
        en: {
          CHOICE_UNKNOWN: `Please choose one of these: ${list("en")}.`,
          CHOICE_SEVERAL: `Please choose only one of these: ${list("en")}.`,
        },
      },
      examples: options.flatMap(({ value }) => [show(value, "ko"), show(value, "en")]),
      show,
    },
    own,
  );
}

function nameOf(options: readonly SlotOption[], value: string, locale: Locale): string {
  const names = options.find((option) => option.value === value)?.names ?? {};
  return names[locale] ?? names.ko ?? names.en ?? value;
}

/** Options that one sentence names; a longer list is read by no one. */
const MOST_LISTED = 12;

function listed(names: readonly string[]): string {
  const first = names.slice(0, MOST_LISTED).join(", ");
  return names.length > MOST_LISTED ? `${first}, …` : first;
}

/** What people call a yes or a no to the slot, by language; the first is what they are shown. */
export type TruthWords = Readonly<Partial<Record<Locale, string | readonly string[]>>>;

export interface BooleanOptions extends KindOptions<boolean> {
  readonly yes?: TruthWords | undefined;
  readonly no?: TruthWords | undefined;
}

const BOOLEAN_OPTIONS = { ...KIND_OPTIONS, yes: SPELLINGS, no: SPELLINGS };

/** A yes or a no to one thing: `네`, `필요 없어요`, `조식 포함`, `without`. */
export function booleanSlot(options: BooleanOptions = {}): SlotSpec<boolean> {
  const { yes, no, ...own } = checkedOptions("boolean", options, BOOLEAN_OPTIONS);
  const reader = truthReader({ yes: wordsOf(yes), no: wordsOf(no) });
  const show = (value: boolean, locale: Locale): string => {
    const [first] = wordsOf({ [locale]: (value ? yes : no)?.[locale] ?? [] });
    return first ?? PLAIN[locale][value ? 0 : 1];
  };
  return slotOf<boolean>(
    {
      type: "boolean",
      reader: () => reader,
      parse: (raw) => {
        if (typeof raw === "boolean") return { ok: true, value: raw };
        if (typeof raw !== "string") return { ok: false, error: "ANSWER_UNCLEAR" };
        return takeExact(reader.parse(raw), "ANSWER_UNCLEAR");
      },
      schema: z.boolean(),
      schemaError: "ANSWER_UNCLEAR",
      format: { ko: "예 또는 아니요, true/false", en: "yes or no, true/false" },
      errors: {
        ko: {
          ANSWER_UNCLEAR: `둘 중 하나를 골라 주세요: ${show(true, "ko")}, ${show(false, "ko")}`,
        },
        en: { ANSWER_UNCLEAR: `Please choose: ${show(true, "en")} or ${show(false, "en")}.` },
      },
      examples: [show(true, "ko"), show(false, "ko"), show(true, "en"), show(false, "en")],
      show,
    },
    own,
  );
}

const PLAIN = { ko: ["네", "아니요"], en: ["yes", "no"] } as const;

function wordsOf(words: TruthWords = {}): readonly string[] {
  return Object.values(words).flat();
}
