import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatAmount } from "./amount.ts";
import { findMoney, moneyLimitReader } from "./find-money.ts";
import { parseMoney } from "./money.ts";
import { boundMs } from "../../kernel/test-bounds.ts";

test.each([
  ["5만원", 50_000],
  ["오만원", 50_000],
  ["5만 원", 50_000],
  ["3만5천", 35_000],
  ["3만 5천원이요", 35_000],
  ["1.5만", 15_000],
  ["50,000원", 50_000],
  ["₩50000", 50_000],
  ["5마넌", 50_000],
  ["오마넌이요", 50_000],
  ["5만언", 50_000],
  ["5만윈", 50_000],
  ["5만원으로", 50_000],
  ["5만원만", 50_000],
  ["5만이요", 50_000],
  ["음... 5만원이요ㅎㅎ", 50_000],
  ["네 5만원 👍🏽", 50_000],
  ["딱 5만원만", 50_000],
  ["50k won", 50_000],
  ["50K", 50_000],
  ["1.2m won", 1_200_000],
  ["50 thousand won", 50_000],
  ["fifty thousand won", 50_000],
  ["two hundred and fifty thousand won", 250_000],
  ["100,000 won please", 100_000],
  ["30만", 300_000],
  ["삼만오천", 35_000],
] as const)("reads %j as exactly %i won", (text, won) => {
  expect(parseMoney(text)).toMatchObject({ ok: true, value: won, sure: "exact", others: [] });
});

test.each([
  ["5만원씩", "each"],
  ["각각 5만원", "each"],
  ["인당 5만원씩이요", "each"],
  ["50,000 won each", "each"],
  ["5만원씩만", "each"],
  ["총 5만원", "total"],
  ["50k won in total", "total"],
  ["5만원", undefined],
] as const)("hears for whom %j is meant: %s", (text, per) => {
  expect(parseMoney(text)).toMatchObject({ ok: true, value: 50_000, per });
});

describe("a bound", () => {
  test.each([
    "5만원까지",
    "5만원까지만요",
    "5만원 이내로",
    "5만원 한도로",
    "최대 5만원",
    "많아야 5만원이요",
    "up to 50k won",
    "50k won max",
    "at most 50,000 won",
    "no more than 50k",
    "Max 50,000 won please",
  ])("of %j is the sum itself, the most", (text) => {
    const said = { ok: true, value: 50_000, sure: "exact", bound: "most" };
    expect(parseMoney(text)).toMatchObject(said);
    expect(findMoney(`의자를 ${text}`)).toMatchObject([said]);
  });

  test.each(["5만원 이하", "5만원 이하로", "5만원 미만", "under 50k won", "less than 50,000 won"])(
    "of %j is exact as a limit alone",
    (text) => {
      const said = { ok: true, value: 50_000, bound: "most" };
      expect(parseMoney(text)).toMatchObject({ ...said, sure: "approximate" });
      expect(moneyLimitReader.parse(text)).toMatchObject({ ...said, sure: "exact" });
      expect(moneyLimitReader.find(`a chair ${text}`)).toMatchObject([{ ...said, sure: "exact" }]);
    },
  );

  test.each(["5만원 이상", "적어도 5만원", "at least 50k won", "50k won or more", "more than 50k"])(
    "of %j from below is rough, also as a limit",
    (text) => {
      const said = { ok: true, value: 50_000, sure: "approximate", bound: "least" };
      expect(moneyLimitReader.parse(text)).toMatchObject(said);
    },
  );

  test.each(["send over 50k won", "Jasmin 50k won", "5만원"])("is none of %j", (sentence) => {
    const said = { value: 50_000, sure: "exact", bound: undefined };
    expect(findMoney(sentence)).toMatchObject([said]);
  });
});

test.each([
  "5만원 정도",
  "5만원쯤",
  "약 5만원",
  "한 5만원",
  "대충 5만원 정도로",
  "about 50k won",
  "around 50,000 won",
  "50,000 won or so",
  "5만원 이상",
])("marks %j as approximate", (text) => {
  expect(parseMoney(text)).toMatchObject({ ok: true, value: 50_000, sure: "approximate" });
});

test.each([
  ["5~6만원", [50_000, 60_000]],
  ["5만원에서 7만원", [50_000, 70_000]],
  ["5만원이나 6만원", [50_000, 60_000]],
  ["5만원 아니면 6만원", [50_000, 60_000]],
  ["5만 or 6만", [50_000, 60_000]],
  ["3만5", [35_000, 30_005]],
  ["삼만오", [35_000, 30_005]],
  ["5", [50_000, 5]],
  ["5요", [50_000, 5]],
] as const)("reads %j in two ways", (text, [value, other]) => {
  expect(parseMoney(text)).toMatchObject({ ok: true, value, sure: "ambiguous", others: [other] });
});

test.each([
  ["$30", "USD"],
  ["30달러", "USD"],
  ["30불", "USD"],
  ["30 dollars", "USD"],
  ["30 USD", "USD"],
  ["20 bucks", "USD"],
  ["thirty dollars", "USD"],
  ["천 달러", "USD"],
  ["100유로", "EUR"],
  ["€100", "EUR"],
  ["1만엔", "JPY"],
  ["5000 yen", "JPY"],
  ["100위안", "CNY"],
  ["£20", "GBP"],
  ["50만동", "VND"],
  ["0.5 btc", "BTC"],
] as const)("says that %j is foreign: %s", (text, currency) => {
  expect(parseMoney(text)).toMatchObject({ ok: false, because: "foreign-currency", currency });
});

