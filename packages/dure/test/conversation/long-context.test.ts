import { UnfriendlyProvider } from "@dure/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";

/** Conversations that outgrow the window of their model, over both wire formats. */

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database?.[Symbol.asyncDispose]());

const MODELS = ["anthropic:claude-haiku-4-5", "openai:gpt-4.1-mini"];
const WINDOW = 12_000;
/** About 3,000 tokens. */
const LONG = "Please remember each of these words. ".repeat(325);

function deskService(contextTokens?: number): Service {
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ to: z.string() }),
    effect: "once",
    execute: ({ to }) => `receipt for ${to}`,
  });
  const card = contextTokens === undefined ? {} : { policy: { contextTokens } };
  return defineService({
    name: "desk",
    agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { pay }, card }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

let sessions = 0;

interface Talk {
  readonly contextTokens?: number;
  /** Waits before each message that follows a refusal until the history is folded. */
  readonly waitsForFolds?: true;
}

/** A payment, then long messages until the window is over. */
async function talk(model: string, messages: readonly string[], options: Talk = {}) {
  let answers = 0;
  await using provider = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    abilities: { contextTokens: WINDOW },
    answer: (asked) => {
      if (isFold(asked)) return { text: SUMMARY };
      return answers++ === 0
        ? { toolCalls: [{ name: "pay", args: { to: "Hong" } }] }
        : { text: `Answer ${answers}.` };
    },
  });
  const connection = { apiKey: "k", baseUrl: `${provider.url}/v1` };
  await using at = await startTestEngine(deskService(options.contextTokens), {
    on: database,
    model,
    providers: { anthropic: connection, openai: connection },
  });
  const session = `long${++sessions}`;
  const ends = [];
  const summary = async () => (await at.engine.debug(session)).memory.summaryText;
  for (const message of messages) {
    const hasGrown = provider.requests.some(({ refusal }) => refusal !== undefined);
    if (options.waitsForFolds && hasGrown) await expect.poll(summary).toBe(SUMMARY);
    ends.push((await at.say(message, { session })).done);
  }
  const requests = provider.requests.filter(({ body }) => !isFold(body));
  const folds = provider.requests.filter(({ body }) => isFold(body));
  return { ends, requests, folds, refusals: requests.flatMap(({ refusal }) => refusal ?? []) };
}

const SUMMARY = "They sent long messages.";

const isFold = (asked: unknown): boolean => JSON.stringify(asked).includes("<dialog>");

const CONVERSATION = ["Pay Hong", LONG, LONG, LONG, LONG];

test.each(MODELS)(
  "a conversation that is too long for %s goes on, shorter, after one refusal",
  async (model) => {
    const { ends, requests, refusals } = await talk(model, CONVERSATION);

    expect(ends.map(({ error }) => error)).toEqual(CONVERSATION.map(() => undefined));
    expect(refusals).toHaveLength(1);
    expect(refusals[0]).toMatch(/prompt is too long|maximum context length/u);
    const last = JSON.stringify(requests.at(-1)!.body);
    expect(last).toContain("receipt for Hong");
    expect(last).toContain(LONG.slice(0, 1_000));
  },
);

test.each(MODELS)(
  "a request to %s is made shorter before it is refused, where the window is known",
  async (model) => {
    const { ends, requests, refusals } = await talk(model, CONVERSATION, {
      contextTokens: WINDOW,
    });

    expect(ends.map(({ error }) => error)).toEqual(CONVERSATION.map(() => undefined));
    expect(refusals).toEqual([]);
    expect(requests).toHaveLength(6);
    expect(JSON.stringify(requests.at(-1)!.body)).toContain("receipt for Hong");
  },
);

test.each(MODELS)(
  "a session that was too long for %s is folded, and is never refused again",
  async (model) => {
    const messages = [...CONVERSATION, LONG, LONG, LONG, LONG];

    const { ends, requests, refusals, folds } = await talk(model, messages, {
      waitsForFolds: true,
    });

    expect(ends.map(({ error }) => error)).toEqual(messages.map(() => undefined));
    expect(refusals).toHaveLength(1);
    expect(requests).toHaveLength(messages.length + 2);
    const last = JSON.stringify(requests.at(-1)!.body);
    expect(last).toContain(SUMMARY);
    expect(last).toContain("receipt for Hong");
    expect(folds.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  },
);

test.each(MODELS)(
  "a message that is too long by itself ends with a code that says so: %s",
  async (model) => {
    const { ends, refusals } = await talk(model, [LONG.repeat(5)]);

    expect(ends[0]).toMatchObject({ error: { code: "MODEL_CONTEXT_EXCEEDED" } });
    expect(ends[0]!.message).not.toBe("");
    expect(refusals).toHaveLength(1);
  },
);
