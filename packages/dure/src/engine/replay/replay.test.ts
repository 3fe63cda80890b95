import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import type { ModelRequest } from "../../models/model.ts";
import { offlineModel } from "../../models/offline.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool } from "../agent/tool.ts";
import { defineService } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";

const VIEWER = { name: "tester", tenant: "" } as const;

/** Every call that really reached the outside. */
const outside: string[] = [];

const pay = tool({
  description: "Pays a person.",
  inputSchema: z.object({ to: z.string() }),
  effect: "once",
  recover: "replay",
  execute: ({ to }) => {
    outside.push(`pay ${to}`);
    return `paid ${to}`;
  },
});

const look = tool({
  description: "Looks something up.",
  inputSchema: z.object({ what: z.string() }),
  execute: ({ what }) => {
    outside.push(`look ${what}`);
    return `${what} is 42`;
  },
});

/** Every request to a model. */
const asked: ModelRequest[] = [];

/** Calls the tools that its prompt names, then says what they answered. */
const script = (name: string) =>
  offlineModel(name, (request) => {
    asked.push(request);
    const { system = "", messages } = request;
    const person = messages.findLastIndex(({ role }) => role === "user");
    const results = messages.slice(person).filter(({ role }) => role === "tool");
    if (results.length === 0 && system.includes("pay")) {
      const to = system.includes("eve") ? "eve" : "mina";
      return {
        toolCalls: [
          { name: "look", args: { what: "price" } },
          { name: "pay", args: { to } },
        ],
      };
    }
    const said = results.map((one) => JSON.stringify("result" in one ? one.result : null));
    return { text: `${name}: ${system} ${said.join(" ")}` };
  });

const service = defineService({
  name: "shop",
  version: "1",
  agents: {
    clerk: chatAgent({ name: "clerk", prompt: "pay mina", tools: { pay, look } }),
  },
  flows: {
    default: async function* (turn) {
      const rate = await turn.step("rate", () => {
        outside.push("rate");
        return 7;
      });
      const { text } = yield* turn.streamAgent("clerk", "writing");
      if (text.includes("detour")) await turn.step("detour", () => outside.push("detour"));
      return turn.done({ message: `${text} at ${rate}` });
    },
  },
});

/** Answers when it is opened. */
const { promise: isOpen, resolve: open } = Promise.withResolvers<void>();
const held = offlineModel("held", async () => {
  await isOpen;
  return { text: "held" };
});

let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine(service, {
    model: "offline:first",
    offline: [script("first"), script("second"), held],
  });
});
afterAll(() => engine[Symbol.asyncDispose]());

test("of five replays at once the fifth is refused, and another one begins after an end", async () => {
  const { turnId } = await engine.say("buy it");
  const { replays } = engine.engine;
  const begin = () => replays.run(turnId, { model: "offline:held" }, run());

  const five = Array.from({ length: 5 }, begin);
  const first = await Promise.race(five.map((run) => run.catch((error: unknown) => error)));
  open();
  const all = await Promise.allSettled(five);

  expect(first).toMatchObject({ code: "REPLAYS_BUSY" });
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
  expect(await begin()).toMatchObject({ message: "held at 7" });
});

test("a replay asks another model, and its tools answer as they did in the turn", async () => {
  const { turnId, done } = await engine.say("buy it");
  const before = [...outside];
  const { replays } = engine.engine;

  const replay = await replays.run(turnId, { model: "offline:second" }, run());

  expect(done.message).toBe('first: pay mina "price is 42" "paid mina" at 7');
  expect(replay).toMatchObject({
    message: 'second: pay mina "price is 42" "paid mina" at 7',
    error: null,
    calls: [
      { tool: "look", answer: "recorded" },
      { tool: "pay", answer: "recorded" },
    ],
  });
  expect(outside).toEqual(before);
});

