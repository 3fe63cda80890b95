import { FULL } from "../kernel/test-tiers.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { ScriptedModel } from "@dure/testing";
import type { ModelRequest } from "./model.ts";
import { Models } from "./models.ts";
import { offlineModel, type OfflineModel, OfflineModels } from "./offline.ts";
import { callOptions, requestOf } from "./prompt.ts";
import { soundMessages } from "./sound-messages.ts";
import {
  costMicroUsd,
  DEFAULT_PRICES,
  estimateRequestTokens,
  estimateTokens,
  priceOf,
} from "./prices.ts";

describe("an offline model", () => {
  test("gets the request as it was asked, counts its calls and answers word by word", async () => {
    const asked: [ModelRequest, number][] = [];
    const model = offlineModel("counter", (request, { call }) => {
      asked.push([request, call]);
      return "하나 둘  셋";
    });
    const models = makeModels(model);
    const request: ModelRequest = {
      system: "count",
      messages: [{ role: "user", text: "세어 줘" }],
      maxOutputTokens: 50,
    };
    const pieces: string[] = [];

    const answer = await models
      .resolve("offline:counter")
      .stream(request, { onText: (delta) => pieces.push(delta) });
    await models.resolve("offline:counter").stream(request);

    expect(pieces).toEqual(["하나", " 둘", "  셋"]);
    expect(answer).toMatchObject({
      text: "하나 둘  셋",
      usage: { estimated: true },
      costMicroUsd: 0,
      provider: "offline",
      model: "counter",
    });
    expect(asked).toEqual([
      [request, 1],
      [request, 2],
    ]);
    expect(models.offline.calls("counter")).toBe(2);
  });

  test("may answer with tools, an object, pieces, usage, a stream of its own", async () => {
    const answers = {
      tools: offlineModel("tools", () => ({
        text: "let me see",
        toolCalls: [{ name: "clock" }, { id: "c2", name: "sum", args: { a: 1 } }],
      })),
      object: offlineModel("object", () => ({ object: { a: [1] } })),
      own: offlineModel("own", async function* () {
        yield "a";
        yield "b";
      }),
      usage: offlineModel("usage", () => ({
        chunks: ["a", "b"],
        usage: { tokensIn: 5, tokensOut: 6, cachedIn: 2 },
        finishReason: "length" as const,
      })),
    };
    const models = makeModels(...Object.values(answers));
    const ask = (name: string) => models.resolve(`offline:${name}`).stream(user("x"));

    expect(await ask("tools")).toMatchObject({
      text: "let me see",
      finishReason: "tool-calls",
      toolCalls: [
        { id: "offline_1_1", name: "clock", args: {} },
        { id: "c2", name: "sum", args: { a: 1 } },
      ],
    });
    expect(await ask("object")).toMatchObject({ text: '{"a":[1]}', finishReason: "stop" });
    expect(await ask("own")).toMatchObject({ text: "ab" });
    expect(await ask("usage")).toMatchObject({
      text: "ab",
      finishReason: "length",
      usage: { tokensIn: 5, tokensOut: 6, cachedIn: 2, estimated: false },
    });
  });

  test("sees the same random numbers for the same request, others for another", async () => {
    const dice = offlineModel("dice", (_request, { random }) => `${random()} ${random()}`);
    const models = makeModels(dice);
    const roll = async (text: string) =>
      (await models.resolve("offline:dice").stream(user(text))).text;

    const [first, again, other] = [await roll("a"), await roll("a"), await roll("b")];

    expect(again).toBe(first);
    expect(other).not.toBe(first);
    expect(
      first
        .split(" ")
        .map(Number)
        .every((number) => number >= 0 && number < 1),
    ).toBe(true);
  });

  test("fails like a provider when it says so, also in mid-stream", async () => {
    const limited = offlineModel("limited", () => ({
      error: { status: 429, headers: { "retry-after": "2" } },
    }));
    const cut = offlineModel("cut", () => ({
      text: "half an",
      error: new TypeError("terminated"),
    }));
    const models = makeModels(limited, cut);
    const pieces: string[] = [];

    await expect(models.resolve("offline:limited").stream(user("x"))).rejects.toMatchObject({
      code: "MODEL_RATE_LIMITED",
      details: { retryAfterMs: 2_000 },
    });
    await expect(
      models.resolve("offline:cut").stream(user("x"), { onText: (delta) => pieces.push(delta) }),
    ).rejects.toMatchObject({ code: "MODEL_UNREACHABLE" });
    expect(pieces.join("")).toBe("half an");
  });

  test("that hangs is interrupted", async () => {
    const models = makeModels(
      offlineModel("deaf", () => new Promise<string>(() => {})),
      offlineModel("slow", () => ({ text: "x", delayMs: 60_000 })),
    );

    await expect(
      models.resolve("offline:deaf").stream(user("x"), { timeoutMs: 20 }),
    ).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    await expect(
      models.resolve("offline:slow").stream(user("x"), { timeoutMs: 20 }),
    ).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
  });

  test("that is not registered is named, with the one that was probably meant", () => {
    const models = makeModels(offlineModel("transfer-intent", () => ""));

    expect(() => models.resolve("offline:transfer-intents")).toThrowError(
      expect.objectContaining({
        code: "OFFLINE_MODEL_UNKNOWN",
        hint: 'Did you mean "transfer-intent"?',
      }) as Error,
    );
  });

  test("has its name alone", () => {
    const model = offlineModel("same", () => "");

    expect(() => new OfflineModels([model, model], { clock: systemClock })).not.toThrow();
    expect(
      () => new OfflineModels([model, offlineModel("same", () => "")], { clock: systemClock }),
    ).toThrowError(expect.objectContaining({ code: "OFFLINE_MODEL_EXISTS" }) as Error);
  });

  test("echo says what was said, also where JSON of a shape is asked for", async () => {
    const schema = {
      type: "object",
      properties: {
        action: { enum: ["ASK", "DONE"] },
        message: { type: "string" },
        count: { type: "integer", minimum: 1 },
        extra: { type: "string" },
      },
      required: ["action", "message", "count"],
    };
    const echo = makeModels().resolve("offline");

    expect((await echo.stream(user("안녕"))).text).toBe("안녕");
    expect(JSON.parse((await echo.stream({ ...user("안녕"), output: { schema } })).text)).toEqual({
      action: "ASK",
      message: "안녕",
      count: 1,
    });
  });
});

