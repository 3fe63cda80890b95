import type { SlotInfo } from "dure/client";
import type { SpokenTexts, Text } from "./language.tsx";
import type { Language } from "./words.ts";

/** The members that are amounts of money. Without a `currency` beside them they are won. */
const MONEY = new Set(["amount"]);

/** An amount as it is written where the language is spoken: `50,000원`, `₩50,000`. */
export function moneyOf(amount: number, language: Language, currency = "KRW"): string {
  if (language === "ko" && currency === "KRW") return `${amount.toLocaleString("ko")}원`;
  return amount.toLocaleString(language, {
    style: "currency",
    currency,
    maximumFractionDigits: currency === "KRW" ? 0 : 2,
  });
}

/** `2026-12-01` as a person says it; a text that is no such date stays as it is. */
function dayOf(date: string, language: Language): string {
  const day = /^\d{4}-\d\d-\d\d$/.test(date) ? new Date(date) : undefined;
  return +day! ? day!.toLocaleDateString(language, { dateStyle: "full", timeZone: "UTC" }) : date;
}

/**
 * A member of a receipt, a slot or a question, as a person reads it; empty for what is not there.
 * Pure.
 */
export function shownFact(
  name: string,
  value: unknown,
  { language, text }: SpokenTexts,
  slot?: SlotInfo,
): string {
  if (value === null || value === undefined || value === "") return "";

  const said = typeof value === "string" ? value : JSON.stringify(value);
  const { type = "", options } = slot ?? {};
  const chosen = options?.find((one) => one.value === said);
  if (chosen) return chosen.label;

  if (isNumber(value, said, type)) {
    return MONEY.has(name) || type === "money"
      ? moneyOf(+said, language)
      : (+said).toLocaleString(language);
  }

  const days = type === "date_range" ? said.split("/") : [said];
  return text.common.facts.values[said] ?? days.map((day) => dayOf(day, language)).join(" – ");
}

function isNumber(value: unknown, said: string, type: string): boolean {
  return typeof value === "number" || (isNumeric(type) && /^\d+$/.test(said));
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
  return ["integer", "number", "money"].includes(type);
}
