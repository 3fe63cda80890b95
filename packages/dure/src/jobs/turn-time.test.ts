import { expect, test } from "vitest";
import { TestClock } from "../kernel/test-clock.ts";
import type { TurnEvent } from "../kernel/turn-events.ts";
import { TurnTime } from "./job-exchange-store.ts";

const start = { agent: "eden", label: "Answering", attempt: 1 };
const AWAY = { type: "AGENT_START", data: { ...start, waits: "model" } } as unknown as TurnEvent;
const BACK = { type: "AGENT_START", data: start } as unknown as TurnEvent;

function timed(ms: number) {
  const clock = new TestClock();
  let isOver = false;
  const time = new TurnTime(clock, ms, () => (isOver = true));
  return { clock, time, isOver: () => isOver };
}

test("a turn is over when its time is", async () => {
  const { clock, isOver } = timed(1_000);

  await clock.pass(999);
  expect(isOver()).toBe(false);
  await clock.pass(1);
  expect(isOver()).toBe(true);
});

test("time for which the model is away does not count, and goes on where it stood", async () => {
  const { clock, time, isOver } = timed(1_000);

  await clock.pass(400);
  time.hear(AWAY);
  await clock.pass(1_800_000);
  time.hear(AWAY);
  expect(isOver()).toBe(false);

  time.hear(BACK);
  await clock.pass(599);
  expect(isOver()).toBe(false);
  await clock.pass(1);
  expect(isOver()).toBe(true);
});
