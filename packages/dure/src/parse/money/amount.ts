import type { Locale } from "../../kernel/locales.ts";
import { fold } from "../text.ts";

/** An amount in whole won, or why there is none. */
export type AmountResult =
  | { readonly ok: true; readonly won: number }
  | {
      readonly ok: false;
      readonly because: "empty" | "not-an-amount" | "negative" | "zero" | "fraction" | "too-large";
    };

/**
 * Whole won of an amount as people write it: `5만원`, `3만 5천원`, `1억`, `50,000원`, `오만원`, `2.5만원`,
 * `₩50,000`, `50천원`. The whole text must be the amount. What can be read in two ways (`50.000원`, `1억2천`)
 * is refused, not guessed. Pure. Source: docs/spec/conversation §8.
 */
export function parseAmount(text: string): AmountResult {
  const read = readByTheLetter(text);
  if (!read.ok) return read;
  const isClear = readClipped(fold(text).replaceAll(" ", ""), read.won).length === 1;
  return isClear ? read : { ok: false, because: "not-an-amount" };
}

/** As `parseAmount`, also of what is likelier abbreviated: `1억2천` is 100,002,000. Pure. */
export function readByTheLetter(text: string): AmountResult {
  const folded = fold(text).trim();
  if (folded === "") return { ok: false, because: "empty" };
  if (folded.length > LONGEST_TEXT) return { ok: false, because: "not-an-amount" };

  const signed = /^(?:(₩|\\|krw)\s*)?(?:[-−–]|마이너스|minus)\s*(.+)$/u.exec(folded);
  const { before, number } = withoutCurrency(signed ? `${signed[1] ?? ""}${signed[2]!}` : folded);
  if (before || /\d +\d/.test(number)) return { ok: false, because: "not-an-amount" };

  const value = readNumber(number.replaceAll(" ", ""));
  if (typeof value === "string") return { ok: false, because: value };
  if (signed) return { ok: false, because: value === 0n ? "zero" : "negative" };
  if (value === 0n) return { ok: false, because: "zero" };
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) return { ok: false, because: "too-large" };
  return { ok: true, won: Number(value) };
}

/**
 * What a number without spaces may mean that ends before its last unit, likeliest first: `3만5`, `1억2`,
 * `1억2천`, `백오십`; else what it says. Pure.
 */
export function readClipped(number: string, won: number): readonly number[] {
  if (won < 1_000 && SMALL_NUMERALS.test(number)) return [won * 10_000, won];
  const ones = won % 10;
  if (/천[1-9일이삼사오육칠팔구]$/u.test(number)) return [won + ones * 99, won];
  if (/만[1-9일이삼사오육칠팔구]$/u.test(number)) return [won + ones * 999, won];

  const [, unit, rest] = /([억조])([^만억조원]*[천백십]원?|[^만억조원]+)$/u.exec(number) ?? [];
  if (rest === undefined) return [won];
  const size = unit === "억" ? 100_000_000 : 1_000_000_000_000;
  const said = won % size;
  const smaller = rest.length === 1 && ones > 0 ? size / 10 : size / 10_000;
  return [won + said * (smaller - 1), won];
}

/** 백오십, 5백 */
const SMALL_NUMERALS = /^[일이삼사오육칠팔구\d]*[십백][일이삼사오육칠팔구십\d]*$/u;

/** `50,000원` or `50,000 won`; `parseAmount` reads both back. */
export function formatAmount(won: number, locale: Locale): string {
  const digits = String(won).replace(/\B(?=(\d{3})+$)/g, ",");
  return locale === "ko" ? `${digits}원` : `${digits} won`;
}

/** No amount that fits into a safe integer needs more characters, however it is spaced. */
const LONGEST_TEXT = 60;

/** Folded words without `₩` (or the key that writes it, `\`), `krw`, `won`, `원` on either side. Pure. */
export function withoutCurrency(folded: string): { before: boolean; number: string } {
  const number = folded
    .replace(/^(?:₩|\\|krw|won|원)\s*/u, "")
    .replace(/\s*(?:원정?|won|krw|₩)$/u, "")
    .trim();
  return { before: number === "", number };
}

