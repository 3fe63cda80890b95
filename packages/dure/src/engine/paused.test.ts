// @module-tag slow
import { FULL } from "../kernel/test-tiers.ts";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Pauses } from "../durable/pauses.ts";
import { offlineModel } from "../models/offline.ts";
import { chatAgent } from "./agent/agent.ts";
import { tool } from "./agent/tool.ts";
import { defineService, flow } from "./service/service.ts";
import { startTestEngine, type TestEngine } from "./test-engine.ts";
import type { PauseGate } from "./turn/paused.ts";

const TIMED_OUT = "the call was not made";

/** An agent that calls a tool first, and answers with its result. */
function lookingService(hooks: { onCall: () => void; inTool: () => Promise<void> }) {
  const model = offlineModel("counted", (request) => {
    hooks.onCall();
    const hasResult = request.messages.some(({ role }) => role === "tool");
    return hasResult ? "done" : { toolCalls: [{ name: "look", input: {} }] };
  });
  const look = tool({
    description: "Looks.",
    inputSchema: z.object({}),
    execute: async () => {
      await hooks.inTool();
      return { seen: true };
    },
  });
  const eden = chatAgent({
    name: "eden",
    prompt: "Look first.",
    tools: { look },
    card: { policy: { timeoutSec: 1 } },
  });
  const service = defineService({
    name: "eden",
    agents: { eden },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("eden", "…")).text })),
    },
  });
  return { service, model };
}

async function startWith(
  hooks: { onCall: () => void; inTool: () => Promise<void> },
  on?: { url: string },
): Promise<TestEngine & { pauses: Pauses }> {
  const { service, model } = lookingService(hooks);
  const opened = Promise.withResolvers<Pauses>();
  const paused = { now: undefined as Pauses | undefined };
  const gate: PauseGate = {
    first: (names) => paused.now?.first(names),
    passes: async (names, options) => (await opened.promise).passes(names, options),
  };
  const t = await startTestEngine(service, { offline: [model], on, engine: { pauses: gate } });
  const { database, notifications } = t;
  const pauses = new Pauses({ database, notifications, clock: systemClock, logger: silentLogger });
  await pauses.start();
  onTestFinished(() => pauses.stop());
  paused.now = pauses;
  opened.resolve(pauses);
  return Object.assign(t, { pauses });
}

const atOnce = async (): Promise<void> => {};

test("a paused agent is not spoken to: its message is refused, and no model is called", async () => {
  let calls = 0;
  await using t = await startWith({ onCall: () => (calls += 1), inTool: atOnce });
  expect(await t.pauses.pause("eden", "mina")).toBe(true);
  expect(await t.pauses.pause("eden", "jun")).toBe(false);

  await expect(t.say("hello")).rejects.toMatchObject({
    code: "AGENT_PAUSED",
    message: expect.stringContaining("eden"),
    hint: expect.stringContaining("dure resume eden"),
  });

  expect(calls).toBe(0);
  expect(await t.pauses.resume("eden", "mina")).toBe(true);
  expect(await t.pauses.resume("eden", "mina")).toBe(false);
  expect((await t.say("hello")).done).toMatchObject({ message: "done" });
});

test(
  "a turn under way makes no further call while its agent is paused, and goes on after it",
  FULL,
  async () => {
    let calls = 0;
    const inTool = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const hooks = {
      onCall: () => (calls += 1),
      inTool: () => {
        inTool.resolve();
        return goOn.promise;
      },
    };
    await using t = await startWith(hooks);
    const turn = t.engine.turn({ session: "s1", message: "hello" });
    await inTool.promise;
    await t.pauses.pause("eden", "mina");
    goOn.resolve();

    const ended = turn.done.then(() => "ended");
    // longer than the whole time of an attempt: it stands still
    const waited = systemClock.sleep(1_500).then(() => TIMED_OUT);
    expect(await Promise.race([ended, waited])).toBe(TIMED_OUT);
    expect(calls).toBe(1);

    await t.pauses.resume("eden", "mina");
    expect(await turn.done).toMatchObject({ message: "done", trace: { agents: [{ retries: 0 }] } });
    expect(calls).toBe(2);
  },
);

test("a pause in one process holds the next call of a turn in another one", async () => {
  let calls = 0;
  const inTool = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  await using first = await startWith({ onCall: () => {}, inTool: atOnce });
  await using second = await startWith(
    {
      onCall: () => (calls += 1),
      inTool: () => {
        inTool.resolve();
        return goOn.promise;
      },
    },
    first,
  );
  const turn = second.engine.turn({ session: "s1", message: "hello" });
  await inTool.promise;

  await first.pauses.pause("eden", "mina");
  await expect.poll(() => second.pauses.get("eden")?.by).toBe("mina");
  goOn.resolve();
  await expect.poll(() => second.engine.running).toBe(1);
  expect(calls).toBe(1);

  await first.pauses.resume("eden", "mina");
  expect(await turn.done).toMatchObject({ message: "done" });
  expect(calls).toBe(2);
});

test("a turn that waits for the resume can be stopped", async () => {
  const inTool = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const hooks = {
    onCall: () => {},
    inTool: () => {
      inTool.resolve();
      return goOn.promise;
    },
  };
  await using t = await startWith(hooks);
  const turn = t.engine.turn({ session: "s1", message: "hello" });
  await inTool.promise;
  await t.pauses.pause("eden", "mina");
  goOn.resolve();

  await t.engine.stopTurn(await turn.turnId);

  expect(await turn.done).toMatchObject({ error: { code: "TURN_STOPPED" } });
});

test("a storm of pauses and resumes leaves no turn behind", async () => {
  await using first = await startWith({ onCall: () => {}, inTool: atOnce });
  await using second = await startWith({ onCall: () => {}, inTool: atOnce }, first);
  const asked = Array.from({ length: 20 }, (_, at) => {
    const { engine } = at % 2 === 0 ? first : second;
    return engine.turn({ session: `s${at}`, message: "hello" });
  });
  await Promise.all(asked.map(({ turnId }) => turnId));

  for (let round = 0; round < 30; round++) {
    const { pauses } = round % 2 === 0 ? first : second;
    await pauses.pause("eden", "mina");
    await (round % 3 === 0 ? first : second).pauses.resume("eden", "jun");
  }

  for (const turn of asked) expect(await turn.done).toMatchObject({ message: "done" });
  const [row] = await first.database.query({ text: "select count(*)::int as n from dure.pauses" });
  expect(row).toEqual({ n: 0 });
});

test("what a person has said is told to the log: who paused whom, and who resumed", async () => {
  await using t = await startWith({ onCall: () => {}, inTool: atOnce });
  await t.pauses.pause("eden", "mina");
  await t.pauses.resume("eden", "jun");

  const told = await t.database.query({
    text: `select type, agent, data->>'by' as by from dure.events
      where type like 'agent.%' order by seq`,
  });

  expect(told).toEqual([
    { type: "agent.paused", agent: "eden", by: "mina" },
    { type: "agent.resumed", agent: "eden", by: "jun" },
  ]);
});
