import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { TokenMeter } from "../assign/token-meter.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import { PortAccount } from "./port-account.ts";

function accountAt(monotonic: () => number): PortAccount {
  const clock = { ...systemClock, monotonic };
  const port = { timeMs: 60_000, spentMs: 0, tokensIn: 0, tokensOut: 0, tokensMost: null };
  const parts = { clock, tokens: new TokenMeter("run") };
  return new PortAccount({} as PlanRun, port as unknown as PlanPort, parts as never);
}

test("a port that waits for a provider uses up none of its time, neither then nor afterwards", async () => {
  let now = 1_000;
  const account = accountAt(() => now);
  now += 5_000;

  await account.untimed(async () => {
    now += 3_600_000;
    expect(account.timeLeft).toBe(55_000);
  });

  expect(account.timeLeft).toBe(55_000);
  now += 1_000;
  expect(account.timeLeft).toBe(54_000);
});

test("two waits of a port that overlap take nothing of its time, and give it none", () => {
  let now = 0;
  const account = accountAt(() => now);
  const first = account.hold();
  now += 10_000;
  const second = account.hold();
  now += 10_000;
  first();
  now += 10_000;
  expect(account.timeLeft).toBe(60_000);

  second();

  now += 1_000;
  expect(account.timeLeft).toBe(59_000);
});
