import fc from "fast-check";
import { expect, test } from "vitest";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken } from "./test-kinds.ts";

const often = slot.recurrence();
const unclear = "! RECURRENCE_UNCLEAR";

test.each([
  ["매달 25일", "FREQ=MONTHLY;BYMONTHDAY=25"],
  ["매월 25일마다", "FREQ=MONTHLY;BYMONTHDAY=25"],
  ["매달 말일", "FREQ=MONTHLY;BYMONTHDAY=-1"],
  ["매달", "FREQ=MONTHLY"],
  ["다달이", "FREQ=MONTHLY"],
  ["매주 월요일", "FREQ=WEEKLY;BYDAY=MO"],
  ["매주 금욜마다요", "FREQ=WEEKLY;BYDAY=FR"],
  ["일요일마다", "FREQ=WEEKLY;BYDAY=SU"],
  ["매주", "FREQ=WEEKLY"],
  ["격주", "FREQ=WEEKLY;INTERVAL=2"],
  ["격주 금요일", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"],
  ["매일", "FREQ=DAILY"],
  ["날마다", "FREQ=DAILY"],
  ["매년", "FREQ=YEARLY"],
  ["해마다", "FREQ=YEARLY"],
  ["every month on the 25th", "FREQ=MONTHLY;BYMONTHDAY=25"],
  ["on the 1st of every month", "FREQ=MONTHLY;BYMONTHDAY=1"],
  ["every Monday", "FREQ=WEEKLY;BYDAY=MO"],
  ["every other week", "FREQ=WEEKLY;INTERVAL=2"],
  ["weekly", "FREQ=WEEKLY"],
  ["daily", "FREQ=DAILY"],
  ["every year", "FREQ=YEARLY"],
  ["FREQ=MONTHLY;BYMONTHDAY=25", "FREQ=MONTHLY;BYMONTHDAY=25"],
  ["FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=WEEKLY;BYDAY=MO,WE"],
  ["자동이체", "! RECURRENCE_HOW_OFTEN"],
  ["standing order", "! RECURRENCE_HOW_OFTEN"],
  ["매주 아니면 매달", unclear],
  ["내일", unclear],
  ["한 번만", unclear],
  ["FREQ=SOMETIMES", unclear],
  ["sometimes", unclear],
  ["", unclear],
  [25, unclear],
  [null, unclear],
] as const)("takes %j as %j", (raw, value) => {
  expect(taken(often, raw)).toBe(value);
});

test.each([
  ["FREQ=MONTHLY;BYMONTHDAY=1", "매달 1일", "every month on the 1st"],
  ["FREQ=MONTHLY;BYMONTHDAY=12", "매달 12일", "every month on the 12th"],
  ["FREQ=MONTHLY;BYMONTHDAY=-1", "매달 말일", "every month on the last day"],
  ["FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "격주 금요일", "every other week on Friday"],
  ["FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=WEEKLY;BYDAY=MO,WE"],
  ["FREQ=DAILY;INTERVAL=3", "FREQ=DAILY;INTERVAL=3", "FREQ=DAILY;INTERVAL=3"],
] as const)("shows %s as %s", (rule, korean, english) => {
  expect(often.show?.(rule, "ko")).toBe(korean);
  expect(often.show?.(rule, "en")).toBe(english);
});

test("a rule is itself when it is read again, whatever is sent", () => {
  const days = fc.integer({ min: 1, max: 31 }).map((day) => `FREQ=MONTHLY;BYMONTHDAY=${day}`);
  const weekdays = fc
    .tuple(fc.constantFrom("", ";INTERVAL=2"), fc.constantFrom("MO", "TU", "WE", "TH", "FR", "SU"))
    .map(([interval, day]) => `FREQ=WEEKLY${interval};BYDAY=${day}`);
  const plain = fc.constantFrom("FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY");

  expectReadBack(often, fc.oneof(days, weekdays, plain));
  expectNoSurprise(often);
});
