import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDay } from "./day.ts";
import { isIsoDate } from "./days.ts";
import { findRecurrence } from "./recurrence.ts";
import { parseTime } from "./time.ts";
import { dayOnlyReader, dayReader, findWhen, parseWhen } from "./when.ts";
import { boundMs } from "../../kernel/test-bounds.ts";

/** A Wednesday, in the morning. */
const CLOCK = { today: "2026-11-18", time: "10:00" };

test.each([
  ["담주 월욜", "2026-11-23"],
  ["담주 월", "2026-11-23"],
  ["다음 주 월요일", "2026-11-23"],
  ["다음주 월욜에", "2026-11-23"],
  ["다담주 화욜", "2026-12-01"],
  ["금욜", "2026-11-20"],
  ["금욜날", "2026-11-20"],
  ["크리스마스", "2026-12-25"],
  ["크리스마스 이브에", "2026-12-24"],
  ["신정", "2027-01-01"],
  ["어린이날", "2027-05-05"],
  ["연말", "2026-12-31"],
  ["25일", "2026-11-25"],
  ["25일날", "2026-11-25"],
  ["이달 말", "2026-11-30"],
  ["담달 5일", "2026-12-05"],
  ["낼", "2026-11-19"],
  ["음 내일이요~", "2026-11-19"],
  ["나흘 뒤", "2026-11-22"],
  ["열흘 후", "2026-11-28"],
  ["11월 20일 금요일", "2026-11-20"],
  ["11월 20일(금)", "2026-11-20"],
  ["next Monday", "2026-11-23"],
  ["tmr", "2026-11-19"],
  ["Christmas", "2026-12-25"],
  ["in two weeks", "2026-12-02"],
  ["a week from today", "2026-11-25"],
  ["on the 25th", "2026-11-25"],
  ["2026-12-25", "2026-12-25"],
] as const)("reads %j as the day %s", (words, date) => {
  expect(parseWhen(words, CLOCK)).toEqual({
    ok: true,
    value: { date },
    sure: "exact",
    others: [],
    words,
  });
});

test.each([
  ["내일 오전 9시", "2026-11-19", "09:00"],
  ["모레 저녁 7시", "2026-11-20", "19:00"],
  ["모레 저녁 7시 반에", "2026-11-20", "19:30"],
  ["담주 월욜 오후 두시", "2026-11-23", "14:00"],
  ["내일 14시 30분", "2026-11-19", "14:30"],
  ["내일 09:00", "2026-11-19", "09:00"],
  ["내일 정오", "2026-11-19", "12:00"],
  ["내일 새벽 2시", "2026-11-19", "02:00"],
  ["내일 밤 11시", "2026-11-19", "23:00"],
  ["오늘 3시", "2026-11-18", "15:00"],
  ["오늘 오후 열두시", "2026-11-18", "12:00"],
  ["next Monday 9am", "2026-11-23", "09:00"],
  ["tomorrow at 5:30 pm", "2026-11-19", "17:30"],
  ["9am tomorrow", "2026-11-19", "09:00"],
  ["tomorrow at 9 in the morning", "2026-11-19", "09:00"],
  ["tomorrow noon", "2026-11-19", "12:00"],
  ["2026-12-25T09:00", "2026-12-25", "09:00"],
  ["2026-12-25 14:00", "2026-12-25", "14:00"],
] as const)("reads %j as %s at %s", (words, date, time) => {
  expect(parseWhen(words, CLOCK)).toMatchObject({ ok: true, value: { date, time }, sure: "exact" });
});

test.each([
  ["내일 7시", ["2026-11-19T07:00", "2026-11-19T19:00"]],
  ["내일 3시", ["2026-11-19T15:00", "2026-11-19T03:00"]],
  ["오후 3시", ["2026-11-18T15:00", "2026-11-19T15:00"]],
  ["내일 밤 12시", ["2026-11-20T00:00", "2026-11-19T00:00"]],
  ["next friday", ["2026-11-27", "2026-11-20"]],
  ["수요일", ["2026-11-25", "2026-11-18"]],
  ["주말", ["2026-11-21", "2026-11-22"]],
  ["다음 주말", ["2026-11-28", "2026-11-29"]],
  ["내일이나 모레", ["2026-11-19", "2026-11-20"]],
  ["내일 아니면 금요일", ["2026-11-19", "2026-11-20"]],
  ["12월 25일 목요일", ["2026-12-25", "2026-12-24"]],
  // The Tuesday before it is past.
  ["20일 화욜", ["2026-11-20", "2026-11-24"]],
] as const)("reads %j in more than one way", (words, ways) => {
  const reading = parseWhen(words, CLOCK);

  expect(reading).toMatchObject({ ok: true, sure: "ambiguous" });
  const values = reading.ok ? [reading.value, ...reading.others] : [];
  expect(values.map(({ date, time }) => (time ? `${date}T${time}` : date))).toEqual(ways);
});

