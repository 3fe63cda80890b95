import { expect, test } from "vitest";
import { boundMs } from "../kernel/test-bounds.ts";
import { findNumbers, parseNumber } from "./number.ts";

test.each([
  ["3", 3, "exact"],
  ["3.5", 3.5, "exact"],
  ["-2", -2, "exact"],
  ["1,200", 1200, "exact"],
  ["네 명이요", 4, "exact"],
  ["음 네 명이요", 4, "exact"],
  ["십이", 12, "exact"],
  ["스물두 살", 22, "exact"],
  ["백오", 105, "exact"],
  ["한 개 반", 1.5, "exact"],
  ["두 시간 반", 2.5, "exact"],
  ["영하 5도", -5, "exact"],
  ["하나", 1, "exact"],
  ["혼자", 1, "exact"],
  ["오 층", 5, "exact"],
  ["3만", 30_000, "exact"],
  ["20%", 20, "exact"],
  ["two and a half", 2.5, "exact"],
  ["twenty five", 25, "exact"],
  ["for four people", 4, "exact"],
  ["a dozen", 12, "exact"],
  ["열두 명 정도", 12, "approximate"],
  ["최대 5명", 5, "approximate"],
  ["12 people or so", 12, "approximate"],
] as const)("reads %j as the number %d, %s", (words, value, sure) => {
  expect(parseNumber(words)).toMatchObject({ ok: true, value, sure, words });
});

test.each([
  ["서너 명", 3, 4],
  ["두세개", 2, 3],
  ["3~4명", 3, 4],
  ["3 or 4", 3, 4],
  ["2이나 3개", 2, 3],
] as const)("reads %j as %d or %d", (words, value, other) => {
  expect(parseNumber(words)).toMatchObject({ value, sure: "ambiguous", others: [other] });
});

test.each([
  ["", "empty"],
  ["네", "not-a-number"],
  ["오", "not-a-number"],
  ["이만", "not-a-number"],
  ["5만원", "not-a-number"],
  ["3시", "not-a-number"],
  ["12월 3일", "not-a-number"],
  ["010-1234-5678", "not-a-number"],
  ["1e5", "not-a-number"],
  ["9".repeat(20), "not-a-number"],
] as const)("refuses %j as a number: %s", (words, because) => {
  expect(parseNumber(words)).toMatchObject({ ok: false, because });
});

test.each([
  ["소회의실 12월 3일 3시 4명", ["4명"]],
  ["내일 오후 3시에 4명이서 2개 주문할게요", ["4명", "2개"]],
  ["참석자6명이요", ["6명"]],
  ["세 시에 세 명", ["세 명"]],
  ["send 50k to 3 people at 5pm", ["3 people"]],
  ["two adults and one child", ["two adults", "one child"]],
  ["room for 4", ["4"]],
  ["5만원 3개", ["3개"]],
  ["010-1234-5678로 3명", ["3명"]],
  ["네 시에", []],
  ["2026-12-03", []],
  ["안녕하세요", []],
] as const)("finds in %j: %j", (sentence, words) => {
  const found = findNumbers(sentence);

  expect(found.map((one) => one.words)).toEqual(words);
  for (const one of found) expect(sentence.slice(one.at)).toContain(one.words);
});

test("takes no longer for a long text than for several short ones", () => {
  const started = performance.now();
  for (const piece of ["1", "1,", "열", "세 개 ", "two ", "약 ", "반", "3~"]) {
    const text = piece.repeat(Math.floor(1_000 / piece.length));
    findNumbers(text);
    parseNumber(text.slice(0, 80));
  }
  expect(performance.now() - started).toBeLessThan(boundMs(1_000));
});
