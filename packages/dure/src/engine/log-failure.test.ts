import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { logFailure } from "./log-failure.ts";

function lineOf(error: unknown): object {
  const lines: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
  logFailure(logger, "it failed", { error, facts: { turn: "turn_1" } });
  return lines[0]!;
}

const HERE = [expect.stringContaining("log-failure.test.ts")];

test("what lies behind an error of ours is named with its place, without its words", () => {
  const cause = new TypeError("no row for 010-1234-5678");
  const error = new DureError("MODEL_FAILED", "The model failed.", { class: "internal", cause });

  expect(lineOf(error)).toMatchObject({
    turn: "turn_1",
    code: "MODEL_FAILED",
    class: "internal",
    cause: { error: "TypeError", at: expect.arrayContaining(HERE) },
  });
  expect(JSON.stringify(lineOf(error))).not.toContain("010-1234-5678");
});

test("an error of the team's code is named with its place, also where it is no error", () => {
  expect(lineOf(new RangeError("7"))).toMatchObject({
    code: "INTERNAL",
    error: "RangeError",
    at: expect.arrayContaining(HERE),
  });
  expect(lineOf("thrown")).toMatchObject({ code: "INTERNAL", error: "string", at: [] });
});
