import { expect, test } from "vitest";
import { ClosingStack } from "./closing-stack.ts";

test("what was opened is closed once, in reverse, also when a part of it fails", async () => {
  const closed: string[] = [];
  const stack = new ClosingStack();
  stack.defer(async () => void closed.push("first"));
  stack.defer(() => Promise.reject(new Error("second")));
  stack.defer(async () => void closed.push("third"));

  await expect(stack[Symbol.asyncDispose]()).rejects.toThrow("second");
  await stack[Symbol.asyncDispose]();

  expect(closed).toEqual(["third", "first"]);
});

test("what was moved is closed by its new owner alone", async () => {
  const closed: string[] = [];
  let moved = new ClosingStack();
  {
    await using stack = new ClosingStack();
    stack.defer(async () => void closed.push("it"));
    moved = stack.move();
  }

  expect(closed).toEqual([]);
  await moved[Symbol.asyncDispose]();
  expect(closed).toEqual(["it"]);
});
