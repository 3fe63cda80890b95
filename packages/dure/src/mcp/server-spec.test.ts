import { expect, test } from "vitest";
import { filledIn, fits } from "./server-spec.ts";

test.each([
  ["read_file", "read_file", true],
  ["read_file", "read_*", true],
  ["read_file", "*", true],
  ["read_file", "*_file", true],
  ["read_file", "r*d*e", true],
  ["read_file", "read", false],
  ["read_file", "write_*", false],
  ["read_file", "read_file*file", false],
  ["aXb", "a.b", false],
  ["", "*", true],
])("the name %s and the pattern %s fit: %s", (name, pattern, expected) => {
  expect(fits(name, pattern)).toBe(expected);
});

test("a pattern of many stars is decided in linear time", () => {
  expect(fits("a".repeat(10_000), `${"a*".repeat(5_000)}b`)).toBe(false);
});

test("values of the environment are filled in where their names stand", () => {
  const texts = { Authorization: "Bearer ${TOKEN}", Plain: "$TOKEN ${}" };

  expect(filledIn(texts, { TOKEN: "t1" })).toEqual({
    Authorization: "Bearer t1",
    Plain: "$TOKEN ${}",
  });
});

test("names that the environment lacks are all told, and nothing of its values", () => {
  const fill = (): unknown => filledIn({ a: "${ONE}", b: "${TWO} ${KNOWN}" }, { KNOWN: "secret" });

  expect(fill).toThrow(
    expect.objectContaining({
      code: "MCP_ENVIRONMENT_MISSING",
      message: "The environment lacks ONE, TWO.",
    }),
  );
});
