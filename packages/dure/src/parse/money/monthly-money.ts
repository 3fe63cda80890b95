import type { Found, Reader, Reading } from "../reading.ts";
import { fold } from "../text.ts";

/**
 * For a slot that is an amount of each month, such as a limit: `월 200만원`, `한 달에 200만원`, `2 million
 * won a month` are the amount there. Another reader reads the amount itself.
 */
export function monthlyReader(amount: Reader<number>): Reader<number> {
  return {
    parse(words) {
      const plain = amount.parse(words);
      if (plain.ok) return plain;
      const rest = fold(words).replace(A_MONTH, " ").trim();
      return { ...amount.parse(rest), words };
    },
    find: (sentence) => amount.find(sentence).map((one) => withMonth(one, sentence)),
  };
}

const BEFORE =
  "(?<![\\p{L}\\p{N}])(?:매달|매월|다달이|달마다|월마다|월|(?:한|1) ?달(?:에|마다|당)?|" +
  "monthly|(?:every|each|per) month),? ?";
const BEHIND =
  "(?: ?/ ?(?:월|month)| ?(?:매달|매월)| (?:a|per|every|each) month| monthly)(?![a-z])";
const A_MONTH = new RegExp(`${BEFORE}|${BEHIND}`, "iu");
const ENDS_BEFORE = new RegExp(`${BEFORE}$`, "iu");
const BEGINS_BEHIND = new RegExp(`^${BEHIND}`, "iu");

/** Characters beside an amount in which a month is looked for. */
const BESIDE = 16;

function withMonth(found: Found<Reading<number>>, sentence: string): Found<Reading<number>> {
  const line = sentence.normalize("NFC");
  const end = found.at + found.words.length;
  const before = ENDS_BEFORE.exec(line.slice(Math.max(0, found.at - BESIDE), found.at))?.[0] ?? "";
  const behind = BEGINS_BEHIND.exec(line.slice(end, end + BESIDE))?.[0] ?? "";
  return { ...found, words: `${before}${found.words}${behind}`, at: found.at - before.length };
}
