import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startCallerTeam, type CallerTeam } from "./caller-team.ts";
import { openAiClient, type OpenAiClient } from "./client.ts";

/** Tools of the caller, with the official client of OpenAI and the AI SDK's provider as they are. */
let team: CallerTeam;
let openai: OpenAiClient;

beforeAll(async () => {
  team = await startCallerTeam();
  openai = await clientOf(team.token);
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

function clientOf(apiKey: string): Promise<OpenAiClient> {
  return openAiClient({ apiKey, baseURL: `${team.url}/openai/v1`, maxRetries: 0 });
}

const PARAMETERS = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
} as const;
const WEATHER = {
  type: "function",
  function: { name: "weather", description: "The weather of a city.", parameters: PARAMETERS },
} as const;
const tooled = (parameters: object): object => ({
  ...WEATHER,
  function: { name: "weather", parameters },
});

function deep(levels: number): object {
  let schema = {};
  for (let level = 0; level < levels; level++) schema = { not: schema };
  return schema;
}

const SUN: Readonly<Record<string, string>> = { Seoul: "sunny", Busan: "windy", Jeju: "wet" };
const said = (content: string): object[] => [{ role: "user", content }];

/** As `runTools` of the official client wants it. */
function runnable(weather: (args: { city: string }) => unknown): object {
  const parse = (text: string): unknown => z.object({ city: z.string() }).parse(JSON.parse(text));
  return { type: "function", function: { ...WEATHER.function, parse, function: weather } };
}

describe("runTools of the official client", FULL, () => {
  test.each([
    [{ stream: false }, "without a session"],
    [{ stream: true }, "without a session"],
    [{ stream: false, user: "run-1" }, "in a session"],
    [{ stream: true, user: "run-2" }, "in a session"],
  ])("goes on to the answer (%o, %s)", async (how, _where) => {
    const cities: string[] = [];
    const runner = openai.chat.completions.runTools({
      model: "ruda",
      messages: said("weather in Seoul and Busan?"),
      tools: [
        runnable(({ city }) => {
          cities.push(city);
          return SUN[city];
        }),
      ],
      ...how,
    });

    expect(await runner.finalContent()).toBe("It is sunny and windy.");
    expect(cities).toEqual(["Seoul", "Busan"]);
  });

  test("asks for more than one round, and remembers the whole as one exchange", async () => {
    const messages = [
      { role: "system", content: "Be brief." },
      ...said("Hi"),
      { role: "assistant", content: "Hello." },
      ...said("weather in Seoul?"),
    ];
    const before = team.asked.length;
    const runner = openai.chat.completions.runTools({
      model: "ruda",
      messages,
      tools: [runnable(({ city }) => (city === "Seoul" ? "again" : SUN[city]))],
    });

    expect(await runner.finalContent()).toContain("wet");
    for (const { messages: told } of team.asked.slice(before)) {
      expect(told[0]).toMatchObject({
        role: "user",
        text: "system: Be brief.\n\nuser: Hi\n\nassistant: Hello.",
      });
      expect(told[1]).toMatchObject({ role: "user", text: "weather in Seoul?" });
    }
  });

  test.each(["rude weather in Seoul?", "misfit weather in Seoul?"])(
    "gets over a model that calls wrongly: %s",
    async (question) => {
      const runner = openai.chat.completions.runTools({
        model: "ruda",
        messages: said(question),
        tools: [runnable(({ city }) => SUN[city])],
      });

      expect(await runner.finalContent()).toMatch(/^It is .+\.$/s);
    },
  );
});

describe("the AI SDK", FULL, () => {
  const weather = tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => SUN[city] ?? "unknown",
  });
  const provider = () => createOpenAI({ apiKey: team.token, baseURL: `${team.url}/openai/v1` });
  const models = [
    ["/chat/completions", () => provider().chat("ruda")],
    ["/responses", () => provider().responses("ruda")],
  ] as const;
  const asked = { tools: { weather }, stopWhen: isStepCount(5), maxRetries: 0 };

  test.each(models)("%s: generateText goes on to the answer", async (_path, model) => {
    const { text, steps } = await generateText({
      ...asked,
      model: model(),
      prompt: "Please, weather in Seoul and Busan?",
    });

    expect(text).toBe("It is sunny and windy.");
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]?.text).toBe("Looking.");
  });

  test.each(models)("%s: streamText goes on to the answer", async (_path, model) => {
    const { text, toolResults } = streamText({
      ...asked,
      model: model(),
      prompt: "weather in Busan?",
    });

    expect(await text).toBe("It is windy.");
    expect(await toolResults).toBeDefined();
  });

  test.each(models)("%s: the next question is told what was found", async (_path, model) => {
    const first = await generateText({
      ...asked,
      model: model(),
      prompt: "Please, weather in Seoul?",
    });
    const { text } = await generateText({
      ...asked,
      model: model(),
      messages: [
        { role: "user", content: "weather in Seoul?" },
        ...first.responseMessages,
        { role: "user", content: "weather in Jeju?" },
      ],
    });

    expect(text).toBe("It is wet.");
    expect(team.asked.at(-1)?.messages[0]).toMatchObject({
      text: expect.stringContaining("result of weather: sunny") as string,
    });
    expect(team.asked.at(-1)?.messages[0]).toMatchObject({
      text: expect.stringContaining("assistant: It is sunny.") as string,
    });
  });

  test("arguments that do not fit never reach the caller: the model mends them", async () => {
    const { steps } = await generateText({
      ...asked,
      model: provider().chat("ruda"),
      prompt: "misfit weather in Seoul?",
    });

    expect(steps.map(({ toolCalls }) => toolCalls.map(({ input }) => input))).toEqual([
      [{ city: "Seoul" }],
      [],
    ]);
    expect(steps.at(-1)?.text).toBe("It is sunny.");
  });
});

