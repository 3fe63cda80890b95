import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDate } from "./date.ts";
import { isIsoDate, todayIn } from "./days.ts";

/** A Wednesday. */
const TODAY = "2026-11-18";

test.each([
  // named by the specification
  ["내일", "2026-11-19"],
  ["다음 주 월요일", "2026-11-23"],
  ["3월 5일", "2027-03-05"],
  // more
  ["오늘", "2026-11-18"],
  ["모레", "2026-11-20"],
  ["내일모레", "2026-11-20"],
  ["글피", "2026-11-21"],
  ["내일에", "2026-11-19"],
  ["내일로", "2026-11-19"],
  ["지금", "2026-11-18"],
  ["이번 주 금요일", "2026-11-20"],
  ["이번주 금요일", "2026-11-20"],
  ["다음주 일요일", "2026-11-29"],
  ["다다음 주 월요일", "2026-11-30"],
  ["이번 주 수요일", "2026-11-18"],
  ["월요일", "2026-11-23"],
  ["목요일", "2026-11-19"],
  ["수요일", "2026-11-25"],
  ["금요일에", "2026-11-20"],
  ["11월 18일", "2026-11-18"],
  ["11월 17일", "2027-11-17"],
  ["11월19일", "2026-11-19"],
  ["12월 31일", "2026-12-31"],
  ["2월 29일", "2028-02-29"],
  ["3월 5일에", "2027-03-05"],
  ["2027-03-05", "2027-03-05"],
  ["2027년 3월 5일", "2027-03-05"],
  ["27년 3월 5일", "2027-03-05"],
  ["2027. 3. 5.", "2027-03-05"],
  ["2027/3/5", "2027-03-05"],
  ["20270305", "2027-03-05"],
  ["내년 1월 1일", "2027-01-01"],
  ["2028-02-29", "2028-02-29"],
  ["3/5", "2027-03-05"],
  ["11/18", "2026-11-18"],
  ["１１／１９", "2026-11-19"],
  ["15일", "2026-12-15"],
  ["18일", "2026-11-18"],
  ["30일", "2026-11-30"],
  ["다음 달 1일", "2026-12-01"],
  ["다음달 31일", "2026-12-31"],
  ["이번 달 20일", "2026-11-20"],
  ["말일", "2026-11-30"],
  ["이번 달 말", "2026-11-30"],
  ["다음 달 말일", "2026-12-31"],
  ["2월 말일", "2027-02-28"],
  ["3일 뒤", "2026-11-21"],
  ["일주일 후", "2026-11-25"],
  ["2주 뒤", "2026-12-02"],
  ["today", "2026-11-18"],
  ["tomorrow", "2026-11-19"],
  ["Tomorrow.", "2026-11-19"],
  ["day after tomorrow", "2026-11-20"],
  ["next monday", "2026-11-23"],
  ["this friday", "2026-11-20"],
  ["Monday", "2026-11-23"],
  ["on Friday", "2026-11-20"],
  ["march 5", "2027-03-05"],
  ["March 5th", "2027-03-05"],
  ["5 March", "2027-03-05"],
  ["Mar 5, 2027", "2027-03-05"],
  ["the 15th", "2026-12-15"],
  ["1st of next month", "2026-12-01"],
  ["in 3 days", "2026-11-21"],
  ["end of the month", "2026-11-30"],
] as const)("reads %j as %s", (text, date) => {
  expect(parseDate(text, { today: TODAY })).toEqual({ ok: true, date });
  expect(parseDate(text.normalize("NFD"), { today: TODAY })).toEqual({ ok: true, date });
});

test.each([
  ["", "empty"],
  ["  ", "empty"],
  ["어제", "past"],
  ["그저께", "past"],
  ["yesterday", "past"],
  ["2026-11-17", "past"],
  ["2025년 3월 5일", "past"],
  ["이번 주 월요일", "past"],
  ["올해 3월 5일", "past"],
  ["지난달 3일", "past"],
  ["이번 달 3일", "past"],
  ["2027-02-29", "no-such-day"],
  ["2월 30일", "no-such-day"],
  ["4월 31일", "no-such-day"],
  ["13월 1일", "no-such-day"],
  ["0월 5일", "no-such-day"],
  ["31일", "no-such-day"],
  ["0일", "no-such-day"],
  ["32일", "no-such-day"],
  ["2/30", "no-such-day"],
  ["2100-02-29", "no-such-day"],
  ["feb 30", "no-such-day"],
  ["다음 달 32일", "no-such-day"],
  ["홍길동", "not-a-date"],
  ["나중에", "not-a-date"],
  ["월요일쯤이나 화요일", "not-a-date"],
  ["5만원", "not-a-date"],
  ["내일 아니면 모레", "not-a-date"],
  ["3월", "not-a-date"],
  ["2027-03-05T00:00:00Z", "not-a-date"],
  ["내일".repeat(50), "not-a-date"],
  ["오늘도", "not-a-date"],
  ["constructor", "not-a-date"],
] as const)("refuses %j: %s", (text, because) => {
  expect(parseDate(text, { today: TODAY })).toEqual({ ok: false, because });
});

test("goes over the ends of months, years and leap days", () => {
  expect(parseDate("내일", { today: "2026-12-31" })).toEqual({ ok: true, date: "2027-01-01" });
  expect(parseDate("내일", { today: "2028-02-28" })).toEqual({ ok: true, date: "2028-02-29" });
  expect(parseDate("2월 29일", { today: "2028-02-29" })).toEqual({ ok: true, date: "2028-02-29" });
  expect(parseDate("2월 29일", { today: "2096-03-01" })).toEqual({ ok: true, date: "2104-02-29" });
  expect(parseDate("다음 달 말일", { today: "2027-01-31" })).toEqual({
    ok: true,
    date: "2027-02-28",
  });
  expect(parseDate("30일", { today: "2027-01-31" })).toEqual({ ok: false, because: "no-such-day" });
  expect(parseDate("다음 주 월요일", { today: "2026-11-22" })).toEqual({
    ok: true,
    date: "2026-11-23",
  });
  expect(parseDate("월요일", { today: "2026-11-23" })).toEqual({ ok: true, date: "2026-11-30" });
});

test("takes the day of the session's zone, not of the machine", () => {
  const nowMs = Date.parse("2026-11-18T15:30:00Z");

  expect(todayIn("Asia/Seoul", nowMs)).toBe("2026-11-19");
  expect(todayIn("UTC", nowMs)).toBe("2026-11-18");
  expect(todayIn("America/Los_Angeles", nowMs)).toBe("2026-11-18");
  expect(todayIn("Pacific/Kiritimati", nowMs)).toBe("2026-11-19");
});

test("never gives a day before today, and always one of the calendar", () => {
  const words = fc.constantFrom(
    "오늘",
    "어제",
    "다음 주 월요일",
    "이번 주 화요일",
    "월요일",
    "말일",
    "다음 달 말일",
    "next friday",
    "sunday",
    "march 5",
  );
  const numbers = fc
    .tuple(fc.integer({ min: 0, max: 13 }), fc.integer({ min: 0, max: 32 }))
    .map(([month, day]) => `${month}월 ${day}일`);
  const days = fc.integer({ min: 0, max: 32 }).map((day) => `${day}일`);
  const todays = fc
    .date({ min: new Date("2000-01-01"), max: new Date("2199-12-31"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10));
  fc.assert(
    fc.property(fc.oneof(words, numbers, days, fc.string()), todays, (text, today) => {
      const result = parseDate(text, { today });
      if (result.ok) expect(isIsoDate(result.date) && result.date >= today).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
