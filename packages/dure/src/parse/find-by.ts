import { LONGEST_SENTENCE, type Found, type Reading } from "./reading.ts";

/**
 * What stands in a sentence where `pattern` (global) finds words of its kind, in order. Words that
 * are no value of the kind are left out. Pure.
 */
export function findBy<Value, Because extends string>(
  sentence: string,
  pattern: RegExp,
  parse: (words: string) => Reading<Value, Because>,
): readonly Found<Reading<Value, Because>>[] {
  const line = sentence.normalize("NFC");
  if (line.length > LONGEST_SENTENCE) return [];
  return [...line.matchAll(pattern)]
    .map((match) => {
      const words = match[0].trim();
      return { ...parse(words), words, at: match.index + match[0].indexOf(words) };
    })
    .filter((one) => one.ok || !one.because.startsWith("not-a"));
}
