import { expect, test } from "vitest";
import { toChannelError } from "./errors.ts";

const attempt = { platform: "telegram", doing: "post a message" };

/** An error as a client throws it. */
function thrown(facts: object, message = "no"): Error {
  return Object.assign(new Error(message), facts);
}

test.each([
  [thrown({ code: "RATE_LIMITED", retryAfter: 7 }), "rate-limited", true],
  [thrown({ code: "AUTH_FAILED" }), "credential", true],
  [thrown({ code: "PERMISSION_DENIED" }), "permission", true],
  [thrown({ code: "NOT_FOUND" }), "not-found", true],
  [thrown({ code: "VALIDATION_ERROR" }, "Bad Request: chat not found"), "not-found", true],
  [thrown({ code: "VALIDATION_ERROR" }, "Bad Request: text is empty"), "invalid", true],
  [thrown({ code: "NETWORK_ERROR" }), "transient", false],
  [thrown({ code: "NETWORK_ERROR", originalError: thrown({ status: 404 }) }), "not-found", true],
  [thrown({ response: { status: 403 } }), "permission", true],
  [thrown({ status: 502 }), "transient", false],
  [thrown({ code: 401 }), "credential", true],
  [
    thrown({
      code: "NETWORK_ERROR",
      originalError: thrown({ cause: thrown({ code: "ECONNREFUSED" }) }),
    }),
    "transient",
    true,
  ],
  ["a text", "transient", false],
  [undefined, "transient", false],
])("what an adapter throws has a class of failure: %s", (error, failure, notSent) => {
  expect(toChannelError(error, attempt)).toMatchObject({ failure, notSent });
});

test.each([
  [thrown({ code: "RATE_LIMITED", retryAfter: 7 }), 7_000],
  [thrown({ code: "RATE_LIMITED" }), 30_000],
  [thrown({ status: 429, response: { headers: { "retry-after": "2" } } }), 2_000],
  [thrown({ status: 429, response: { headers: new Headers({ "retry-after": "3" }) } }), 3_000],
])("a refusal for the rate says how long to wait: %s", (error, retryAfterMs) => {
  expect(toChannelError(error, attempt).retryAfterMs).toBe(retryAfterMs);
});

test("the sentence names the platform and what was tried", () => {
  const error = toChannelError(thrown({ status: 403 }, "Forbidden"), attempt);

  expect(error.message).toBe("telegram did not post a message: Forbidden");
  expect(error.detail).toBe("403");
});
