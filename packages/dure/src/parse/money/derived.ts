/** Amounts that words compute: 5천원 더, 3만원의 반, half of that. Code computes them exactly. */
import type { Locale } from "../../kernel/locales.ts";
import { formatAmount, readByTheLetter } from "./amount.ts";
import { readEnglishAmount } from "./english-number.ts";
import { readMoneyLine, type MoneyLine } from "./find-money.ts";
import type { ChangeHow } from "./change-words.ts";
import { changedBy, findChanges, type Change } from "./money-changes.ts";
import { writtenBetween } from "../placed-line.ts";

/** What is known beside the words. */
export interface KnownAmounts {
  /** The amount that stands: what the person was shown. */
  readonly current?: number | undefined;
  /** What "as last time" means. */
  readonly last?: number | undefined;
  /** What "all of it" means. */
  readonly whole?: number | undefined;
  /** Over how many people a split goes, where the words do not say it. */
  readonly people?: number | undefined;
}

/** An amount that words compute. */
export interface DerivedAmount {
  /** Whole won, rounded down. */
  readonly value: number;
  /** As they were written. */
  readonly words: string;
  readonly how: "more" | "less" | "part" | "times" | "percent" | "split" | "all" | "same";
  /** The amount that is changed. */
  readonly from: number;
  /** The second operand: 5000 of "5,000 more", 2 of a half, 10 of 10 %; 1 of all and the same. */
  readonly by: number;
  /** How many of the parts: 2 of two thirds. */
  readonly parts?: number | undefined;
  /** False where won are no whole number: 10,000 by three. */
  readonly isWhole: boolean;
}

/**
 * What a sentence computes from the amounts that it names and those that are known. Nothing where it
 * says an amount plainly, where it changes one in two steps, or where an operand is not exact or not
 * known. Pure.
 *
 *     deriveAmounts("5천원 더", { current: 30_000 }) // [{ value: 35_000, how: "more", … }]
 */
export function deriveAmounts(sentence: string, known: KnownAmounts): readonly DerivedAmount[] {
  const line = readMoneyLine(sentence);
  const changes = findChanges(line.line.text, line.amounts);
  const meant = changes.filter(({ isRejected }) => !isRejected);
  const isChain = meant.length > 1 && !OR.test(line.line.text);
  const isUnknown = meant.some(({ how }) => how === "unknown");
  if (isChain || isUnknown || saysPlainly(line, changes)) return [];
  return meant.flatMap((change) => derive(change, line, known) ?? []);
}

/** Between changes of which one is meant. */
const OR = /(?<![a-z])or(?![a-z])|아니면|또는|혹은|이나 /u;

/** Whether an amount stands there that no words change. */
function saysPlainly({ amounts }: MoneyLine, changes: readonly Change[]): boolean {
  const changed = changedBy(changes);
  return amounts.some(({ isRejected }, place) => !isRejected && !changed.has(place));
}

