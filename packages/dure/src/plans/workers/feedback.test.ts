import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { json, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import type { TestReport } from "../results/report.ts";
import { readTestOutput } from "../results/read-output.ts";
import { feedbackOf, feedbackText, MAX_FAILED_TESTS, parseTestFeedback } from "./feedback.ts";
import { sendTestFeedback } from "./hook-client.ts";

const TAP = `TAP version 13
not ok 1 - answers 429 after five failures
  ---
  error: |-
    Expected values to be strictly equal:

    429 !== 500

  ...
ok 2 - lets in
1..2
# tests 2
# pass 1
# fail 1
`;

test("the feedback of a run is its report, and success is the verdict's", () => {
  const report = readTestOutput(TAP);

  const feedback = feedbackOf({ report, exitCode: 1, output: TAP, durationMs: 1234.5 });

  expect(feedback).toMatchObject({
    success: false,
    metrics: { total: 2, passed: 1, failed: 1, durationMs: 1235 },
    suggestions: [],
  });
  expect(feedback.failedTests[0]).toMatchObject({ name: "answers 429 after five failures" });
  expect(feedbackText(feedback)).toMatch(
    /^The tests did not pass: 1 of 2 passed, 1 failed, 1\.2 s\.\n1\. answers 429 after five failures/,
  );
  expect(
    feedbackOf({
      report: { ...report, failed: 0, failures: [] },
      exitCode: 0,
      output: "",
      durationMs: 1,
    }).success,
  ).toBe(true);
});

test("an output that names no test comes back as its end, bounded", () => {
  const output = `${"x".repeat(10_000)}\n\0the compiler says: missing ;`;

  const feedback = feedbackOf({
    report: readTestOutput(output),
    exitCode: 2,
    output,
    durationMs: 1,
  });

  expect(feedback.success).toBe(false);
  expect(feedback.suggestions.join("\n")).toMatch(/exit code 2 and named no test[\s\S]*missing ;$/);
  expect(feedback.suggestions.join("").length).toBeLessThan(5_000);
  expect(JSON.stringify(feedback)).not.toContain("\\u0000");
});

test("a command that fails around tests that all pass is told so", () => {
  const report: TestReport = { ...readTestOutput(""), passed: 2 };

  const { success, suggestions } = feedbackOf({ report, exitCode: 1, output: "", durationMs: 1 });

  expect(success).toBe(false);
  expect(suggestions[0]).toMatch(/^All 2 tests passed, but the acceptance command failed/);
});

test("many failures are counted, and some are told", () => {
  const failures = Array.from({ length: 100 }, (_, index) => ({
    name: `test ${index}`,
    message: "broken",
  }));

  const feedback = feedbackOf({
    report: {
      framework: "tap",
      passed: 0,
      failed: 250,
      skipped: 0,
      failures,
      truncated: false,
      certain: true,
    },
    exitCode: 1,
    output: "",
    durationMs: 1,
  });

  expect(feedback.failedTests).toHaveLength(MAX_FAILED_TESTS);
  expect(feedbackText(feedback)).toContain("… and 220 more.");
});

describe("a report of a tool", () => {
  test("is taken in either spelling, with what can be derived left out", () => {
    const snake = parseTestFeedback({
      success: false,
      failed_tests: [
        {
          name: "a",
          expected: { snake_key: 1 },
          actual: 2,
          stack_trace: "at a",
          suggested_fix: "mend",
          file: null,
          line: 3,
          extra: 1,
        },
      ],
      metrics: { duration_ms: 10.4, passed: 4 },
    });
    const camel = parseTestFeedback({
      failedTests: [
        {
          name: "a",
          expected: '{"snake_key":1}',
          actual: "2",
          stackTrace: "at a",
          suggestedFix: "mend",
          line: 3,
        },
      ],
      metrics: { durationMs: 10, passed: 4, total: 5, failed: 1 },
    });

    expect(snake).toEqual(camel);
    expect(camel).toEqual({
      success: false,
      failedTests: [
        {
          name: "a",
          expected: '{"snake_key":1}',
          actual: "2",
          stackTrace: "at a",
          suggestedFix: "mend",
          line: 3,
        },
      ],
      suggestions: [],
      metrics: { total: 5, passed: 4, failed: 1, durationMs: 10 },
    });
  });

  test("with a failing test, or without any test, is never a success", () => {
    expect(parseTestFeedback({ success: true, failed_tests: [{ name: "a" }] }).success).toBe(false);
    expect(parseTestFeedback({ success: true, metrics: { failed: 1 } }).success).toBe(false);
    expect(parseTestFeedback({}).success).toBe(false);
    expect(parseTestFeedback({ metrics: { passed: 3 } }).success).toBe(true);
  });

  test.each([
    [null],
    ["text"],
    [{ failed_tests: "all" }],
    [{ failed_tests: [{}] }],
    [{ metrics: { passed: -1 } }],
  ])("that is none names its problems: %j", (value) => {
    expect(() => parseTestFeedback(value)).toThrow(
      expect.objectContaining({ code: "TEST_FEEDBACK_INVALID" }),
    );
  });
});

describe("dure hook test-feedback", () => {
  async function aRun(
    answer: (request: IncomingMessage) => Promise<{ status: number; body: unknown }>,
  ) {
    const server = createServer(
      (request, response) =>
        void answer(request).then(({ status, body }) =>
          response.writeHead(status).end(JSON.stringify(body)),
        ),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
      [Symbol.asyncDispose]: () =>
        new Promise<void>(
          (resolve) => (server.closeAllConnections(), server.close(() => resolve())),
        ),
    };
  }
  const call = (url: string | undefined, input: string, token: string | undefined = "t0ken") => {
    const stdout = new PassThrough();
    return {
      answer: sendTestFeedback({
        socket: undefined,
        url,
        token,
        stdin: Readable.from([Buffer.from(input)]),
        stdout,
        clock: systemClock,
      }),
      said: () => (stdout.end(), text(stdout)),
    };
  };

  test("hands a report to the run and prints its decision", async () => {
    let got: unknown;
    await using run = await aRun(async (request) => {
      got = { authorization: request.headers.authorization, body: await json(request) };
      return {
        status: 200,
        body: { decision: "retry", notifications: ["2 tests left"], more: 1 },
      };
    });

    const { answer, said } = call(run.url, '{"failedTests": [{"name": "a", "stackTrace": "s"}]}');

    expect(await answer).toEqual({ decision: "retry", notifications: ["2 tests left"] });
    expect(await said()).toBe('{"decision":"retry","notifications":["2 tests left"]}\n');
    expect(got).toEqual({
      authorization: "Bearer t0ken",
      body: {
        success: false,
        failed_tests: [{ name: "a", stack_trace: "s" }],
        suggestions: [],
        metrics: { total: 1, passed: 0, failed: 1, duration_ms: 0 },
      },
    });
  });

  test("says what is wrong: no worker, no JSON, no report, no run, a refusal", async () => {
    await using run = await aRun(() =>
      Promise.resolve({ status: 401, body: { error: "who are you" } }),
    );
    const failure = (url: string | undefined, input: string, token?: string) =>
      call(url, input, token).answer.then(
        () => undefined,
        (error: { code: string }) => error.code,
      );

    expect(await failure(undefined, "{}")).toBe("HOOK_OUTSIDE");
    expect(await failure(run.url, "")).toBe("HOOK_INPUT_INVALID");
    expect(await failure(run.url, "[")).toBe("HOOK_INPUT_INVALID");
    expect(await failure(run.url, "[]")).toBe("TEST_FEEDBACK_INVALID");
    expect(await failure("http://127.0.0.1:9/", "{}")).toBe("HOOK_FAILED");
    expect(await failure(run.url, "{}")).toBe("HOOK_FAILED");
  });
});
