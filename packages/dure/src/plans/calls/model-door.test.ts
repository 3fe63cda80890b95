import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { request } from "node:http";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { DureError } from "../../kernel/errors.ts";
import { TokenMeter } from "../assign/token-meter.ts";
import { addressBelow } from "../sandbox/model-way.ts";
import type { SeenCall } from "./model-desk.ts";
import { cutting, openDoor, refusing, startProvider, streaming, type Answer } from "./test-door.ts";

const START = {
  type: "message_start",
  message: {
    id: "m",
    type: "message",
    role: "assistant",
    model: "claude-x",
    content: [],
    usage: { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 1 },
  },
};
const ANTHROPIC = streaming(
  START,
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 50 } },
  { type: "message_stop" },
);
const CHUNK = { id: "c", object: "chat.completion.chunk", created: 1, model: "gpt-x" };
const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 50,
  total_tokens: 1_050,
  prompt_tokens_details: { cached_tokens: 900 },
};
const CHAT = streaming(
  { ...CHUNK, choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] },
  { ...CHUNK, choices: [], usage: USAGE },
);
const RESPONSE = {
  id: "r",
  object: "response",
  model: "gpt-x",
  status: "completed",
  output: [],
  usage: {
    input_tokens: 1_000,
    output_tokens: 50,
    total_tokens: 1_050,
    input_tokens_details: { cached_tokens: 900 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
};
const RESPONSES = streaming({ type: "response.completed", sequence_number: 1, response: RESPONSE });
const GEMINI = streaming({
  candidates: [{ content: { parts: [{ text: "Hello." }] }, finishReason: "STOP" }],
  usageMetadata: {
    promptTokenCount: 1_000,
    cachedContentTokenCount: 900,
    candidatesTokenCount: 50,
  },
  modelVersion: "gemini-x",
});

/** One call by the maker's own client, with its retries. Gives the words that came. */
type Client = (baseURL: string, options?: { signal?: AbortSignal }) => Promise<string>;

const KEY = "dure-keeps-KEY";
const CLIENTS: readonly (readonly [string, Client, Answer, string])[] = [
  [
    "@anthropic-ai/sdk",
    async (baseURL, options) => {
      const client = new Anthropic({ baseURL, apiKey: KEY, maxRetries: 3 });
      const body = {
        model: "m",
        max_tokens: 9,
        messages: [{ role: "user", content: "Hi" }],
      } as const;
      const stream = client.messages.stream({ ...body, messages: [...body.messages] }, options);

      return stream.finalText();
    },
    ANTHROPIC,
    "/v1/messages",
  ],
  [
    "openai, chat",
    async (baseURL, options) => {
      const client = new OpenAI({ baseURL, apiKey: KEY, maxRetries: 3 });
      const stream = await client.chat.completions.create(
        {
          model: "m",
          messages: [{ role: "user", content: "Hi" }],
          stream: true,
          stream_options: { include_usage: true },
        },
        options,
      );
      let said = "";
      for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? "";

      return said;
    },
    CHAT,
    "/chat/completions",
  ],
  [
    "openai, responses",
    async (baseURL, options) => {
      const client = new OpenAI({ baseURL, apiKey: KEY, maxRetries: 3 });
      const stream = await client.responses.create(
        { model: "m", input: "Hi", stream: true },
        options,
      );
      for await (const event of stream) if (event.type === "response.completed") return "Hello.";

      return "";
    },
    RESPONSES,
    "/responses",
  ],
  [
    "@google/genai",
    async (baseUrl, options) => {
      const retryOptions = { attempts: 4 };
      const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl, retryOptions } });
      const stream = await client.models.generateContentStream({
        model: "m",
        contents: "Hi",
        config: options?.signal ? { abortSignal: options.signal } : {},
      });
      let said = "";
      for await (const chunk of stream) said += chunk.text ?? "";

      return said;
    },
    GEMINI,
    "/v1/models/m:streamGenerateContent?alt=sse",
  ],
];

const tokensOf = (calls: readonly SeenCall[]) =>
  calls.map(({ tokens: { input, cached, output }, isEstimate }) => [
    input,
    cached,
    output,
    isEstimate,
  ]);
const EXACT = [1_000, 900, 50, false];

