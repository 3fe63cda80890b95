import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { LoopStall } from "./metrics.ts";

/** Keeps the thread busy: that is what is measured. */
function stall(ms: number): void {
  const until = systemClock.monotonic() + ms;
  while (systemClock.monotonic() < until);
}

test("the longest stall is told once, also one that follows directly on a look", async () => {
  const loop = new LoopStall(systemClock);

  stall(300);
  await systemClock.sleep(50);
  const first = loop.take();
  stall(500);
  await systemClock.sleep(50);

  expect(first).toBeGreaterThanOrEqual(250);
  expect(loop.take()).toBeGreaterThanOrEqual(450);
  expect(loop.take()).toBe(0);
});
