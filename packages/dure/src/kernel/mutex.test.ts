import { expect, test } from "vitest";
import { Mutex } from "./mutex.ts";

/** Work that notes its begin and ends when the test says so. */
function heldWork(log: string[], name: string) {
  const end = Promise.withResolvers<void>();
  const work = async (): Promise<string> => {
    log.push(`${name} begins`);
    await end.promise;
    log.push(`${name} ends`);
    return name;
  };
  return { work, end: () => end.resolve(), fail: (error: Error) => end.reject(error) };
}

test("calls run one after another in order of arrival", async () => {
  const mutex = new Mutex();
  const log: string[] = [];
  const works = ["first", "second", "third"].map((name) => heldWork(log, name));

  const results = works.map(({ work }) => mutex.run(work));
  for (const { end } of works.toReversed()) end();

  await expect(Promise.all(results)).resolves.toEqual(["first", "second", "third"]);
  expect(log).toEqual([
    "first begins",
    "first ends",
    "second begins",
    "second ends",
    "third begins",
    "third ends",
  ]);
});

test("a call that fails lets the next one run", async () => {
  const mutex = new Mutex();
  const log: string[] = [];
  const first = heldWork(log, "first");
  const failing = mutex.run(first.work);
  const next = mutex.run(async () => "next");

  first.fail(new Error("disk full"));

  await expect(failing).rejects.toThrow("disk full");
  await expect(next).resolves.toBe("next");
});

test("an aborted call leaves the line at once with the signal's reason", async () => {
  const mutex = new Mutex();
  const log: string[] = [];
  const first = heldWork(log, "first");
  const second = heldWork(log, "second");
  const controller = new AbortController();
  const reason = new Error("the run was stopped");
  const running = mutex.run(first.work);
  const waiting = mutex.run(second.work, { signal: controller.signal });
  const last = mutex.run(async () => "last");

  controller.abort(reason);

  await expect(waiting).rejects.toBe(reason);
  expect(log).toEqual(["first begins"]);
  first.end();
  await expect(running).resolves.toBe("first");
  await expect(last).resolves.toBe("last");
  expect(log).toEqual(["first begins", "first ends"]);
});

test("a call whose signal is aborted already does not begin", async () => {
  const mutex = new Mutex();
  const reason = new Error("too late");
  let hasBegun = false;

  const call = mutex.run(
    async () => {
      hasBegun = true;
    },
    { signal: AbortSignal.abort(reason) },
  );

  await expect(call).rejects.toBe(reason);
  expect(hasBegun).toBe(false);
  await expect(mutex.run(async () => "next")).resolves.toBe("next");
});

test("a call that is aborted as its turn comes does not begin, and the next one runs", async () => {
  const mutex = new Mutex();
  const controller = new AbortController();
  const reason = new Error("the run was stopped");
  let hasBegun = false;
  // The mutex stops to listen when the turn has come and the work has not begun.
  controller.signal.removeEventListener = () => controller.abort(reason);
  const first = mutex.run(async () => "first");
  const second = mutex.run(
    async () => {
      hasBegun = true;
    },
    { signal: controller.signal },
  );
  const third = mutex.run(async () => "third");

  await expect(first).resolves.toBe("first");
  await expect(second).rejects.toBe(reason);
  await expect(third).resolves.toBe("third");
  expect(hasBegun).toBe(false);
});
