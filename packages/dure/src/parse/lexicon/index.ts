import { DureError } from "../../kernel/errors.ts";
import { wrongOption, type OptionKind } from "../../kernel/known-options.ts";
import { LONGEST_VALUE } from "../reading.ts";
import { EN } from "./en.ts";
import { LONGEST_PHRASE } from "./grammar.ts";
import { KO } from "./ko.ts";
import { has } from "./patterns.ts";
import { spokenWords } from "./spoken.ts";
import { fold } from "../text.ts";

/** Lists of phrases: words as `spokenWords` gives them, with one space between. */
export interface PhraseLists {
  /** Say yes, and nothing but yes: 네, 맞아요, looks good. */
  readonly yes: ReadonlySet<string>;
  /** Say yes by asking for the deed: 보내줘, go ahead. Manners may stand before. */
  readonly goAheads: ReadonlySet<string>;
  /** Likely a yes, and too short to be sure of: ㅇ, k. */
  readonly halfYes: ReadonlySet<string>;
  /** Refuse, and say nothing more: 아니요, nope. */
  readonly no: ReadonlySet<string>;
  /** Give up what was asked about, in other words than cancelling it: 나중에 할게, never mind. */
  readonly putOff: ReadonlySet<string>;
  /** Refuse a deed, which may stand before: 하지 마 of 이체 하지 마. */
  readonly undone: ReadonlySet<string>;
  /** Before a deed or alone they refuse it: don't of don't send it. */
  readonly negators: ReadonlySet<string>;
  /** What a negator refuses: send it, do anything. */
  readonly negatedDeeds: ReadonlySet<string>;
  /** Cancel by name: 취소해줘, stop it. */
  readonly cancel: ReadonlySet<string>;
  /** Take away what was asked about, whole: 없애줘, get rid of it. */
  readonly removesIt: ReadonlySet<string>;
  /** Before a cancel by name: I want to of I want to cancel. */
  readonly wishes: ReadonlySet<string>;
  /** Make a cancel by name a question of politeness: can you. */
  readonly requests: ReadonlySet<string>;
  /** A cancel as a question of politeness: 취소해줄래? */
  readonly cancelRequests: ReadonlySet<string>;
  /** Go on with the rest of a batch: 계속, keep going. */
  readonly continue: ReadonlySet<string>;
  /** Before an answer, without a meaning: 아, 음, 저기, um, well. */
  readonly fillers: ReadonlySet<string>;
  /** Beside a refusal without a meaning; beside a yes they leave it open: 잠깐, wait, sorry. */
  readonly hesitations: ReadonlySet<string>;
  /** Before a go-ahead, as it was shown: 그대로 of 그대로 보내줘, just of just send it. */
  readonly manners: ReadonlySet<string>;
  /** Say that the question was heard, before a cancel by name: 네 of 네 취소해주세요. */
  readonly acknowledges: ReadonlySet<string>;
  /** What is cancelled: 이체, 방금 거. */
  readonly objects: ReadonlySet<string>;
  /** Behind an answer: 부탁드려요, please, sir. */
  readonly politeness: ReadonlySet<string>;
  /** Everything: 전부, all of them. */
  readonly all: ReadonlySet<string>;
  /** Around a choice: the, I'll take, 선택할게요. */
  readonly choosing: ReadonlySet<string>;
  /** Leave one thing empty that was asked for, or is named beside it: 없어요, 건너뛸게요, skip, without. */
  readonly declines: ReadonlySet<string>;
  /** Pass over what is asked for, and refuse nothing else: 패스, skip it. */
  readonly skips: ReadonlySet<string>;
  /** None of what was offered: 둘 다 아니야, neither. */
  readonly neither: ReadonlySet<string>;
}

/** What is looked for inside of a sentence; in English without the apostrophes inside of words. */
export interface WordPatterns {
  /** Made of words of a yes, and mean none: yeah right, 확인 해줘. */
  readonly noYes: readonly RegExp[];
  /** Ask, wherever they stand: 얼마, 왜, what. */
  readonly asksWithWords: readonly RegExp[];
  /** Ask by an ending or a first word: 되나요, is it. */
  readonly asksByForm: readonly RegExp[];
  /** Another value for what stands: 으로 바꿔, make it. */
  readonly changes: readonly RegExp[];
  /** What stands is wrong, or was not meant: 말고, 아니라, actually. */
  readonly corrects: readonly RegExp[];
  /** Between two values: the first is taken back, 3만 아니 4만, 50k oops 5k. */
  readonly takesBack: readonly RegExp[];
  /** Something is written down beside the values: 메모에 … 써줘. */
  readonly notes: readonly RegExp[];
  /** A value and its particle as the last word of a short message: 영희로. */
  readonly bareValues: readonly RegExp[];
  /** One more thing: 한테도, also. */
  readonly adds: readonly RegExp[];
  /** A part goes: 빼줘, without. */
  readonly removes: readonly RegExp[];
  /** Two change places: 반대로, vice versa. */
  readonly swaps: readonly RegExp[];
  /** The deed is not to be done: 보내지 마, don't send. */
  readonly negates: readonly RegExp[];
  /** Behind a negation: something else is to be done. */
  readonly offers: readonly RegExp[];
  /** What has happened: 받았어, I sent. */
  readonly reports: readonly RegExp[];
  /** What would be or can be: 보내면, if. */
  readonly supposes: readonly RegExp[];
  /** Ask for the deed: what stands before is no mere report. */
  readonly orders: readonly RegExp[];
  /** An order in the form of a question: can you send. */
  readonly politeOrders: readonly RegExp[];
  /** A recipient: 엄마한테, to John. */
  readonly recipients: readonly RegExp[];
  /** The same as that of another: 똑같이, the same. */
  readonly sameAs: readonly RegExp[];
  /** Speak of what ended before: 지난번처럼, as usual. */
  readonly before: readonly RegExp[];
  /** Things are counted, so that a sum may follow that is not said: 세 개, 6 hours, 나눠서. */
  readonly counts: readonly RegExp[];
  /** One of two, and not which: either, 아니면. */
  readonly either: readonly RegExp[];
  /** Whole words for a day that have one meaning on any day: 내일까지, by tomorrow. */
  readonly plainDays: readonly RegExp[];
}

