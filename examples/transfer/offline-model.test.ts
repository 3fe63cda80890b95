import { parseAmount } from "dure/slots";
import { describe, expect, test } from "vitest";
import { MESSAGES } from "./messages.ts";
import { offlineIntent, offlineReply, offlineSlots } from "./offline-model.ts";
import type { SlotName } from "./slots.ts";

test.each([
  "홍길동에게 5만원 보내줘",
  "이체하고 싶어",
  "송금할래",
  "돈 보내줘",
  "엄마한테 3만원",
  "5만원 부쳐줘",
  "홍길동에게 5만원, 김철수에게 3만원, 이영희한테 1만원 보내줘",
  "Send 50,000 won to John",
  "I want to transfer money",
  "김철수에게 만원 보내고 싶어요",
  "이체해줘",
  "계좌이체 하고 싶어",
  "돈보내줘",
  "그만큼 홍길동에게 5만원 보내줘",
])("%j wants a transfer", (text) => {
  expect(offlineIntent(text).scenario).toBe("TRANSFER");
  expect(offlineIntent(text.normalize("NFD")).scenario).toBe("TRANSFER");
});

test.each([
  "안녕",
  "고마워",
  "오늘 날씨 어때?",
  "방금 이체 됐어?",
  "이체 수수료 얼마야?",
  "이체 한도가 어떻게 돼?",
  "대이체도",
  "메일 보내는 법 알려줘",
  "뭐 할 수 있어?",
  "hello",
  "how does a transfer work?",
  "취소",
  "네",
  "",
])("%j wants none", (text) => {
  expect(offlineIntent(text).scenario).toBe("GENERAL");
});

const raw = (
  text: string,
  askedSlot?: SlotName,
  stage: "INIT" | "FILLING" | "READY" = "FILLING",
) => {
  const { items, clear } = offlineSlots(text, { stage, askedSlot });
  const sets = items.flatMap(({ changes }) => changes.map(({ slot, value }) => [slot, value]));
  return Object.fromEntries([...clear.map((slot) => [slot, null]), ...sets]);
};

/** Each person with what was read of it. */
const people = (text: string): object[] =>
  offlineSlots(text, { stage: "INIT" }).items.map(({ changes }) =>
    Object.fromEntries(changes.map(({ slot, value }) => [slot, value])),
  );

test.each([
  ["뒤에 거 만원 더", [["correct", "아빠", 40_000]]],
  [
    "둘 다 4만원으로",
    [
      ["correct", "엄마", 40_000],
      ["correct", "아빠", 40_000],
    ],
  ],
  ["두 번째는 취소해줘", [["remove", "아빠"]]],
  ["아빠 말고 동생한테", [["correct", "아빠", "동생"]]],
  ["Dad 33k", []],
] as const)("of two transfers %j is about: %j", (text, items) => {
  const slots = { target: "엄마", amount: 50_000 };
  const waiting = [{ target: "아빠", amount: 30_000 }];

  const read = offlineSlots(text, { stage: "READY", slots, waiting });

  expect(
    read.items
      .filter(({ entry }) => entry !== undefined)
      .map(({ move, entry, changes }) => [
        move,
        entry,
        ...changes.map(({ value }) => amountOr(value)),
      ]),
  ).toEqual(items);
});

/** The whole won of an amount in words; other words as they are. */
function amountOr(words: unknown): unknown {
  const read = parseAmount(String(words));
  return read.ok ? read.won : words;
}

