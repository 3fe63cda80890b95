import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken, TODAY } from "./test-kinds.ts";

describe("a number", () => {
  const people = slot.number({ min: 1, max: 20, unit: { ko: "명", en: "people" } });
  const weight = slot.number({ integer: false, min: -50 });

  test.each([
    ["3", 3],
    ["12명", 12],
    ["12 명", 12],
    ["네 명이요", 4],
    ["음 네 명이요", 4],
    ["열두 명", 12],
    ["스무명", 20],
    ["십이", 12],
    ["이십명", 20],
    ["둘이요", 2],
    ["혼자요", 1],
    ["4명으로 해주세요", 4],
    ["총 7명", 7],
    ["５명", 5],
    ["two", 2],
    ["three people please", 3],
    ["for four people", 4],
    ["a dozen", 12],
    ["we are 5", 5],
    [7, 7],
    ["0", "! NUMBER_RANGE"],
    [21, "! NUMBER_RANGE"],
    ["서른 명", "! NUMBER_RANGE"],
    ["-3", "! NUMBER_RANGE"],
    [2.5, "! NUMBER_WHOLE"],
    ["2.5명", "! NUMBER_WHOLE"],
    ["두 명 반", "! NUMBER_WHOLE"],
    ["3~4명", "! NUMBER_UNCLEAR"],
    ["서너 명", "! NUMBER_UNCLEAR"],
    ["3 or 4", "! NUMBER_UNCLEAR"],
    ["열 명쯤", "! NUMBER_UNCLEAR"],
    ["about ten", "! NUMBER_UNCLEAR"],
    ["네", "! NUMBER_UNCLEAR"],
    ["3시", "! NUMBER_UNCLEAR"],
    ["3만원", "! NUMBER_UNCLEAR"],
    ["12월 3일", "! NUMBER_UNCLEAR"],
    ["여러 명", "! NUMBER_UNCLEAR"],
    ["", "! NUMBER_UNCLEAR"],
    [Number.NaN, "! NUMBER_UNCLEAR"],
    [Infinity, "! NUMBER_UNCLEAR"],
    [null, "! NUMBER_UNCLEAR"],
  ] as const)("takes %j as %j people", (raw, value) => {
    expect(taken(people, raw)).toBe(value);
  });

  test.each([
    ["3.5", 3.5],
    ["3.5kg", 3.5],
    ["한 개 반", 1.5],
    ["two and a half", 2.5],
    ["영하 5도", -5],
    ["minus 3", -3],
    ["0", 0],
    ["1,200", 1200],
    [0.25, 0.25],
    [-51, "! NUMBER_RANGE"],
    ["1.2.3", "! NUMBER_UNCLEAR"],
    ["무거워요", "! NUMBER_UNCLEAR"],
  ] as const)("takes %j as %j where fractions are taken", (raw, value) => {
    expect(taken(weight, raw)).toBe(value);
  });

  test("is that of its own unit in a sentence with others", () => {
    const { find } = people.reader!(TODAY);

    expect(find("내일 3시에 4명이 케이크 2개")).toMatchObject([{ value: 4, words: "4명" }]);
    expect(find("room for 4")).toMatchObject([{ value: 4 }]);
  });

  test("may be of a unit that no reader knows", () => {
    const bowls = slot.number({ unit: { ko: "그릇", en: "bowls" } });

    expect(taken(bowls, "두 그릇이요")).toBe(2);
    expect(taken(bowls, "one bowl")).toBe(1);
    expect(bowls.reader?.(TODAY).find("짜장면 두그릇, 4명")).toMatchObject([{ value: 2 }]);
    expectReadBack(bowls, fc.integer({ min: 0, max: 1_000 }));
  });

  test("says its bounds with its unit", () => {
    expect(people.errors?.ko?.["NUMBER_RANGE"]).toBe("1명에서 20명 사이로 말씀해 주세요.");
    expect(people.errors?.en?.["NUMBER_RANGE"]).toBe("It must be between 1 and 20 people.");
    expect(weight.errors?.ko?.["NUMBER_RANGE"]).toBe("-50 이상으로 말씀해 주세요.");
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(people, fc.integer({ min: 1, max: 20 }));
    expectReadBack(
      weight,
      fc.integer({ min: -5_000, max: 1_000_000 }).map((hundredths) => hundredths / 100),
    );
    expectNoSurprise(people);
    expectNoSurprise(weight);
  });
});