test.each(CLIENTS)(
  "%s works through the door: what was refused is not counted, what was served is, exactly",
  async (_name, client, served, at) => {
    const now = { "retry-after-ms": "1", "retry-after": "0" };
    const provider = await startProvider([refusing(429, now), refusing(500, now), served]);
    const door = await openDoor(`${provider.url}/base`, { keys: { [KEY]: "the-real-key" } });

    const said = await client(door.url);

    expect(said).toBe("Hello.");
    expect(tokensOf(door.seen)).toEqual([EXACT]);
    expect(door.troubles.map((trouble) => trouble?.kind)).toEqual([
      "limited",
      "failing",
      undefined,
    ]);
    expect(provider.asked.map(({ url }) => url)).toEqual(Array(3).fill(`/base${at}`));
    const sent = JSON.stringify(provider.asked.map(({ headers }) => headers));
    expect(sent).toContain("the-real-key");
    expect(sent).not.toContain(KEY);
  },
  30_000,
);

test.each(CLIENTS)(
  "%s is told that its key is refused, and so is the worker",
  async (_name, client) => {
    const provider = await startProvider([refusing(401)]);
    const door = await openDoor(provider.url);

    await expect(client(door.url)).rejects.toThrow(/401/);
    await expect(client(door.url)).rejects.toThrow(/401/);

    expect(door.seen).toEqual([]);
    expect(door.troubles.at(-1)).toMatchObject({
      kind: "key",
      status: 401,
      times: 2,
      says: "it is 401",
    });
  },
);

test.each(CLIENTS)(
  "%s is refused a call beyond the budget at once, and nothing goes out",
  async (_name, client, served) => {
    const provider = await startProvider([served]);
    const meter = new TokenMeter("run");
    meter.known({ tokens: { used: 500, most: 500 } });
    const door = await openDoor(provider.url, { gate: meter });

    await expect(client(door.url)).rejects.toThrow(/budget/);

    expect(provider.asked).toEqual([]);
    expect(door.usedUp).toBe(1);
  },
);

test("a stream that breaks off is a call whose tokens are an estimate; the client's next is exact", async () => {
  const [, client] = CLIENTS[0]!;
  const provider = await startProvider([cutting(START), ANTHROPIC]);
  const door = await openDoor(provider.url);

  await client(door.url).catch(() => {});
  await client(door.url);

  expect(tokensOf(door.seen)).toEqual([[1_000, 900, 1, true], EXACT]);
});

test("a client that goes away in the middle is a call that was made, and its provider is let go", async () => {
  const gone = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const provider = await startProvider([
    (response) => {
      response.on("close", () => gone.resolve());
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`data: ${JSON.stringify(START)}\n\n`, () => begun.resolve());
    },
  ]);
  const door = await openDoor(provider.url);
  const answer = await fetch(`${door.url}/v1/messages`, { method: "POST", body: "{}" });
  await begun.promise;

  await answer.body!.cancel();
  await gone.promise;

  await expect.poll(() => tokensOf(door.seen)).toEqual([[1_000, 900, 1, true]]);
  expect(door.troubles).toEqual([]);
  expect(door.calls.underWay).toBe(0);
});

test("a client that goes away before the answer has made a call: its provider may bill it", async () => {
  const asked = Promise.withResolvers<void>();
  const provider = await startProvider([() => asked.resolve()]);
  const door = await openDoor(provider.url);
  const gone = new AbortController();
  const body = "x".repeat(400);
  const call = fetch(`${door.url}/v1/messages`, { method: "POST", body, signal: gone.signal });
  await asked.promise;

  gone.abort();
  await call.catch(() => {});

  await expect.poll(() => tokensOf(door.seen)).toEqual([[100, 0, 0, true]]);
  expect(door.troubles).toEqual([]);
});

test("a provider that is not there is trouble at once", async () => {
  const door = await openDoor("http://127.0.0.1:1");

  const answer = await fetch(`${door.url}/v1/messages`, { method: "POST", body: "{}" });

  expect(answer.status).toBe(502);
  expect(door.troubles).toMatchObject([{ kind: "failing", status: undefined }]);
});