test.each([
  ["홍길동에게 5만원 보내줘", { target: "홍길동", amount: "5만원" }],
  ["홍길동님에게 50,000원 보내줘", { target: "홍길동", amount: "50,000원" }],
  [
    "내일 홍길동에게 3만 5천원 보내줘",
    { target: "홍길동", amount: "3만 5천원", transfer_date: "내일" },
  ],
  [
    "다음 주 월요일에 김철수한테 오만원 이체해줘",
    { target: "김철수", amount: "오만원", transfer_date: "다음 주 월요일" },
  ],
  [
    "3월 5일에 이영희에게 1억 보내줘",
    { target: "이영희", amount: "1억", transfer_date: "3월 5일" },
  ],
  [
    "홍길동에게 5만원 보내고 메모는 생일 축하",
    { target: "홍길동", amount: "5만원", memo: "생일 축하" },
  ],
  [
    "홍길동에게 5만원 보내줘 메모에 '취소환불'이라고 써줘",
    { target: "홍길동", amount: "5만원", memo: "취소환불" },
  ],
  ["메모에 취소환불이라고 써줘", { memo: "취소환불" }],
  ["메모는 3만원 갚음", { memo: "3만원 갚음" }],
  ["메모 지워줘", { memo: null }],
  ["날짜 빼줘", { transfer_date: null }],
  ["금액을 3만원으로 바꿔줘", { amount: "3만원" }],
  ["금액은 0원으로 해줘", { amount: "0원" }],
  ["3만원으로 바꿔줘", { amount: "3만원" }],
  ["받는 사람 김철수로 변경", { target: "김철수" }],
  ["받는 사람을 김철수로 바꿔줘", { target: "김철수" }],
  ["날짜를 내일로 바꿔줘", { transfer_date: "내일" }],
  ["별칭은 월세", { alias: "월세" }],
  ["홍길동에게 오천 원 보내줘", { target: "홍길동", amount: "오천 원" }],
  ["홍길동에게 50000 보내줘", { target: "홍길동", amount: "50000" }],
  ["110-234-567890에게 50,000 보내줘", { target: "110-234-567890", amount: "50,000" }],
  ["-5만원 보내줘", { amount: "-5만원" }],
  ["어제 보내줘", { transfer_date: "어제" }],
  ["홍길동한테 만원만 보내줘", { target: "홍길동", amount: "만원" }],
  [
    "Send 50,000 won to John tomorrow",
    { target: "John", amount: "50,000 won", transfer_date: "tomorrow" },
  ],
  [
    "send 50,000 won to John Smith next monday, memo: rent",
    { target: "John Smith", amount: "50,000 won", transfer_date: "next monday", memo: "rent" },
  ],
  ["이체하고 싶어", {}],
  ["안녕", {}],
  ["오늘 날씨 어때?", {}],
  ["네", {}],
] as const)("reads %j as %j", (text, expected) => {
  expect(raw(text)).toEqual(expected);
  expect(raw(text, undefined, "READY")).toEqual(expected);
});

test.each([
  ["홍길동", "target", "홍길동"],
  ["홍길동이요", "target", "홍길동"],
  ["홍길동님에게요", "target", "홍길동"],
  ["엄마한테", "target", "엄마"],
  ["5만", "amount", "5만"],
  ["50000", "amount", "50000"],
  ["5만원이요", "amount", "5만원"],
  ["많이", "amount", "많이"],
  ["내일", "transfer_date", "내일"],
] as const)("takes the bare answer %j for the %s that was asked", (text, slot, value) => {
  expect(raw(text, slot)).toEqual({ [slot]: value });
});

test("takes a bare name in front of an amount for a recipient, at the beginning only", () => {
  expect(raw("홍길동 5만원 보내줘", undefined, "INIT")).toEqual({
    target: "홍길동",
    amount: "5만원",
  });
  expect(raw("내일 홍길동 5만원 보내줘", undefined, "INIT")).toEqual({
    target: "홍길동",
    amount: "5만원",
    transfer_date: "내일",
  });
  expect(raw("그냥 5만원 보내줘", undefined, "INIT")).toEqual({ amount: "5만원" });
  expect(raw("대충 5만원", undefined, "READY")).toEqual({ amount: "대충 5만원" });
  expect(raw("누구에게 보낼 수 있어?")).toEqual({});
});

test.each(["매달 25일에 엄마한테 5만원 자동이체 해줘", "매주 금욜마다 동생한테 만원"])(
  "makes no single transfer of %j",
  (text) => {
    expect(offlineSlots(text, { stage: "INIT" })).toMatchObject({ kind: "other", items: [] });
  },
);

test("asks for whom an amount is meant that may be for each or for all", () => {
  expect(people("엄마랑 아빠한테 5만원")).toEqual([{ target: "엄마" }, { target: "아빠" }]);
});

test("takes no question for an answer", () => {
  expect(raw("누구였지?", "target")).toEqual({});
});

