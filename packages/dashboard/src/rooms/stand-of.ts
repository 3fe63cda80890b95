import type { RoomMessage } from "dure/client";
import { whenOf } from "../when.ts";
import type { Language } from "../words.ts";

/** Longest time between two messages that stand under one name, milliseconds. */
const TOGETHER_MS = 5 * 60_000;

/**
 * How a message stands to the one before it: on a new day, under a name of its own, or below the
 * same name.
 */
export function standOf(
  before: RoomMessage | undefined,
  message: RoomMessage,
): "new-day" | "own-name" | "same-name" {
  if (
    before === undefined ||
    new Date(before.at).toDateString() !== new Date(message.at).toDateString()
  ) {
    return "new-day";
  }

  const isSame =
    before.author === message.author &&
    before.authorKind === message.authorKind &&
    before.mark === message.mark &&
    message.replyTo === null;

  return isSame && message.at - before.at < TOGETHER_MS ? "same-name" : "own-name";
}

const NOW = { ko: "방금", en: "just now" } as const;
const STEPS = [
  { unit: "minute", ms: 60_000, until: 60 },
  { unit: "hour", ms: 3_600_000, until: 24 },
  { unit: "day", ms: 86_400_000, until: 7 },
] as const;

/** How long ago a moment was, `2분 전`; the date, when that is more than a week. */
export function agoOf(moment: number, language: Language, now: number): string {
  const ms = Math.max(0, now - moment);
  if (ms < 60_000) return NOW[language];
  const words = new Intl.RelativeTimeFormat(language);
  for (const { unit, ms: one, until } of STEPS) {
    const count = Math.floor(ms / one);
    if (count < until) return words.format(-count, unit);
  }
  return whenOf(moment, language, now);
}
