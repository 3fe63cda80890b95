import { expect, test } from "vitest";
import { ClosingStack } from "../kernel/closing-stack.ts";
import type { Logger } from "../kernel/logger.ts";
import { TestClock } from "../kernel/test-clock.ts";
import { inGoodOrder } from "./start.ts";

interface Line {
  readonly level: string;
  readonly text: string;
}

function logInto(lines: Line[]): Logger {
  const at =
    (level: string) =>
    (_: object, text: string): void =>
      void lines.push({ level, text });
  return { info: at("info"), warn: at("warn"), error: at("error"), debug: at("debug") };
}

test("a stop that takes long says what it waits for, again every 15 s, and nothing when it is over", async () => {
  const lines: Line[] = [];
  const clock = new TestClock();
  const stack = new ClosingStack();
  const defer = inGoodOrder(stack, { logger: logInto(lines), clock });
  const slow = Promise.withResolvers<void>();
  const counts = [2, 1];
  defer("the last part", () => Promise.resolve());
  defer(
    "the engine",
    () => slow.promise,
    () => `${counts.shift()} turns`,
  );

  const stopped = stack[Symbol.asyncDispose]();
  await clock.pass(2_900);
  expect(lines).toEqual([]);
  await clock.pass(200);
  expect(lines).toEqual([{ level: "info", text: "the stop waits for the engine: 2 turns" }]);
  await clock.pass(15_000);
  slow.resolve();
  await stopped;
  await clock.pass(60_000);

  expect(lines.map(({ text }) => text)).toEqual([
    "the stop waits for the engine: 2 turns",
    "the stop waits for the engine: 1 turns",
  ]);
});

test("a part that cannot stop is told, and the others stop all the same", async () => {
  const lines: Line[] = [];
  const stack = new ClosingStack();
  const defer = inGoodOrder(stack, { logger: logInto(lines), clock: new TestClock() });
  const stopped: string[] = [];
  defer("the database", async () => void stopped.push("database"));
  defer("rooms", () => Promise.reject(new Error("no")));

  await stack[Symbol.asyncDispose]();

  expect(stopped).toEqual(["database"]);
  expect(lines).toEqual([{ level: "error", text: "rooms did not stop in good order" }]);
});
