import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken } from "./test-kinds.ts";

describe("a choice", () => {
  const card = slot.choice({
    options: [
      { value: "check", names: { ko: "체크카드", en: "debit card" }, synonyms: ["체크", "debit"] },
      { value: "credit", names: { ko: "신용카드", en: "credit card" }, synonyms: ["신용"] },
      { value: "cash", names: { ko: "현금", en: "cash" } },
      { value: "vip", names: { ko: "VIP 포인트" } },
    ],
  });

  test.each([
    ["check", "check"],
    ["체크카드", "check"],
    ["체크 카드", "check"],
    ["체크카드요", "check"],
    ["체크카드로요", "check"],
    ["체크카드로 할게요", "check"],
    ["체크", "check"],
    ["debit", "check"],
    ["Debit Card", "check"],
    ["debit-card please", "check"],
    ["ＤＥＢＩＴ", "check"],
    ["신용", "credit"],
    ["신용카드로 결제해 주세요", "credit"],
    ["신용 카드로해주세요", "credit"],
    ["credit cards", "credit"],
    ["음 그럼 현금이요", "cash"],
    ["cash!", "cash"],
    ["vip포인트", "vip"],
    ["체크 말고 신용", "credit"],
    ["신용카드 말고 현금이요", "cash"],
    ["not cash, debit", "check"],
    ["체크랑 신용", "! CHOICE_SEVERAL"],
    ["debit or credit card", "! CHOICE_SEVERAL"],
    ["두 번째", "! CHOICE_UNKNOWN"],
    ["카드", "! CHOICE_UNKNOWN"],
    ["card", "! CHOICE_UNKNOWN"],
    ["신용카드사", "! CHOICE_UNKNOWN"],
    ["cashier", "! CHOICE_UNKNOWN"],
    ["현금영수증", "! CHOICE_UNKNOWN"],
    ["체크카드는 싫어요", "! CHOICE_UNKNOWN"],
    ["아무거나", "! CHOICE_UNKNOWN"],
    ["", "! CHOICE_UNKNOWN"],
    [1, "! CHOICE_UNKNOWN"],
    [null, "! CHOICE_UNKNOWN"],
  ] as const)("takes %j as %j", (raw, value) => {
    expect(taken(card, raw)).toBe(value);
  });

  test("tells people and the model what there is", () => {
    expect(card.errors?.ko?.["CHOICE_UNKNOWN"]).toBe(
      "다음 중에서 골라 주세요: 체크카드, 신용카드, 현금, VIP 포인트",
    );
    expect(card.errors?.en?.["CHOICE_SEVERAL"]).toBe(
      "Please choose only one of these: debit card, credit card, cash, VIP 포인트.",
    );
    expect(card.description?.en).toBe("one of: debit card, credit card, cash, VIP 포인트");
    expect(card.show?.("check", "en")).toBe("debit card");
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(card, fc.constantFrom("check", "credit", "cash", "vip"));
    expectNoSurprise(card);
  });
});

describe("a yes or a no", () => {
  const parking = slot.boolean();
  const breakfast = slot.boolean({
    yes: { ko: ["조식 포함", "조식"], en: "with breakfast" },
    no: { ko: "조식 없이", en: ["room only", "without breakfast"] },
  });
  const unclear = "! ANSWER_UNCLEAR";

  test.each([
    ["네", true],
    ["예", true],
    ["ㅇㅇ", true],
    ["네 부탁드려요", true],
    ["필요해요", true],
    ["네, 필요해요", true],
    ["있어요", true],
    ["포함해 주세요", true],
    ["동의합니다", true],
    ["yes", true],
    ["Yes please", true],
    ["with", true],
    ["true", true],
    [true, true],
    ["아니요", false],
    ["아뇨", false],
    ["ㄴㄴ", false],
    ["필요 없어요", false],
    ["안 필요해요", false],
    ["없습니다", false],
    ["네, 없어요", false],
    ["빼 주세요", false],
    ["동의하지 않아요", false],
    ["no", false],
    ["no thanks", false],
    ["without", false],
    ["I don't need it", false],
    [false, false],
    ["글쎄요", unclear],
    ["모르겠어요", unclear],
    ["상관없어요", unclear],
    ["괜찮아요", unclear],
    ["필요해요?", unclear],
    ["있을 수도 있고 없을 수도 있어요", unclear],
    ["맛있어요", unclear],
    ["maybe", unclear],
    ["내일", unclear],
    ["", unclear],
    [1, unclear],
    [null, unclear],
  ] as const)("takes %j as %j", (raw, value) => {
    expect(taken(parking, raw)).toBe(value);
  });

  test.each([
    ["조식 포함이요", true],
    ["조식이요", true],
    ["with breakfast", true],
    ["네", true],
    ["조식 없이요", false],
    ["room only", false],
    ["조식은 필요 없어요", false],
    ["without breakfast", false],
  ] as const)("takes %j as %j, by the names of its own", (raw, value) => {
    expect(taken(breakfast, raw)).toBe(value);
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(parking, fc.boolean());
    expectReadBack(breakfast, fc.boolean());
    expectNoSurprise(parking);
    expectNoSurprise(breakfast);
  });
});