test.each([
  ["a Saturday", "2026-11-21", ["2026-11-21", "2026-11-22"]],
  ["its Sunday", "2026-11-22", ["2026-11-22", "2026-11-28"]],
] as const)("on %s the weekend is asked about", (_, today, days) => {
  const reading = parseDay("주말에", today);

  expect(reading).toMatchObject({ ok: true, sure: "ambiguous" });
  expect(reading.ok ? [reading.value, ...reading.others] : []).toEqual(days);
});

test.each([
  "25일쯤",
  "25일 정도",
  "한 25일쯤까지",
  "내일 전까지",
  "내일 이후로",
  "before friday",
  "after tomorrow",
  "around the 25th",
  "maybe tomorrow",
  "tomorrow or so",
  "내일 오후 3시쯤",
  "내일 오후 3시 정도",
  "내일 오후 3시 이후",
  "내일 오후 3시 전까지",
  "tomorrow before 5pm",
  "tomorrow after 5pm",
])("marks %j as approximate", (words) => {
  expect(parseWhen(words, CLOCK)).toMatchObject({ ok: true, sure: "approximate" });
});

describe("until and from say the day itself", () => {
  test.each([
    ["내일까지", "2026-11-19"],
    ["내일까지요", "2026-11-19"],
    ["내일까지만", "2026-11-19"],
    ["내일부터", "2026-11-19"],
    ["25일까지", "2026-11-25"],
    ["담주 월욜까지", "2026-11-23"],
    ["이달 말까지", "2026-11-30"],
    ["크리스마스까지는", "2026-12-25"],
    ["내일 안으로", "2026-11-19"],
    ["오늘 중으로", "2026-11-18"],
    ["오늘 안에", "2026-11-18"],
    ["by tomorrow", "2026-11-19"],
    ["by friday", "2026-11-20"],
    ["by the 25th", "2026-11-25"],
    ["by Friday at the latest", "2026-11-20"],
    ["no later than tomorrow", "2026-11-19"],
    ["until next Monday", "2026-11-23"],
    ["till Christmas", "2026-12-25"],
    ["from tomorrow", "2026-11-19"],
    ["starting next Monday", "2026-11-23"],
    ["by the end of the month", "2026-11-30"],
  ])("%j is the day %s", (words, date) => {
    const said = { ok: true, value: { date }, sure: "exact", others: [] };
    expect(parseWhen(words, CLOCK)).toMatchObject(said);
  });

  test.each([
    ["3일 이내", "2026-11-21"],
    ["3일 안에", "2026-11-21"],
    ["사흘 안으로", "2026-11-21"],
    ["일주일 내로", "2026-11-25"],
    ["2주 이내에", "2026-12-02"],
    ["한 달 안에", "2026-12-18"],
    ["within 3 days", "2026-11-21"],
    ["within a week", "2026-11-25"],
    ["in the next two weeks", "2026-12-02"],
  ])("%j is the day %s, the last of the stretch", (words, date) => {
    const said = { ok: true, value: { date }, sure: "exact", others: [] };
    expect(parseWhen(words, CLOCK)).toMatchObject(said);
  });

  test("25일 안에 may be a day or a stretch", () => {
    const both = { value: { date: "2026-12-13" }, others: [{ date: "2026-11-25" }] };
    expect(parseWhen("25일 안에", CLOCK)).toMatchObject({ sure: "ambiguous", ...both });
  });

  test.each([
    ["오늘 오후 3시까지", "15:00"],
    ["오늘 오후 3시부터", "15:00"],
    ["today by 5pm", "17:00"],
    ["by 5pm today", "17:00"],
    ["today from 3pm", "15:00"],
    ["until noon today", "12:00"],
  ])("%j is at %s", (words, time) => {
    const value = { date: CLOCK.today, time };
    expect(parseWhen(words, CLOCK)).toMatchObject({ ok: true, value, sure: "exact" });
  });

  test.each(["오후 3시까지", "오후 3시부터", "by 3pm", "until 3pm", "from 3pm"])(
    "%j is a time",
    (words) => {
      expect(parseTime(words)).toMatchObject({ ok: true, value: "15:00", sure: "exact" });
    },
  );

  test.each([
    ["내일까지 의자를 사줘", "내일까지"],
    ["의자를 25일까지 사줘", "25일까지"],
    ["25일부터 쓸게", "25일부터"],
    ["3일 안에 보내줘", "3일 안에"],
    ["내일 정도에 보내줘", "내일 정도에"],
    ["내일쯤으로 해줘", "내일쯤으로"],
    ["buy it by tomorrow please", "by tomorrow"],
    ["I need it within 3 days", "within 3 days"],
    ["around tomorrow would be fine", "around tomorrow"],
    ["오후 3시까지 쓸게", "오후 3시까지"],
  ])("finds in %j: %j", (sentence, words) => {
    expect(findWhen(sentence, CLOCK).map((one) => one.words)).toEqual([words]);
  });

  test.each([
    ["내일 5시쯤", "2026-11-19"],
    ["tomorrow around 5pm", "2026-11-19"],
    ["내일 오후 3시 이후", "2026-11-19"],
  ])("a day alone is plain in %j, for its time alone is rough", (words, value) => {
    expect(dayOnlyReader(CLOCK).parse(words)).toMatchObject({ ok: true, value, sure: "exact" });
  });

  test.each(["내일쯤 5시", "around tomorrow at 5pm"])("a rough day stays rough: %j", (words) => {
    expect(dayOnlyReader(CLOCK).parse(words)).toMatchObject({ ok: true, sure: "approximate" });
  });
});

