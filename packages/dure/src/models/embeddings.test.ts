import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { embeddingModel } from "./embeddings.ts";

/** Embedding models over HTTP, against a double of the provider. */
let server: Server | undefined;

afterEach(() => void server?.close());

async function provider(answer: (body: { input: string[] }) => [number, object]) {
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const [status, body] = answer(JSON.parse(text) as { input: string[] });
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done) => server!.listen(0, "127.0.0.1", done));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { openai: { apiKey: "k", baseUrl }, "openai-compatible": { baseUrl } };
}

const { signal } = new AbortController();

test.each(["openai:text-embedding-3-small", "openai-compatible:bge-m3"])(
  "%s gives a vector for each text, in their order",
  async (name) => {
    const settings = await provider(({ input }) => {
      const data = input.map((text, index) => ({ index, embedding: [text.length, 1] }));
      return [200, { object: "list", model: "m", data, usage: { prompt_tokens: 1 } }];
    });
    const model = embeddingModel(name, settings);

    expect(model.name).toBe(name);
    expect(await model.embed(["a", "bcd"], { signal })).toEqual([
      [1, 1],
      [3, 1],
    ]);
  },
);

test("fewer vectors than texts, and a refusal, are failures of the model", async () => {
  const answers: [number, object][] = [
    [200, { object: "list", model: "m", data: [], usage: { prompt_tokens: 1 } }],
    [400, { error: { message: "no such model", type: "invalid" } }],
  ];
  const settings = await provider(() => answers.shift()!);
  const model = embeddingModel("openai:none", settings);

  await expect(model.embed(["a"], { signal })).rejects.toThrow("0 vectors for 1 texts");
  await expect(model.embed(["a"], { signal })).rejects.toThrow("openai:none failed");
});

test("a provider without such models, and a missing key, are told before anything is sent", () => {
  expect(() => embeddingModel("anthropic:claude", { anthropic: { apiKey: "k" } })).toThrow(
    expect.objectContaining({ code: "EMBEDDING_NOT_SPOKEN" }),
  );
  expect(() => embeddingModel("openai:text-embedding-3-small", {})).toThrow(
    expect.objectContaining({ code: "MODEL_KEY_MISSING" }),
  );
});
