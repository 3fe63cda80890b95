import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Json, JsonObject } from "../kernel/json.ts";
import { jsonSchemaOf, schemaOfJson, strictSchema, withoutAbsentNulls } from "./json-schema.ts";

function cleaned(schema: z.ZodType, value: Json): Json {
  return withoutAbsentNulls(value, jsonSchemaOf(schema));
}

describe("a null where a member may be absent", () => {
  const person = z.object({ name: z.string(), memo: z.string().optional() });

  test.each<[string, z.ZodType, Json, Json]>([
    ["at the top", person, { name: "a", memo: null }, { name: "a" }],
    [
      "in an object in an object",
      z.object({ to: person }),
      { to: { name: "a", memo: null } },
      { to: { name: "a" } },
    ],
    [
      "in an object in a list",
      z.object({ tasks: z.array(person) }),
      { tasks: [{ name: "a", memo: null }, { name: "b" }] },
      { tasks: [{ name: "a" }, { name: "b" }] },
    ],
    ["for a whole list", z.object({ tasks: z.array(person).optional() }), { tasks: null }, {}],
    ["for a member with a default", z.object({ n: z.number().default(3) }), { n: null }, {}],
    ["as an element of a list", z.array(z.string()), ["a", null, "b"], ["a", "b"]],
    ["in a record", z.record(z.string(), z.string()), { a: "b", c: null }, { a: "b" }],
    [
      "in a union",
      z.union([
        z.object({ op: z.literal("no") }),
        z.object({ op: z.literal("set"), v: z.string(), w: z.string().optional() }),
      ]),
      { op: "set", v: "1", w: null },
      { op: "set", v: "1" },
    ],
    [
      "in a union that is told apart by a member",
      z.discriminatedUnion("op", [
        z.object({ op: z.literal("clear"), slot: z.string() }),
        z.object({ op: z.literal("stop"), slot: z.string().optional() }),
      ]),
      { op: "stop", slot: null },
      { op: "stop" },
    ],
    [
      "where zod would make a number of it",
      z.object({ n: z.coerce.number().optional() }),
      { n: null },
      {},
    ],
  ])("is absent: %s", (_, schema, value, expected) => {
    expect(cleaned(schema, value)).toEqual(expected);
    expect(schema.safeParse(cleaned(schema, value)).success).toBe(true);
  });

  test("is absent in a schema that holds itself", () => {
    type Tree = { memo?: string | undefined; inner?: Tree | undefined };
    const tree: z.ZodType<Tree> = z.object({
      memo: z.string().optional(),
      inner: z.lazy(() => tree).optional(),
    });

    expect(cleaned(tree, { memo: null, inner: { inner: null, memo: "x" } })).toEqual({
      inner: { memo: "x" },
    });
  });

  test.each<[string, z.ZodType, Json]>([
    ["the schema takes it", z.object({ memo: z.string().nullable().optional() }), { memo: null }],
    ["anything is taken", z.object({ memo: z.unknown().optional() }), { memo: null }],
    ["a value is required", z.object({ name: z.string() }), { name: null }],
    ["a list takes it", z.array(z.string().nullable()), [null]],
    ["a literal is null", z.object({ memo: z.literal(null).optional() }), { memo: null }],
  ])("stays where %s", (_, schema, value) => {
    expect(cleaned(schema, value)).toEqual(value);
  });

  test("a value without nulls stays as it is", () => {
    const anything = z.object({ a: z.array(z.unknown()).optional(), b: person.optional() });
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(cleaned(anything, { a: [value as Json] })).toEqual({ a: [value] });
      }),
    );
  });
});

