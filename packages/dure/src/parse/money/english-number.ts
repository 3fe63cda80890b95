/**
 * Amounts in English words, in digits with a word, and mixed: `fifty thousand`, `1.5m`, `5 hundred
 * thousand`, `half a million`, `one point five million`, `a million and a half`. They are computed
 * in millionths of a won, so that they are exact.
 */
import { withoutCurrency, type AmountResult } from "./amount.ts";

/** Words that multiply the number before them. */
const LONG_SCALES: Readonly<Record<string, bigint>> = {
  thousand: 1_000n,
  grand: 1_000n,
  million: 1_000_000n,
  billion: 1_000_000_000n,
};
/** Those that stand behind digits alone. */
const SHORT_SCALES: Readonly<Record<string, bigint>> = {
  k: 1_000n,
  m: 1_000_000n,
  mn: 1_000_000n,
  mil: 1_000_000n,
  b: 1_000_000_000n,
  bn: 1_000_000_000n,
};
const ONES = (
  "zero one two three four five six seven eight nine " +
  "ten eleven twelve thirteen fourteen fifteen sixteen " +
  "seventeen eighteen nineteen"
).split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

/** Numbers in letters, as an alternation. */
export const COUNTING_WORDS = [...ONES, ...TENS, "fourty", "ninty"].join("|");
export const LONG_SCALE_WORDS = Object.keys(LONG_SCALES).join("|");
export const SCALE_WORDS = `${LONG_SCALE_WORDS}|mil|mn|bn|k|m|b`;

/** Idioms, as tokens that the grammar below knows. */
const IDIOMS: readonly (readonly [RegExp, string])[] = [
  [/\bfourty\b/gu, "forty"],
  [/\bninty\b/gu, "ninety"],
  [/ and (?:an? )?half\b/gu, " half-more"],
  [new RegExp(`^(?:a )?half (?:an? )?(?=${LONG_SCALE_WORDS})`, "gu"), "0.5 "],
  [/^(?:a )?quarter (?:of )?(?:an? )?(?=million|billion)/gu, "0.25 "],
  [/(?<=\d)(?=[a-z])/gu, " "],
];
const DECIMALS = new RegExp(` point((?: (?:${ONES.slice(0, 10).join("|")}))+)`, "u");
/** No amount has more words. */
const MAX_WORDS = 24;
const MILLION = 1_000_000n;

/** `50k won`, `1.5m`, `50 thousand won`, `fifty thousand won`; nothing if it is none of these. */
export function readEnglishAmount(folded: string): AmountResult | undefined {
  const { number } = withoutCurrency(folded);
  if (!/^[a-z\d][a-z\d ,.-]*$/u.test(number) || !/[a-z]/u.test(number)) return undefined;

  const plain = IDIOMS.reduce((text, [idiom, token]) => text.replaceAll(idiom, token), number);
  const spoken = plain.replace(DECIMALS, (_, digits: string) => ` +0.${digitsOf(digits)}`);
  const sum = readTokens(spoken.split(/ +|(?<=[a-z])-(?!more)/u));
  return sum === undefined ? undefined : wonOf(sum);
}

function digitsOf(words: string): string {
  return words
    .trim()
    .split(" ")
    .map((word) => ONES.indexOf(word))
    .join("");
}

function wonOf(millionths: bigint): AmountResult {
  if (millionths % MILLION !== 0n) return { ok: false, because: "fraction" };
  const won = millionths / MILLION;
  if (won === 0n) return { ok: false, because: "zero" };
  return won > BigInt(Number.MAX_SAFE_INTEGER)
    ? { ok: false, because: "too-large" }
    : { ok: true, won: Number(won) };
}

// --- the grammar: groups with falling scales, `two hundred and fifty thousand five hundred`

/** What is read so far, in millionths. */
interface Sum {
  readonly total: bigint;
  /** The number that waits for its scale. */
  readonly group: bigint | undefined;
  /** Of the last scale; what follows is smaller. */
  readonly room: bigint | undefined;
  readonly last: string;
}

const NOTHING: Sum = { total: 0n, group: undefined, room: undefined, last: "" };
/** An amount ends in none of these. */
const OPEN_END = /^(?:|an?|and)$/u;

