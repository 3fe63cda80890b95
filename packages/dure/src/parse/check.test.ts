import { expect, test } from "vitest";
import { checkProposal } from "./check.ts";
import { moneyReader } from "./money/find-money.ts";
import { personReader } from "./people/payments.ts";

test.each([
  [50_000, "5만원", "엄마한테 5만원 보내줘"],
  ["50000", "5만원씩", "엄마랑 아빠한테 5만원씩"],
  ["50,000원", "오만 원", "엄마한테 오만 원 보내줘"],
  ["5만원", "5만원 보내줘", "엄마한테 5만원 보내줘"],
  [50_000, "50k", "send 50K to mom"],
  [50_000, "５만원", "엄마한테 5만원"],
  [50_000, "5만원", "엄마에게5만원보내줘"],
  [50_000, "엄마에게5만원", "엄마에게5만원보내줘"],
  [50_000, "오만원", "엄마한테오만원보내줘"],
  [50_000, "5만", "홍길동5만"],
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
  [50_000, "5만원", "홍길동15만원", 150_000],
  [50_000, "5만원", "엄마한테15만원보내줘", 150_000],
] as const)("%j quoted as %j does not count in %j", (value, words, message, read) => {
  expect(checkProposal({ value, words }, message, moneyReader)).toMatchObject({
    verdict: "disagree",
    because: "other-value",
    read,
  });
});

test.each([
  [5_000, "오천원", "엄마한테만오천원", [15_000]],
  [10_000, "만원", "철수오만원", [50_000]],
] as const)("%j quoted as %j is not sure in %j", (value, words, message, others) => {
  expect(checkProposal({ value, words }, message, moneyReader)).toMatchObject({
    verdict: "agree",
    sure: "ambiguous",
    others,
  });
});

test.each([
  [10_000, "만원", "김만원"],
  ["4원", "사원", "신입사원한테 보내줘"],
] as const)("%j quoted as %j is cut out of a word in %j", (value, words, message) => {
  expect(checkProposal({ value, words }, message, moneyReader)).toMatchObject({
    verdict: "unread",
    because: "cannot-read-words",
  });
});

test.each([
  ["엄마", "엄마에게", "엄마에게5만원보내줘"],
  ["홍길동", "홍길동", "홍길동5만"],
  ["홍길동", "홍길동", "50000홍길동"],
  ["엄마", "엄마", "우리엄마"],
  ["엄마", "엄마랑", "엄마랑아빠한테5만원씩"],
] as const)("the name %j counts as %j of %j", (value, words, message) => {
  expect(checkProposal({ value, words }, message, personReader)).toMatchObject({
    verdict: "agree",
    value,
  });
});

test.each([
  ["아빠", "아빠", "엄마에게5만원보내줘"],
  ["길동", "길동", "홍길동"],
  ["엄마랑아빠", "엄마랑아빠한테", "엄마랑아빠한테5만원씩"],
] as const)("the name %j as %j of %j does not count", (value, words, message) => {
  expect(checkProposal({ value, words }, message, personReader).verdict).not.toBe("agree");
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

test.each([
  [5_000, "5천원", "5천원 더 보내줘"],
  [30_000, "3만원", "3만원의 반만 보내줘"],
  [30_000, "30,000 won", "half of 30,000 won please"],
  [1_000_000, "백만 원", "백만 원 빼고 다 보내줘"],
] as const)("%j quoted as %j is not exact where %j goes on", (value, words, message) => {
  const check = checkProposal({ value, words }, message, moneyReader);

  expect(check).toMatchObject({ verdict: "agree", value, sure: "partial", others: [] });
});

test("what the words compute is no value that they say", () => {
  const proposal = { value: 35_000, words: "5천원 더" };

  expect(checkProposal(proposal, "5천원 더 보내줘", moneyReader)).toMatchObject({
    verdict: "disagree",
    because: "other-value",
    read: 5_000,
  });
});
