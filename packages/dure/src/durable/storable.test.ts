import { expect, test } from "vitest";
import { storable } from "./storable.ts";

test("what jsonb refuses becomes U+FFFD in values and in keys, at every depth", () => {
  const written = { "a\0": ["b\0", { "\ud800c": { at: new Date(0) } }], plain: "\u0001" };

  expect(JSON.parse(storable(written))).toEqual({
    "a\uFFFD": ["b\uFFFD", { "\uFFFDc": { at: "1970-01-01T00:00:00.000Z" } }],
    plain: "\u0001",
  });
});

test("a key of the language stays a key like any other", () => {
  const written = JSON.parse('{"__proto__": {"x": "\\u0000"}}') as object;

  expect(storable(written)).toBe('{"__proto__":{"x":"\uFFFD"}}');
});
