import { anthropicRefusal } from "../../../testing/src/provider/anthropic-rules.ts";
import { openAiRefusal } from "../../../testing/src/provider/openai-rules.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject } from "../kernel/json.ts";
import { argumentsFault } from "./tool-arguments.ts";
import { providerFault, readToolSchema, toolsFor } from "./tool-schema.ts";

const properties = { a: { type: "string" }, b: { type: "number" } };
const either = [{ required: ["a"] }, { required: ["b"] }];

function fitted(provider: "openai" | "anthropic", inputSchema: JsonObject): JsonObject {
  return toolsFor(provider, [{ name: "pay", inputSchema }]).tools[0]!.inputSchema;
}

/** What the provider's double says about a request with this schema. */
function refusalOf(provider: "openai" | "anthropic", schema: JsonObject): unknown {
  const messages = [{ role: "user", content: "hello" }];
  return provider === "openai"
    ? openAiRefusal({
        model: "gpt",
        messages,
        tools: [{ type: "function", function: { name: "pay", parameters: schema } }],
      })
    : anthropicRefusal({
        model: "claude",
        max_tokens: 100,
        messages,
        tools: [{ name: "pay", input_schema: schema }],
      });
}

const ODD: Readonly<Record<string, JsonObject>> = {
  "no members": { type: "object" },
  "variants of what is required": { type: "object", properties, anyOf: either },
  "variants with members": {
    type: "object",
    oneOf: [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { type: "object", properties: { a: { type: "number" }, b: {} }, required: ["a", "b"] },
    ],
  },
  "parts that all count": {
    type: "object",
    allOf: [{ properties, required: ["a"] }, { $ref: "#/$defs/more" }],
    $defs: { more: { properties: { c: { type: "string" } }, required: ["c"] } },
  },
  "a reference at its top": {
    type: "object",
    $ref: "#/$defs/Pay",
    $defs: { Pay: { type: "object", properties, required: ["a"] } },
  },
  "lists that hold anything": {
    type: "object",
    properties: { list: { type: "array" }, maybe: { type: ["array", "null"] } },
  },
  "a dialect and a value": {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "https://a.example/pay",
    type: "object",
    properties: { to: { type: ["string", "null"], format: "iban" } },
    not: { required: ["cc"] },
  },
  "itself as a member": { type: "object", properties: { next: { $ref: "#" } } },
};

describe("A tool's schema for a provider", () => {
  test.each(Object.entries(ODD))("with %s is taken", (_, schema) => {
    for (const provider of ["openai", "anthropic"] as const) {
      expect(refusalOf(provider, fitted(provider, schema))).toBeUndefined();
    }
  });

  test("says in words which members belong together", () => {
    expect(fitted("anthropic", ODD["variants with members"]!)).toEqual({
      type: "object",
      description: "Give one of: a; a and b.",
      properties: { a: { anyOf: [{ type: "string" }, { type: "number" }] }, b: {} },
      required: ["a"],
    });
    expect(fitted("openai", ODD["parts that all count"]!)).toMatchObject({
      properties: { ...properties, c: { type: "string" } },
      required: ["a", "c"],
    });
  });

  test("takes all that the tool's own schema takes", () => {
    const text = fc.constantFrom("x", 1, null, [], {});
    const values = fc.record(
      { a: text, b: text, c: text, list: text, to: text },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(ODD)), values, (schema, given) => {
        const value = given as JsonObject;
        fc.pre(argumentsFault(schema, value) === undefined);
        for (const provider of ["openai", "anthropic"] as const) {
          expect(argumentsFault(fitted(provider, schema), value)).toBeUndefined();
        }
      }),
      { numRuns: 200 },
    );
  });

  test("is the same object each time, so that a prefix of a request stays one", () => {
    const schema = ODD["variants with members"]!;

    expect(fitted("openai", schema)).toBe(fitted("openai", schema));
  });

  test("is left out where the provider takes no name of its arguments, with the name", () => {
    const schema = { type: "object", properties: { "filter[id]": {} } } as const;
    const tools = [{ name: "find", inputSchema: schema }];

    expect(toolsFor("anthropic", tools)).toEqual({
      tools: [],
      leftOut: [{ name: "find", because: 'anthropic takes no argument of the name "filter[id]"' }],
    });
    expect(refusalOf("anthropic", schema)).toBeDefined();
    expect(providerFault("openai", schema)).toBeUndefined();
  });

  test("is not sent to OpenAI where there are more than 128 tools: the last ones stay", () => {
    const tools = Array.from({ length: 130 }, (_, index) => ({
      name: `tool_${index}`,
      inputSchema: { type: "object" },
    }));

    const { tools: taken, leftOut } = toolsFor("openai", tools);

    expect(taken.map(({ name }) => name)).toEqual(tools.slice(2).map(({ name }) => name));
    expect(leftOut).toEqual(
      ["tool_0", "tool_1"].map((name) => ({
        name,
        because: "openai takes 128 tools at once, and there are 130",
      })),
    );
    expect(toolsFor("anthropic", tools).tools).toHaveLength(130);
  });
});

describe("The schema of a tool's author", () => {
  test.each<[unknown, object]>([
    [{}, { type: "object" }],
    [{ properties }, { type: "object", properties }],
    [
      { type: ["object", "null"], properties },
      { type: "object", properties },
    ],
    [{ anyOf: either }, { type: "object", anyOf: either }],
  ])("%j is one of an object", (given, schema) => {
    expect(readToolSchema(given)).toEqual({ ok: true, schema });
  });

  test("is read or refused with a reason, whatever it is, and what is read providers take", () => {
    const word = fc.constantFrom("object", "array", "string", "strng", "a", "#", "#/$defs/a");
    const key = fc.constantFrom(
      ...["type", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "required"],
      ...["enum", "not", "a", "b c", "additionalProperties"],
    );
    const { node } = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: "medium", withCrossShrink: true },
        fc.oneof(word, fc.constant(null), fc.boolean(), fc.integer()),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(key, tie("node"), { maxKeys: 4 }),
      ),
    }));
    let count = 0;
    fc.assert(
      fc.property(fc.dictionary(key, node, { maxKeys: 5 }), (given) => {
        const read = readToolSchema(given);
        expect(read).not.toMatchObject({ because: "" });
        if (!read.ok) return;
        count += 1;
        for (const provider of ["openai", "anthropic"] as const) {
          const [tool] = toolsFor(provider, [{ name: "pay", inputSchema: read.schema }]).tools;
          if (tool && isObject(tool.inputSchema)) {
            expect(refusalOf(provider, tool.inputSchema)).toBeUndefined();
          }
        }
      }),
      { numRuns: 1_000 },
    );
    expect(count).toBeGreaterThan(0);
  });
});
