import { booleanSlot, choiceSlot } from "./choice.ts";
import { dateRangeSlot, dateSlot } from "./days.ts";
import { moneySlot, numberSlot } from "./numbers.ts";
import { addressSlot, fileSlot, textSlot } from "./text.ts";
import { timeSlot } from "./time.ts";
import { z } from "zod";
import { choiceReader } from "../../parse/choice.ts";
import { personReader } from "../../parse/people/payments.ts";
import { parsePerson } from "../../parse/people/person.ts";
import { formatPhone, isPhone, phoneReader, type PhoneNumber } from "../../parse/phone.ts";
import type { Reader } from "../../parse/reading.ts";
import type { SlotSpec } from "../form.ts";
import { lineOf, slotOf, takeExact, type KindOptions } from "./kind.ts";
import { checkedOptions, KIND_OPTIONS, oneOfWords, TEXTS } from "./options.ts";
import type { Locale } from "../../kernel/locales.ts";
import { recurrenceReader } from "../../parse/days/recurrence.ts";

/**
 * Slots of the kinds of values that people give. Each has its reader, its checks, its errors with
 * sentences in both languages, and how it is shown:
 *
 *     const SLOTS = {
 *       day: slot.date(),
 *       time: slot.time({ from: "09:00", to: "18:00", step: 30 }),
 *       people: slot.number({ min: 1, max: 20, unit: { ko: "명", en: "people" } }),
 *       card: slot.choice({ options: [{ value: "debit", names: { ko: "체크카드", en: "debit card" } }] }),
 *     };
 */
export const slot = {
  text: textSlot,
  number: numberSlot,
  money: moneySlot,
  date: dateSlot,
  dateRange: dateRangeSlot,
  time: timeSlot,
  choice: choiceSlot,
  boolean: booleanSlot,
  person: personSlot,
  phone: phoneSlot,
  address: addressSlot,
  file: fileSlot,
  recurrence: recurrenceSlot,
} as const;

// --- people

/** Slots that are a person, or how one is reached. */

interface PersonOptions extends KindOptions<string> {
  /** Names that are known: each is found in a sentence, also where nothing marks it as a name. */
  readonly contacts?: readonly string[] | undefined;
}

const PERSON_OPTIONS = { ...KIND_OPTIONS, contacts: TEXTS };

/** Most characters of a name or an account. */
const LONGEST_NAME = 60;

/** A person or an account, kept as it was said: `엄마`, `홍길동`, `국민 110-234-567890`. */
function personSlot(options: PersonOptions = {}): SlotSpec<string> {
  const { contacts = [], ...own } = checkedOptions("person", options, PERSON_OPTIONS);
  const known = choiceReader(contacts.map((name) => ({ value: name, names: [name] })));
  const reader: Reader<string> = {
    parse: (words) => {
      const contact = known.parse(words);
      return contact.ok && contact.sure === "exact" ? contact : plainName(words);
    },
    find: (sentence) => {
      const named = known.find(sentence);
      const names = new Set(named.map((one) => (one.ok ? one.value : "")));
      const others = personReader.find(sentence).filter((one) => !one.ok || !names.has(one.value));
      return [...named, ...others].toSorted((a, b) => a.at - b.at);
    },
  };
  return slotOf<string>(
    {
      type: "person",
      reader: () => reader,
      parse: (raw) => takeExact(reader.parse(lineOf(raw)), "PERSON_UNCLEAR"),
      schema: z.string().min(1).max(LONGEST_NAME),
      schemaError: "PERSON_LONG",
      format: { ko: "이름, 별명, 계좌번호", en: "a name, a nickname or an account number" },
      errors: {
        ko: {
          PERSON_UNCLEAR: "이름을 다시 말씀해 주세요. 예: 홍길동",
          PERSON_LONG: `이름은 ${LONGEST_NAME}자까지 쓸 수 있어요.`,
        },
        en: {
          PERSON_UNCLEAR: "Please say the name again, such as John Smith.",
          PERSON_LONG: `A name may have up to ${LONGEST_NAME} characters.`,
        },
      },
      examples: ["홍길동", "엄마", "John Smith"],
      show: (value) => value,
    },
    own,
  );
}

/** Politeness and possessives go one behind the other; a name has no more of them. */
const MOST_STEPS = 8;

