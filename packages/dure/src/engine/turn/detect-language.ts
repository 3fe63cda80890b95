import type { Locale } from "../../kernel/locales.ts";

/**
 * The language in which a person clearly writes; undefined where the words do not tell. An answer
 * of a word or two (`ok`, `ㅋㅋ`, `네`), a name, an amount or a code tells nothing, so a session
 * keeps its language. Pure. Source: docs/spec/conversation §3.
 */
export function detectLanguage(text: string): Locale | undefined {
  const words = wordsOf(ownWords(text));
  const korean = words.filter((word) => HANGUL.test(word));
  const english = words.filter((word) => LATIN.test(word));
  const isEnglish = isEnglishSentence(english);
  // What is pasted into a Korean sentence is often English; a single Korean word may be quoted.
  if (isKoreanSentence(korean) && (korean.length > 1 || !isEnglish)) return "ko";
  return isEnglish ? "en" : undefined;
}

/**
 * The language of the letters, for the first words of a session where they do not tell it clearly:
 * two words of one script, or one that only English has. Pure.
 */
export function lettersOf(text: string): Locale | undefined {
  const words = wordsOf(ownWords(text)).filter((word) => /\p{L}/u.test(word));
  const isEnglish = words.length > 1 || (words.length === 1 && STRONG.has(words[0]!));
  if (isEnglish && words.every((word) => LATIN_SCRIPT.test(word))) return "en";
  return words.length > 1 && words.every((word) => HANGUL_SCRIPT.test(word)) ? "ko" : undefined;
}

const LATIN_SCRIPT = /^[\p{Script=Latin}\p{N}'’]+$/u;
const HANGUL_SCRIPT = /^[\p{Script=Hangul}\p{N}]+$/u;

const HANGUL = /[가-힣]/;
const LATIN = /^[a-z][a-z'’]*$/;

/** Characters that are looked at; a sentence tells its language by then. */
const LOOKED_AT = 2_000;

/** Without what is quoted or copied: code, addresses, names, words in quotation marks. */
function ownWords(text: string): string {
  const looked = text.length > LOOKED_AT ? text.slice(0, LOOKED_AT) : text;
  if (!MAY_QUOTE.test(looked)) return looked;
  return looked
    .replace(/```[^]*?(?:```|$)|`[^`\n]*`/gu, " ")
    .replace(/\b(?:https?:\/\/|www\.)\S+|\S+@\S+|@\S+/gu, " ")
    .replace(/"[^"\n]*"|“[^”\n]*”|‘[^’\n]*’|(?<!\S)'[^'\n]*'(?!\S)/gu, " ");
}

/** What a quoted or copied part has at least. */
const MAY_QUOTE = /[`@"“‘']|https?:|www\./;

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}'’]+/gu) ?? [];
}

// --- Korean

function isKoreanSentence(words: readonly string[]): boolean {
  if (words.length === 1) return isKoreanGreeting(words[0]!) || ONE_WORD_SENTENCE.test(words[0]!);
  return words.some((word) => ENDING.test(word) || PARTICLE.test(word));
}

function isKoreanGreeting(word: string): boolean {
  return /^(?:안녕|반가워|고마워|도와줘)/u.test(word);
}

/** At least three syllables, with an ending that no name has: 배고프다, 취소해줘, 뭐예요. */
const ONE_WORD_SENTENCE =
  /[가-힣](?:[가-힣]요|니다|니까|[해워려내가와봐]줘|[었았했겠]어|할래|할게|싶어|프다|하다|는데|나요)$/u;

/** How a Korean clause ends, behind at least one syllable. */
const ENDING =
  /[가-힣](?:요|다|까|야|줘|래|께|죠|지|니|냐|네|라|자|해|어|돼|봐|음|데|면|고|서|는|할|든)$/u;

/** What stands behind a noun. */
const PARTICLE = /[가-힣](?:은|는|을|를|에|에게|한테|으로|랑|에서|까지|부터|도|만|의|이랑)$/u;

// --- English

function isEnglishSentence(words: readonly string[]): boolean {
  const [first = "", second = ""] = words;
  if (GREETINGS.has(first) && words.length <= 2) return true;
  if (words.length < 2) return false;
  if (words.length === 2) return OPENERS.has(first) && !SHORT_SECONDS.has(second);

  if (words.some((word) => STRONG.has(word) || /['’]/.test(word))) return true;
  return words.length > 3 && words.filter((word) => WEAK.has(word)).length > 1;
}

const GREETINGS = wordSet("hello hi hey");

/** Begin a sentence of two words: send money, what now. */
const OPENERS = wordSet(
  "send transfer book show tell give help find open make i i'm my what what's when where who why how can do is are",
);
/** With an opener these are a short answer: send it, do that, help me. */
const SHORT_SECONDS = wordSet("it that this all now ok okay yes no");

/** Words that only an English sentence has. */
const STRONG = wordSet(
  "i you my your we our they their he she his it this that these those is are were be been do does did " +
    "can could will would should shall may might must have has had not please want need like know " +
    "what which when where who whom whose why how send transfer pay give tell show help make book " +
    "change cancel check there here about because if thanks thank",
);
/** Words that titles and names have too: Bank of America. */
const WEAK = wordSet("the a an of and or to for from in on at with by as into");

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}
