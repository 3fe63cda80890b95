import { DATIVE, PLACE, SOURCE } from "../lexicon/particles.ts";
import { josaOnly, type Josa } from "../josa.ts";
import * as en from "../lexicon/names.en.ts";
import * as ko from "../lexicon/names.ko.ts";
import { MARKS, spelt } from "./marked-words.ts";
import type { MoneyReading } from "../money/money.ts";
import { isLikeName, isPronoun, isRelation, isSmallAlone, isTitle } from "./names.ts";
import { ordersIn } from "./orders.ts";
import { markedLine, type MarkedLine } from "./payment-line.ts";
import { isName, withoutEnds } from "./person.ts";

/** The words of a sentence, as far as they say who gets what. */

/** How a name is marked by what stands behind it. */
export type Mark =
  /** 엄마한테 */
  | "dative"
  /** 매일유업에: a place is paid only beside an amount. */
  | "place"
  /** 아빠로: a person only where something is changed. */
  | "aim"
  /** 철수는, 영희가 */
  | "topic"
  /** 아빠도: with what was before. */
  | "also"
  /** 엄마랑: with what follows. */
  | "joined"
  | "bare";

export interface NameToken {
  readonly kind: "name";
  readonly name: string;
  readonly mark: Mark;
  /** With what looks like a particle: 하랑 is 하 and 랑, or a name. */
  readonly whole: string;
}

/** Words that are no names, and what they do to the names around them. */
export type WordRole =
  | "joiner"
  | "each"
  | "to"
  | "for"
  | "arrow"
  /** 엄마: 3만원 */
  | "pair"
  /** send: a person may follow. */
  | "verb"
  /** split: people follow behind `with` and `between`. */
  | "share"
  /** 말고: the one before is not meant. */
  | "not-before"
  /** 대신 */
  | "instead"
  /** not: the one behind it is not meant. */
  | "not-behind"
  /** 메모: what follows is written beside the money. */
  | "note"
  /** from: whence it comes. */
  | "from"
  /** 나머지, twice that: an amount that no figure says. */
  | "other-amount"
  /** 계좌로 */
  | "close"
  /** 한테, written apart. */
  | "particle"
  /** 용돈: what the money is for. */
  | "purpose"
  /** 보내줘: a transfer is over. */
  | "sent"
  /** What is said here has ended. */
  | "break"
  | "clause-end";

export type Token =
  | NameToken
  | { readonly kind: "money"; readonly money: MoneyReading }
  /** 음, please, 내일: names and amounts reach over it. */
  | { readonly kind: "small"; readonly text: string }
  | { readonly kind: WordRole };

/** The words of what a sentence orders, in their order. Pure. */
export function wordsOf(sentence: string): Token[] {
  const read = markedLine(sentence);
  const clauses = ordersIn(read.text);
  return clauses.flatMap((clause): Token[] => [
    ...clause
      .split(/[\s.!?~()]+/)
      .filter((word) => word !== "")
      .flatMap((word) => tokenOf(word, read)),
    { kind: "clause-end" },
  ]);
}

// --- one word

const JOINERS = `${MARKS.joiner}|and|or|랑|이랑|하고|와|과|또는|혹은|아니면`;
const PURPOSE = new RegExp(
  `^(?:${ko.PURPOSES.join("|")}|[가-힣]{0,6}(?:${ko.PURPOSE_ENDS})|${en.PURPOSES.join("|")})` +
    "(?:으로|로|은|는|을|를|이|가|도|만|조로|용으로|에|겸|이요|요)?$",
  "iu",
);

const SENT = new RegExp(
  "^(?:보내|부쳐|부치|쏴|쏘|송금|이체|입금|넣어|갚|돌려|빌려|드려|드리|옮겨|나눠|전달|추가|바꿔|바꾸|변경|" +
    "수정|고쳐|해 ?주|해줘|해줄|줘|줄래|주세요|주라|주고 )",
  "u",
);

const ROLES: readonly (readonly [pattern: RegExp, role: WordRole | "nothing"])[] = [
  [new RegExp(`^(?:${JOINERS})$`, "iu"), "joiner"],
  [/^(?:각각|각자|각|씩|each|똑같이|apiece)$/iu, "each"],
  [new RegExp(`^${MARKS.arrow}$`, "u"), "arrow"],
  [new RegExp(`^${MARKS.pair}$`, "u"), "pair"],
  [new RegExp(`^(?:${MARKS.cut}|;)$`, "u"), "break"],
  [/^(?:to|between|among)$/iu, "to"],
  [/^for$/iu, "for"],
  [/^(?:말고|말구|아니고|아니라|아닌|빼고|제외하고|제외)$/u, "not-before"],
  [/^대신에?$/u, "instead"],
  [/^(?:not|except|excluding)$/iu, "not-behind"],
  [/^(?:from|with)$/iu, "from"],
  [
    /^(?:[두세네]?배|나머지|절반|반|같은|똑같은|그만큼)(?:은|는|을|를|로|만)?$|^(?:twice|double|half|same|ditto|rest|remaining|remainder)$/iu,
    "other-amount",
  ],
  [/^(?:에게|한테|께|앞으로)(?:로|도|는|만)?$/u, "particle"],
  [/^(?:계좌|통장|account)(?:로|으로|에)?$/iu, "close"],
  [/^(?:우리|울|제|내|저희|my|our|the)$/iu, "nothing"],
  [/^(?:split|divide|share)$/iu, "share"],
  [/^\d{1,2}번(?:째)?(?:은|는|만|을|를|도)?$/u, "break"],
  [new RegExp(`^(?:${en.PAYING_VERBS})$`, "iu"), "verb"],
  [new RegExp(`^(?:${en.BREAKS})$`, "iu"), "break"],
  [PURPOSE, "purpose"],
  [
    /^(?:메모|적요|입금자명?|보내는사람|통장표시|memo|note|message|saying)(?:에|는|에는|:)?$/iu,
    "note",
  ],
  [SENT, "sent"],
];

