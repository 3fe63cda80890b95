import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SpanStatusCode, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace";
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { testDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { startTestEngine } from "../../src/engine/test-engine.ts";
import { NotSentError, tool } from "../../src/engine/agent/tool.ts";
import { offlineModel } from "../../src/models/offline.ts";

/** An SDK as the guide installs it: an exporter, and no context manager. */
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
);
beforeEach(() => exporter.reset());

const CALLER = { trace: "0af7651916cd43dd8448eb211c80319c", span: "b7ad6b7169203331" };
const traceParent = `00-${CALLER.trace}-${CALLER.span}-01`;

/** Looks the weather up, orders what cannot be had, answers. */
const weather = tool({
  description: "Weather.",
  inputSchema: z.object({}),
  execute: () => "sunny",
});
const order = tool({
  description: "Orders.",
  inputSchema: z.object({}),
  effect: "once",
  execute: () => {
    throw new NotSentError("SOLD_OUT", "비밀");
  },
  probe: async () => "not_happened",
});
const model = offlineModel("desk", (request) => {
  const asked = request.messages.filter(({ role }) => role === "tool").length;
  if (asked < 2) return { toolCalls: [{ name: ["weather", "order"][asked]!, args: {} }] };
  return { text: "답 비밀" };
});
const helper = chatAgent({ name: "helper", prompt: "Help.", tools: { weather, order } });
const desk = defineService({
  name: "desk",
  agents: { helper },
  flows: {
    DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
  },
});

interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly name: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, unknown>>;
  }[];
}

/** A span as Langfuse's endpoint reads it: which attribute becomes which field. */
function readSpan({ attributes }: OtlpSpan) {
  const of = new Map(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
  const parsed = (name: string): Record<string, unknown>[] =>
    of.has(name) ? (JSON.parse(String(of.get(name))) as Record<string, unknown>[]) : [];
  const system = parsed("gen_ai.system_instructions").map(({ content }) => ({
    role: "system",
    content,
  }));
  return {
    sessionId: of.get("gen_ai.conversation.id"),
    model: of.get("gen_ai.request.model"),
    input: [...system, ...parsed("gen_ai.input.messages")],
    output: parsed("gen_ai.output.messages"),
    toolInput: of.get("gen_ai.tool.call.arguments"),
    toolOutput: of.get("gen_ai.tool.call.result"),
    usage: Object.fromEntries(
      [...of]
        .filter(([key]) => key.startsWith("gen_ai.usage."))
        .map(([key, value]) => [key.slice("gen_ai.usage.".length), Number(value)]),
    ),
  };
}

/** `parent > child`, in the order in which they ended. */
function tree(): string[] {
  const spans = exporter.getFinishedSpans();
  const nameOf = (id: string | undefined): string =>
    id === undefined
      ? "–"
      : id === CALLER.span
        ? "caller"
        : (spans.find((span) => span.spanContext().spanId === id)?.name ?? "lost");
  return spans.map((span) => `${nameOf(span.parentSpanContext?.spanId)} > ${span.name}`);
}

function traces(): string[] {
  return [
    ...new Set(exporter.getFinishedSpans().map((span: ReadableSpan) => span.spanContext().traceId)),
  ];
}

/** Calls of the test's own providers would be spans as well. */
const UNHELD = { held: { first: 0, every: Infinity } } as const;

test("a turn is one trace: acceptance, turn, agent, and its model calls and tools under it", async () => {
  await using t = await startTestEngine(desk, { ...UNHELD, offline: [model] });

  const { turnId } = await t.say("안녕 비밀");

  expect(tree()).toEqual([
    "– > accept desk",
    "invoke_agent helper > chat desk",
    "invoke_agent helper > execute_tool weather",
    "invoke_agent helper > chat desk",
    "invoke_agent helper > execute_tool order",
    "invoke_agent helper > chat desk",
    "turn desk > invoke_agent helper",
    "accept desk > turn desk",
  ]);
  expect(traces()).toHaveLength(1);
  const spans = exporter.getFinishedSpans();
  expect(spans.at(-1)!.attributes).toEqual({
    "dure.turn": turnId,
    "gen_ai.conversation.id": "s1",
    "dure.service": "desk",
    "dure.life": 1,
  });
  expect(spans[2]!.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "weather",
    "gen_ai.conversation.id": "s1",
  });
  expect(spans[4]!).toMatchObject({
    attributes: { "gen_ai.tool.name": "order", "error.type": "SOLD_OUT" },
    status: { code: SpanStatusCode.ERROR },
  });
  expect(
    JSON.stringify(spans.map(({ attributes, status, events }) => ({ attributes, status, events }))),
  ).not.toContain("비밀");
});

