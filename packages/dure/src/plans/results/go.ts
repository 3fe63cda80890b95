import { isObject } from "../../kernel/json.ts";
import {
  failure,
  MAX_FAILURES,
  placeIn,
  report,
  type ResultParser,
  type TestFailure,
} from "./report.ts";

/** One line of `go test -json`: `go doc test2json`. */
interface GoEvent {
  readonly Action: string;
  readonly Package?: string;
  readonly ImportPath?: string;
  readonly Test?: string;
  readonly Output?: string;
}

const ACTION = '"Action":"(?:start|run|output|pass|fail|skip|build-output|build-fail)"';
const JSON_MARK = new RegExp(`^\\{"(?:Time|ImportPath|Action)":.*${ACTION}|^\\{${ACTION}`, "m");

export const goJson: ResultParser = {
  framework: "go",
  recognises: (text) => JSON_MARK.test(text),
  read(text) {
    const all = text.split("\n");
    const lines = all.filter((line) => line.startsWith("{"));
    const events = lines.map(eventOf).filter((event) => event !== undefined);
    const stream = readStream(events);
    const tests = testsOf(stream.ends);
    const count = (action: string): number =>
      tests.filter(({ event }) => event.Action === action).length;

    const failures = [
      ...tests
        .filter(({ event }) => event.Action === "fail")
        .map(({ key, event }) => goFailure(event.Test!, stream.output.get(key) ?? "")),
      ...brokenPackages(stream, tests, events),
      // Before go 1.24 what the compiler says stands as plain text among the events.
      ...unbuiltPackages(all.filter((line) => !line.startsWith("{")).join("\n"), stream.ends),
    ];
    const hasUnreadLines = events.length < lines.length;
    const isEmpty = stream.ends.size === 0 && failures.length === 0;
    return report(
      "go",
      { passed: count("pass"), failed: failures.length, skipped: count("skip") },
      failures,
      { truncated: hasUnfinished(stream) || hasUnreadLines || isEmpty },
    );
  },
};

/** Events by what they are about: a test, a package or a build. */
interface GoStream {
  /** The verdict on each. */
  readonly ends: ReadonlyMap<string, GoEvent>;
  readonly output: ReadonlyMap<string, string>;
  readonly begun: ReadonlySet<string>;
}

interface GoTest {
  readonly key: string;
  readonly event: GoEvent;
}

const ENDS = new Set(["pass", "fail", "skip"]);

function readStream(events: readonly GoEvent[]): GoStream {
  const ends = new Map<string, GoEvent>();
  const output = new Map<string, string>();
  const begun = new Set<string>();
  for (const event of events) {
    const key = keyOf(event);
    if (ENDS.has(event.Action)) ends.set(key, event);
    else begun.add(key);
    if (event.Output !== undefined) output.set(key, `${output.get(key) ?? ""}${event.Output}`);
  }
  return { ends, output, begun };
}

/** Tests that hold no other tests. */
function testsOf(ends: GoStream["ends"]): GoTest[] {
  const parents = new Set(
    [...ends.values()].flatMap(({ Package = "", Test = "" }) =>
      prefixesOf(Test).map((name) => `${Package} ${name}`),
    ),
  );
  return [...ends]
    .filter(([key, { Test }]) => Test !== undefined && !parents.has(key))
    .map(([key, event]) => ({ key, event }));
}

/** Packages that failed by themselves, without a failed test. */
function brokenPackages(
  { ends, output }: GoStream,
  tests: readonly GoTest[],
  events: readonly GoEvent[],
): TestFailure[] {
  const failedTests = tests.filter(({ event }) => event.Action === "fail");
  const withFailedTest = new Set(failedTests.map(({ event }) => event.Package));
  return [...ends]
    .filter(([, { Test, Action }]) => Test === undefined && Action === "fail")
    .filter(([, event]) => !withFailedTest.has(event.Package))
    .map(([key, event]) =>
      failure(
        event.Package ?? "(package)",
        output.get(key) || buildOutput(events) || "the package failed without a test",
      ),
    );
}

/** Packages that the plain text says could not be built, and that have no verdict. */
function unbuiltPackages(plain: string, ends: GoStream["ends"]): TestFailure[] {
  const marks = plain.matchAll(/^FAIL\t(\S+) (\[(?:build|setup) failed\])$/gm);
  return [...marks]
    .filter(([, name = ""]) => !ends.has(name))
    .map(([, name = "", note = ""]) => packageFailure(plain, name, note));
}

function hasUnfinished({ begun, ends }: GoStream): boolean {
  return [...begun].some((key) => !ends.has(key) && !key.startsWith("build "));
}

