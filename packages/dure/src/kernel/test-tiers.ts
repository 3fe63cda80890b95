/**
 * Which tests a run takes: `npm test` is for people and leaves out what is marked `full`;
 * `npm run test:full` runs what is marked; `npm run test:long` and vitest alone run both.
 * scripts/run-tests.ts sets the tier; how late tests look: test-late.ts. Reasons:
 * docs/decisions/0002-checks.md.
 */

type Tier = "quick" | "full" | "all";

/** Tier of this run. Source: DURE_TEST_TIER; absent means `all`. */
const TIER = readTier(process.env["DURE_TEST_TIER"]);

/** Chooses the rows of samples, 1 … 2³¹. Source: DURE_TEST_SAMPLE; absent means 1. */
const SAMPLE = Number(process.env["DURE_TEST_SAMPLE"] ?? "1");

/** Marks a test or a group that `npm test` leaves out: `test(name, FULL, run)`. */
export const FULL: { readonly tags: "full"[] } = { tags: ["full"] };

export interface Sample<Row> {
  readonly rows: readonly Row[];
  /** Options for `test.each(rows)(name, options, run)`. */
  readonly options: { readonly tags: "full"[] };
}

/**
 * Rows of a table whose tests are slow: `npm test` takes `count` of them, which a number of the run
 * chooses, spread over the table; all other runs take every row.
 */
export function sampled<Row>(rows: readonly Row[], count: number): Sample<Row> {
  if (TIER === "quick") return { rows: spread(rows, count, SAMPLE), options: { tags: [] } };
  return { rows, options: { tags: ["full"] } };
}

/** `count` rows at equal distances, beginning at a place that `seed` chooses. Pure. */
export function spread<Row>(rows: readonly Row[], count: number, seed: number): readonly Row[] {
  if (count >= rows.length) return rows;

  const distance = rows.length / count;
  const first = seed % rows.length;
  const chosen = Array.from({ length: count }, (_, index) => first + Math.floor(index * distance));
  const places = new Set(chosen.map((place) => place % rows.length));

  return rows.filter((_, place) => places.has(place));
}

function readTier(text: string | undefined): Tier {
  if (text === undefined || text === "all") return "all";
  if (text === "quick" || text === "full") return text;
  throw new Error(`DURE_TEST_TIER is ${text}; use quick, full or all`);
}
