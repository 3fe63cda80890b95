import { FULL } from "../../kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { DureError, ProcessError } from "../../kernel/errors.ts";
import { ScriptedWorker } from "@dure/testing";
import { aPlace, workOn } from "./test-worker.ts";
import { TokenMeter } from "../assign/token-meter.ts";
import { workerError } from "./worker-error.ts";
import { runWorker, type WorkerReport } from "./worker-run.ts";
import type { WorkerEvent, WorkerResult } from "./worker.ts";

const FRAME = {
  stopAtViolation: 2,
  requestAccess: () => Promise.resolve({ granted: false, note: "" }),
  limits: { timeMs: 1, outputBytes: 1, fileBytes: 1, processes: 1 },
};
const READY: Omit<WorkerResult, "tokens"> = { status: "ready", summary: "done", claimedFiles: [] };

/** All events of a piece of work. `beat` makes the clock strike. */
async function told(
  work: (report: WorkerReport, beat: () => void) => Promise<typeof READY>,
  more: { limits?: object; scope?: object } = {},
): Promise<WorkerEvent[]> {
  let beat = (): void => {};
  const clock: Clock = { ...systemClock, every: (_ms, callback) => ((beat = callback), () => {}) };
  const events: WorkerEvent[] = [];
  for await (const event of runWorker(
    { ...FRAME, ...more } as never,
    (report) => work(report, () => beat()),
    { clock, signal: new AbortController().signal },
  )) {
    events.push(event);
  }
  return events;
}

test("an error of the work is a failed result with its code", async () => {
  const known = await told(() => Promise.reject(workerError("WORKER_DIED", "It died.")));
  const cut = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  const unknown = await told(() => Promise.reject(cut));

  expect(known.at(-1)).toMatchObject({
    type: "result",
    result: {
      status: "failed",
      error: { code: "WORKER_DIED", message: "It died.", hint: expect.any(String) as string },
    },
  });
  expect(unknown.at(-1)).toMatchObject({
    type: "result",
    result: { status: "failed", error: { code: "WORKER_FAILED", message: "read ECONNRESET" } },
  });
});

test.for<[string, Error]>([
  ["a defect of dure", new TypeError("x is undefined")],
  ["its process, which stops", new ProcessError("PROCESS_STOPPED", "It stops.")],
  ["the lead, which another process has", new DureError("FENCED", "Another one leads.")],
  [
    "its database, which is away",
    new ProcessError("DATABASE_UNAVAILABLE", "The database is away.", { class: "unavailable" }),
  ],
])("an error that says nothing of the work is thrown: %s", async ([, error]) => {
  await expect(told(() => Promise.reject(error))).rejects.toBe(error);
  await expect(
    told((report) => {
      report.stop(error);
      return Promise.resolve(READY);
    }),
  ).rejects.toBe(error);
});

test("work that goes on after a stop has failed all the same, and tells no violations after its result", async () => {
  const events = await told((report) => {
    for (const path of ["a", "b", "c"]) {
      report.violation({ path, wanted: "write", because: "not-owned" });
    }
    return Promise.resolve(READY);
  });

  expect(events.filter(({ type }) => type === "violation")).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({
    result: { status: "failed", error: { code: "WORKER_STOPPED_VIOLATIONS" } },
  });
});

test("a worker whose scope says so goes on after each refusal", async () => {
  const events = await told(
    (report) => {
      for (const path of ["a", "b", "c"]) {
        report.violation({ path, wanted: "write", because: "not-owned" });
      }
      return Promise.resolve(READY);
    },
    { scope: { onViolation: "refuse" } },
  );

  expect(events.filter(({ type }) => type === "violation")).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({ result: { status: "ready" } });
});

test("signs of life come while there is life, and none from what says nothing", async () => {
  const events = await told(async (report, beat) => {
    for (let quiet = 0; quiet < 5; quiet++) beat();
    await report.during(Promise.resolve(beat()).then(() => (beat(), beat())));
    return READY;
  });

  // The first; one beat after it; two more while something was in flight.
  expect(events.filter(({ type }) => type === "progress")).toHaveLength(4);
});

test("what is waited for and says nothing for two minutes gives no more signs until it is heard again", async () => {
  let [strike, now] = [(): void => {}, 0];
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    every: (_ms, callback) => ((strike = callback), () => {}),
  };
  const beatsOf = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 4_000) {
      now += 4_000;
      strike();
    }
  };
  const signs: number[] = [];
  const work = (report: WorkerReport): Promise<typeof READY> =>
    report.during(
      Promise.resolve().then(() => {
        beatsOf(600_000);
        report.alive();
        beatsOf(8_000);
        return READY;
      }),
    );
  for await (const { type } of runWorker(FRAME, work, {
    clock,
    signal: new AbortController().signal,
  })) {
    if (type === "progress") signs.push(now);
  }

  expect(signs.length).toBeGreaterThanOrEqual(30); // two minutes
  expect(signs.length).toBeLessThanOrEqual(35);
});

test("more tokens than allowed end the work", async () => {
  const events = await told(
    (report) => {
      report.used({ input: 80, output: 30 });
      return Promise.resolve(READY);
    },
    { limits: { ...FRAME.limits, tokens: 100 } },
  );

  expect(events.at(-1)).toMatchObject({
    result: { tokens: { input: 80, output: 30 }, error: { code: "WORKER_TOKENS" } },
  });
});

