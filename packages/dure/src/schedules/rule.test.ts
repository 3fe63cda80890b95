import { describe, expect, test } from "vitest";
import { readRule, ruleProblem } from "./rule.ts";

const BERLIN = "Europe/Berlin";

/** The moments of a rule in a span, in UTC. */
function moments(cron: string, zone: string, [after, until]: readonly [string, string]): string[] {
  return readRule(cron, zone)
    .between(Date.parse(after), Date.parse(until), 50)
    .map((moment) => new Date(moment).toISOString().slice(5, 16));
}

describe("a rule is read in its zone", () => {
  test("at nine in Seoul, on working days", () => {
    const span = ["2026-11-26T12:00Z", "2026-12-01T12:00Z"] as const;

    expect(moments("0 9 * * 1-5", "Asia/Seoul", span)).toEqual([
      "11-27T00:00",
      "11-30T00:00",
      "12-01T00:00",
    ]);
  });

  test("gives the last moments of a span alone", () => {
    const rule = readRule("* * * * *", "UTC");

    expect(rule.between(0, 600_000, 2)).toEqual([540_000, 600_000]);
  });
});

describe("summer time", () => {
  const spring = ["2026-03-28T12:00Z", "2026-03-30T12:00Z"] as const;
  const autumn = ["2026-10-24T12:00Z", "2026-10-26T12:00Z"] as const;

  test.each(["30 2 * * *", "30 2,2 * * *"])("%s comes once where it does not exist", (cron) => {
    expect(moments(cron, BERLIN, spring)).toEqual(["03-29T01:00", "03-30T00:30"]);
  });

  test("a time that exists twice comes once, at the first one", () => {
    expect(moments("30 2 * * *", BERLIN, autumn)).toEqual(["10-25T00:30", "10-26T01:30"]);
  });

  test("a rule with a step goes by elapsed time", () => {
    expect(moments("*/30 2 * * *", BERLIN, ["2026-10-24T22:00Z", "2026-10-25T12:00Z"])).toEqual([
      "10-25T00:00",
      "10-25T00:30",
      "10-25T01:00",
      "10-25T01:30",
    ]);
  });
});

test.each([
  ["61 * * * *", "cannot be read: Invalid value for minute: 61"],
  ["* * * *", expect.stringContaining("cannot be read")],
  ["0 0 9 * * *", expect.stringContaining("exactly 5 parts")],
  ["0 0 30 2 *", "never comes"],
  ["0 9 * * 1-5", undefined],
])("%s: %s", (cron, problem) => {
  expect(ruleProblem(cron, 0)).toEqual(problem);
});