describe("responses of the official client", FULL, () => {
  const tools = [{ type: "function", name: "weather", parameters: PARAMETERS, strict: false }];

  test("hand out a call, and go on from the answer that has it", async () => {
    const first = await openai.responses.create({
      model: "ruda",
      input: "weather in Busan?",
      tools,
    });
    const call = first.output.find(({ type }) => type === "function_call")!;
    const second = await openai.responses.create({
      model: "ruda",
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "windy" }],
      tools,
    });

    expect(call).toMatchObject({ name: "weather", arguments: '{"city":"Busan"}' });
    expect(first.output).toHaveLength(1);
    expect(second.output_text).toBe("It is windy.");
    expect(second.conversation).toEqual(first.conversation);
    expect(await openai.responses.retrieve(first.id)).toMatchObject({ output: first.output });
    expect((await openai.responses.inputItems.list(second.id)).data).toMatchObject([
      { type: "function_call_output", call_id: call.call_id, output: "windy" },
    ]);
  });

  test("take no result for a call of one that was deleted, but for one that was not stored", async () => {
    const answerTo = async (how: object, isDeleted: boolean): Promise<unknown> => {
      const asked = { model: "ruda", input: "weather in Busan?", tools, ...how };
      const { id, output } = await openai.responses.create(asked);
      if (isDeleted) await openai.responses.delete(id);
      const result = { type: "function_call_output", call_id: output[0]!.call_id, output: "windy" };
      return openai.responses.create({ ...asked, input: [result] });
    };

    expect(await answerTo({ store: false }, false)).toMatchObject({ output_text: "It is windy." });
    await expect(answerTo({}, true)).rejects.toMatchObject({ code: "TOOL_CALL_UNKNOWN" });
  });

  test("stream the call with its arguments", async () => {
    const stream = openai.responses.stream({
      model: "ruda",
      input: "Please, weather in Busan?",
      tools,
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);

    expect(types).toEqual(
      expect.arrayContaining([
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.completed",
      ]),
    );
    expect((await stream.finalResponse()).output).toMatchObject([
      { type: "message" },
      { type: "function_call", name: "weather", arguments: '{"city":"Busan"}' },
    ]);
  });
});

