import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { failure, report, valuesIn } from "./report.ts";
import { readTestOutput, verdictOf } from "./read-output.ts";

const FIXTURES = new URL("./fixtures/", import.meta.url);
const names = readdirSync(FIXTURES).filter((name) => name !== "README.md");
const fixture = (name: string): string => readFileSync(new URL(name, FIXTURES), "utf8");

/** `vitest 1/3/2` is 1 passed, 3 failed, 2 skipped. */
function told(output: string): string {
  const { framework, passed, failed, skipped, truncated, certain } = readTestOutput(output);
  return `${framework} ${passed}/${failed}/${skipped}${truncated ? " cut off" : ""}${certain ? "" : " uncertain"}`;
}

/** What the recorded runs printed: the same few tests, counted by each tool's own words. */
const EXPECTED: Readonly<Record<string, string>> = {
  "cargo.txt": "cargo 1/2/1",
  "go-broken.json": "go 1/1/0",
  "go-panic.txt": "go 1/1/0",
  "go-v.txt": "go 1/1/1",
  "go.json": "go 2/1/1",
  "go.txt": "go 1/2/0",
  "gradle-lines.txt": "gradle 2/2/1",
  "gradle-quiet.txt": "unknown 0/0/0 uncertain",
  "gradle.txt": "gradle 2/2/1",
  "jest-broken.json": "jest 1/3/2",
  "jest-broken.txt": "jest 1/1/4",
  "jest.json": "jest 1/2/2",
  "jest.txt": "jest 1/2/2",
  "maven-broken.txt": "unknown 0/0/0 uncertain",
  "maven.txt": "maven 2/2/1",
  "mocha.txt": "mocha 1/2/2",
  "node-junit.xml": "junit 1/3/2",
  "node-none.txt": "node 0/0/0",
  "node-spec-broken.txt": "node 0/1/0",
  "node-spec-colour.txt": "node 1/3/2",
  "node-spec-hook.txt": "node 0/2/0",
  "node-spec.txt": "node 1/3/2",
  "node-tap-hook.txt": "node 0/2/0",
  "node-tap.txt": "node 1/3/2",
  "passed-cargo.txt": "cargo 2/0/1",
  "passed-go-v.txt": "go 2/0/1",
  "passed-go.json": "go 2/0/1",
  "passed-gradle-lines.txt": "gradle 2/0/1",
  "passed-jest.json": "jest 2/0/1",
  "passed-jest.txt": "jest 2/0/1",
  "passed-maven.txt": "maven 2/0/1",
  "passed-mocha.txt": "mocha 2/0/1",
  "passed-node-spec.txt": "node 2/0/1",
  "passed-node-tap.txt": "node 2/0/1",
  "passed-pytest-q.txt": "pytest 2/0/1",
  "passed-pytest.txt": "pytest 2/0/1",
  "passed-unittest.txt": "unittest 2/0/1",
  "passed-vitest-junit.xml": "junit 2/0/1",
  "passed-vitest.json": "vitest 2/0/1",
  "passed-vitest.txt": "vitest 2/0/1",
  "pytest-broken.txt": "pytest 0/1/0",
  "pytest-color.txt": "pytest 1/3/2",
  "pytest-junit.xml": "junit 1/3/2",
  "pytest-none.txt": "pytest 0/0/0",
  "pytest-q.txt": "pytest 1/3/2",
  "pytest-short.txt": "pytest 1/3/2",
  "tap14.txt": "tap 1/2/2",
  "unittest.txt": "unittest 1/4/2",
  "unittest-broken.txt": "unittest 0/1/0",
  "unittest-none.txt": "unittest 0/0/0",
  "unittest-verbose.txt": "unittest 1/4/2",
  "vitest-broken.json": "vitest 1/4/2",
  "vitest-broken.txt": "vitest 1/4/2",
  "vitest-colour.txt": "vitest 1/3/2",
  "vitest-default.txt": "vitest 1/3/2",
  "vitest-junit.xml": "junit 1/3/2",
  "vitest-none.txt": "vitest 0/0/0",
  "vitest-passed.txt": "vitest 1/0/5",
  "vitest.json": "vitest 1/3/2",
};

test("every output is counted as its tool counts it", () => {
  expect(Object.fromEntries(names.map((name) => [name, told(fixture(name))]))).toEqual(EXPECTED);
});

