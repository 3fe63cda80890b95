import { describe, expect, test } from "vitest";
import {
  applyDelta,
  MAX_TASKS,
  missingSlots,
  validateSlots,
  type DeltaContext,
} from "../../packages/dure/src/slots/delta.ts";
import {
  emptyForm,
  formStateOf,
  type FormState,
} from "../../packages/dure/src/slots/form-state.ts";
import { STAGES, type Stage } from "../../packages/dure/src/slots/stages.ts";
import { SLOTS } from "./slots.ts";

const { schema } = formStateOf(SLOTS, { ko: {}, en: {} });
const AGENT: DeltaContext = { specs: SLOTS, today: "2026-11-18", from: "agent" };
const CODE: DeltaContext = { ...AGENT, from: "code" };
const FULL: FormState["slots"] = { target: "홍길동", amount: 50_000 };

function at(stage: Stage, slots: FormState["slots"] = {}): FormState {
  return { ...emptyForm(), stage, slots };
}

function set(slot: string, value: unknown) {
  return { op: "set", slot, value };
}

describe("a delta", () => {
  test("with everything in it goes from INIT to READY", () => {
    const { state } = applyDelta(
      at("INIT"),
      {
        operations: [
          set("target", " 홍길동 "),
          set("amount", "5만원"),
          set("transfer_date", "내일"),
          set("memo", "생일"),
          set("alias", "선물"),
        ],
      },
      AGENT,
    );

    expect(state.stage).toBe("READY");
    expect(state.slots).toEqual({
      target: "홍길동",
      amount: 50_000,
      transfer_date: "2026-11-19",
      memo: "생일",
      alias: "선물",
    });
    expect(state.meta.slot_errors).toEqual({});
  });

  test("with a part of it goes to FILLING, and an empty one too", () => {
    expect(applyDelta(at("INIT"), { operations: [set("amount", 50_000)] }, AGENT).state.stage).toBe(
      "FILLING",
    );
    expect(applyDelta(at("INIT"), { operations: [] }, AGENT).state.stage).toBe("FILLING");
  });

  test.each([
    ["target", "", "TARGET_UNREADABLE"],
    ["target", 5, "TARGET_UNREADABLE"],
    ["target", "!!!", "TARGET_UNREADABLE"],
    ["target", "가".repeat(61), "TARGET_TOO_LONG"],
    ["target", null, "TARGET_UNREADABLE"],
    ["amount", 0, "AMOUNT_NOT_POSITIVE"],
    ["amount", -5, "AMOUNT_NOT_POSITIVE"],
    ["amount", 1.5, "AMOUNT_FRACTION"],
    ["amount", "0원", "AMOUNT_NOT_POSITIVE"],
    ["amount", "-3만원", "AMOUNT_NOT_POSITIVE"],
    ["amount", "많이", "AMOUNT_UNREADABLE"],
    ["amount", "", "AMOUNT_UNREADABLE"],
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

      const { state } = applyDelta(before, { operations: [set(slot, value)] }, AGENT);

      expect(state.meta.slot_errors).toEqual({ [slot]: error });
      expect(state.slots[slot]).toBeUndefined();
      expect(state.stage).toBe("FILLING");
    },
  );

  test("repairs an error by a good value or by clearing the slot", () => {
    const wrong = applyDelta(
      at("READY", FULL),
      { operations: [set("transfer_date", "어제")] },
      AGENT,
    ).state;

    expect(
      applyDelta(wrong, { operations: [set("transfer_date", "오늘")] }, AGENT).state,
    ).toMatchObject({
      stage: "READY",
      slots: { transfer_date: "2026-11-18" },
      meta: { slot_errors: {} },
    });
    expect(
      applyDelta(wrong, { operations: [{ op: "clear", slot: "transfer_date" }] }, AGENT).state,
    ).toMatchObject({ stage: "READY", slots: FULL, meta: { slot_errors: {} } });
    expect(applyDelta(wrong, { operations: [set("memo", "x")] }, AGENT).state).toMatchObject({
      stage: "FILLING",
      meta: { slot_errors: { transfer_date: "DATE_PAST" } },
    });
  });

  test("that clears a required slot takes READY back to FILLING", () => {
    const { state } = applyDelta(
      at("READY", FULL),
      { operations: [{ op: "clear", slot: "amount" }] },
      AGENT,
    );

    expect(state).toMatchObject({ stage: "FILLING", slots: { target: "홍길동" } });
    expect(missingSlots(state.slots, SLOTS)).toEqual(["amount"]);
  });

  test.each([
    undefined,
    null,
    "잘 모르겠어요",
    5,
    [],
    {},
    { operations: "set" },
    { operations: Array.from({ length: 51 }, () => ({ op: "confirm" })) },
    { operations: [], tasks: "two" },
  ])("that cannot be read (%j) changes nothing but _unclear", (delta) => {
    const { state } = applyDelta(at("READY", FULL), delta, AGENT);

    expect(state).toEqual({
      ...at("READY", FULL),
      meta: { ...at("READY").meta, slot_errors: { _unclear: "UNREADABLE" } },
    });
    expect(applyDelta(state, { operations: [] }, AGENT).state.meta.slot_errors).toEqual({});
  });

  test("with one bad operation among good ones keeps the good ones", () => {
    const { state, ignored } = applyDelta(
      at("INIT"),
      {
        operations: [
          { op: "explode" },
          set("target", "홍길동"),
          set("iban", "x"),
          set("__proto__", "x"),
          { op: "set" },
        ],
      },
      AGENT,
    );

    expect(state.slots).toEqual({ target: "홍길동" });
    expect(state.meta.slot_errors["_unclear"]).toBeDefined();
    expect(ignored.map(({ because }) => because)).toEqual([
      "unreadable",
      "unknown-slot",
      "unknown-slot",
      "unreadable",
    ]);
  });
});

