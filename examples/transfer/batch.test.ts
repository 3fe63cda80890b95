import { expect, test } from "vitest";
import {
  cancelEntry,
  confirmEntry,
  continueBatch,
  countFillTurn,
  countResults,
  nextEntry,
  recordResult,
  settleEntry,
  startFlow,
  stopBatch,
  type FlowStep,
} from "../../packages/dure/src/slots/batch.ts";
import { withStageOfSlots } from "../../packages/dure/src/slots/entries.ts";
import type { FormState } from "../../packages/dure/src/slots/form-state.ts";
import { applyMoves } from "../../packages/dure/src/slots/moves.ts";
import { SLOTS } from "./slots.ts";

const TODAY = { specs: SLOTS, today: "2026-11-18" };
const YES = { ...TODAY, question: "q1" };

function ok(step: FlowStep): FormState {
  if (!step.ok) throw new Error(`${step.code}: ${step.because}`);
  return step.state;
}

/** The form with transfers of these people and amounts. */
function ordered(
  state: FormState,
  ...orders: readonly (readonly [target: string, amount: string, day?: string])[]
): FormState {
  const moves = orders.map(([target, amount, day]) => ({
    move: "set" as const,
    entry: "",
    values: { target: { raw: target }, amount: { raw: amount }, transfer_date: { raw: day } },
    clear: [],
  }));
  const moved = applyMoves(state, moves, { ...TODAY, manner: undefined });
  return withStageOfSlots(moved.state, TODAY);
}

function threeTransfers(): FormState {
  return ordered(
    startFlow("flow_1"),
    ["홍길동", "5만원"],
    ["김철수", "3만원"],
    ["이영희", "1만원"],
  );
}

test("three at once, one fails, one is cancelled: the counts are true", () => {
  let state = threeTransfers();
  state = ok(settleEntry(ok(confirmEntry(state, YES)), { code: "LIMIT_EXCEEDED" }));
  state = ok(nextEntry(state, TODAY));
  expect(state).toMatchObject({
    stage: "READY",
    index: 2,
    slots: { target: "김철수" },
    meta: { awaiting_continue: true },
  });
  expect(confirmEntry(state, YES)).toMatchObject({ ok: false, code: "CONTINUE_FIRST" });

  state = ok(cancelEntry(continueBatch(state)));
  state = ok(nextEntry(state, TODAY));
  expect(state).toMatchObject({
    index: 3,
    slots: { target: "이영희" },
    meta: { awaiting_continue: false },
  });
  state = ok(settleEntry(ok(confirmEntry(state, YES)), { details: { transaction_id: "tx_1" } }));

  expect(state.results.map(({ index, outcome }) => [index, outcome])).toEqual([
    [1, "failed"],
    [2, "cancelled"],
    [3, "done"],
  ]);
  expect(countResults(state.results)).toEqual({ done: 1, cancelled: 1, failed: 1, unsupported: 0 });
  expect(nextEntry(state, TODAY)).toMatchObject({ ok: false, code: "QUEUE_EMPTY" });
});

test("stopping after a failure counts everything that is left as cancelled", () => {
  const failed = ok(
    settleEntry(ok(confirmEntry(threeTransfers(), YES)), { code: "BANK_UNREACHABLE" }),
  );

  const state = ok(stopBatch(ok(nextEntry(failed, TODAY))));

  expect(state).toMatchObject({
    stage: "CANCELLED",
    tasks: [],
    meta: { awaiting_continue: false },
  });
  expect(state.results.map(({ index, outcome }) => [index, outcome])).toEqual([
    [1, "failed"],
    [2, "cancelled"],
    [3, "cancelled"],
  ]);
});

test("a result is noted once", () => {
  const cancelled = ok(cancelEntry(threeTransfers()));

  expect(recordResult(recordResult(cancelled)).results).toHaveLength(1);
});

test("a date that passed at midnight takes the confirmation back to FILLING", () => {
  const state = ordered(startFlow("flow_1"), ["홍길동", "1원", "오늘"]);

  const step = confirmEntry(state, { ...YES, today: "2026-11-19" });

  expect(step).toMatchObject({
    ok: false,
    code: "SLOTS_INVALID",
    state: { stage: "FILLING", meta: { slot_errors: { transfer_date: "DATE_PAST" } } },
  });
  expect(step.state.slots.transfer_date).toBeUndefined();
});

test("a queued date is judged again when its turn comes", () => {
  const state = ordered(startFlow("flow_1"), ["홍길동", "1원"], ["김철수", "1원", "오늘"]);

  const next = ok(nextEntry(ok(cancelEntry(state)), { ...TODAY, today: "2026-11-19" }));

  expect(next).toMatchObject({
    stage: "FILLING",
    meta: { slot_errors: { transfer_date: "DATE_PAST" } },
  });
});

test("the sixth turn in FILLING that brings nothing new is one too many", () => {
  let state = ordered(startFlow("flow_1"));
  for (let turn = 1; turn <= 5; turn++) {
    state = countFillTurn(state, false);
    expect(state).toMatchObject({ stage: "FILLING", meta: { fill_turns: turn } });
  }

  expect(countFillTurn(state, false).stage).toBe("UNSUPPORTED");
  expect(countFillTurn(state, true)).toMatchObject({ stage: "FILLING", meta: { fill_turns: 0 } });
});

test("nothing can be confirmed, cancelled or settled where the stages do not allow it", () => {
  const init = startFlow("flow_1");

  for (const step of [
    confirmEntry(init, YES),
    cancelEntry(init),
    stopBatch(init),
    nextEntry(init, TODAY),
    settleEntry(threeTransfers(), { details: { transaction_id: "tx" } }),
  ]) {
    expect(step).toMatchObject({ ok: false, code: "STAGE_NOT_ALLOWED" });
  }
});
