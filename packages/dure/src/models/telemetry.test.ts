import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Attributes,
  INVALID_SPAN_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
} from "@opentelemetry/api";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { parseCard } from "./card.ts";
import { Models } from "./models.ts";
import { offlineModel } from "./offline.ts";
import { promptHash } from "./telemetry.ts";

test("a good call is a span with names and numbers of the GenAI conventions and no text", async () => {
  const { spans, tracer } = recordingTracer();
  const models = new Models({ clock: systemClock, logger: silentLogger, tracer });
  const request = { messages: [{ role: "user" as const, text: "비밀 이야기" }], temperature: 0.2 };

  await models.resolve("offline").stream(request, { attempt: 2, labels: { turn: "turn_1" } });

  expect(spans).toEqual([
    {
      name: "chat echo",
      ended: true,
      status: undefined,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "offline",
        "gen_ai.request.model": "echo",
        "gen_ai.request.max_tokens": 8_192,
        "gen_ai.request.temperature": 0.2,
        "gen_ai.output.type": "text",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": expect.any(Number) as number,
        "gen_ai.usage.output_tokens": expect.any(Number) as number,
        "dure.usage.estimated": true,
        "dure.prompt.sha256": promptHash(request),
        "dure.attempt": 2,
        "dure.turn": "turn_1",
        "dure.cost.micro_usd": 0,
        "gen_ai.usage.cost": 0,
        "gen_ai.response.time_to_first_chunk": expect.any(Number) as number,
      },
    },
  ]);
  expect(JSON.stringify(spans)).not.toContain("비밀");
});

test("what was read from a provider's cache and written to it stands in the span", async () => {
  const { spans, tracer } = recordingTracer();
  const models = new Models({ clock: systemClock, logger: silentLogger, tracer });
  const finish = {
    type: "finish",
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: 9, noCache: 4, cacheRead: 3, cacheWrite: 2 },
      outputTokens: { total: 2, text: 2, reasoning: undefined },
    },
  } as const;
  const chunks = [{ type: "text-delta", id: "1", delta: "hi" } as const, finish];
  const model = new MockLanguageModelV4({
    provider: "google.generative-ai",
    doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
  });

  await models
    .resolve(parseCard({ model }).llm!)
    .stream({ messages: [{ role: "user", text: "hi" }] });

  expect(spans[0]?.attributes).toMatchObject({
    "gen_ai.usage.input_tokens": 9,
    "gen_ai.usage.cache_read.input_tokens": 3,
    "gen_ai.usage.cache_creation.input_tokens": 2,
  });
});

test("a failed call is a span with the error's code, and the provider's words stay out", async () => {
  const { spans, tracer } = recordingTracer();
  const broken = offlineModel("broken", () => ({ error: { status: 500, message: "비밀 이야기" } }));
  const models = new Models({
    clock: systemClock,
    logger: silentLogger,
    tracer,
    offline: [broken],
  });

  await expect(
    models.resolve("offline:broken").stream({ messages: [{ role: "user", text: "비밀" }] }),
  ).rejects.toMatchObject({ code: "MODEL_SERVER_ERROR" });

  expect(spans).toMatchObject([
    {
      ended: true,
      status: SpanStatusCode.ERROR,
      attributes: { "error.type": "MODEL_SERVER_ERROR" },
    },
  ]);
  expect(JSON.stringify(spans)).not.toContain("비밀");
});

test("equal requests have equal hashes, whatever the order of their members", () => {
  const a = promptHash({ system: "s", messages: [{ role: "user", text: "x" }] });

  expect(promptHash({ messages: [{ text: "x", role: "user" }], system: "s" })).toBe(a);
  expect(promptHash({ messages: [{ text: "y", role: "user" }], system: "s" })).not.toBe(a);
});

test("an answer without end is cut off before it fills the memory", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "x".repeat(100_000) } }] })}\n\n`;
    const more = (): void => {
      while (!response.destroyed && response.write(event));
    };
    response.on("drain", more);
    more();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const models = new Models({ clock: systemClock, logger: silentLogger });

  const failed = models
    .resolve({
      provider: "openai-compatible",
      model: "m",
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
    .stream({ messages: [{ role: "user", text: "x" }] });

  await expect(failed).rejects.toMatchObject({
    code: "MODEL_FORMAT",
    message: expect.stringContaining("longer than") as string,
  });
  await new Promise((resolve) => server.close(resolve)); // closes only when the client has given its connection up
});

interface Recorded {
  name: string;
  attributes: Attributes;
  status: SpanStatusCode | undefined;
  ended: boolean;
}

function recordingTracer(): { spans: Recorded[]; tracer: Tracer } {
  const spans: Recorded[] = [];
  const tracer = {
    startSpan(name: string, options: { attributes?: Attributes } = {}) {
      const recorded: Recorded = {
        name,
        attributes: { ...options.attributes },
        status: undefined,
        ended: false,
      };
      spans.push(recorded);
      return {
        setAttributes: (attributes: Attributes) =>
          void Object.assign(recorded.attributes, attributes),
        setStatus: ({ code }: { code: SpanStatusCode }) => void (recorded.status = code),
        end: () => void (recorded.ended = true),
        spanContext: () => INVALID_SPAN_CONTEXT,
      } as unknown as Span;
    },
  };
  return { spans, tracer: tracer as unknown as Tracer };
}
