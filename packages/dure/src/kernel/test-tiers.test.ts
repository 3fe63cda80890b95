import fc from "fast-check";
import { expect, test } from "vitest";
import { spread } from "./test-tiers.ts";

test("a sample has as many different rows as asked for, in the order of the table", () => {
  const table = fc.uniqueArray(fc.integer(), { minLength: 1 });

  fc.assert(
    fc.property(table, fc.integer({ min: 1, max: 20 }), fc.nat(), (rows, count, seed) => {
      const chosen = spread(rows, count, seed);

      expect(chosen).toHaveLength(Math.min(count, rows.length));
      expect(rows.filter((row) => chosen.includes(row))).toEqual(chosen);
    }),
  );
});

test("every row of a table is in the sample of some seed", () => {
  const rows = Array.from({ length: 17 }, (_, index) => index);
  const seen = new Set(rows.flatMap((seed) => spread(rows, 3, seed)));

  expect(seen.size).toBe(rows.length);
});
