import { LEXICON, type Lexicon } from "../lexicon/index.ts";
import { anyOf, isWhole, phraseOf } from "../lexicon/grammar.ts";
import { pattern } from "../lexicon/patterns.ts";
import { spokenWords } from "../lexicon/spoken.ts";
import { LONGEST_VALUE } from "../reading.ts";
import { classifyReply } from "./reply.ts";
import { fold } from "../text.ts";

/** One of several things that a person was asked to choose from. */
interface Option {
  /** The spellings under which it was shown: `["50,000원", "5만원"]`. */
  readonly words: readonly string[];
}

/**
 * Which option a person picks after `A인가요, B인가요?`: its place, by its own words or by a place in the
 * list (두 번째 거요, the latter, #2); the only one also by a plain yes. `"none"` after a plain no or 둘 다
 * 아니야. Undefined where the message says something else, more than one, or could mean two. Pure.
 */
export function pickOf(
  message: string,
  options: readonly Option[],
  lexicon: Lexicon = LEXICON,
): number | "none" | undefined {
  if (message.length > LONGEST_VALUE || /[?？]/u.test(message)) return undefined;

  const words = spokenWords(message);
  const places = placesOf(words, options, lexicon);
  if (places.size > 0) return places.size === 1 ? [...places][0] : undefined;
  const { kind } = classifyReply(message, lexicon);
  if (kind === "yes") return options.length === 1 ? 0 : undefined;
  return kind === "no" || isNeither(words, lexicon) ? "none" : undefined;
}

function isNeither(
  words: readonly string[],
  { neither, no, fillers, politeness }: Lexicon,
): boolean {
  const some = anyOf(phraseOf(neither, no, fillers, politeness));
  return isWhole(some, words) && !isWhole(anyOf(phraseOf(no, fillers, politeness)), words);
}

/** The options that a choice can mean. One that is named so comes before a place in the list. */
function placesOf(
  words: readonly string[],
  options: readonly Option[],
  lexicon: Lexicon,
): ReadonlySet<number> {
  const named = new Set<number>();
  const begun = new Set<number>();
  const listed = new Set<number>();
  for (const choice of choicesIn(words, lexicon)) {
    for (const [place, option] of options.entries()) {
      if (isNamed(option, choice)) named.add(place);
      if (/^\d+$/u.test(choice) && option.words.some((shown) => bare(shown).startsWith(choice))) {
        begun.add(place);
      }
    }
    const place = placeIn(choice, options.length, lexicon);
    if (place !== undefined) listed.add(place);
  }
  if (named.size > 0) return named;
  return listed.size > 0 ? listed.union(begun) : listed;
}

// --- the words of the choice

/** What is left of a message without words around a choice, with and without its endings. */
function choicesIn(words: readonly string[], lexicon: Lexicon): readonly string[] {
  const { fillers, hesitations, acknowledges, yes, goAheads, no, politeness, choosing } = lexicon;
  const begun = withoutFirst(words, [fillers, hesitations, acknowledges, yes, no, choosing]);
  return endingsOff(withoutLast(begun, [yes, goAheads, politeness, choosing]).join(" "));
}

type PhraseSets = readonly ReadonlySet<string>[];

/** Phrases of more words than these stand at no end of a choice. */
const MOST_AROUND = 4;

function withoutFirst(words: readonly string[], lists: PhraseSets): readonly string[] {
  for (let count = Math.min(MOST_AROUND, words.length - 1); count > 0; count--) {
    const phrase = words.slice(0, count).join(" ");
    if (lists.some((list) => list.has(phrase))) return withoutFirst(words.slice(count), lists);
  }
  return words;
}

function withoutLast(words: readonly string[], lists: PhraseSets): readonly string[] {
  for (let count = Math.min(MOST_AROUND, words.length - 1); count > 0; count--) {
    const start = words.length - count;
    const phrase = words.slice(start).join(" ");
    if (lists.some((list) => list.has(phrase))) return withoutLast(words.slice(0, start), lists);
  }
  return words;
}

/** 두 번째 거요: 두 번째 거요, 두 번째 거, 두 번째. */
function endingsOff(choice: string): readonly string[] {
  const all = [choice];
  for (let taken = 0; taken < 4; taken++) {
    const shorter = all.at(-1)!.replace(ENDING, "").trim();
    if (shorter === "" || shorter === all.at(-1)) break;
    all.push(shorter);
  }
  return all;
}

const ENDING = pattern`
  (?<=.)(?:
  (?<=[가-힣\d])(?:이요|요|입니다|이에요|예요|이야|야|으로|로|한테|에게|께|을|를|은|는|이|가)|
  \s?(?:님|거|꺼|것|걸|게|쪽|분|사람|옵션|번호|씨)|
  \s(?:one|option|please))$
`;

// --- what it names

function isNamed({ words }: Option, choice: string): boolean {
  const said = bare(choice);
  return words.some((shown) => {
    const forms = endingsOff(spokenWords(shown).join(" ")).map(bare);
    return bare(shown) === said || forms.includes(said);
  });
}

/** Without spaces and signs: 50,000원 and 50000원 are one. */
function bare(words: string): string {
  return fold(words).replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** 두 번째, 2번, 2, #2, option 2, the latter: a place that the list has. */
function placeIn(choice: string, count: number, { ordinals }: Lexicon): number | undefined {
  const digits = /^(?:(?:option|number|no|choice|옵션) ?)?(\d{1,2})(?:번|번째)?$/u.exec(choice);
  const place = digits ? Number(digits[1]) - 1 : ordinals.get(choice);
  if (place === undefined || place < -1) return undefined;
  if (place === -1) return digits || count === 0 ? undefined : count - 1;
  return place < count ? place : undefined;
}
