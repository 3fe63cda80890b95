import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { isObject } from "../kernel/json.ts";
import { parseCard } from "./card.ts";
import { Models } from "./models.ts";
import { callOptions } from "./prompt.ts";

const ASKED = { messages: [{ role: "user", text: "hi" }] } as const;
const LIMITS = { temperature: undefined, maxOutputTokens: 10 };

function optionsOf(llm: object) {
  const { reasoning, providerOptions } = callOptions(ASKED, LIMITS, "json_schema", {
    llm: parseCard({ llm }).llm,
  });
  return { reasoning, providerOptions };
}

/** Holds itself. */
const CIRCLE: Record<string, unknown> = {};
CIRCLE["again"] = CIRCLE;

describe("settings of a model", () => {
  test.each<[object, object]>([
    [
      { provider: "openai", model: "gpt-5", reasoningEffort: "high", verbosity: "low" },
      { reasoning: "high", providerOptions: { openai: { textVerbosity: "low" } } },
    ],
    [
      { provider: "openai", model: "gpt-5", service_tier: "flex" },
      { providerOptions: { openai: { serviceTier: "flex" } } },
    ],
    [
      { provider: "anthropic", model: "claude", serviceTier: "default", reasoning_effort: "none" },
      { reasoning: "none", providerOptions: { anthropic: { serviceTier: "standard_only" } } },
    ],
    [
      {
        provider: "openai",
        model: "gpt-5",
        verbosity: "low",
        providerOptions: { openai: { textVerbosity: "high", user: "u1" } },
      },
      { providerOptions: { openai: { textVerbosity: "high", user: "u1" } } },
    ],
    [
      { model: createOpenAI({ apiKey: "k" })("gpt-5"), reasoningEffort: "low" },
      { reasoning: "low", providerOptions: { openai: { store: false } } },
    ],
    [
      { model: createGoogle({ apiKey: "k" })("gemini-2.5-flash"), serviceTier: "default" },
      { providerOptions: { google: { serviceTier: "standard" } } },
    ],
  ])("%j reach the provider in its words", (llm, options) => {
    expect(optionsOf(llm)).toEqual({
      reasoning: undefined,
      providerOptions: undefined,
      ...options,
    });
  });

  test.each<[object, string]>([
    [{ reasoningEffort: "huge" }, "llm.reasoningEffort"],
    [{ verbosity: "low" }, "anthropic has no verbosity"],
    [{ serviceTier: "flex" }, 'anthropic has no serviceTier "flex"; it has auto, default'],
    [{ providerOptions: { openai: {} } }, 'are under "anthropic", not "openai"'],
    [{ providerOptions: { anthropic: 1 } }, "must be options by the name of a provider"],
    [{ reasonningEffort: "low" }, 'did you mean "reasoningEffort"?'],
  ])("%j of a model of Anthropic are refused when the card is read", (settings, because) => {
    const llm = { provider: "anthropic", model: "claude", ...settings };

    expect(() => parseCard({ llm })).toThrowError(
      expect.objectContaining({
        code: "CARD_INVALID",
        message: expect.stringContaining(because) as string,
      }) as Error,
    );
  });
});

/** The requests of an answer with these events, and of the one with what its calls gave. */
async function requestsAfter(
  items: readonly object[],
): Promise<readonly Record<string, unknown>[]> {
  const bodies: Record<string, unknown>[] = [];
  const events = eventsOf(items).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  const openai = createOpenAI({
    apiKey: "k",
    fetch: async (_url, init) => {
      bodies.push(JSON.parse(init?.body as string) as Record<string, unknown>);
      return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
    },
  });
  const { llm } = parseCard({ model: openai("gpt-5") });
  const model = new Models({ clock: systemClock, logger: silentLogger }).resolve(llm!);
  const tools = [{ name: "look", inputSchema: { type: "object", properties: {} } }];

  const { text, toolCalls, reasoning } = await model.stream({ ...ASKED, tools });
  const results = toolCalls.map(
    ({ id: callId, name }) => ({ role: "tool", callId, name, result: "seen" }) as const,
  );
  await model.stream({
    tools,
    messages: [...ASKED.messages, { role: "assistant", text, toolCalls, reasoning }, ...results],
  });
  return bodies;
}

/** What a request sends of the conversation. */
function inputOf({ input }: Record<string, unknown>): readonly Record<string, unknown>[] {
  return (input as unknown[]).filter(isObject);
}

test("reasoning of OpenAI's Responses goes back to it encrypted, and nothing is stored there", async () => {
  const [first, second] = await requestsAfter([thought(1), call(1)]);

  expect(first).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  const input = inputOf(second!);
  expect(input.map(({ type, role }) => type ?? role)).toEqual([
    ...["user", "reasoning", "function_call", "function_call_output"],
  ]);
  expect(input[1]).toMatchObject({ encrypted_content: "secret thoughts 1" });
});

test("what a model of OpenAI's Responses thought between two calls goes back between them", async () => {
  const [, second] = await requestsAfter([thought(1), call(1), thought(2), call(2)]);

  const input = inputOf(second!).filter(({ type }) => type !== undefined);
  expect(input.map(({ type, encrypted_content: sent, call_id: id }) => [type, sent ?? id])).toEqual(
    [
      ["reasoning", "secret thoughts 1"],
      ["function_call", "call_1"],
      ["reasoning", "secret thoughts 2"],
      ["function_call", "call_2"],
      ["function_call_output", "call_1"],
      ["function_call_output", "call_2"],
    ],
  );
});

/** An answer of the Responses API that thinks and calls. Source: OpenAI, "Streaming events". */
function eventsOf(items: readonly object[]): readonly object[] {
  return [
    { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } },
    ...items.flatMap((item, index) => [
      {
        type: "response.output_item.added",
        output_index: index,
        item:
          "arguments" in item ? { ...item, arguments: "" } : { ...item, encrypted_content: null },
      },
      { type: "response.output_item.done", output_index: index, item },
    ]),
    {
      type: "response.completed",
      response: { usage: { input_tokens: 5, output_tokens: 5 } },
    },
  ];
}

function thought(nth: number): object {
  const encrypted = { encrypted_content: `secret thoughts ${nth}` };
  return { type: "reasoning", id: `rs_${nth}`, summary: [], ...encrypted };
}

function call(nth: number): object {
  const about = { id: `fc_${nth}`, call_id: `call_${nth}`, name: "look" };
  return { type: "function_call", ...about, arguments: "{}", status: "completed" };
}

test("options of another provider are refused for a model object of Google", () => {
  const model = createGoogle({ apiKey: "k" })("gemini-2.5-flash");

  expect(() => parseCard({ model: { model, providerOptions: { openai: {} } } })).toThrowError(
    /providerOptions of google are under "google", not "openai"/,
  );
});

test.each<[string, object, string]>([
  ["a bigint", { thinking: { budgetTokens: 10n } }, "anthropic.thinking.budgetTokens is a bigint"],
  ["a function", { mcp: [{ token: () => "t" }] }, "anthropic.mcp.0.token is a function, no JSON"],
  ["a date", { at: new Date(0) }, "anthropic.at is a Date, no JSON"],
  ["no number", { n: Number.NaN }, "anthropic.n is NaN, no JSON"],
  ["itself", CIRCLE, "has too many levels"],
])("options that hold %s are refused when the card is read", (_, anthropic, because) => {
  const llm = { provider: "anthropic", model: "claude", providerOptions: { anthropic } } as const;

  expect(() => parseCard({ llm })).toThrowError(
    expect.objectContaining({
      code: "CARD_INVALID",
      message: expect.stringContaining(because) as string,
    }) as Error,
  );
});
