import { expect, test } from "vitest";
import type { Plan } from "../plan.ts";
import { tokensOfRun } from "./run-rows.ts";

const plan = (limits: object, ports: number): Plan =>
  ({ limits, ports: Array.from({ length: ports }) }) as Partial<Plan> as Plan;

test("a run whose plan names no tokens has a bound for each of its ports", () => {
  expect(tokensOfRun(plan({}, 3))).toBe(150_000_000);
  expect(tokensOfRun(plan({ budget: { microUsd: 2_000_000 } }, 1))).toBe(50_000_000);
});

test("tokens that a plan names are the bound of its run", () => {
  expect(tokensOfRun(plan({ budget: { tokens: 1_000 } }, 3))).toBe(1_000);
});
