import type { Locale } from "../kernel/locales.ts";

/**
 * The language of a terminal: Korean where its locale is, else English. Pure. @param locale such as
 * `ko_KR.UTF-8`
 */
export function languageOf(locale: string): Locale {
  return /^ko(?![a-z])/i.test(locale) ? "ko" : "en";
}