test("texts leave over OTLP only where the team asks, in the shape that receivers of traces read", async () => {
  const received: OtlpTraces[] = [];
  await using collector = createServer((request, response) => {
    void json(request).then((body) => {
      received.push(body as OtlpTraces);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(collector, "listening");
  const { port } = collector.address() as AddressInfo;
  const sender = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  await using t = await startTestEngine(desk, {
    ...UNHELD,
    offline: [model],
    engine: { spanTexts: true },
  });

  await t.say("안녕 비밀");
  const sent = Promise.withResolvers<void>();
  sender.export(exporter.getFinishedSpans(), ({ error }) =>
    error ? sent.reject(error) : sent.resolve(),
  );
  await sent.promise;
  await sender.shutdown();
  collector.closeAllConnections();

  const spans = received.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scoped) => scoped.spans)),
  );
  const read = (name: string) => spans.filter((span) => span.name === name).map(readSpan);
  const calls = read("chat desk");
  expect(calls).toHaveLength(3);
  expect(calls[0]).toMatchObject({ sessionId: "s1", model: "desk" });
  expect(calls[0]!.input).toEqual([
    { role: "system", content: "Help." },
    { role: "user", parts: [{ type: "text", content: "안녕 비밀" }] },
  ]);
  expect(calls[1]!.input.slice(-2)).toMatchObject([
    { role: "assistant", parts: [{ type: "tool_call", name: "weather", arguments: {} }] },
    { role: "tool", parts: [{ type: "tool_call_response", response: "sunny" }] },
  ]);
  expect(calls[2]!.output).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "답 비밀" }], finish_reason: "stop" },
  ]);
  expect(calls[0]!.usage["input_tokens"]).toBeGreaterThan(0);
  expect(read("execute_tool weather")).toMatchObject([
    { sessionId: "s1", toolInput: "{}", toolOutput: "sunny" },
  ]);
});

test("turns at the same time keep their spans apart, and hang on the callers that say who they are", async () => {
  await using t = await startTestEngine(desk, { ...UNHELD, offline: [model] });

  await Promise.all([
    t.engine.turn({ session: "a", message: "one" }, { traceParent }).done,
    t.engine.turn({ session: "b", message: "two" }, { traceParent: "no trace" }).done,
  ]);

  expect(
    tree()
      .filter((line) => line.endsWith("accept desk"))
      .sort(),
  ).toEqual(["caller > accept desk", "– > accept desk"]);
  const ofCaller = exporter
    .getFinishedSpans()
    .filter((span) => span.spanContext().traceId === CALLER.trace);
  expect([ofCaller.length, traces().length]).toEqual([8, 2]);
  expect(
    new Set(ofCaller.map(({ attributes }) => attributes["gen_ai.conversation.id"]).filter(Boolean)),
  ).toEqual(new Set(["a"]));
});

test("a turn that goes on in another process goes on in its trace", async () => {
  await using database = await testDatabase();
  const begun = Promise.withResolvers<void>();
  const stuck = offlineModel("desk", () => (begun.resolve(), new Promise(() => {})));
  await using first = await startTestEngine(desk, { ...UNHELD, offline: [stuck], on: database });
  const { turnId } = await first.engine.accept(
    { session: "s1", message: "hello" },
    { traceParent },
  );
  await begun.promise;
  first.fence();
  await first.engine.store.release(first.processId);

  await using second = await startTestEngine(desk, { ...UNHELD, offline: [model], on: database });
  for await (const _ of second.engine.read(turnId));

  const lives = exporter.getFinishedSpans().filter(({ name }) => name === "turn desk");
  expect(traces()).toEqual([CALLER.trace]);
  expect(lives.at(-1)!.attributes["dure.life"]).toBeGreaterThan(1);
  expect(tree()).toContain("accept desk > turn desk");
});

test("a turn that fails says with which code, on the span of what failed and on its own", async () => {
  const broken = offlineModel("desk", () => ({ error: { status: 401, message: "비밀" } }));
  await using t = await startTestEngine(desk, { ...UNHELD, offline: [broken] });

  await t.say("hello");

  const failed = exporter
    .getFinishedSpans()
    .filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(
    failed.map(({ name, attributes }) => `${name}: ${String(attributes["error.type"])}`),
  ).toEqual([
    "chat desk: MODEL_UNAUTHORIZED",
    "invoke_agent helper: MODEL_UNAUTHORIZED",
    "turn desk: MODEL_UNAUTHORIZED",
  ]);
});
