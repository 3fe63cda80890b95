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

test("reasoning of OpenAI's Responses goes back to it encrypted, and nothing is stored there", async () => {
  const bodies: Record<string, unknown>[] = [];
  const openai = createOpenAI({
    apiKey: "k",
    fetch: async (_url, init) => {
      bodies.push(JSON.parse(init?.body as string) as Record<string, unknown>);
      return new Response(EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), {
        headers: { "content-type": "text/event-stream" },
      });
    },
  });
  const { llm } = parseCard({ model: openai("gpt-5") });
  const model = new Models({ clock: systemClock, logger: silentLogger }).resolve(llm!);
  const tools = [{ name: "look", inputSchema: { type: "object", properties: {} } }];

  const { text, toolCalls, reasoning } = await model.stream({ ...ASKED, tools });
  await model.stream({
    tools,
    messages: [
      ...ASKED.messages,
      { role: "assistant", text, toolCalls, reasoning },
      { role: "tool", callId: toolCalls[0]!.id, name: "look", result: "seen" },
    ],
  });

  expect(bodies[0]).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  const input = (bodies[1]!["input"] as unknown[]).filter(isObject);
  expect(input.map(({ type, role }) => type ?? role)).toEqual([
    "user",
    "reasoning",
    "function_call",
    "function_call_output",
  ]);
  expect(input[1]).toMatchObject({ encrypted_content: "secret thoughts" });
});

/** An answer of the Responses API that thinks and calls. Source: OpenAI, "Streaming events". */
const THOUGHT = {
  type: "reasoning",
  id: "rs_1",
  summary: [],
  encrypted_content: "secret thoughts",
};
const CALL = {
  ...{ type: "function_call", id: "fc_1", call_id: "call_1", name: "look" },
  ...{ arguments: "{}", status: "completed" },
};
const EVENTS = [
  { type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } },
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { ...THOUGHT, encrypted_content: null },
  },
  { type: "response.output_item.done", output_index: 0, item: THOUGHT },
  { type: "response.output_item.added", output_index: 1, item: { ...CALL, arguments: "" } },
  { type: "response.output_item.done", output_index: 1, item: CALL },
  {
    type: "response.completed",
    response: { usage: { input_tokens: 5, output_tokens: 5 } },
  },
];