test.each([
  ["", "empty"],
  ["0원", "zero"],
  ["-5000원", "negative"],
  ["0.5원", "fraction"],
  ["99999조원", "too-large"],
  ["많이", "not-an-amount"],
  ["몇만원", "not-an-amount"],
  ["5명", "not-an-amount"],
  ["내일", "not-an-amount"],
  ["엄마", "not-an-amount"],
  ["k", "not-an-amount"],
  ["one two", "not-an-amount"],
  ["hundred hundred won", "not-an-amount"],
  ["정도", "not-an-amount"],
  ["5만원".repeat(40), "not-an-amount"],
] as const)("refuses %j: %s", (text, because) => {
  expect(parseMoney(text)).toMatchObject({ ok: false, because });
});

describe("in a sentence", () => {
  test.each([
    ["엄마한테 5만원 보내줘", [50_000]],
    ["엄마한테 5만원보내줘", [50_000]],
    ["5만원을 아빠에게", [50_000]],
    ["엄마 3만, 아빠 2만원 보내", [30_000, 20_000]],
    ["홍길동에게 3만 5천원 이체", [35_000]],
    ["홍길동 50000 보내줘", [50_000]],
    ["오만원만 보내주라", [50_000]],
    ["엄마한테 오만 보내줘", [50_000]],
    ["send 50k to mom", [50_000]],
    ["Send 10,000 won each to Mom and Dad", [10_000]],
    ["please wire fifty thousand won to Kim", [50_000]],
    ["5만원 말고 7만원으로 해줘", [70_000]],
    ["7만원 아니고 5만원이야", [50_000]],
    ["make it 70k instead of 50k", [70_000]],
    ["생활비 1억 2,000만원 보내줘", [120_000_000]],
    ["₩30,000 보내줘", [30_000]],
    ["12월 25일에 5만원", [50_000]],
    ["국민 110-234-567890으로 5만원", [50_000]],
    ["3333-01-1234567 5만원", [50_000]],
    ["2026-12-25에 5만원", [50_000]],
    ["친구 3명한테 5만원씩", [50_000]],
    ["엄마에게5만원보내줘", [50_000]],
    ["홍길동5만", [50_000]],
    ["엄마한테오만오천원", [55_000]],
    ["엄마한테오만 오천원", [55_000]],
    ["엄마한테만 오천원", [5_000]],
    ["홍길동이 만원", [10_000]],
    ["국민은행3333011234567", []],
    ["김만원한테 보내줘", []],
    ["신입사원", []],
    ["이원희한테 5만원", [50_000]],
    ["조원희에게 5만원", [50_000]],
    ["공무원 됐어", []],
    ["엄마만원해", []],
    ["서울5만명", []],
    ["민수1004", []],
    ["천만에요", []],
    ["오만하다", []],
    ["5만 명이 왔대", []],
    ["3시에 보자", []],
    ["원룸 구했어", []],
    ["안녕하세요", []],
    ["내일 보내줘", []],
    ["010-1234-5678", []],
  ] as const)("finds in %j: %j", (sentence, amounts) => {
    const values = findMoney(sentence).map((one) => (one.ok ? one.value : one.because));

    expect(values).toEqual(amounts);
  });

  test("keeps the manner and the words of each amount", () => {
    const sentence = "엄마한테 각각 5만원 정도, 존한테 30달러";

    expect(findMoney(sentence)).toEqual([
      expect.objectContaining({ value: 50_000, sure: "approximate", per: "each" }),
      expect.objectContaining({ because: "foreign-currency", currency: "USD", words: "30달러" }),
    ]);
    for (const { at, words } of findMoney(sentence)) expect(sentence.slice(at)).toMatch(words);
  });

  test("finds nothing in what is too long to be a sentence", () => {
    expect(findMoney(`${"a ".repeat(600)}5만원`)).toEqual([]);
  });
});

const PIECES =
  "0 1 5 9 , . - ~ 만 천 억 원 won k 오 삼 십 ₩ $ 달러 씩 정도 약 각각 총 에서 이나 of and five hundred thousand 👍 each to".split(
    " ",
  );
const rubble = fc
  .array(fc.constantFrom(...PIECES, " ", "\u3164", "\u200b"), { maxLength: 40 })
  .map((pieces) => pieces.join(""));

test("gives a whole number of won or a reason, whatever is written", () => {
  fc.assert(
    fc.property(fc.oneof(rubble, fc.string()), (text) => {
      const readings = [parseMoney(text), ...findMoney(text)];
      for (const reading of readings) {
        if (!reading.ok) continue;
        const values = [reading.value, ...reading.others];
        expect(values.every((won) => Number.isSafeInteger(won) && won >= 1)).toBe(true);
        expect(reading.others.length > 0).toBe(reading.sure === "ambiguous");
      }
    }),
    { numRuns: 1_000 },
  );
});

test("finds every amount it writes between other words", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      fc.constantFrom("ko", "en"),
      (won, locale) => {
        const sentence = `엄마에게 ${formatAmount(won, locale)} 보내줘`;
        expect(findMoney(sentence)).toMatchObject([{ ok: true, value: won }]);
      },
    ),
  );
});

test("takes no longer for a long text than for several short ones", () => {
  const texts = ["1", "만", "1,", "만 ", "five ", "1~", "- ", "5만원 정도 "].map((piece) =>
    piece.repeat(Math.floor(1_000 / piece.length)),
  );

  const started = performance.now();
  for (const text of texts) {
    findMoney(text);
    parseMoney(text.slice(0, 80));
  }
  expect(performance.now() - started).toBeLessThan(boundMs(500));
});

test("an amount up to which another one is raised is the amount itself", () => {
  const [found] = findMoney("bump this one up to 55k");

  expect(found).toMatchObject({ ok: true, value: 55_000, sure: "exact", bound: undefined });
});