describe("an amount of money", () => {
  const price = slot.money({ max: 500_000 });
  const budget = slot.money({ limit: true });

  test.each([
    ["5만원", 50_000],
    ["오만원", 50_000],
    ["3만5천원", 35_000],
    ["1.5만", 15_000],
    ["50,000원", 50_000],
    ["₩50,000", 50_000],
    ["5만원이요", 50_000],
    ["5만원으로", 50_000],
    ["딱 5만원", 50_000],
    ["50k won", 50_000],
    ["fifty thousand won", 50_000],
    ["50000", 50_000],
    [50_000, 50_000],
    [1, 1],
    [500_000, 500_000],
    [500_001, "! AMOUNT_RANGE"],
    ["백만원", "! AMOUNT_RANGE"],
    [0, "! AMOUNT_NOT_POSITIVE"],
    ["0원", "! AMOUNT_NOT_POSITIVE"],
    [-5, "! AMOUNT_NOT_POSITIVE"],
    ["마이너스 5만원", "! AMOUNT_NOT_POSITIVE"],
    [1.5, "! AMOUNT_FRACTION"],
    ["30 dollars", "! AMOUNT_CURRENCY"],
    ["50유로", "! AMOUNT_CURRENCY"],
    ["5", "! AMOUNT_UNCLEAR"],
    ["3만5", "! AMOUNT_UNCLEAR"],
    ["5~6만원", "! AMOUNT_UNCLEAR"],
    ["5만원 정도", "! AMOUNT_UNCLEAR"],
    ["5만원 이하", "! AMOUNT_UNCLEAR"],
    ["많이", "! AMOUNT_UNCLEAR"],
    ["", "! AMOUNT_UNCLEAR"],
    [Number.NaN, "! AMOUNT_UNCLEAR"],
    [null, "! AMOUNT_UNCLEAR"],
  ] as const)("takes %j as %j won", (raw, value) => {
    expect(taken(price, raw)).toBe(value);
  });

  test.each([
    ["3만원 이하", 30_000],
    ["under 30k won", 30_000],
    ["최대 3만원", 30_000],
    ["3만원 이상", "! AMOUNT_UNCLEAR"],
  ] as const)("takes %j as a budget of %j", (raw, value) => {
    expect(taken(budget, raw)).toBe(value);
  });

  const MONTHLY = [
    ["월 200만원", 2_000_000],
    ["한 달에 200만원", 2_000_000],
    ["한달에 200만 원이요", 2_000_000],
    ["매달 200만원까지", 2_000_000],
    ["200만원/월", 2_000_000],
    ["2 million won a month", 2_000_000],
    ["monthly 2 million won", 2_000_000],
    ["200만원", 2_000_000],
    ["월 200만원 정도", "! AMOUNT_UNCLEAR"],
    ["200만원 정도", "! AMOUNT_UNCLEAR"],
    ["두 달에 200만원", "! AMOUNT_UNCLEAR"],
    ["연 200만원", "! AMOUNT_UNCLEAR"],
    ["5월 200만원", "! AMOUNT_UNCLEAR"],
    ["월", "! AMOUNT_UNCLEAR"],
  ] as const;

  test.each(MONTHLY)("takes %j as %j each month", (raw, value) => {
    const monthly = slot.money({ per: "month" });

    expect(taken(monthly, raw)).toBe(value);
    if (raw.length > 7 && value !== "! AMOUNT_UNCLEAR") {
      expect(taken(price, raw)).toBe("! AMOUNT_UNCLEAR");
    }
    expect(monthly.reader?.(TODAY).find(`한도는 ${raw}, 주소는 그대로`).length).toBeLessThan(2);
  });

  test("of a month is found with the words for the month", () => {
    const found = slot.money({ per: "month" }).reader?.(TODAY).find("한도는 매달 200만원으로 해줘");

    expect(found).toMatchObject([{ value: 2_000_000, words: "매달 200만원", at: 4 }]);
  });

  test("stands in the question that a yes answers, and says its bounds", () => {
    expect(price.isAmount).toBe(true);
    expect(slot.money({ isAmount: false }).isAmount).toBe(false);
    expect(price.errors?.en?.["AMOUNT_RANGE"]).toBe("It must be between 1 and 500,000 won.");
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(price, fc.integer({ min: 1, max: 500_000 }));
    expectNoSurprise(price);
    expectNoSurprise(budget);
  });
});
