import { expect, test } from "vitest";
import { z } from "zod";
import type { EffectStatus } from "../durable/turns.ts";
import { FencedError } from "../durable/turns.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { OnceRunner, type EffectLedger } from "./effects.ts";
import { tool } from "./tool.ts";

/** A clock that stands still but for what is added to it. */
function stillClock(): Clock & { add(ms: number): void } {
  let now = 0;
  return { ...systemClock, monotonic: () => now, add: (ms) => void (now += ms) };
}

/** What the ledger was asked for, and a tool that notes its calls in the same list. */
function aCall(intentTakesMs: readonly number[], options: { fenced?: boolean } = {}): { said: string[]; run: () => Promise<unknown> } {
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
  const call = { tool: transfer, name: "transfer", input: {}, key: "k", context: { session: "s", turn: "turn_1", agent: "a" } };
  return { said, run: () => new OnceRunner({ ledger, clock }).run(call, { signal: new AbortController().signal }) };
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

test("a process that stood still between intent and call does not call when another has taken the turn over", async () => {
  const { said, run } = aCall([15_000], { fenced: true });

  await expect(run()).rejects.toThrow(FencedError);
  expect(said).toEqual(["intent", "intent"]);
});
