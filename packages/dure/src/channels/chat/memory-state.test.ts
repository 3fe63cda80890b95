import { expect, test } from "vitest";
import { TestClock } from "../../kernel/test-clock.ts";
import { MemoryState } from "./memory-state.ts";

test("a value is kept as long as it was said, and is claimed once", async () => {
  const clock = new TestClock();
  const state = new MemoryState(clock);

  expect(await state.setIfNotExists("a", 1, 1_000)).toBe(true);
  expect(await state.setIfNotExists("a", 2, 1_000)).toBe(false);
  await clock.pass(1_001);
  expect(await state.get("a")).toBeNull();
  expect(await state.setIfNotExists("a", 3)).toBe(true);
  await state.delete("a");
  expect(await state.get("a")).toBeNull();
});

test("the oldest value makes room for the ten thousand and first", async () => {
  const state = new MemoryState(new TestClock());

  for (let index = 0; index <= 10_000; index++) await state.set(`key ${index}`, index);

  expect(await state.get("key 0")).toBeNull();
  expect(await state.get("key 1")).toBe(1);
  expect(await state.get("key 10000")).toBe(10_000);
});

test("a lock is held by one, extended by its owner, and given back", async () => {
  const clock = new TestClock();
  const state = new MemoryState(clock);

  const lock = await state.acquireLock("thread", 1_000);
  expect(await state.acquireLock("thread", 1_000)).toBeNull();
  await clock.pass(900);
  expect(await state.extendLock(lock!, 1_000)).toBe(true);
  await clock.pass(900);
  expect(await state.acquireLock("thread", 1_000)).toBeNull();
  await state.releaseLock({ ...lock!, token: "another" });
  expect(await state.acquireLock("thread", 1_000)).toBeNull();
  await state.releaseLock(lock!);
  const next = await state.acquireLock("thread", 1_000);
  expect(next).not.toBeNull();
  await state.forceReleaseLock("thread");
  expect(await state.extendLock(next!, 1_000)).toBe(false);
});

test("lists and queues keep their newest, and a queue gives its first", async () => {
  const state = new MemoryState(new TestClock());

  for (const value of [1, 2, 3]) await state.appendToList("list", value, { maxLength: 2 });
  await state.enqueue("thread", "one", 5);
  const depth = await state.enqueue("thread", "two", 5);

  expect(await state.getList("list")).toEqual([2, 3]);
  expect([depth, await state.dequeue("thread"), await state.queueDepth("thread")]).toEqual([
    2,
    "one",
    1,
  ]);
  await state.subscribe("thread");
  expect(await state.isSubscribed("thread")).toBe(true);
  await state.unsubscribe("thread");
  expect(await state.isSubscribed("thread")).toBe(false);
  expect(await state.getList("list")).toEqual([2, 3]);
  await state.disconnect();
  expect(await state.getList("list")).toEqual([]);
});
