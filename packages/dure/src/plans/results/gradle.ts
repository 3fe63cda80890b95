import { failure, report, type ResultParser, type TestFailure } from "./report.ts";

/** Of each task that failed; one that passed says nothing. */
const SUMMARY = /^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$/gm;
const END = /^BUILD (?:SUCCESSFUL|FAILED) in /m;
/** `LoginTest > answers429() FAILED`; passed ones only where the build file asks for them. */
const LINE = /^(\S.* > .+) (PASSED|FAILED|SKIPPED)$/gm;

/**
 * What Gradle writes. Without a failure and without `testLogging` that says what passed, it counts
 * nothing: then its exit code decides.
 */
export const gradle: ResultParser = {
  framework: "gradle",
  recognises: (text) =>
    new RegExp(SUMMARY, "m").test(text) || (END.test(text) && told(text, "PASSED") > 0),
  read(text) {
    const summaries = [...text.matchAll(SUMMARY)];
    const sum = (group: number): number =>
      summaries.reduce((all, match) => all + Number(match[group] ?? 0), 0);

    const failures = failuresIn(text);
    const isTold = told(text, "PASSED") > 0;
    const failed = Math.max(told(text, "FAILED"), sum(2));
    const skipped = Math.max(told(text, "SKIPPED"), sum(3));
    const passed = isTold ? told(text, "PASSED") : sum(1) - sum(2) - sum(3);

    return report("gradle", { passed, failed, skipped }, failures, {
      truncated: !END.test(text) || failures.length < failed,
      certain: passed + failed + skipped >= sum(1),
    });
  },
};

function told(text: string, word: string): number {
  return [...text.matchAll(LINE)].filter((match) => match[2] === word).length;
}

/** Indented lines behind a failed test are its error. */
function failuresIn(text: string): TestFailure[] {
  const lines = [...text.matchAll(LINE)].filter((match) => match[2] === "FAILED");
  return lines.map((match) => {
    const name = match[1]!;
    const behind = text.slice(match.index + match[0].length + 1);
    const [body = ""] = /^(?:[ \t].*\n|\n(?=[ \t]))*/.exec(behind) ?? [];
    const [message = ""] = body.split(/^\s+at /m);

    return failure(name, withoutPlace(message), placeIn(body, name));
  });
}

function withoutPlace(message: string): string {
  return message.replace(/ at \w+\.\w+:\d+\s*$/, "");
}

/** The first place in the test's own file, else the first of all. */
function placeIn(body: string, name: string): { file?: string; line?: number } {
  const places = [...body.matchAll(/(?:\bat |\()(\w+\.\w+):(\d+)/g)];
  const own = name.split(" > ")[0]!.split(".").at(-1)!.split("$")[0]!;
  const place = places.find(([, file = ""]) => file.startsWith(`${own}.`)) ?? places[0];
  if (!place) return {};

  return { file: place[1]!, line: Number(place[2]) };
}