/** 제 이름은 홍길동이에요, my name is John Smith. */
const INTRODUCES =
  /^(?:(?:제|내|저의) ?(?:이름|성함)은|이름은|성함은|(?:my |the )?name(?: is|'s|:)|i'?m|i am|it'?s|this is) ?(?=\S)/iu;

/** A name that is read once more stays as it is. */
function plainName(words: string): ReturnType<typeof parsePerson> {
  let read = parsePerson(words.replace(INTRODUCES, ""));
  for (let step = 0; step < MOST_STEPS && read.ok; step++) {
    const again = parsePerson(read.value);
    if (!again.ok || again.value === read.value) return again.ok ? { ...read, words } : again;
    read = again;
  }
  return read;
}

interface PhoneOptions extends KindOptions<PhoneNumber> {
  /** Whose numbers are read without a `+`. */
  readonly region?: "KR" | undefined;
}

const PHONE_OPTIONS = { ...KIND_OPTIONS, region: oneOfWords(["KR"]) };

/** A phone number, kept as `01012345678`, of other countries as `+14155550123`. */
function phoneSlot(options: PhoneOptions = {}): SlotSpec<PhoneNumber> {
  const own = checkedOptions("phone", options, PHONE_OPTIONS);
  return slotOf<PhoneNumber>(
    {
      type: "phone",
      reader: () => phoneReader,
      parse: (raw) =>
        takeExact(phoneReader.parse(typeof raw === "string" ? raw : ""), "PHONE_UNCLEAR", {
          "wrong-length": "PHONE_LENGTH",
        }),
      schema: z.string().refine(isPhone),
      schemaError: "PHONE_UNCLEAR",
      format: { ko: "전화번호, 숫자만", en: "a phone number, digits alone" },
      errors: {
        ko: {
          PHONE_UNCLEAR: "전화번호를 말씀해 주세요. 예: 010-1234-5678",
          PHONE_LENGTH: "전화번호의 자릿수가 맞지 않아요. 예: 010-1234-5678",
        },
        en: {
          PHONE_UNCLEAR: "I need a phone number, such as 010-1234-5678.",
          PHONE_LENGTH: "That phone number has too few or too many digits.",
        },
      },
      examples: ["010-1234-5678", "02-123-4567", "+82 10-1234-5678"],
      show: formatPhone,
    },
    own,
  );
}

// --- recurrence

/** A slot that is something that happens again and again. */

/** A rule of iCalendar (RFC 5545): `매달 25일` is `FREQ=MONTHLY;BYMONTHDAY=25`. */
function recurrenceSlot(options: KindOptions<string> = {}): SlotSpec<string> {
  const own = checkedOptions("recurrence", options, KIND_OPTIONS);
  return slotOf<string>(
    {
      type: "recurrence",
      reader: () => recurrenceReader,
      parse: (raw) =>
        takeExact(recurrenceReader.parse(lineOf(raw)), "RECURRENCE_UNCLEAR", {
          "how-often": "RECURRENCE_HOW_OFTEN",
        }),
      schema: z.string().regex(RULE),
      schemaError: "RECURRENCE_UNCLEAR",
      format: { ko: "되풀이 규칙, FREQ=…", en: "a rule of iCalendar, FREQ=…" },
      errors: {
        ko: {
          RECURRENCE_UNCLEAR: "얼마나 자주인지 말씀해 주세요. 예: 매달 25일",
          RECURRENCE_HOW_OFTEN: "매일, 매주, 매달 중 언제인지 말씀해 주세요. 예: 매달 25일",
        },
        en: {
          RECURRENCE_UNCLEAR: "I need how often, such as every month on the 25th.",
          RECURRENCE_HOW_OFTEN: "Is it every day, week or month? Such as every month on the 25th.",
        },
      },
      examples: ["매달 25일", "매주 월요일", "every Monday"],
      show: showRule,
    },
    own,
  );
}

/** As `recurrenceReader` gives it, and as a model may. */
const RULE = /^FREQ=(?:DAILY|WEEKLY|MONTHLY|YEARLY)(?:;[A-Z]{3,12}=[-+A-Z0-9,]{1,20}){0,4}$/u;

const WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
const WEEKDAYS_EN = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" ");

interface Rule {
  readonly every: string;
  readonly interval: number;
  /** Of the month; -1 is the last. */
  readonly day: number | undefined;
  /** 0 Monday … 6 Sunday. */
  readonly weekday: number | undefined;
}

/** `매달 25일`, `every other week on Monday`. A rule that says more is shown as it is. */
function showRule(text: string, locale: Locale): string {
  const rule = ruleOf(text);
  if (!rule) return text;
  return (locale === "ko" ? korean(rule) : english(rule)) ?? text;
}

function ruleOf(text: string): Rule | undefined {
  const parts = new Map(text.split(";").map((part) => part.split("=", 2) as [string, string]));
  const names = ["FREQ", "INTERVAL", "BYMONTHDAY", "BYDAY"];
  if ([...parts.keys()].some((name) => !names.includes(name))) return undefined;
  const [day, byDay] = [parts.get("BYMONTHDAY"), parts.get("BYDAY")];
  const weekday = byDay === undefined ? undefined : WEEKDAYS.indexOf(byDay);
  if (weekday === -1 || day?.includes(",")) return undefined;
  return {
    every: parts.get("FREQ") ?? "",
    interval: Number(parts.get("INTERVAL") ?? 1),
    day: day === undefined ? undefined : Number(day),
    weekday,
  };
}

const KOREAN: Readonly<Record<string, string>> = {
  DAILY1: "매일",
  WEEKLY1: "매주",
  WEEKLY2: "격주",
  MONTHLY1: "매달",
  YEARLY1: "매년",
};

function korean({ every, interval, day, weekday }: Rule): string | undefined {
  const often = KOREAN[`${every}${interval}`];
  if (often === undefined || (day ?? 0) < -1) return undefined;
  if (day !== undefined) return `${often} ${day === -1 ? "말일" : `${day}일`}`;
  return weekday === undefined ? often : `${often} ${"월화수목금토일"[weekday]}요일`;
}

const UNITS: Readonly<Record<string, string>> = {
  DAILY: "day",
  WEEKLY: "week",
  MONTHLY: "month",
  YEARLY: "year",
};

function english({ every, interval, day, weekday }: Rule): string | undefined {
  const unit = UNITS[every];
  if (unit === undefined || interval > 2 || (day ?? 0) < -1) return undefined;
  const often = interval === 1 ? `every ${unit}` : `every other ${unit}`;
  if (day === -1) return `${often} on the last day`;
  if (day !== undefined) return `${often} on the ${ordinal(day)}`;
  return weekday === undefined ? often : `${often} on ${WEEKDAYS_EN[weekday]}`;
}

function ordinal(day: number): string {
  const isTeen = day > 10 && day < 14;
  const ending = isTeen ? "th" : (["th", "st", "nd", "rd"][day % 10] ?? "th");
  return `${day}${ending}`;
}
