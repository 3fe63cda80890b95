/**
 * With DURE_TEST_LATE_MS `expect.poll` looks late, as our own waiters do (kernel/test-late.ts).
 * vitest.config.ts takes it only then.
 */

import { expect } from "vitest";
import { atLeastLate, LATE_MS, lateFirst } from "../packages/dure/src/kernel/test-late.ts";

const { poll } = expect;
expect.poll = ((look, options) =>
  poll(lateFirst(look), {
    ...options,
    interval: atLeastLate(options?.interval ?? 50),
    timeout: LATE_MS * 4 + (options?.timeout ?? 20_000),
  })) as typeof poll;
