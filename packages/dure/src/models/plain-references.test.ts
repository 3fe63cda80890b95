import { expect, test } from "vitest";
import { plainReferences } from "./plain-references.ts";

const DAY = { type: "string", format: "date" };

test("in the place of a reference stands what it names, with what is said beside it", () => {
  const on = { $ref: "#/$defs/day", description: "The day." };
  const schema = { type: "object", properties: { on }, $defs: { day: DAY } };

  expect(plainReferences(schema)).toEqual({
    type: "object",
    properties: { on: { ...DAY, description: "The day." } },
  });
});

test("a reference to itself stays alone, and into definitions", () => {
  const tree = {
    type: "object",
    properties: { inner: { $ref: "#/definitions/tree", description: "Within." } },
  };
  const schema = {
    type: "object",
    properties: { tree: { $ref: "#/definitions/tree" } },
    definitions: { tree },
  };

  expect(plainReferences(schema)).toEqual({
    type: "object",
    properties: { tree: { type: "object", properties: { inner: { $ref: "#/$defs/d1" } } } },
    $defs: { d1: { type: "object", properties: { inner: { $ref: "#/$defs/d1" } } } },
  });
});

test("a schema whose references double at each level stays small", () => {
  const levels = Array.from({ length: 40 }, (_, level) => {
    const next = { $ref: `#/$defs/l${level + 1}` };
    return [`l${level}`, { type: "object", properties: { a: next, b: next } }] as const;
  });
  const $defs = { ...Object.fromEntries(levels), l40: DAY };
  const schema = { type: "object", properties: { top: { $ref: "#/$defs/l0" } }, $defs };

  expect(JSON.stringify(plainReferences(schema)).length).toBeLessThan(1_000_000);
});
