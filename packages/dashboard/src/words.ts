/** Languages of the pages. */
export const LANGUAGES = ["ko", "en"] as const;

export type Language = (typeof LANGUAGES)[number];

/**
 * The shape of a page's Korean words, which its English words must have too: a missing word is a
 * compile error.
 */
export type WordsOf<Table> = {
  [Key in keyof Table]: Table[Key] extends string
    ? string
    : Table[Key] extends (...args: infer Args) => string
      ? (...args: Args) => string
      : Table[Key] extends readonly string[]
        ? readonly string[]
        : WordsOf<Table[Key]>;
};
