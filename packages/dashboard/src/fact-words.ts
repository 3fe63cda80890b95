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

  const words = text.common.facts;

  const number =
    typeof value === "number"
      ? value
      : slot !== undefined &&
          isNumeric(slot.type) &&
          typeof value === "string" &&
          /^\d+$/.test(value)
        ? Number(value)
        : undefined;

  if (number !== undefined) {
    return MONEY.has(name) ? moneyOf(number, language) : number.toLocaleString(language);
  }

  const said = typeof value === "string" ? value : JSON.stringify(value);

  return words.values[said] ?? dayOf(said, language);
}

/** A name in words: ours, else the service's, else the name with spaces. Pure. */
export function labelOf(name: string, text: Text, slots: readonly SlotInfo[] = []): string {
  return (
    text.common.facts.names[name] ??
    slots.find((slot) => slot.name === name)?.label ??
    name.replaceAll("_", " ")
  );
}

export function isNumeric(type: string): boolean {
  return type === "integer" || type === "number";
}
