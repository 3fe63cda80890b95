import type { AmountResult } from "./amount.ts";

const SCALES: Readonly<Record<string, bigint>> = {
  k: 1_000n,
  thousand: 1_000n,
  grand: 1_000n,
  m: 1_000_000n,
  mil: 1_000_000n,
  million: 1_000_000n,
  b: 1_000_000_000n,
  billion: 1_000_000_000n,
};

/** `50k won`, `1.5m`, `50 thousand won`, `fifty thousand won`; nothing if it is none of these. */
export function readEnglishAmount(folded: string): AmountResult | undefined {
  const number = folded.replace(/^(?:₩|krw) ?/u, "").replace(/ ?(?:won|krw|원)$/u, "");
  const scaled = new RegExp(
    "^(\\d{1,3}(?:,\\d{3})+|\\d{1,15})(?:\\.(\\d{1,6}))? ?(k|" +
      "thousand|grand|mil|million|m|b|billion)$",
    "",
  ).exec(number);
  if (scaled) return wonOf(...scaleOf(scaled[1]!, scaled[2] ?? "", SCALES[scaled[3]!]!));

  const spoken = /^[a-z][a-z -]*$/.test(number) ? readSpoken(number.split(/[ -]+/)) : undefined;
  return spoken === undefined ? undefined : wonOf(spoken, 1n);
}

function scaleOf(whole: string, fraction: string, factor: bigint): [bigint, bigint] {
  return [BigInt(whole.replaceAll(",", "") + fraction) * factor, 10n ** BigInt(fraction.length)];
}

function wonOf(scaled: bigint, scale: bigint): AmountResult {
  if (scaled % scale !== 0n) return { ok: false, because: "fraction" };
  const won = scaled / scale;
  if (won === 0n) return { ok: false, because: "zero" };
  return won > BigInt(Number.MAX_SAFE_INTEGER)
    ? { ok: false, because: "too-large" }
    : { ok: true, won: Number(won) };
}

const ONES = (
  "zero one two three four five six seven eight nine " +
  "ten eleven twelve thirteen fourteen fifteen sixteen " +
  "seventeen eighteen nineteen"
).split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const MAX_WORDS = 10;

/** `two hundred and fifty thousand`; every group of thousands at most once, in falling order. */
function readSpoken(words: readonly string[]): bigint | undefined {
  if (words.length > MAX_WORDS) return undefined;

  let sum = 0n;
  let group = 0n;
  let lastScale = 10n ** 15n;
  for (const word of words) {
    if (word === "and") continue;
    const scale = word.length > 3 ? SCALES[word] : undefined;
    if (scale !== undefined) {
      if (scale >= lastScale || group === 0n) return undefined;
      sum += group * scale;
      group = 0n;
      lastScale = scale;
      continue;
    }
    const next = withWord(group, word);
    if (next === undefined) return undefined;
    group = next;
  }
  return words.length === 0 ? undefined : sum + group;
}

/** The number below a thousand that `group` becomes with one more word. */
function withWord(group: bigint, word: string): bigint | undefined {
  if (word === "a") return group === 0n ? 1n : undefined;
  if (word === "hundred") return group > 0n && group < 10n ? group * 100n : undefined;

  const one = ONES.indexOf(word);
  const ten = TENS.indexOf(word);
  if (ten >= 0) return group % 100n === 0n ? group + BigInt((ten + 2) * 10) : undefined;
  if (one < 0) return undefined;
  const room = one < 10 ? group % 10n === 0n && group % 100n !== 10n : group % 100n === 0n;
  return room ? group + BigInt(one) : undefined;
}
