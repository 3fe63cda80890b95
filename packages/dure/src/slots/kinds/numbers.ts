/** Slots that are a number: of things, and of won. */

import type { Locale } from "../../kernel/locales.ts";
import { z } from "zod";
import { formatAmount } from "../../parse/money/amount.ts";
import { moneyLimitReader, moneyReader } from "../../parse/money/find-money.ts";
import { findBy } from "../../parse/find-by.ts";
import { monthlyReader } from "../../parse/money/monthly-money.ts";
import { numberReader } from "../../parse/number.ts";
import { COUNT_SOURCES } from "../../parse/number-words.ts";
import type { Reader } from "../../parse/reading.ts";
import type { SlotRead, SlotSpec } from "../form.ts";
import { slotOf, takeExact, type KindOptions } from "./kind.ts";
import {
  checkedOptions,
  COUNT,
  KIND_OPTIONS,
  NUMBER,
  oneOfWords,
  SWITCH,
  WORDS,
} from "./options.ts";

export interface NumberOptions extends KindOptions<number> {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Whether a fraction is refused. Default: true. */
  readonly integer?: boolean | undefined;
  /** What is counted, as it stands behind the number: `{ ko: "명", en: "people" }`. */
  readonly unit?: Readonly<Partial<Record<Locale, string>>> | undefined;
}

const NUMBER_OPTIONS = {
  ...KIND_OPTIONS,
  min: NUMBER,
  max: NUMBER,
  integer: SWITCH,
  unit: WORDS,
};

/** How many, how old, how long: `12명`, `세 개`, `two`, `3.5`. */
export function numberSlot(options: NumberOptions = {}): SlotSpec<number> {
  const { integer = true, unit, ...more } = checkedOptions("number", options, NUMBER_OPTIONS);
  const { min, max, ...own } = integer ? inWholes(more) : more;
  const show = (value: number, locale: Locale): string => withUnit(plain(value), unit, locale);
  const example = within(2, min, max);
  const reader = readerOf(unit);
  const whole = integer ? z.int() : z.number();
  return slotOf<number>(
    {
      type: integer ? "integer" : "number",
      reader: () => reader,
      parse: (raw) => {
        const read = typeof raw === "number" ? finite(raw) : takeNumber(raw, reader);
        if (!read.ok || !integer || Number.isInteger(read.value)) return read;
        return { ok: false, error: "NUMBER_WHOLE" };
      },
      schema: whole.min(min ?? -Infinity).max(max ?? Infinity),
      schemaError: "NUMBER_RANGE",
      limits: { min, max },
      errors: {
        ko: {
          NUMBER_UNCLEAR: `숫자를 정확히 말씀해 주세요. 예: ${show(example, "ko")}`,
          NUMBER_WHOLE: "소수점 없이 말씀해 주세요.",
          NUMBER_RANGE: `${rangeKo(min, max, (value) => show(value, "ko"))} 말씀해 주세요.`,
        },
        en: {
          NUMBER_UNCLEAR: `I need an exact number, such as ${show(example, "en")}.`,
          NUMBER_WHOLE: "I need a whole number.",
          NUMBER_RANGE: `It must be ${rangeEn(min, max, (value) => show(value, "en"))}.`,
        },
      },
      examples: [show(example, "ko"), show(example, "en")],
      show,
    },
    own,
  );
}

/** Whole numbers at least 2.5 are at least 3. */
function inWholes(options: Omit<NumberOptions, "integer" | "unit">): typeof options {
  const { min, max } = options;
  return { ...options, min: min && Math.ceil(min), max: max && Math.floor(max) };
}

function finite(raw: number): SlotRead<number> {
  return Number.isFinite(raw) ? { ok: true, value: raw } : { ok: false, error: "NUMBER_UNCLEAR" };
}

function takeNumber(raw: unknown, reader: Reader<number>): SlotRead<number> {
  if (typeof raw !== "string") return { ok: false, error: "NUMBER_UNCLEAR" };
  return takeExact(reader.parse(raw), "NUMBER_UNCLEAR");
}

/** By the slot's own unit too: 두 그릇; in a sentence with others those of it: 4 of 4명이 2개. */
function readerOf(unit: NumberOptions["unit"]): Reader<number> {
  if (!unit) return numberReader;
  const { ko = "명", en = "item" } = unit;
  const [korean, english] = [ko, en.replace(/s$/u, "")].map((name) =>
    name.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&"),
  );
  const named = ` ?(?:${korean}|${english}s?)(?![a-z])`;
  const counted = new RegExp(
    `(?<![\\p{L}\\d.,:/+-])(?:${COUNT_SOURCES.korean}|${COUNT_SOURCES.english})${named}`,
    "giu",
  );
  const parse: Reader<number>["parse"] = (words) => {
    const read = numberReader.parse(words);
    if (read.ok) return read;
    return { ...numberReader.parse(words.replace(new RegExp(named, "iu"), "개")), words };
  };
  const find: Reader<number>["find"] = (sentence) => {
    const own = findBy(sentence, counted, parse);
    return own.length > 0 ? own : numberReader.find(sentence);
  };
  return { parse, find };
}

