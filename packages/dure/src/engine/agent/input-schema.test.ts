import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { jsonSchemaOf } from "../../models/json-schema.ts";
import { offlineModel } from "../../models/offline.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { chatAgent } from "./agent.ts";
import { type AnyTool, tool, type ToolOptions } from "./tool.ts";

const description = "Opens a ticket.";
const opened: unknown[] = [];
const open = (input: { subject: string; urgent?: boolean | undefined }) => {
  opened.push(input);
  return `opened ${input.subject}`;
};
const JSON_SCHEMA = {
  type: "object",
  properties: { subject: { type: "string", minLength: 3 }, urgent: { type: "boolean" } },
  required: ["subject"],
} as const;

const byValibot = v.object({
  subject: v.pipe(v.string(), v.minLength(3)),
  urgent: v.optional(v.boolean()),
});

/** The same tool, by the schema of each library. */
const TOOLS: readonly (readonly [string, AnyTool])[] = [
  [
    "zod",
    tool({
      description,
      inputSchema: z.object({ subject: z.string().min(3), urgent: z.boolean().optional() }),
      execute: open,
    }),
  ],
  ["valibot", tool({ description, inputSchema: toStandardJsonSchema(byValibot), execute: open })],
  [
    "valibot with JSON Schema beside",
    tool({ description, inputSchema: byValibot, jsonSchema: JSON_SCHEMA, execute: open }),
  ],
  [
    "arktype",
    tool({
      description,
      inputSchema: type({ subject: "string >= 3", "urgent?": "boolean" }),
      execute: open,
    }),
  ],
  [
    "JSON Schema",
    tool({
      description,
      jsonSchema: JSON_SCHEMA,
      execute: ({ subject }) => open({ subject: String(subject) }),
    }),
  ],
];

describe.each(TOOLS)("a tool whose schema is of %s", (_library, made) => {
  test("shows the model an object with its members", () => {
    expect(jsonSchemaOf(made.inputSchema)).toMatchObject({
      type: "object",
      properties: { subject: { type: "string", minLength: 3 }, urgent: { type: "boolean" } },
      required: ["subject"],
    });
  });

  test("refuses what does not fit, and names the place", () => {
    const read = made.inputSchema.safeParse({ subject: "no" });

    expect(read.success).toBe(false);
    expect(JSON.stringify(read.error?.issues)).toContain("subject");
  });

  test("is called with what fits, after its model was told what did not", async () => {
    opened.length = 0;
    const heard: unknown[] = [];
    const model = offlineModel("caller", ({ messages }) => {
      const results = messages.filter(({ role }) => role === "tool");
      heard.push(...results.slice(-1));
      if (results.length === 0) return { toolCalls: [{ name: "open", args: { subject: 1 } }] };
      if (results.length === 1) return { toolCalls: [{ name: "open", args: { subject: "help" } }] };
      return { text: "Opened." };
    });
    const service = defineService({
      name: "desk",
      agents: { clerk: chatAgent({ name: "clerk", prompt: "Help.", tools: { open: made } }) },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("clerk", "…")).text }),
        ),
      },
    });
    await using t = await startTestEngine(service, { offline: [model] });

    const { done } = await t.say("open a ticket");

    expect(done).toMatchObject({ message: "Opened." });
    expect(opened).toEqual([{ subject: "help" }]);
    expect(heard).toMatchObject([
      { isError: true, result: expect.stringContaining("do not fit") as string },
      { result: "opened help" },
    ]);
  });
});

test("what a tool is called with has the type that its schema gives", () => {
  tool({
    description,
    inputSchema: type({ count: "string.integer.parse" }),
    execute: (input) => expectTypeOf(input).toEqualTypeOf<{ count: number }>(),
  });
  tool({
    description,
    inputSchema: toStandardJsonSchema(v.object({ count: v.number() })),
    key: ({ count }) => count,
    execute: (input) => expectTypeOf(input).toEqualTypeOf<{ count: number }>(),
  });
  tool({
    description,
    inputSchema: z.object({ count: z.coerce.number() }),
    execute: (input) => expectTypeOf(input).toEqualTypeOf<{ count: number }>(),
  });
  // @ts-expect-error -- a tool without a schema
  expect(() => tool({ description, execute: () => "done" })).toThrow("Tool");
});

test("a schema that changes values gives the tool the changed ones", () => {
  const counting = tool({
    description,
    inputSchema: type({ count: "string.integer.parse" }),
    jsonSchema: { type: "object", properties: { count: { type: "string" } } },
    execute: ({ count }) => count,
  });

  expect(counting.inputSchema.parse({ count: "7" })).toEqual({ count: 7 });
});

test.each([
  ["without a JSON Schema", { inputSchema: byValibot }, "by valibot, writes no JSON Schema"],
  [
    "that cannot be written",
    { inputSchema: toStandardJsonSchema(v.object({ at: v.symbol() })) },
    "valibot could not write its inputSchema as JSON Schema",
  ],
  ["of a text", { jsonSchema: { type: "string" } }, "takes no object"],
  ["with a lost reference", { jsonSchema: { properties: { a: { $ref: "#/x" } } } }, "reference"],
])("a tool with a schema %s is refused when it is made", (_name, schemas, because) => {
  const options = { description, ...schemas, execute: () => "done" } as ToolOptions<
    unknown,
    string
  >;

  expect(() => tool(options as typeof options & { inputSchema: object })).toThrowError(
    expect.objectContaining({
      code: "TOOL_INVALID",
      message: expect.stringMatching(new RegExp(`^Tool "${description}": .*${because}`)) as string,
    }) as Error,
  );
});

test("a schema that checks later is an error of the tool, not of its caller", () => {
  const later = v.objectAsync({
    name: v.pipeAsync(
      v.string(),
      v.checkAsync(async () => true),
    ),
  });
  const slow = tool({
    description,
    inputSchema: later,
    jsonSchema: { type: "object" },
    execute: () => "done",
  });

  expect(() => slow.inputSchema.safeParse({ name: "x" })).toThrow(
    "its inputSchema is asynchronous",
  );
});
