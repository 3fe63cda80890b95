import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../kernel/json.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import type { ModelMessage, ModelRequest, ToolSpec } from "./model.ts";
import { refusalsOf } from "./test-providers.ts";

const ASKS: ModelMessage = { role: "user", text: "pay" };

function calls(...toolCalls: readonly { id: string; name: string }[]): ModelMessage {
  return {
    role: "assistant",
    text: "",
    toolCalls: toolCalls.map((call) => ({ args: {}, ...call })),
  };
}

const result = (callId: string, name: string, value: JsonObject | string = "1"): ModelMessage => ({
  role: "tool",
  callId,
  name,
  result: value,
});

const TOOLS: readonly ToolSpec[] = [
  { name: "pay", inputSchema: { type: "object", properties: {} } },
  { name: "rate", description: "Rates.", inputSchema: { type: "object", properties: {} } },
];

const PAY = { id: "a", name: "pay" };
const RATE = { id: "b", name: "rate" };

describe("A conversation that every provider takes", () => {
  test.each<[string, readonly ModelMessage[]]>([
    ["one call", [ASKS, calls(PAY), result("a", "pay")]],
    ["calls side by side", [ASKS, calls(PAY, RATE), result("a", "pay"), result("b", "rate")]],
    ["a call without its result", [ASKS, calls(PAY, RATE), result("b", "rate"), ASKS]],
    ["two rounds", [ASKS, calls(PAY), result("a", "pay"), calls(RATE), result("b", "rate")]],
    [
      "words and calls of one agent after another",
      [ASKS, { role: "assistant", text: "so" }, calls(PAY), result("a", "pay")],
    ],
    [
      "a long id",
      [ASKS, calls({ id: "x".repeat(90), name: "pay" }), result("x".repeat(90), "pay")],
    ],
    [
      "a name with dots and a colon",
      [ASKS, calls({ id: "a", name: "default_api:pay.now" }), result("a", "default_api:pay.now")],
    ],
    ["a name in Korean", [ASKS, calls({ id: "a", name: "송금" }), result("a", "송금")]],
    ["a name that begins with a digit", [ASKS, calls({ id: "a", name: "3d" }), result("a", "3d")]],
    [
      "a very long name",
      [ASKS, calls({ id: "a", name: "pay".repeat(50) }), result("a", "pay".repeat(50))],
    ],
    [
      "a result that is a schema",
      [ASKS, calls(PAY), result("a", "pay", { $ref: "#/$defs/a", $defs: {} })],
    ],
    [
      "an error",
      [ASKS, calls(PAY), { ...result("a", "pay", "no"), isError: true } as ModelMessage],
    ],
    ["an empty result", [ASKS, calls(PAY), result("a", "pay", "")]],
    ["two messages of a person", [ASKS, ASKS]],
  ])("has %s", async (_, messages) => {
    expect(await refusalsOf({ messages, tools: TOOLS })).toEqual([]);
    expect(await refusalsOf({ messages })).toEqual([]);
  });
});

/** Refers to itself. */
const Tree = z.object({
  name: z.string(),
  get inner() {
    return z.array(Tree).describe("Within.").optional();
  },
});

const DAY = { type: "string", format: "date" };

describe("Tools that every provider takes", () => {
  test.each<[string, JsonObject]>([
    ["of no arguments", { type: "object" }],
    [
      "of a zod schema",
      jsonSchemaOf(
        z.object({
          kind: z.literal("a"),
          n: z.int().min(1).max(9),
          at: z.iso.date(),
          one: z.enum(["a", "b"]).describe("One."),
        }),
      ),
    ],
    ["of a tree", jsonSchemaOf(Tree)],
    [
      "of a union",
      jsonSchemaOf(
        z.object({
          of: z.discriminatedUnion("k", [
            z.object({ k: z.literal(1) }),
            z.object({ k: z.literal(2), a: z.string() }),
          ]),
        }),
      ),
    ],
    [
      "of a reference with words",
      {
        type: "object",
        properties: { on: { $ref: "#/$defs/day", description: "The day.", default: "today" } },
        $defs: { day: DAY },
      },
    ],
    [
      "of older definitions",
      {
        type: "object",
        properties: { on: { $ref: "#/definitions/day" } },
        definitions: { day: DAY },
      },
    ],
    [
      "of a reference to a member",
      { type: "object", properties: { from: DAY, to: { $ref: "#/properties/from" } } },
    ],
    ["of a list of anything", { type: "object", properties: { all: { type: "array" } } }],
    [
      "of variants at the top",
      {
        type: "object",
        anyOf: [
          { required: ["a"], properties: { a: DAY } },
          { required: ["b"], properties: { b: DAY } },
        ],
      },
    ],
    [
      "of numbers to choose from",
      { type: "object", properties: { n: { type: "integer", enum: [1, 2] } } },
    ],
    [
      "of a choice with nothing in it",
      { type: "object", properties: { n: { type: "string", enum: ["", "a"] } } },
    ],
  ])("have arguments %s", async (_, inputSchema) => {
    const request: ModelRequest = { messages: [ASKS], tools: [{ name: "pay", inputSchema }] };

    expect(await refusalsOf(request)).toEqual([]);
    expect(await refusalsOf({ ...request, toolChoice: { tool: "pay" } })).toEqual([]);
    expect(await refusalsOf({ ...request, toolChoice: "required" })).toEqual([]);
  });
});

test("Every provider takes a request for JSON, with tools and without", async () => {
  const schema = jsonSchemaOf(z.object({ tree: Tree, note: z.string().optional() }));
  const request: ModelRequest = { messages: [ASKS], output: { schema } };

  expect(await refusalsOf(request)).toEqual([]);
  expect(await refusalsOf({ ...request, tools: TOOLS })).toEqual([]);
});
