import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addDays } from "../../parse/days/days.ts";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken, TODAY } from "./test-kinds.ts";

const daysFrom = (first: number, last: number): fc.Arbitrary<string> =>
  fc.integer({ min: first, max: last }).map((days) => addDays(TODAY.today, days)!);

describe("a day to come", () => {
  const day = slot.date();

  test.each([
    ["오늘", "2026-11-18"],
    ["내일", "2026-11-19"],
    ["내일이요", "2026-11-19"],
    ["낼모레", "2026-11-20"],
    ["12월 3일", "2026-12-03"],
    ["12월 3일에", "2026-12-03"],
    ["12/3", "2026-12-03"],
    ["25일", "2026-11-25"],
    ["담주 월욜", "2026-11-23"],
    ["크리스마스", "2026-12-25"],
    ["사흘 뒤", "2026-11-21"],
    ["이달 말", "2026-11-30"],
    ["5월 3일", "2027-05-03"],
    ["2026-12-03", "2026-12-03"],
    ["2026년 12월 3일(목)", "2026-12-03"],
    ["tomorrow", "2026-11-19"],
    ["December 3", "2026-12-03"],
    ["Dec 3, 2026", "2026-12-03"],
    ["next Monday", "2026-11-23"],
    ["in two weeks", "2026-12-02"],
    ["내일 오후 3시", "2026-11-19"],
    ["어제", "! DATE_PAST"],
    ["2026-11-17", "! DATE_PAST"],
    ["2월 30일", "! DATE_NO_SUCH_DAY"],
    ["2027-02-29", "! DATE_NO_SUCH_DAY"],
    ["매주 월요일", "! DATE_REPEATS"],
    ["25일쯤", "! DATE_UNCLEAR"],
    ["수요일", "! DATE_UNCLEAR"],
    ["다음 주", "! DATE_UNCLEAR"],
    ["내일이나 모레", "! DATE_UNCLEAR"],
    ["나중에", "! DATE_UNCLEAR"],
    ["", "! DATE_UNCLEAR"],
    [20_261_203, "! DATE_UNCLEAR"],
    [null, "! DATE_UNCLEAR"],
  ] as const)("takes %j as %j", (raw, value) => {
    expect(taken(day, raw)).toBe(value);
  });

  test("tells that a time is not kept, where no slot of the form has it", () => {
    const withTime = { ...TODAY, specs: { day, at: slot.time() } };

    expect(day.remark?.("내일 3시", TODAY)).toBe("DATE_WITHOUT_TIME");
    expect(day.remark?.("내일 3시", withTime)).toBeUndefined();
    expect(day.remark?.("내일", TODAY)).toBeUndefined();
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(day, daysFrom(0, 3_000));
    expectNoSurprise(day);
  });
});

describe("a day that has passed", () => {
  const birthday = slot.date({ past: "only", needsYear: true });
  const bought = slot.date({ past: "only" });
  const either = slot.date({ past: "allowed" });

  test.each([
    [birthday, "1990년 5월 3일", "1990-05-03"],
    [birthday, "90.5.3", "1990-05-03"],
    [birthday, "900503", "1990-05-03"],
    [birthday, "90년 5월 3일이요", "1990-05-03"],
    [birthday, "May 3, 1990", "1990-05-03"],
    [birthday, "3 May 1990", "1990-05-03"],
    [birthday, "90년생 5월 3일", "1990-05-03"],
    [birthday, "3rd of May 90", "1990-05-03"],
    [birthday, "1990-05-03", "1990-05-03"],
    [birthday, "13/5/1990", "1990-05-13"],
    [birthday, "5/3/1990", "! DATE_UNCLEAR"],
    [birthday, "5월 3일", "! DATE_YEAR"],
    [birthday, "May 12", "! DATE_YEAR"],
    [birthday, "90년생", "! DATE_UNCLEAR"],
    [birthday, "2027-01-01", "! DATE_FUTURE"],
    [birthday, "1990년 2월 30일", "! DATE_NO_SUCH_DAY"],
    [bought, "어제", "2026-11-17"],
    [bought, "어제 오후 3시", "2026-11-17"],
    [bought, "오늘", "2026-11-18"],
    [bought, "그저께요", "2026-11-16"],
    [bought, "3일 전", "2026-11-15"],
    [bought, "두 달 전", "2026-09-18"],
    [bought, "지난주 금요일", "2026-11-13"],
    [bought, "last Friday", "2026-11-13"],
    [bought, "last Monday", "! DATE_UNCLEAR"],
    [bought, "two weeks ago", "2026-11-04"],
    [bought, "5월 3일", "2026-05-03"],
    [bought, "작년 5월 3일", "2025-05-03"],
    [bought, "며칠 전", "! DATE_UNCLEAR"],
    [bought, "내일", "! DATE_FUTURE"],
    [bought, "", "! DATE_UNCLEAR"],
    [either, "어제", "2026-11-17"],
    [either, "내일", "2026-11-19"],
    [either, "1990년 5월 3일", "1990-05-03"],
    [either, "2027-05-03", "2027-05-03"],
    [either, "5월 3일", "! DATE_UNCLEAR"],
    [either, "월요일", "! DATE_UNCLEAR"],
  ] as const)("is taken as its words have it: case %#", (spec, raw, value) => {
    expect(taken(spec, raw)).toBe(value);
  });

  test("is itself when it is read again, whatever is sent", () => {
    expectReadBack(birthday, daysFrom(-30_000, 0));
    expectReadBack(either, daysFrom(-3_000, 3_000));
    for (const spec of [birthday, bought, either]) expectNoSurprise(spec);
  });
});

