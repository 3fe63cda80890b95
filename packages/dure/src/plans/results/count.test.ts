import { expect, test } from "vitest";
import { countOf, fewerTests, type TestCount } from "./count.ts";
import { readTestOutput } from "./read-output.ts";

const count = (passed: number, failed = 0, skipped = 0): TestCount => ({
  framework: "vitest",
  passed,
  failed,
  skipped,
});

test.each<[string, TestCount, TestCount, readonly string[]]>([
  ["the same", count(3), count(3), []],
  ["more", count(3), count(5), []],
  ["red ones that are green now", count(1, 2), count(3), []],
  ["fewer", count(3), count(2), ["fewer-tests"]],
  ["a red one that is gone", count(2, 1), count(2), ["fewer-tests"]],
  ["one more skipped", count(3), count(2, 0, 1), ["skipped"]],
  ["a new one that is skipped", count(3), count(3, 0, 1), ["skipped"]],
  ["skipped ones that a broken file had hidden", count(3, 1), count(4, 0, 1), []],
  ["a red one that is skipped", count(2, 1), count(2, 0, 1), ["skipped"]],
  ["one skipped and one gone", count(4), count(2, 0, 1), ["fewer-tests", "skipped"]],
])("%s: what is said of a run before and one now", (_case, before, now, kinds) => {
  expect(fewerTests(before, now).map(({ kind }) => kind)).toEqual(kinds);
});

test("what says no sure number is not counted, and an error around tests is no test", () => {
  const vitest = (line: string): string =>
    ` RUN  v4.0.0 /x\n\n Test Files  1 passed (1)\n      Tests  ${line}\n`;

  expect(countOf(readTestOutput("all good\n"))).toBeUndefined();
  expect(countOf(readTestOutput(" RUN  v4.0.0 /x\n"))).toBeUndefined();
  expect(countOf(readTestOutput(vitest("2 passed | 1 skipped (3)")))).toEqual(count(2, 0, 1));
  expect(countOf(readTestOutput(`${vitest("2 passed (2)")}     Errors  1 error\n`))).toEqual(
    count(2),
  );
});
