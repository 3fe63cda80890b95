import { APICallError } from "@ai-sdk/provider";
import { UnfriendlyProvider } from "@dure/testing";
import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { parseCard } from "./card.ts";
import { classify } from "./failures.ts";
import { Models } from "./models.ts";
import { modelsAt } from "./test-providers.ts";

function said(statusCode: number, error: object): APICallError {
  const responseBody = JSON.stringify({ error: { code: statusCode, ...error } });
  return new APICallError({
    message: "",
    url: "",
    requestBodyValues: {},
    statusCode,
    responseHeaders: {},
    responseBody,
  });
}

const LIMITED = "You exceeded your current quota, please check your plan and billing details.";
const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" };
const quota = (quotaId: string): object => ({ violations: [{ quotaId }] });

test.each<[string, APICallError, object]>([
  [
    "a limit of a minute, with the time to wait",
    said(429, { message: LIMITED, details: [quota("RequestsPerMinutePerProject"), retry] }),
    { class: "rate_limit", retryable: true, retryAfterMs: 34_070 },
  ],
  [
    "a quota of a day",
    said(429, { message: LIMITED, details: [quota("RequestsPerDayPerProject-FreeTier"), retry] }),
    { class: "quota", retryable: false },
  ],
  [
    "an overload",
    said(503, { message: "The model is overloaded.", status: "UNAVAILABLE" }),
    { class: "server", retryable: true },
  ],
  [
    "a wrong key",
    said(400, { message: "API key not valid.", details: [{ reason: "API_KEY_INVALID" }] }),
    { class: "auth" },
  ],
  [
    "a request that is too long",
    said(400, {
      message: "The input token count (9) exceeds the maximum number of tokens allowed (8).",
    }),
    { class: "context" },
  ],
  [
    "a request that is too long for OpenAI's responses",
    said(400, { message: "Your input exceeds the context window of this model." }),
    { class: "context" },
  ],
])("A failure is known: %s", (_, error, failure) => {
  expect(classify(error, 0)).toMatchObject(failure);
});

test.each([0, 1])(
  "What was kept of the input is cheaper, of Responses and Gemini: %i",
  async (at) => {
    await using provider = await UnfriendlyProvider.start({
      seed: 1,
      often: 0,
      answer: () => ({ text: "Well." }),
    });
    const { llm } = parseCard({ model: modelsAt(provider.url)[at]! });
    const models = new Models({
      clock: systemClock,
      logger: silentLogger,
      prices: {
        [`${llm!.provider}:${llm!.model}`]: { in: 2_000_000, cachedIn: 500_000, out: 4_000_000 },
      },
    });
    const request = { messages: [{ role: "user" as const, text: "word ".repeat(2_000) }] };

    const first = await models.resolve(llm!).stream(request);
    const second = await models.resolve(llm!).stream(request);

    expect(first.usage).toEqual({ tokensIn: 100, tokensOut: 20, estimated: false });
    expect(first.costMicroUsd).toBe(280);
    const { cachedIn = 0 } = second.usage;
    expect(cachedIn).toBeGreaterThan(2_000);
    expect(second.usage.tokensIn).toBe(100 + cachedIn);
    expect(second.costMicroUsd).toBe(280 + Math.ceil(cachedIn / 2));
  },
);
