/**
 * What the words around amounts make of them: 5천원 더, 3만원의 반, 10% of 30,000, split between two.
 * They are found in a folded line in which each amount is masked, so that a pattern can name it.
 */
import { CHANGE_WORDS, CUT_WORDS, PEOPLE, type ChangeHow } from "./change-words.ts";
import { COUNTING_WORDS, LONG_SCALE_WORDS } from "./english-number.ts";
import type { MoneyReading } from "./money.ts";

/** An amount in a folded line, with its manner: 각각 5만원 정도. */
export interface AmountSpan {
  readonly reading: MoneyReading;
  readonly at: number;
  readonly end: number;
  /** Said not to be meant: 5만원 말고. */
  readonly isRejected: boolean;
}

/** Words that change an amount, and their place in the folded line. */
export interface Change {
  readonly how: ChangeHow;
  readonly at: number;
  readonly end: number;
  /** Places, in the list of amounts, of those that the words are about. */
  readonly amounts: readonly number[];
  /** Of the amount that is changed; without one it is the amount that stands. */
  readonly base: number | undefined;
  /** Of the amount by which it is changed. */
  readonly by: number | undefined;
  /** The number by which it is changed: 2, 두, half, 12.5. */
  readonly count: string | undefined;
  /** 2 of two thirds. */
  readonly parts: string | undefined;
  /** Said not to be meant: 두 배 말고. */
  readonly isRejected: boolean;
}

/** The changes of a folded line, in order. Pure. */
export function findChanges(line: string, amounts: readonly AmountSpan[]): readonly Change[] {
  const masked = mask(line, amounts);
  const changes: Change[] = [];
  for (const [how, patterns] of CHANGES) {
    for (const match of patterns.flatMap((pattern) => matchesOf(pattern, masked))) {
      const change = changeOf(how, match, masked);
      const isTaken = changes.some(({ at, end }) => at < change.end && change.at < end);
      if (!isTaken && mayChange(change, amounts)) changes.push(change);
    }
  }
  const cut = CUT.flatMap((pattern) => matchesOf(pattern, masked));
  changes.push(...cut.map((match) => changeOf("unknown", match, masked)));
  changes.push(...amounts.flatMap((span, place) => cutAround(line, span, place)));
  return changes.toSorted((a, b) => a.at - b.at);
}

/** As `matchAll`, which copies its pattern each time. */
function matchesOf(pattern: RegExp, masked: string): RegExpExecArray[] {
  const matches: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(masked); match; match = pattern.exec(masked)) matches.push(match);
  return matches;
}

/** Places of the amounts that changes are about. Pure. */
export function changedBy(changes: readonly Change[]): ReadonlySet<number> {
  return new Set(changes.flatMap(({ amounts }) => amounts));
}

function changeOf(how: ChangeHow, match: RegExpExecArray, masked: string): Change {
  const [words] = match;
  const { base, by, count, parts } = match.groups ?? {};
  const end = match.index + words.length;
  return {
    how,
    at: match.index,
    end,
    amounts: [...words.matchAll(MARKS)].map(([mark]) => placeOf(mark)),
    base: base === undefined ? undefined : placeOf(base),
    by: by === undefined ? undefined : placeOf(by),
    count: count ?? (how === "split" ? peopleIn(masked, words) : undefined),
    parts,
    isRejected: isRejected(masked, match.index, end),
  };
}

/** 5만원씩 나눠서: each of them gets it. 5만원까지 올려줘: up to it, and not by it. */
function mayChange({ how, amounts: places }: Change, amounts: readonly AmountSpan[]): boolean {
  const readings = places.map((place) => amounts[place]!.reading);
  if (how === "split") return !readings.some((one) => one.ok && one.per === "each");
  return !readings.some((one) => one.ok && one.bound === "most" && one.sure === "exact");
}

const REJECTED =
  /^[가-힣]{0,3} ?(?:말고|말아|마(?:세요|라|$)|아니(?!면)|안 ?(?:해|보내|할)|하지 ?마|취소)/u;
