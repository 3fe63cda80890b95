/**
 * Signs in place of what was read in a sentence already. They are characters for private use, which
 * are taken out of what a person wrote.
 */
export const MARKS = {
  /** Before the number of the amount. */
  money: "\u{E000}",
  day: "\u{E001}",
  /** Before the number of the account. */
  account: "\u{E002}",
  joiner: "\u{E003}",
  /** The dot of Mr. and of J. Kim. */
  dot: "\u{E004}",
  /** The spaces of Bank of America. */
  space: "\u{E005}",
  arrow: "\u{E006}",
  /** The colon of 엄마: 3만원. */
  pair: "\u{E007}",
  /** Words that were taken out. */
  cut: "\u{E008}",
} as const;

/** A word as it was written. Pure. */
export function spelt(word: string): string {
  return word.replaceAll(MARKS.dot, ".").replaceAll(MARKS.space, " ");
}
