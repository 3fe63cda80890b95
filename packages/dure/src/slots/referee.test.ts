import { expect, test } from "vitest";
import { REFEREE } from "./referee.ts";
import { formOf, heardIn, readingOf } from "./test-transfer.ts";

const HONG = { target: "홍길동", amount: 30_000 };

test("each pair of what a model says and what code sees has a verdict", () => {
  const verdicts = new Set(Object.values(REFEREE).flatMap((row) => Object.values(row)));

  expect(verdicts).toEqual(new Set(["accept", "derived", "ask", "refuse", "drop"]));
});

test.each([
  ["홍길동에게 5만원", 50_000, "5만원", 50_000],
  ["홍길동에게 5만원", "50,000원", "5만원", 50_000],
  ["홍길동에게 오만원 보내줘", 50_000, "", 50_000],
])("a value that the words say counts as it is: %s as %j", (message, value, quote, amount) => {
  const reading = readingOf({
    sets: [
      ["target", "홍길동", "홍길동에게"],
      ["amount", value, quote],
    ],
  });

  const { state } = heardIn(formOf({}), message, reading);

  expect(state.slots).toEqual({ target: "홍길동", amount });
  expect(state.meta.derived).toEqual({});
});

test.each([
  ["3만원의 절반만 보내줘", 15_000, "3만원의 절반"],
  ["반만 보내줘", 15_000, "반만"],
  ["두 배로 해줘", 60_000, "두 배로"],
  ["5천원 더 보내줘", 35_000, "5천원 더"],
  ["만원 깎아서 보내줘", 20_000, "만원 깎아서"],
  ["make it 5,000 won more", 35_000, "5,000 won more"],
  ["10% more please", 33_000, "10% more"],
])("a value that the words compute is shown with its sum: %s", (message, value, quote) => {
  const { state } = heardIn(
    formOf(HONG),
    message,
    readingOf({ move: "correct", sets: [["amount", value, quote]] }),
  );

  expect(state.slots).toEqual({ ...HONG, amount: value });
  expect(state.meta.derived["amount"]).toContain(value.toLocaleString("en"));
  expect(state.stage).toBe("READY");
});

test("a sum that the model computed wrongly is asked about, with the right one first", () => {
  const reading = readingOf({ move: "correct", sets: [["amount", 5_000, "5천원 더"]] });

  const { state } = heardIn(formOf(HONG), "5천원 더 보내줘", reading);

  expect(state.slots).toEqual({ target: "홍길동" });
  expect(state.meta.doubts["amount"]?.map((one) => one.value)).toEqual([35_000, 5_000]);
});

test("words that code cannot read are shown with what the model made of them", () => {
  const reading = readingOf({
    sets: [
      ["target", "홍길동", "홍길동"],
      ["amount", 1_500_000, "월급만큼"],
    ],
  });

  const { state } = heardIn(formOf({}), "홍길동에게 월급만큼 보내줘", reading);

  expect(state.slots["amount"]).toBe(1_500_000);
  expect(state.meta.derived["amount"]).toBe("월급만큼 = 1,500,000원");
});

test("a value without any words of the person is dropped, and asked for", () => {
  const reading = readingOf({
    sets: [
      ["target", "홍길동", "홍길동"],
      ["amount", 70_000, "칠만"],
    ],
  });

  const { state } = heardIn(formOf({}), "홍길동에게 보내줘", reading);

  expect(state.slots).toEqual({ target: "홍길동" });
});

test("the name of a contact is shown beside the name that was said", () => {
  const contacts = [{ name: "김영숙", says: ["엄마", "어머니"] }];
  for (const value of ["엄마", "김영숙"]) {
    const reading = readingOf({
      sets: [
        ["target", value, "엄마한테"],
        ["amount", 50_000, "5만원"],
      ],
    });

    const { state, passedOver } = heardIn(formOf({}), "엄마한테 5만원", reading, { contacts });

    expect(state.slots["target"]).toBe("김영숙");
    expect(state.meta.derived["target"]).toBe("엄마 = 김영숙");
    expect(passedOver).toEqual([]);
  }
});

test("a name that two contacts have is asked about", () => {
  const contacts = [
    { name: "김민수", says: ["민수"] },
    { name: "박민수", says: ["민수"] },
  ];
  const reading = readingOf({
    sets: [
      ["target", "민수", "민수한테"],
      ["amount", 50_000, "5만원"],
    ],
  });

  const { state } = heardIn(formOf({}), "민수한테 5만원", reading, { contacts });

  expect(state.meta.doubts["target"]?.map((one) => one.value)).toEqual([
    "김민수",
    "박민수",
    "민수",
  ]);
});

test("as last time takes the value of the entry that ended last", () => {
  const reading = readingOf({
    sets: [
      ["target", "홍길동", "홍길동"],
      ["amount", 80_000, "지난번이랑 똑같이"],
    ],
  });
  const last = { target: "이영희", amount: 80_000 };

  const { state } = heardIn(formOf({}), "홍길동한테 지난번이랑 똑같이", reading, { last });

  expect(state.slots).toEqual({ target: "홍길동", amount: 80_000 });
  expect(state.meta.derived["amount"]).toBe("지난번이랑 똑같이 = 80,000원");
});

test.each(["길동", "만원", "아", "um", "대리"])(
  "no name is cut out of another word: %s",
  (name) => {
    const reading = readingOf({
      sets: [
        ["target", name, name],
        ["amount", 50_000, "5만원"],
      ],
    });

    const { state } = heardIn(formOf({}), "um 아 홍길동 김만원 김 대리 5만원", reading);

    expect(state.slots["target"]).toBeUndefined();
  },
);

test("a day that its words do not number is shown with its date", () => {
  const reading = readingOf({ sets: [["day", "2026-11-20", "금요일에"]] });

  const { state } = heardIn(formOf(HONG), "금요일에 보내줘", reading);

  expect(state.slots["day"]).toBe("2026-11-20");
  expect(state.meta.derived["day"]).toMatch(/^금요일.* = 2026-11-20$/u);
});

test("two people whose sums the model has exchanged are asked about, and get none unasked", () => {
  const reading = readingOf(
    {
      sets: [
        ["target", "철수", "철수한테"],
        ["amount", 30_000, "3만원"],
      ],
    },
    {
      sets: [
        ["target", "영희", "영희한테"],
        ["amount", 50_000, "5만원"],
      ],
    },
  );

  const { state } = heardIn(formOf({}), "철수한테 5만원, 영희한테 3만원", reading);

  expect([state.slots, state.tasks[0]?.slots]).toEqual([{ target: "철수" }, { target: "영희" }]);
  expect(state.meta.doubts["amount"]?.map((one) => one.value)).toEqual([50_000, 30_000]);
});

test.each([
  ["금요일이나 토요일에 보내줘", "금요일이나 토요일", "2026-11-20"],
  ["either friday or saturday", "either friday or saturday", "2026-11-20"],
])("one of two that the model took is asked about: %s", (message, quote, day) => {
  const { state } = heardIn(formOf(HONG), message, readingOf({ sets: [["day", day, quote]] }));

  expect(state.slots["day"]).toBeUndefined();
  expect(state.meta.doubts["day"]).toBeDefined();
});

test("a value that is taken back is none of those which are asked about", () => {
  const reading = readingOf({ move: "correct", sets: [["amount", 60_000, "5만원 아니 6만원"]] });

  const { state } = heardIn(formOf(HONG), "5만원 아니 6만원", reading);

  expect(state.slots).toEqual({ ...HONG, amount: 60_000 });
  expect(state.meta.doubts).toEqual({});
});
