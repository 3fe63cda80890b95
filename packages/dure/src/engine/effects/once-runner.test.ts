import { expect, test } from "vitest";
import { z } from "zod";
import type { EffectStatus } from "../../durable/turns.ts";
import { FencedError } from "../../durable/turns.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { OnceRunner, type EffectLedger } from "./effects.ts";
import { NotSentError, tool, type ToolOptions } from "../agent/tool.ts";

/** A clock that stands still but for what is added to it. */
function stillClock(): Clock & { add(ms: number): void } {
  let now = 0;
  return { ...systemClock, monotonic: () => now, add: (ms) => void (now += ms) };
}

/** What the ledger was asked for, and a tool that notes its calls in the same list. */
function aCall(
  intentTakesMs: readonly number[],
  options: { fenced?: boolean } = {},
): { said: string[]; run: () => Promise<unknown> } {
  const clock = stillClock();
  const said: string[] = [];
  const took = [...intentTakesMs];
  const ledger: EffectLedger = {
    async intent() {
      said.push("intent");
      clock.add(took.shift() ?? 0);
      return { outcome: "new" };
    },
    async settle(_key: string, status: EffectStatus) {
      said.push(status);
      clock.add(took.shift() ?? 0);
      if (options.fenced) throw new FencedError("turn_1");
    },
  };
  const transfer = tool({
    description: "Books.",
    inputSchema: z.object({}),
    effect: "once",
    recover: "ask",
    settle: "2s",
    execute: () => void said.push("called"),
  });
  const call = {
    tool: transfer,
    name: "transfer",
    input: {},
    key: "k",
    context: { session: "s", turn: "turn_1", agent: "a" },
  };
  return {
    said,
    run: () =>
      new OnceRunner({ ledger, clock }).run(call, { signal: new AbortController().signal }),
  };
}

test("a call leaves right after its intent is recorded", async () => {
  const { said, run } = aCall([900]);

  await run();

  expect(said).toEqual(["intent", "called", "done"]);
});

test("an intent whose answer took long is recorded again before the call leaves", async () => {
  const { said, run } = aCall([15_000, 1_500, 10]);

  await run();

  expect(said).toEqual(["intent", "intent", "intent", "called", "done"]);
});

test("a process that stood still between intent and call does not call when another has the turn", async () => {
  const { said, run } = aCall([15_000], { fenced: true });

  await expect(run()).rejects.toThrow(FencedError);
  expect(said).toEqual(["intent", "intent"]);
});

/**
 * A call of a tool that does what it is told on a clock that waits in no time; `at` says when each
 * call left.
 */
function anOutside(
  options: Pick<
    ToolOptions<unknown, unknown>,
    "execute" | "probe" | "recover" | "timeout" | "settle"
  > & { isStopped?: () => boolean },
): { at: number[]; settled: EffectStatus[]; run: () => Promise<unknown> } {
  const still = stillClock();
  const clock: Clock = { ...still, sleep: async (ms) => still.add(ms) };
  const at: number[] = [];
  const settled: EffectStatus[] = [];
  const ledger: EffectLedger = {
    intent: async () => ({ outcome: "new" }),
    settle: async (_key, status) => void settled.push(status),
  };
  const { execute, isStopped, ...rest } = options;
  const book = tool({
    description: "Books.",
    inputSchema: z.unknown(),
    effect: "once",
    ...rest,
    execute: (input, context, more) => (at.push(clock.monotonic()), execute(input, context, more)),
  });
  const call = {
    tool: book,
    name: "book",
    input: {},
    key: "k",
    context: { session: "s", turn: "turn_1", agent: "a" },
  };
  return {
    at,
    settled,
    run: () =>
      new OnceRunner({ ledger, clock, ...(isStopped && { isStopped }) }).run(call, {
        signal: new AbortController().signal,
      }),
  };
}

const cut = (): never => {
  throw new Error("socket hang up");
};