describe("a scripted model", () => {
  test("follows its script call by call", async () => {
    const model = new ScriptedModel([
      "first",
      { expect: "둘", reply: { text: "second" } },
      { expect: /3/, reply: (request) => `of ${request.messages.length}` },
    ]);
    const call = makeModels(model).resolve("offline:scripted");

    const answers = [
      await call.stream(user("1")),
      await call.stream(user("둘째")),
      await call.stream(user("3")),
    ];

    expect(answers.map((answer) => answer.text)).toEqual(["first", "second", "of 1"]);
    expect(model.requests).toHaveLength(3);
    model.assertComplete();
  });

  test("fails a call that it does not expect, and remembers it even if the error was swallowed", async () => {
    const model = new ScriptedModel([{ expect: "yes", reply: "ok" }]);
    const call = makeModels(model).resolve("offline:scripted");

    await expect(call.stream(user("no"))).rejects.toMatchObject({
      code: "SCRIPT_BROKEN",
      message: expect.stringContaining('call 1 asked "no" instead of yes') as string,
    });
    await expect(call.stream(user("more"))).rejects.toMatchObject({ code: "SCRIPT_BROKEN" });

    expect(() => model.assertComplete()).toThrowError(
      /call 1 asked.*call 2 was not expected; the script has 1/,
    );
  });

  test("misses calls that were not made", () => {
    expect(() => new ScriptedModel(["a", "b"]).assertComplete()).toThrowError(
      /2 of 2 expected calls were not made/,
    );
  });
});

