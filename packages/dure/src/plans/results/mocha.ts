import { failure, placeIn, report, type ResultParser, type TestFailure } from "./report.ts";
import { withoutStack } from "./vitest.ts";

const PASSING = /^ +(\d+) passing \(\d+(?:ms|s|m)\)$/gm;

/** What mocha writes in the end, whichever of its reporters for people is set. */
export const mocha: ResultParser = {
  framework: "mocha",
  recognises: (text) => text.search(PASSING) >= 0,
  read(text) {
    const total = (word: string): number =>
      [...text.matchAll(new RegExp(`^ +(\\d+) ${word}\\b`, "gm"))].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );

    const counts = {
      passed: total("passing"),
      failed: total("failing"),
      skipped: total("pending"),
    };
    const failures = failuresIn(text);

    return report("mocha", counts, failures, { truncated: failures.length < counts.failed });
  },
};

/** `  1) group` and `       name:`, then the error, below the numbers. */
function failuresIn(text: string): TestFailure[] {
  const list = text
    .split(/^ +\d+ failing$/m)
    .slice(1)
    .join("\n");

  const blocks = list.split(/^ {2}\d+\) /m).slice(1);
  return blocks.map((block): TestFailure => {
    const lines = block.split("\n");
    const end = lines.findIndex((line) => /:\s*$/.test(line));

    const name = lines
      .slice(0, end + 1)
      .map((line) => line.trim())
      .join(" > ");
    const body = lines.slice(end + 1).join("\n");

    const message = withoutStack(body);
    return failure(name.replace(/:$/, ""), message, placeIn(body.slice(message.length)));
  });
}
