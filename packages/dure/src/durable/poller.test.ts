import { describe, expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { TestClock } from "../kernel/test-clock.ts";
import { Looker, type LookerOptions, type LookResult } from "./looker.ts";

/** Milliseconds between two looks. */
const EVERY = 400;

describe("when it looks", () => {
  test("at once with the start, then after each pause", async () => {
    const { looker, clock, looks } = harness();

    looker.start();
    looker.start();
    await clock.pass(2 * EVERY);

    expect(looks).toEqual([0, EVERY, 2 * EVERY]);
  });

  test("first after the pause that the start names", async () => {
    const { looker, clock, looks } = harness();

    looker.start({ inMs: 1_000 });
    await clock.pass(1_000);

    expect(looks).toEqual([1_000]);
  });

  test("at a wake-up, and the next pause begins there", async () => {
    const { looker, clock, looks } = harness();
    looker.start();
    await clock.pass(300);

    looker.wake();
    await clock.pass(EVERY);

    expect(looks).toEqual([0, 300, 300 + EVERY]);
  });

  test("before the start only when it is told to, not at a wake-up", async () => {
    const { looker, clock, looks } = harness();

    looker.wake();
    expect(looks).toEqual([]);
    await looker.look();
    await clock.pass(5 * EVERY);

    expect(looks).toEqual([0]);
  });

  test("at once again, or after a pause of its own, when the look says so", async () => {
    const results: LookResult[] = ["again", "again", { pauseMs: 50 }];
    const { looker, clock, looks } = harness({ look: async () => results.shift() ?? "rest" });

    looker.start();
    await clock.pass(50);

    expect(looks).toEqual([0, 0, 0, 50]);
    expect(clock.waiting).toEqual([EVERY]);
  });
});

describe("one look at a time", () => {
  test("any number of wake-ups during a look cause exactly one more", async () => {
    const held = Promise.withResolvers<LookResult>();
    const { looker, clock, looks } = harness({ look: () => held.promise });
    looker.start();

    for (let i = 0; i < 5; i++) looker.wake();
    await clock.pass(10);
    expect(looks).toEqual([0]);
    held.resolve("rest");
    await clock.pass(10);

    expect(looks).toEqual([0, 10]);
  });

  test("a wake-up in the moment in which a look ends is not lost", async () => {
    // A promise that resolves later by one tick each time finds every moment of the end.
    for (let ticks = 0; ticks < 8; ticks++) {
      const { looker, clock, looks } = harness();
      looker.start();
      let tick = Promise.resolve();
      for (let i = 0; i < ticks; i++) tick = tick.then(() => {});
      await tick;

      looker.wake();
      await clock.pass(0);

      expect(looks, `after ${ticks} ticks`).toEqual([0, 0]);
    }
  });

  test("waiting for a look means one that began after the call", async () => {
    const ends: (() => void)[] = [];
    const look = (): Promise<LookResult> =>
      new Promise((resolve) => ends.push(() => resolve("rest")));
    const { looker, clock } = harness({ look });
    looker.start();
    let isOver = false;

    void looker.look().then(() => (isOver = true));
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
    const { looker, clock, looks, lines } = harness({
      look: () => Promise.reject(new DureError("DATABASE_UNREACHABLE", "No answer.")),
      random: () => 1,
    });

    looker.start();
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
    const { looker, lines, told } = harness({
      look: async () => {
        const reason = reasons.shift();
        if (reason !== undefined) throw new Error(reason);
        return "rest";
      },
    });

    for (let look = 0; look < 6; look++) await looker.look();

    expect(lines.map(({ error }) => error)).toEqual(["a", "a", "b"]);
    expect(told).toEqual(["looks for letters work again"]);
  });

  test("is not spread below the usual pause, and a rare one does not become rarer", async () => {
    const fails = { look: () => Promise.reject(new Error("no")), random: () => 0 };
    const often = harness(fails);
    const rare = harness({ ...fails, everyMs: 3_600_000, random: () => 1 });

    await often.looker.look();
    often.looker.start({ inMs: 1 });
    await often.clock.pass(1);
    rare.looker.start();
    await rare.clock.pass(0);

    expect(often.clock.waiting[0]).toBeGreaterThanOrEqual(EVERY);
    expect(rare.clock.waiting).toEqual([3_600_000]);
  });

  test("does not hold up a wake-up, and the first success ends the long pauses", async () => {
    let isBroken = true;
    const { looker, clock, looks } = harness({
      look: async () => {
        if (isBroken) throw new Error("no");
        return "rest";
      },
      random: () => 1,
    });
    looker.start();
    await clock.pass(3_000);
    expect(looks).toEqual([0, 800, 2_400]);

    isBroken = false;
    looker.wake();
    await clock.pass(EVERY);

    expect(looks.slice(3)).toEqual([3_000, 3_000 + EVERY]);
  });

  test("throws nothing at its caller, not even where it throws at once", async () => {
    const { looker, lines } = harness({
      look: () => {
        throw new Error("at once");
      },
    });

    await expect(looker.look()).resolves.toBeUndefined();

    expect(lines.map(({ error }) => error)).toEqual(["at once"]);
  });

  test("is not worth a line when the process has closed its database", async () => {
    const closed = new DureError("DATABASE_CLOSED", "Closed.");
    const { looker, lines } = harness({ look: () => Promise.reject(closed) });

    await looker.look();

    expect(lines).toEqual([]);
  });
});

describe("the end", () => {
  test("waits for the look that runs, says nothing of its failure, and no look follows", async () => {
    const held = Promise.withResolvers<LookResult>();
    const { looker, clock, looks, lines } = harness({ look: () => held.promise });
    looker.start();
    looker.wake();
    let isStopped = false;

    const stopping = [looker.stop(), looker.stop()];
    void Promise.all(stopping).then(() => (isStopped = true));
    await clock.pass(EVERY);
    expect(isStopped).toBe(false);
    held.reject(new Error("cut off"));
    await Promise.all(stopping);
    looker.wake();
    await looker.look();
    await clock.pass(10 * EVERY);

    expect(looks).toEqual([0]);
    expect(lines).toEqual([]);
    expect(clock.waiting).toEqual([]);
  });

  test("aborts the signal of the look that runs", async () => {
    const seen: AbortSignal[] = [];
    const { looker } = harness({
      look: (signal) => {
        seen.push(signal);
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve("again"), { once: true }),
        );
      },
    });
    looker.start();

    await looker.stop();

    expect(seen.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("before the start nothing is begun, and a start after it begins nothing", async () => {
    const { looker, clock, looks } = harness();

    await looker.stop();
    looker.start();
    await clock.pass(EVERY);

    expect(looks).toEqual([]);
    expect(clock.waiting).toEqual([]);
  });

  test("comes with the end of the process's lease, too", async () => {
    const lease = new AbortController();
    const { looker, clock, looks } = harness({ signal: lease.signal });
    looker.start();
    await clock.pass(0);

    lease.abort(new Error("fenced"));
    looker.wake();
    await clock.pass(3 * EVERY);

    expect(looks).toEqual([0]);
    expect(clock.waiting).toEqual([]);
  });
});

function harness(options: Partial<LookerOptions> = {}) {
  const clock = new TestClock();
  const looks: number[] = [];
  const told: string[] = [];
  const lines: { code?: string; error: string; failures: number; message: string }[] = [];
  const warn: Logger["warn"] = (fields, message) =>
    void lines.push({ ...(fields as { error: string; failures: number }), message });
  const info: Logger["info"] = (_fields, message) => void told.push(message);
  const { look = async () => "rest" as const, ...rest } = options;
  const looker = new Looker({
    what: "letters",
    everyMs: EVERY,
    clock,
    logger: { ...silentLogger, warn, info },
    ...rest,
    look: (signal) => {
      looks.push(clock.now());
      return look(signal);
    },
  });
  return { looker, clock, looks, lines, told };
}
