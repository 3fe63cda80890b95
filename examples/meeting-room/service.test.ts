// @module-tag slow
import { expect, test } from "vitest";
import { startTestEngine, type TestEngine } from "../../packages/dure/src/engine/test-engine.ts";
import { Calendar } from "./calendar.ts";
import { roomModel } from "./offline.ts";
import { createRoomService } from "./service.ts";
import { TEXTS } from "./texts.ts";

interface Desk extends AsyncDisposable {
  readonly t: TestEngine;
  readonly calendar: Calendar;
}

async function openDesk(locale: "ko" | "en"): Promise<Desk> {
  const calendar = new Calendar();
  const t = await startTestEngine(createRoomService(calendar), {
    offline: [roomModel],
    engine: { locale },
  });
  return { t, calendar, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

test("a room is asked for slot by slot, confirmed, and booked once", async () => {
  await using desk = await openDesk("ko");
  const { t, calendar } = desk;

  const first = (await t.say("회의실 예약하고 싶어")).done.message;
  expect(first).toBe("회의실, 날짜, 시각과 인원을 알려 주세요.");
  expect((await t.say("소회의실")).done.message).toBe("날짜, 시각과 인원을 알려 주세요.");
  expect((await t.say("내일")).done.message).toBe("시각과 인원을 알려 주세요.");
  expect((await t.say("20시")).done.message).toContain(TEXTS.ko.slotError("TIME_CLOSED"));
  expect((await t.say("오후 3시")).done.message).toBe(TEXTS.ko.askSlot("people", {}));
  const asked = (await t.say("5")).done;
  expect(asked).toMatchObject({ nextAction: "CONFIRM" });
  expect(calendar.bookings).toEqual([]);
  const done = (await t.say("네")).done;

  expect(done.nextAction).toBe("DONE");
  expect(calendar.bookings).toMatchObject([{ room: "small", time: "15:00", people: 5 }]);
});

test("in English, with a change before the yes and a question on the way", async () => {
  await using desk = await openDesk("en");
  const { t, calendar } = desk;

  await t.say("Book the large room tomorrow at 3pm");
  const aside = (await t.say("Is there a projector?")).done;
  expect(aside.message).toBe(`${TEXTS.en.noAnswer}\n${TEXTS.en.askSlot("people", {})}`);
  await t.say("8 people");
  const changed = (await t.say("make it 4pm")).done;
  expect(changed.message).toMatch(
    /^Shall I book the large room on .+ at 4(?::00)? ?PM for 8 people\?$/iu,
  );
  await t.say("yes");
  const status = (await t.say("Was it booked?")).done;

  expect(calendar.bookings).toMatchObject([{ room: "large", time: "16:00", people: 8 }]);
  expect(status.message).toMatch(/at 4(?::00)? ?PM for 8 people: done$/iu);
});

test("a page's day with a time is refused where the time has a slot of its own", async () => {
  await using desk = await openDesk("ko");
  const { t } = desk;

  await t.say("회의실 예약하고 싶어");
  const { done } = await t.say("", { slots: { room: "소회의실", day: "내일 오후 3시" } });

  expect(done.nextAction).toBe("ASK");
  expect(done.stateSnapshot).toMatchObject({ slots: { room: "small" } });
});

test("until tomorrow is tomorrow, in both languages", async () => {
  await using ko = await openDesk("ko");
  await using en = await openDesk("en");

  const korean = (await ko.t.say("내일까지 오후 3시에 소회의실 5명 예약해줘")).done;
  const english = (await en.t.say("Book the small room by tomorrow at 3pm for 5")).done;

  expect([korean.nextAction, english.nextAction]).toEqual(["CONFIRM", "CONFIRM"]);
});

test.each([
  [
    "ko",
    ["회의실 예약하고 싶어", "소회의실", "내일쯤"],
    /^날짜는 \d{4}년 \d{1,2}월 \d{1,2}일\(.\)[가이] 맞나요\?$/u,
  ],
  [
    "en",
    ["I want to book a room", "the small room", "around tomorrow"],
    /^Day: is it \w+ \d{1,2}, \d{4}\?$/,
  ],
] as const)("a rough day is asked again with what was read: %s", async (locale, said, asked) => {
  await using desk = await openDesk(locale);
  let message = "";

  for (const words of said) message = (await desk.t.say(words)).done.message;

  expect(message).toMatch(asked);
});

test("a change that was not understood is said, and one that changes nothing is not", async () => {
  await using desk = await openDesk("en");
  const { t } = desk;

  const asked = (await t.say("Book the small room tomorrow at 3pm for 5")).done.message;
  const unheard = (await t.say("actually make it 12k won")).done.message;
  const same = (await t.say("tomorrow at 3pm")).done.message;

  expect(unheard).toBe(`${TEXTS.en.slotError("UNREADABLE")}\n${asked}`);
  expect(same).toBe(asked);
});

test("a room that is taken is a failure that is said, and nothing is booked twice", async () => {
  await using desk = await openDesk("en");
  const { t, calendar } = desk;

  for (const session of ["s1", "s2"]) {
    await t.say("Book the small room tomorrow at 10am for 3", { session });
  }
  await t.say("yes", { session: "s1" });
  const { done } = await t.say("yes", { session: "s2" });

  expect(done.message).toBe("That room is taken at that time.");
  expect(calendar.bookings).toHaveLength(1);
});

test.each([
  ["ko", "매주 월요일 오후 3시에 소회의실 5명 예약해줘"],
  ["en", "Book the small room every Monday at 3pm for 5"],
] as const)(
  "a booking that repeats is said not to be possible, and nothing begins: %s",
  async (locale, said) => {
    await using desk = await openDesk(locale);

    const { done } = await desk.t.say(said);

    expect(done).toMatchObject({
      message: TEXTS[locale].noRepeats,
      stateSnapshot: { stage: "INIT", slots: {} },
    });
  },
);
