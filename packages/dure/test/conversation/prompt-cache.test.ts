import { afterAll, beforeAll, expect, test } from "vitest";
import { UnfriendlyProvider } from "@dure/testing";
import { z } from "zod";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";

/** What of a turn's rounds a provider has read before, and what that costs. */

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database?.[Symbol.asyncDispose]());

/** Long enough to be kept: more than 1,024 tokens. */
const PROMPT = "Look things up before you answer, and say where you have found them. ".repeat(100);
const ROUNDS = 4;

function lookService(): Service {
  const look = tool({
    description: "Looks something up.",
    inputSchema: z.object({ page: z.number() }),
    execute: ({ page }) => ({ page, text: `What stands on page ${page}. `.repeat(40) }),
  });
  return defineService({
    name: "look",
    agents: { clerk: chatAgent({ name: "clerk", prompt: PROMPT, tools: { look } }) },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("clerk", "…")).text })),
    },
  });
}

interface Rounds {
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
  readonly cached: readonly ({ readonly read: number; readonly written: number } | undefined)[];
  readonly costs: readonly number[];
}

/** Two messages of a session; in the first one the model looks at several pages. */
async function rounds(model: string): Promise<Rounds> {
  const cached: Rounds["cached"][number][] = [];
  await using provider = await UnfriendlyProvider.start({
    seed: 1,
    often: 0,
    answer: (asked) => {
      cached.push(asked.cached);
      return cached.length < ROUNDS
        ? { toolCalls: [{ name: "look", args: { page: cached.length } }] }
        : { text: "It stands on page 3." };
    },
  });
  const connection = { apiKey: "k", baseUrl: `${provider.url}/v1` };
  await using t = await startTestEngine(lookService(), {
    on: database,
    model,
    providers: { anthropic: connection, openai: connection },
  });
  const session = model;
  await t.say("Where does it stand?", { session });
  await t.say("And on which line?", { session });
  const calls = await t.database.query<{ cost: string }>(
    {
      text: "select cost_micro_usd as cost from dure.model_calls where session_id = $1 order by id",
    },
    [session],
  );
  return {
    bodies: provider.requests.map(({ body }) => body),
    cached,
    costs: calls.map(({ cost }) => Number(cost)),
  };
}

/** What stands before the last message, as it leaves, without the marks of what is kept. */
function written({ system, tools, messages }: Rounds["bodies"][number]): string {
  return JSON.stringify({ system, tools, messages }, (key, value: unknown) =>
    key === "cache_control" ? undefined : value,
  ).slice(0, -2);
}

test.each(["anthropic:claude-sonnet-4-5", "openai:gpt-4.1-mini"])(
  "each request to %s begins with the whole one before it, also in the next turn",
  async (model) => {
    const { bodies } = await rounds(model);

    const texts = bodies.map(written);
    expect(texts).toHaveLength(ROUNDS + 1);
    expect(texts.filter((text, index) => !text.startsWith(texts[index - 1] ?? ""))).toEqual([]);
  },
);

test("Anthropic reads what it has seen before from its cache, and the price says so", async () => {
  const { cached, costs } = await rounds("anthropic:claude-haiku-4-5");
  const seen = cached.map((tokens) => tokens!.read + tokens!.written);

  expect(cached.map((tokens) => tokens!.read)).toEqual([0, ...seen.slice(0, -1)]);
  expect([...new Set(seen)].toSorted((a, b) => a - b)).toEqual(seen); // each keeps more
  const [first, second] = cached;
  const [firstCost, secondCost] = costs;
  // Input 1 µ$ a token, output 5; read for a tenth, written for a quarter more.
  expect(firstCost).toBe(Math.ceil(100 + first!.written * 1.25 + 20 * 5));
  expect(secondCost).toBe(Math.ceil(100 + second!.read / 10 + second!.written * 1.25 + 20 * 5));
});