test("a replay from a call keeps what stands before it, and asks its model from there on", async () => {
  const { turnId } = await engine.say("buy it");
  asked.length = 0;

  const replay = await engine.engine.replays.run(
    turnId,
    { model: "offline:second", prompts: { clerk: "wrap up" }, from: "2.4" },
    run(),
  );

  expect(replay).toMatchObject({
    message: 'second: wrap up "price is 42" "paid mina" at 7',
    calls: [],
  });
  expect(asked).toHaveLength(1);
  await expect(engine.engine.replays.run(turnId, { from: "2.2" }, run())).rejects.toMatchObject({
    code: "REPLAY_PLACE_UNKNOWN",
  });
});

test("a replay reads what agents did in earlier turns, and nothing of later ones", async () => {
  const session = "earlier";
  await engine.say("buy it", { session });
  const { turnId } = await engine.say("buy it", { session });
  await engine.say("buy it", { session });
  asked.length = 0;

  await engine.engine.replays.run(turnId, { model: "offline:second" }, run());

  const results = asked[0]!.messages.filter(({ role }) => role === "tool");
  expect(results.map((one) => "result" in one && one.result)).toEqual(["price is 42", "paid mina"]);
});

test("a call that the turn did not make is refused, and never reaches the outside", async () => {
  const { turnId } = await engine.say("buy it");
  const before = [...outside];

  const order = { prompts: { clerk: "pay eve" } };
  const replay = await engine.engine.replays.run(turnId, order, run());

  expect(replay.calls).toMatchObject([
    { tool: "look", answer: "recorded" },
    { tool: "pay", input: { to: "eve" }, answer: "refused" },
  ]);
  expect(replay.message).toContain("REPLAY_REFUSED");
  expect(outside).toEqual(before);
});

test("a step of the handler that the turn did not do ends the replay", async () => {
  const { turnId } = await engine.say("buy it");
  const before = [...outside];

  const order = { prompts: { clerk: "take a detour" } };
  const replay = await engine.engine.replays.run(turnId, order, run());

  expect(replay.error?.code).toBe("REPLAY_REFUSED");
  expect(outside).toEqual(before);
});

test("a replay changes nothing of the session, and its model calls are in the costs", async () => {
  const session = "kept";
  const { turnId } = await engine.say("buy it", { session });
  const kept = (): Promise<unknown> =>
    engine.database.query(
      {
        text: `select s.state, s.memory, s.updated_at,
            (select count(*) from dure.turns t where t.session_id = s.id)::int as turns,
            (select count(*) from dure.turn_events e where e.turn_id = $2)::int as rows,
            (select count(*) from dure.effects e where e.session_id = s.id)::int as effects
          from dure.sessions s
          where id = $1`,
      },
      [session, turnId],
    );
  const calls = async (): Promise<number> => {
    const [row] = await engine.database.query<{ n: number }>(
      { text: "select count(*)::int as n from dure.model_calls where session_id = $1" },
      [session],
    );
    return row!.n;
  };
  const [before, paidBefore] = [await kept(), await calls()];

  await engine.engine.replays.run(turnId, { model: "offline:second" }, run());

  expect(await kept()).toEqual(before);
  expect((await calls()) - paidBefore).toBe(2); // the call with tools, and the answer
});

test("what a turn ran with is told, and an unknown one or another tenant's is not there", async () => {
  const { turnId } = await engine.say("buy it");
  const { replays } = engine.engine;

  expect(await replays.find(turnId, VIEWER)).toMatchObject({
    input: "buy it",
    service: "shop",
    agents: [{ key: "clerk", prompt: "pay mina", model: "offline:first", isCustom: false }],
  });
  const others = replays.find(turnId, { name: "other", tenant: "other" });
  await expect(others).rejects.toMatchObject({ code: "TURN_UNKNOWN" });
  const noModel = replays.run(turnId, { model: "nowhere:x" }, run());
  await expect(noModel).rejects.toMatchObject({ class: "input" });
});

test("whose reader has left is cut, and says so by throwing", async () => {
  const { turnId } = await engine.say("buy it");
  const left = AbortSignal.abort(new Error("left"));

  const replay = engine.engine.replays.run(turnId, {}, { caller: VIEWER, signal: left });

  await expect(replay).rejects.toThrow("left");
});

function run(): { caller: typeof VIEWER; signal: AbortSignal } {
  return { caller: VIEWER, signal: new AbortController().signal };
}