const REJECTING =
  /(?:\bnot|n['’]?t|never|instead of|rather than|without|cancel)(?: [a-z]+){0,2} $/u;

function isRejected(masked: string, at: number, end: number): boolean {
  const before = masked.slice(Math.max(0, at - 24), at);
  return REJECTED.test(masked.slice(end, end + 10)) || REJECTING.test(before);
}

// --- amounts in a pattern

const FIRST_MARK = 0xe000;
const FILLER = "\uF8FF";
const MARK = "[\\uE000-\\uE0FF]\\uF8FF*";
const NO_MARK = "[^\\uE000-\\uF8FF.!?]";
const MARKS = new RegExp(MARK, "gu");

/** The line with a mark as long as each amount in its place. */
function mask(line: string, amounts: readonly AmountSpan[]): string {
  let masked = line.replaceAll(/[\uE000-\uF8FF]/gu, " ");
  for (const [place, { at, end }] of amounts.entries()) {
    const mark = String.fromCharCode(FIRST_MARK + place).padEnd(end - at, FILLER);
    masked = masked.slice(0, at) + mark + masked.slice(end);
  }
  return masked;
}

function placeOf(mark: string): number {
  return mark.charCodeAt(0) - FIRST_MARK;
}

function withAmounts(source: string): RegExp {
  const pattern = source
    .replaceAll("<base>", `(?<base>${MARK})`)
    .replaceAll("<by>", `(?<by>${MARK})`)
    .replaceAll("<any>", MARK)
    .replaceAll(/…\{(\d+)\}/gu, `${NO_MARK}{0,$1}?`);
  return new RegExp(pattern, "gu");
}

const CHANGES = CHANGE_WORDS.map(([how, ...sources]) => [how, sources.map(withAmounts)] as const);
const CUT = CUT_WORDS.map(withAmounts);

// --- amounts that are not wholly read

const BARE_SCALE = new RegExp(`^(?:hundred|${LONG_SCALE_WORDS})`, "u");
/** Words before `hundred thousand` that are no misspelt number. */
const BEFORE_BARE = new RegExp(
  "(?:^|[^a-z ]|(?<![a-z])(?:sends?|pay|give|wire|transfer|make|it|to|is|be|of|for|me|mom|dad|" +
    "mum|just|only|about|around|exactly|total|please|and|or)) ?$",
  "u",
);

const BEHIND_A_NUMBER = new RegExp(
  `(?<![a-z])(?:${COUNTING_WORDS}|hundred|${LONG_SCALE_WORDS})(?: and)?[ -]$`,
  "u",
);
const BEFORE_A_NUMBER = new RegExp(`^(?: and)?[ -](?:${COUNTING_WORDS}|hundred)(?![a-z])`, "u");

/** An amount that is part of a larger one: of fortey thousand, 50 000원, and of too many words. */
function cutAround(line: string, { at, end }: AmountSpan, place: number): Change[] {
  const words = line.slice(at, end);
  const before = line.slice(Math.max(0, at - 16), at);
  const isCut =
    (BARE_SCALE.test(words) && !BEFORE_BARE.test(before)) ||
    (/^\d{3}(?!\d)/u.test(words) && /(?<![\p{L}\d.,/:-])\d{1,3} $/u.test(before)) ||
    BEHIND_A_NUMBER.test(before) ||
    (/\d$/u.test(words) && /^ [십백천만억조]/u.test(line.slice(end, end + 2))) ||
    (/^[a-z]/u.test(words) && BEFORE_A_NUMBER.test(line.slice(end, end + 16)));
  if (!isCut) return [];
  const nothing = { base: undefined, by: undefined, count: undefined, parts: undefined };
  return [{ how: "unknown", at, end, amounts: [place], ...nothing, isRejected: false }];
}

// --- people of a split

/** The number of people in the line; 반반 says it itself. */
function peopleIn(masked: string, words: string): string | undefined {
  if (/반반|반씩|halves|fifty|50/u.test(words)) return "2";
  return PEOPLE.map((pattern) => pattern.exec(masked)?.groups?.["count"]).find(
    (count) => count !== undefined,
  );
}
