import type { SlotInfo } from "dure/client";
import type { Spoken, Text } from "./texts.ts";
import type { Language } from "./words.ts";

/** The members that are amounts of money. Without a `currency` beside them they are won. */
const MONEY = new Set(["amount"]);

/** An amount as it is written where the language is spoken: `50,000원`, `₩50,000`. */
export function moneyOf(amount: number, language: Language, currency = "KRW"): string {
  if (language === "ko" && currency === "KRW") return `${amount.toLocaleString("ko")}원`;
  return new Intl.NumberFormat(language, {
    style: "currency",
    currency,
    maximumFractionDigits: currency === "KRW" ? 0 : 2,
  }).format(amount);
}

/** `2026-12-01` as a person says it; a text that is no such date stays as it is. */
function dayOf(date: string, language: Language): string {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(date) ? new Date(`${date}T00:00:00Z`) : undefined;
  if (day === undefined || Number.isNaN(day.getTime())) return date;

  return new Intl.DateTimeFormat(language, { dateStyle: "full", timeZone: "UTC" }).format(day);
}

/** `15:00` as a person says it; a text that is no such time stays as it is. */
function timeOf(time: string, language: Language): string {
  if (!/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(time)) return time;

  const moment = new Date(`2000-01-01T${time}:00Z`);
  return new Intl.DateTimeFormat(language, { timeStyle: "short", timeZone: "UTC" }).format(moment);
}

/**
 * A member of a receipt, a slot or a question, as a person reads it; empty for what is not there.
 * Pure.
 */
export function shownFact(
  name: string,
  value: unknown,
  { language, text }: Spoken,
  slot?: SlotInfo,
): string {
  if (value === null || value === undefined || value === "") return "";

  const { type = "", options = [] } = slot ?? {};
  const said = typeof value === "string" ? value : JSON.stringify(value);
  const chosen = options.find((one) => one.value === said);
  if (chosen !== undefined) return chosen.label;

  const number = numberIn(value, type);
  if (number !== undefined) {
    const isMoney = MONEY.has(name) || type === "money";
    return isMoney ? moneyOf(number, language) : number.toLocaleString(language);
  }

  return text.common.facts.values[said] ?? momentOf(said, type, language);
}

/** A time, a day, or the first and the last day of several; other words as they are. */
function momentOf(said: string, type: string, language: Language): string {
  if (type === "time") return timeOf(said, language);
  const days = type === "date_range" ? said.split("/") : [said];
  return days.map((day) => dayOf(day, language)).join(" – ");
}

function numberIn(value: unknown, type: string): number | undefined {
  if (typeof value === "number") return value;
  const isText = isNumeric(type) && typeof value === "string" && /^\d+$/.test(value);
  return isText ? Number(value) : undefined;
}

/** A name in words: the service's, else ours, else the name with spaces. Pure. */
export function labelOf(name: string, text: Text, slots: readonly SlotInfo[] = []): string {
  return (
    slots.find((slot) => slot.name === name)?.label ??
    text.common.facts.names[name] ??
    name.replaceAll("_", " ")
  );
}

export function isNumeric(type: string): boolean {
  return type === "integer" || type === "number" || type === "money";
}
