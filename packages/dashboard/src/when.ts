import { systemClock } from "dure/client";
import type { Language } from "./words.ts";

/**
 * A moment as briefly as it stays clear: the time today, the date before. Accepts milliseconds or
 * ISO text.
 */
export function whenOf(
  moment: string | number,
  language: Language,
  now: number = systemClock.now(),
): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";

  const today = new Date(now).toDateString() === date.toDateString();

  return new Intl.DateTimeFormat(
    language,
    today ? { hour: "numeric", minute: "2-digit" } : { month: "short", day: "numeric" },
  ).format(date);
}

/** A moment in full, for what is kept: date and time. */
export function momentOf(moment: number, language: Language): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short" }).format(
    moment,
  );
}

/** The time of a log line, to the millisecond. */
export function clockOf(moment: number): string {
  const date = new Date(moment);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

const UNITS = {
  ko: { ms: "ms", s: "초", m: "분", h: "시간" },
  en: { ms: " ms", s: " s", m: " m", h: " h" },
} as const;

/** A span in the unit in which it is read: `840 ms`, `2.1 s`, `3 m 05 s`, `2 h 10 m`. */
export function spanOf(ms: number, language: Language): string {
  const unit = UNITS[language];
  if (ms < 1_000) return `${Math.round(ms)}${unit.ms}`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}${unit.s}`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}${unit.m} ${two(Math.floor((ms % 60_000) / 1_000))}${unit.s}`;
  return `${Math.floor(minutes / 60)}${unit.h} ${two(minutes % 60)}${unit.m}`;
}

/** A span without parts of seconds, for what counts up. */
export function roundSpanOf(ms: number, language: Language): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return seconds < 60 ? `${seconds}${UNITS[language].s}` : spanOf(seconds * 1_000, language);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
