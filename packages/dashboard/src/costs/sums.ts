import type { CostSum } from "dure/client";
import type { Language } from "../words.ts";

/** In and out together. */
export function tokensOf({ tokensIn, tokensOut }: CostSum): number {
  return tokensIn + tokensOut;
}

/**
 * Millionths of a US dollar as people write money; small sums keep the digits that say something.
 */
export function moneyOf(microUsd: number, language: Language): string {
  return new Intl.NumberFormat(language, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: microUsd < 1_000_000 ? 4 : 2,
  }).format(microUsd / 1_000_000);
}

/**
 * `2026-11-22` as a day is said. It is a day of the team's calendar, whatever the time zone of who
 * reads.
 */
export function dayOf(day: string, language: Language): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "long", timeZone: "UTC" }).format(
    new Date(`${day}T00:00:00Z`),
  );
}

/** How much of `most` something is, 0 to 100; whatever is used at all is seen. */
export function shareOf(value: number, most: number): number {
  if (value <= 0) return 0;
  return most <= 0 ? 100 : Math.min(100, Math.max(1, (value / most) * 100));
}
