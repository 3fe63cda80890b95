import type { Locale } from "../kernel/locales.ts";

/** The session's language, else the one that the form speaks. Pure. */
export function spokenLocale(
  wanted: string,
  texts: Readonly<Partial<Record<Locale, unknown>>>,
): Locale {
  const locale = wanted.toLowerCase().startsWith("en") ? "en" : "ko";
  if (texts[locale] !== undefined) return locale;
  return locale === "en" ? "ko" : "en";
}