export const goText: ResultParser = {
  framework: "go",
  recognises: (text) =>
    /^(?:ok {2}\t|FAIL\t|\? {3}\t)\S+/m.test(text) ||
    /^(?:=== RUN {3}|--- (?:PASS|FAIL|SKIP): )\S+/m.test(text),
  read(text) {
    const tests = testLines(text);
    const packages = packageLines(text);
    const count = (verdict: string): number =>
      tests.filter((test) => test.verdict === verdict).length;

    const failed = tests.filter(({ verdict }) => verdict === "FAIL");
    const failures = failed
      .slice(0, MAX_FAILURES)
      .map(({ name }) => goFailure(name, outputOf(text, name)));
    const broken = packages
      .filter(({ verdict }) => verdict === "FAIL")
      .filter(({ note }) => note.startsWith("[") || failed.length === 0)
      .map(({ name, note }) => packageFailure(text, name, note));

    // Without -v go tells passed packages only.
    const isVerbose = count("PASS") > 0 || /^=== RUN {3}/m.test(text);
    const passedPackages = packages.filter(
      ({ verdict, note }) => verdict === "ok" && !note.includes("[no tests to run]"),
    );
    const counts = {
      passed: isVerbose ? count("PASS") : passedPackages.length,
      failed: failed.length + broken.length,
      skipped: count("SKIP"),
    };
    return report("go", counts, [...failures, ...broken], { truncated: packages.length === 0 });
  },
};

/** The lines `--- PASS: Name (0.00s)` of tests that hold no other tests. */
function testLines(text: string): { verdict: string; name: string }[] {
  const results = [...text.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/gm)].map(
    ([, verdict = "", name = ""]) => ({ verdict, name }),
  );
  const parents = new Set(results.flatMap(({ name }) => prefixesOf(name)));
  return results.filter(({ name }) => !parents.has(name));
}

/** The lines `ok`, `FAIL` and `?` of packages. */
function packageLines(text: string): { verdict: string; name: string; note: string }[] {
  return [...text.matchAll(/^(ok {2}|FAIL|\? {3})\t(\S+)(?:\s+(.*))?$/gm)].map(
    ([, verdict = "", name = "", note = ""]) => ({ verdict: verdict.trim(), name, note }),
  );
}

function packageFailure(text: string, name: string, note: string): TestFailure {
  const message = packageMessage(text, name, note);
  return failure(name, message, placeIn(message));
}

/**
 * `file_test.go:12: message`, first of a test's output; of a panic its message, and the first frame
 * that is not Go's own.
 */
function goFailure(name: string, output: string): TestFailure {
  const panic = /^panic: .*$/m.exec(output)?.[0].replace(/ \[recovered\]$/, "");
  if (panic !== undefined) {
    const frame = [...output.matchAll(/^\t(\S+\.go):(\d+)/gm)].find(
      ([, file = ""]) => !/\/src\/(?:testing|runtime)\//.test(file),
    );
    return failure(name, panic, { file: frame?.[1], line: frame && Number(frame[2]) });
  }
  const match = /^\s*([\w./-]+\.go):(\d+): ?([\s\S]*)$/m.exec(output);
  const lines = (match?.[3] ?? output).split("\n").filter((line) => !/^\s*(?:---|===) /.test(line));
  return failure(name, lines.join("\n"), {
    file: match?.[1],
    line: match ? Number(match[2]) : undefined,
  });
}

/** With -v above the line `--- FAIL`, behind `=== RUN`; without it below. */
function outputOf(text: string, name: string): string {
  const end = new RegExp(
    `^( *)--- FAIL: ${escaped(name)} \\([\\d.]+s\\)\\n((?:\\1 {4}.*\\n?)*)`,
    "m",
  ).exec(text);
  const below = (end?.[2] ?? "").split(/^ *--- /m)[0]!;
  if (below.trim() !== "") return below;
  const panic = end && /^panic: [\s\S]*?(?=^FAIL\t)/m.exec(text.slice(end.index + end[0].length));
  if (panic) return panic[0];
  const begin = new RegExp(`^=== RUN {3}${escaped(name)}\\n((?:(?!=== |--- ).*\\n)*)`, "m").exec(
    text,
  );
  return begin?.[1] ?? "";
}

function packageMessage(text: string, name: string, note: string): string {
  const build = new RegExp(
    `^# ${escaped(name)}(?: .*)?\\n((?:(?!FAIL|ok {2}|# |--- |=== ).*\\n)*)`,
    "m",
  ).exec(text)?.[1];
  const panic = /^panic: .*$/m.exec(text)?.[0];
  return build ?? panic ?? (note || "the package failed without a test");
}

function buildOutput(events: readonly GoEvent[]): string {
  return events
    .flatMap(({ Action, Output = "" }) => (Action === "build-output" ? [Output] : []))
    .join("");
}

function eventOf(line: string): GoEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && typeof value["Action"] === "string"
      ? (value as unknown as GoEvent)
      : undefined;
  } catch {
    return undefined;
  }
}

function keyOf({ Action, Package = "", Test, ImportPath }: GoEvent): string {
  if (Action.startsWith("build-")) return `build ${ImportPath ?? ""}`;
  return Test === undefined ? Package : `${Package} ${Test}`;
}

/** `a/b/c`: `a`, `a/b`. */
function prefixesOf(name: string): string[] {
  const parts = name.split("/");
  return parts.slice(1).map((_part, index) => parts.slice(0, index + 1).join("/"));
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
