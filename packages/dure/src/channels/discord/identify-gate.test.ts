import { expect, test } from "vitest";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { IdentifyGate } from "./identify-gate.ts";

test("bots start one after another, and each starts a new session no earlier than its own time", async () => {
  const clock = new StandingClock();
  const gate = new IdentifyGate({ clock, perBotMs: 5000, betweenBotsMs: 250 });
  const { signal } = new AbortController();

  for (const bot of ["ruda", "eden", "ruda", "seum"]) await gate.wait(bot, signal);
  clock.time = 6000;
  await gate.wait("ruda", signal);
  await gate.wait("dajim", signal);

  expect(clock.slept).toEqual([250, 5000, 500, 4000]);
});

test("a turn that is not wanted any more is lost and rejects", async () => {
  const gate = new IdentifyGate({ clock: systemClock, perBotMs: 60_000, betweenBotsMs: 0 });
  const abort = new AbortController();

  await gate.wait("ruda", abort.signal);
  const waiting = gate.wait("ruda", abort.signal);
  abort.abort(new Error("stopped"));

  await expect(waiting).rejects.toThrow("stopped");
});

/** Stands still, and writes down how long its users wanted to sleep. */
class StandingClock implements Clock {
  time = 0;
  readonly slept: number[] = [];
  readonly now = (): number => this.time;
  readonly monotonic = (): number => this.time;
  readonly after: Clock["after"] = (ms, callback) => systemClock.after(ms, callback);
  readonly every: Clock["every"] = (ms, callback) => systemClock.every(ms, callback);
  async sleep(ms: number): Promise<void> {
    this.slept.push(ms);
  }
}