function derive(change: Change, line: MoneyLine, known: KnownAmounts): DerivedAmount | undefined {
  const { how } = change;
  if (how === "unknown") return undefined;
  const from = fromOf(change, line, known);
  const by = byOf(change, line, known);
  const parts = numberOf(change.parts) ?? ONE;
  if (from === undefined || !by) return undefined;

  const { over, under } = COMPUTED[how](BigInt(from), by, parts);
  const value = over > 0n && under > 0n ? over / under : 0n;
  if (value < 1n || value > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  return {
    value: Number(value),
    words: wordsOf(change, line),
    how: HOW_SAID[how],
    from,
    by: Number(by.over) / Number(by.under),
    parts: parts.over === 1n ? undefined : Number(parts.over),
    isWhole: over % under === 0n,
  };
}

/** Up to the end of the last word: 만원 깎아서. */
function wordsOf({ at, end }: Change, { line }: MoneyLine): string {
  const more = /^\p{L}{0,8}/u.exec(line.text.slice(end))?.[0].length ?? 0;
  return writtenBetween(line, at, end + more).trim();
}

// --- the arithmetic, in fractions of integers

interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

const ONE: Fraction = { over: 1n, under: 1n };

type KnownHow = Exclude<ChangeHow, "unknown">;
type Compute = (from: bigint, by: Fraction, parts: Fraction) => Fraction;

/** `from` with so many hundredths of it. */
function hundredths(from: bigint, over: bigint, { under }: Fraction): Fraction {
  return { over: from * over, under: under * 100n };
}

const less: Compute = (from, { over, under }) => ({ over: from * under - over, under });
const itself: Compute = (from) => ({ over: from, under: 1n });

const COMPUTED: Readonly<Record<KnownHow, Compute>> = {
  more: (from, { over, under }) => ({ over: from * under + over, under }),
  less,
  except: less,
  part: (from, by, parts) => ({ over: from * by.under * parts.over, under: by.over * parts.under }),
  times: (from, { over, under }) => ({ over: from * over, under }),
  percent: (from, by) => hundredths(from, by.over, by),
  "percent-more": (from, by) => hundredths(from, by.under * 100n + by.over, by),
  "percent-less": (from, by) => hundredths(from, by.under * 100n - by.over, by),
  split: (from, { over, under }) => ({ over: from * under, under: over }),
  all: itself,
  same: itself,
};

const HOW_SAID: Readonly<Record<KnownHow, DerivedAmount["how"]>> = {
  more: "more",
  less: "less",
  except: "less",
  part: "part",
  times: "times",
  percent: "percent",
  "percent-more": "percent",
  "percent-less": "percent",
  split: "split",
  all: "all",
  same: "same",
};

// --- what is computed with

/** Words for what was sent before, and for all there is. */
const LAST = /(?:지난|저)(?:번|달|주)|전번|(?<![a-z])last (?:time|month|week|one)|previous/u;
const WHOLE = /잔액|잔고|통장|전 ?재산|전액|전부|balance|everything|all of it/u;
/** The whole of what stands, or all there is? */
const UNCLEAR = /전체|총액|(?<![a-z])total(?![a-z])/u;

/** Whether words count from all there is: 전액 보내줘, everything but 10,000 won. Pure. */
export function speaksOfAll(sentence: string): boolean {
  const { line, amounts } = readMoneyLine(sentence);
  const changes = findChanges(line.text, amounts);
  const isAll = changes.some(({ how }) => how === "all" || how === "except");
  return isAll || (changes.length > 0 && WHOLE.test(line.text));
}

/** The amount that is changed: one that is said, or a known one. */
function fromOf(change: Change, line: MoneyLine, known: KnownAmounts): number | undefined {
  const { base, how } = change;
  if (base !== undefined) return exactly(line, base);
  const { text } = line.line;
  if (how === "all" || how === "except" || WHOLE.test(text)) return amountOf(known.whole);
  if (how === "same" || LAST.test(text)) return amountOf(known.last);
  return UNCLEAR.test(text) ? undefined : amountOf(known.current);
}

function exactly({ amounts }: MoneyLine, place: number): number | undefined {
  const reading = amounts[place]?.reading;
  const isExact = reading?.ok === true && reading.sure === "exact" && reading.bound === undefined;
  return isExact ? reading.value : undefined;
}

function amountOf(known: number | undefined): number | undefined {
  return known !== undefined && Number.isSafeInteger(known) && known > 0 ? known : undefined;
}

function byOf(change: Change, line: MoneyLine, known: KnownAmounts): Fraction | undefined {
  switch (change.how) {
    case "more":
    case "less":
    case "except":
      return change.by === undefined ? undefined : wholeOf(exactly(line, change.by));
    case "split":
      return numberOf(change.count) ?? wholeOf(amountOf(known.people));
    case "part":
    case "times":
      return numberOf(change.count ?? "half");
    default:
      return numberOf(change.count) ?? ONE;
  }
}

function wholeOf(number: number | undefined): Fraction | undefined {
  return number === undefined ? undefined : { over: BigInt(number), under: 1n };
}

const COUNTS: readonly (readonly [words: string, count: bigint])[] = [
  ["a an one", 1n],
  ["half double doubled twice 두 둘 갑절 곱절 더블 따블", 2n],
  ["third triple tripled 세 셋", 3n],
  ["quarter fourth quadruple 네 넷", 4n],
  ["fifth 다섯", 5n],
  ["여섯", 6n],
  ["일곱", 7n],
  ["여덟", 8n],
  ["아홉", 9n],
  ["tenth 열", 10n],
];
const BY_WORD: ReadonlyMap<string, bigint> = new Map(
  COUNTS.flatMap(([words, count]) => words.split(" ").map((word) => [word, count] as const)),
);

/** 두, half, 12.5, 삼, twenty; undefined for none, and for zero. */
function numberOf(words: string | undefined): Fraction | undefined {
  if (words === undefined) return undefined;
  const count = BY_WORD.get(words);
  if (count !== undefined) return { over: count, under: 1n };

  const [, whole, decimals = ""] = /^(\d+)(?:\.(\d+))?$/u.exec(words) ?? [];
  if (whole !== undefined) {
    const over = BigInt(whole + decimals);
    return over > 0n ? { over, under: 10n ** BigInt(decimals.length) } : undefined;
  }
  const korean = readByTheLetter(words);
  const read = korean.ok ? korean : readEnglishAmount(words);
  return read?.ok === true ? wholeOf(read.won) : undefined;
}

// --- as people read it

/** `30,000원의 절반 = 15,000원`, `30,000 won + 5,000 won = 35,000 won`. Pure. */
export function showDerived(derived: DerivedAmount, locale: Locale): string {
  const { value, isWhole } = derived;
  const said = locale === "ko" ? saidInKorean(derived) : saidInEnglish(derived);
  return `${said} ${isWhole ? "=" : "≈"} ${formatAmount(value, locale)}`;
}

function saidInKorean(derived: DerivedAmount): string {
  const { how, by, parts = 1 } = derived;
  const from = formatAmount(derived.from, "ko");
  switch (how) {
    case "more":
      return `${from} + ${formatAmount(by, "ko")}`;
    case "less":
      return `${from} - ${formatAmount(by, "ko")}`;
    case "part":
      return by === 2 && parts === 1 ? `${from}의 절반` : `${from}의 ${by}분의 ${parts}`;
    case "times":
      return `${from}의 ${by}배`;
    case "percent":
      return percentOf(derived, `${from}의 ${by}%`, from);
    case "split":
      return `${from} ÷ ${by}`;
    case "all":
      return "전액";
    case "same":
      return "지난번과 같은 금액";
  }
  return how satisfies never;
}

const ENGLISH_PARTS: Readonly<Record<number, string>> = { 2: "half", 3: "a third", 4: "a quarter" };

function saidInEnglish(derived: DerivedAmount): string {
  const { how, by, parts = 1 } = derived;
  const from = formatAmount(derived.from, "en");
  const part = parts === 1 ? ENGLISH_PARTS[by] : undefined;
  switch (how) {
    case "more":
      return `${from} + ${formatAmount(by, "en")}`;
    case "less":
      return `${from} - ${formatAmount(by, "en")}`;
    case "part":
      return `${part ?? `${parts}/${by}`} of ${from}`;
    case "times":
      return `${by} × ${from}`;
    case "percent":
      return percentOf(derived, `${by}% of ${from}`, from);
    case "split":
      return `${from} ÷ ${by}`;
    case "all":
      return "the whole amount";
    case "same":
      return "the same as last time";
  }
  return how satisfies never;
}

/** Ten percent of it, and that much more or less than it. */
function percentOf({ value, from, by }: DerivedAmount, of: string, said: string): string {
  if (value === Math.floor((from * by) / 100)) return of;
  return `${said} ${value > from ? "+" : "-"} ${by}%`;
}