describe("a wrong value is told with its place and both values", () => {
  test.each<[output: string, name: string, file: string, line: number]>([
    ["vitest.json", "login > answers 429 after five failures", "/repo/sample.test.mjs", 5],
    ["vitest-default.txt", "login > answers 429 after five failures", "sample.test.mjs", 5],
    ["vitest-colour.txt", "login > answers 429 after five failures", "sample.test.mjs", 5],
    ["vitest-junit.xml", "login > answers 429 after five failures", "sample.test.mjs", 5],
    ["jest.json", "login > answers 429 after five failures", "/repo/test/login.test.js", 7],
    ["node-tap.txt", "login > answers 429 after five failures", "/repo/node.test.mjs", 5],
    ["node-spec.txt", "answers 429 after five failures", "node.test.mjs", 5],
    ["node-spec-colour.txt", "answers 429 after five failures", "node.test.mjs", 5],
    ["node-junit.xml", "login > answers 429 after five failures", "/repo/node.test.mjs", 5],
    ["pytest-short.txt", "test_answers_429_after_five_failures", "test_login.py", 7],
    ["pytest-q.txt", "test_answers_429_after_five_failures", "test_login.py", 7],
    ["pytest-color.txt", "test_answers_429_after_five_failures", "test_login.py", 7],
    ["pytest-junit.xml", "test_login > test_answers_429_after_five_failures", "test_login.py", 7],
    ["unittest.txt", "LoginTest > test_answers_429_after_five_failures", "test_login.py", 6],
    ["maven.txt", "LoginTest > answers429AfterFiveFailures", "LoginTest.java", 16],
    ["gradle-lines.txt", "shop.LoginTest > answers429AfterFiveFailures", "LoginTest.java", 16],
    ["go.json", "TestLimit/after_five", "login_test.go", 11],
    ["go.txt", "TestLimit/after_five", "login_test.go", 11],
    ["go-v.txt", "TestLimit/after_five", "login_test.go", 11],
    ["tap14.txt", "test/login.js > login > answers 429", "test/login.js", 4],
  ])("%s", (output, name, file, line) => {
    const found = readTestOutput(fixture(output)).failures.find(
      (one) => one.name.includes("429") || one.name.includes("Limit"),
    );

    expect(found).toMatchObject({ name, file, line, expected: "429", actual: "401" });
  });
});

test("an error, a file that cannot be loaded and a hook that fails are told with their message", () => {
  const messages = (name: string): string[] =>
    readTestOutput(fixture(name)).failures.map(
      (one) => `${one.name} | ${one.file ?? ""}:${one.line ?? ""} | ${one.message}`,
    );

  expect(messages("node-spec.txt")).toContain("throws | node.test.mjs:11 | TypeError: no session");
  expect(messages("pytest-short.txt")).toContain(
    "TestSession > test_throws | test_login.py:17 | TypeError: no session",
  );
  expect(messages("pytest-short.txt")).toContain(
    "test_with_fixture | test_login.py:21 | RuntimeError: no database",
  );
  expect(messages("pytest-broken.txt")).toEqual([
    "pass/test_broken.py | pass/test_broken.py:1 | ModuleNotFoundError: No module named 'nowhere'",
  ]);
  expect(messages("vitest-broken.txt")[0]).toBe(
    "(the file could not be run) | broken.test.mjs:1 | Error: Cannot find module './nowhere.mjs' imported from /repo/broken.test.mjs",
  );
  expect(messages("vitest-broken.json")[0]).toContain("Cannot find module './nowhere.mjs'");
  expect(messages("node-tap-hook.txt")).toContain("login | /repo/pass/hook.mjs:4 | no database");
  expect(messages("node-spec-hook.txt")).toContain("login | pass/hook.mjs:4 | Error: no database");
  expect(messages("go.txt")).toContain(
    "example.com/shop/broken | broken/x.go:3 | broken/x.go:3:6: syntax error: unexpected {, expecting name or (",
  );
  expect(messages("go-broken.json")).toEqual([
    "example.com/shop/broken | broken/x.go:3 | broken/x.go:3:6: syntax error: unexpected {, expecting name or (",
  ]);
  expect(messages("go-panic.txt")[0]).toMatch(
    /^TestPanics \| .*panics_test.go:9 \| panic: assignment to entry in nil map/,
  );
  expect(messages("tap14.txt")).toContain(
    "test/login.js > throws > no database | test/login.js:9 | ",
  );
});

