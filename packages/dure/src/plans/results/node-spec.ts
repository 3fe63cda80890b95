import { failure, placeIn, report, type ResultParser, type TestFailure } from "./report.ts";
import { withoutStack } from "./vitest.ts";

/** What `node --test` writes to a terminal and, since Node 20, everywhere. */
export const nodeSpec: ResultParser = {
  framework: "node",
  recognises: (text) =>
    /^ℹ (?:tests|pass|fail) \d+$/m.test(text) ||
    (/^[ ]*[✔✖﹣] .* \(\d+(?:\.\d+)?ms\)/m.test(text) && !/^ *RUN {1,2}v/m.test(text)),
  read(text) {
    const number = (word: string): number =>
      [...text.matchAll(new RegExp(`^ℹ ${word} (\\d+)$`, "gm"))].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    const isComplete = /^ℹ duration_ms /m.test(text);
    const failures = failuresIn(text);
    if (!isComplete) {
      const seen = (mark: string): number =>
        [...text.matchAll(new RegExp(`^ *${mark} .* \\(\\d+(?:\\.\\d+)?ms\\)`, "gm"))].length;
      return report(
        "node",
        { passed: seen("✔"), failed: seen("✖"), skipped: seen("﹣") },
        failures,
        { truncated: true },
      );
    }
    const counts = {
      passed: number("pass"),
      failed: number("fail") + number("cancelled"),
      skipped: number("skipped") + number("todo"),
    };
    // The list of failures is the last thing that is written. A group whose hook failed stands
    // there too, and is not counted above.
    return report(
      "node",
      { ...counts, failed: Math.max(counts.failed, failures.length) },
      failures,
      { truncated: failures.length < counts.failed },
    );
  },
};

function failuresIn(text: string): TestFailure[] {
  const list = text
    .split(/^✖ failing tests:$/m)
    .slice(1)
    .join("\n");
  return list
    .split(/^test at /m)
    .slice(1)
    .flatMap(failureIn);
}

/** `file:line`, `✖ name (1ms)`, the error with its stack; nothing when it is not written so. */
function failureIn(block: string): TestFailure[] {
  const [place = "", title = "", ...lines] = block.split("\n");
  if (!title.startsWith("✖ ")) return [];

  const at = placeIn(place);
  const body = lines.map((line) => line.replace(/^ {2}/, "")).join("\n");
  const text = withoutStack(body);
  const inStack = placeIn(body.slice(text.length));
  const isSame = at.file !== undefined && inStack.file?.endsWith(at.file) === true;
  const property = (name: string): string | undefined =>
    new RegExp(`^ +${name}: (.+?),?$`, "m").exec(body)?.[1];

  const name = title.slice(2).replace(/ \(\d+(?:\.\d+)?ms\)$/, "");
  const message = text.replace(/^\[?\w+(?: \[\w+\])?: (?=.)/, (type) => type.replace(/^\[/, ""));
  const failed = failure(name, message, {
    file: at.file,
    line: isSame ? inStack.line : at.line,
    expected: property("expected"),
    actual: property("actual"),
  });
  return [failed];
}
