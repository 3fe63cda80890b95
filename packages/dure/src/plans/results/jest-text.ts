import { countOf, failure, report, type ResultParser, type TestFailure } from "./report.ts";
import { withoutStack } from "./vitest.ts";

/** `Tests:       2 failed, 1 skipped, 1 passed, 4 total`, in its summary. */
const SUMMARY = /^Tests: +(.*\b\d+ total)$/gm;
const SUITES = /^Test Suites: +(.*\b\d+ total)$/gm;
const FILE_FAILED = "Test suite failed to run";

/** What jest writes by itself. */
export const jestText: ResultParser = {
  framework: "jest",
  recognises: (text) => text.search(SUITES) >= 0,
  read(text) {
    const lines = [...text.matchAll(SUMMARY)].map(([, line]) => line!);
    const suites = [...text.matchAll(SUITES)].map(([, line]) => line!);
    const badSuites = suites.reduce((sum, line) => sum + countOf(line, "failed"), 0);
    const total = (word: string): number =>
      lines.reduce((sum, line) => sum + countOf(line, word), 0);

    const failures = failuresIn(text);
    const broken = failures.filter(({ name }) => name === FILE_FAILED).length;

    const counts = {
      passed: total("passed"),
      failed: total("failed") + broken,
      skipped: total("skipped") + total("todo"),
    };

    return report("jest", counts, failures, {
      truncated: lines.length < suites.length,
      certain: counts.failed === failures.length && failures.length >= badSuites,
    });
  },
};

/** `  ● group › name`, and what stands below it; a summary of them may come again in the end. */
function failuresIn(text: string): TestFailure[] {
  const [above = ""] = text.split(/^Summary of all failing tests$/m);
  const blocks = above.split(/^ {2}● /m).slice(1);

  return blocks.flatMap((block): TestFailure[] => {
    const [title = "", ...lines] = block.split("\n");
    if (/^(?:Console|Validation Warning)/.test(title)) return [];
    const body = lines.join("\n").split(/^(?:PASS|FAIL|Test Suites:) /m)[0]!;

    const message = withoutStack(body).split(/^ +(?:>? *\d+ \|)/m)[0]!;
    const name = title.trim().replaceAll(" › ", " > ");

    const place = /\(?([^\s()]+):(\d+):\d+\)?\s*$/m.exec(body.slice(withoutStack(body).length));
    return [
      failure(name, message, { file: place?.[1], line: place ? Number(place[2]) : undefined }),
    ];
  });
}