test.each<[output: string, name: string, file: string, line: number]>([
  ["jest.txt", "price > two digits", "j/price.test.js", 4],
  ["mocha.txt", "price > two digits", "m/price.js", 5],
  ["cargo.txt", "tests::two_digits", "src/lib.rs", 6],
])("a wrong price is told with its place and both values: %s", (output, name, file, line) => {
  const { failures } = readTestOutput(fixture(output));
  const [expected, actual] = [expect.stringContaining("12.50"), expect.stringContaining("12.5")];

  expect(failures.find((one) => one.name === name)).toMatchObject({ file, line, expected, actual });
});

describe("an output that was cut off", () => {
  /** Every place where a line ends, and some between. */
  const cuts = (text: string): number[] =>
    Array.from({ length: text.length }, (_, index) => index).filter(
      (index) => text[index] === "\n" || index % 37 === 0,
    );

  test.each(names.filter((name) => readTestOutput(fixture(name)).failed > 0))(
    "of a failed run never passed, wherever it was cut: %s",
    (name) => {
      const text = fixture(name);
      const passed = cuts(text).filter(
        (length) => verdictOf(readTestOutput(text.slice(0, length)), 0).verdict === "passed",
      );

      expect(passed).toEqual([]);
    },
  );

  test.each(names.filter((name) => name.startsWith("passed-")))(
    "of a passed run passes with all its tests or not at all: %s",
    (name) => {
      const text = fixture(name);
      const reports = cuts(text).map((length) => readTestOutput(text.slice(0, length)));

      expect(
        reports.filter((one) => verdictOf(one, 0).verdict === "passed" && one.passed !== 2),
      ).toEqual([]);
      expect(reports.filter((one) => one.failed > 0)).toEqual([]);
      expect(verdictOf(readTestOutput(text), 0, { isComplete: true })).toEqual({
        verdict: "passed",
        because: "tests-passed",
      });
      expect(reports[Math.floor(reports.length / 2)]).toMatchObject({ certain: false });
    },
  );

  /** As a collector leaves it that keeps head and tail. */
  const without = (text: string): string[] => {
    const places = Array.from({ length: 12 }, (_, index) => Math.floor((text.length * index) / 12));
    return places.flatMap((from) =>
      places
        .filter((to) => to > from)
        .map((to) => `${text.slice(0, from)}\n… ${to - from} bytes left out …\n${text.slice(to)}`),
    );
  };

  test.each(names.filter((name) => readTestOutput(fixture(name)).failed > 0))(
    "of a failed run never passed, whatever was left out of its middle: %s",
    (name) => {
      expect(
        without(fixture(name)).filter(
          (text) => verdictOf(readTestOutput(text), 0).verdict === "passed",
        ),
      ).toEqual([]);
    },
  );

  test("says so, and keeps what it has seen", () => {
    expect(told(fixture("vitest-default.txt").split("Test Files")[0]!)).toBe(
      "vitest 0/3/0 cut off uncertain",
    );
    expect(told(fixture("vitest.json").slice(0, 2_000))).toBe("vitest 1/3/2 cut off uncertain");
    expect(told(fixture("node-tap.txt").slice(0, 2_000))).toMatch(
      /^node 0\/\d\/0 cut off uncertain$/,
    );
    expect(told(fixture("pytest-junit.xml").slice(0, 700))).toMatch(
      /^junit 1\/\d\/0 cut off uncertain$/,
    );
    expect(told(fixture("node-spec.txt").split("ℹ tests")[0]!)).toBe(
      "node 2/4/1 cut off uncertain",
    );
  });
});

describe("what says nothing about tests", () => {
  test.each([
    "",
    "\n",
    "done",
    "Everything passed! 12 tests passed.",
    "ok",
    "not ok",
    "1..3",
    "error TS2304: Cannot find name 'x'.",
    "make: *** [test] Error 2",
    "{}",
    '{"success":true}',
    "✔ Built in 3s",
    "<html></html>",
  ])("is unknown and never passed: %j", (output) => {
    const found = readTestOutput(output);

    expect(found).toEqual({
      framework: "unknown",
      passed: 0,
      failed: 0,
      skipped: 0,
      failures: [],
      truncated: false,
      certain: false,
    });
    expect(verdictOf(found, 0)).toEqual({ verdict: "unknown", because: "not-readable" });
    expect(verdictOf(found, 0, { isComplete: true })).toEqual({
      verdict: "passed",
      because: "exit-code-alone",
    });
    expect(verdictOf(found, 1, { isComplete: true })).toEqual({
      verdict: "failed",
      because: "exit-code",
    });
  });
});

