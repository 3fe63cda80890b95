import type { SlotInfo } from "dure/client";
import type { Spoken, Text } from "./texts.ts";
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

/** A day `2026-12-01` or a time `15:00` as a person says it; other words stay as they are. */
function momentOf(said: string, language: Language, isTime: boolean): string {
  const day = /^\d{4}-\d\d-\d\d$/.test(said) ? said : "";
  const moment = new Date(isTime ? `2000-01-01T${said}Z` : day);
  const style = isTime ? { timeStyle: "short" as const } : { dateStyle: "full" as const };
  return +moment ? moment.toLocaleString(language, { ...style, timeZone: "UTC" }) : said;
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
  if (chosen) return chosen.labels?.[language] ?? chosen.label;

  const number = numberIn(value, type);
  if (number !== undefined) {
    const isMoney = MONEY.has(name) || type === "money";
    return isMoney ? moneyOf(number, language) : number.toLocaleString(language);
  }

  const words = text.common.facts.values[said];
  const days = type === "date_range" ? said.split("/") : [said];
  return words ?? days.map((one) => momentOf(one, language, type === "time")).join(" – ");
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
