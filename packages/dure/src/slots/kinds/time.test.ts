import fc from "fast-check";
import { expect, test } from "vitest";
import { slot } from "./slot.ts";
import { expectNoSurprise, expectReadBack, taken, TODAY } from "./test-kinds.ts";

const visit = slot.time({ from: "09:00", to: "18:00", step: 30 });
const late = slot.time({ from: "18:00", to: "02:00" });
const any = slot.time();

test.each([
  ["오후 3시", "15:00"],
  ["오후 3시 반", "15:30"],
  ["오후 3시 반이에요", "15:30"],
  ["15시", "15:00"],
  ["15:00", "15:00"],
  ["09:30", "09:30"],
  ["10:00", "10:00"],
  ["3시", "15:00"],
  ["3시 반", "15:30"],
  ["9시", "09:00"],
  ["아침 9시", "09:00"],
  ["열두시", "12:00"],
  ["정오", "12:00"],
  ["낮 12시", "12:00"],
  ["noon", "12:00"],
  ["3pm", "15:00"],
  ["3:30pm", "15:30"],
  ["3:30 p.m.", "15:30"],
  ["4 pm", "16:00"],
  ["10 o'clock", "10:00"],
  ["ten o'clock", "10:00"],
  ["Ten o’clock, please!", "10:00"],
  ["at 3", "15:00"],
  ["at noon", "12:00"],
  ["three pm", "15:00"],
  ["half past three", "15:30"],
  ["half past three pm", "15:30"],
  ["half past three in the afternoon", "15:30"],
  ["half past nine in the morning", "09:30"],
  ["half past eleven at night", "! TIME_CLOSED"],
  ["thirty minutes to five", "! TIME_UNCLEAR"],
  ["30 minutes to five", "16:30"],
  ["quarter to five", "! TIME_STEP"],
  ["half past seven", "! TIME_CLOSED"],
  ["half three", "! TIME_UNCLEAR"],
  ["ten to five", "! TIME_UNCLEAR"],
  ["오후 세시 반", "15:30"],
  ["세 시 반이요", "15:30"],
  ["오후 3시 15분", "! TIME_STEP"],
  ["3:10pm", "! TIME_STEP"],
  ["8시", "! TIME_CLOSED"],
  ["오전 7시", "! TIME_CLOSED"],
  ["밤 11시", "! TIME_CLOSED"],
  ["18:30", "! TIME_CLOSED"],
  ["midnight", "! TIME_CLOSED"],
  ["오후 3시쯤", "! TIME_UNCLEAR"],
  ["around 3pm", "! TIME_UNCLEAR"],
  ["25시", "! TIME_UNCLEAR"],
  ["내일", "! TIME_UNCLEAR"],
  ["내일 3시", "! TIME_UNCLEAR"],
  ["3", "! TIME_UNCLEAR"],
  [15, "! TIME_UNCLEAR"],
  ["2시간", "! TIME_UNCLEAR"],
  ["아무 때나", "! TIME_UNCLEAR"],
  ["", "! TIME_UNCLEAR"],
  [null, "! TIME_UNCLEAR"],
] as const)("a slot open from 9 to 18 takes %j as %j", (raw, value) => {
  expect(taken(visit, raw)).toBe(value);
});

test.each([
  [late, "12시", "00:00"],
  [late, "자정", "00:00"],
  [late, "새벽 1시", "01:00"],
  [late, "7시", "19:00"],
  [late, "오후 3시", "! TIME_CLOSED"],
  [late, "half past twelve", "00:30"],
  [late, "a quarter to one", "00:45"],
  [late, "twenty-five past eleven", "23:25"],
  [late, "ten minutes to nine", "20:50"],
  [any, "half past three", "! TIME_UNCLEAR"],
  [any, "quarter to one pm", "12:45"],
  [any, "quarter to one in the morning", "! TIME_UNCLEAR"],
  [any, "a quarter past 3 a.m.", "03:15"],
  [any, "five past 13", "! TIME_UNCLEAR"],
  [any, "3시", "! TIME_UNCLEAR"],
  [any, "12시", "! TIME_UNCLEAR"],
  [any, "밤 12시", "00:00"],
  [any, "midnight", "00:00"],
  [any, "00:00", "00:00"],
] as const)("hours decide which time is meant: case %#", (spec, raw, value) => {
  expect(taken(spec, raw)).toBe(value);
});

test("a day that is said with the time is another slot's, where there is one", () => {
  const withDay = { ...TODAY, specs: { day: slot.date(), at: visit } };

  expect(taken(visit, "내일 오후 3시", withDay)).toBe("15:00");
  expect(visit.reader?.(TODAY).find("내일 3시에 4명, 오전 8시는 말고")).toMatchObject([
    { ok: true, value: "15:00", words: "3시" },
    { ok: false, because: "closed", words: "오전 8시" },
  ]);
});

test("a time in words is found in a sentence, and one that may be a range is not", () => {
  const found = (sentence: string): readonly unknown[] =>
    (visit.reader?.(TODAY).find(sentence) ?? []).map((one) => [one.words, one.ok && one.value]);

  expect(found("book it at half past three, not at 4pm")).toEqual([
    ["at half past three", "15:30"],
    ["at 4pm", "16:00"],
  ]);
  expect(found("a table for ten o'clock or a quarter to five")).toEqual([
    ["ten o'clock", "10:00"],
    ["a quarter to five", "16:45"],
  ]);
  expect(found("from ten to five, half of us, number three")).toEqual([]);
});

test("the sentences of its errors name its hours and a time that it takes", () => {
  expect(visit.errors?.ko?.["TIME_CLOSED"]).toBe("오전 9시부터 오후 6시 사이로 말씀해 주세요.");
  expect(visit.errors?.en?.["TIME_CLOSED"]).toBe("It must be between 9:00 am and 6:00 pm.");
  expect(late.errors?.ko?.["TIME_UNCLEAR"]).toBe("시각을 정확히 말씀해 주세요. 예: 오후 6시");
});

test("a time is itself when it is read again, whatever is sent", () => {
  const minutes = fc.integer({ min: 0, max: 24 * 60 - 1 });
  const times = minutes.map(
    (all) =>
      `${String(Math.floor(all / 60)).padStart(2, "0")}:${String(all % 60).padStart(2, "0")}`,
  );
  expectReadBack(any, times);
  expectNoSurprise(any);
  expectNoSurprise(visit);
});
