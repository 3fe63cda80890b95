import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { TokenMeter } from "../assign/token-meter.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import { PortAccount } from "./port-account.ts";

test("a port that waits for a provider uses up none of its time, neither then nor afterwards", async () => {
  let now = 1_000;
  const clock = { ...systemClock, monotonic: () => now };
  const port = { timeMs: 60_000, spentMs: 0, tokensIn: 0, tokensOut: 0, tokensMost: null };
  const account = new PortAccount(
    {} as PlanRun,
    port as unknown as PlanPort,
    {
      clock,
      tokens: new TokenMeter("run"),
    } as never,
  );
  now += 5_000;

  await account.untimed(async () => {
    now += 3_600_000;
    expect(account.timeLeft).toBe(55_000);
  });

  expect(account.timeLeft).toBe(55_000);
  now += 1_000;
  expect(account.timeLeft).toBe(54_000);
});
