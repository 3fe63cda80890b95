import { describe, expect, test } from "vitest";
import { agentSpoke, chainAllows, collaborateSpoke, pairMayCall, personSpoke } from "./guards.ts";
import { ROOM_LIMITS } from "../limits.ts";
import type { OpenPlace } from "../place.ts";

const NOW = 1_000_000;
const SECOND = 1_000;

/** Only what guards look at. */
function aPlace(
  given: Partial<Pick<OpenPlace, "state" | "agentMessages" | "recent">> = {},
): OpenPlace {
  return { state: "open", agentMessages: 0, recent: [], now: NOW, ...given } as OpenPlace;
}

function ago(...seconds: readonly number[]): readonly number[] {
  return seconds.map((past) => NOW - past * SECOND);
}

describe("a person who speaks", () => {
  test("wakes a place that rests, and gives agents their whole budget back", () => {
    expect(personSpoke(aPlace({ state: "resting", agentMessages: 10 }))).toEqual({
      state: "open",
      agentMessages: 0,
      recent: [],
    });
    expect(personSpoke(aPlace({ agentMessages: 9 }))).toMatchObject({
      state: "open",
      agentMessages: 0,
    });
  });

  test("does not lift a suspension, nor forget how fast agents were", () => {
    const recent = ago(3, 2, 1);

    expect(personSpoke(aPlace({ state: "suspended", recent }))).toEqual({
      state: "suspended",
      agentMessages: 0,
      recent,
    });
  });
});

describe("an agent that speaks", () => {
  test("trips the budget with its last message, once", () => {
    const last = ROOM_LIMITS.exchangeMessages - 1;

    expect(agentSpoke(aPlace({ agentMessages: last - 1 }), ROOM_LIMITS)).toMatchObject({
      state: "open",
      agentMessages: last,
    });
    expect(agentSpoke(aPlace({ agentMessages: last }), ROOM_LIMITS)).toMatchObject({
      state: "resting",
      trip: "exchange-budget",
    });
    expect(
      agentSpoke(aPlace({ state: "resting", agentMessages: last + 1 }), ROOM_LIMITS),
    ).not.toHaveProperty("trip");
  });

  test("trips the rate with the seventh message within a minute; what is older does not count", () => {
    const six = ago(50, 40, 30, 20, 10, 1);

    expect(agentSpoke(aPlace({ recent: six }), ROOM_LIMITS)).toMatchObject({
      state: "suspended",
      trip: "thread-rate",
    });
    expect(agentSpoke(aPlace({ recent: six.slice(1) }), ROOM_LIMITS)).toMatchObject({
      state: "open",
    });
    expect(
      agentSpoke(aPlace({ recent: [...ago(60), ...six.slice(1)] }), ROOM_LIMITS),
    ).toMatchObject({ state: "open" });
  });

  test("leaves a bounded record of when agents spoke", () => {
    const many = Array.from({ length: 100 }, () => NOW);

    expect(
      agentSpoke(aPlace({ state: "suspended", recent: many }), ROOM_LIMITS).recent,
    ).toHaveLength(ROOM_LIMITS.threadMessages + 1);
  });
});

describe("a collaborate", () => {
  test("wakes a place that rests and begins the budget anew, also with the message that would trip it", () => {
    const resting = aPlace({ state: "resting", agentMessages: 10 });
    const full = aPlace({ agentMessages: ROOM_LIMITS.exchangeMessages - 1 });

    expect(collaborateSpoke(resting, agentSpoke(resting, ROOM_LIMITS))).toMatchObject({
      state: "open",
      agentMessages: 0,
    });
    expect(collaborateSpoke(full, agentSpoke(full, ROOM_LIMITS))).toEqual({
      state: "open",
      agentMessages: 0,
      recent: [NOW],
    });
  });

  test("does not get past the rate", () => {
    const fast = aPlace({ recent: ago(6, 5, 4, 3, 2, 1) });
    const suspended = aPlace({ state: "suspended" });

    expect(collaborateSpoke(fast, agentSpoke(fast, ROOM_LIMITS))).toMatchObject({
      state: "suspended",
      trip: "thread-rate",
    });
    expect(collaborateSpoke(suspended, agentSpoke(suspended, ROOM_LIMITS))).toMatchObject({
      state: "suspended",
    });
  });
});

test("a pair may call three times in five minutes, and is told when it may again", () => {
  const calls = ago(200, 100, 50);

  const led = { now: NOW, isLed: true };

  expect(pairMayCall(calls.slice(1), led, ROOM_LIMITS)).toEqual({
    ok: true,
    calls: [...calls.slice(1), NOW],
  });
  expect(pairMayCall(calls, led, ROOM_LIMITS)).toEqual({
    ok: false,
    because: "too-often",
    waitMs: 100 * SECOND,
  });
  expect(pairMayCall(ago(300, 100, 50), led, ROOM_LIMITS)).toMatchObject({
    ok: true,
    calls: ago(100, 50, 0),
  });
});

test("a pair may call ten times, however slowly, until a person leads it", () => {
  const hourly = ago(...Array.from({ length: 10 }, (_, index) => (10 - index) * 3_600));

  expect(pairMayCall(hourly.slice(1), { now: NOW, isLed: false }, ROOM_LIMITS)).toEqual({
    ok: true,
    calls: [...hourly.slice(1), NOW],
  });
  expect(pairMayCall(hourly, { now: NOW, isLed: false }, ROOM_LIMITS)).toEqual({
    ok: false,
    because: "unled",
  });
  expect(pairMayCall(hourly, { now: NOW, isLed: true }, ROOM_LIMITS)).toEqual({
    ok: true,
    calls: [NOW],
  });
});

test("a chain of askers has no circle about one topic, and five askers at most", () => {
  const chain = ["a", "b", "c"];

  expect(chainAllows(chain, "b", true, ROOM_LIMITS)).toBe("cycle");
  expect(chainAllows(chain, "b", false, ROOM_LIMITS)).toBe("ok");
  expect(chainAllows(["a", "b", "c", "d", "e"], "f", false, ROOM_LIMITS)).toBe("ok");
  expect(chainAllows(["a", "b", "c", "d", "e", "f"], "g", false, ROOM_LIMITS)).toBe("too-deep");
});
