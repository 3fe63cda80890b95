import { stemmer } from "stemmer";

/** Different words of one text that are kept: a chunk of 1,200 characters has fewer. */
const MAX_WORDS = 2_000;

/** A word longer than this is a key or an address, and counts by its beginning. */
const MAX_WORD = 64;

const RUNS =
  /[\p{Script=Hangul}]+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|[\p{L}\p{N}_]+/gu;
const IS_HANGUL = /^\p{Script=Hangul}/u;
const IS_PAIRED = /^[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
const IS_ENGLISH = /^[a-z]+$/u;

/** English words and Korean pairs of syllables that stand in almost every text. */
const COMMON: ReadonlySet<string> = new Set(
  (
    "a an and are as at be but by can do does for from have how i if in is it me my of on or our " +
    "should so that the their them then there this to was we what when where which who why will " +
    "with you your 니다 습니 합니 입니 하는 에서 으로 하고 까요 나요 어요 아요 세요 해요 이에 예요 " +
    "데요 어떻 떻게 인가 가요 무엇 알려 려줘"
  ).split(" "),
);

/**
 * What a text is found by: each different word once, in the order of its first place. English by its
 * stem, Korean and other scripts without spaces by pairs of letters. Pure. Source: docs/spec/knowledge
 * §3.
 */
export function wordsOf(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [run] of text.normalize("NFKC").toLowerCase().matchAll(RUNS)) {
    for (const word of wordsOfRun(run)) {
      if (!COMMON.has(word)) found.add(word);
      if (found.size === MAX_WORDS) return [...found];
    }
  }

  return [...found];
}

function wordsOfRun(run: string): readonly string[] {
  if (IS_PAIRED.test(run)) return pairsOf(run);
  const word = run.slice(0, MAX_WORD);
  if (!IS_ENGLISH.test(word) || COMMON.has(word)) return [word];

  return [stemmer(word)];
}

/** A single letter of Hangul is a particle more often than a word. */
function pairsOf(run: string): readonly string[] {
  const letters = Array.from(run);
  if (letters.length === 1) return IS_HANGUL.test(run) ? [] : [run];

  return letters.slice(1).map((letter, at) => `${letters[at]}${letter}`);
}
