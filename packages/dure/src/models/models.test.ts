import { LLMock } from "@copilotkit/aimock";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { runAttempts } from "./attempts.ts";
import { parseCard } from "./card.ts";
import { parseModelJson } from "./json.ts";
import type {
  LlmRef,
  ModelAnswer,
  ModelCallOptions,
  ModelCallRecord,
  ModelRequest,
} from "./model.ts";
import { Models } from "./models.ts";
import { offlineModel } from "./offline.ts";

/** One address that speaks both formats; what is asked decides what comes. */
const mock = new LLMock({ port: 0, logLevel: "silent" });
beforeAll(async () => void (await mock.start()));
afterAll(() => mock.stop());
afterEach(() => void mock.reset());

const WIRES: readonly { wire: string; llm: LlmRef; usage: Record<string, number> }[] = [
  {
    wire: "OpenAI",
    llm: { provider: "openai", model: "gpt-4.1-mini" },
    usage: { prompt_tokens: 100, completion_tokens: 20 },
  },
  {
    wire: "Anthropic",
    llm: { provider: "anthropic", model: "claude-sonnet-4-5" },
    usage: { input_tokens: 100, output_tokens: 20 },
  },
];

const WEATHER = {
  name: "weather",
  description: "The weather in a city.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
};

describe.each(WIRES)("over the wire format of $wire", ({ wire, llm, usage }) => {
  test("text comes piece by piece and the answer carries the provider's usage and its cost", async () => {
    mock.onMessage(
      "hello",
      { content: "안녕하세요, 무엇을 도와 드릴까요?", usage },
      { chunkSize: 5 },
    );
    const { models, records } = makeModels();
    const pieces: string[] = [];

    const answer = await models.resolve(llm).stream(ask("hello", { system: "Be brief." }), {
      onText: (delta) => pieces.push(delta),
      labels: { turn: "turn_1" },
    });

    expect(answer).toMatchObject({
      text: "안녕하세요, 무엇을 도와 드릴까요?",
      toolCalls: [],
      finishReason: "stop",
      usage: { tokensIn: 100, tokensOut: 20, estimated: false },
      ...llm,
      costMicroUsd: wire === "OpenAI" ? 72 : 600, // 100 × 0.40 + 20 × 1.60 USD, or 100 × 3 + 20 × 15 USD, per million
    });
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(answer.text);
    expect(answer.firstTokenMs).toBeLessThanOrEqual(answer.latencyMs);
    expect(JSON.parse(JSON.stringify(answer))).toEqual(answer);
    expect(records).toEqual([
      expect.objectContaining({
        attempt: 1,
        labels: { turn: "turn_1" },
        finishReason: "stop",
        usage: answer.usage,
        promptHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      }),
    ]);
    expect(JSON.stringify(records)).not.toContain("hello");
  });

  test("two tools can be called at once, and their results go back", async () => {
    const toolCalls = [
      { id: "call_a", name: "weather", arguments: '{"city":"서울"}' },
      { id: "call_b", name: "weather", arguments: '{"city":"부산"}' },
    ];
    mock.on({ userMessage: "weather", hasToolResult: false }, { toolCalls });
    mock.on({ userMessage: "weather", hasToolResult: true }, { content: "Both are sunny." });
    const call = makeModels().models.resolve(llm);
    const request = ask("weather in two cities", { tools: [WEATHER] });

    const first = await call.stream(request);
    const second = await call.stream({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", text: first.text, toolCalls: first.toolCalls },
        { role: "tool", callId: "call_a", name: "weather", result: { sky: "sunny" } },
        { role: "tool", callId: "call_b", name: "weather", result: "no such city", isError: true },
      ],
    });

    expect(first).toMatchObject({ text: "", finishReason: "tool-calls" });
    expect(first.toolCalls).toEqual([
      { id: "call_a", name: "weather", args: { city: "서울" } },
      { id: "call_b", name: "weather", args: { city: "부산" } },
    ]);
    expect(second.text).toBe("Both are sunny.");
    const sent = JSON.stringify(mock.getLastRequest()?.body);
    expect(sent).toContain("call_a");
    expect(sent).toContain("no such city");
  });

  test("arguments that are no JSON are handed on as such and can stand in the history", async () => {
    mock.on(
      { userMessage: "weather", hasToolResult: false },
      { toolCalls: [{ id: "call_a", name: "weather", arguments: '{"city": ' }] },
    );
    mock.on({ userMessage: "weather", hasToolResult: true }, { content: "Sorry." });
    const { models } = makeModels(rawArguments(llm));

    const answer = await models
      .resolve(llm.provider === "anthropic" ? { provider: "offline", model: "broken-args" } : llm)
      .stream(ask("weather", { tools: [WEATHER] }));

    expect(answer.toolCalls).toEqual([
      { id: expect.any(String) as string, name: "weather", args: {}, invalidArgs: '{"city": ' },
    ]);
    const next = await models.resolve(llm).stream({
      messages: [
        { role: "user", text: "weather" },
        { role: "assistant", text: "", toolCalls: answer.toolCalls },
        {
          role: "tool",
          callId: answer.toolCalls[0]!.id,
          name: "weather",
          result: "Arguments are no JSON.",
          isError: true,
        },
      ],
      tools: [WEATHER],
    });
    expect(next.text).toBe("Sorry.");
  });

  test("structured output is asked for and comes as JSON text", async () => {
    mock.onMessage("classify", { content: '{"intent":"transfer"}' });
    const schema = {
      type: "object",
      properties: { intent: { type: "string" } },
      required: ["intent"],
      additionalProperties: false,
    };

    const answer = await makeModels()
      .models.resolve(llm)
      .stream(ask("classify this", { output: { schema } }));

    expect(parseModelJson(answer.text)).toEqual({ intent: "transfer" });
    await using server = await rawServer((response) => response.writeHead(401).end());
    await expect(
      makeModels()
        .models.resolve({ ...llm, baseUrl: server.url })
        .stream(ask("classify this", { output: { schema } })),
    ).rejects.toMatchObject({ code: "MODEL_UNAUTHORIZED" });
    expect(await server.body()).toMatchObject(
      wire === "OpenAI"
        ? {
            response_format: {
              type: "json_schema",
              json_schema: { name: "answer", schema, strict: true },
            },
          }
        : { output_config: { format: { type: "json_schema", schema } } },
    );
  });

  test("a 429 is waited for as long as Retry-After says, then asked once more", async () => {
    failThenAnswer(
      { status: 429, retryAfter: 1, error: { message: "slow down", type: "rate_limit_error" } },
      "after the wait",
    );
    const waits: number[] = [];
    const started = systemClock.monotonic();

    const { value, attempts } = await attempt(
      llm,
      { backoff_sec: 0 },
      { onRetry: ({ waitMs }) => waits.push(waitMs) },
    );

    expect(value.text).toBe("after the wait");
    expect(attempts).toBe(2);
    expect(waits).toEqual([1_000]);
    expect(systemClock.monotonic() - started).toBeGreaterThan(950);
    expect(mock.getRequests()).toHaveLength(2);
  });

  test.each([500, 503])(
    "a %i is tried again, exactly as often as the card says",
    async (status) => {
      mock.onMessage("try", { error: { message: "down", type: "server_error" }, status });

      const failed = attempt(llm, { max_retry: 2, backoff_sec: 0 });

      await expect(failed).rejects.toMatchObject({
        code: "MODEL_SERVER_ERROR",
        details: { attempts: 3, providerStatus: status, usage: { tokensIn: 0, tokensOut: 0 } },
      });
      expect(mock.getRequests()).toHaveLength(3); // no retry of the SDK multiplies ours
    },
  );

  test("one call is one request, even if it fails in a way that others would repeat", async () => {
    mock.onMessage("try", { error: { message: "down", type: "server_error" }, status: 503 });
    const { models, records } = makeModels();

    await expect(models.resolve(llm).stream(ask("try"))).rejects.toMatchObject({
      code: "MODEL_SERVER_ERROR",
    });

    expect(mock.getRequests()).toHaveLength(1);
    expect(records).toEqual([expect.objectContaining({ error: "MODEL_SERVER_ERROR" })]);
  });

  test("a wrong key is said once and not tried again", async () => {
    mock.onMessage("try", {
      error: { message: "invalid key", type: "authentication_error" },
      status: 401,
    });

    await expect(attempt(llm, { max_retry: 2, backoff_sec: 0 })).rejects.toMatchObject({
      code: "MODEL_UNAUTHORIZED",
      details: { providerStatus: 401 },
    });

    expect(mock.getRequests()).toHaveLength(1);
  });

  test("a proxy that asks for a password counts as a connection that failed", async () => {
    await using server = await rawServer((response) => response.writeHead(407).end());
    const behind = { ...llm, base_url: server.url };

    await expect(attempt(behind, { max_retry: 0, backoff_sec: 0 })).rejects.toMatchObject({
      code: "MODEL_UNREACHABLE",
    });
  });

  test("a stream cut after its first token is an error, not an answer, and is not asked again", async () => {
    mock.onMessage(
      "try",
      { content: "word ".repeat(100) },
      { chunkSize: 5, truncateAfterChunks: 10, streamingProfile: { ttft: 1, tps: 50 } },
    );
    const pieces: string[] = [];

    const failed = attempt(
      llm,
      { max_retry: 2, backoff_sec: 0 },
      { stream: { onText: (delta) => pieces.push(delta) } },
    );

    await expect(failed).rejects.toMatchObject({
      code: "MODEL_UNREACHABLE",
      details: { usage: { estimated: true } },
    });
    expect(pieces.length).toBeGreaterThan(0);
    expect(mock.getRequests()).toHaveLength(1);
  });

  test("a provider that hangs is interrupted, and asked again because nothing was shown", async () => {
    let calls = 0;
    mock.onMessage("try", () =>
      ++calls === 1 ? new Promise<never>(() => {}) : { content: "at last" },
    );

    const { value, attempts } = await attempt(llm, {
      timeout_sec: 0.3,
      max_retry: 1,
      backoff_sec: 0,
    });

    expect(value.text).toBe("at last");
    expect(attempts).toBe(2);
  });

  test("a provider that hangs in mid-stream is interrupted, and its late text is dropped", async () => {
    mock.onMessage(
      "try",
      { content: "word ".repeat(50) },
      { chunkSize: 5, streamingProfile: { ttft: 1, tps: 10 } },
    );
    const pieces: string[] = [];
    const { models } = makeModels();

    const failed = models
      .resolve(llm)
      .stream(ask("try"), { onText: (delta) => pieces.push(delta), timeoutMs: 2_000 });

    await expect(failed).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });
    const shown = pieces.length;
    expect(shown).toBeGreaterThan(0);
    await systemClock.sleep(300); // three more pieces would have come
    expect(pieces).toHaveLength(shown);
  });

  test("an abort rejects at once with its reason and is not tried again", async () => {
    mock.onMessage(
      "try",
      { content: "word ".repeat(50) },
      { chunkSize: 5, streamingProfile: { ttft: 1, tps: 4 } },
    );
    const stop = new AbortController();
    const reason = new DureError("TURN_STOPPED", "The person stopped it.");

    const failed = attempt(
      llm,
      { max_retry: 2 },
      { signal: stop.signal, stream: { onText: () => stop.abort(reason) } },
    );

    await expect(failed).rejects.toBe(reason);
    expect(mock.getRequests().length).toBeLessThanOrEqual(1); // the journal may name it only when it is finished
  });

  test("an empty answer counts as a failed attempt", async () => {
    let calls = 0;
    mock.onMessage("try", () => ({ content: ++calls === 1 ? "" : "something" }));

    const { value, attempts } = await attempt(llm, { max_retry: 1, backoff_sec: 0 });

    expect([value.text, attempts]).toEqual(["something", 2]);
  });

  test("an answer that is no JSON is asked for again; after the last attempt the error says so", async () => {
    let calls = 0;
    mock.onMessage("try", () => ({
      content: ++calls === 1 ? '{"intent": ' : 'Here you are:\n```json\n{"intent":"faq"}\n```',
    }));
    const { models } = makeModels();
    const card = parseCard({ llm, policy: { max_retry: 1, backoff_sec: 0 } });

    const { value } = await runAttempts(
      { llm: card.llm!, policy: card.policy },
      async ({ signal }) =>
        parseModelJson((await models.resolve(llm).stream(ask("try"), { signal })).text),
      { clock: systemClock },
    );

    expect(value).toEqual({ intent: "faq" });
    expect(mock.getRequests()).toHaveLength(2);
  });

  test("when a model has used up its attempts the next one of the card is asked", async () => {
    mock.on(
      { userMessage: "try", model: llm.model },
      { error: { message: "down", type: "server_error" }, status: 500 },
    );
    mock.on({ userMessage: "try", model: "gpt-4.1-nano" }, { content: "from the second" });

    const {
      value,
      attempts,
      llm: answered,
    } = await attempt(
      { ...llm, fallbacks: ["openai:gpt-4.1-nano"] },
      { max_retry: 1, backoff_sec: 0 },
    );

    expect(value).toMatchObject({ text: "from the second", model: "gpt-4.1-nano" });
    expect([attempts, answered.model]).toEqual([3, "gpt-4.1-nano"]);
  });
});

