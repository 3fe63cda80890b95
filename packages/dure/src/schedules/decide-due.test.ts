import { describe, expect, test } from "vitest";
import { decideDue, type Due, type MissedRule } from "./decide-due.ts";
import { readRule } from "./rule.ts";

const NINE = Date.parse("2026-11-24T09:00Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const daily = readRule("0 9 * * *", "UTC");

/** What is due when the last look was at `since`; both are minutes from nine. */
function due(since: number, now: number, missed: MissedRule = "skip"): Due {
  const looked = { since: NINE + since * MINUTE, now: NINE + now * MINUTE };
  return decideDue({ rule: daily, missed, ...looked });
}

const NOTHING = { take: [], missed: undefined };
const NINE_O_CLOCK = { take: [NINE], missed: undefined };

describe("a moment", () => {
  test("counts when its time has come, and up to 5 minutes later", () => {
    expect(due(-60, 0)).toEqual(NINE_O_CLOCK);
    expect(due(-60, 4.9)).toEqual(NINE_O_CLOCK);
  });

  test("does not count before, or again", () => {
    expect(due(-60, -0.01)).toEqual(NOTHING);
    expect(due(0, 1)).toEqual(NOTHING);
  });

  test("counts one by one where several came within the 5 minutes", () => {
    const rule = readRule("* * * * *", "UTC");
    const looked = { rule, missed: "skip", since: NINE - HOUR, now: NINE + 30_000 } as const;

    expect(decideDue(looked).take).toEqual([-4, -3, -2, -1, 0].map((n) => NINE + n * MINUTE));
  });
});

describe("a missed moment", () => {
  test("is noted and not done, unless the rule says so", () => {
    expect(due(-60, 6)).toEqual({ take: [], missed: NINE });
    expect(due(-60, 6, "once")).toEqual(NINE_O_CLOCK);
  });

  test("is the newest of several", () => {
    const rule = readRule("0 * * * *", "UTC");
    const looked = { rule, missed: "once", since: NINE - 5 * HOUR, now: NINE + HOUR / 2 } as const;

    expect(decideDue(looked)).toEqual(NINE_O_CLOCK);
  });

  test("is passed over after 12 hours", () => {
    expect(due(-60, 12 * 60 - 1, "once")).toEqual(NINE_O_CLOCK);
    expect(due(-60, 12 * 60 + 1, "once")).toEqual(NOTHING);
  });
});

test("a clock that was set back makes nothing due", () => {
  expect(due(60, 30)).toEqual(NOTHING);
});
