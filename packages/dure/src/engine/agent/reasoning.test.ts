// @module-tag slow
import { UnfriendlyProvider, type ProviderAnswer, type ProviderAsked } from "@dure/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { LlmInput } from "../../models/card.ts";
import { modelsAt } from "../../models/test-providers.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine, type TestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { tool } from "./tool.ts";

const THINKING = {
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  reasoningEffort: "low",
} as const;

function provider(answer: (asked: ProviderAsked) => ProviderAnswer) {
  return UnfriendlyProvider.start({ seed: 1, often: 0, answer });
}

/** An agent that looks something up in two rounds, and then pays once it is allowed. */
function serviceOf(model: LlmInput) {
  const card = { policy: { maxAttempts: 1 } };
  const looking = tool({
    description: "Looks.",
    inputSchema: z.object({}),
    execute: () => "5,000 won",
  });
  const paying = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "once",
    approval: { by: "person" },
    execute: () => "paid",
  });
  const tools = { look: looking, pay: paying };
  return defineService({
    name: "desk",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", model, card, tools }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

const settingsOf = (url: string) => ({
  anthropic: { apiKey: "k", baseUrl: url },
  openai: { apiKey: "k", baseUrl: url },
});

function blocksOf(asked: ProviderAsked): readonly string[] {
  const messages = asked.messages as { content: string | { type: string }[] }[];
  return messages.flatMap(({ content }) =>
    typeof content === "string" ? ["text"] : content.map(({ type }) => type),
  );
}

/** All that is stored or told of a turn and its session, as text. */
async function storedIn({ database }: TestEngine): Promise<string> {
  const rows = await database.query({ text: "select memory from dure.sessions" });
  return JSON.stringify(rows);
}

test("a model that thinks gets its thinking in front of its calls, and no person reads it", async () => {
  const heard: (readonly string[])[] = [];
  await using claude = await provider((asked) => {
    heard.push(blocksOf(asked));
    if (heard.length < 3) return { text: "I look.", toolCalls: [{ name: "look", args: {} }] };
    return { text: "It is 5,000 won." };
  });
  await using t = await startTestEngine(serviceOf(THINKING), { providers: settingsOf(claude.url) });

  const { done, events } = await t.say("how much?");

  expect(done.error).toBeUndefined();
  expect(claude.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
  const round = ["thinking", "text", "tool_use", "tool_result"];
  expect(heard).toEqual([["text"], ["text", ...round], ["text", ...round, ...round]]);
  expect(JSON.stringify(events)).not.toContain("look first");
  expect(await storedIn(t)).not.toContain("look first");
});

test.each(["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"])(
  "the thinking of one model is not sent to the next one of its chain, %s",
  async (next) => {
    const heard: ProviderAsked[] = [];
    await using both = await provider((asked) => {
      heard.push(asked);
      if (next.endsWith(asked.model)) return { text: "It is 5,000 won." };
      if (heard.length > 1) throw new Error("the connection breaks");
      return { toolCalls: [{ name: "look", args: {} }] };
    });
    const service = serviceOf([THINKING, next]);
    await using t = await startTestEngine(service, { providers: settingsOf(both.url) });

    const { done } = await t.say("how much?");

    expect(done).toMatchObject({ message: "It is 5,000 won." });
    expect(heard).toHaveLength(3);
    expect(JSON.stringify(heard[1]!.messages)).toContain("look first");
    expect(JSON.stringify(heard[2]!.messages)).not.toContain("look first");
  },
);

test("a model does not think about calls of another model, and thinks again in the next turn", async () => {
  const thinks: (boolean | undefined)[] = [];
  let isAway = false;
  await using both = await provider((asked) => {
    if (asked.wire === "openai") {
      if (isAway) throw new Error("the connection breaks");
      isAway = true;
      return { toolCalls: [{ name: "look", args: {} }] };
    }
    thinks.push(asked.thinks);
    return { text: "It is 5,000 won." };
  });
  const model = ["openai:gpt-5-mini", THINKING];
  await using t = await startTestEngine(serviceOf(model), { providers: settingsOf(both.url) });

  const first = await t.say("how much?");
  const second = await t.say("and now?");

  expect([first.done.error, second.done.error]).toEqual([undefined, undefined]);
  expect(thinks).toEqual([false, true]);
});

const BY_OPTIONS = {
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } },
} as const;

test.each([
  ["by its effort", THINKING],
  ["by options of its provider", BY_OPTIONS],
])("a model that thinks %s goes on after a person's yes", async (_name, model) => {
  await using claude = await provider(({ messages }) => {
    const said = JSON.stringify(messages);
    if (said.includes("paid")) return { text: "It is paid." };
    return { text: "I pay.", toolCalls: [{ name: "pay", args: {} }] };
  });
  await using t = await startTestEngine(serviceOf(model), { providers: settingsOf(claude.url) });
  const { done: asked } = await t.say("pay");
  expect(asked.error?.code).toBeUndefined();

  const { done } = await t.say("yes");

  expect(done).toMatchObject({ message: "It is paid." });
  expect(done.error).toBeUndefined();
  expect(claude.requests.map(({ status }) => status)).toEqual([200, 200]);
});

test("a model that is not to think is sent no word about thinking, with calls or without", async () => {
  await using claude = await provider(({ messages }) => {
    const isSeen = JSON.stringify(messages).includes("tool_result");
    return isSeen ? { text: "Seen." } : { toolCalls: [{ name: "look", args: {} }] };
  });
  const service = serviceOf("anthropic:claude-sonnet-4-5");
  await using t = await startTestEngine(service, { providers: settingsOf(claude.url) });

  await t.say("look");

  expect(claude.requests).toHaveLength(2);
  for (const { body } of claude.requests) expect(body).not.toHaveProperty("thinking");
});

test("a model of OpenAI's responses gets its hidden thinking again, and nothing is stored there", async () => {
  await using openai = await provider(({ messages }) => {
    const rounds = messages.filter((item) => (item as { type?: string }).type === "function_call");
    if (rounds.length < 2) return { text: "I look.", toolCalls: [{ name: "look", args: {} }] };
    return { text: "It is 5,000 won." };
  });
  const [model] = modelsAt(openai.url);
  await using t = await startTestEngine(serviceOf(model!));

  const { done } = await t.say("how much?");

  expect(done.error).toBeUndefined();
  expect(openai.requests.map(({ status, refusal }) => refusal ?? status)).toEqual([200, 200, 200]);
  const kinds = (openai.requests[2]!.body["input"] as { type?: string; role?: string }[]).map(
    ({ type, role }) => type ?? role,
  );
  const round = ["reasoning", "assistant", "function_call", "function_call_output"];
  expect(kinds).toEqual(["developer", "user", ...round, ...round]);
  expect(openai.requests.map(({ body }) => body["store"])).toEqual([false, false, false]);
  expect(await storedIn(t)).not.toContain("encrypted by");
});

test("Gemini gets the signatures of its calls again, also of calls side by side", async () => {
  await using gemini = await provider(({ messages }) => {
    if (messages.length > 4) return { text: "It is 5,000 won." };
    return {
      toolCalls: [
        { name: "look", args: {} },
        { name: "look", args: {} },
      ],
    };
  });
  const [, model] = modelsAt(gemini.url);
  await using t = await startTestEngine(serviceOf(model!));

  const first = await t.say("how much?");
  const second = await t.say("and now?");

  expect([first.done.error, second.done.error]).toEqual([undefined, undefined]);
  expect(gemini.requests.map(({ status, refusal }) => refusal ?? status)).toEqual([
    200, 200, 200, 200,
  ]);
  const written = JSON.stringify(gemini.requests[2]!.body);
  expect(written.match(/"thoughtSignature"/g)).toHaveLength(2);
  expect(written).not.toContain("skip_thought_signature_validator");
});

test.each([
  ["OpenAI's responses", 0],
  ["Gemini", 1],
])("a call that a person allows goes on with %s", async (_name, at) => {
  await using other = await provider(({ messages }) => {
    if (JSON.stringify(messages).includes("paid")) return { text: "It is paid." };
    return { text: "I pay.", toolCalls: [{ name: "pay", args: {} }] };
  });
  const model = modelsAt(other.url)[at]!;
  await using t = await startTestEngine(serviceOf(model));
  await t.say("pay");

  const { done } = await t.say("yes");

  expect(done).toMatchObject({ message: "It is paid." });
  expect(other.requests.map(({ status, refusal }) => refusal ?? status)).toEqual([200, 200]);
});
