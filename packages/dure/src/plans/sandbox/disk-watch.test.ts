import { expect, test } from "vitest";
import { grownBy } from "./disk-watch.ts";

test("a folder that a worker closes to dure counts with what the file system has lost", () => {
  const before = { bytes: 1_000, isWhole: true };

  expect(grownBy(before, { bytes: 1_200, isWhole: true }, 9_000)).toBe(200);
  expect(grownBy(before, { bytes: 900, isWhole: false }, 9_000)).toBe(9_000);
  expect(grownBy(before, { bytes: 9_900, isWhole: false }, 300)).toBe(8_900);
});
