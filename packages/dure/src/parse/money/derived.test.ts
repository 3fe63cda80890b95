import fc from "fast-check";
import { expect, test } from "vitest";
import { deriveAmounts, showDerived, type KnownAmounts } from "./derived.ts";
import { boundMs } from "../../kernel/test-bounds.ts";

const KNOWN: KnownAmounts = { current: 30_000, last: 40_000, whole: 5_000_000, people: 4 };

/** `words = how from by value`; `~` where won are no whole number. */
const DERIVED = `
  그거의 두 배 = times 30000 2 60000
  두배로 보내줘 = times 30000 2 60000
  2배 = times 30000 2 60000
  3배로 해줘 = times 30000 3 90000
  곱절로 = times 30000 2 60000
  더블로 = times 30000 2 60000
  배로 보내줘 = times 30000 2 60000
  다섯 배 = times 30000 5 150000
  열 배로 = times 30000 10 300000
  지금보다 5천원 더 = more 30000 5000 35000
  원래보다 만원 덜 = less 30000 10000 20000
  여기에 5천원 더 = more 30000 5000 35000
  거기서 만원만 빼줘 = less 30000 10000 20000
  만원 적게 = less 30000 10000 20000
  5천원 많게 = more 30000 5000 35000
  5천원만 좀 더 = more 30000 5000 35000
  5천원 추가해서 보내줘 = more 30000 5000 35000
  5천원 더 얹어서 = more 30000 5000 35000
  만원 더 싸게 = less 30000 10000 20000
  5천원 올려줘 = more 30000 5000 35000
  5천원 내려줘 = less 30000 5000 25000
  5천원 낮춰줘 = less 30000 5000 25000
  만원 줄여줘 = less 30000 10000 20000
  만원 늘려줘 = more 30000 10000 40000
  5천원 할인 = less 30000 5000 25000
  5천원 빼줘 = less 30000 5000 25000
  20% 더 = percent 30000 20 36000
  20% 덜 = percent 30000 20 24000
  20% 할인해줘 = percent 30000 20 24000
  이십 프로 깎아줘 = percent 30000 20 24000
  10퍼센트 올려줘 = percent 30000 10 33000
  50%만 보내줘 = percent 30000 50 15000
  그거의 10% = percent 30000 10 3000
  12.5% 더 = percent 30000 12.5 33750
  3만원에서 10% 깎아서 = percent 30000 10 27000
  3만원의 10프로 = percent 30000 10 3000
  5만원의 절반 = part 50000 2 25000
  오만원의 반 = part 50000 2 25000
  5만 원의 3분의 2 = part 50000 3*2 33333~
  4분의 1만 보내줘 = part 30000 4 7500
  3분의 1로 줄여줘 = part 30000 3 10000
  절반으로 줄여 = part 30000 2 15000
  반값으로 = part 30000 2 15000
  반만 = part 30000 2 15000
  반씩 나눠서 = split 30000 2 15000
  반반 = split 30000 2 15000
  6만원을 반반 = split 60000 2 30000
  9만원을 셋이서 나눠 내자 = split 90000 3 30000
  10만원을 4명이 나누면 = split 100000 4 25000
  우리 다섯이 나눠서 = split 30000 5 6000
  2명이 나눠서 = split 30000 2 15000
  10만원 n분의 1 = split 100000 4 25000
  10만원을 세 번에 나눠서 = split 100000 3 33333~
  12만원 3등분 = split 120000 3 40000
  저번이랑 똑같이 = same 40000 1 40000
  지난달이랑 같은 금액으로 = same 40000 1 40000
  지난번만큼 = same 40000 1 40000
  저번처럼 보내줘 = same 40000 1 40000
  지난번의 절반 = part 40000 2 20000
  지난번보다 만원 덜 = less 40000 10000 30000
  전부 엄마한테 보내줘 = all 5000000 1 5000000
  전액 = all 5000000 1 5000000
  잔액 전부 = all 5000000 1 5000000
  있는 대로 다 보내 = all 5000000 1 5000000
  몽땅 보내줘 = all 5000000 1 5000000
  남은 돈 전부 = all 5000000 1 5000000
  만원 빼고 전부 = less 5000000 10000 4990000
  만원은 남기고 나머지 보내줘 = less 5000000 10000 4990000
  10만원 제외하고 전액 = less 5000000 100000 4900000
  5천원 더 말고 만원 더 = more 30000 10000 40000
  triple it = times 30000 3 90000
  make it double = times 30000 2 60000
  double = times 30000 2 60000
  three times as much = times 30000 3 90000
  2x = times 30000 2 60000
  twice that = times 30000 2 60000
  twice as much = times 30000 2 60000
  double the amount = times 30000 2 60000
  half = part 30000 2 15000
  half the amount = part 30000 2 15000
  make it half = part 30000 2 15000
  just half = part 30000 2 15000
  cut it in half = part 30000 2 15000
  split it in half = part 30000 2 15000
  a third of it = part 30000 3 10000
  a quarter of that = part 30000 4 7500
  two thirds of that = part 30000 3*2 20000
  1/4 of 100,000 = part 100000 4 25000
  half of 50k = part 50000 2 25000
  half of the 50,000 won = part 50000 2 25000
  a third of 90,000 = part 90000 3 30000
  10% of 30k = percent 30000 10 3000
  10 percent of 30,000 = percent 30000 10 3000
  ten percent more = percent 30000 10 33000
  20% off = percent 30000 20 24000
  20% less = percent 30000 20 24000
  10% more than 50,000 = percent 50000 10 55000
  15% off 100,000 = percent 100000 15 85000
  increase it by 10% = percent 30000 10 33000
  lower it by 10% = percent 30000 10 27000
  add 10% = percent 30000 10 33000
  10,000 won less = less 30000 10000 20000
  10k less = less 30000 10000 20000
  10k more = more 30000 10000 40000
  5k more please = more 30000 5000 35000
  another 5,000 = more 30000 5000 35000
  an extra 5,000 won = more 30000 5000 35000
  add 5k = more 30000 5000 35000
  take 5k off = less 30000 5000 25000
  5,000 off = less 30000 5000 25000
  knock off 5,000 = less 30000 5000 25000
  minus 5,000 = less 30000 5000 25000
  plus 5,000 = more 30000 5000 35000
  raise it by 5,000 = more 30000 5000 35000
  reduce that by 5k = less 30000 5000 25000
  5,000 more than last time = more 40000 5000 45000
  30,000 plus 5,000 = more 30000 5000 35000
  30k minus 5k = less 30000 5000 25000
  30,000 less 5,000 = less 30000 5000 25000
  5k off 30k = less 30000 5000 25000
  subtract 5,000 from 30,000 = less 30000 5000 25000
  deduct 5,000 = less 30000 5000 25000
  50,000 times 3 = times 50000 3 150000
  3 x 50k = times 50000 3 150000
  60k split between three people = split 60000 3 20000
  90,000 divided by 3 = split 90000 3 30000
  split 90,000 three ways = split 90000 3 30000
  split it between the two of us = split 30000 2 15000
  split it = split 30000 4 7500
  60k split 50/50 = split 60000 2 30000
  same as last month = same 40000 1 40000
  same amount as last time = same 40000 1 40000
  the same as before = same 40000 1 40000
  last time's amount = same 40000 1 40000
  as much as last time = same 40000 1 40000
  double last time's amount = times 40000 2 80000
  everything = all 5000000 1 5000000
  send everything = all 5000000 1 5000000
  the whole amount = all 5000000 1 5000000
  all my money = all 5000000 1 5000000
  all but 10,000 = less 5000000 10000 4990000
  everything but 100k = less 5000000 100000 4900000
  everything except 10,000 won = less 5000000 10000 4990000
  9000조 더 = more 30000 9000000000000000 9000000000030000
  five hundred thousand won more = more 30000 500000 530000
  half a million more = more 30000 500000 530000
  금액을 두 배로 = times 30000 2 60000
  반으로 줄여 = part 30000 2 15000
  double it = times 30000 2 60000
  half of that = part 30000 2 15000
  10% more = percent 30000 10 33000
  10프로 더 = percent 30000 10 33000
  3만원의 반 = part 30000 2 15000
  half of 30,000 = part 30000 2 15000
  60,000 split between the two of us = split 60000 2 30000
  6만원을 셋이 나눠서 = split 60000 3 20000
  지난번이랑 같은 금액 = same 40000 1 40000
  same as last time = same 40000 1 40000
  전부 다 = all 5000000 1 5000000
  all of it = all 5000000 1 5000000
  5천원 더 = more 30000 5000 35000
  만원 깎아서 = less 30000 10000 20000
  만원만 덜 = less 30000 10000 20000
  5,000 won more = more 30000 5000 35000
  백만 원 빼고 다 = less 5000000 1000000 4000000
  everything except a million = less 5000000 1000000 4000000
  만원만 남기고 다 보내줘 = less 5000000 10000 4990000
  3만원에서 5천원 빼고 = less 30000 5000 25000
  3만원에 5천원 더해서 = more 30000 5000 35000
  30,000 minus 5,000 = less 30000 5000 25000
  5,000 off 30,000 = less 30000 5000 25000
  5,000 won more than 30,000 = more 30000 5000 35000
  10% less than 50,000 = percent 50000 10 45000
  10% of 50,000 won = percent 50000 10 5000
  50,000의 10% = percent 50000 10 5000
  십 퍼센트 깎아줘 = percent 30000 10 27000
  지난번의 두 배 = times 40000 2 80000
  twice what I sent last time = times 40000 2 80000
  지난번보다 5천원 더 = more 40000 5000 45000
  3만원의 3분의 1 = part 30000 3 10000
  a third of 30,000 = part 30000 3 10000
  two thirds of 30,000 = part 30000 3*2 20000
  3만원의 삼분의 이 = part 30000 3*2 20000
  두 배 말고 5천원만 더 = more 30000 5000 35000
  50k x 3 = times 50000 3 150000
  3만원 곱하기 2 = times 30000 2 60000
  5만원권 3장 = times 50000 3 150000
  6만원을 두 번에 나눠서 = split 60000 2 30000
  split 60,000 three ways = split 60000 3 20000
  split it evenly = split 30000 4 7500
  나눠서 보내줘 = split 30000 4 7500
  n빵하자 = split 30000 4 7500
  총 6만원을 반반 = split 60000 2 30000
  1.5배로 = times 30000 1.5 45000
  add 5,000 = more 30000 5000 35000
  another 5,000 won = more 30000 5000 35000
  reduce it by 5,000 = less 30000 5000 25000
  raise it by 10% = percent 30000 10 33000
  take 5,000 off = less 30000 5000 25000
  만원 올려줘 = more 30000 10000 40000
  엄마한테 5만원만 더 보내줘 = more 30000 50000 80000
  5만원 엄마한테 더 보내줘 = more 30000 50000 80000
  전액 이체 = all 5000000 1 5000000
  balance의 절반 = part 5000000 2 2500000
  잔액의 반만 = part 5000000 2 2500000
  halve it = part 30000 2 15000
  만원 더 깎아줘 = less 30000 10000 20000
  10,000 split three ways = split 10000 3 3333~
  1/3 of 30,000 = part 30000 3 10000
  3만원의 1/3 = part 30000 3 10000
  절반만 = part 30000 2 15000
  10%만 = percent 30000 10 3000
  30,000원의 150% = percent 30000 150 45000
  세 배 = times 30000 3 90000
  셋이서 6만원 나눠서 = split 60000 3 20000
  divide 60,000 by 3 = split 60000 3 20000
  60,000 divided by 3 = split 60000 3 20000
`;