const PLAIN_DIGITS = /^(?:\d+|\d{1,3}(?:,\d{3})+)$/;
const BIG_UNITS = [
  ["조", 1_000_000_000_000n],
  ["억", 100_000_000n],
  ["만", 10_000n],
] as const;
const SMALL_UNITS = { 천: 1000n, 백: 100n, 십: 10n } as const;
const DIGITS = "영일이삼사오육칠팔구";

function readNumber(text: string): bigint | "not-an-amount" | "fraction" {
  if (PLAIN_DIGITS.test(text)) return BigInt(text.replaceAll(",", ""));

  const counted = /^([\d,]+)(?:\.(\d+))?([십백천]?[만억조]?)$/u.exec(text);
  if (counted) return readCounted(counted[1]!, counted[2] ?? "", counted[3]!);
  return readSections(text) ?? "not-an-amount";
}

/**
 * `2.5만`, `50천`, `12백만`: exact, in integers. Without a unit a decimal point is either a fraction of
 * a won or a foreign thousands mark.
 */
function readCounted(
  whole: string,
  fraction: string,
  unit: string,
): bigint | "not-an-amount" | "fraction" {
  if (!PLAIN_DIGITS.test(whole)) return "not-an-amount";
  if (unit === "") return "fraction";

  const factor = readSections(unit);
  if (factor === undefined) return "not-an-amount";
  const scaled = BigInt(whole.replaceAll(",", "") + fraction) * factor;
  const scale = 10n ** BigInt(fraction.length);
  return scaled % scale === 0n ? scaled / scale : "fraction";
}

/**
 * `1억2천만5백`: sections of at most four digits, each with its unit, in falling order. `만` alone is
 * 1만.
 */
function readSections(text: string): bigint | undefined {
  let rest = text;
  let sum = 0n;
  let isFirst = true;
  for (const [unit, factor] of BIG_UNITS) {
    const end = rest.indexOf(unit);
    if (end < 0) continue;

    const head = rest.slice(0, end);
    const count = head === "" && isFirst ? 1n : readSection(head);
    if (count === undefined || (!isFirst && !fitsBehindUnit(count))) return undefined;
    sum += count * factor;
    rest = rest.slice(end + 1);
    isFirst = false;
  }
  if (rest === "") return isFirst ? undefined : sum;

  const last = readSection(rest);
  if (last === undefined) return undefined;
  if (!isFirst && (sum === 0n || !fitsBehindUnit(last))) return undefined;
  return sum + last;
}

/** What follows a bigger unit is one to four digits, and not zero. */
function fitsBehindUnit(count: bigint): boolean {
  return count > 0n && count <= 9999n;
}

/** Below a unit: `5000`, `5,000`, `5천`, `오천`, `3천5백`, `천이백삼십사`, `3천500`. */
function readSection(text: string): bigint | undefined {
  if (PLAIN_DIGITS.test(text)) return BigInt(text.replaceAll(",", ""));
  if (text === "영" || text === "공") return 0n;

  const match =
    /^(?:([1-9일이삼사오육칠팔구]?)천)?(?:([1-9일이삼사오육칠팔구]?)백)?(?:([1-9일이삼사오육칠팔구]?)십)?(\d{1,3}|[일이삼사오육칠팔구])?$/.exec(
      text,
    );
  if (!match || text === "") return undefined;

  let sum = 0n;
  let smallest = 10n;
  for (const [index, factor] of Object.values(SMALL_UNITS).entries()) {
    const count = match[index + 1];
    if (count === undefined) continue;
    sum += (count === "" ? 1n : readDigit(count)) * factor;
    smallest = factor;
  }
  if (match[4] === undefined) return sum;
  const ones = /\d/.test(match[4]) ? BigInt(match[4]) : readDigit(match[4]);
  return ones > 0n && ones < smallest ? sum + ones : undefined;
}

function readDigit(digit: string): bigint {
  return /\d/.test(digit) ? BigInt(digit) : BigInt(DIGITS.indexOf(digit));
}