function readTokens(tokens: readonly string[]): bigint | undefined {
  if (tokens.length > MAX_WORDS) return undefined;

  let sum: Sum | undefined = NOTHING;
  for (const token of tokens) {
    const next: Sum | undefined = withToken(sum, token);
    if (!next) return undefined;
    sum = { ...next, last: token };
  }
  const { total, group = 0n, room, last } = sum;
  if (OPEN_END.test(last) || (room !== undefined && group >= room)) return undefined;
  // 50k 5 is no 50,005.
  const isCut = group > 0n && tokens.some((token) => Object.hasOwn(SHORT_SCALES, token));
  return isCut ? undefined : total + group;
}

function withToken(sum: Sum, token: string): Sum | undefined {
  if (token === "and") return sum.last === "" || sum.last === "and" ? undefined : sum;
  if (token === "half-more") return withHalf(sum);
  if (Object.hasOwn(LONG_SCALES, token)) return withScale(sum, LONG_SCALES[token]!);
  if (Object.hasOwn(SHORT_SCALES, token)) {
    return /^\d/u.test(sum.last) ? withScale(sum, SHORT_SCALES[token]!) : undefined;
  }
  const group = /\d/u.test(token) ? withDigits(sum, token) : withWord(sum, token);
  return group === undefined ? undefined : { ...sum, group };
}

/** Without a number before it a scale is one of its kind only at the beginning: `million won`. */
function withScale({ total, group, room, last }: Sum, scale: bigint): Sum | undefined {
  const count = group ?? (last === "" ? MILLION : 0n);
  const added = count * scale;
  if (added === 0n || (room !== undefined && added >= room)) return undefined;
  return { total: total + added, group: undefined, room: scale * MILLION, last };
}

/** `one and a half million`, `a million and a half`. */
function withHalf({ total, group, room, last }: Sum): Sum | undefined {
  if (group !== undefined) return { total, group: group + MILLION / 2n, room, last };
  const isLarge = room !== undefined && room >= MILLION * MILLION;
  return isLarge ? { total: total + room / 2n, group, room: 1n, last } : undefined;
}

const DIGITS = /^(\+?)(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d{1,6}))?$/u;

/** `2.5`, `1,200`; with a plus the decimals of the number before: `two point five`. */
function withDigits({ group }: Sum, token: string): bigint | undefined {
  const match = DIGITS.exec(token);
  if (!match || (match[1] === "+") !== (group !== undefined)) return undefined;
  const [, , whole = "", decimals = ""] = match;
  return (group ?? 0n) + BigInt(whole.replaceAll(",", "") + decimals.padEnd(6, "0"));
}

/** The number below a scale that the group becomes with one more word. */
function withWord({ group, last }: Sum, word: string): bigint | undefined {
  if (word === "a" || word === "an") return group === undefined ? MILLION : undefined;
  if (word === "hundred") return withHundred(group, last);

  const value = valueOf(word);
  if (value === undefined || /^\d/u.test(last)) return undefined;
  if (group === undefined) return value * MILLION;
  return hasRoom(group, value) ? group + value * MILLION : undefined;
}

function valueOf(word: string): bigint | undefined {
  const [one, ten] = [ONES.indexOf(word), TENS.indexOf(word)];
  if (ten >= 0) return BigInt((ten + 2) * 10);
  return one < 0 ? undefined : BigInt(one);
}

/** Behind hundreds anything below them; behind tens from twenty on, one to nine. */
function hasRoom(group: bigint, value: bigint): boolean {
  if (value === 0n || group % MILLION !== 0n || group < 20n * MILLION) return false;
  const below = (group / MILLION) % 100n;
  return below === 0n || (below >= 20n && below % 10n === 0n && value < 10n);
}

/** `five hundred`, `fifteen hundred`, `hundred thousand`. */
function withHundred(group: bigint | undefined, last: string): bigint | undefined {
  if (group === undefined) return last === "" ? 100n * MILLION : undefined;
  const isCount = group < 100n * MILLION && group % (10n * MILLION) !== 0n;
  return isCount ? group * 100n : undefined;
}
