// @module-tag slow
import { expect, test } from "vitest";
import { z } from "zod";
import { offlineModel, type OfflineAnswer, type OfflineModel } from "../../models/offline.ts";
import type { Done } from "../../kernel/turn-events.ts";
import type { Engine } from "../engine.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool } from "../agent/tool.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngineOptions } from "../test-engine.ts";
import { isBackground } from "./paused.ts";

/** Short pauses in the place of seconds. */
const SOON = { firstMs: 20, maxMs: 40 };
const PATIENT = { patienceMs: () => 60_000, outageRetry: SOON };

/** Fails like a provider in trouble until the test says that it is back. */
function awayModel(failure: NonNullable<OfflineAnswer["error"]> = { status: 503 }): {
  model: OfflineModel;
  calls: () => number;
  comesBack: () => void;
} {
  let calls = 0;
  let isAway = true;
  const model = offlineModel("away", () => {
    calls += 1;
    return isAway ? { text: "", error: failure } : "here again";
  });
  return { model, calls: () => calls, comesBack: () => void (isAway = false) };
}

const ONE_TRY = { card: { policy: { maxAttempts: 1, backoffSec: 0 } } };
const talking = defineService({
  name: "talking",
  agents: { talker: chatAgent({ name: "talker", prompt: "Talk.", ...ONE_TRY }) },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("talker", "…")).text })),
  },
});

function startTalking(model: OfflineModel, options: TestEngineOptions = {}) {
  return startTestEngine(talking, {
    offline: [model],
    ...options,
    engine: { ...PATIENT, ...options.engine },
  });
}

const PASSING: readonly (readonly [string, NonNullable<OfflineAnswer["error"]>])[] = [
  ["503", { status: 503 }],
  ["429", { status: 429 }],
  ["overloaded", { status: 529 }],
  ["a refused connection", Object.assign(new Error("connect"), { code: "ECONNREFUSED" })],
];

test.each(PASSING)(
  "a turn outlasts a provider that answers %s and is answered once",
  async (_name, failure) => {
    const away = awayModel(failure);
    await using t = await startTalking(away.model);
    const saying = t.say("hello");
    await expect.poll(away.calls).toBeGreaterThan(4);

    away.comesBack();
    const { done, events } = await saying;

    expect(done).toMatchObject({ message: "here again" });
    expect(done.error).toBeUndefined();
    const starts = events.flatMap((event) => (event.type === "AGENT_START" ? [event.data] : []));
    expect(starts).toEqual([
      { agent: "talker", label: "…" },
      {
        agent: "talker",
        label: "The model is not reachable. I will answer when it is back.",
        waits: "model",
      },
      { agent: "talker", label: "…", attempt: 2 },
    ]);
  },
);

test("an answer that is cut in its middle is void, and the turn waits for the whole one", async () => {
  let calls = 0;
  const model = offlineModel("cut", () => {
    calls += 1;
    return calls < 3 ? { text: "half an ", error: { status: 503 } } : "a whole answer";
  });
  await using t = await startTalking(model);

  const { done, events } = await t.say("hello");

  expect(done).toMatchObject({ message: "a whole answer" });
  expect(done.error).toBeUndefined();
  const last = events.findLastIndex(
    (event) => event.type === "AGENT_START" && event.data.restart === true,
  );
  const shown = events
    .slice(last)
    .flatMap((event) => (event.type === "LLM_TOKEN" ? [event.data] : []));
  expect(shown.join("")).toBe("a whole answer");
});

const FINAL: readonly (readonly [string, NonNullable<OfflineAnswer["error"]>])[] = [
  ["401", { status: 401 }],
  ["400", { status: 400 }],
  ["404", { status: 404 }],
  ["insufficient_quota", { status: 429, message: "insufficient_quota" }],
];

test.each(FINAL)("a turn whose provider answers %s ends at once", async (_name, failure) => {
  const away = awayModel(failure);
  await using t = await startTalking(away.model);

  const { done } = await t.say("hello");

  expect(done.error).toBeDefined();
  expect(away.calls()).toBe(1);
});

test("a turn whose patience is over ends with the provider's error", async () => {
  const away = awayModel();
  await using t = await startTalking(away.model, { engine: { patienceMs: () => 400 } });

  const { done } = await t.say("hello");

  expect(done.error).toMatchObject({ code: "MODEL_SERVER_ERROR" });
  expect(away.calls()).toBeGreaterThan(1);
});

