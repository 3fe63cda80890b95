import { expect, test } from "vitest";
import { wordsOf } from "./search-words.ts";

test.each([
  ["환불은", "환불이", "환불"],
  ["환불정책", "환불 정책", "정책"],
  ["ＲＥＦＵＮＤＳ", "refund", "refund"],
  ["Shipping costs", "shipped cost", "cost"],
  ["Réservations", "réservations", "réservations"],
  ["東京都", "東京", "東京"],
])("%j and %j are found by %j", (one, other, word) => {
  expect(wordsOf(one)).toContain(word);
  expect(wordsOf(other)).toContain(word);
});

test("words that stand in almost every text are left out, and each word stands once", () => {
  expect(wordsOf("How do I get the refund? The refund!")).toEqual(["get", "refund"]);
  expect(wordsOf("환불 알려 주세요")).toEqual(["환불", "주세"]);
});

test("keys and numbers stay whole, up to 64 letters", () => {
  expect(wordsOf("error E4029, MAX_RETRIES=3")).toEqual(["error", "e4029", "max_retries", "3"]);
  expect(wordsOf("x".repeat(100_000))).toEqual(["x".repeat(64)]);
});

test("a text of a million different words keeps the first 2,000", () => {
  const text = Array.from({ length: 1_000_000 }, (_, at) => `w${at}`).join(" ");

  expect(wordsOf(text)).toHaveLength(2_000);
});