test.each([
  ["", "empty"],
  ["어제", "past"],
  ["지난주 월욜", "past"],
  ["last monday", "past"],
  ["오늘 오전 9시", "past"],
  ["내일 25시", "no-such-time"],
  ["2월 30일", "no-such-day"],
  ["31일", "no-such-day"],
  ["다음 주", "vague"],
  ["다음 달에", "vague"],
  ["나중에", "vague"],
  ["설날", "vague"],
  ["월급날", "vague"],
  ["next week", "vague"],
  ["매달 25일", "recurring"],
  ["매주 월욜", "recurring"],
  ["every friday", "recurring"],
  ["5만원", "not-a-date"],
  ["엄마", "not-a-date"],
  ["시간", "not-a-date"],
  ["내일".repeat(50), "not-a-date"],
] as const)("refuses %j: %s", (words, because) => {
  expect(parseWhen(words, CLOCK)).toMatchObject({ ok: false, because });
});

test.each([
  ["엄마한테 내일 5만원 보내줘", ["내일"]],
  ["담주 월욜에 5만원", ["담주 월욜"]],
  ["내일 오전 9시에 아빠한테 3만원", ["내일 오전 9시"]],
  ["send 50k to mom next Monday 9am", ["next Monday 9am"]],
  ["모레 저녁 7시로 바꿔줘", ["모레 저녁 7시"]],
  ["크리스마스에 동생한테 10만원", ["크리스마스"]],
  ["12월 25일에 보내줘", ["12월 25일"]],
  ["25일에 월세 50만원", ["25일"]],
  ["매달 25일에 50만원씩 보내줘", ["매달 25일"]],
  ["다음 주에 보내줘", ["다음 주"]],
  ["어제 보낸 거", ["어제"]],
  ["send 10k on friday at 3pm", ["on friday at 3pm"]],
  ["오후 3시에 회의실", ["오후 3시"]],
  ["5만원 보내줘", []],
  ["2시간 걸려", []],
  ["110-234-567890", []],
  ["오늘도 좋은 하루", []],
  ["I sat down", []],
  ["안녕하세요", []],
] as const)("finds in %j: %j", (sentence, words) => {
  const found = findWhen(sentence, CLOCK);

  expect(found.map((one) => one.words)).toEqual(words);
  for (const one of found) expect(sentence.slice(one.at)).toMatch(one.words);
});

