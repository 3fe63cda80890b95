import type { Locale } from "../parse/text.ts";

/** The languages that forms can speak. */
export const LOCALES = ["ko", "en"] as const satisfies readonly Locale[];

/** The session's language, else the one that the form speaks. Pure. */
export function spokenLocale(
  wanted: string,
  texts: Readonly<Partial<Record<Locale, unknown>>>,
): Locale {
  const locale = wanted.toLowerCase().startsWith("en") ? "en" : "ko";
  if (texts[locale] !== undefined) return locale;
  return locale === "en" ? "ko" : "en";
}