/** What each operation may do in each stage; what is not named here is ignored. */
const ACCEPTED: Readonly<Record<string, readonly Stage[]>> = {
  "agent set": ["INIT", "FILLING", "READY"],
  "agent clear": ["INIT", "FILLING", "READY"],
  "agent confirm": [],
  "agent cancel_flow": ["FILLING", "READY"],
  "agent continue_flow": [],
  "code set": ["INIT", "FILLING", "READY"],
  "code clear": ["INIT", "FILLING", "READY"],
  "code confirm": ["READY"],
  "code cancel_flow": ["FILLING", "READY"],
  "code continue_flow": [],
};
const CASES = Object.keys(ACCEPTED).flatMap((who) =>
  STAGES.map((stage): [string, Stage] => [who, stage]),
);

test.each(CASES)("%s in %s", (who, stage) => {
  const [from, op] = who.split(" ") as ["agent" | "code", string];
  const before = at(stage, FULL);

  const outcome = applyDelta(
    before,
    { operations: [{ op, slot: "memo", value: "x" }] },
    { ...AGENT, from },
  );

  const accepted = ACCEPTED[who]!.includes(stage);
  expect(outcome.ignored).toHaveLength(accepted ? 0 : 1);
  expect([...outcome.requests]).toEqual(accepted && op !== "set" && op !== "clear" ? [op] : []);
  if (!["INIT", "FILLING", "READY"].includes(stage)) expect(outcome.state).toEqual(before);
  if (accepted && op === "set") expect(outcome.state.slots.memo).toBe("x");
});

test("continue_flow counts only after the person was asked", () => {
  const ready = at("READY", FULL);
  const asked = { ...ready, meta: { ...ready.meta, awaiting_continue: true } };

  expect([...applyDelta(asked, { operations: [{ op: "continue_flow" }] }, CODE).requests]).toEqual([
    "continue_flow",
  ]);
});

describe("several transfers in one message", () => {
  const tasks = [
    { target: "홍길동", amount: "5만원" },
    { target: "김철수", amount: "-3만원" },
    { target: "이영희", amount: "1만원", transfer_date: "내일" },
  ];

  test("make the first the current one and queue the others, each validated", () => {
    const { state } = applyDelta(at("INIT"), { operations: [], tasks }, AGENT);

    expect(state).toMatchObject({ stage: "READY", slots: FULL, index: 1, total: 3 });
    expect(state.tasks).toEqual([
      { slots: { target: "김철수" }, slot_errors: { amount: "AMOUNT_NOT_POSITIVE" } },
      { slots: { target: "이영희", amount: 10_000, transfer_date: "2026-11-19" }, slot_errors: {} },
    ]);
  });

  test("in READY wait behind the current one, which is not added once more", () => {
    const { state, added } = applyDelta(at("READY", FULL), { operations: [], tasks }, AGENT);

    expect(state).toMatchObject({ stage: "READY", slots: FULL, index: 1, total: 3 });
    expect(state.tasks).toEqual(added);
    expect(added.map(({ slots }) => slots["target"])).toEqual(["김철수", "이영희"]);
  });

  test("for the same person are two", () => {
    const twice = [tasks[0], { target: "홍길동", amount: "2만원" }];
    const { state } = applyDelta(at("INIT"), { operations: [], tasks: twice }, AGENT);

    expect(state).toMatchObject({ slots: FULL, total: 2, tasks: [{ slots: { amount: 20_000 } }] });
  });

  test.each([
    ["with words of adding", { manner: "adds" as const }, [set("target", "아빠")]],
    ["as a whole order", {}, [set("target", "아빠"), set("amount", "2만원")]],
    ["by a name alone", {}, [set("target", "아빠")]],
  ])("%s in READY add a person and replace no one", (_how, more, operations) => {
    const { state } = applyDelta(at("READY", FULL), { operations }, { ...AGENT, ...more });

    expect(state).toMatchObject({ slots: FULL, total: 2, tasks: [{ slots: { target: "아빠" } }] });
  });

  test.each([
    ["with words of changing", { manner: "changes" as const }, [set("amount", "2만원")]],
    ["on the page", { from: "code" as const }, [set("amount", "2만원")]],
  ])("the person is another one %s", (_how, more, operations) => {
    const delta = { operations: [set("target", "아빠"), ...operations] };
    const { state } = applyDelta(at("READY", FULL), delta, { ...AGENT, ...more });

    expect(state).toMatchObject({ slots: { target: "아빠" }, total: 1, tasks: [] });
  });

  test("are bounded", () => {
    const { state } = applyDelta(
      at("INIT"),
      { operations: [], tasks: Array.from({ length: MAX_TASKS + 1 }, () => tasks[0]) },
      AGENT,
    );

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
  const { state } = applyDelta(
    at("INIT"),
    { operations: [set("iban", 1), set("amount", "0원")] },
    AGENT,
  );

  expect(schema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
  expect(state.meta.slot_errors).toEqual({
    _unclear: "UNKNOWN_SLOT",
    amount: "AMOUNT_NOT_POSITIVE",
  });
  expect(schema.safeParse({ ...state, surprise: 1 }).success).toBe(false);
});
