/** A slot that is a time of the day. */

import type { Locale } from "../../kernel/locales.ts";
import { z } from "zod";
import type { OptionKind } from "../../kernel/known-options.ts";
import { findBy } from "../../parse/find-by.ts";
import { MARK_BEFORE, MARK_BEHIND, withoutMarks } from "../../parse/marks.ts";
import { notUnderstood, understood, type Reader, type Reading } from "../../parse/reading.ts";
import { fold } from "../../parse/text.ts";
import { parseTime, TIME_SOURCE, type IsoTime } from "../../parse/days/time.ts";
import type { SlotContext, SlotSpec } from "../form.ts";
import { hasSlot, slotOf, takeExact, type KindErrors, type KindOptions } from "./kind.ts";
import { checkedOptions, KIND_OPTIONS, slotError } from "./options.ts";

export interface TimeOptions extends KindOptions<IsoTime> {
  /** The first time that is taken, `09:00`. Later than `to`: the night lies between them. */
  readonly from?: IsoTime | undefined;
  /** The last time that is taken. */
  readonly to?: IsoTime | undefined;
  /** Minutes between the times that are taken, counted from the full hour: 30. Default: 1. */
  readonly step?: number | undefined;
}

interface OpenHours {
  readonly from: IsoTime;
  readonly to: IsoTime;
  readonly step: number;
}

const TIME: OptionKind = {
  takes: 'a time of 24 hours, such as "09:00"',
  is: (value) => typeof value === "string" && STORED.test(value),
};
const STEP: OptionKind = {
  takes: "whole minutes, such as 30",
  is: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
};
const TIME_OPTIONS = { ...KIND_OPTIONS, from: TIME, to: TIME, step: STEP };

/**
 * A time of the day, kept as `15:00`: `오후 3시 반`, `3:30pm`, `15시`, `noon`. `3시` is ambiguous,
 * unless one of both lies within the hours of the slot.
 */
export function timeSlot(options: TimeOptions = {}): SlotSpec<IsoTime> {
  const {
    from = "00:00",
    to = "23:59",
    step = 1,
    ...own
  } = checkedOptions("time", options, TIME_OPTIONS);
  const hours: OpenHours = { from, to, step };
  const example = exampleOf(hours);
  const reader = readerWithin(hours);
  return slotOf<IsoTime>(
    {
      type: "time",
      reader: () => reader,
      parse: (raw, context) => {
        const text = typeof raw === "string" ? raw.trim() : "";
        const taken = takeExact(readTime(text, reader, context), "TIME_UNCLEAR", TIME_BECAUSES);
        if (!taken.ok) return taken;
        if (!isOpen(taken.value, hours)) return { ok: false, error: "TIME_CLOSED" };
        return isOnStep(taken.value, hours) ? taken : { ok: false, error: "TIME_STEP" };
      },
      schema: z
        .string()
        .regex(STORED)
        .refine((time) => isOpen(time, hours) && isOnStep(time, hours)),
      schemaError: "TIME_CLOSED",
      format: { ko: "시각, HH:MM", en: "a time of the day, HH:MM" },
      errors: timeErrors(hours, example),
      examples: [showTime(example, "ko"), showTime(example, "en")],
      show: showTime,
    },
    own,
  );
}

const STORED = /^(?:[01]\d|2[0-3]):[0-5]\d$/u;

const TIME_BECAUSES: Readonly<Record<string, string>> = { closed: "TIME_CLOSED" };

/** `내일 3시` is 3시, where another slot has the day. */
function readTime(text: string, reader: Reader<IsoTime>, context: SlotContext): Reading<IsoTime> {
  if (STORED.test(text)) return understood(text, text);
  const whole = reader.parse(text);
  if (whole.ok || !hasSlot("date", context)) return whole;
  const [only, ...others] = reader.find(text);
  return only && others.length === 0 ? only : whole;
}

function isOpen(time: IsoTime, { from, to }: OpenHours): boolean {
  return from <= to ? from <= time && time <= to : time >= from || time <= to;
}

function isOnStep(time: IsoTime, { step }: OpenHours): boolean {
  return minutesOf(time) % step === 0;
}

function minutesOf(time: IsoTime): number {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  return 60 * hour + minute;
}

// --- times within hours

const TIMES = new RegExp(`${MARK_BEFORE}(?:${TIME_SOURCE})${MARK_BEHIND}`, "giu");

function readerWithin(hours: OpenHours): Reader<IsoTime> {
  const parse = (words: string): Reading<IsoTime> => withinHours(parseTime(words), hours);
  return { parse, find: (sentence) => findBy(sentence, TIMES, parse) };
}

/** Of two times that may be meant, the one that lies within the hours. */
function withinHours(read: Reading<IsoTime>, hours: OpenHours): Reading<IsoTime> {
  if (!read.ok) return read;
  const times = [...new Set([read.value, ...read.others])];
  const [time, ...others] = times.filter((one) => isOpen(one, hours));
  if (time === undefined) return notUnderstood("closed", read.words);
  if (others.length > 0) return understood(time, read.words, "ambiguous", others);
  const isRough = read.sure === "approximate" || withoutMarks(fold(read.words).trim()).isRough;
  return understood(time, read.words, isRough ? "approximate" : "exact");
}

// --- words

const MINUTES_OF_A_DAY = 1_440;

/** 15:00, else the first time that is taken. Throws `SLOT_INVALID` where none is. */
function exampleOf(hours: OpenHours): IsoTime {
  const first = minutesOf(hours.from);
  const all = Array.from({ length: MINUTES_OF_A_DAY }, (_, minute) => timeAt(first + minute));
  const taken = ["15:00", ...all].find((time) => isOpen(time, hours) && isOnStep(time, hours));
  if (taken !== undefined) return taken;
  throw slotError("time", {
    message: `no time from ${hours.from} to ${hours.to} is on a step of ${hours.step} minutes.`,
    hint: "Let from and to be further apart, or step be smaller.",
  });
}

function timeAt(minutes: number): IsoTime {
  const [hour, minute] = [Math.floor(minutes / 60) % 24, minutes % 60];
  return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
}

function timeErrors({ from, to, step }: OpenHours, example: IsoTime): KindErrors {
  const [firstKo, lastKo] = [showTime(from, "ko"), showTime(to, "ko")];
  const [firstEn, lastEn] = [showTime(from, "en"), showTime(to, "en")];
  return {
    ko: {
      TIME_UNCLEAR: `시각을 정확히 말씀해 주세요. 예: ${showTime(example, "ko")}`,
      TIME_CLOSED: `${firstKo}부터 ${lastKo} 사이로 말씀해 주세요.`,
      TIME_STEP: `${step}분 단위로 말씀해 주세요.`,
    },
    en: {
      TIME_UNCLEAR: `I need an exact time, such as ${showTime(example, "en")}.`,
      TIME_CLOSED: `It must be between ${firstEn} and ${lastEn}.`,
      TIME_STEP: `I can take a time every ${step} minutes.`,
    },
  };
}

/** `오후 3시 30분`, `3:30 pm`; noon and midnight so that none can be taken for the other. */
function showTime(time: IsoTime, locale: Locale): string {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  const onTheClock = hour % 12 || 12;
  if (locale === "en") {
    const part = hour === 0 ? "at night" : hour < 12 ? "am" : "pm";
    return `${onTheClock}:${String(minute).padStart(2, "0")} ${part}`;
  }
  const part = hour === 0 ? "밤" : hour < 12 ? "오전" : hour === 12 ? "낮" : "오후";
  return `${part} ${onTheClock}시${minute === 0 ? "" : ` ${minute}분`}`;
}
