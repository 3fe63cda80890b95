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

const JSON_MARK =
  /^\{"(?:Time|ImportPath|Action)":.*"Action":"(?:start|run|output|pass|fail|skip|build-output|build-fail)"|^\{"Action":"(?:start|run|output|pass|fail|skip|build-output|build-fail)"/m;

export const goJson: ResultParser = {
  framework: "go",
  recognises: (text) => JSON_MARK.test(text),
  read(text) {
    const lines = text.split("\n").filter((line) => line.startsWith("{"));
    const events = lines.map(eventOf).filter((event) => event !== undefined);
    const ends = new Map<string, GoEvent>();
    const output = new Map<string, string>();
    const begun = new Set<string>();
    for (const event of events) {
      const key = keyOf(event);
      if (event.Action === "pass" || event.Action === "fail" || event.Action === "skip") {
        ends.set(key, event);
      } else begun.add(key);
      if (event.Output !== undefined) output.set(key, `${output.get(key) ?? ""}${event.Output}`);
    }
    const parents = new Set(
      [...ends.values()].flatMap(({ Package = "", Test }) =>
        Test?.includes("/") ? prefixesOf(Test).map((name) => `${Package} ${name}`) : [],
      ),
    );
    const tests = [...ends]
      .filter(([key, { Test }]) => Test !== undefined && !parents.has(key))
      .map(([key, event]) => ({ key, event }));
    const count = (action: string): number =>
      tests.filter(({ event }) => event.Action === action).length;
    const failures = tests
      .filter(({ event }) => event.Action === "fail")
      .map(({ key, event }) => goFailure(event.Test!, output.get(key) ?? ""));
    for (const [key, event] of ends) {
      const hasFailedTest = tests.some(
        (test) => test.event.Package === event.Package && test.event.Action === "fail",
      );
      if (event.Test === undefined && event.Action === "fail" && !hasFailedTest) {
        failures.push(
          failure(
            event.Package ?? "(package)",
            output.get(key) || buildOutput(events) || "the package failed without a test",
          ),
        );
      }
    }
    // Before go 1.24 what the compiler says stands as plain text among the events.
    const plain = text
      .split("\n")
      .filter((line) => !line.startsWith("{"))
      .join("\n");
    for (const [, name = "", note = ""] of plain.matchAll(
      /^FAIL\t(\S+) (\[(?:build|setup) failed\])$/gm,
    )) {
      if (!ends.has(name)) {
        failures.push(
          failure(
            name,
            packageMessage(plain, name, note),
            placeIn(packageMessage(plain, name, note)),
          ),
        );
      }
    }
    const isOpen = [...begun].some((key) => !ends.has(key) && !key.startsWith("build "));
    const truncated =
      isOpen || events.length < lines.length || (ends.size === 0 && failures.length === 0);
    return report(
      "go",
      { passed: count("pass"), failed: failures.length, skipped: count("skip") },
      failures,
      { truncated },
    );
  },
};

export const goText: ResultParser = {
  framework: "go",
  recognises: (text) =>
    /^(?:ok {2}\t|FAIL\t|\? {3}\t)\S+/m.test(text) ||
    /^(?:=== RUN {3}|--- (?:PASS|FAIL|SKIP): )\S+/m.test(text),
  read(text) {
    const results = [...text.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/gm)].map(
      ([, verdict, name]) => ({ verdict, name: name! }),
    );
    const parents = new Set(results.flatMap(({ name }) => prefixesOf(name)));
    const tests = results.filter(({ name }) => !parents.has(name));
    const count = (verdict: string): number =>
      tests.filter((test) => test.verdict === verdict).length;
    const failed = tests.filter(({ verdict }) => verdict === "FAIL");
    const failures = failed
      .slice(0, MAX_FAILURES)
      .map(({ name }) => goFailure(name, outputOf(text, name)));
    const brokenPackages: TestFailure[] = [];
    const packages = [...text.matchAll(/^(ok {2}|FAIL|\? {3})\t(\S+)(?:\s+(.*))?$/gm)].map(
      ([, verdict = "", name = "", note = ""]) => ({ verdict: verdict.trim(), name, note }),
    );
    for (const { verdict, name, note } of packages) {
      if (verdict === "FAIL" && (note.startsWith("[") || failed.length === 0)) {
        brokenPackages.push(
          failure(
            name,
            packageMessage(text, name, note),
            placeIn(packageMessage(text, name, note)),
          ),
        );
      }
    }
    // Without -v go tells passed packages only.
    const isVerbose = count("PASS") > 0 || /^=== RUN {3}/m.test(text);
    const passed = isVerbose
      ? count("PASS")
      : packages.filter(
          ({ verdict, note }) => verdict === "ok" && !note.includes("[no tests to run]"),
        ).length;
    const counts = {
      passed,
      failed: failed.length + brokenPackages.length,
      skipped: count("SKIP"),
    };
    return report("go", counts, [...failures, ...brokenPackages], {
      truncated: packages.length === 0,
    });
  },
};

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
