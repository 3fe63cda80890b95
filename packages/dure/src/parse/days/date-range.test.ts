import fc from "fast-check";
import { expect, test } from "vitest";
import { boundMs } from "../../kernel/test-bounds.ts";
import { dateRangeReader, isIsoDateRange } from "./date-range.ts";
import { dayReaderFor, parsePastDay } from "./past-day.ts";

/** A Wednesday. */
const CLOCK = { today: "2026-11-18" };
const { parse, find } = dateRangeReader(CLOCK);

test.each([
  ["내일부터 3일", "ambiguous", ["2026-11-19/2026-11-21", "2026-11-19/2026-12-03"]],
  ["이번 주말이요", "approximate", ["2026-11-21/2026-11-22"]],
  ["다음 주말", "approximate", ["2026-11-28/2026-11-29"]],
  ["12월 3일쯤부터 5일까지", "approximate", ["2026-12-03/2026-12-05"]],
  ["2박 3일 12월 3일부터", "exact", ["2026-12-03/2026-12-05"]],
  ["for two nights from next Monday", "exact", ["2026-11-23/2026-11-25"]],
  ["내일부터 한 달간", "exact", ["2026-11-19/2026-12-18"]],
] as const)("reads %j, %s, as %j", (words, sure, [value, ...others]) => {
  expect(parse(words)).toEqual({ ok: true, value, sure, others, words });
});

test.each([
  ["a week from tomorrow", "not-a-range"],
  ["12월 3일, 5일", "not-a-range"],
  ["다음 주", "vague"],
  ["12월 3일", "no-end"],
  ["금요일부터 어제까지", "past"],
] as const)("refuses %j as a range: %s", (words, because) => {
  expect(parse(words)).toMatchObject({ ok: false, because });
});

test.each([
  ["12월 3일부터 5일까지 두 명이요", ["12월 3일부터 5일까지"]],
  ["12월 3일부터 5일까지요", ["12월 3일부터 5일까지"]],
  ["내일부터 3일간 빌릴게요", ["내일부터 3일간"]],
  ["Dec 3 to 5 for two people", ["Dec 3 to 5"]],
  ["next Monday for two nights, two adults", ["next Monday for two nights"]],
  ["a car from Dec 3 to Dec 5 at noon", ["Dec 3 to Dec 5"]],
  ["2026-12-03 ~ 2026-12-05 대회의실", ["2026-12-03 ~ 2026-12-05"]],
  ["주말에 방 있어요?", ["주말"]],
  ["12월 3일에 5만원", []],
  ["내일 3시부터 5시까지", []],
] as const)("finds in %j: %j", (sentence, words) => {
  const found = find(sentence);

  expect(found.map((one) => one.words)).toEqual(words);
  for (const one of found) expect(sentence.slice(one.at)).toContain(one.words);
});

test.each([
  ["last Monday", ["2026-11-16", "2026-11-09"]],
  ["수요일", ["2026-11-18", "2026-11-11"]],
  ["5/3/1990", ["1990-05-03", "1990-03-05"]],
  ["2~3일 전", ["2026-11-16", "2026-11-15"]],
] as const)("a past day of %j may be each of %j", (words, [value, ...others]) => {
  expect(parsePastDay(words, CLOCK.today)).toMatchObject({ value, others, sure: "ambiguous" });
});

test.each([
  ["생일은 1990년 5월 3일이에요", ["1990년 5월 3일"]],
  ["저는 90.5.3에 태어났어요", ["90.5.3"]],
  ["어제 3시에 5만원 썼어요", ["어제"]],
  ["last Friday I paid 50k", ["last Friday"]],
  ["it was 3 days ago", ["3 days ago"]],
  ["010-1234-5678", []],
  ["1.5만원", []],
] as const)("finds the past days in %j: %j", (sentence, words) => {
  const found = dayReaderFor("only", CLOCK).find(sentence);

  expect(found.map((one) => one.words)).toEqual(words);
});

const PIECES =
  "12월 3일 5일 부터 까지 ~ - to from for two nights 내일 어제 주말 2박 3일간 일주일 전 ago last Monday 90.5.3 작년 " +
  "2026-12-03 / 월요일 쯤";
const rubble = fc
  .array(fc.constantFrom(...PIECES.split(" "), " "), { maxLength: 12 })
  .map((pieces) => pieces.join(" "));

test("never gives a range that ends before it begins, or a past day that is to come", () => {
  fc.assert(
    fc.property(fc.oneof(rubble, fc.string()), (text) => {
      for (const reading of [parse(text), ...find(text)]) {
        if (!reading.ok) continue;
        for (const range of [reading.value, ...reading.others]) {
          expect(isIsoDateRange(range) && range >= CLOCK.today).toBe(true);
        }
      }
      const passed = parsePastDay(text, CLOCK.today);
      if (passed.ok) expect(passed.value <= CLOCK.today).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("takes no longer for a long text than for several short ones", () => {
  const started = performance.now();
  for (const piece of ["1", "1일 ", "12/", "내일부터 ", "to ", "3일 전 ", "90.", "2박 "]) {
    const text = piece.repeat(Math.floor(1_000 / piece.length));
    find(text);
    parse(text.slice(0, 80));
    dayReaderFor("allowed", CLOCK).find(text);
  }
  expect(performance.now() - started).toBeLessThan(boundMs(1_000));
});