test("passed takes a complete output, a passed test and exit code 0", () => {
  const passed = readTestOutput(fixture("passed-vitest.txt"));

  expect(verdictOf(passed, 1)).toEqual({ verdict: "failed", because: "exit-code" });
  expect(verdictOf(passed, null)).toEqual({ verdict: "failed", because: "exit-code" });
  expect(verdictOf(readTestOutput(fixture("vitest.json")), 0)).toEqual({
    verdict: "failed",
    because: "failures",
  });
  for (const none of ["vitest-none.txt", "pytest-none.txt", "node-none.txt"]) {
    expect(verdictOf(readTestOutput(fixture(none)), 0)).toEqual({
      verdict: "unknown",
      because: "no-tests",
    });
  }
});

describe("outputs that are written otherwise", () => {
  test("carriage returns, Windows line ends and progress that is written over do no harm", () => {
    for (const name of names) {
      expect(`${name} ${told(fixture(name).replaceAll("\n", "\r\n"))}`).toBe(
        `${name} ${told(fixture(name))}`,
      );
    }
    expect(told(`TAP version 14\n1..1\nrunning 1\rrunning 2\rok 1 - a\n`)).toBe("tap 1/0/0");
  });

  test("words of npm around it do no harm", () => {
    for (const name of names) {
      expect(
        `${name} ${told(`\n> login@1.0.0 test\n> npm run all\n\n${fixture(name)}\nnpm error code 1\n`)}`,
      ).toBe(`${name} ${told(fixture(name))}`);
    }
  });

  test("two runs in one output are added up", () => {
    expect(told(fixture("vitest-default.txt") + fixture("passed-vitest.txt"))).toBe("vitest 3/3/3");
    expect(told(fixture("pytest-short.txt") + fixture("passed-pytest.txt"))).toBe("pytest 3/3/3");
    expect(
      told(fixture("passed-vitest.txt") + fixture("vitest-default.txt").split("Test Files")[0]!),
    ).toBe("vitest 2/3/1 cut off uncertain");
  });

  test("go packages that are tested side by side are told apart, however their lines are mixed", () => {
    const [failed, passed] = [
      fixture("go.json"),
      fixture("passed-go.json").replaceAll("example.com/", "example.org/"),
    ].map((text) => text.trimEnd().split("\n"));
    const mixed = Array.from({ length: Math.max(failed!.length, passed!.length) }, (_, index) => [
      failed![index],
      passed![index],
    ])
      .flat()
      .filter((line) => line !== undefined);

    expect(told(mixed.join("\n"))).toBe("go 4/1/2");
    expect(readTestOutput(mixed.join("\n")).failures).toEqual(
      readTestOutput(fixture("go.json")).failures,
    );
  });

  test("TAP bails out, and counts a plan that is not met as cut off", () => {
    expect(readTestOutput("TAP version 14\n1..3\nok 1\nBail out! no database\n")).toMatchObject({
      passed: 1,
      failed: 1,
      truncated: false,
      failures: [{ name: "Bail out!", message: "no database" }],
    });
    expect(told("1..2\nok 1 - a\n")).toBe("tap 1/0/0 cut off uncertain");
    expect(told("ok 1 - a\nok 2 - b\n1..2\n")).toBe("tap 2/0/0");
    expect(told("1..1\nok 1 - a\nok 2 - b\n")).toBe("tap 2/0/0 uncertain");
    expect(told("1..1\nnot ok 1 - keeps # inside \\# skip\n")).toBe("tap 0/1/0");
    expect(told("TAP version 14\n1..0 # skip no tests\n")).toBe("tap 0/0/0");
  });

  test("JUnit with an error outside of a case, CDATA and entities is read", () => {
    const xml = `<?xml version="1.0"?><testsuite name="s" tests="1" failures="1"><testcase name="a &lt;b&gt; &#x263A;" classname="s" file="s.js" line="3"><failure message="no"><![CDATA[<x> & y]]></failure></testcase><error message="no suite"/></testsuite>`;

    expect(readTestOutput(xml).failures).toEqual([
      { name: "s > a <b> ☺", file: "s.js", line: 3, message: "no" },
      { name: "(the suite could not be run)", message: "no suite" },
    ]);
    expect(told('<testsuites tests="0"/>')).toBe("junit 0/0/0");
    expect(
      told('<testsuites failures="2"><testsuite><testcase name="a"/></testsuite></testsuites>'),
    ).toBe("junit 1/0/0 uncertain");
  });

  test("a go package that does not build or panics has failed", () => {
    expect(
      readTestOutput(
        "panic: runtime error: index out of range\n\ngoroutine 1\nFAIL\texample.com/x\t0.01s\nFAIL\n",
      ).failures,
    ).toEqual([{ name: "example.com/x", message: "panic: runtime error: index out of range" }]);
    expect(told("ok  \texample.com/x\t0.01s\nok  \texample.com/y\t(cached)\n")).toBe("go 2/0/0");
    expect(told("ok  \texample.com/x\t0.01s [no tests to run]\n")).toBe("go 0/0/0");
  });
});

