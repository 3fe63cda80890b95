import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import {
  type AttemptPlan,
  type AttemptSituation,
  decideNext,
  MAX_RETRY_AFTER_MS,
  MAX_WAIT_MS,
  runAttempts,
} from "./attempts.ts";
import { parseCard } from "./card.ts";
import {
  classify,
  type Failure,
  failureError,
  formatError,
  modelError,
  retryAfterMs,
} from "./failures.ts";

const NOW = Date.UTC(2026, 0, 1);

describe("what follows a failed attempt", () => {
  const fresh: AttemptSituation = {
    attemptsOfModel: 1,
    maxAttempts: 3,
    pauseMs: 2_000,
    modelsLeft: 1,
    tokenSeen: false,
  };
  const server: Failure = { class: "server", retryable: true };

  test.each<[string, Failure, Partial<AttemptSituation>, object]>([
    ["waits for the pause", server, {}, { next: "retry", waitMs: 2_000 }],
    [
      "waits as long as the provider asks",
      { ...server, retryAfterMs: MAX_WAIT_MS },
      {},
      { next: "retry", waitMs: MAX_WAIT_MS },
    ],
    [
      "never waits less than the pause",
      { ...server, retryAfterMs: 1 },
      {},
      { next: "retry", waitMs: 2_000 },
    ],
    [
      "waits up to a minute where no other model is left",
      { ...server, retryAfterMs: MAX_RETRY_AFTER_MS },
      { modelsLeft: 0 },
      { next: "retry", waitMs: MAX_RETRY_AFTER_MS },
    ],
    [
      "goes to the next model rather than ask earlier than it was told",
      { ...server, retryAfterMs: MAX_WAIT_MS + 1 },
      {},
      { next: "fallback", waitMs: 0, because: "told-to-wait-too-long" },
    ],
    [
      "fails rather than ask earlier than it was told",
      { ...server, retryAfterMs: 9_999_999 },
      { modelsLeft: 0 },
      { next: "fail", because: "told-to-wait-too-long" },
    ],
    [
      "goes to the next model when the attempts are used up",
      server,
      { attemptsOfModel: 3 },
      { next: "fallback", because: "attempts-used-up" },
    ],
    [
      "goes to the next model at once when repeating is pointless",
      { class: "quota", retryable: false },
      {},
      { next: "fallback", because: "not-worth-repeating" },
    ],
    [
      "fails when no model is left",
      server,
      { attemptsOfModel: 3, modelsLeft: 0 },
      { next: "fail", because: "attempts-used-up" },
    ],
    [
      "does not hide a wrong key behind a fallback",
      { class: "auth", retryable: false },
      {},
      { next: "fail", because: "not-retryable" },
    ],
    [
      "is final when something was shown",
      server,
      { tokenSeen: true },
      { next: "fail", because: "token-seen" },
    ],
  ])("%s", (_title, failure, situation, step) => {
    expect(decideNext(failure, { ...fresh, ...situation })).toMatchObject(step);
  });
});

describe("kinds of failure", () => {
  test.each([
    [429, "", "rate_limit", true],
    [429, '{"error":{"code":"insufficient_quota"}}', "quota", false],
    [402, "", "quota", false],
    [400, "Your credit balance is too low to access the Anthropic API", "quota", false],
    [500, "", "server", true],
    [529, "", "server", true],
    [408, "", "timeout", true],
    [401, "", "auth", false],
    [403, "", "auth", false],
    [404, "", "unknown_model", false],
    [413, "", "context", false],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", "context", false],
    [400, '{"error":{"code":"content_filter"}}', "refused", false],
    [422, "", "input", false],
    [200, "", "format", true],
  ] as const)("HTTP %i %s is %s", (statusCode, responseBody, failureClass, retryable) => {
    const error = new APICallError({
      message: "x",
      url: "http://x",
      requestBodyValues: {},
      statusCode,
      responseBody,
    });

    expect(classify(error, NOW)).toEqual({ class: failureClass, retryable, status: statusCode });
  });

  test.each([
    [
      Object.assign(new TypeError("fetch failed"), {
        cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }),
      }),
      "network",
    ],
    [new TypeError("terminated"), "network"],
    [new DOMException("x", "AbortError"), "aborted"],
    [{ type: "overloaded_error", message: "Overloaded" }, "server"],
    [{ type: "invalid_request_error", code: "context_length_exceeded" }, "context"],
    [{ message: "something of the provider" }, "server"],
    [new TypeError("undefined is not a function"), "other"],
    [formatError("no JSON"), "format"],
    [new DureError("BUDGET_EXCEEDED", "x"), "other"],
  ])("%o is %s", (error, failureClass) => {
    expect(classify(error, NOW).class).toBe(failureClass);
  });

  test("a model's error is classified again as what it was, with what the provider asked for", () => {
    const error = new APICallError({
      message: "x",
      url: "x",
      requestBodyValues: {},
      statusCode: 429,
      responseHeaders: { "retry-after": "3" },
    });

    expect(classify(modelError(error, { provider: "openai", model: "m", now: NOW }), NOW)).toEqual(
      classify(error, NOW),
    );
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0.5" }, 500],
    [{ "retry-after": new Date(NOW + 5_000).toUTCString() }, 5_000],
    [{ "retry-after": new Date(NOW - 5_000).toUTCString() }, 0],
    [{ "retry-after-ms": "250", "retry-after": "1" }, 250],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{}, undefined],
  ])("%j asks to wait %s ms", (headers, wait) => {
    expect(retryAfterMs(headers as unknown as Record<string, string>, NOW)).toBe(wait);
  });
});

