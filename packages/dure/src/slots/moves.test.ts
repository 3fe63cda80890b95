import { expect, test } from "vitest";
import { settleChoice } from "./moves.ts";
import { CONTEXT, formOf, heardIn, readingOf } from "./test-transfer.ts";

const HONG = { target: "홍길동", amount: 10_000 };
const YOUNG = { target: "영희", amount: 20_000 };

test.each([
  "수신자를 영희로 바꿔줘",
  "영희로",
  "아 영희였다",
  "recipient is 영희",
  "oh wait, send it to 영희",
  "홍길동 말고 영희한테",
])("words of changing put another person in the place of the first: %s", (message) => {
  const reading = readingOf({ sets: [["target", "영희", "영희"]] });

  const { state } = heardIn(formOf(HONG), message, reading);

  expect(state.slots).toEqual({ target: "영희", amount: 10_000 });
  expect(state.total).toBe(1);
});

test.each(["영희 3만원도 추가", "영희한테도 3만원", "also 30,000 won to 영희"])(
  "words of adding make another person one more: %s",
  (message) => {
    const reading = readingOf({ sets: [["target", "영희", "영희"]] });

    const { state, added } = heardIn(formOf(HONG), message, reading);

    expect(state.slots).toEqual(HONG);
    expect(added.map(({ slots }) => slots)).toEqual([{ target: "영희" }]);
  },
);

test("a bare name beside a known one is asked about, and both answers do what they say", () => {
  const reading = readingOf({ sets: [["target", "영희", "영희"]] });

  const { state } = heardIn(formOf(HONG), "영희", reading);

  expect(state.slots).toEqual(HONG);
  expect(state.meta.choice).toMatchObject({ about: "change-or-add", other: "영희" });
  expect(settleChoice(state, 0, CONTEXT).state.slots).toEqual({ target: "영희", amount: 10_000 });
  const added = settleChoice(state, 1, CONTEXT).state;
  expect([added.slots, added.tasks[0]?.slots]).toEqual([HONG, { target: "영희" }]);
});

test("a correction of the model against words of adding is asked about", () => {
  const reading = readingOf({ move: "correct", sets: [["target", "영희", "영희"]] });

  expect(heardIn(formOf(HONG), "영희한테도", reading).state.meta.choice).toBeDefined();
});

test("each of several people who are named has an entry with what was said of it", () => {
  const reading = readingOf(
    {
      sets: [
        ["target", "철수", "철수는"],
        ["amount", 50_000, "5만원"],
      ],
    },
    {
      sets: [
        ["target", "영희", "영희는"],
        ["amount", 30_000, "3만원"],
      ],
    },
  );

  const { state } = heardIn(formOf({}), "철수는 5만원, 영희는 3만원 보내줘", reading);

  expect([state.slots, ...state.tasks.map(({ slots }) => slots)]).toEqual([
    { target: "철수", amount: 50_000 },
    { target: "영희", amount: 30_000 },
  ]);
});

test("a person whom the model has passed over is asked about, and not added", () => {
  const reading = readingOf({
    sets: [
      ["target", "철수", "철수한테"],
      ["amount", 50_000, "5만원"],
    ],
  });

  const { state, passedOver } = heardIn(formOf({}), "철수한테 5만원, 영희한테 3만원", reading);

  expect(state.total).toBe(1);
  expect(passedOver).toEqual(["영희"]);
});

test("values without a name beside another's do not overwrite them", () => {
  const reading = readingOf(
    {
      sets: [
        ["target", "철수", "철수한테"],
        ["amount", 50_000, "5만원"],
      ],
    },
    { sets: [["amount", 30_000, "3만원"]] },
  );

  const { state } = heardIn(formOf({}), "철수한테 5만원, 3만원", reading);

  expect(state.slots["amount"]).toBe(50_000);
  expect(state.meta.slot_errors).toEqual({ _unclear: "UNREADABLE" });
});

test("an entry that waits is corrected, and taken out, by its name", () => {
  const before = formOf(HONG, YOUNG);
  const corrected = readingOf({
    move: "correct",
    entry: "영희",
    sets: [["amount", 50_000, "5만원"]],
  });
  const removed = readingOf({ move: "remove", entry: "영희", changes: [] });

  expect(heardIn(before, "영희는 5만원으로", corrected).state.tasks[0]?.slots).toEqual({
    target: "영희",
    amount: 50_000,
  });
  const left = heardIn(before, "영희는 빼줘", removed);
  expect([left.state.total, left.state.tasks, left.removed[0]?.slots]).toEqual([1, [], YOUNG]);
});

test("the current entry can be left out by its name", () => {
  const removed = readingOf({ move: "remove", entry: "홍길동", changes: [] });

  expect(heardIn(formOf(HONG, YOUNG), "홍길동은 빼줘", removed).leavesCurrent).toBe(true);
});

test("two entries exchange their amounts and keep their names", () => {
  const { state } = heardIn(
    formOf(HONG, YOUNG),
    "반대로",
    readingOf({ move: "swap", changes: [] }),
  );

  expect([state.slots, state.tasks[0]?.slots]).toEqual([
    { target: "홍길동", amount: 20_000 },
    { target: "영희", amount: 10_000 },
  ]);
});

test("an exchange that no words ask for makes nothing of the message", () => {
  const reading = readingOf({ move: "swap", changes: [] });

  expect(heardIn(formOf(HONG, YOUNG), "엄마한테도 3만원 보내줘", reading).isNoOrder).toBe(true);
  expect(heardIn(formOf(HONG, YOUNG), "서로 바꿔줘", reading).isNoOrder).toBe(false);
});

test.each(["홍길동한테 2만원 보내지 마", "엄마한테 3만원 받았어", "don't send 20,000 won to Bob"])(
  "a sentence that orders nothing makes no order of a reading: %s",
  (message) => {
    const values = readingOf({ sets: [["memo", message.slice(0, 3), message.slice(0, 3)]] });

    expect(heardIn(formOf(HONG), message, values).isNoOrder).toBe(true);
  },
);

test("more than twenty entries are asked to be split, and none of them counts", () => {
  const names = Array.from(
    { length: 21 },
    (_, place) => `손님${String.fromCodePoint(0xac00 + place * 28)}`,
  );
  const reading = readingOf(...names.map((name) => ({ sets: [["target", name, name]] as const })));

  const { state, added } = heardIn(formOf({}), names.join(", "), reading);

  expect([state.slots, state.total, added]).toEqual([{}, 1, []]);
  expect(state.meta.slot_errors).toEqual({ _unclear: "TOO_MANY_TASKS" });
});
