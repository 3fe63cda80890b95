import { expect, test } from "vitest";
import { z } from "zod";
import { conversationalAgent } from "../agent/agent.ts";
import { offlineModel } from "../../models/offline.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { snapshotOf } from "./done-record.ts";
import { defineState } from "./state.ts";

const slots = [
  { name: "to", label: "받는 사람", required: true, type: "text" },
  { name: "amount", label: "금액", required: true, type: "integer" },
  { name: "memo", label: "메모", required: false, type: "text" },
] as const;

test.each([
  [{ slots: {} }, ["to", "amount"]],
  [{ slots: { to: "엄마", amount: 0 } }, []],
  [{ slots: { to: "", amount: null } }, ["to", "amount"]],
  [{ to: "엄마" }, ["amount"]],
])("the required slots without a value of %j are %j", (state, missing) => {
  expect(snapshotOf(state, { scenario: "TRANSFER", slots })).toEqual({
    ...state,
    scenario: "TRANSFER",
    missing_required: missing,
  });
});

test("a state without slots and scenario is shown as it is, and its own members stay", () => {
  expect(snapshotOf({ count: 1 }, { scenario: "" })).toEqual({ count: 1 });
  expect(snapshotOf({ scenario: 3, missing_required: "x" }, { scenario: "A", slots })).toEqual({
    scenario: 3,
    missing_required: "x",
  });
});

test("DONE tells the scenario, and which required slots have no value", async () => {
  const service = defineService({
    name: "bank",
    agents: {
      intent: conversationalAgent({ name: "intent", schema: z.object({ scenario: z.string() }) }),
    },
    state: defineState({
      schema: z.object({ slots: z.record(z.string(), z.string()).default({}) }),
      initial: () => ({ slots: {} }),
      slots,
    }),
    flows: {
      TRANSFER: flow(async (turn) => {
        turn.state.update({ slots: { to: turn.message } });
        return turn.done({ message: "얼마를요?" });
      }),
    },
  });
  const model = offlineModel("m", () => '{"scenario":"TRANSFER"}');
  await using t = await startTestEngine(service, { offline: [model] });

  const { done } = await t.say("엄마");

  expect(done.stateSnapshot).toEqual({
    slots: { to: "엄마" },
    scenario: "TRANSFER",
    missing_required: ["amount"],
  });
  expect((await t.engine.session("s1")).state).toEqual({ slots: { to: "엄마" } });
});
