import { expect, test } from "vitest";
import { troubleIn } from "./trouble.ts";

const NOW = Date.UTC(2026, 0, 1);
const after = (ms: number): number => NOW + ms;

test.each([
  ["Invalid API key · Please run /login", "login", undefined],
  ['API Error: 401 {"type":"error","error":{"type":"authentication_error"}}', "login", undefined],
  ["ERROR: unexpected status 401 Unauthorized: Missing bearer", "login", undefined],
  ["Error: Authentication required", "login", undefined],
  ["Please set an Auth method in your settings.json before running", "login", undefined],
  ["Credit balance is too low", "login", undefined],
  ["Claude AI usage limit reached|1767229200", "rate-limit", after(3_600_000)],
  [
    'API Error: 429 {"error":{"type":"rate_limit_error"}} retry-after: 30',
    "rate-limit",
    after(30_000),
  ],
  ["ERROR: exceeded retry limit, last status: 429 Too Many Requests", "rate-limit", undefined],
  [
    "You've hit your usage limit. Try again in 2 days 3 hours 5 minutes.",
    "rate-limit",
    after(183_900_000),
  ],
  ["Error: RESOURCE_EXHAUSTED, please retry in 51.5s", "rate-limit", after(51_500)],
])("an agent that ends with exit code 0 after %j has trouble: %s", (line, kind, until) => {
  expect(troubleIn(`${line}\n`, { isError: false, now: NOW })).toMatchObject({ kind });
  expect(troubleIn(line, { isError: true, now: NOW })?.until).toBe(until);
});

test.each([
  "Done: the login page now says 'Invalid API key' for a 401.",
  "I added a test: after five failures the server answers 429 Too Many Requests.",
  "The rate limit is reset after 30 minutes; all tests pass.",
  "",
])("an agent that writes about such things has none: %j", (line) => {
  expect(troubleIn(line, { isError: false, now: NOW })).toBeUndefined();
});

test("a long report that quotes an error is no trouble, unless the program failed", () => {
  const report = [...Array.from({ length: 20 }, (_, at) => `step ${at}`), "Error: 429 too many"];

  expect(troubleIn(report.join("\n"), { isError: false, now: NOW })).toBeUndefined();
  expect(troubleIn(report.join("\n"), { isError: true, now: NOW })?.kind).toBe("rate-limit");
});
