import { describe, expect, test } from "vitest";
import {
  MAX_ENTRIES,
  missingSlots,
  validateSlots,
  withEdits,
} from "../../packages/dure/src/slots/entries.ts";
import {
  emptyForm,
  formStateOf,
  type FormState,
} from "../../packages/dure/src/slots/form-state.ts";
import { applyMoves, type HeldMove, type Moved } from "../../packages/dure/src/slots/moves.ts";
import { STAGES, type Stage } from "../../packages/dure/src/slots/stages.ts";
import { SLOTS } from "./slots.ts";

const { schema } = formStateOf(SLOTS, { ko: {}, en: {} });
const CONTEXT = { specs: SLOTS, today: "2026-11-18" };
const FULL: FormState["slots"] = { target: "홍길동", amount: 50_000 };

function at(stage: Stage, slots: FormState["slots"] = {}): FormState {
  return { ...emptyForm(), stage, slots };
}

describe("what a page sends", () => {
  test("with everything in it goes from INIT to READY", () => {
    const edits = {
      ...{ target: " 홍길동 ", amount: "5만원", transfer_date: "내일" },
      ...{ memo: "생일", alias: "선물" },
    };

    const { stage, slots, meta } = withEdits(at("INIT"), edits, CONTEXT);

    expect(stage).toBe("READY");
    expect(slots).toEqual({ ...FULL, transfer_date: "2026-11-19", memo: "생일", alias: "선물" });
    expect(meta.slot_errors).toEqual({});
  });

  test("with a part of it goes to FILLING, and an empty one too", () => {
    expect(withEdits(at("INIT"), { amount: 50_000 }, CONTEXT).stage).toBe("FILLING");
    expect(withEdits(at("INIT"), {}, CONTEXT).stage).toBe("FILLING");
  });

  test.each([
    ["target", 5, "TARGET_UNREADABLE"],
    ["target", "!!!", "TARGET_UNREADABLE"],
    ["target", "가".repeat(61), "TARGET_TOO_LONG"],
    ["amount", 0, "AMOUNT_NOT_POSITIVE"],
    ["amount", -5, "AMOUNT_NOT_POSITIVE"],
    ["amount", 1.5, "AMOUNT_FRACTION"],
    ["amount", "0원", "AMOUNT_NOT_POSITIVE"],
    ["amount", "-3만원", "AMOUNT_NOT_POSITIVE"],
    ["amount", "많이", "AMOUNT_UNREADABLE"],
    ["amount", Number.NaN, "AMOUNT_UNREADABLE"],
    ["amount", 2 ** 60, "AMOUNT_TOO_LARGE"],
    ["amount", "99999조", "AMOUNT_TOO_LARGE"],
    ["amount", true, "AMOUNT_UNREADABLE"],
    ["amount", "0.5원", "AMOUNT_FRACTION"],
    ["memo", 5, "MEMO_UNREADABLE"],
    ["memo", "가".repeat(61), "MEMO_TOO_LONG"],
    ["alias", {}, "ALIAS_UNREADABLE"],
    ["alias", "가".repeat(61), "ALIAS_TOO_LONG"],
    ["transfer_date", "어제", "DATE_PAST"],
    ["transfer_date", "2월 30일", "DATE_NO_SUCH_DAY"],
    ["transfer_date", "언젠가", "DATE_UNREADABLE"],
    ["transfer_date", 20270305, "DATE_UNREADABLE"],
  ] as const)(
    "that sets %s to %j leaves %s, removes the former value and is not READY",
    (slot, value, error) => {
      const before = at("READY", { ...FULL, memo: "전", alias: "전", transfer_date: "2026-12-01" });

      const state = withEdits(before, { [slot]: value }, CONTEXT);

      expect(state.meta.slot_errors).toEqual({ [slot]: error });
      expect(state.slots[slot]).toBeUndefined();
      expect(state.stage).toBe("FILLING");
    },
  );

  test("repairs an error by a good value or by an empty one", () => {
    const wrong = withEdits(at("READY", FULL), { transfer_date: "어제" }, CONTEXT);

    expect(withEdits(wrong, { transfer_date: "오늘" }, CONTEXT)).toMatchObject({
      stage: "READY",
      slots: { transfer_date: "2026-11-18" },
      meta: { slot_errors: {} },
    });
    expect(withEdits(wrong, { transfer_date: null }, CONTEXT)).toMatchObject({
      stage: "READY",
      slots: FULL,
      meta: { slot_errors: {} },
    });
    expect(withEdits(wrong, { memo: "x" }, CONTEXT)).toMatchObject({
      stage: "FILLING",
      meta: { slot_errors: { transfer_date: "DATE_PAST" } },
    });
  });

  test("that empties a required slot takes READY back to FILLING", () => {
    const state = withEdits(at("READY", FULL), { amount: "" }, CONTEXT);

    expect(state).toMatchObject({ stage: "FILLING", slots: { target: "홍길동" } });
    expect(missingSlots(state.slots, SLOTS)).toEqual(["amount"]);
  });

  test("with names that no slot has keeps the others, and says so", () => {
    const sent = JSON.parse('{"target": "홍길동", "iban": "x", "__proto__": "x"}') as object;

    const state = withEdits(at("INIT"), sent as Record<string, unknown>, CONTEXT);

    expect(state.slots).toEqual({ target: "홍길동" });
    expect(state.meta.slot_errors).toEqual({ _unclear: "UNKNOWN_SLOT" });
  });

  test.each(STAGES)("changes a form in INIT, FILLING and READY alone: %s", (stage) => {
    const before = at(stage, FULL);
    const state = withEdits(before, { memo: "x" }, CONTEXT);

    if (["INIT", "FILLING", "READY"].includes(stage)) expect(state.slots["memo"]).toBe("x");
    else expect(state).toEqual(before);
  });

  test("puts another person in the place of the one that it shows", () => {
    const state = withEdits(at("READY", FULL), { target: "아빠", amount: "2만원" }, CONTEXT);

    expect(state).toMatchObject({ slots: { target: "아빠", amount: 20_000 }, total: 1, tasks: [] });
  });
});

