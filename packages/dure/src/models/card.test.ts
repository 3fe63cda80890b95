import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import {
  type CardInput,
  cardSchema,
  modelName,
  modelNames,
  parseBudgetLimit,
  parseCard,
  parseModelName,
} from "./card.ts";
import { PROVIDER_NAMES } from "./providers.ts";

describe("a card", () => {
  test("that says nothing has every default", () => {
    expect(parseCard(undefined)).toEqual({
      policy: {
        maxAttempts: 3,
        backoffSec: 1,
        timeoutSec: 60,
        maxToolRounds: 8,
        maxTools: 40,
        maxResultBytes: 40_000,
      },
      tools: [],
      budget: {},
    });
  });

  test("may be written in snake_case or camelCase", () => {
    const camel = {
      llm: {
        provider: "openai",
        model: "gpt-4o",
        maxOutputTokens: 500,
        baseUrl: "http://127.0.0.1:1/v1",
        fallbacks: ["offline", { provider: "anthropic", model: "claude" }],
      },
      policy: {
        maxAttempts: 4,
        backoffSec: 0.5,
        timeoutSec: 5,
        maxToolRounds: 2,
        validate: "isPolite",
        schema: "answer",
      },
      tools: ["clock"],
      budget: { turn: "2000 tokens", day: { usd: 1.5, tokens: 10 } },
    } satisfies CardInput;
    const snake = {
      llm: {
        provider: "openai",
        model: "gpt-4o",
        max_output_tokens: 500,
        base_url: "http://127.0.0.1:1/v1",
        fallbacks: ["offline", { provider: "anthropic", model: "claude" }],
      },
      policy: {
        max_attempts: 4,
        backoff_sec: "500ms",
        timeout_sec: "5s",
        max_tool_rounds: 2,
        validate: "isPolite",
        schema: "answer",
      },
      tools: ["clock"],
      budget: { turn: "2000 tokens", day: { usd: 1.5, tokens: 10 } },
    };

    const card = parseCard(snake);

    expect(card).toEqual(parseCard(camel));
    expect(card).toMatchObject({
      llm: {
        maxOutputTokens: 500,
        fallbacks: [
          { provider: "offline", model: "echo" },
          { provider: "anthropic", model: "claude" },
        ],
      },
      policy: { maxAttempts: 4, backoffSec: 0.5, timeoutSec: 5 },
      budget: { turn: { tokens: 2_000 }, day: { microUsd: 1_500_000, tokens: 10 } },
    });
  });

  test.each([
    ["model", ["openai:a", "anthropic:b"]],
    ["model", "openai:a, anthropic:b"],
    ["llm", [{ provider: "openai", model: "a" }, "anthropic:b"]],
    ["llm", { provider: "openai", model: "a", fallbacks: ["anthropic:b"] }],
  ])("a chain of models is written as %s: %j", (key, written) => {
    const fallbacks = [{ provider: "anthropic", model: "b" }];

    const { llm } = parseCard({ [key]: written });

    expect(llm).toEqual({ provider: "openai", model: "a", fallbacks });
    expect(modelNames(llm!)).toBe("openai:a, anthropic:b");
  });

  test("read twice is the same card", () => {
    const card = parseCard({ llm: "openai:gpt-4o", policy: { max_retry: 1 } });

    expect(parseCard(card)).toEqual(card);
  });

  test("max_retry counts the attempts after the first", () => {
    expect(parseCard({ policy: { max_retry: 2 } }).policy.maxAttempts).toBe(3);
    expect(parseCard({ policy: { max_retry: 0 } }).policy.maxAttempts).toBe(1);
  });

  test.each([
    [{ policy: { max_retry: 2, maxAttempts: 3 } }, "policy.maxRetry", "are one setting"],
    [
      { policy: { backoff_sec: 1, backoffSec: 2 } },
      "policy.backoffSec",
      '"backoff_sec" and "backoffSec" are one setting',
    ],
    [{ polcy: {} }, "polcy", 'did you mean "policy"?'],
    [{ policy: { max_retires: 1 } }, "policy.max_retires", 'did you mean "maxRetry"?'],
    [
      { llm: { provider: "openai", model: "x", temprature: 1 } },
      "llm.temprature",
      'did you mean "temperature"?',
    ],
    [{ llm: { provider: "opnai", model: "x" } }, "llm.provider", 'Did you mean "openai:…"?'],
    [{ llm: "gpt-4o" }, "llm", "Write provider:model"],
    [{ llm: "openai:a, b" }, "llm", "Write provider:model"],
    [{ model: [] }, "llm", "Too small"],
    [{ model: ["openai:a", "b"] }, "llm.1", "Write provider:model"],
    [{ model: "openai:a", llm: "openai:b" }, "llm", '"model" and "llm" are one setting'],
    [{ llm: "openai:" }, "llm", "but no model"],
    [
      { llm: { provider: "openai", model: "x", fallbacks: ["antropic:x"] } },
      "llm.fallbacks.0",
      'Did you mean "anthropic:…"?',
    ],
    [{ llm: { provider: "openai", model: "x", base_url: "localhost:1" } }, "llm.baseUrl", "URL"],
    [{ policy: { timeout_sec: 0 } }, "policy.timeoutSec", "expected number to be >0"],
    [{ policy: { timeout_sec: "soon" } }, "policy.timeoutSec", "is not a duration"],
    [{ budget: { turn: "20 euros" } }, "budget.turn", "20 USD"],
    [{ budget: { hour: "20 USD" } }, "budget.hour", "known are turn, session, day"],
    ["gpt", "card", "expected object"],
  ])("%j is refused at %s: %s", (input, path, message) => {
    expect(() => parseCard(input, "agents/helper/card.json")).toThrowError(
      expect.objectContaining({
        code: "CARD_INVALID",
        message: expect.stringMatching(
          new RegExp(`^agents/helper/card.json has .*${escape(path)}: .*${escape(message)}`),
        ) as string,
      }) as Error,
    );
  });

  test("every problem is named, not only the first", () => {
    const result = cardSchema.safeParse({ tools: [1], policy: { max_retry: -1 }, budgets: {} });

    expect(result.error?.issues.map((issue) => issue.path.join("."))).toEqual(
      expect.arrayContaining(["budgets"]),
    );
    expect(() => parseCard({ tools: [1], policy: { max_retry: -1 } })).toThrowError(
      /has 2 problems/,
    );
  });
});