describe("the schema for strict mode", () => {
  test("closes each object and requires each member; an optional one takes null", () => {
    const schema = z.object({
      op: z.enum(["set", "clear"]),
      slot: z.enum(["a", "b"]).optional(),
      value: z.union([z.string(), z.number()]).optional(),
      inner: z.object({ memo: z.string().max(9).optional() }),
    });

    expect(strictSchema(jsonSchemaOf(schema))).toEqual({
      ok: true,
      schema: {
        type: "object",
        properties: {
          op: { type: "string", enum: ["set", "clear"] },
          slot: { type: ["string", "null"], enum: ["a", "b", null] },
          value: { type: ["string", "number", "null"] },
          inner: {
            type: "object",
            properties: { memo: { type: ["string", "null"] } },
            required: ["memo"],
            additionalProperties: false,
          },
        },
        required: ["op", "slot", "value", "inner"],
        additionalProperties: false,
      },
    });
  });

  test("an answer in it with nulls fits the schema that it was made of", () => {
    const schema = z.object({ a: z.string().optional(), b: z.array(z.int()).default([]) });

    expect(schema.parse(cleaned(schema, { a: null, b: null }))).toEqual({ b: [] });
  });

  test.each<[string, JsonObject, RegExp]>([
    ["its root is a union", jsonSchemaOf(z.union([z.object({}), z.object({})])), /root/],
    ["its root is a list", jsonSchemaOf(z.array(z.string())), /root/],
    [
      "a member takes any name",
      jsonSchemaOf(z.object({ a: z.record(z.string(), z.string()) })),
      /"a"/,
    ],
    ["a member may be anything", jsonSchemaOf(z.object({ a: z.unknown() })), /"a" may be anything/],
    ["a tuple", jsonSchemaOf(z.object({ a: z.tuple([z.string()]) })), /prefixItems/],
    ["allOf", { type: "object", properties: { a: { allOf: [{ type: "string" }] } } }, /allOf/],
    [
      "too many values",
      jsonSchemaOf(z.object({ a: z.enum(Array.from({ length: 1_001 }, (_, n) => `v${n}`)) })),
      /1000 values/,
    ],
    ["too deep", deep(12), /10 levels/],
  ])("is none where %s", (_, schema, because) => {
    expect(strictSchema(schema)).toEqual({
      ok: false,
      because: expect.stringMatching(because) as string,
    });
  });

  test("keeps the formats and bounds that it knows and leaves out the others", () => {
    const schema = z.object({
      day: z.iso.date(),
      url: z.url(),
      count: z.int().min(1).max(9),
      whole: z.int(),
    });

    expect(strictSchema(jsonSchemaOf(schema))).toMatchObject({
      schema: {
        properties: {
          day: { type: "string", format: "date" },
          url: { type: "string" },
          count: { type: "integer", minimum: 1, maximum: 9 },
          whole: { type: "integer" },
        },
      },
    });
  });
});

function deep(levels: number): JsonObject {
  let schema: z.ZodType = z.string();

  for (let level = 0; level < levels; level++) schema = z.object({ inner: schema });

  return jsonSchemaOf(schema);
}

test.each([
  ["a pattern that backtracks", { properties: { a: { type: "string", pattern: "^(a+)+$" } } }],
  ["references that double", { properties: { a: { $ref: "#/$defs/a0" } }, $defs: doubling(40) }],
])("%s costs a refusal, not the process", (_, schema) => {
  const read = schemaOfJson({ type: "object", ...schema });

  expect(read.safeParse({ a: `${"a".repeat(40)}!` }).error?.issues[0]?.message).toMatch(/within/);
});

test("a pattern that ends is checked, and a default is filled in", () => {
  const read = schemaOfJson({
    type: "object",
    properties: { a: { type: "string", pattern: "^x" }, n: { type: "integer", default: 7 } },
  });

  expect(read.safeParse({ a: "y" }).error?.issues[0]?.path).toEqual(["a"]);
  expect(read.parse({ a: "x1" })).toEqual({ a: "x1", n: 7 });
});

/** Each schema asks the next one twice. */
function doubling(levels: number): JsonObject {
  const entries = Array.from({ length: levels }, (_, at) => {
    const next = { $ref: `#/$defs/a${at + 1}` };
    return [`a${at}`, { allOf: [next, next] }] as const;
  });
  return { ...Object.fromEntries(entries), [`a${levels}`]: { type: "string" } };
}
