import fc from "fast-check";
import { expect, test } from "vitest";
import { formatAmount, parseAmount } from "./amount.ts";

test.each([
  // named by the specification
  ["5만원", 50_000],
  ["3만 5천원", 35_000],
  ["1억", 100_000_000],
  ["50,000원", 50_000],
  ["오만원", 50_000],
  // more
  ["삼만오천원", 35_000],
  ["삼만 오천 원", 35_000],
  ["1만5천", 15_000],
  ["1만5000원", 15_000],
  ["만원", 10_000],
  ["천원", 1_000],
  ["백원", 100],
  ["천만원", 10_000_000],
  ["백만원", 1_000_000],
  ["2.5만원", 25_000],
  ["1.5억", 150_000_000],
  ["0.5만원", 5_000],
  ["2.5천원", 2_500],
  ["2.50만원", 25_000],
  ["1.5백만원", 1_500_000],
  ["５만원", 50_000],
  ["５０，０００원", 50_000],
  ["₩50,000", 50_000],
  ["￦50,000", 50_000],
  ["\\50000", 50_000],
  ["50000", 50_000],
  ["5만 원", 50_000],
  [" 5 만원 ", 50_000],
  ["50000원정", 50_000],
  ["50,000 won", 50_000],
  ["KRW 50,000", 50_000],
  ["1", 1],
  ["1원", 1],
  ["일원", 1],
  ["십원", 10],
  ["3천5백원", 3_500],
  ["3천500원", 3_500],
  ["3천5백20원", 3_520],
  ["1억 2,000만원", 120_000_000],
  ["1억 2천만", 120_000_000],
  ["1억 2,000원", 100_002_000],
  ["50천원", 50_000],
  ["12백만원", 12_000_000],
  ["KRW50,000", 50_000],
  ["50,000₩", 50_000],
  ["1억2천만5백원", 120_000_500],
  ["12만 3456원", 123_456],
  ["12345만원", 123_450_000],
  ["일억이천삼백사십오만육천칠백팔십구원", 123_456_789],
  ["5억원", 500_000_000],
  ["십이만원", 120_000],
  ["오천삼만원", 50_030_000],
  ["1조", 1_000_000_000_000],
] as const)("reads %j as %i won", (text, won) => {
  expect(parseAmount(text)).toEqual({ ok: true, won });
  expect(parseAmount(text.normalize("NFD"))).toEqual({ ok: true, won });
});

test.each([
  ["", "empty"],
  ["   ", "empty"],
  ["0", "zero"],
  ["0원", "zero"],
  ["영원", "zero"],
  ["0만원", "zero"],
  ["-0", "zero"],
  ["-5000원", "negative"],
  ["−5만원", "negative"],
  ["마이너스 5만원", "negative"],
  ["₩-5,000", "negative"],
  ["minus 500 won", "negative"],
  ["0.5원", "fraction"],
  ["50000.5", "fraction"],
  ["50.000원", "fraction"],
  ["1.00005만원", "fraction"],
  ["2.55555만원", "fraction"],
  ["9007199254740992", "too-large"],
  ["9007199254740993원", "too-large"],
  ["99999조원", "too-large"],
  ["1억2천", "not-an-amount"],
  ["1억 2천원", "not-an-amount"],
  ["3만5", "not-an-amount"],
  ["백오십", "not-an-amount"],
  ["5만원 보내줘", "not-an-amount"],
  ["5만원어치", "not-an-amount"],
  ["약 5만원", "not-an-amount"],
  ["5만원 3만원", "not-an-amount"],
  ["5만5만", "not-an-amount"],
  ["50 000원", "not-an-amount"],
  ["5,00원", "not-an-amount"],
  ["50,0000원", "not-an-amount"],
  ["1만50000원", "not-an-amount"],
  ["5십3백원", "not-an-amount"],
  ["3백500원", "not-an-amount"],
  ["원", "not-an-amount"],
  ["₩", "not-an-amount"],
  ["많이", "not-an-amount"],
  ["몇만원", "not-an-amount"],
  ["수백만원", "not-an-amount"],
  ["홍길동", "not-an-amount"],
  ["5달러", "not-an-amount"],
  ["$50", "not-an-amount"],
  ["1e5", "not-an-amount"],
  ["0x10", "not-an-amount"],
  ["Infinity", "not-an-amount"],
  ["일이삼", "not-an-amount"],
  ["--5", "not-an-amount"],
  ["5만..", "not-an-amount"],
  [".5만", "not-an-amount"],
  ["9".repeat(100), "not-an-amount"],
] as const)("refuses %j: %s", (text, because) => {
  expect(parseAmount(text)).toEqual({ ok: false, because });
});

test("writes won with thousands, by locale", () => {
  expect(formatAmount(50_000, "ko")).toBe("50,000원");
  expect(formatAmount(1_234_567, "en")).toBe("1,234,567 won");
  expect(formatAmount(1, "ko")).toBe("1원");
});

test("reads back every amount it writes", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      fc.constantFrom("ko", "en"),
      (won, locale) => {
        expect(parseAmount(formatAmount(won, locale))).toEqual({ ok: true, won });
      },
    ),
  );
});

test("gives a whole number of won or a reason, whatever is written", () => {
  const pieces = fc.constantFrom(..."0123456789일이삼사오육칠팔구십백천만억조원,.- ₩".split(""));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
      ),
      (text) => {
        const result = parseAmount(text);
        if (result.ok) expect(Number.isSafeInteger(result.won) && result.won >= 1).toBe(true);
      },
    ),
    { numRuns: 2000 },
  );
});