describe("the name of a model", () => {
  const llm = fc.record({
    provider: fc.constantFrom(...PROVIDER_NAMES),
    model: fc.string({ minLength: 1 }).filter((model) => model.trim() === model),
  });

  test("that was written is read again, colons and all", () => {
    fc.assert(
      fc.property(llm, (ref) => {
        expect(parseModelName(modelName(ref))).toEqual(ref);
      }),
    );
  });

  test("is read or refused by a DureError, whatever it is", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          const ref = parseModelName(text);
          return PROVIDER_NAMES.includes(ref.provider) && ref.model !== "";
        } catch (error) {
          return error instanceof DureError && error.code === "MODEL_NAME_INVALID";
        }
      }),
    );
  });

  test("offline alone is its echo", () => {
    expect(parseModelName("offline")).toEqual({ provider: "offline", model: "echo" });
  });
});

describe("a budget", () => {
  test.each([
    ["20 USD", { microUsd: 20_000_000 }],
    ["0.05usd", { microUsd: 50_000 }],
    ["1,000,000 tokens", { tokens: 1_000_000 }],
    [{ usd: 1 }, { microUsd: 1_000_000 }],
  ])("%j is %j", (input, limit) => {
    expect(parseBudgetLimit(input)).toEqual(limit);
  });

  test.each(["20", "USD", "-1 USD", "1.5 tokens", "20 KRW"])("%j is none", (input) => {
    expect(() => parseBudgetLimit(input)).toThrowError(
      expect.objectContaining({ code: "BUDGET_INVALID" }) as Error,
    );
  });
});

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
