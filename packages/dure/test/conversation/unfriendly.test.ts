// @module-tag slow
import { MOODS, type Mood, type ProviderAnswer, UnfriendlyProvider } from "@dure/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { chatAgent, conversationalAgent, type Agent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { sampled } from "../../src/kernel/test-tiers.ts";

let database: TestDatabase;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database[Symbol.asyncDispose]());

type Wire = "openai" | "openai-compatible" | "anthropic";
const MODELS = {
  openai: "gpt-4.1-mini",
  "openai-compatible": "llama3.2:3b",
  anthropic: "claude-sonnet-4-5",
} as const satisfies Record<Wire, string>;
const WIRES = Object.keys(MODELS) as Wire[];

const reading = z.object({
  kind: z.enum(["details", "question", "other"]),
  to: z.string().min(1).max(60).optional(),
  amount: z.int().min(1).optional(),
  day: z.iso.date().optional(),
  message: z.string().default(""),
});
const GOOD: ProviderAnswer = {
  object: { kind: "details", to: "홍길동", amount: 50_000, message: "" },
};

const reader = conversationalAgent({
  name: "reader",
  prompt: "Read.",
  schema: reading,
  card: { temperature: 0, policy: { maxAttempts: 3, backoffSec: 0, timeoutSec: 5 } },
});

/** A turn with a mood each, by seed. */
const SEEDS = sampled(
  Array.from({ length: 30 }, (_, index) => index + 1),
  1,
);
const MESSAGES = Array.from({ length: 8 }, (_, index) => `홍길동에게 5만원 (${index})`);

let sessions = 0;

/** Turns of one session of a service of one agent, with a provider of its own. */
async function talk(
  wire: Wire,
  provider: UnfriendlyProvider,
  { agent = reader, messages = ["홍길동에게 5만원"] }: { agent?: Agent; messages?: string[] } = {},
) {
  const service = defineService({
    name: "desk",
    agents: { reader: agent },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { data, text } = await turn.agent("reader", "");
        return turn.done({ message: text, receipt: data });
      }),
    },
  });
  const settings = { apiKey: "a-key", baseUrl: `${provider.url}/v1` };
  await using t = await startTestEngine(service, {
    on: database,
    model: `${wire}:${MODELS[wire]}`,
    providers: { openai: settings, anthropic: settings, "openai-compatible": settings },
  });
  const session = `u${++sessions}`;
  const ends = [];

  for (const message of messages) ends.push((await t.say(message, { session })).done);

  return ends;
}

function refusals({ requests }: UnfriendlyProvider): readonly string[] {
  return requests.flatMap(({ refusal }) => refusal ?? []);
}

