import { expect, test } from "vitest";
import { jsonCopy } from "./json.ts";

test.each([
  ["NaN", { total: [Number.NaN] }],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["a Map", { stock: new Map([["a", 1]]) }],
  ["a Set", [new Set(["a"])]],
])("%s is refused, for JSON would make something else of it", (_what, value) => {
  expect(() => jsonCopy(value, "What the tool gave")).toThrow(
    expect.objectContaining({ code: "VALUE_NOT_JSON" }),
  );
});

test("what JSON can say is copied, with null and empty objects", () => {
  const value = { none: null, empty: {}, at: new Date(0), gone: undefined };

  expect(jsonCopy(value, "What the tool gave")).toEqual({
    none: null,
    empty: {},
    at: "1970-01-01T00:00:00.000Z",
  });
});
