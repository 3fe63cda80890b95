import { expect, test } from "vitest";
import { decideWait } from "./wait-for-limit.ts";

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const DAY = 86_400_000;
const limited = (until?: number) =>
  ({ code: "WORKER_RATE_LIMITED", message: "429 Too Many Requests", until }) as const;

test("a worker waits for the moment that its provider names", () => {
  expect(decideWait(limited(NOW + 90_000), { since: NOW, waits: 0, now: NOW })).toEqual({
    for: "rate_limit",
    since: NOW,
    until: NOW + 90_000,
    isTold: true,
    says: "429 Too Many Requests",
  });
});

test("where none is named it waits a minute, then twice as long, at most an hour", () => {
  const guesses = [0, 1, 2, 3, 10].map(
    (waits) => decideWait(limited(), { since: NOW, waits, now: NOW })!.until! - NOW,
  );

  expect(guesses).toEqual([1, 2, 4, 8, 60].map((minutes) => minutes * MINUTE));
});

test("moments that come to nothing are not asked for ever more often", () => {
  const floors = [0, 3, 6, 30].map(
    (waits) => decideWait(limited(NOW + 1), { since: NOW, waits, now: NOW })!.until! - NOW,
  );

  expect(floors).toEqual([1_000, 8_000, 64_000, 15 * MINUTE]);
});

test("it gives up after a day without a named moment, and after a week and a day with one", () => {
  const after = (days: number, until?: number) =>
    decideWait(limited(until), { since: NOW - days * DAY - 1, waits: 9, now: NOW });

  expect(after(0.9)).not.toBeNull();
  expect(after(1)).toBeNull();
  expect(after(7, NOW + DAY)).not.toBeNull();
  expect(after(8, NOW + DAY)).toBeNull();
});

test("no other end of a worker makes its step wait", () => {
  const view = { since: NOW, waits: 0, now: NOW };

  expect(decideWait(undefined, view)).toBeNull();
  expect(decideWait({ code: "WORKER_LOGIN", message: "401" }, view)).toBeNull();
  expect(decideWait({ code: "WORKER_DIED", message: "exit 1" }, view)).toBeNull();
});
