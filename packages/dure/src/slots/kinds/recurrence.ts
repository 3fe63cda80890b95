/** A slot that is something that happens again and again. */

import type { Locale } from "../../kernel/locales.ts";
import { z } from "zod";
import { recurrenceReader } from "../../parse/days/recurrence.ts";
import type { SlotSpec } from "../form.ts";
import { lineOf, slotOf, takeExact, type KindOptions } from "./kind.ts";
import { checkedOptions, KIND_OPTIONS } from "./options.ts";

/** A rule of iCalendar (RFC 5545): `매달 25일` is `FREQ=MONTHLY;BYMONTHDAY=25`. */
export function recurrenceSlot(options: KindOptions<string> = {}): SlotSpec<string> {
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