describe("a request in the words of the AI SDK", () => {
  const text = fc.string().map((words) => `said: ${words}`);
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as never);
  const message = fc.oneof(
    fc.record({ role: fc.constant("user" as const), text }),
    fc.record({ role: fc.constant("assistant" as const), text }),
    fc.record({
      role: fc.constant("assistant" as const),
      text: fc.oneof(fc.constant(""), text),
      toolCalls: fc.array(
        fc.record({
          id: name,
          name,
          args: fc.dictionary(name, json).map((value) => ({ ...value })),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
    fc.record(
      {
        role: fc.constant("tool" as const),
        callId: name,
        name,
        result: json,
        isError: fc.constant(true),
      },
      { requiredKeys: ["role", "callId", "name", "result"] },
    ),
  );
  const request = fc.record(
    {
      system: text,
      messages: fc.array(message, { maxLength: 5 }),
      tools: fc.array(
        fc.record({ name, description: text, inputSchema: fc.constant({ type: "object" }) }),
        { minLength: 1 },
      ),
      output: fc.record({ schema: fc.constant({ type: "object" }), name }),
    },
    { requiredKeys: ["messages"] },
  );

  test("is the same request on the way back", () => {
    fc.assert(
      fc.property(request, (asked) => {
        const messages = soundMessages(asked.messages);
        fc.pre(asked.tools !== undefined || !messages.some(({ role }) => role === "tool"));
        const back = requestOf(callOptions(asked, { temperature: 0.5, maxOutputTokens: 7 }));

        expect(back).toEqual({
          ...asked,
          messages,
          ...(asked.tools ? { toolChoice: "auto" } : {}),
          temperature: 0.5,
          maxOutputTokens: 7,
        });
      }),
    );
  });

  test("leaves out an answer that never began", () => {
    const asked: ModelRequest = {
      messages: [
        { role: "user", text: "a" },
        { role: "assistant", text: "" },
        { role: "user", text: "b" },
      ],
    };

    expect(callOptions(asked, { temperature: undefined, maxOutputTokens: 7 }).prompt).toHaveLength(
      2,
    );
  });
});

describe("prices and estimates", () => {
  test("a dated version has the price of its model; another model has none", () => {
    expect(priceOf(DEFAULT_PRICES, { provider: "openai", model: "gpt-4o-2024-08-06" })).toBe(
      DEFAULT_PRICES["openai:gpt-4o"],
    );
    expect(
      priceOf(DEFAULT_PRICES, { provider: "anthropic", model: "claude-sonnet-4-5-20250929" }),
    ).toBe(DEFAULT_PRICES["anthropic:claude-sonnet-4-5"]);
    expect(priceOf(DEFAULT_PRICES, { provider: "openai", model: "gpt-4o-audio" })).toBeUndefined();
  });

  test.each([
    ["gpt-4o-2024-08-06", "gpt-4o"],
    ["gpt-4o-20240806", "gpt-4o"],
    ["gpt-4o-latest", "gpt-4o"],
    ["gpt-4o-mini-2024-07-18", "gpt-4o-mini"],
    ["gpt-4o-2024-08-06-audio", undefined],
    ["gpt-4o-2024", undefined],
    ["gpt-4o-202408061", undefined],
    ["gpt-4o-newest", undefined],
    ["gpt-4o-latest-mini", undefined],
  ])("a version costs what its model costs, and nothing else does: %s is %s", (model, priced) => {
    expect(priceOf(DEFAULT_PRICES, { provider: "openai", model })).toBe(
      priced && DEFAULT_PRICES[`openai:${priced}`],
    );
  });

  test("a version with a price of its own has that one", () => {
    const prices = {
      "openai:gpt-4o": { in: 1, out: 2 },
      "openai:gpt-4o-2024-08-06": { in: 3, out: 4 },
    };

    expect(priceOf(prices, { provider: "openai", model: "gpt-4o-2024-08-06" })).toEqual({
      in: 3,
      out: 4,
    });
    expect(priceOf(prices, { provider: "openai", model: "gpt-4o-2024-11-20" })).toEqual({
      in: 1,
      out: 2,
    });
  });

  test("a price of one's own goes before", () => {
    const models = new Models({
      clock: systemClock,
      logger: silentLogger,
      prices: { "openai:gpt-4o": { in: 1, out: 2 } },
    });

    expect(models.priceOf({ provider: "openai", model: "gpt-4o" })).toEqual({ in: 1, out: 2 });
  });

  test("costs are micro-dollars, rounded up, cached input at its own price", () => {
    const price = { in: 2_000_000, out: 10_000_000, cachedIn: 500_000 };

    expect(costMicroUsd(price, { tokensIn: 1_000, tokensOut: 100 })).toBe(3_000);
    expect(costMicroUsd(price, { tokensIn: 1_000, tokensOut: 100, cachedIn: 400 })).toBe(
      1_200 + 200 + 1_000,
    );
    const haiku = DEFAULT_PRICES["anthropic:claude-haiku-4-5"]!;
    const used = { tokensIn: 4_600, tokensOut: 50, cachedIn: 4_000, cacheWrites: 500 };
    expect(costMicroUsd(haiku, used)).toBe(100 + 400 + 625 + 250);
    expect(costMicroUsd({ in: 1, out: 1 }, { tokensIn: 1, tokensOut: 0 })).toBe(1);
  });

  test.each([
    ["", 0],
    ["a", 1],
    ["The quick brown fox jumps over the lazy dog.", 11],
    ["안녕하세요, 무엇을 도와 드릴까요?", 16],
    ["你好", 2],
    ["😀", 2],
  ])("%j is about %i tokens", (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  test("an estimate grows with the text and counts what stands around it", FULL, () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "binary" }),
        (a, b) => estimateTokens(a + b) >= Math.max(estimateTokens(a), estimateTokens(b)),
      ),
    );
    const bare = estimateRequestTokens(user("x"));
    expect(
      estimateRequestTokens({
        ...user("x"),
        tools: [{ name: "clock", inputSchema: { type: "object" } }],
      }),
    ).toBeGreaterThan(bare);
  });
});

function user(text: string): ModelRequest {
  return { messages: [{ role: "user", text }] };
}

function makeModels(...offline: OfflineModel[]): Models {
  return new Models({ clock: systemClock, logger: silentLogger, offline });
}
