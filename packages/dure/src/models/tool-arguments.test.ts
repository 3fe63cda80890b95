import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../kernel/json.ts";
import { misfitsOf, schemaFault } from "./tool-arguments.ts";

const WEATHER = {
  type: "object",
  properties: { city: { type: "string", minLength: 2 }, unit: { enum: ["C", "F"] } },
  required: ["city"],
  additionalProperties: false,
} as const;

function misfit(inputSchema: JsonObject, args: Json, strict = false): string | undefined {
  return misfitsOf([{ tool: { name: "weather", inputSchema, strict }, args }])[0];
}

describe("arguments", () => {
  test.each([
    [{}, "must have required property 'city'"],
    [{ city: "S" }, "/city must NOT have fewer than 2 characters"],
    [{ city: "Seoul", unit: "K" }, '/unit must be equal to one of the allowed values: ["C","F"]'],
    [{ city: "Seoul", town: 1 }, 'must NOT have additional properties: "town"'],
  ])("%o do not fit, and the fault is named", (args, fault) => {
    expect(misfit(WEATHER, args)).toContain(fault);
  });

  test.each([
    ["an old draft", { $schema: "http://json-schema.org/draft-07/schema#", items: [{}] }, []],
    ["a condition", { if: { required: ["a"] }, else: { required: ["b"] } }, { b: 1 }],
    [
      "a pattern that JavaScript cannot read",
      { properties: { s: { pattern: "(?i)x" } } },
      { s: "" },
    ],
    ["a reference that leads nowhere", { $ref: "#/$defs/none" }, {}],
    ["a reference to the outside", { $ref: "https://example.org/schema" }, {}],
  ])("fit %s", (_what, schema, args) => {
    expect(misfit(schema as JsonObject, args)).toBeUndefined();
  });

  test.each([
    ["a condition", { if: { required: ["a"] }, else: { required: ["b"] } }, { c: 1 }],
    [
      "a schema of its own depth",
      { properties: { in: { $ref: "#" } }, minProperties: 1 },
      { in: {} },
    ],
  ])("do not fit %s", (_what, schema, args) => {
    expect(misfit(schema as JsonObject, args)).toContain("do not fit");
  });

  test("of a strict tool whose schema cannot be used never leave", () => {
    expect(misfit({ $ref: "#/$defs/none" }, {}, true)).toContain("cannot be used");
  });

  test.each([
    ["a pattern that backtracks", { properties: { s: { pattern: "^(a+)+$" } } }],
    ["references that double at each step", doubling(30)],
    [
      "a reference to itself",
      { $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" },
    ],
  ])("against %s end in time, and later checks go on", (_what, schema) => {
    misfit(schema, { s: `${"a".repeat(60)}!` }, true);

    expect(misfit(WEATHER, { city: "Seoul" })).toBeUndefined();
    expect(misfit(WEATHER, {})).toContain("city");
  });

  test("that cannot be checked in time do not fit", () => {
    const schema = { properties: { s: { pattern: "^(a+)+$" } } };

    expect(misfit(schema, { s: `${"a".repeat(60)}!` })).toContain("could not be checked");
  });
});

describe("a schema", () => {
  test.each([
    ["that is none", { type: "text" }, "is no JSON Schema: /type"],
    ["whose list of names is a word", { required: "city" }, "/required must be array"],
    ["of 20,000 levels", nested(20_000), "has more than 64 levels"],
  ])("%s has a fault", (_what, schema, fault) => {
    expect(schemaFault(schema)).toContain(fault);
  });

  test("of 60 levels, of an old draft, or with words of others has none", () => {
    const old = { $schema: "http://json-schema.org/draft-07/schema#", items: [{}] };

    expect([nested(30), old, { "x-order": 1, nullable: true }].map(schemaFault)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

function nested(times: number): JsonObject {
  let schema: JsonObject = { type: "object" };
  for (let level = 0; level < times; level++) schema = { properties: { a: schema } };
  return schema;
}

function doubling(times: number): JsonObject {
  const one = (index: number): JsonObject => {
    const next = { $ref: `#/$defs/a${index + 1}` };
    return index === times ? { type: "object" } : { allOf: [next, next] };
  };
  const defs = Array.from({ length: times + 1 }, (_, index) => [`a${index}`, one(index)]);
  return { $defs: Object.fromEntries(defs) as JsonObject, $ref: "#/$defs/a0" };
}
