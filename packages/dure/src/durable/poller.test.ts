import { describe, expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { TestClock } from "../kernel/test-clock.ts";
import { Poller, type PollerOptions, type PollResult } from "./poller.ts";

/** Milliseconds between two looks. */
const EVERY = 400;

describe("a poller polls", () => {
  test("at once with the start, then after each pause", async () => {
    const { poller, clock, looks } = harness();

    poller.start();
    poller.start();
    await clock.pass(2 * EVERY);

    expect(looks).toEqual([0, EVERY, 2 * EVERY]);
  });

  test("first after the pause that the start names", async () => {
    const { poller, clock, looks } = harness();

    poller.start({ inMs: 1_000 });
    await clock.pass(1_000);

    expect(looks).toEqual([1_000]);
  });

  test("at a wake-up, and the next pause begins there", async () => {
    const { poller, clock, looks } = harness();
    poller.start();
    await clock.pass(300);

    poller.wake();
    await clock.pass(EVERY);

    expect(looks).toEqual([0, 300, 300 + EVERY]);
  });

  test("before its start when it is asked to, and not at a wake-up", async () => {
    const { poller, clock, looks } = harness();

    poller.wake();
    expect(looks).toEqual([]);
    await poller.poll();
    await clock.pass(5 * EVERY);

    expect(looks).toEqual([0]);
  });

  test("again at once, or after another pause, as the last poll answered", async () => {
    const results: PollResult[] = ["more", "more", { pauseMs: 50 }];
    const { poller, clock, looks } = harness({ poll: async () => results.shift() ?? "idle" });

    poller.start();
    await clock.pass(50);

    expect(looks).toEqual([0, 0, 0, 50]);
    expect(clock.waiting).toEqual([EVERY]);
  });
});

describe("one look at a time", () => {
  test("any number of wake-ups during a look cause exactly one more", async () => {
    const held = Promise.withResolvers<PollResult>();
    const { poller, clock, looks } = harness({ poll: () => held.promise });
    poller.start();

    for (let i = 0; i < 5; i++) poller.wake();
    await clock.pass(10);
    expect(looks).toEqual([0]);
    held.resolve("idle");
    await clock.pass(10);

    expect(looks).toEqual([0, 10]);
  });

  test("a wake-up in the moment in which a look ends is not lost", async () => {
    // A promise that resolves later by one tick each time finds every moment of the end.
    for (let ticks = 0; ticks < 8; ticks++) {
      const { poller, clock, looks } = harness();
      poller.start();
      let tick = Promise.resolve();
      for (let i = 0; i < ticks; i++) tick = tick.then(() => {});
      await tick;

      poller.wake();
      await clock.pass(0);

      expect(looks, `after ${ticks} ticks`).toEqual([0, 0]);
    }
  });

  test("waiting for a look means one that began after the call", async () => {
    const ends: (() => void)[] = [];
    const poll = (): Promise<PollResult> =>
      new Promise((resolve) => ends.push(() => resolve("idle")));
    const { poller, clock } = harness({ poll });
    poller.start();
    let isOver = false;

    void poller.poll().then(() => (isOver = true));
    ends[0]!();
    await clock.pass(0);
    expect(isOver).toBe(false);
    ends[1]!();
    await clock.pass(0);

    expect(isOver).toBe(true);
  });
});

describe("a look that fails", () => {
  test("follows again later each time, in bounds, and is told ever more seldom", async () => {
    const { poller, clock, looks, lines } = harness({
      poll: () => Promise.reject(new DureError("DATABASE_UNREACHABLE", "No answer.")),
      random: () => 1,
    });

    poller.start();
    await clock.pass(800 + 1_600 + 2_000 + 2_000);

    expect(looks).toEqual([0, 800, 2_400, 4_400, 6_400]);
    expect(lines.map(({ failures }) => failures)).toEqual([1, 2, 4]);
    expect(lines[0]).toEqual({
      code: "DATABASE_UNREACHABLE",
      error: "No answer.",
      failures: 1,
      message: "could not look for letters; looking again in 800 ms",
    });
  });

  test("is told when its reason is another one, and when looks work again", async () => {
    const reasons = ["a", "a", "a", "b"];
    const { poller, lines, told } = harness({
      poll: async () => {
        const reason = reasons.shift();
        if (reason !== undefined) throw new Error(reason);
        return "idle";
      },
    });

    for (let look = 0; look < 6; look++) await poller.poll();

    expect(lines.map(({ error }) => error)).toEqual(["a", "a", "b"]);
    expect(told).toEqual(["looks for letters work again"]);
  });

  test("is not spread below the usual pause, and a rare one does not become rarer", async () => {
    const fails = { look: () => Promise.reject(new Error("no")), random: () => 0 };
    const often = harness(fails);
    const rare = harness({ ...fails, everyMs: 3_600_000, random: () => 1 });

    await often.poller.poll();
    often.poller.start({ inMs: 1 });
    await often.clock.pass(1);
    rare.poller.start();
    await rare.clock.pass(0);

    expect(often.clock.waiting[0]).toBeGreaterThanOrEqual(EVERY);
    expect(rare.clock.waiting).toEqual([3_600_000]);
  });

  test("does not hold up a wake-up, and the first success ends the long pauses", async () => {
    let isBroken = true;
    const { poller, clock, looks } = harness({
      poll: async () => {
        if (isBroken) throw new Error("no");
        return "idle";
      },
      random: () => 1,
    });
    poller.start();
    await clock.pass(3_000);
    expect(looks).toEqual([0, 800, 2_400]);

    isBroken = false;
    poller.wake();
    await clock.pass(EVERY);

    expect(looks.slice(3)).toEqual([3_000, 3_000 + EVERY]);
  });

  test("throws nothing at its caller, not even where it throws at once", async () => {
    const { poller, lines } = harness({
      poll: () => {
        throw new Error("at once");
      },
    });

    await expect(poller.poll()).resolves.toBeUndefined();

    expect(lines.map(({ error }) => error)).toEqual(["at once"]);
  });

  test("is not worth a line when the process has closed its database", async () => {
    const closed = new DureError("DATABASE_CLOSED", "Closed.");
    const { poller, lines } = harness({ poll: () => Promise.reject(closed) });

    await poller.poll();

    expect(lines).toEqual([]);
  });
});

describe("the end", () => {
  test("waits for the look that runs, says nothing of its failure, and no look follows", async () => {
    const held = Promise.withResolvers<PollResult>();
    const { poller, clock, looks, lines } = harness({ poll: () => held.promise });
    poller.start();
    poller.wake();
    let isStopped = false;

    const stopping = [poller.stop(), poller.stop()];
    void Promise.all(stopping).then(() => (isStopped = true));
    await clock.pass(EVERY);
    expect(isStopped).toBe(false);
    held.reject(new Error("cut off"));
    await Promise.all(stopping);
    poller.wake();
    await poller.poll();
    await clock.pass(10 * EVERY);

    expect(looks).toEqual([0]);
    expect(lines).toEqual([]);
    expect(clock.waiting).toEqual([]);
  });

  test("aborts the signal of the look that runs", async () => {
    const seen: AbortSignal[] = [];
    const { poller } = harness({
      poll: (signal) => {
        seen.push(signal);
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve("more"), { once: true }),
        );
      },
    });
    poller.start();

    await poller.stop();

    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("before the start nothing is begun, and a start after it begins nothing", async () => {
    const { poller, clock, looks } = harness();

    await poller.stop();
    poller.start();
    await clock.pass(EVERY);

    expect(looks).toEqual([]);
    expect(clock.waiting).toEqual([]);
  });

  test("comes with the end of the process's lease, too", async () => {
    const lease = new AbortController();
    const { poller, clock, looks } = harness({ signal: lease.signal });
    poller.start();
    await clock.pass(0);

    lease.abort(new Error("fenced"));
    poller.wake();
    await clock.pass(3 * EVERY);

    expect(looks).toEqual([0]);
    expect(clock.waiting).toEqual([]);
  });
});

function harness(options: Partial<PollerOptions> = {}) {
  const clock = new TestClock();
  const looks: number[] = [];
  const told: string[] = [];
  const lines: { code?: string; error: string; failures: number; message: string }[] = [];
  const warn: Logger["warn"] = (fields, message) =>
    void lines.push({ ...(fields as { error: string; failures: number }), message });
  const info: Logger["info"] = (_fields, message) => void told.push(message);
  const { poll = async () => "idle" as const, ...rest } = options;
  const poller = new Poller({
    what: "letters",
    everyMs: EVERY,
    clock,
    logger: { ...silentLogger, warn, info },
    ...rest,
    poll: (signal) => {
      looks.push(clock.now());
      return poll(signal);
    },
  });
  return { poller, clock, looks, lines, told };
}