describe("attempts", () => {
  test("waits grow with the attempt, and the error at the end tells how many there were", async () => {
    const { clock, slept } = clockWithoutWaits();
    const seen: number[] = [];

    const failed = runAttempts(
      plan({ max_attempts: 3, backoff_sec: 2 }),
      ({ attempt }) => {
        seen.push(attempt);
        throw failureError("server", "down");
      },
      { clock },
    );

    await expect(failed).rejects.toMatchObject({
      code: "MODEL_SERVER_ERROR",
      message: "down (attempt 3, attempts-used-up)",
      details: { attempts: 3 },
    });
    expect(seen).toEqual([1, 2, 3]);
    expect(slept).toEqual([2_000, 4_000]);
  });

  test("pauses can be given, and what was shown may be asked for again", async () => {
    const { clock, slept } = clockWithoutWaits();
    const rules = { pauseMs: (attempt: number) => attempt * 7, repeatsShown: true };
    const { llm, policy } = plan({ max_attempts: 3 });

    const { attempts } = await runAttempts(
      { llm, policy: { ...policy, ...rules } },
      async ({ attempt, firstTokenSeen }) => {
        firstTokenSeen();
        if (attempt < 3) throw failureError("network", "cut");
      },
      { clock },
    );

    expect([attempts, slept]).toEqual([3, [7, 14]]);
  });

  test("each retry is announced before its wait, with the model that comes next", async () => {
    const { clock } = clockWithoutWaits();
    const announced: string[] = [];

    await runAttempts(
      {
        ...plan({ max_attempts: 1 }),
        llm: parseCard({ llm: { provider: "openai", model: "a", fallbacks: ["offline:b"] } }).llm!,
      },
      async ({ llm }) => {
        if (llm.model === "a") throw failureError("server", "down");
        return llm.model;
      },
      {
        clock,
        onRetry: ({ attempt, error, waitMs, next }) =>
          announced.push(`${attempt} ${error.code} ${waitMs} ${next.model}`),
      },
    );

    expect(announced).toEqual(["1 MODEL_SERVER_ERROR 0 b"]);
  });

  test("an error that is not the model's is passed on as it is", async () => {
    const error = new DureError("BUDGET_EXCEEDED", "The day is spent.");

    await expect(
      runAttempts(plan({}), () => Promise.reject(error), { clock: systemClock }),
    ).rejects.toBe(error);
  });

  test("a wait ends at once when the turn is stopped", async () => {
    const stop = new AbortController();
    const reason = new Error("stopped");

    const failed = runAttempts(
      plan({ backoff_sec: 600 }),
      () => Promise.reject(failureError("server", "down")),
      {
        clock: systemClock,
        signal: stop.signal,
        onRetry: () => queueMicrotask(() => stop.abort(reason)),
      },
    );

    await expect(failed).rejects.toBe(reason);
  });

  test("an interrupted call finishes its bookkeeping before the next one begins", async () => {
    const order: string[] = [];

    await runAttempts(
      plan({ timeout_sec: 0.02, backoff_sec: 0 }),
      async ({ attempt, signal }) => {
        order.push(`call ${attempt}`);
        if (attempt === 2) return;
        try {
          await systemClock.sleep(60_000, { signal });
        } finally {
          for (let step = 0; step < 10; step++) await Promise.resolve();
          order.push("recorded 1");
        }
      },
      { clock: systemClock },
    );

    expect(order).toEqual(["call 1", "recorded 1", "call 2"]);
  });

  test("a call that ignores its signal is interrupted all the same, and its late answer is dropped", async () => {
    const late: (() => void)[] = [];

    const { value, attempts } = await runAttempts(
      plan({ timeout_sec: 0.05, backoff_sec: 0 }),
      ({ attempt }) =>
        attempt === 1
          ? new Promise<string>((resolve) => late.push(() => resolve("late")))
          : Promise.resolve("in time"),
      { clock: systemClock },
    );
    late[0]!();

    expect([value, attempts]).toEqual(["in time", 2]);
  });
});

function plan(policy: object): AttemptPlan {
  const card = parseCard({ llm: "offline", policy });
  return { llm: card.llm!, policy: card.policy };
}

function clockWithoutWaits(): { clock: Clock; slept: number[] } {
  const slept: number[] = [];
  return { slept, clock: { ...systemClock, sleep: (ms) => (slept.push(ms), Promise.resolve()) } };
}