test("an answer that tells no tokens is a call all the same, reckoned by what was asked", async () => {
  const provider = await startProvider([
    (response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"),
  ]);
  const door = await openDoor(provider.url);

  await fetch(`${door.url}/chat/completions`, { method: "POST", body: "x".repeat(400) });
  await fetch(`${door.url}/models`);
  await fetch(`${door.url}/messages/count_tokens`, { method: "POST", body: "{}" });
  await fetch(`${door.url}/files`, { method: "POST", body: "{}" });

  expect(tokensOf(door.seen)).toEqual([[100, 0, 1, true]]);
});

test("calls side by side pass a budget by one call at most", async () => {
  const waiting: (() => void)[] = [];
  const provider = await startProvider([
    (response, body) => waiting.push(() => CHAT(response, body)),
  ]);
  const meter = new TokenMeter("run");
  meter.known({ tokens: { used: 0, most: 2_600 } });
  const door = await openDoor(provider.url, { gate: meter });
  door.calls.listen({
    began: () => {},
    trouble: () => {},
    usedUp: () => {},
    seen: ({ tokens }) => meter.add(tokens.input + tokens.output, 1),
  });

  const asked = Array.from({ length: 10 }, () =>
    fetch(`${door.url}/chat/completions`, { method: "POST", body: "{}" }),
  );
  const statuses = Promise.all(asked.map(async (one) => (await one).status));
  for (let served = 0; served < 3; served += 1) {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    waiting.shift()!();
    await expect.poll(() => door.seen.length).toBe(served + 1);
  }

  expect((await statuses).toSorted((a, b) => a - b)).toEqual([
    200,
    200,
    200,
    ...Array<number>(7).fill(402),
  ]);
  expect(door.seen).toHaveLength(3);
});

test("a call that cannot be paid is refused with the reason, and one is paid before the next", async () => {
  const provider = await startProvider([CHAT]);
  const paid: string[] = [];
  const door = await openDoor(provider.url, {
    pay: {
      before: async () => {
        paid.push("before");
        if (paid.includes("after")) throw new DureError("BUDGET_EXCEEDED", "Nothing is left.");
      },
      after: async () => void paid.push("after"),
    },
  });
  const post = () => fetch(`${door.url}/chat/completions`, { method: "POST", body: "{}" });

  await (await post()).text();
  const refused = await post();

  expect(paid).toEqual(["before", "after", "before"]);
  expect(refused.status).toBe(402);
  expect(await refused.text()).toContain("Nothing is left.");
});

test.each([
  ["", "https://x.org/v1"],
  ["/messages?beta=true", "https://x.org/v1/messages?beta=true"],
  ["/models/m:generateContent", "https://x.org/v1/models/m:generateContent"],
  ["/../admin", undefined],
  ["/a/../../admin", undefined],
  ["/%2e%2e/admin", undefined],
  ["/a%2f..%2fb", undefined],
  ["/..\\admin", undefined],
  ["//evil.org/", undefined],
  ["@evil.org/", undefined],
  [".evil.org/", undefined],
  [":444/", undefined],
])("below https://x.org/v1 the path %j leads to %s", (rest, there) => {
  expect(addressBelow("https://x.org/v1", rest)?.href).toBe(there);
});

test("hostile requests are refused in one line each, and lead nowhere", async () => {
  const provider = await startProvider([
    (response) => response.writeHead(307, { location: "http://169.254.169.254/" }).end(),
  ]);
  const door = await openDoor(`${provider.url}/v1`);
  const raw = (path: string, method = "POST"): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(door.origin, { path, method }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asked.on("error", reject).end();
    });

  expect(await raw("/model/other/messages")).toBe(404);
  expect(await raw("/model/mock/../../admin")).toBe(403);
  expect(await raw("/model/mock/messages", "DELETE")).toBe(405);
  expect(await raw("/model/mock/messages/batches")).toBe(403);
  expect(door.refused).toHaveLength(4);
  expect(provider.asked).toEqual([]);
  expect(await raw("/model/mock/messages")).toBe(502);
  expect(door.troubles).toMatchObject([
    { says: expect.stringContaining("leads elsewhere") as string },
  ]);
});

test("what is for a browser is cleaned away, and answers come unpacked", async () => {
  const provider = await startProvider([
    (response) =>
      response
        .writeHead(200, { "set-cookie": "a=b", "x-request-id": "r1", location: "/x" })
        .end("{}"),
  ]);
  const door = await openDoor(provider.url);

  const answer = await fetch(`${door.url}/models`, { headers: { cookie: "c=d", "x-own": "1" } });

  expect(answer.headers.get("set-cookie")).toBeNull();
  expect(answer.headers.get("location")).toBeNull();
  expect(answer.headers.get("x-request-id")).toBe("r1");
  const [{ headers }] = provider.asked as [(typeof provider.asked)[number]];
  expect(headers).toMatchObject({ "accept-encoding": "identity", "x-own": "1" });
  expect(headers.cookie).toBeUndefined();
});