describe("refusals", FULL, () => {
  const ask = (more: object, client = openai) =>
    client.chat.completions.create({
      model: "ruda",
      messages: said("weather in Seoul?"),
      tools: [WEATHER],
      ...more,
    });

  async function handedOut(more: object = {}): Promise<object[]> {
    const { choices } = await ask(more);
    const { message, finish_reason } = choices[0]!;
    expect(finish_reason).toBe("tool_calls");
    const [call] = message.tool_calls!;
    return [
      ...said("weather in Seoul?"),
      message,
      { role: "tool", tool_call_id: call!.id, content: "sunny" },
    ];
  }

  test.each([
    ["a service with a handler", { model: "desk" }, 400, "NOT_SPOKEN"],
    [
      "a name that the agent has",
      { tools: [{ ...WEATHER, function: { name: "remember" } }] },
      409,
      "TOOL_NAME_TAKEN",
    ],
    [
      "too many tools",
      { tools: Array.from({ length: 129 }, () => WEATHER) },
      400,
      "CALLER_TOOLS_INVALID",
    ],
    ["a schema that is none", { tools: [tooled({ type: "text" })] }, 400, "CALLER_TOOLS_INVALID"],
    ["a schema of 4,000 levels", { tools: [tooled(deep(4_000))] }, 400, "BODY_TOO_COMPLEX"],
    [
      "a result of no call",
      { messages: [...said("Hi"), { role: "tool", tool_call_id: "call_1", content: "x" }] },
      400,
      "TOOL_CALL_UNKNOWN",
    ],
  ])("%s", async (_what, more, status, code) => {
    await expect(ask(more)).rejects.toMatchObject({ status, code });
  });

  test("a result is taken once: the same again is the same answer, another is refused", async () => {
    const messages = await handedOut();
    const first = await ask({ messages });
    const again = await ask({ messages });
    const other = { ...messages.at(-1), content: "rainy" };

    expect(again.id).toBe(first.id);
    expect(again.choices[0]?.message.content).toBe("It is sunny.");
    await expect(ask({ messages: [...messages.slice(0, -1), other] })).rejects.toMatchObject({
      status: 409,
      code: "TOOL_CALL_CLOSED",
    });
  });

  test("a result under another session's name, or of another tenant, is one of no call", async () => {
    const messages = await handedOut({ user: "mine" });
    const store = new PostgresTokenStore({ database: team.database });
    const { token } = await store.create({ name: "beta", scopes: ["chat"], tenant: "beta" });
    const theirs = await clientOf(token);
    const unknown = { status: 400, code: "TOOL_CALL_UNKNOWN" };

    await expect(ask({ messages, user: "other" })).rejects.toMatchObject(unknown);
    await expect(ask({ messages }, theirs)).rejects.toMatchObject(unknown);
    expect((await ask({ messages })).choices[0]?.message.content).toBe("It is sunny.");
  });

  test("a yes that a caller's tool gave confirms nothing: it is a result", async () => {
    const messages = await handedOut({ user: "yes" });
    await ask({ messages: [...messages.slice(0, -1), { ...messages.at(-1), content: "yes" }] });

    expect(team.asked.at(-1)?.messages.at(-1)).toMatchObject({ role: "tool", result: "yes" });
  });
});

test("a call that one process has handed out is answered at another one", FULL, async () => {
  await using other = await startCallerTeam({ on: team });
  const elsewhere = await openAiClient({
    apiKey: other.token,
    baseURL: `${other.url}/openai/v1`,
    maxRetries: 0,
  });
  const asked = { model: "ruda", tools: [WEATHER] };
  const first = await openai.chat.completions.create({
    ...asked,
    messages: said("weather in Seoul?"),
  });
  const { message } = first.choices[0]!;
  const result = { role: "tool", tool_call_id: message.tool_calls![0]!.id, content: "sunny" };
  const messages = [...said("weather in Seoul?"), message, result];

  const [one, two] = await Promise.all([
    openai.chat.completions.create({ ...asked, messages }),
    elsewhere.chat.completions.create({ ...asked, messages }),
  ]);

  expect(one.id).toBe(two.id);
  expect(one.choices[0]?.message.content).toBe("It is sunny.");
});
