import { expect, test } from "vitest";
import { emptyForm } from "../form-state.ts";
import { hold } from "../hearing.ts";
import { applyMoves } from "../moves.ts";
import { slot } from "./slot.ts";

const SPECS = {
  day: slot.date(),
  at: slot.time({ from: "09:00", to: "18:00" }),
  people: slot.number({ unit: { ko: "명", en: "people" } }),
  breakfast: slot.boolean(),
  stay: slot.dateRange(),
  card: slot.choice({
    options: [
      { value: "debit", names: { ko: "체크카드", en: "debit card" } },
      { value: "credit", names: { ko: "신용카드", en: "credit card" } },
    ],
  }),
  phone: slot.phone(),
  address: slot.address(),
  born: slot.date({ past: "only", needsYear: true }),
};

type Change = readonly [slot: keyof typeof SPECS, value: string | number, quote: string];

/** What a form keeps of a message, when a model reads these changes in it. */
function kept(message: string, changes: readonly Change[]): unknown {
  const context = { specs: SPECS, today: "2026-11-18" };
  const read = changes.map(([name, value, quote]) => ({ slot: name, value, quote }));
  const { moves } = hold(
    { kind: "details", items: [{ changes: read }], clear: [], note: "" },
    {
      ...{ ...context, message, state: emptyForm(), contacts: [], doubted: {}, locale: "ko" },
      texts: {
        value: (_slot, value) => String(value),
        derived: (words, shown) => `${words}=${shown}`,
      },
    },
  );
  const { state } = applyMoves(emptyForm(), moves, { ...context, manner: undefined });
  return { ...state.slots, ...state.meta.slot_errors };
}

test.each<readonly [string, readonly Change[], object]>([
  [
    "내일 3시에 4명, 체크카드로 예약해줘",
    [
      ["day", "2026-11-19", "내일"],
      ["at", "15:00", "3시"],
      ["people", 4, "4명"],
      ["card", "debit", "체크카드"],
    ],
    { day: "2026-11-19", at: "15:00", people: 4, card: "debit" },
  ],
  [
    "내일 3시에 4명, 체크카드로",
    [
      ["day", "2026-11-19", "내일 3시"],
      ["people", 5, "4명"],
      ["card", "credit", "체크카드"],
    ],
    { day: "2026-11-19", people: "UNSURE", card: "UNSURE" },
  ],
  ["조식은 필요 없어요", [["breakfast", "false", "필요 없어요"]], { breakfast: false }],
  ["네", [["breakfast", "true", "네"]], { breakfast: true }],
  ["아니요", [["breakfast", "true", "아니요"]], { breakfast: "UNSURE" }],
  [
    "12월 3일부터 5일까지요",
    [["stay", "2026-12-03/2026-12-05", "12월 3일부터 5일까지"]],
    { stay: "2026-12-03/2026-12-05" },
  ],
  [
    "010-1234-5678이고 서울시 강남구 테헤란로 152예요",
    [
      ["phone", "01012345678", "010-1234-5678"],
      ["address", "서울시 강남구 테헤란로 152", "서울시 강남구 테헤란로 152"],
    ],
    { phone: "01012345678", address: "서울시 강남구 테헤란로 152" },
  ],
  ["생일은 90.5.3이요", [["born", "1990-05-03", "90.5.3"]], { born: "1990-05-03" }],
  ["오전 8시요", [["at", "08:00", "오전 8시"]], { at: "TIME_CLOSED" }],
  ["두 명이요", [["phone", "01012345678", ""]], {}],
])("a model's values of %j are held against the words", (message, changes, values) => {
  expect(kept(message, changes)).toEqual(values);
});