describe.each(WIRES)("a reader of slots with an unfriendly model over %s", (wire) => {
  const takes: Partial<Record<Mood, object>> = {
    null_fields: GOOD.object as object,
    extra_field: GOOD.object as object,
    code_fence: GOOD.object as object,
    apology: GOOD.object as object,
    trailing_comma: GOOD.object as object,
    slow: GOOD.object as object,
  };

  test.each(Object.keys(takes) as Mood[])("takes the answer at once: %s", async (mood) => {
    const answer = (): ProviderAnswer => GOOD;
    await using provider = await UnfriendlyProvider.start({
      seed: 1,
      answer,
      moods: [mood],
      often: 1,
      // Only a model that is not bound to the schema writes these.
      abilities: { formats: ["json_object"], outputFormat: false },
    });

    const [done] = await talk(wire, provider);

    expect(done).toMatchObject({ receipt: takes[mood] });
    expect(provider.requests.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test.each(SEEDS.rows)(
    "ends each turn with an answer that fits, or says that there is none: seed %i",
    SEEDS.options,
    async (seed) => {
      await using provider = await UnfriendlyProvider.start({ seed, answer: () => GOOD });

      const ends = await talk(wire, provider, { messages: MESSAGES });

      for (const { error, receipt } of ends) {
        if (error) expect(error.code).toMatch(/^MODEL_(?!REQUEST_INVALID)/);
        else expect(reading.safeParse(receipt).success).toBe(true);
      }

      expect(refusals(provider)).toEqual([]);
    },
  );
});

describe("the way in which JSON is asked for", () => {
  const friendly = (abilities: object) =>
    UnfriendlyProvider.start({ seed: 1, answer: () => GOOD, often: 0, abilities });
  const askedFor = ({ requests }: UnfriendlyProvider) =>
    requests.map(({ body }) => {
      const format = body["response_format"] as
        | { type: string; json_schema?: { strict?: boolean } }
        | undefined;
      return format?.json_schema?.strict ? "strict" : (format?.type ?? "text");
    });

  test.each<{ formats: ("strict" | "json_schema" | "json_object")[]; asked: string[] }>([
    { formats: ["strict", "json_schema", "json_object"], asked: ["strict", "strict"] },
    { formats: ["json_schema"], asked: ["strict", "json_schema", "json_schema"] },
    {
      formats: ["json_object"],
      asked: ["strict", "json_schema", "json_object", "json_object"],
    },
    { formats: [], asked: ["strict", "json_schema", "json_object", "text", "text"] },
  ])(
    "goes down once and is remembered: an endpoint that knows $formats",
    async ({ formats, asked }) => {
      await using provider = await friendly({ formats });

      const ends = await talk("openai-compatible", provider, { messages: ["a", "b"] });

      expect(ends.map(({ receipt }) => receipt)).toEqual([GOOD.object, GOOD.object]);
      expect(askedFor(provider)).toEqual(asked);
    },
  );

  test("is no strict mode where the schema cannot be strict", async () => {
    const agent = conversationalAgent({
      name: "reader",
      schema: z.object({ kind: z.string(), more: z.record(z.string(), z.string()).optional() }),
    });
    await using provider = await friendly({});

    const [done] = await talk("openai", provider, { agent });

    expect(done?.receipt).toEqual({ kind: "details" });
    expect(askedFor(provider)).toEqual(["json_schema"]);
  });

  test("is a tool for a model of Anthropic's that knows no output format", async () => {
    await using provider = await friendly({ outputFormat: false });

    const ends = await talk("anthropic", provider, { messages: ["a", "b"] });

    expect(ends.map(({ receipt }) => receipt)).toEqual([GOOD.object, GOOD.object]);
    expect(provider.requests.map(({ body }) => "tools" in body)).toEqual([false, true, true]);
  });

  test.each(["openai-compatible", "anthropic"] as const)(
    "leaves the temperature out for a model that takes none: %s",
    async (wire) => {
      await using provider = await friendly({ temperature: false });

      const ends = await talk(wire, provider, { messages: ["a", "b"] });

      expect(ends.map(({ error }) => error)).toEqual([undefined, undefined]);
      expect(provider.requests.map(({ body }) => body["temperature"])).toEqual([
        0,
        undefined,
        undefined,
      ]);
    },
  );

  test("a 400 that does not name it stays an error", async () => {
    await using provider = await UnfriendlyProvider.start({
      seed: 1,
      answer: () => GOOD,
      often: 0,
    });
    const agent = chatAgent({ name: "reader", card: { temperature: 2 } });

    const [done] = await talk("anthropic", provider, { agent });

    expect(done?.error).toBeUndefined(); // the AI SDK keeps it within 0 and 1
    expect(refusals(provider)).toEqual([]);
  });
});

describe.each(WIRES)("an agent with tools and an unfriendly model over %s", (wire) => {
  const rate = tool({
    description: "The exchange rate.",
    inputSchema: z.object({ currency: z.string() }),
    execute: ({ currency }) => ({ currency, won: 1_380 }),
  });
  const agent = chatAgent({
    name: "reader",
    prompt: "Help.",
    tools: { exchange_rate: rate },
    card: { policy: { maxAttempts: 3, backoffSec: 0, maxToolRounds: 3 } },
  });
  const answer = ({ lastText }: { lastText: string }): ProviderAnswer =>
    lastText.includes("1380")
      ? { text: "1달러는 1,380원이에요." }
      : { toolCalls: [{ name: "exchange_rate", args: { currency: "USD" } }] };

  test.each(SEEDS.rows)(
    "sends each result where the provider wants it, whatever the model calls: seed %i",
    SEEDS.options,
    async (seed) => {
      await using provider = await UnfriendlyProvider.start({ seed, answer, moods: MOODS });

      const ends = await talk(wire, provider, { agent, messages: MESSAGES });

      expect(refusals(provider)).toEqual([]);
      for (const { error } of ends) {
        expect(error?.code ?? "MODEL_OK").toMatch(/^(?:MODEL_|AGENT_LOOPS$)/);
      }
    },
  );
});
