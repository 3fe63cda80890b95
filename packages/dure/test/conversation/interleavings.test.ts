// @module-tag slow
import { randomInt } from "node:crypto";
import fc from "fast-check";
import { test } from "vitest";
import { sampled } from "../../src/kernel/test-tiers.ts";
import { World, type Command } from "./interleavings.ts";

/**
 * DURE_TEST_LONG: a hundred seeds instead of three. DURE_TEST_SEED: this one seed only, as a
 * failure printed it.
 */
const { DURE_TEST_LONG: long, DURE_TEST_SEED: given } = process.env;
const FIRST = given === undefined ? randomInt(2 ** 31 - 100) : Number(given);
const ALL = Array.from(
  { length: given === undefined ? (long ? 100 : 3) : 1 },
  (_, index) => FIRST + index,
);
const SEEDS = sampled(ALL, 1);
/** Each run has a database and two engines of its own. */
const RUNS = 4;
/** Commands of one run. */
const COMMANDS = { minLength: 10, maxLength: 80, size: "max" } as const;
/** Looking for a shorter failing run is given up after this time, milliseconds. */
const SHRINK_FOR_MS = 120_000;

const record = <Model>(model: {
  [Key in keyof Model]: fc.Arbitrary<Model[Key]>;
}): fc.Arbitrary<Model> => fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<Model>;
const index = fc.nat(1_000);
const engine = fc.nat(1);
/** Mostly the first four, so that they are busy. */
const session = fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(7) });
const manner = record({
  delayMs: fc.oneof(
    { weight: 3, arbitrary: fc.nat(8) },
    { weight: 1, arbitrary: fc.integer({ min: 20, max: 150 }) },
  ),
  pieces: fc.integer({ min: 1, max: 5 }),
  failures: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
  ),
  breaks: fc.boolean(),
});
const frames = fc.integer({ min: 1, max: 6 });

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 10,
    arbitrary: record({
      do: fc.constant("say" as const),
      engine,
      session,
      keyed: fc.boolean(),
      manner,
    }),
  },
  { weight: 3, arbitrary: record({ do: fc.constant("repeat" as const), engine, message: index }) },
  { weight: 3, arbitrary: record({ do: fc.constant("stop" as const), engine, message: index }) },
  {
    weight: 5,
    arbitrary: record({ do: fc.constant("read" as const), engine, message: index, frames }),
  },
  {
    weight: 3,
    arbitrary: record({ do: fc.constant("return" as const), engine, reader: index, frames }),
  },
  { weight: 1, arbitrary: record({ do: fc.constant("die" as const), engine }) },
  { weight: 1, arbitrary: record({ do: fc.constant("cut" as const), engine }) },
  { weight: 4, arbitrary: record({ do: fc.constant("pause" as const), ms: fc.nat(40) }) },
);

test.for(SEEDS.rows)(
  "nothing is lost or done twice in any order of turns, stops, cuts and kills (DURE_TEST_SEED=%i)",
  { ...SEEDS.options, timeout: 60_000 + SHRINK_FOR_MS },
  async (seed) => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, COMMANDS), async (commands) => {
        await using world = await World.start();
        await world.run(commands);
      }),
      { seed, numRuns: RUNS, interruptAfterTimeLimit: SHRINK_FOR_MS, markInterruptAsFailure: true },
    );
  },
);