test("an outside that keeps keys is asked five times, with growing pauses, before a person is", async () => {
  const { at, settled, run } = anOutside({ recover: "replay", execute: cut });

  await expect(run()).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
  expect(at).toEqual([0, 250, 750, 1_750, 3_750]);
  expect(settled.at(-1)).toBe("unknown");
});

test.for([
  [
    "that was not sent says nothing about the first, which may have arrived",
    new NotSentError("DOWN", "closed"),
    "EFFECT_UNKNOWN",
  ],
  [
    "whose connection was refused says nothing about the first, which may have arrived",
    Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
    "EFFECT_UNKNOWN",
  ],
  [
    "that is refused for its key has failed, and the first with it",
    new NotSentError("NO_FUNDS", "refused", { definite: true }),
    "failed",
  ],
] as const)("a second call under replay %s", async ([, second, end]) => {
  let calls = 0;
  const { run } = anOutside({
    recover: "replay",
    execute: () => (calls++ === 0 ? cut() : Promise.reject(second)),
  });

  const outcome = await run().catch((error: { code: string }) => ({ status: error.code }));

  expect(outcome).toMatchObject({ status: end });
});

test.for([
  ["quick", { timeout: "5s", settle: "2s" }, 5],
  ["slow", { timeout: "30s", settle: "30s" }, 2],
] as const)(
  "a %s outside that takes no call and knows of none leaves the question to a person",
  async ([, times, calls]) => {
    const { at, run } = anOutside({ ...times, execute: cut, probe: async () => "not_happened" });

    await expect(run()).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
    expect(at).toHaveLength(calls);
  },
);

test.for([
  ["happened", "done", { status: "done", result: "receipt" }],
  ["failed", "failed", { status: "failed", error: { code: "NO_FUNDS" } }],
] as const)(
  "what is known to have %s under a key is not done again",
  async ([, status, expected]) => {
    let calls = 0;
    const ledger: EffectLedger = {
      intent: async () => ({
        outcome: "known",
        status,
        attempts: 1,
        result: "receipt",
        error: { code: "NO_FUNDS", message: "refused" },
        input: {},
        sent_ago_ms: 10,
      }),
      settle: async () => {},
    };
    const transfer = tool({
      description: "Books.",
      inputSchema: z.object({}),
      effect: "once",
      recover: "replay",
      execute: () => void calls++,
    });
    const call = {
      tool: transfer,
      name: "transfer",
      input: {},
      key: "k",
      context: { session: "s", turn: "turn_1", agent: "a" },
    };

    const outcome = await new OnceRunner({ ledger, clock: stillClock() }).run(call, {
      signal: new AbortController().signal,
    });

    expect(outcome).toMatchObject(expected);
    expect(calls).toBe(0);
  },
);

test("a no counts only when it was asked for after the call can no longer be on its way", async () => {
  const { at, run } = anOutside({
    timeout: "5s",
    settle: "2s",
    execute: cut,
    probe: async () => "not_happened",
  });

  await expect(run()).rejects.toMatchObject({ code: "EFFECT_UNKNOWN" });
  const pauses = at.slice(1).map((time, index) => time - at[index]!);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(7_000);
});

test("calls that follow one another share one minute in which the outside may say nothing", async () => {
  let probes = 0;
  const { at, run } = anOutside({
    timeout: "25s",
    settle: "30s",
    execute: cut,
    probe: async () => (probes++ < 30 ? "not_happened" : "unknown"),
  });

  await expect(run()).rejects.toMatchObject({
    code: "EFFECT_UNKNOWN",
    message: expect.stringContaining("could not say") as string,
  });
  expect(at).toHaveLength(2);
});

test("what did not happen is not tried again after a stop, and has failed", async () => {
  const { at, settled, run } = anOutside({
    timeout: "5s",
    settle: "2s",
    execute: cut,
    probe: async () => "not_happened",
    isStopped: () => true,
  });

  expect(await run()).toMatchObject({ status: "failed", error: { code: "NOT_HAPPENED" } });
  expect(at).toHaveLength(1);
  expect(settled).toEqual(["unknown", "failed"]);
});