test("a turn that waits for its model can be stopped", async () => {
  const away = awayModel();
  await using t = await startTalking(away.model, {
    engine: { outageRetry: { firstMs: 60_000, maxMs: 60_000 } },
  });
  const { turnId } = await t.engine.accept({ session: "s1", message: "hello" });
  await expect.poll(away.calls).toBe(1);

  await t.engine.stopTurn(turnId);

  expect(await endOf(t.engine, turnId)).toMatchObject({ error: { code: "TURN_STOPPED" } });
});

test("a turn that waits for its model calls it at once when a person says so", async () => {
  const away = awayModel();
  await using t = await startTalking(away.model, {
    engine: { outageRetry: { firstMs: 60_000, maxMs: 60_000 } },
  });
  const saying = t.say("hello");
  await expect.poll(() => waitingFor(t.database)).toBe(1);

  away.comesBack();
  t.engine.retryModels();

  expect((await saying).done).toMatchObject({ message: "here again" });
});

test("turns that wait for one model are told of once, go on together, and close the escalation", async () => {
  const away = awayModel();
  const lines: string[] = [];
  const note = (_facts: object, line: string): void => void lines.push(line);
  const logger = { trace() {}, debug() {}, info: note, warn: note, error: note, fatal: note };
  await using t = await startTalking(away.model, {
    logger: { ...logger, child: () => logger } as never,
  });
  const sayings = ["a", "b", "c", "d"].map((session) => t.say("hello", { session }));
  await expect.poll(away.calls).toBeGreaterThan(12);
  await expect.poll(() => escalations(t.database)).toEqual([["model:away:offline:away", "open"]]);

  away.comesBack();

  for (const { done } of await Promise.all(sayings)) {
    expect(done).toMatchObject({ message: "here again" });
  }
  await expect
    .poll(() => escalations(t.database))
    .toEqual([["model:away:offline:away", "resolved"]]);
  expect(lines.filter((line) => line.includes("cannot be reached"))).toHaveLength(1);
});

test("a turn that waits goes on in another process with the same patience, and repeats no tool", async () => {
  let tools = 0;
  const work = tool({
    description: "Works.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: () => `worked ${++tools}`,
  });
  let isAway = true;
  let calls = 0;
  const model = offlineModel("away", (request) => {
    calls += 1;
    const isAnswered = request.messages.at(-1)?.role === "tool";
    if (!isAnswered) return { toolCalls: [{ name: "work", args: {} }] };
    return isAway ? { text: "", error: { status: 503 } } : "done";
  });
  const service = defineService({
    name: "talking",
    agents: { talker: chatAgent({ name: "talker", prompt: "Talk.", tools: { work }, ...ONE_TRY }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("talker", "…")).text })),
    },
  });
  const options = { offline: [model], engine: PATIENT };
  await using t = await startTestEngine(service, options);
  const { turnId } = await t.engine.accept({ session: "s1", message: "hello" });
  await expect.poll(() => waitingFor(t.database)).toBe(1);
  const [since] = await waitsOf(t.database);

  t.fence();
  const before = calls;
  await using other = await startTestEngine(service, { ...options, on: { url: t.url } });
  await other.database.query({
    text: "update dure.turns set holder = null, epoch = epoch + 1 where status = 'running'",
  });
  await expect.poll(() => calls).toBeGreaterThan(before + 1);
  isAway = false;

  expect(await endOf(other.engine, turnId)).toMatchObject({ message: "done" });
  expect(tools).toBe(1);
  expect(await waitsOf(other.database)).toEqual([since]);
});

async function endOf(engine: Engine, turn: string): Promise<Done | undefined> {
  for await (const { event } of engine.read(turn)) if (event.type === "DONE") return event.data;
  return undefined;
}

interface Queries {
  query<Row extends object>(statement: { text: string }): Promise<Row[]>;
}

async function waitsOf(database: Queries): Promise<readonly unknown[]> {
  const rows = await database.query<{ data: unknown }>({
    text: "select data from dure.turn_events where place like '% wait:model' and type = 'RECORD'",
  });
  return rows.map(({ data }) => data);
}

async function waitingFor(database: Queries): Promise<number> {
  return (await waitsOf(database)).length;
}

async function escalations(database: Queries): Promise<readonly unknown[]> {
  const rows = await database.query<{ subject: string; status: string }>({
    text: "select subject, status from dure.escalations",
  });
  return rows.map(({ subject, status }) => [subject, status]);
}

test.each([
  ["room:ruda:web:general", true],
  ["job:job_1:eden", true],
  ["escalation:esc_1", true],
  ["mina", false],
  ["rooms-of-mina", false],
])("the session %s is in the background: %s", (session, expected) => {
  expect(isBackground(session)).toBe(expected);
});
