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
    "dure.session": "s1",
    "dure.service": "desk",
    "dure.life": 1,
  });
  expect(spans[2]!.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "weather",
  });
  expect(spans[4]!).toMatchObject({
    attributes: { "gen_ai.tool.name": "order", "error.type": "SOLD_OUT" },
    status: { code: SpanStatusCode.ERROR },
  });
  expect(
    JSON.stringify(spans.map(({ attributes, status, events }) => ({ attributes, status, events }))),
  ).not.toContain("비밀");
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
    new Set(ofCaller.map(({ attributes }) => attributes["dure.session"]).filter(Boolean)),
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