describe("faults that only a raw server can play", () => {
  test.each([
    [
      "openai",
      [
        { choices: [{ index: 0, delta: { content: "I can" } }] },
        { choices: [{ index: 0, delta: { refusal: " not." } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      ],
    ],
    [
      "openai",
      [
        { choices: [{ index: 0, delta: { content: "x" } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }] },
      ],
    ],
    [
      "anthropic",
      [
        anthropicStart(),
        { type: "message_delta", delta: { stop_reason: "refusal" }, usage: { output_tokens: 1 } },
        { type: "message_stop" },
      ],
    ],
  ] as const)("a refusal of %s is an error of its own and final", async (provider, events) => {
    await using server = await rawServer((response) => sendEvents(response, events));

    const failed = attempt(
      { provider, model: "m", baseUrl: server.url },
      { max_retry: 2, backoff_sec: 0 },
    );

    await expect(failed).rejects.toMatchObject({ code: "MODEL_REFUSED", class: "forbidden" });
    expect(server.requests()).toBe(1);
  });

  test("an overload that Anthropic reports inside the stream is tried again", async () => {
    await using server = await rawServer((response) =>
      sendEvents(response, [
        { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      ]),
    );

    await expect(
      attempt(
        { provider: "anthropic", model: "m", baseUrl: server.url },
        { max_retry: 1, backoff_sec: 0 },
      ),
    ).rejects.toMatchObject({ code: "MODEL_SERVER_ERROR" });

    expect(server.requests()).toBe(2);
  });

  test("a stream of something that is no JSON is a format error", async () => {
    await using server = await rawServer((response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end("data: {oops\n\n"),
    );

    await expect(
      attempt(
        { provider: "openai", model: "m", baseUrl: server.url },
        { max_retry: 1, backoff_sec: 0 },
      ),
    ).rejects.toMatchObject({ code: "MODEL_FORMAT" });

    expect(server.requests()).toBe(2);
  });

  test("a prompt that is too long is not sent again", async () => {
    const body = {
      error: {
        message: "This model's maximum context length is 8192 tokens.",
        code: "context_length_exceeded",
        type: "invalid_request_error",
      },
    };
    await using server = await rawServer((response) =>
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(body)),
    );

    await expect(
      attempt(
        { provider: "openai", model: "m", baseUrl: server.url },
        { max_retry: 2, backoff_sec: 0 },
      ),
    ).rejects.toMatchObject({ code: "MODEL_CONTEXT_EXCEEDED", class: "limit" });

    expect(server.requests()).toBe(1);
  });

  test("an exhausted account is not waited for, although it comes as 429, but a fallback is asked", async () => {
    const body = {
      error: {
        message: "You exceeded your current quota.",
        code: "insufficient_quota",
        type: "insufficient_quota",
      },
    };
    await using server = await rawServer((response) =>
      response
        .writeHead(429, { "content-type": "application/json", "retry-after": "30" })
        .end(JSON.stringify(body)),
    );

    const { value, attempts } = await attempt(
      { provider: "openai", model: "m", baseUrl: server.url, fallbacks: ["offline:echo"] },
      { max_retry: 2 },
    );

    expect([value.text, attempts, server.requests()]).toEqual(["try", 2, 1]);
  });

  test("an address where no server listens costs nothing and is tried again", async () => {
    const server = await rawServer(() => {});
    await server[Symbol.asyncDispose]();

    const failed = attempt(
      { provider: "openai", model: "gpt-4o", baseUrl: server.url },
      { max_retry: 1, backoff_sec: 0 },
    );

    await expect(failed).rejects.toMatchObject({
      code: "MODEL_UNREACHABLE",
      details: { attempts: 2, usage: { tokensIn: 0 }, costMicroUsd: 0 },
    });
  });

  test("a connection reset before the first byte is tried again", async () => {
    await using server = await rawServer((response) => void response.socket?.resetAndDestroy());

    await expect(
      attempt(
        { provider: "anthropic", model: "m", baseUrl: server.url },
        { max_retry: 1, backoff_sec: 0 },
      ),
    ).rejects.toMatchObject({ code: "MODEL_UNREACHABLE" });

    expect(server.requests()).toBe(2);
  });

  test("a provider that gives no sign is interrupted, before its first byte and in the middle of its answer", async () => {
    const begun = [
      {
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Once" } },
    ];
    await using dumb = await rawServer(() => {});
    await using stuck = await rawServer(
      (response) =>
        void response
          .writeHead(200, { "content-type": "text/event-stream" })
          .write(framesOf(begun)),
    );
    const { models } = makeModels();
    const call = (baseUrl: string) =>
      models
        .resolve({ provider: "anthropic", model: "m", baseUrl })
        .stream(ask("hello"), { idleTimeoutMs: 200 });

    for (const { url } of [dumb, stuck]) {
      await expect(call(url)).rejects.toMatchObject({
        code: "MODEL_TIMEOUT",
        message: "anthropic:m gave no sign for 200 ms.",
      });
    }
  });

  test("a provider that pings while its model thinks is waited for", async () => {
    const begun = [
      {
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
    ];
    const ended = [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "At last." } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
      { type: "message_stop" },
    ];
    await using server = await rawServer(async (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(framesOf(begun));
      for (let ping = 0; ping < 6; ping++) {
        await systemClock.sleep(200);
        response.write(framesOf([{ type: "ping" }]));
      }
      response.end(framesOf(ended));
    });
    const { models } = makeModels();

    const answer = await models
      .resolve({ provider: "anthropic", model: "m", baseUrl: server.url })
      .stream(ask("hello"), { idleTimeoutMs: 900 });

    expect(answer).toMatchObject({
      text: "At last.",
      latencyMs: expect.toSatisfy((ms: number) => ms > 900) as number,
    });
  });

  test("a timeout closes the connection to the provider", async () => {
    let closed: () => void;
    const connectionClosed = new Promise<void>((resolve) => (closed = resolve));
    await using server = await rawServer((response) => void response.on("close", () => closed()));
    const { models } = makeModels();

    await expect(
      models
        .resolve({ provider: "openai", model: "m", baseUrl: server.url })
        .stream(ask("x"), { timeoutMs: 1_000 }),
    ).rejects.toMatchObject({ code: "MODEL_TIMEOUT" });

    await connectionClosed;
  });
});

describe("addresses and keys", () => {
  test.each([
    ["openai", "", "/v1/chat/completions"],
    ["openai", "/", "/v1/chat/completions"],
    ["openai", "/v1", "/v1/chat/completions"],
    ["openai", "/gateway/v3/", "/gateway/v3/chat/completions"],
    ["openai-compatible", "/v1", "/v1/chat/completions"],
    ["anthropic", "", "/v1/messages"],
    ["anthropic", "/v1", "/v1/messages"],
    ["anthropic", "/gateway", "/gateway/v1/messages"],
  ] as const)("%s at address path '%s' asks %s", async (provider, path, asked) => {
    await using server = await rawServer((response) => response.writeHead(401).end());

    await expect(
      attempt({ provider, model: "m", baseUrl: `${server.url}${path}` }, {}),
    ).rejects.toMatchObject({ code: "MODEL_UNAUTHORIZED" });

    expect(server.paths()).toEqual([asked]);
  });

  test("a compatible server needs an address but no key, and tells its usage", async () => {
    mock.onMessage("hello", { content: "hi", usage: { prompt_tokens: 7, completion_tokens: 2 } });
    const { models } = makeModels();

    const answer = await models
      .resolve({ provider: "openai-compatible", model: "llama3.2", baseUrl: mock.url })
      .stream(ask("hello"));

    expect(answer).toMatchObject({
      text: "hi",
      usage: { tokensIn: 7, tokensOut: 2, estimated: false },
    });
    expect(answer).not.toHaveProperty("costMicroUsd");
    expect(() => models.resolve("openai-compatible:llama3.2")).toThrowError(
      expect.objectContaining({ code: "MODEL_BASE_URL_MISSING" }) as Error,
    );
  });

  test.each([
    ["openai:gpt-4o", "OPENAI_API_KEY"],
    ["anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
  ])("%s without a key names the variable %s", (name, variable) => {
    const models = new Models({ clock: systemClock, logger: silentLogger });

    expect(() => models.resolve(name)).toThrowError(
      expect.objectContaining({
        code: "MODEL_KEY_MISSING",
        message: expect.stringContaining(variable) as string,
      }) as Error,
    );
  });
});

describe("the record of calls", () => {
  test("goes to the caller's sink and the common one; one that throws harms neither the other nor the answer", async () => {
    const { models, records } = makeModels();

    const answer = await models.resolve("offline").stream(ask("hello"), {
      onRecord: () => {
        throw new Error("disk full");
      },
    });

    expect(answer.text).toBe("hello");
    expect(records).toHaveLength(1);
  });

  test("a call that a person stopped is recorded with an estimate of what it used", async () => {
    const slow = offlineModel("slow", () => ({
      chunks: ["하나", "둘", "셋"],
      chunkDelayMs: 60_000,
    }));
    const { models, records } = makeModels([slow]);
    const stop = new AbortController();

    const failed = models.resolve("offline:slow").stream(ask("세어 줘"), {
      signal: stop.signal,
      onText: () => stop.abort(new DureError("TURN_STOPPED", "stop")),
    });

    await expect(failed).rejects.toMatchObject({ code: "TURN_STOPPED" });
    expect(records).toEqual([
      expect.objectContaining({
        error: "TURN_STOPPED",
        usage: expect.objectContaining({ tokensOut: 2, estimated: true }) as object,
      }),
    ]);
  });
});

function ask(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", text }], ...more };
}

function makeModels(offline: ConstructorParameters<typeof Models>[0]["offline"] = []): {
  models: Models;
  records: ModelCallRecord[];
} {
  const records: ModelCallRecord[] = [];
  const settings = { apiKey: "test-key", baseUrl: `${mock.url}/v1` };
  const models = new Models({
    clock: systemClock,
    logger: silentLogger,
    providers: { openai: settings, anthropic: settings },
    offline,
    onCall: (record) => records.push(record),
  });
  return { models, records };
}

async function attempt(
  llm: object,
  policy: object,
  options: {
    onRetry?: NonNullable<Parameters<typeof runAttempts>[2]["onRetry"]>;
    stream?: ModelCallOptions;
    signal?: AbortSignal;
  } = {},
): Promise<{ value: ModelAnswer; attempts: number; llm: LlmRef }> {
  const card = parseCard({ llm, policy });
  const { models } = makeModels();
  return runAttempts(
    { llm: card.llm!, policy: card.policy },
    ({ llm: asked, signal, attempt: number, firstTokenSeen }) =>
      models.resolve(asked).stream(ask("try"), {
        ...options.stream,
        attempt: number,
        signal,
        ...(options.stream?.onText ? { onFirstToken: firstTokenSeen } : {}),
      }),
    {
      clock: systemClock,
      ...(options.onRetry ? { onRetry: options.onRetry } : {}),
      signal: options.signal,
    },
  );
}

function failThenAnswer(
  failure: { status: number; retryAfter?: number; error: { message: string; type: string } },
  content: string,
): void {
  let calls = 0;
  mock.onMessage("try", () => (++calls === 1 ? failure : { content }));
}

/** The mock repairs arguments in Anthropic's format, so there an offline model plays the part. */
function rawArguments(llm: LlmRef) {
  return llm.provider === "anthropic"
    ? [
        offlineModel("broken-args", () => ({
          toolCalls: [{ name: "weather", rawArgs: '{"city": ' }],
        })),
      ]
    : [];
}

function anthropicStart(): object {
  return {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      usage: { input_tokens: 3, output_tokens: 0 },
    },
  };
}

function sendEvents(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).end(framesOf(events));
}

function framesOf(events: readonly object[]): string {
  return events
    .map((event) => {
      const type = "type" in event ? `event: ${String(event.type)}\n` : "";
      return `${type}data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", ...event })}\n\n`;
    })
    .join("");
}

async function rawServer(answer: (response: ServerResponse) => unknown) {
  const paths: string[] = [];
  const bodies: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    bodies.push(json(request).catch(() => undefined));
    void answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => paths.length,
    paths: () => paths,
    body: () => bodies[0],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