test.each([
  ["매달 25일에 월세 보내줘", { every: "month", interval: 1, day: 25 }],
  ["매월 말일", { every: "month", interval: 1, day: "last" }],
  ["매주 월욜마다", { every: "week", interval: 1, weekday: 1 }],
  ["금요일마다 용돈", { every: "week", interval: 1, weekday: 5 }],
  ["격주로 5만원", { every: "week", interval: 2 }],
  ["매일 천원씩", { every: "day", interval: 1 }],
  ["매년 12월 25일", { every: "year", interval: 1, day: 25 }],
  ["자동이체 걸어줘", { every: "unsaid", interval: 1 }],
  ["정기송금 하고 싶어", { every: "unsaid", interval: 1 }],
  ["send 10k every month", { every: "month", interval: 1 }],
  ["every friday", { every: "week", interval: 1, weekday: 5 }],
  ["on the 25th of every month", { every: "month", interval: 1, day: 25 }],
  ["every other week", { every: "week", interval: 2 }],
  ["daily", { every: "day", interval: 1 }],
  ["set up a standing order", { every: "unsaid", interval: 1 }],
] as const)("hears that %j repeats", (sentence, recurrence) => {
  expect(findRecurrence(sentence)).toMatchObject([{ ok: true, value: recurrence }]);
});

test.each(["매일유업에 5만원", "각각 5만원", "10k each", "내일 보내줘", "매번 고마워"])(
  "hears no repetition in %j",
  (sentence) => {
    expect(findRecurrence(sentence)).toEqual([]);
  },
);

test.each([
  ["오전 9시", "09:00", "exact"],
  ["9시 반", "09:30", "ambiguous"],
  ["저녁 일곱시", "19:00", "exact"],
  ["21:00", "21:00", "exact"],
  ["9:30pm", "21:30", "exact"],
  ["at 5pm", "17:00", "exact"],
  ["noon", "12:00", "exact"],
  ["오후 3시쯤", "15:00", "approximate"],
  ["24시", "00:00", "exact"],
] as const)("reads %j as the time %s, %s", (words, value, sure) => {
  expect(parseTime(words)).toMatchObject({ ok: true, value, sure });
});

test.each([
  ["", "empty"],
  ["25시", "no-such-time"],
  ["10:75", "no-such-time"],
  ["오전 15시", "no-such-time"],
  ["시작", "not-a-time"],
  ["3", "not-a-time"],
  ["2시간", "not-a-time"],
] as const)("refuses %j as a time: %s", (words, because) => {
  expect(parseTime(words)).toMatchObject({ ok: false, because });
});

describe("a day alone", () => {
  const { parse } = dayReader(CLOCK);

  test("is not quite what was said when a time was said with it", () => {
    expect(parse("내일")).toMatchObject({ value: "2026-11-19", sure: "exact" });
    expect(parse("내일 오전 9시")).toMatchObject({ value: "2026-11-19", sure: "approximate" });
    expect(parse("내일 7시")).toMatchObject({ value: "2026-11-19", sure: "approximate" });
    expect(parse("next friday")).toMatchObject({ sure: "ambiguous", others: ["2026-11-20"] });
  });
});

const PIECES =
  "내일 모레 담주 다음 주 월욜 금요일 25일 11월 31일 2월 29일 오전 오후 밤 9시 12시 반 30분 매달 매주 말일 크리스마스 next friday tomorrow at 9 pm 10:30 2026-12-25 T09:00 이나 쯤 까지 주말 the 25th of every month".split(
    " ",
  );
const rubble = fc
  .array(fc.constantFrom(...PIECES, " ", "에", "?"), { maxLength: 20 })
  .map((pieces) => pieces.join(" "));

test("never gives a moment that has passed, and always one that exists", () => {
  const todays = fc
    .date({ min: new Date("2000-01-01"), max: new Date("2199-12-31"), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10));
  fc.assert(
    fc.property(fc.oneof(rubble, fc.string()), todays, (text, today) => {
      const clock = { today, time: "12:00" };
      for (const reading of [parseWhen(text, clock), ...findWhen(text, clock)]) {
        if (!reading.ok) continue;
        for (const { date, time } of [reading.value, ...reading.others]) {
          expect(isIsoDate(date) && date >= today).toBe(true);
          expect(time === undefined || /^([01]\d|2[0-3]):[0-5]\d$/.test(time)).toBe(true);
        }
        expect(reading.others.length > 0).toBe(reading.sure === "ambiguous");
      }
    }),
    { numRuns: 500 },
  );
});

test("takes no longer for a long text than for several short ones", () => {
  const texts = ["1", "1일 ", "다음 ", "12/", "every ", "오전 ", "the 1st of ", "3시 "].map(
    (piece) => piece.repeat(Math.floor(1_000 / piece.length)),
  );

  const started = performance.now();
  for (const text of texts) {
    findWhen(text, CLOCK);
    parseDay(text.slice(0, 80), CLOCK.today);
  }
  expect(performance.now() - started).toBeLessThan(boundMs(1_000));
});