test("messages, values and lists have bounds", () => {
  const long = failure("x", "y".repeat(10_000), { expected: "e".repeat(1_000), actual: "a" });

  expect([long.message.length, long.expected!.length]).toEqual([2_001, 501]);
  expect(
    report(
      "tap",
      { passed: 0, failed: 500, skipped: 0 },
      Array.from({ length: 500 }, () => long),
    ).failures,
  ).toHaveLength(100);
  expect(report("tap", { passed: 1, failed: 0, skipped: 0 }, [long]).certain).toBe(false);
});

test("both values are found in the words of each library", () => {
  expect(valuesIn("expect(received).toBe(expected)\n\nExpected: 1\nReceived: 2")).toEqual({
    expected: "1",
    actual: "2",
  });
  expect(valuesIn("AssertionError: expected 'a' to equal 'b'")).toEqual({
    expected: "'b'",
    actual: "'a'",
  });
  expect(valuesIn("Error Trace: x\n\texpected: 1\n\tactual  : 2")).toEqual({
    expected: "1",
    actual: "2",
  });
  expect(valuesIn("got 1; want 2")).toEqual({ expected: "2", actual: "1" });
  expect(valuesIn("no session")).toEqual({});
});

test("a long output without a mark, and long lines, are read in time", () => {
  const started = performance.now();
  for (const line of [
    "a b c ".repeat(200_000),
    `FAILED ${"a.py ".repeat(50_000)}`,
    `${" ".repeat(300_000)}x`,
    "1 failed, ".repeat(30_000),
    `not ok ${"# ".repeat(100_000)}`,
    `<testsuite ${"a ".repeat(200_000)}`,
    "\r".repeat(300_000),
  ]) {
    readTestOutput(`1..1\nok 1\n${line}\n`);
    readTestOutput(`======= test session starts =======\n${line}\n`);
  }

  expect(performance.now() - started).toBeLessThan(20_000);
});

test("Maven's modules are added up, and one whose process died leaves no sure number", () => {
  const module = (total: string): string =>
    `[INFO]  T E S T S\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s\n${total}`;
  const total = "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n";

  expect(told(module(total) + module(total))).toBe("maven 4/0/2");
  expect(told(module(total) + module(""))).toBe("maven 2/0/1 cut off uncertain");
});

test("JUnit 5 under Maven names a helper, an error and both values", () => {
  const output = [
    "[INFO]  T E S T S",
    "[ERROR] Failures: ",
    "[ERROR]   LoginTest.answers:16->check:30 expected: <429> but was: <401>",
    "[ERROR] Errors: ",
    "[ERROR]   LoginTest$Later.asks:21 » IllegalState no session",
    "[ERROR] Flakes: ",
    "[ERROR]   CartTest.isSlow:9 » Timeout",
    "[ERROR] Tests run: 2, Failures: 1, Errors: 1, Skipped: 0, Flakes: 1",
  ].join("\n");

  expect(readTestOutput(output).failures).toMatchObject([
    { name: "LoginTest > answers", line: 16, expected: "429", actual: "401" },
    { name: "LoginTest$Later > asks", file: "LoginTest.java", message: "IllegalState no session" },
  ]);
});

test("Gradle's tasks are added up, and a run that says nothing of tests is not counted", () => {
  const task =
    "LoginTest > asks() FAILED\n    Error at LoginTest.java:3\n\n4 tests completed, 1 failed\n";
  const end = "\nBUILD FAILED in 2s\n";

  expect(told(task + task + end)).toBe("gradle 6/2/0");
  expect(told(task)).toBe("gradle 3/1/0 cut off uncertain");
  expect(
    verdictOf(readTestOutput("> Task :test\n\nBUILD SUCCESSFUL in 1s\n"), 0, { isComplete: true })
      .verdict,
  ).toBe("passed");
});
