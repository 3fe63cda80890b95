import { describe, expect, test } from "vitest";
import { classifyContinue, classifyReply } from "dure/slots";
import { MESSAGES, refusalOf, type FailureCode } from "./messages.ts";
import { SLOT_ERROR_KEYS } from "./slots.ts";

const HONG = { target: "홍길동", amount: 50_000 };
const { ko, en } = MESSAGES;

test("asks for a confirmation of everything that will be sent", () => {
  expect(ko.confirmQuestion(HONG)).toBe("홍길동님에게 50,000원을 보낼까요?");
  expect(
    ko.confirmQuestion(
      { ...HONG, memo: "생일", alias: "선물", transfer_date: "2027-03-05" },
      { index: 2, total: 3 },
    ),
  ).toBe("(2/3) 2027년 3월 5일(금)에 홍길동님에게 50,000원을 보낼까요? (메모: 생일, 별칭: 선물)");
  expect(en.confirmQuestion({ ...HONG, transfer_date: "2027-03-05" }, { index: 1, total: 2 })).toBe(
    "(1/2) Shall I send 50,000 won to 홍길동 on Friday, March 5, 2027?",
  );
});

test.each([
  ["엄마", "엄마에게"],
  ["김 선생님", "김 선생님에게"],
  ["영희씨", "영희씨에게"],
  ["110-234-567890", "110-234-567890에게"],
  ["John", "John님에게"],
])("addresses %s as %s", (target, expected) => {
  expect(ko.confirmQuestion({ target, amount: 1 })).toBe(`${expected} 1원을 보낼까요?`);
});

test("asks for one slot with what it knows already", () => {
  expect(ko.askSlot("amount", { target: "홍길동" })).toBe("홍길동님에게 얼마를 보낼까요?");
  expect(ko.askSlot("target", { amount: 50_000 }, { index: 1, total: 3 })).toBe(
    "(1/3) 50,000원을 누구에게 보낼까요?",
  );
  expect(ko.askSlot("target", {}, { index: 1, total: 1 })).toBe("누구에게 보낼까요?");
  expect(en.askSlot("amount", { target: "John" })).toBe("How much shall I send to John?");
});

test("writes a receipt, for now and for a day to come", () => {
  expect(ko.receipt(HONG, { transaction_id: "tx_1" })).toBe(
    "홍길동님에게 50,000원을 보냈어요. 거래 번호: tx_1",
  );
  expect(ko.receipt({ ...HONG, transfer_date: "2027-03-05" }, { transaction_id: "tx_1" })).toBe(
    "2027년 3월 5일(금)에 홍길동님에게 50,000원을 보내도록 접수했어요. 거래 번호: tx_1",
  );
  expect(en.receipt(HONG, { transaction_id: "tx_1" })).toBe(
    "Sent: 50,000 won to 홍길동. Transaction: tx_1",
  );
});

test.each([
  ["존한테 30달러 보내줘", "noForeign"],
  ["wire €200 to Marie", "noForeign"],
] as const)("says that %j cannot be done", (message, text) => {
  expect(refusalOf(message, "ko")).toBe(ko[text]);
  expect(refusalOf(message, "en")).toBe(en[text]);
});

test("refuses no transfer that can be done", () => {
  for (const message of ["매일유업에 5만원", "25일에 5만원", "10k each to Mom and Dad", "안녕"]) {
    expect(refusalOf(message, "ko")).toBeUndefined();
  }
});

test("counts a batch truthfully", () => {
  expect(ko.batchSummary({ done: 1, cancelled: 1, failed: 1, unsupported: 0 })).toBe(
    "모두 3건 중 완료 1건, 취소 1건, 실패 1건이에요.",
  );
  expect(ko.batchSummary({ done: 0, cancelled: 2, failed: 0, unsupported: 1 })).toBe(
    "모두 3건 중 완료 0건, 취소 2건, 실패 0건, 처리 불가 1건이에요.",
  );
  expect(en.batchSummary({ done: 2, cancelled: 0, failed: 1, unsupported: 0 })).toBe(
    "Of 3: 2 done, 0 cancelled, 1 failed.",
  );
  expect(ko.result({ index: 2, outcome: "failed", slots: HONG })).toBe(
    "2. 홍길동님 50,000원: 실패",
  );
});

test("says why the bank did not send", () => {
  expect(ko.failed("INSUFFICIENT_FUNDS", HONG)).toBe(
    "잔액이 부족해서 홍길동님에게 50,000원을 보내지 못했어요.",
  );
  expect(ko.failed("UNKNOWN_ACCOUNT", { target: "없는사람", amount: 1 })).toBe(
    "은행에서 “없는사람”을 찾지 못해서 보내지 못했어요.",
  );
  expect(ko.failed("UNKNOWN_ACCOUNT", { target: "김철수", amount: 1 })).toBe(
    "은행에서 “김철수”를 찾지 못해서 보내지 못했어요.",
  );
});

describe.each(["ko", "en"] as const)("in %s", (locale) => {
  const texts = MESSAGES[locale];

  test("every text says something", () => {
    const codes: FailureCode[] = [
      "INSUFFICIENT_FUNDS",
      "LIMIT_EXCEEDED",
      "UNKNOWN_ACCOUNT",
      "INVALID_REQUEST",
      "BANK_UNREACHABLE",
      "EFFECT_UNKNOWN",
      "OTHER",
    ];
    const all = [
      ...SLOT_ERROR_KEYS.map((key) => texts.slotError(key)),
      texts.slotError("AMOUNT_OVER_BALANCE:30000"),
      texts.slotError("AMOUNT_OVER_BALANCE:0"),
      texts.slotError("AMOUNT_OVER_LIMIT:30000"),
      texts.slotError("TARGET_NOT_FOUND:홍길동"),
      texts.unchecked,
      ...codes.flatMap((code) => [texts.failed(code, HONG), texts.failed(code, {})]),
      texts.askContinue(1),
      texts.askContinue(2),
      texts.confirmQuestion({}),
    ];

    for (const text of all) expect(text).not.toMatch(/undefined|null|^\s*$/);
  });

  test("the buttons do what they say", () => {
    const [confirm, cancel] = texts.buttons.confirm;
    const [goOn, stop] = texts.buttons.askContinue;

    expect(classifyReply(confirm).kind).toBe("yes");
    expect(classifyReply(cancel).kind).toBe("cancel-one");
    expect(classifyContinue(goOn).choice).toBe("continue");
    expect(classifyContinue(stop).choice).toBe("stop");
  });
});