describe("a range of days", () => {
  const stay = slot.dateRange();
  const was = slot.dateRange({ past: "only" });

  test.each([
    ["12월 3일부터 5일까지", "2026-12-03/2026-12-05"],
    ["12월 3일부터 12월 5일까지요", "2026-12-03/2026-12-05"],
    ["12월 3일~5일", "2026-12-03/2026-12-05"],
    ["12/3~12/5", "2026-12-03/2026-12-05"],
    ["12/3-5", "2026-12-03/2026-12-05"],
    ["2026-12-03/2026-12-05", "2026-12-03/2026-12-05"],
    ["2026-12-03 ~ 2026-12-05", "2026-12-03/2026-12-05"],
    ["12월 30일부터 1월 2일까지", "2026-12-30/2027-01-02"],
    ["Dec 3 to 5", "2026-12-03/2026-12-05"],
    ["from December 3 to December 5", "2026-12-03/2026-12-05"],
    ["Dec 3rd through 5th", "2026-12-03/2026-12-05"],
    ["between Dec 3 and Dec 5", "2026-12-03/2026-12-05"],
    ["오늘부터 금요일까지", "2026-11-18/2026-11-20"],
    ["다음 주 월요일부터 수요일까지", "2026-11-23/2026-11-25"],
    ["Monday to Wednesday", "2026-11-23/2026-11-25"],
    ["내일부터 3일간", "2026-11-19/2026-11-21"],
    ["내일부터 사흘", "2026-11-19/2026-11-21"],
    ["내일부터 일주일", "2026-11-19/2026-11-25"],
    ["12월 3일 2박 3일로요", "2026-12-03/2026-12-05"],
    ["12월 3일 하루", "2026-12-03/2026-12-03"],
    ["next Monday for two nights", "2026-11-23/2026-11-25"],
    ["tomorrow for 3 days", "2026-11-19/2026-11-21"],
    ["12월 3일", "! RANGE_END"],
    ["tomorrow", "! RANGE_END"],
    ["12월 5일부터 12월 3일까지", "! RANGE_BACKWARDS"],
    ["2026-12-05/2026-12-03", "! RANGE_BACKWARDS"],
    ["어제부터 내일까지", "! DATE_PAST"],
    ["2월 30일부터 3월 2일까지", "! DATE_NO_SUCH_DAY"],
    ["내일부터 3일", "! RANGE_UNCLEAR"],
    ["주말", "! RANGE_UNCLEAR"],
    ["12월 3일쯤부터 5일까지", "! RANGE_UNCLEAR"],
    ["3시부터 5시까지", "! RANGE_UNCLEAR"],
    ["다음 주", "! RANGE_UNCLEAR"],
    ["3일간", "! RANGE_UNCLEAR"],
    ["", "! RANGE_UNCLEAR"],
    [null, "! RANGE_UNCLEAR"],
  ] as const)("takes %j as %j", (raw, value) => {
    expect(taken(stay, raw)).toBe(value);
  });

  test("may lie in the past where the slot says so", () => {
    expect(taken(was, "11월 3일부터 5일까지")).toBe("2026-11-03/2026-11-05");
    expect(taken(was, "내일부터 3일간")).toBe("! DATE_FUTURE");
  });

  test("is itself when it is read again, whatever is sent", () => {
    const ranges = (first: number, last: number): fc.Arbitrary<string> =>
      fc
        .tuple(daysFrom(first, last), fc.integer({ min: 0, max: 30 }))
        .map(([start, days]) => `${start}/${addDays(start, days)}`);
    expectReadBack(stay, ranges(0, 3_000));
    expectReadBack(was, ranges(-3_000, -31));
    expectNoSurprise(stay);
    expectNoSurprise(was);
  });
});