function tokenOf(word: string, { moneys, accounts }: MarkedLine): Token[] {
  const index = Number(word.slice(1));
  if (word.startsWith(MARKS.money)) return [{ kind: "money", money: moneys[index]! }];
  if (word.startsWith(MARKS.day)) return [{ kind: "small", text: "" }];
  if (word.startsWith(MARKS.account)) return [named("dative", accounts[index]!)];

  const role = ROLES.find(([pattern]) => pattern.test(word))?.[1];
  if (role === "nothing") return [];
  if (role !== undefined) return [{ kind: role }];
  const isSmall = isSmallAlone(word) || BANK.test(word);
  return isSmall ? [{ kind: "small", text: word }] : nameTokens(word);
}

/** 국민은행, 카카오뱅크로: by which way it goes. */
const BANK = /(?:페이|뱅크|은행|증권|카드|계좌|통장|현금)(?:으로|로|에서)?$/u;

function named(mark: Mark, name: string, whole = name): NameToken {
  return { kind: "name", mark, name, whole };
}

// --- what stands behind a name

/**
 * Longer ones come first. With a form a particle stands only behind the sound that it fits, since
 * names end alike: 지은 has none, and 하늘은 has.
 */
const PARTICLES: readonly (readonly [ending: string, mark: Mark, form: Josa | undefined])[] = [
  ["이랑", "joined", undefined],
  ["랑", "joined", undefined],
  ["하고", "joined", undefined],
  ["와", "joined", undefined],
  ["과", "joined", undefined],
  ["이나", "joined", undefined],
  ["나", "joined", undefined],
  ["은", "topic", "은/는"],
  ["는", "topic", undefined],
  ["이", "topic", "이/가"],
  ["가", "topic", "이/가"],
  ["만", "topic", undefined],
  ["도", "also", undefined],
  ["의", "bare", undefined],
];

function nameTokens(word: string): Token[] {
  const dative = DATIVE.exec(word)?.[1];
  if (dative !== undefined && !SOURCE.test(word)) return [tokenNamed("dative", dative)];
  const [, place, aim] = PLACE.exec(word) ?? [];
  if (place !== undefined) return [tokenNamed("place", place)];
  if (aim !== undefined) return [tokenNamed("aim", aim)];
  if (SOURCE.test(word) || isSpoken(word)) return [{ kind: "break" }];

  for (const [ending, mark, form] of PARTICLES) {
    const stem = word.slice(0, -ending.length);
    if (word.endsWith(ending) && takesParticle(stem, ending, form)) {
      return [tokenNamed(mark, stem, word)];
    }
  }
  return [tokenNamed("bare", word)];
}

/** 민수야 calls; 했어, 먹고, 빠르게 and 급하면 are no names. */
function isSpoken(word: string): boolean {
  return CALLED.test(word) || (VERB.test(word) && !isLikeName(word)) || hasPastTense(word);
}

const CALLED = /^[가-힣]{2,}야$/u;
const VERB = new RegExp(`${ko.VERB_ENDS}$`, "u");

/** Syllables like 했, 있 and 겠, with ㅆ below. */
function hasPastTense(word: string): boolean {
  return Array.from(word).some(
    (one) => one >= "가" && one <= "힣" && (one.codePointAt(0)! - 0xac00) % 28 === SS,
  );
}

/** The place of ㅆ among the final consonants. */
const SS = 20;

function tokenNamed(mark: Mark, word: string, whole = word): Token {
  const name = spelt(withoutEnds(word));
  if (isPronoun(name) || !isName(name)) return { kind: "break" };
  const bare = spelt(withoutEnds(whole));
  return named(mark, name, isName(bare) ? bare : name);
}

const LIKE_PARTICLES: ReadonlySet<string> = new Set(ko.GIVEN_NAMES_LIKE_PARTICLES);
const SHORT_NAMES: ReadonlySet<string> = new Set(ko.SHORT_NAMES);
/** 레오나르도, 로만 */
const FOREIGN_ENDS = /(?:[르날난만카]도)$/u;

function isCommonSurname(stem: string): boolean {
  return ko.SURNAMES.slice(0, COMMON_SURNAMES).includes(stem[0]!);
}

/** They stand first. */
const COMMON_SURNAMES = 33;

/** Whether an ending is a particle behind this name, and not a part of it. */
function takesParticle(stem: string, ending: string, form: Josa | undefined): boolean {
  if (stem === "" || !isName(spelt(withoutEnds(stem)))) return false;
  if (/^\p{Script=Latin}/u.test(stem)) return true;
  if (!/[가-힣]$/u.test(stem)) return false;
  if (isRelation(stem) || isTitle(stem) || SHORT_NAMES.has(stem)) return true;
  if (form !== undefined && josaOnly(stem, form) !== ending) return false;
  if (endsAsAName(stem, ending)) return false;
  return ending !== "이" || stem.length > 2;
}

/** Whether what looks like a particle is the end of the name: 이하나, 김가은, 마리아. */
function endsAsAName(stem: string, ending: string): boolean {
  if (ending.endsWith("나") || stem.length < 2 || FOREIGN_ENDS.test(stem + ending)) return true;
  return stem.length === 2 && isCommonSurname(stem) && LIKE_PARTICLES.has(stem[1] + ending);
}
