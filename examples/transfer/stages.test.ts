import { expect, test } from "vitest";
import { isTerminal, moveStage, STAGES, type Stage } from "../../packages/dure/src/slots/stages.ts";

/** Written out of docs/spec/conversation §8, not out of the table. */
const ALLOWED = new Set([
  "INIT→FILLING",
  "INIT→READY",
  "FILLING→READY",
  "READY→FILLING",
  "READY→CONFIRMED",
  "FILLING→CANCELLED",
  "READY→CANCELLED",
  "FILLING→UNSUPPORTED",
  "CONFIRMED→EXECUTED",
  "CONFIRMED→FAILED",
  "EXECUTED→INIT",
  "FAILED→INIT",
  "CANCELLED→INIT",
  "UNSUPPORTED→INIT",
]);

const PAIRS = STAGES.flatMap((from) => STAGES.map((to): [Stage, Stage] => [from, to]));

test.each(PAIRS)("%s → %s is allowed exactly if the specification says so", (from, to) => {
  const move = moveStage(from, to);

  if (ALLOWED.has(`${from}→${to}`)) expect(move).toEqual({ ok: true, stage: to });
  else {
    expect(move).toEqual({
      ok: false,
      code: "STAGE_NOT_ALLOWED",
      because: expect.stringContaining(`${to} may not follow ${from}`),
    });
  }
});

test("four stages are the end of a transfer", () => {
  expect(STAGES.filter(isTerminal)).toEqual(["EXECUTED", "FAILED", "CANCELLED", "UNSUPPORTED"]);
});