test("words without end are bounded, and no violation is lost among them", async () => {
  const events = await told((report) => {
    for (let line = 0; line < 100_000; line++) report.say(`line ${line} ${"x".repeat(10)}`);
    report.say("y".repeat(1_000_000));
    report.violation({ path: "README.md", wanted: "write", because: "not-owned" });
    return Promise.resolve({
      ...READY,
      summary: "z".repeat(1_000_000),
      claimedFiles: Array.from({ length: 5_000 }, () => "a"),
    });
  });

  expect(events.length).toBeLessThan(300);
  expect(JSON.stringify(events).length).toBeLessThan(50_000);
  expect(events.filter(({ type }) => type === "violation")).toHaveLength(1);
});

test("an abort throws its reason after the work has settled; a reader who leaves stops the work too", async () => {
  const controller = new AbortController();
  const settled: string[] = [];
  const work = (name: string) => async (report: WorkerReport) => {
    await systemClock.sleep(60_000, { signal: report.signal }).catch(() => {});
    settled.push(name);
    return READY;
  };

  const aborted = (async () => {
    for await (const _event of runWorker(FRAME, work("aborted"), {
      clock: systemClock,
      signal: controller.signal,
    })) {
      controller.abort(new Error("enough"));
    }
  })();
  await expect(aborted).rejects.toThrow("enough");
  for await (const _event of runWorker(FRAME, work("left"), {
    clock: systemClock,
    signal: new AbortController().signal,
  })) {
    break;
  }

  expect(settled).toEqual(["aborted", "left"]);
});

// Loads the whole door of teams, which takes a while on a busy machine.
test(
  "a scripted worker writes what its script says, and breaks when it is asked for something else",
  { ...FULL, timeout: 120_000 },
  async () => {
    await using place = await aPlace({ "src/old.ts": "old" });
    const worker = new ScriptedWorker([
      { files: { "src/a.ts": "1", "src/old.ts": null }, result: { summary: "One." } },
      {
        expect: { try: 2, prompt: /expected 5/ },
        act: (report) => report.progress({ progress: 0.5, currentTask: "half" }),
      },
    ]);

    const first = await workOn(worker, place.assignment);
    const second = await workOn(worker, { ...place.assignment, try: 2, prompt: "expected 6" });

    expect(first.result).toMatchObject({
      status: "ready",
      summary: "One.",
      claimedFiles: ["src/a.ts", "src/old.ts"],
    });
    expect(second.result.error?.message).toContain(
      "SCRIPT_BROKEN: The script of the worker was not followed: try 2 has a prompt that does not match",
    );
    expect(() => worker.assertComplete()).toThrow("try 2 has a prompt");
  },
);

test("workers that share their tokens stop together, and none begins with nothing left", async () => {
  const run = new TokenMeter("run");
  run.known({ tokens: { used: 0, most: 250 } });
  const limits = () => ({ ...FRAME.limits, shared: new TokenMeter("port", run) });
  let calls = 0;
  const untilStopped = async (report: WorkerReport): Promise<typeof READY> => {
    while (!report.signal.aborted && calls < 20) {
      calls++;
      report.used({ input: 90, output: 10 });
      await new Promise(setImmediate);
    }
    return READY;
  };

  const ends = await Promise.all([1, 2].map(() => told(untilStopped, { limits: limits() })));
  let isBegun = false;
  const late = await told(async () => ((isBegun = true), READY), { limits: limits() });

  const stopped = { result: { status: "failed", error: { code: "WORKER_TOKENS" } } };
  for (const events of [...ends, late]) expect(events.at(-1)).toMatchObject(stopped);
  expect(isBegun).toBe(false);
  // Each was in a call, and made no other one.
  expect(calls).toBeLessThanOrEqual(4);
  expect(run.bound("tokens")).toMatchObject({ of: "run", used: calls * 100, most: 250 });
});

test("workers that share their calls stop together; a start counts as one", async () => {
  const run = new TokenMeter("run");
  run.known({ tokens: { used: 0, most: null }, calls: { used: 0, most: 6 } });
  const limits = () => ({ ...FRAME.limits, shared: new TokenMeter("port", run) });
  let calls = 0;
  const untilStopped = async (report: WorkerReport): Promise<typeof READY> => {
    while (!report.signal.aborted && calls < 20) {
      calls++;
      report.used({ input: 90, output: 10 });
      await new Promise(setImmediate);
    }
    return READY;
  };

  const ends = await Promise.all([1, 2].map(() => told(untilStopped, { limits: limits() })));
  const late = await told(untilStopped, { limits: limits() });

  const stopped = { result: { status: "failed", error: { code: "WORKER_TOKENS" } } };
  for (const events of [...ends, late]) expect(events.at(-1)).toMatchObject(stopped);
  expect(calls + 2).toBeLessThanOrEqual(6 + 2);
  expect(run.usedUp).toMatchObject({ unit: "calls", of: "run", used: calls + 2, most: 6 });
});

test("an agent's own account of its turn stands for what was heard of it", async () => {
  const run = new TokenMeter("run");
  run.known({ tokens: { used: 100, most: 1_000 } });

  await told(
    async (report) => {
      report.used({ input: 500, output: 0 });
      return { ...READY, tokens: { input: 200, output: 50 } };
    },
    { limits: { ...FRAME.limits, shared: run } },
  );
  run.known({ tokens: { used: 320, most: 1_000 } });

  expect(run.left).toBe(650);
});