describe("several transfers in one message", () => {
  test.each([
    [
      "홍길동에게 5만원, 김철수에게 3만원, 이영희한테 1만원 보내줘",
      [
        { target: "홍길동", amount: "5만원" },
        { target: "김철수", amount: "3만원" },
        { target: "이영희", amount: "1만원" },
      ],
    ],
    [
      "홍길동에게 50,000원, 김철수에게 30,000원 보내줘",
      [
        { target: "홍길동", amount: "50,000원" },
        { target: "김철수", amount: "30,000원" },
      ],
    ],
    [
      "홍길동에게 5만원하고 김철수에게 3만원 보내줘",
      [
        { target: "홍길동", amount: "5만원" },
        { target: "김철수", amount: "3만원" },
      ],
    ],
    [
      "내일 홍길동에게 5만원, 김철수에게 3만원 보내줘",
      [
        { target: "홍길동", amount: "5만원", transfer_date: "내일" },
        { target: "김철수", amount: "3만원", transfer_date: "내일" },
      ],
    ],
    [
      "홍길동에게 5만원 보내고 김철수에게 3만원 보내줘",
      [
        { target: "홍길동", amount: "5만원" },
        { target: "김철수", amount: "3만원" },
      ],
    ],
    [
      "홍길동에게 5만원 김철수에게 3만원 보내줘",
      [
        { target: "홍길동", amount: "5만원" },
        { target: "김철수", amount: "3만원" },
      ],
    ],
    [
      "홍길동 5만원, 김철수 3만원 보내줘",
      [
        { target: "홍길동", amount: "5만원" },
        { target: "김철수", amount: "3만원" },
      ],
    ],
    [
      "홍길동에게 5만원, 김철수에게도 보내줘",
      [{ target: "홍길동", amount: "5만원" }, { target: "김철수" }],
    ],
    [
      "send 50,000 won to John and 30,000 won to Mary",
      [
        { target: "John", amount: "50,000 won" },
        { target: "Mary", amount: "30,000 won" },
      ],
    ],
  ])("%j", (text, tasks) => {
    expect(people(text)).toEqual(tasks);
    expect(people(text.normalize("NFD"))).toEqual(tasks);
  });

  test.each([
    "엄마, 아빠, 동생한테 각각 3만원 보내줘",
    "엄마랑 아빠랑 동생한테 3만원씩 보내줘",
    "엄마한테, 아빠한테, 동생한테 3만원씩",
  ])("%j names three people", (text) => {
    expect(people(text)).toEqual(
      ["엄마", "아빠", "동생"].map((target) => ({ target, amount: "30000원" })),
    );
  });

  test.each(["배고프다", "졸려", "잠깐만", "글쎄 잘 모르겠네", "I'm hungry"])(
    "%j is no recipient",
    (text) => {
      expect(raw(text, "target")).toEqual({});
    },
  );
});

test("is not kept busy by an essay", () => {
  const essay = "메모 ".repeat(30_000);

  expect(offlineIntent(essay)).toEqual({ scenario: "GENERAL", because: "too-long" });
  expect(offlineSlots(essay, { stage: "INIT" })).toMatchObject({ kind: "other", items: [] });
});

test("never confirms, and leaves a plain cancel to the code", () => {
  for (const text of ["네", "확인", "보내줘", "취소", "그만", "네 보내주세요"]) {
    for (const stage of ["INIT", "FILLING", "READY"] as const) {
      expect(offlineSlots(text, { stage })).toMatchObject({ kind: "other", items: [], clear: [] });
    }
  }
});

describe("the reply", () => {
  const base = { locale: "ko", text: "", slotErrors: {} } as const;

  test("makes small talk outside", () => {
    const { greeting, thanks, help, fallback, unclear } = MESSAGES.ko.smallTalk;
    expect(offlineReply({ ...base, stage: "INIT", text: "안녕하세요" })).toBe(greeting);
    expect(offlineReply({ ...base, stage: "INIT", text: "고마워요" })).toBe(thanks);
    expect(offlineReply({ ...base, stage: "INIT", text: "어떻게 써?" })).toBe(help);
    expect(offlineReply({ ...base, stage: "INIT", text: "오늘 덥네" })).toBe(fallback);
    expect(offlineReply({ ...base, stage: "READY", text: "ㄱㄱ" })).toBe(unclear);
    expect(offlineReply({ ...base, locale: "en", stage: "INIT", text: "hi!" })).toBe(
      MESSAGES.en.smallTalk.greeting,
    );
  });
});

test.each([
  ["엄마한테 5만원, 아니 6만원 보내줘", ""],
  ["엄마한테 5만원 보내줘 빛의 속도로", "빛의 속도로"],
])("what is not understood of %j is %j, and no amount that was taken back", (text, unread) => {
  expect(offlineSlots(text, { stage: "INIT" }).note).toBe(unread);
});
