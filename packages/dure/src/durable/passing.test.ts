import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { isDatabaseAway, isTakenOver, mayPass, passingOf } from "./passing.ts";

const raised = (code: string): Error => Object.assign(new Error("raised"), { code });

test.each([
  ["a database that is away", new DureError("DATABASE_UNAVAILABLE", "away")],
  ["a read-only database", raised("25006")],
  ["a full disk", raised("53100")],
  ["a deadlock", raised("40P01")],
])("%s is away for all statements, and work may be done in a moment", (_name, error) => {
  expect(isDatabaseAway(error)).toBe(true);
  expect(mayPass(error)).toBe(true);
});

test.each([
  ["a statement that takes too long", raised("57014")],
  ["a violated constraint", raised("23505")],
  ["a process that has lost the lead", new DureError("TURN_FENCED", "not yours")],
  ["a closed database", new DureError("DATABASE_CLOSED", "closed")],
])("%s says nothing of the database as a whole", (_name, error) => {
  expect(isDatabaseAway(error)).toBe(false);
});

test.each(["FENCED", "TURN_FENCED", "JOB_FENCED"])(
  "an error %s passes and says that another process has the work",
  (code) => {
    const error = new DureError(code, "not yours");

    expect([isTakenOver(error), passingOf(error)?.code]).toEqual([true, code]);
  },
);

/** Codes that this file's subject decides about. A database that is away may be named elsewhere. */
const DECIDED = ["FENCED", "TURN_FENCED", "JOB_FENCED", "PROCESS_STOPPED", "SERVER_STOPPING"];
/** Each is about a process that ends or words for people, not about what becomes of work. */
const OTHERWISE: Readonly<Record<string, string>> = {
  "cli/start.ts": "the exit code of a process",
  "durable/passing.ts": "the one place",
  "server/problem.ts": "the words of an answer",
};

test("no other file decides by a list or a comparison of its own what a lost lead means", () => {
  const sources = join(import.meta.dirname, "..");
  const files = globSync("**/*.ts", { cwd: sources }).filter((file) => !file.endsWith(".test.ts"));

  const deciding = files.filter((file) => decides(readFileSync(join(sources, file), "utf8")));

  expect(deciding.toSorted()).toEqual(Object.keys(OTHERWISE));
});

/** Whether one of the codes is written elsewhere than as the code of a new error. */
function decides(text: string): boolean {
  return DECIDED.some((code) =>
    text
      .split(`"${code}"`)
      .slice(0, -1)
      .some((before) => !/(?:Error|super)\(\s*$/.test(before)),
  );
}
