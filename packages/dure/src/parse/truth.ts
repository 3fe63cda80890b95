import { choiceReader } from "./choice.ts";
import {
  LONGEST_SENTENCE,
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type Found,
  type Reader,
  type Reading,
} from "./reading.ts";
import { classifyReply } from "./replies/reply.ts";

/** Why words say neither yes nor no. */
export type TruthBecause = "empty" | "not-a-truth";
/** A yes or a no to one thing in a person's words. */
export type TruthReading = Reading<boolean, TruthBecause>;

/** What people call a yes and a no to a thing, such as `조식 포함`, `room only`. */
export interface TruthNames {
  readonly yes?: readonly string[] | undefined;
  readonly no?: readonly string[] | undefined;
}

/**
 * For a slot that is a yes or a no: `네`, `필요해요`, `없어요`, `조식 빼고`, `without`. What is said of
 * the thing goes before a plain answer: `네, 없어요` is a no. Names of the slot's own go before both.
 */
export function truthReader({ yes = [], no = [] }: TruthNames = {}): Reader<boolean> {
  const named = choiceReader([
    { value: "yes", names: yes },
    { value: "no", names: no },
  ]);
  const find = (sentence: string): readonly Found<TruthReading>[] => {
    const own = named.find(sentence).flatMap((one) => (one.ok ? [one] : []));
    if (own.length === 0) return findTruths(sentence);
    return own.map(({ value, words, at }) => ({ ...understood(value === "yes", words), at }));
  };
  return { find, parse: (words) => parseTruth(words, find) };
}

function parseTruth(text: string, find: Reader<boolean>["find"]): TruthReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE || OPEN.test(words)) return notUnderstood("not-a-truth", words);
  if (/^(?:true|false)$/iu.test(words)) return understood(words.toLowerCase() === "true", words);

  const said = find(words).flatMap((one) => (one.ok ? [one.value] : []));
  const [first, other] = new Set(said);
  if (other !== undefined) return understood(first!, words, "ambiguous", [other]);
  if (first !== undefined) return understood(first, words);
  const answer = plainTruth(words);
  return answer === undefined ? notUnderstood("not-a-truth", words) : understood(answer, words);
}

/** 네, 아니요, of course: an answer that says nothing more; or one that begins so. */
function plainTruth(words: string): boolean | undefined {
  const begin = BEGIN.exec(words)?.[0] ?? "";
  for (const part of [words, begin]) {
    const { kind, sure } = classifyReply(part);
    if (sure === "exact" && (kind === "yes" || kind === "no")) return kind === "yes";
  }
  return undefined;
}

/** Up to the first comma or space. */
const BEGIN = /^[^\s,.]{1,12}(?=[\s,.])/u;

/** A question, a doubt, or a person to whom it is the same. */
const OPEN = new RegExp(
  "[?？]|모르|모름|글쎄|아마|상관 ?없|아무거나|괜찮|인지|는지|을까|할까|" +
    "\\b(?:maybe|not sure|don'?t know|don'?t care|either|whatever|unsure)\\b",
  "iu",
);

const NO = [
  "(?:필요|포함|동의|해당|신청|추가|선택|원)(?:하지는|하지|하진|되지|은|는|이|가|치)? ?(?:안|않|없|말)[가-힣]{0,4}",
  "(?<![맛미멋상관제])(?<!상관 |문제 )없(?:어|음|습|이|다|는|고|네|지|을|던)[가-힣]{0,3}",
  "(?<![가-힣])안 ?(?:필요|해|할|함|합|돼|되|됩|받|먹|가|갈|써|쓸|원|넣|있)[가-힣]{0,4}",
  "[가-힣]지 ?(?:않|마|말)[가-힣]{0,4}",
  "불필요|미포함|불포함|비동의|미동의|제외|거절|거부|싫(?:어|습|음)[가-힣]{0,3}",
  "빼(?:고|줘|주|서|요|(?![가-힣]))[가-힣]{0,3}",
  "\\b(?:without|none|never|exclud(?:e|ed|ing)|" +
    "(?:do|does|did|is|was|wo|ca)n[o'’]?t(?: (?:need|want|have|include))?|" +
    "not (?:needed|included|required|necessary|have)|no need|false)\\b",
].join("|");
const YES = [
  "(?<![맛미멋])있(?:어|음|습|다|고|는|네|지|을)[가-힣]{0,3}",
  "(?:필요|포함|동의|추가|신청)(?![가-힣]{0,2} ?(?:없|안|않))[가-힣]{0,4}",
  "원(?:해|합니다|함)[가-힣]{0,2}|넣어[가-힣]{0,4}|받을(?:게|래)요?",
  "\\b(?:with(?!out)|includ(?:e|ed|ing)|needed|required|(?:i|we) (?:do|need|want|have|agree)|true)\\b",
].join("|");
const SAID = new RegExp(`(?<no>${NO})|(?<yes>${YES})`, "giu");

/** Every word of having, needing and agreeing in a sentence. Pure. */
function findTruths(sentence: string): readonly Found<TruthReading>[] {
  const line = sentence.normalize("NFC");
  if (line.length > LONGEST_SENTENCE) return [];
  return [...line.matchAll(SAID)].map(({ 0: words, index, groups }) => ({
    ...understood(groups?.["yes"] !== undefined, words),
    at: index,
  }));
}
