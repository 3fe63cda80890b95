import fc from "fast-check";
import { expect, test } from "vitest";
import { formatAmount } from "./amount.ts";
import { findMoney } from "./find-money.ts";
import { parseMoney } from "./money.ts";

/** Numbers in falling units, as people write them. */
const KOREAN_UNITS = [
  ["억", 100_000_000],
  ["만", 10_000],
  ["", 1],
] as const;
const ENGLISH_UNITS = [
  [" million", 1_000_000],
  [" thousand", 1_000],
  ["", 1],
] as const;
const SMALL_UNITS = [
  ["천", 1_000],
  ["백", 100],
  ["십", 10],
  ["", 1],
] as const;
const ONES = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen " +
  "fifteen sixteen seventeen eighteen nineteen"
).split(" ");
const TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

/** The counts of a number by units of falling size, without those that are zero. */
function inUnits(
  won: number,
  units: readonly (readonly [unit: string, size: number])[],
  write: (count: number, unit: string) => string,
): string[] {
  let rest = won;
  return units.flatMap(([unit, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [write(count, unit)];
  });
}

function inNumerals(count: number): string {
  const written = inUnits(count, SMALL_UNITS, (one, unit) => {
    return one === 1 && unit !== "" ? unit : `${"영일이삼사오육칠팔구"[one]!}${unit}`;
  });
  return written.join("");
}

function inKorean(won: number): string {
  const written = inUnits(won, KOREAN_UNITS, (count, unit) => {
    return count === 1 && unit === "만" ? unit : inNumerals(count) + unit;
  });
  return written.join(" ");
}

function belowHundred(count: number): string {
  if (count < 20) return ONES[count]!;
  const ones = count % 10;
  return ones === 0 ? TENS[count / 10]! : `${TENS[(count - ones) / 10]!}-${ONES[ones]!}`;
}

function belowThousand(count: number): string {
  const [hundreds, rest] = [Math.floor(count / 100), count % 100];
  const before = hundreds === 0 ? "" : `${ONES[hundreds]!} hundred`;
  const behind = rest === 0 ? "" : belowHundred(rest);
  return before !== "" && behind !== "" ? `${before} and ${behind}` : before + behind;
}

function inEnglish(won: number): string {
  return inUnits(won, ENGLISH_UNITS, (count, unit) => belowThousand(count) + unit).join(" ");
}

function wide(text: string): string {
  return text.replaceAll(/[\d,]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0));
}

const STYLES: Readonly<Record<string, (won: number) => string>> = {
  digits: (won) => `${won}원`,
  bare: (won) => formatAmount(won, "ko").replace("원", ""),
  commas: (won) => formatAmount(won, "ko"),
  sign: (won) => `₩${won}`,
  code: (won) => `KRW ${formatAmount(won, "en").replace(" won", "")}`,
  wide: (won) => wide(formatAmount(won, "en")),
  mixed: (won) => `${inUnits(won, KOREAN_UNITS, (count, unit) => count + unit).join(" ")}원`,
  "mixed without won": (won) => inUnits(won, KOREAN_UNITS, (count, unit) => count + unit).join(""),
  numerals: (won) => `${inKorean(won)}원`,
  "numerals without won": (won) => inKorean(won).replaceAll(" ", ""),
  "spaced numerals": (won) => Array.from(inKorean(won).replaceAll(" ", "")).join(" "),
  man: (won) => `${won / 10_000}만`,
  k: (won) => `${won / 1_000}k`,
  million: (won) => `${won / 1_000_000} million won`,
  words: inEnglish,
  "words and won": (won) => `${inEnglish(won)} won`,
};

const numbers = fc
  .tuple(fc.integer({ min: 1, max: 9_999 }), fc.integer({ min: 0, max: 5 }))
  .map(([count, zeros]) => count * 10 ** zeros);

test("an amount in any style reads back exactly, or is doubted", () => {
  const styles = fc.constantFrom(...Object.keys(STYLES));
  fc.assert(
    fc.property(numbers, styles, (won, style) => {
      const words = STYLES[style]!(won);
      const sentence = /[가-힣]/u.test(words) ? `엄마한테 ${words} 보내줘` : `send ${words} to mom`;
      const readings = [parseMoney(words), ...findMoney(sentence)];
      return readings.every((one) => !one.ok || one.sure !== "exact" || one.value === won);
    }),
    { numRuns: 10_000, seed: 20_261_129 },
  );
});

test.each(Object.keys(STYLES))("thirty-five thousand is exact in the style %s", (style) => {
  expect(parseMoney(STYLES[style]!(35_000))).toMatchObject({ value: 35_000, sure: "exact" });
});
