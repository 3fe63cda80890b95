import { expect, test } from "vitest";
import { builtInPrompt, promptLanguage, promptMoment } from "../models/prompt-files.ts";
import { estimateTokens } from "../models/prices.ts";
import {
  MAX_EXAMPLES,
  type MessageKind,
  slotPrompt,
  type SlotReading,
  slotReadingSchema,
} from "./prompts.ts";

const AT = Date.UTC(2026, 2, 5, 5, 20);

const facts = {
  language: "ko",
  today: promptMoment(AT, "Asia/Seoul"),
  zone: "Asia/Seoul",
  slots: [
    { name: "target", description: "받는 분. 이름, 별명, 계좌번호", required: true },
    { name: "amount", description: "금액. 5만원, 3만 5천원", required: true },
    { name: "memo", description: "받는 분 통장에 남길 말" },
  ],
  known: { target: "홍길동" },
  lastQuestion: "얼마를 보낼까요?",
  examples: [
    {
      said: "홍길동에게 5만원",
      reading: {
        kind: "details",
        items: [
          {
            changes: [
              { slot: "target", value: "홍길동", quote: "홍길동에게" },
              { slot: "amount", value: "5만원", quote: "5만원" },
            ],
          },
        ],
        clear: [],
        note: "",
      },
    },
  ],
} as const;

test("tells the day, the zone, the slots, what is known and what was asked last", () => {
  const text = slotPrompt(facts, builtInPrompt("slots", "ko"));

  expect(text).toContain("오늘: 2026-03-05 (Thu) 14:20 (Asia/Seoul)");
  expect(text).toContain("- amount (필수): 금액. 5만원, 3만 5천원");
  expect(text).toContain("- memo: 받는 분 통장에 남길 말");
  expect(text).toContain('지금까지 아는 것: {"target":"홍길동"}');
  expect(text).toContain("마지막 질문: 얼마를 보낼까요?");
  expect(text).toContain("말: 홍길동에게 5만원\n답: {");
});

test.each(["ko", "en"] as const)("speaks one language alone: %s", (language) => {
  const plain = { ...facts, language, slots: [], known: {}, lastQuestion: undefined, examples: [] };
  const slots = slotPrompt(plain, builtInPrompt("slots", language));

  expect(/\p{Script=Hangul}/u.test(slots)).toBe(language === "ko");
});

test("a value with braces opens no place of its own", () => {
  const text = slotPrompt(
    { ...facts, lastQuestion: "{{known}} {{nothing}}" },
    builtInPrompt("slots", "ko"),
  );

  expect(text).toContain("마지막 질문: {{known}} {{nothing}}");
});

test("a user's text with an unknown place is refused by name", () => {
  expect(() => slotPrompt(facts, "{{slotz}}")).toThrow(/\{\{slotz\}\}/);
});

test("takes no more examples than its bound", () => {
  const many = Array.from({ length: 9 }, () => facts.examples[0]);
  const text = slotPrompt({ ...facts, examples: many }, builtInPrompt("slots", "ko"));

  expect(text.match(/^말: /gmu)).toHaveLength(MAX_EXAMPLES);
});

test("a slot prompt with three slots and an example stays below 700 tokens", () => {
  const korean = slotPrompt(facts, builtInPrompt("slots", "ko"));
  const english = slotPrompt({ ...facts, language: "en" }, builtInPrompt("slots", "en"));

  expect(estimateTokens(korean)).toBeLessThan(700);
  expect(estimateTokens(english)).toBeLessThan(500);
});

test("a reading without its lists and its note is read with empty ones", () => {
  const kind: MessageKind = "other";
  const reading: SlotReading = slotReadingSchema(["target", "amount"]).parse({ kind });

  expect(reading).toEqual({ kind: "other", items: [], clear: [], note: "" });
});

test("a reading without a move fills in, and one of another name is refused", () => {
  const schema = slotReadingSchema(["target"]);
  const item = { changes: [{ slot: "target", value: "홍길동", quote: "홍길동" }] };

  expect(schema.parse({ kind: "details", items: [item] }).items[0]).toEqual({
    move: "set",
    entry: "",
    ...item,
  });
  const other = { kind: "details", items: [{ ...item, move: "pay" }] };
  expect(schema.safeParse(other).success).toBe(false);
});

test("a locale is English if it says so, else Korean", () => {
  expect(["en", "en-US", "EN_gb", "ko", "ko-KR", "fr"].map(promptLanguage)).toEqual([
    "en",
    "en",
    "en",
    "ko",
    "ko",
    "ko",
  ]);
});