export interface MoneyOptions extends KindOptions<number> {
  /** Default: 1. */
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** The most that may be spent: `3만원 이하` is exact then. */
  readonly limit?: boolean | undefined;
  /** It is an amount of each month: `월 200만원` and `2 million won a month` are the amount then. */
  readonly per?: "month" | undefined;
}

const MONEY_OPTIONS = {
  ...KIND_OPTIONS,
  min: COUNT,
  max: COUNT,
  limit: SWITCH,
  per: oneOfWords(["month"]),
};

/** Whole won: `5만원`, `3만5천원`, `50k won`. */
export function moneySlot(options: MoneyOptions = {}): SlotSpec<number> {
  const {
    min = 1,
    max = Number.MAX_SAFE_INTEGER,
    limit = false,
    per,
    isAmount = true,
    ...own
  } = checkedOptions("money", options, MONEY_OPTIONS);
  const amount = limit ? moneyLimitReader : moneyReader;
  const reader = per === undefined ? amount : monthlyReader(amount);
  const most = options.max;
  return slotOf<number>(
    {
      type: "money",
      reader: () => reader,
      parse: (raw) => takeMoney(raw, reader),
      schema: z.int().min(min).max(max),
      schemaError: "AMOUNT_RANGE",
      limits: { min, max: most },
      format: { ko: "금액, 원 단위 숫자", en: "an amount, the number of won" },
      errors: {
        ko: {
          AMOUNT_UNCLEAR: `금액을 정확히 말씀해 주세요. 예: ${formatAmount(Math.max(min, 30_000), "ko")}`,
          AMOUNT_NOT_POSITIVE: "0원보다 큰 금액을 말씀해 주세요.",
          AMOUNT_FRACTION: "1원 단위로 말씀해 주세요.",
          AMOUNT_CURRENCY: "원화로 말씀해 주세요.",
          AMOUNT_RANGE: `${rangeKo(min, most, (won) => formatAmount(won, "ko"))} 말씀해 주세요.`,
        },
        en: {
          AMOUNT_UNCLEAR: `I need an exact amount, such as ${formatAmount(Math.max(min, 30_000), "en")}.`,
          AMOUNT_NOT_POSITIVE: "I need an amount above zero.",
          AMOUNT_FRACTION: "I need an amount in whole won.",
          AMOUNT_CURRENCY: "I need an amount in won.",
          AMOUNT_RANGE: `It must be ${rangeEn(min, most, (won) => formatAmount(won, "en"))}.`,
        },
      },
      examples: [formatAmount(within(50_000, min, max), "ko")],
      show: formatAmount,
    },
    { ...own, isAmount },
  );
}

const AMOUNT_ERRORS: Readonly<Record<string, string>> = {
  negative: "AMOUNT_NOT_POSITIVE",
  zero: "AMOUNT_NOT_POSITIVE",
  fraction: "AMOUNT_FRACTION",
  "foreign-currency": "AMOUNT_CURRENCY",
};

function takeMoney(raw: unknown, reader: Reader<number>): SlotRead<number> {
  if (typeof raw === "string") return takeExact(reader.parse(raw), "AMOUNT_UNCLEAR", AMOUNT_ERRORS);
  if (typeof raw !== "number" || !Number.isFinite(raw)) {
    return { ok: false, error: "AMOUNT_UNCLEAR" };
  }
  if (raw <= 0) return { ok: false, error: "AMOUNT_NOT_POSITIVE" };
  return Number.isInteger(raw) ? { ok: true, value: raw } : { ok: false, error: "AMOUNT_FRACTION" };
}

// --- words

function within(value: number, min = -Infinity, max = Infinity): number {
  return Math.min(Math.max(value, min), max);
}

/** Without an exponent, which no reader takes. */
function plain(value: number): string {
  return value.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 6 });
}

function withUnit(text: string, unit: NumberOptions["unit"], locale: Locale): string {
  if (!unit) return text;
  return locale === "ko" ? `${text}${unit.ko ?? ""}` : `${text} ${unit.en ?? ""}`.trim();
}

type Show = (value: number) => string;

function rangeKo(min: number | undefined, max: number | undefined, show: Show): string {
  if (min !== undefined && max !== undefined) return `${show(min)}에서 ${show(max)} 사이로`;
  if (min !== undefined) return `${show(min)} 이상으로`;
  return max === undefined ? "다른 숫자로" : `${show(max)} 이하로`;
}

function rangeEn(min: number | undefined, max: number | undefined, show: Show): string {
  if (min !== undefined && max !== undefined) {
    const [first] = show(min).split(" ");
    return `between ${first} and ${show(max)}`;
  }
  if (min !== undefined) return `${show(min)} or more`;
  return max === undefined ? "another number" : `${show(max)} or less`;
}