/** Small words of Korean and English, and what they mean in an answer. */
export interface Lexicon extends PhraseLists, WordPatterns {
  /** Places in a list by their names, from 0; -1 is the last. */
  readonly ordinals: ReadonlyMap<string, number>;
}

/** Lists to which a service can add, as plain phrases. */
export type MoreWords = Partial<Record<keyof PhraseLists | AddedMove, readonly string[]>>;

const ADDED_MOVES = ["changes", "adds", "removes", "swaps"] as const satisfies (keyof Lexicon)[];
type AddedMove = (typeof ADDED_MOVES)[number];

/** Both languages: an answer is read in both, whatever the session's. */
export const LEXICON: Lexicon = merged(KO, EN);

/** Whether words between two values take the first one back: 3만 아니 4만. Pure. */
export function takesBack(between: string): boolean {
  return between.length <= LONGEST_VALUE && has(LEXICON.takesBack, fold(between));
}

/** Phrases that a service may add to one list. */
const MOST_ADDED = 500;

/**
 * The lexicon with a service's own phrases: `{ yes: ["예약 확정이요"], fillers: ["사장님"] }`. They
 * are compared as whole words, whatever their case and punctuation. Throws `LEXICON_INVALID` for a
 * list that does not exist, for a phrase without words or of more than eight, for more than 500 in a
 * list, and for a yes that is a refusal too. Pure.
 */
export function lexiconWith(more: MoreWords): Lexicon {
  const problem = wrongOption(more, ADDED_LISTS);
  if (problem) {
    const { message, hint } = problem;
    throw new DureError("LEXICON_INVALID", `lexiconWith: ${message}`, { class: "input", hint });
  }
  const lexicon: Lexicon = { ...LEXICON };
  for (const [list, added = []] of Object.entries(more)) {
    Object.assign(lexicon, { [list]: extended(list as keyof MoreWords, added) });
  }
  refuseTwoMeanings(lexicon);
  return lexicon;
}

const PHRASES: OptionKind = {
  takes: 'a list of phrases, such as ["ship it"]',
  is: (value) => Array.isArray(value) && value.every((phrase) => typeof phrase === "string"),
};

/** The lists of phrases, and those of moves: a phrase is a pattern there. */
const ADDED_LISTS: Readonly<Record<string, OptionKind>> = Object.fromEntries(
  Object.entries(LEXICON)
    .filter(([list, words]) => isPhrases(words) || ADDED_MOVES.some((one) => one === list))
    .map(([list]) => [list, PHRASES]),
);

function extended(list: keyof MoreWords, added: readonly string[]): LexiconWords {
  if (added.length > MOST_ADDED) throw invalid(`"${list}" has more than ${MOST_ADDED} phrases.`);

  const plain = added.map(plainPhrase);
  const known = LEXICON[list];
  return isPhrases(known) ? known.union(new Set(plain)) : [...known, ...plain.map(asPattern)];
}

function plainPhrase(phrase: string): string {
  const words = phrase.length > LONGEST_VALUE ? [] : spokenWords(phrase);
  if (words.length > 0 && words.length <= LONGEST_PHRASE) return words.join(" ");
  throw invalid(
    `"${phrase.slice(0, LONGEST_VALUE)}" is no phrase of 1 to ${LONGEST_PHRASE} words.`,
  );
}

/** A phrase as whole words of a sentence; `spokenWords` leaves letters and digits alone. */
function asPattern(phrase: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${phrase}(?![\\p{L}\\p{N}])`, "u");
}

function refuseTwoMeanings(lexicon: Lexicon): void {
  const { no, putOff, undone, negators, cancel } = lexicon;
  const refusals = no.union(putOff).union(undone).union(negators).union(cancel);
  const [phrase] = lexicon.yes.union(lexicon.goAheads).intersection(refusals);
  if (phrase !== undefined) throw invalid(`"${phrase}" is a yes and a refusal.`);
}

function invalid(message: string): DureError {
  return new DureError("LEXICON_INVALID", message, {
    hint: "Give short phrases as people write them, each with one meaning.",
    class: "input",
  });
}

type LexiconWords = Lexicon[keyof Lexicon];

function merged(one: Lexicon, other: Lexicon): Lexicon {
  const lists = Object.keys(one) as (keyof Lexicon)[];
  const both = lists.map((list) => [list, together(one[list], other[list])]);
  const ordinals = new Map([...one.ordinals, ...other.ordinals]);
  return { ...(Object.fromEntries(both) as Lexicon), ordinals };
}

function together(one: LexiconWords, other: LexiconWords): LexiconWords {
  if (isPhrases(one) && isPhrases(other)) return one.union(other);
  return isPatterns(one) && isPatterns(other) ? [...one, ...other] : one;
}

function isPhrases(words: LexiconWords): words is ReadonlySet<string> {
  return words instanceof Set;
}

function isPatterns(words: LexiconWords): words is readonly RegExp[] {
  return Array.isArray(words);
}
