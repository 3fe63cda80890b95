import { failure, report, type ResultParser, type TestFailure } from "./report.ts";

/** Of each module; the lines of single classes say their time too. */
const TOTAL = new RegExp(
  [
    String.raw`^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)`,
    String.raw`(?:, Flakes: \d+)?\s*$`,
  ].join(""),
  "gm",
);
const BANNER = /^(?:\[INFO\] )? T E S T S$/gm;
/** `[ERROR]   LoginTest.answers429:16 expected:<429> but was:<401>`, below a heading. */
const FAILED = /^(?:\[ERROR\] )? {2,}([\w$.]+)\.([^\s:»]+)(?::(\d+))?(?:->\S+)*(?: » | |$)(.*)$/;
const HEADING = /^(?:\[\w+\] )?(Failures|Errors|Flakes|Tests in error|Failed tests): *$/;
const COUNTED = ["Failures", "Errors", "Tests in error", "Failed tests"];

/** What Maven's plugins surefire and failsafe write. */
export const maven: ResultParser = {
  framework: "maven",
  recognises: (text) => text.search(TOTAL) >= 0 || text.search(BANNER) >= 0,
  read(text) {
    const totals = [...text.matchAll(TOTAL)];
    const sum = (group: number): number =>
      totals.reduce((all, match) => all + Number(match[group]), 0);

    const failed = sum(2) + sum(3);
    const skipped = sum(4);
    const failures = failuresIn(text);
    const modules = [...text.matchAll(BANNER)].length;

    const counts = { passed: sum(1) - failed - skipped, failed, skipped };
    return report("maven", counts, failures, {
      truncated: totals.length < modules || failures.length < failed,
    });
  },
};

function failuresIn(text: string): TestFailure[] {
  const failures: TestFailure[] = [];
  let isCounted = false;
  for (const line of text.split("\n")) {
    const heading = HEADING.exec(line)?.[1];
    if (heading !== undefined) isCounted = COUNTED.includes(heading);
    else if (line.includes("Tests run: ")) isCounted = false;

    const match = isCounted ? FAILED.exec(line) : null;
    if (match) failures.push(failureOf(match));
  }

  return failures;
}

function failureOf([, type = "", name = "", line, message = ""]: RegExpExecArray): TestFailure {
  const group = type.split(".").at(-1)!;
  return failure(`${group} > ${name}`, message, {
    file: `${group.split("$")[0]!}.java`,
    line: line === undefined ? undefined : Number(line),
  });
}
