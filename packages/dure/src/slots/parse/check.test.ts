import { expect, test } from "vitest";
import { checkProposal } from "./check.ts";
import { moneyReader } from "./find-money.ts";

test.each([
  [50_000, "5만원", "엄마한테 5만원 보내줘"],
  ["50000", "5만원씩", "엄마랑 아빠한테 5만원씩"],
  ["50,000원", "오만 원", "엄마한테 오만 원 보내줘"],
  ["5만원", "5만원 보내줘", "엄마한테 5만원 보내줘"],
  [50_000, "50k", "send 50K to mom"],
  [50_000, "５만원", "엄마한테 5만원"],
] as const)("agrees that %j stands in %j of %j", (value, words, message) => {
  expect(checkProposal({ value, words }, message, moneyReader)).toMatchObject({
    verdict: "agree",
    value: 50_000,
    sure: "exact",
  });
});

test("carries on how sure the words are", () => {
  expect(
    checkProposal({ value: 50_000, words: "5만원 정도" }, "5만원 정도 보내줘", moneyReader),
  ).toMatchObject({ verdict: "agree", sure: "approximate" });
  expect(
    checkProposal({ value: 30_005, words: "3만5" }, "엄마한테 3만5 보내", moneyReader),
  ).toMatchObject({ verdict: "agree", value: 30_005, sure: "ambiguous", others: [35_000, 30_005] });
  expect(
    checkProposal({ value: 20_000, words: "3만원 2만원" }, "3만원 2만원", moneyReader),
  ).toMatchObject({ verdict: "agree", value: 20_000, sure: "ambiguous" });
});

test.each([
  [500_000, "5만원", "other-value", 50_000],
  ["오백만원", "5만원", "other-value", 50_000],
  [40_000, "30달러", "foreign-currency", undefined],
  [-5_000, "-5000원", "negative", undefined],
  [true, "5만원", "other-value", 50_000],
] as const)("disagrees that %j stands in %j: %s", (value, words, because, read) => {
  expect(checkProposal({ value, words }, `엄마한테 ${words} 보내줘`, moneyReader)).toMatchObject({
    verdict: "disagree",
    because,
    read,
  });
});

test.each([
  [50_000, "5만원", "엄마한테 15만원", 150_000],
  [50_000, "5만원", "5만원 말고 7만원", 70_000],
  [30_000, "십만원", "엄마한테 십만원", 100_000],
  [50_000, undefined, "엄마한테 7만원 보내줘", 70_000],
  [50_000, "오만원", "엄마한테 7만원 보내줘", 70_000],
] as const)("%j quoted as %j does not count in %j", (value, words, message, read) => {
  expect(checkProposal({ value, words }, message, moneyReader)).toMatchObject({
    verdict: "disagree",
    because: "other-value",
    read,
  });
});

test("a quote that leaves out that the value is rough is as rough as the message", () => {
  const message = "엄마한테 5만원 정도 보내줘";

  expect(checkProposal({ value: 50_000, words: "5만원" }, message, moneyReader)).toMatchObject({
    verdict: "agree",
    sure: "approximate",
    words: "5만원 정도",
  });
});

test("a value without a quote is held against the whole message", () => {
  const proposal = { value: 50_000, words: undefined };

  expect(checkProposal(proposal, "엄마한테 5만원", moneyReader)).toMatchObject({
    verdict: "agree",
  });
  expect(checkProposal(proposal, "5만원이나 7만원", moneyReader)).toMatchObject({
    verdict: "agree",
    sure: "ambiguous",
  });
});

test.each([
  [50_000, undefined, "no-words"],
  [50_000, " ", "no-words"],
  [50_000, "5만원", "not-in-the-message"],
  [50_000, "월급만큼", "cannot-read-words"],
] as const)("cannot judge %j with the words %j: %s", (value, words, because) => {
  const check = checkProposal({ value, words }, "엄마한테 월급만큼 보내줘", moneyReader);

  expect(check).toMatchObject({ verdict: "unread", because, proposed: 50_000 });
});
