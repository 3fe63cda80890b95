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
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** A span in the unit in which it is read: `840 ms`, `2.1 s`, `3 m 05 s`. */
export function spanOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} m ${String(Math.floor((ms % 60_000) / 1_000)).padStart(2, "0")} s`;
}
