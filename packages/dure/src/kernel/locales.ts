/** The languages in which dure speaks. */
export const LOCALES = ["ko", "en"] as const;
/** `ko` or `en`. */
export type Locale = (typeof LOCALES)[number];
