import { expect, test } from "vitest";
import { formTexts, type OwnTexts } from "./form-texts.ts";
import { slot } from "./kinds/slot.ts";

interface Tea {
  readonly kind?: string;
}
const TEA: OwnTexts<Tea> = {
  slotNames: { kind: "kind" },
  questions: { kind: "Which tea?" },
  errors: { NO_TEA: "There is no such tea." },
  describe: ({ kind = "" }) => kind,
  confirmQuestion: ({ kind = "" }) => `Shall I brew ${kind}?`,
  receipt: ({ kind = "" }) => `Brewed: ${kind}.`,
};

test("a form's own words stand with their place among several, and alone without one", () => {
  const texts = formTexts("en", TEA);
  const second = { index: 2, total: 3 };

  expect(texts.askSlot("kind", {})).toBe("Which tea?");
  expect(texts.confirmQuestion({ kind: "mint" }, second)).toBe("(2/3) Shall I brew mint?");
  expect(texts.receipt({ kind: "mint" }, {}, second)).toBe("(2/3) Brewed: mint.");
  expect(texts.result({ index: 2, outcome: "failed", slots: { kind: "mint" } })).toBe(
    "2. mint: failed",
  );
});

test("an error has the form's words, else those of the message, else a plain refusal", () => {
  const texts = formTexts("en", TEA);

  expect(texts.slotError("NO_TEA")).toBe("There is no such tea.");
  expect(texts.slotError("UNREADABLE")).toBe("I did not understand that.");
  expect(texts.slotError("OTHER")).toBe("That cannot be taken.");
});

test("what a form says itself goes before the plain sentence, in both languages", () => {
  expect(formTexts("ko", TEA).cancelled).toBe("취소했어요. 처리된 것은 없어요.");
  expect(formTexts("ko", { ...TEA, cancelled: "차를 내리지 않았어요." }).cancelled).toBe(
    "차를 내리지 않았어요.",
  );
});

test("of two slots of one kind each says what is wrong in its own words, unless the form does", () => {
  const slots = { guests: slot.number({ max: 20 }), chairs: slot.number({ max: 4 }) };
  const own: OwnTexts<{ guests?: number; chairs?: number }> = {
    slots,
    slotNames: { guests: "guests", chairs: "chairs" },
    questions: { guests: "How many guests?", chairs: "How many chairs?" },
    describe: () => "a table",
    confirmQuestion: () => "Shall I book it?",
    receipt: () => "Booked.",
  };
  const errors = { NUMBER_RANGE: "That is too many." };
  const [texts, replaced] = [formTexts("en", own), formTexts("en", { ...own, errors })];

  expect(texts.slotError("NUMBER_RANGE", "guests")).toBe("It must be 20 or less.");
  expect(texts.slotError("NUMBER_RANGE", "chairs")).toBe("It must be 4 or less.");
  expect(replaced.slotError("NUMBER_RANGE", "chairs")).toBe("That is too many.");
});

test("its sentences have each value as people read it, and nothing for one that is not there", () => {
  const texts = formTexts<{ day?: string; at?: string }>("en", {
    slots: { day: slot.date(), at: slot.time() },
    slotNames: { day: "day", at: "time" },
    questions: { day: "Which day?", at: "What time?" },
    describe: (_slots, { day }) => `a table on ${day}`,
    confirmQuestion: (_slots, { day, at }) => `Shall I book ${day}, ${at || "any time"}?`,
    receipt: (_slots, { number }, { day }) => `Booked ${day}: ${String(number)}.`,
  });
  const slots = { day: "2026-12-04" };

  expect(texts.confirmQuestion(slots)).toBe("Shall I book December 4, 2026, any time?");
  expect(texts.confirmQuestion({ ...slots, at: "15:30" })).toContain("3:30 pm");
  expect(texts.receipt(slots, { number: 7 })).toBe("Booked December 4, 2026: 7.");
  expect(texts.result({ index: 1, outcome: "done", slots })).toBe(
    "1. a table on December 4, 2026: done",
  );
});

test("a status names the three newest, and says when nothing has ended", () => {
  const texts = formTexts("en", TEA);
  const done = ["a", "b", "c", "d"].map(
    (kind, place) => ({ index: place + 1, outcome: "done", slots: { kind } }) as const,
  );

  expect(texts.status(done)).toBe("a: done\nb: done\nc: done");
  expect(texts.status([])).toBe("Nothing has been done yet.");
});

test.for([
  ["ko", [], "말씀하신 내용이 확실하지 않아요. Which tea?"],
  ["ko", ["2026-11-24"], "kind는 2026-11-24가 맞나요?"],
  ["ko", ["박하", "보리"], "kind는 박하, 보리 중 어느 쪽인가요?"],
  ["en", [], "I am not sure what you meant. Which tea?"],
  ["en", [5], "Kind: is it 5?"],
  ["en", ["mint", "green"], "Kind: is it mint or green?"],
] as const)("what was read is named when it is asked again: %s %j", ([locale, options, asked]) => {
  expect(formTexts(locale, TEA).doubt("kind", options)).toBe(asked);
});

test("a form can say how people read a value", () => {
  const texts = formTexts("ko", { ...TEA, value: (_slot, value) => `${value}번 차` });

  expect(texts.doubt("kind", [5])).toBe("kind는 5번 차가 맞나요?");
});