function shown(sentence: string, known: KnownAmounts = KNOWN): string {
  return deriveAmounts(sentence, known)
    .map(({ how, from, by, parts, value, isWhole }) => {
      const second = parts === undefined ? by : `${by}*${parts}`;
      return `${how} ${from} ${second} ${value}${isWhole ? "" : "~"}`;
    })
    .join(", ");
}

const rows = DERIVED.split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => line.trim().split(" = "));

test.each(rows)("the words %j compute %s", (sentence, derived) => {
  expect(shown(sentence)).toBe(derived);
  expect(shown(sentence.normalize("NFD"))).toBe(derived);
});

test.each([
  "두 배 말고",
  "not double",
  "don't halve it",
  "instead of double, half",
  "a bit more",
  "more",
  "less",
  "좀 덜",
  "많이",
  "70,000",
  "7만원",
  "7만원으로 올려줘",
  "7만원까지 올려줘",
  "make it 70k instead",
  "lower it to 20k",
  "엄마 3만원 아빠는 두 배",
  "두 배로 하고 만원 더",
  "3만5 더",
  "5만원 정도 더",
  "5달러 더",
  "5 dollars more",
  "30만원 깎아줘",
  "100만원 깎아줘",
  "하나 더",
  "한 번 더 보내줘",
  "더블 체크해줘",
  "double check it",
  "half an hour later",
  "두 배로 하지 마",
  "a little more",
  "70,000으로 바꿔줘",
  "make it 70k",
  "조금 더",
  "don't double it",
  "반으로 줄이고 5천원 더",
  "엄마 5만원, 아빠는 두 배",
  "5만원씩 나눠서",
  "7시 반으로 바꿔줘",
  "half past five",
  "5만원으로 올려줘",
  "5만원까지 올려줘",
  "전부 취소해줘",
  "다 취소해줘",
  "5만원 전부",
  "thanks a million",
  "few hundred thousand won more",
  "fortey thousand more or 5k more",
  "다 보내줘",
  "전부 맞아요",
  "전부 확인했어",
  "저 같은 사람",
  "수수료의 10%",
  "everything is fine",
  "the whole amount is wrong",
  "30,000원 보내줘",
  "전체 금액의 반",
])("the words %j compute nothing", (sentence) => {
  expect(deriveAmounts(sentence, KNOWN)).toEqual([]);
});

