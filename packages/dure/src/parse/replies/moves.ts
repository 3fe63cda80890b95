import { findMoney } from "../money/find-money.ts";
import { LEXICON, type Lexicon } from "../lexicon/index.ts";
import { has } from "../lexicon/patterns.ts";
import { anyOf, inOrder, isWhole, phraseOf } from "../lexicon/grammar.ts";
import { spokenWords } from "../lexicon/spoken.ts";
import { LONGEST_SENTENCE } from "../reading.ts";
import { fold, tokensOf, withoutApostrophes } from "../text.ts";
import { findWhen } from "../days/when.ts";

/** What the small words of a sentence say about what stands already. Several can be true. */
export interface MoveWords {
  /**
   * Something replaces what stands: 7만원으로 바꿔줘, 엄마 말고 아빠, 영희로, 아 영희였다, oh wait, send it to
   * Lucy, not to Bob but to Amy, recipient is Amy. Words about a memo alone are none.
   */
  readonly changes: boolean;
  /** One more thing, besides what stands: 영희한테도, 3만원도 추가, 하나 더, also, and 10k to Bob too. */
  readonly adds: boolean;
  /** A part of what stands goes: 영희는 빼줘, 메모 지워줘, remove Bob, without the memo. */
  readonly removes: boolean;
  /** Two of what stands change places: 반대로요, 서로 바꿔줘, the other way round. */
  readonly swaps: boolean;
  /**
   * The deed is not to be done, and nothing is wanted instead: 보내지 마, 안 보낼래, don't send 20,000 won
   * to Bob. 보내지 말고 아빠한테 is a change; 취소하지 마 and don't forget to send are none.
   */
  readonly negated: boolean;
  /** Says or asks what has happened: 3만원 받았어, 보냈는데 안 왔어, I sent 30k, did it go through? */
  readonly reported: boolean;
  /**
   * Speaks of what would be or can be: 보내면 얼마 남아, 보낼까, if I send 30k, can I send more? A request
   * for a value in this form is none: can you send 25k to Sarah?
   */
  readonly supposed: boolean;
}

const NO_MOVES: MoveWords = {
  changes: false,
  adds: false,
  removes: false,
  swaps: false,
  negated: false,
  reported: false,
  supposed: false,
};

/** The small words of a sentence that say how its values are meant, in both languages. Pure. */
export function moveWordsOf(message: string, lexicon: Lexicon = LEXICON): MoveWords {
  const line = sentenceOf(message);
  if (line === "" || line.length > LONGEST_SENTENCE) return NO_MOVES;

  const rest = without(lexicon.swaps, line);
  const negated = negationIn(rest, lexicon);
  return {
    changes: isChange(rest, lexicon) || negated === "for-another",
    adds: has(lexicon.adds, rest),
    removes: has(lexicon.removes, rest),
    swaps: rest !== line,
    negated: negated === "plain",
    reported: isReport(line, lexicon),
    supposed: isSupposed(line, lexicon),
  };
}

/** A folded sentence as the patterns of the lexicon expect it. */
export function sentenceOf(message: string): string {
  return withoutApostrophes(fold(message)).trim();
}

/** A sentence whose found words are a space. */
function without(patterns: readonly RegExp[], line: string): string {
  return patterns.reduce((text, pattern) => text.replace(pattern, " "), line);
}

// --- another value

function isChange(line: string, lexicon: Lexicon): boolean {
  return (
    has(lexicon.changes, line) ||
    has(lexicon.corrects, line) ||
    isBareValue(line, lexicon) ||
    isRefusedValue(line, lexicon)
  );
}

/** 영희로, 수신자를 영희로: a value and its particle, and nothing that is done. */
function isBareValue(line: string, { bareValues }: Lexicon): boolean {
  const words = tokensOf(line);
  return words.length <= MOST_WORDS_OF_A_VALUE && has(bareValues, words.at(-1) ?? "");
}

const MOST_WORDS_OF_A_VALUE = 4;

/** 아니 3만원, no, to Dad: a no, and what is meant. */
function isRefusedValue(line: string, lexicon: Lexicon): boolean {
  const words = spokenWords(line);
  const before = inOrder(anyOf(phraseOf(lexicon.fillers)), phraseOf(lexicon.no));
  const starts = words.slice(0, 4).map((_, index) => words.slice(0, index + 1));
  return starts.some((start) => isWhole(before, start)) && namesAValue(line, lexicon);
}

/** Whether a sentence names an amount, a person or a day. */
export function namesAValue(line: string, lexicon: Lexicon): boolean {
  return findMoney(line).length > 0 || has(lexicon.recipients, line) || namesADay(line, lexicon);
}

/** A day that is wished for, beside words of an answer: 네 내일 보내줘, but not 오늘 날씨 좋다. */
function namesADay(line: string, lexicon: Lexicon): boolean {
  const [day, ...others] = findWhen(line, { today: "2000-01-01" });
  if (!day || others.length > 0) return false;
  const rest = spokenWords(line.replace(day.words, " "));
  const { yes, goAheads, no, fillers, hesitations, acknowledges } = lexicon;
  const beside = anyOf(
    phraseOf(yes, goAheads, no, fillers, hesitations, acknowledges, BESIDE_A_DAY),
  );
  return rest.length === 0 || isWhole(beside, rest);
}

const BESIDE_A_DAY: ReadonlySet<string> = new Set(
  "에 로 으로 요 이요 날 하자 맞다 보내야 보내야돼 돼 but 근데 그런데 on".split(" "),
);

// --- what is not to be done, was done, or would be

/** A negation; `for-another`: something else is wanted instead. */
function negationIn(line: string, lexicon: Lexicon): "plain" | "for-another" | undefined {
  for (const pattern of lexicon.negates) {
    const found = pattern.exec(line);
    if (!found) continue;
    const behind = line.slice(found.index + found[0].length);
    return has(lexicon.offers, behind) ? "for-another" : "plain";
  }
  return undefined;
}

function isReport(line: string, lexicon: Lexicon): boolean {
  return lexicon.reports.some((pattern) => {
    const found = pattern.exec(line);
    if (!found) return false;
    return !has(lexicon.orders, line.slice(found.index + found[0].length));
  });
}

function isSupposed(line: string, lexicon: Lexicon): boolean {
  return has(lexicon.supposes, line) && !isPoliteOrder(line, lexicon);
}

/** Can you send 25k to Sarah? asks for it, and is no question of what is possible. */
function isPoliteOrder(line: string, lexicon: Lexicon): boolean {
  return has(lexicon.politeOrders, line) && namesAValue(line, lexicon);
}
