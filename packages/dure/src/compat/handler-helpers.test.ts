import { expect, test } from "vitest";
import { z } from "zod";
import { offlineModel } from "../models/offline.ts";
import { AgentResult, conversationalAgent, customAgent } from "../engine/agent/agent.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { startTestEngine } from "../engine/test-engine.ts";
import { resultDict, runAgent, streamAgentTurn } from "./handler-helpers.ts";

test.each([
  [AgentResult.success({ to: "엄마" }), { to: "엄마", _result_status: "success" }],
  [
    AgentResult.partial({ to: "엄마" }, "no amount"),
    { to: "엄마", reason: "no amount", _result_status: "partial" },
  ],
  [
    AgentResult.needInfo(["amount"], "얼마를요?"),
    { missing: ["amount"], message: "얼마를요?", _result_status: "need_info" },
  ],
  [
    AgentResult.cannotHandle("no such bank"),
    { reason: "no such bank", _result_status: "cannot_handle" },
  ],
  [AgentResult.success(["a"]), { data: ["a"], _result_status: "success" }],
  // What a model has written of its own result does not count.
  [AgentResult.success({ _result_status: "need_info" }), { _result_status: "success" }],
])("a result as one object says how it ended: %j", (result, dict) => {
  expect(resultDict(result)).toEqual(dict);
});

test("a flow finds in an agent's data how it ended", async () => {
  const service = defineService({
    name: "bank",
    agents: {
      slots: conversationalAgent({ name: "slots", schema: z.object({ to: z.string() }) }),
      asks: customAgent({
        name: "asks",
        run: async () => AgentResult.needInfo(["amount"], "얼마를요?"),
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { status, ...read } = await runAgent<{ to: string }>(turn, "slots");
        return turn.done({ message: JSON.stringify({ status, ...read }) });
      }),
      ASK: (turn) =>
        streamAgentTurn(turn, "asks", "묻는 중", {
          doneTransform: ({ data }) => ({ message: JSON.stringify(data) }),
        }),
    },
    router: (_, { message }) => message,
  });
  await using t = await startTestEngine(service, {
    offline: [offlineModel("m", () => '{"to":"엄마"}')],
  });

  expect(JSON.parse((await t.say("DEFAULT")).done.message)).toEqual({
    status: "success",
    data: { to: "엄마", _result_status: "success" },
  });
  expect(JSON.parse((await t.say("ASK")).done.message)).toEqual({
    missing: ["amount"],
    message: "얼마를요?",
    _result_status: "need_info",
  });
});