test("each of two changes is computed where one of them is meant", () => {
  expect(shown("5천원 더 아니면 만원 더")).toBe("more 30000 5000 35000, more 30000 10000 40000");
});

test.each(["5천원 더", "두 배로", "지난번이랑 같은 금액", "전부 다", "나눠서", "만원 빼고 다"])(
  "the words %j compute nothing from what is not known",
  (sentence) => {
    expect(deriveAmounts(sentence, {})).toEqual([]);
    const unfit = { current: Number.NaN, last: -5, whole: 0.5, people: 0 };
    expect(deriveAmounts(sentence, unfit)).toEqual([]);
  },
);

test("a result below one won or beyond a safe integer is left out", () => {
  expect(shown("5천원 덜", { current: 5_000 })).toBe("");
  expect(shown("5천원 덜", { current: 5_001 })).toBe("less 5001 5000 1");
  expect(shown("두 배로", { current: Number.MAX_SAFE_INTEGER })).toBe("");
  expect(shown("half of that", { current: 1 })).toBe("");
});

test("large amounts are computed exactly", () => {
  const current = Number.MAX_SAFE_INTEGER;
  expect(shown("100%만", { current })).toBe(`percent ${current} 100 ${current}`);
  expect(shown("3분의 1로", { current })).toBe(`part ${current} 3 ${(current - 1) / 3}~`);
});

