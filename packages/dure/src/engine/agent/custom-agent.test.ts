import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../durable/test-database.ts";
import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { ModelMessage } from "../../models/model.ts";
import type { OfflineReply } from "../../models/offline.ts";
import { ScriptedModel, type ScriptStep } from "@dure/testing";
import { AgentResult, conversationalAgent, customAgent, type Agent } from "./agent.ts";
import type { AgentContext } from "./agent-context.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { tool } from "./tool.ts";

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database[Symbol.asyncDispose]());

let sessions = 0;

/** One turn of a service of one agent whose model follows a script. */
async function say(agent: Agent, steps: readonly (OfflineReply | ScriptStep)[], message = "hello") {
  const model = new ScriptedModel(steps);
  const service = defineService({
    name: "desk",
    agents: { clerk: agent },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { text, data, result } = await turn.agent("clerk", "");
        return turn.done({ message: text, receipt: { data, status: result.status } });
      }),
    },
  });
  await using t = await startTestEngine(service, { on: database, offline: [model] });

  const { done, events } = await t.say(message, { session: `c${++sessions}` });
  model.assertComplete();

  return { done, shown: shownIn(events), said: saidIn(events), requests: model.requests };
}

function shownIn(events: readonly TurnEvent[]): string {
  return events.map((event) => (event.type === "LLM_TOKEN" ? event.data : "")).join("");
}

function saidIn(events: readonly TurnEvent[]): unknown {
  return events.find((event) => event.type === "LLM_DONE")?.data;
}

const rate = tool({
  description: "The exchange rate.",
  inputSchema: z.object({ currency: z.string() }),
  execute: ({ currency }) => ({ currency, won: 1_380 }),
});

describe("a custom agent", () => {
  test("shows nothing of what its model says to itself, and what it yields once", async () => {
    const agent = customAgent({
      name: "clerk",
      prompt: "Think first.",
      async *stream(context) {
        const thought = await context.model({ messages: [{ role: "user", text: "think" }] });
        yield "두 번 ";
        yield `생각했어요: ${thought.text.length}`;

        return AgentResult.success({ length: thought.text.length });
      },
    });

    const { done, shown, said } = await say(agent, ["a secret"]);

    expect(shown).toBe("두 번 생각했어요: 8");
    expect(said).toMatchObject({ message: shown });
    expect(done.message).toBe(shown);
  });

  test("shows a call as it comes where the call is visible, and keeps it as its text", async () => {
    const agent = customAgent({
      name: "clerk",
      async run(context) {
        await context.model({ messages: [{ role: "user", text: "think" }] });
        await context.model({ visible: true });

        return AgentResult.success({});
      },
    });

    const { done, shown } = await say(agent, ["hidden", "반가워요"]);

    expect(shown).toBe("반가워요");
    expect(done.message).toBe("반가워요");
  });

  test("offers its tools to its model, and none where the call says none", async () => {
    const agent = customAgent({
      name: "clerk",
      tools: { rate },
      async run(context) {
        await context.model();
        await context.model({ tools: [] });

        return AgentResult.success({ message: "done" });
      },
    });

    const { requests } = await say(agent, ["one", "two"]);

    expect(requests[0]?.tools).toMatchObject([
      { name: "rate", inputSchema: { additionalProperties: false, required: ["currency"] } },
    ]);

    expect(requests[1]?.tools).toBeUndefined();
  });

  test("can be the loop of a chat agent: tools, their errors, and the answer as it comes", async () => {
    const agent = customAgent({ name: "clerk", prompt: "Help.", tools: { rate }, run: chatLoop });

    const { done, shown, requests } = await say(
      agent,
      [
        { reply: { toolCalls: [{ id: "a", name: "rats", args: {} }] } },
        { expect: "no tool", reply: { toolCalls: [{ id: "b", name: "rate", args: {} }] } },
        {
          expect: "do not fit",
          reply: { toolCalls: [{ id: "c", name: "rate", args: { currency: "USD" } }] },
        },
        { expect: "1380", reply: "1달러는 1,380원이에요." },
      ],
      "환율 알려줘",
    );

    expect(shown).toBe("1달러는 1,380원이에요.");
    expect(done.message).toBe(shown);
    expect(requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      "user",
      ...["assistant", "tool", "assistant", "tool", "assistant", "tool"],
    ]);
  });
});

/** What `chatAgent` does, written by an author. */
async function chatLoop(context: AgentContext): Promise<AgentResult> {
  const messages: ModelMessage[] = [...context.buildMessages().messages];

  for (let round = 0; round < 8; round++) {
    const answer = await context.model({ messages, visible: true });

    if (answer.toolCalls.length === 0) return AgentResult.success({ message: answer.text });
    messages.push({ role: "assistant", text: answer.text, toolCalls: answer.toolCalls });

    for (const call of answer.toolCalls) messages.push(await context.answerCall(call));
  }

  return AgentResult.cannotHandle("too many rounds");
}

describe("an agent whose answer fits only in part", () => {
  const schema = z.object({
    kind: z.enum(["details", "other"]),
    items: z.array(z.object({ to: z.string(), amount: z.number().optional() })),
  });
  const answer = (object: object) => ({ object: object as never });
  const reader = (partialOutput: boolean) =>
    conversationalAgent({
      name: "clerk",
      schema,
      partialOutput,
      card: { temperature: 0, policy: { maxAttempts: 2, backoffSec: 0 } },
    });

  test("takes null for what was not said: no second call", async () => {
    const { done, requests } = await say(reader(false), [
      answer({ kind: "details", items: [{ to: "엄마", amount: null }] }),
    ]);

    expect(done.receipt).toMatchObject({ data: { items: [{ to: "엄마" }] }, status: "success" });
    expect(requests[0]?.temperature).toBe(0);
  });

  test("is told what is wrong, and keeps the good fields after the last attempt", async () => {
    const bad = {
      kind: "details",
      items: [{ to: "엄마", amount: "삼만" }, { to: 7 }, { to: "아빠", amount: 20_000 }],
    };

    const { done, requests } = await say(reader(true), [answer(bad), answer(bad)]);

    expect(done.receipt).toMatchObject({
      data: { kind: "details", items: [{ to: "엄마" }, { to: "아빠", amount: 20_000 }] },
      status: "partial",
    });

    expect(requests[1]?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining("items.0.amount") as string,
    });
  });

  test("has no answer where what is required does not fit, or it wants all of it", async () => {
    const unfit = answer({ kind: "unknown", items: [] });
    const part = answer({ kind: "other", items: [{ to: 7 }] });

    expect((await say(reader(true), [unfit, unfit])).done.error?.code).toBe("MODEL_FORMAT");
    expect((await say(reader(false), [part, part])).done.error?.code).toBe("MODEL_FORMAT");
  });
});
