import { createAnthropic } from "@ai-sdk/anthropic";
import { UnfriendlyProvider, type ProviderAnswer } from "@dure/testing";
import { MockLanguageModelV3 } from "ai/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { offlineModel, type OfflineAnswer } from "../../models/offline.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { chatAgent, type AgentOptions } from "./agent.ts";
import { tool } from "./tool.ts";

/** Short pauses in the place of seconds. */
const SOON = { firstMs: 20, maxMs: 40 };
const ONE_TRY = { policy: { maxAttempts: 1, backoffSec: 0 } };

function serviceOf(options: Omit<AgentOptions, "name" | "prompt">) {
  return defineService({
    name: "paying",
    agents: { payer: chatAgent({ name: "payer", prompt: "Pay.", card: ONE_TRY, ...options }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("payer", "…")).text })),
    },
  });
}

/** Counts what it has done. */
function paying() {
  let deeds = 0;
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: () => `paid ${++deeds}`,
  });
  return { pay, deeds: () => deeds };
}

/** Model and error of each call that was recorded, in order. */
async function callsOf({ database }: TestEngine): Promise<readonly unknown[]> {
  const rows = await database.query<{ provider: string; error: string | null }>({
    text: "select provider, error from dure.model_calls order by at, id",
  });
  return rows.map(({ provider, error }) => [provider, error]);
}

test("the next provider goes on with the calls and results of one that went away", async () => {
  const { pay, deeds } = paying();
  await using away = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    answer: ({ tools }): ProviderAnswer => {
      if (deeds() > 0) throw new Error("the connection breaks");
      return { toolCalls: [{ name: tools[0]!, args: {} }] };
    },
  });
  await using other = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    answer: () => ({ text: "Done." }),
  });
  const service = serviceOf({
    model: ["anthropic:claude-haiku-4-5", "openai:gpt-5-mini"],
    tools: { pay },
  });
  await using t = await startTestEngine(service, {
    providers: {
      anthropic: { apiKey: "k", baseUrl: away.url },
      openai: { apiKey: "k", baseUrl: other.url },
    },
    engine: { patienceMs: () => 60_000 },
  });

  const { done } = await t.say("pay");

  expect(done).toMatchObject({ message: "Done." });
  expect(deeds()).toBe(1);
  expect(await callsOf(t)).toEqual([
    ["anthropic", null],
    ["anthropic", "MODEL_UNREACHABLE"],
    ["openai", null],
  ]);
  const { messages } = other.requests[0]!.body as { messages: { role: string }[] };
  expect(messages.map(({ role }) => role)).toEqual(["developer", "user", "assistant", "tool"]);
});

test.each([
  ["401", { status: 401 }],
  ["400", { status: 400 }],
  ["404", { status: 404 }],
])("the next model is not asked where the first answers %s", async (_name, error) => {
  let asked = 0;
  const first = offlineModel("first", (): OfflineAnswer => ({ text: "", error }));
  const next = offlineModel("next", () => `asked ${++asked}`);
  const service = serviceOf({ model: "offline:first, offline:next" });
  await using t = await startTestEngine(service, { offline: [first, next] });

  const { done } = await t.say("hello");

  expect(done.error).toBeDefined();
  expect(asked).toBe(0);
});

test("a model object gives way to the next one, and both are in the records of calls", async () => {
  await using provider = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    answer: () => ({ text: "from Claude" }),
  });
  const away = new MockLanguageModelV3({
    provider: "google.generative-ai",
    modelId: "gemini",
    doStream: () => Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" })),
  });
  const claude = createAnthropic({ apiKey: "k", baseURL: `${provider.url}/v1` });
  const service = serviceOf({ model: [away, claude("claude-haiku-4-5")] });
  await using t = await startTestEngine(service);

  const { done } = await t.say("hello");

  expect(done).toMatchObject({ message: "from Claude" });
  expect(await callsOf(t)).toEqual([
    ["ai-sdk", "MODEL_UNREACHABLE"],
    ["anthropic", null],
  ]);
});

test("a turn waits when all models of its chain are away, and then asks the first one first", async () => {
  let isAway = true;
  const order: string[] = [];
  const model = (name: string) =>
    offlineModel(name, (): OfflineAnswer => {
      order.push(name);
      return isAway ? { text: "", error: { status: 529 } } : { text: `from ${name}` };
    });
  const service = serviceOf({ model: ["offline:first", "offline:next"] });
  await using t = await startTestEngine(service, {
    offline: [model("first"), model("next")],
    engine: { patienceMs: () => 60_000, outageRetry: SOON },
  });
  const saying = t.say("hello");
  await expect.poll(() => order.length).toBeGreaterThan(3);

  isAway = false;

  expect((await saying).done).toMatchObject({ message: expect.stringMatching(/^from /) as string });
  expect(order.slice(0, 4)).toEqual(["first", "next", "first", "next"]);
  await expect
    .poll(() =>
      t.database.query({ text: "select subject, status from dure.escalations order by subject" }),
    )
    .toMatchObject([{ subject: "model:away:offline:first" }]);
});

test("another process goes on with the model that the chain had come to, and repeats no deed", async () => {
  const { pay, deeds } = paying();
  const held = Promise.withResolvers<void>();
  let calls = 0;
  const first = offlineModel("first", (): OfflineAnswer => {
    calls += 1;
    return { text: "", error: { status: 503 } };
  });
  const next = offlineModel("next", async ({ messages }): Promise<OfflineAnswer> => {
    if (messages.at(-1)?.role !== "tool") return { toolCalls: [{ name: "pay", args: {} }] };
    await held.promise;
    return { text: "Done." };
  });
  const service = serviceOf({ model: ["offline:first", "offline:next"], tools: { pay } });
  const options = { offline: [first, next] };
  await using t = await startTestEngine(service, options);
  const { turnId } = await t.engine.accept({ session: "s1", message: "pay" });
  await expect.poll(() => calls).toBe(2);

  t.fence();
  await using other = await startTestEngine(service, { ...options, on: { url: t.url } });
  await other.database.query({
    text: "update dure.turns set holder = null, epoch = epoch + 1 where status = 'running'",
  });
  held.resolve();

  for await (const { event } of other.engine.read(turnId)) {
    if (event.type === "DONE") expect(event.data).toMatchObject({ message: "Done." });
  }
  expect(deeds()).toBe(1);
});
