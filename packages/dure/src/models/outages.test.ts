import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { ModelOutages } from "./outages.ts";

const LLM = { provider: "openai", model: "own-model" } as const;

/** An outage whose beginning is told only when `isTold` resolves. */
function outagesTold(told: string[], isTold: Promise<void>): ModelOutages {
  return new ModelOutages({
    clock: systemClock,
    logger: silentLogger,
    retry: { firstMs: 1, maxMs: 1 },
    onBegin: async () => {
      await isTold;
      told.push("away");
    },
    onEnd: async () => void told.push("back"),
  });
}

async function fail(outages: ModelOutages): Promise<void> {
  const { signal } = new AbortController();
  await outages.untilRetry(LLM, new Error("away"), { waits: 0, leftMs: 1, signal });
}

test("that a model is back is told after that it is away, however long that takes", async () => {
  const told: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const outages = outagesTold(told, promise);

  await fail(outages);
  outages.answered(LLM);
  await new Promise(setImmediate);
  const before = [...told];
  resolve();

  await expect.poll(() => told).toEqual(["away", "back"]);
  expect(before).toEqual([]);
});

test("that a model is back is told also where that it is away could not be", async () => {
  const told: string[] = [];
  const outages = outagesTold(told, Promise.reject(new Error("the database is away")));

  await fail(outages);
  outages.answered(LLM);

  await expect.poll(() => told).toEqual(["back"]);
});