test("the words of a change are as they were written", () => {
  const wordsOf = (sentence: string): readonly string[] =>
    deriveAmounts(sentence, KNOWN).map(({ words }) => words);

  expect(wordsOf("엄마한테 만원  깎아서 보내줘")).toEqual(["만원  깎아서"]);
  expect(wordsOf("Please send 10% MORE")).toEqual(["10% MORE"]);
  expect(wordsOf("５천원 더")).toEqual(["５천원 더"]);
});

test.each([
  ["3만원의 반", "30,000원의 절반 = 15,000원", "half of 30,000 won = 15,000 won"],
  ["5천원 더", "30,000원 + 5,000원 = 35,000원", "30,000 won + 5,000 won = 35,000 won"],
  ["만원 깎아서", "30,000원 - 10,000원 = 20,000원", "30,000 won - 10,000 won = 20,000 won"],
  ["3분의 2로", "30,000원의 3분의 2 = 20,000원", "2/3 of 30,000 won = 20,000 won"],
  ["a third of it", "30,000원의 3분의 1 = 10,000원", "a third of 30,000 won = 10,000 won"],
  ["두 배로", "30,000원의 2배 = 60,000원", "2 × 30,000 won = 60,000 won"],
  ["10%만", "30,000원의 10% = 3,000원", "10% of 30,000 won = 3,000 won"],
  ["10% 더", "30,000원 + 10% = 33,000원", "30,000 won + 10% = 33,000 won"],
  ["10% off", "30,000원 - 10% = 27,000원", "30,000 won - 10% = 27,000 won"],
  ["셋이 나눠서", "30,000원 ÷ 3 = 10,000원", "30,000 won ÷ 3 = 10,000 won"],
  ["일곱이 나눠서", "30,000원 ÷ 7 ≈ 4,285원", "30,000 won ÷ 7 ≈ 4,285 won"],
  ["전부 다", "전액 = 5,000,000원", "the whole amount = 5,000,000 won"],
  ["지난번이랑 같은 금액", "지난번과 같은 금액 = 40,000원", "the same as last time = 40,000 won"],
])("what %j computes is shown as %j", (sentence, korean, english) => {
  const [derived] = deriveAmounts(sentence, KNOWN);

  expect(showDerived(derived!, "ko")).toBe(korean);
  expect(showDerived(derived!, "en")).toBe(english);
});

