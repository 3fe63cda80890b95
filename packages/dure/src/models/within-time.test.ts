import { expect, onTestFinished, test, vi } from "vitest";
import { isOverTime, MAX_CHECK_MS, withinTime } from "./within-time.ts";

/** The thread stands still and takes no CPU. */
function stand(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function overTimeOf(work: () => void): boolean {
  try {
    withinTime(work);
  } catch (error) {
    return isOverTime(error);
  }
  return false;
}

test("a check during which the process did not run is made again", () => {
  let tries = 0;

  const found = withinTime(() => {
    tries += 1;
    if (tries < 3) stand(4 * MAX_CHECK_MS);
    return "fits";
  });

  expect(found).toBe("fits");
  expect(tries).toBe(3);
});

test("a process that never gets to its check gives it up after four", () => {
  let tries = 0;

  const isOver = overTimeOf(() => {
    tries += 1;
    stand(4 * MAX_CHECK_MS);
  });

  expect(isOver).toBe(true);
  expect(tries).toBe(4);
});

test("a loop without end that had the processor is ended once", () => {
  const spent = [0, MAX_CHECK_MS * 1_000].map((user) => ({ user, system: 0 }));
  const usage = vi.spyOn(process, "cpuUsage").mockImplementation(() => spent.shift()!);
  onTestFinished(() => usage.mockRestore());
  let tries = 0;

  const isOver = overTimeOf(() => {
    tries += 1;
    for (;;);
  });

  expect(isOver).toBe(true);
  expect(tries).toBe(1);
});

test("an error of the work itself leaves as it is", () => {
  const fault = new Error("a schema that leads nowhere");

  expect(() =>
    withinTime(() => {
      throw fault;
    }),
  ).toThrow(fault);
});