type Raw = Readonly<Record<string, unknown>>;

function moved(state: FormState, ...orders: readonly Raw[]): Moved {
  const moves = orders.map((order): HeldMove => {
    const values = Object.entries(order).map(([slot, raw]) => [slot, { raw }] as const);
    return { move: "set", entry: "", values: Object.fromEntries(values), clear: [] };
  });
  return applyMoves(state, moves, { ...CONTEXT, manner: undefined });
}

describe("several transfers in one message", () => {
  const orders = [
    { target: "홍길동", amount: "5만원" },
    { target: "김철수", amount: "-3만원" },
    { target: "이영희", amount: "1만원", transfer_date: "내일" },
  ];

  test("make the first the current one and queue the others, each validated", () => {
    const { state } = moved(at("INIT"), ...orders);

    expect(state).toMatchObject({ stage: "READY", slots: FULL, index: 1, total: 3 });
    expect(state.tasks).toMatchObject([
      { slots: { target: "김철수" }, slot_errors: { amount: "AMOUNT_NOT_POSITIVE" } },
      { slots: { target: "이영희", amount: 10_000, transfer_date: "2026-11-19" }, slot_errors: {} },
    ]);
  });

  test("in READY wait behind the current one, which is not added once more", () => {
    const { state, added } = moved(at("READY", FULL), ...orders);

    expect(state).toMatchObject({ stage: "READY", slots: FULL, index: 1, total: 3 });
    expect(state.tasks).toEqual(added);
    expect(added.map(({ slots }) => slots["target"])).toEqual(["김철수", "이영희"]);
  });

  test("are bounded", () => {
    const people = Array.from({ length: MAX_ENTRIES + 1 }, (_, place) => `손님 ${place + 1}`);
    const { state } = moved(at("INIT"), ...people.map((target) => ({ target })));

    expect(state).toMatchObject({
      stage: "FILLING",
      tasks: [],
      total: 1,
      meta: { slot_errors: { _unclear: "TOO_MANY_TASKS" } },
    });
  });
});

test("slots are judged as of today: a date may have passed at midnight", () => {
  const slots = { ...FULL, transfer_date: "2026-11-18" };

  expect(validateSlots(slots, { specs: SLOTS, today: "2026-11-18" })).toEqual({});
  expect(validateSlots(slots, { specs: SLOTS, today: "2026-11-19" })).toEqual({
    transfer_date: "DATE_PAST",
  });
});

test("a state survives JSON and its schema, underscore fields included", () => {
  const state = withEdits(at("INIT"), { iban: 1, amount: "0원" }, CONTEXT);

  expect(schema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
  expect(state.meta.slot_errors).toEqual({
    _unclear: "UNKNOWN_SLOT",
    amount: "AMOUNT_NOT_POSITIVE",
  });
  expect(schema.safeParse({ ...state, surprise: 1 }).success).toBe(false);
});

test("a state of the release before is read, with nothing open and nothing derived", () => {
  const { derived: _derived, doubts: _doubts, ...meta } = emptyForm().meta;
  const stored = { ...at("READY", FULL), meta, tasks: [{ slots: FULL, slot_errors: {} }] };

  expect(schema.parse(stored).meta).toMatchObject({ derived: {}, doubts: {} });
});
