import { expect, test } from "vitest";
import { z } from "zod";
import { defineService, flow } from "../service/service.ts";
import { defineState } from "./state.ts";
import { startTestEngine } from "../test-engine.ts";
import { tool } from "../agent/tool.ts";

const state = defineState({
  schema: z.object({ stage: z.enum(["INIT", "SENT", "END"]).default("INIT") }),
  initial: () => ({ stage: "INIT" as const }),
  stages: {
    initial: "INIT",
    terminal: ["END"],
    transitions: { INIT: ["SENT", "END"], SENT: ["END"], END: ["INIT"] },
  },
});

test("a terminal stage is an entry of the finished flows; a turn that names them says all itself", async () => {
  const service = defineService({
    name: "ends",
    agents: {},
    state,
    flows: {
      DEFAULT: flow(async (turn) => {
        turn.state.transition("END");
        if (turn.message === "two") {
          for (const data of [1, 2]) turn.complete({ stage: "END", data });
        }
        return turn.done({ message: "ended" });
      }),
    },
  });
  await using t = await startTestEngine(service);

  await t.say("one");
  await t.say("two");

  const entries = await t.engine.completed("s1");
  expect(entries.map(({ flow: key, stage, data }) => [key, stage, data])).toEqual([
    ["DEFAULT", "END", 2],
    ["DEFAULT", "END", 1],
    ["DEFAULT", "END", { stage: "END" }],
  ]);
});

test("an effect of unknown outcome keeps its stage and question, even when the turn was stopped meanwhile", async () => {
  const called = Promise.withResolvers<void>();
  const cut = Promise.withResolvers<never>();
  const send = tool({
    description: "Sends.",
    inputSchema: z.object({}),
    effect: "once",
    recover: "ask",
    execute: () => {
      called.resolve();
      return cut.promise;
    },
  });
  const service = defineService({
    name: "sends",
    agents: {},
    state,
    flows: {
      DEFAULT: flow(async (turn) => {
        turn.state.transition("SENT");
        await turn.call("send", send, {}, { key: ["one"] });
        return turn.done({ message: "sent" });
      }),
    },
  });
  await using t = await startTestEngine(service);

  const turn = t.engine.turn({ session: "s1", message: "go" });
  await called.promise;
  await t.engine.stopTurn(await turn.turnId);
  cut.reject(new Error("the line was cut"));
  const done = await turn.done;

  expect(done).toMatchObject({
    error: { code: "EFFECT_UNKNOWN" },
    stateSnapshot: { stage: "SENT" },
  });
  expect((await t.engine.session("s1")).stage).toBe("SENT");
  expect(await t.database.query({ text: "select type, status from dure.escalations" }, [])).toEqual(
    [{ type: "effect_unknown", status: "open" }],
  );
});

test("onError hears what is stored, and whether something has happened outside", async () => {
  const send = tool({
    description: "Sends.",
    inputSchema: z.object({}),
    effect: "once",
    recover: "ask",
    execute: () => "sent",
  });
  const service = defineService({
    name: "breaks",
    agents: {},
    state,
    flows: {
      DEFAULT: flow(async (turn) => {
        if (turn.message === "send") {
          await turn.call(
            "send",
            send,
            {},
            { key: [turn.turnId], onSettled: () => turn.state.transition("SENT") },
          );
        }
        throw new Error("broken");
      }),
    },
    onError: (_error, _locale, { settled, state: left }) =>
      `${settled ? "settled" : "nothing"}: ${left["stage"] as string}`,
  });
  await using t = await startTestEngine(service);

  expect((await t.say("fail")).done.message).toBe("nothing: INIT");
  expect((await t.say("send")).done.message).toBe("settled: SENT");
});