const PIECES = (
  "5 3만 만원 천 원 30,000 won k % 10 두 배 반 절반 더 덜 빼고 깎아 의 에서 나눠서 셋이 전부 다 지난번 같은 " +
  "half of a third double it twice more less off split between two plus minus + - × / or 아니면 말고 not 👍"
).split(" ");
const rubble = fc
  .array(fc.constantFrom(...PIECES, " ", "\u{E000}", "\u200b"), { maxLength: 40 })
  .map((pieces) => pieces.join(" "));

test("whole won come out of whatever is written", () => {
  fc.assert(
    fc.property(fc.oneof(rubble, fc.string()), (sentence) => {
      for (const derived of deriveAmounts(sentence, KNOWN)) {
        expect(Number.isSafeInteger(derived.value) && derived.value >= 1).toBe(true);
        expect(showDerived(derived, "ko")).toMatch(/ [=≈] [\d,]+원$/u);
        expect(showDerived(derived, "en")).toMatch(/ [=≈] [\d,]+ won$/u);
      }
    }),
    { numRuns: 1_000 },
  );
});

test("a long sentence is computed in the time of several short ones", () => {
  const started = performance.now();
  for (const piece of ["5만원 ", "5천원 더 ", "10% of ", "split ", "반 ", "a ", "만 "]) {
    deriveAmounts(piece.repeat(Math.floor(1_000 / piece.length)), KNOWN);
  }
  deriveAmounts("5천원 더 ".repeat(1_000), KNOWN);

  expect(performance.now() - started).toBeLessThan(boundMs(500));
});
