import { failure, report, type ResultParser, type TestFailure } from "./report.ts";

/** `test result: ok. 1 passed; 0 failed; 0 ignored; …`: of each crate and of its documents. */
const RESULT = /^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/gm;

/** What `cargo test` writes. */
export const cargo: ResultParser = {
  framework: "cargo",
  recognises: (text) => /^running \d+ tests?$/m.test(text),
  read(text) {
    const results = [...text.matchAll(RESULT)];
    const sum = (group: number): number =>
      results.reduce((all, match) => all + Number(match[group]), 0);

    const runs = [...text.matchAll(/^running \d+ tests?$/gm)].length;
    const failures = failuresIn(text);

    const counts = { passed: sum(1), failed: sum(2), skipped: sum(3) };
    return report("cargo", counts, failures, {
      truncated: results.length < runs || failures.length < counts.failed,
    });
  },
};

/** `---- name stdout ----`, then the panic with its place. */
function failuresIn(text: string): TestFailure[] {
  const parts = text.split(/^---- (.+) stdout ----$/m);

  const failures: TestFailure[] = [];
  for (let index = 1; index + 1 < parts.length; index += 2) {
    const [body = ""] = parts[index + 1]!.split(/^(?:stack backtrace:|failures:|note: )/m);
    const place = /panicked at (\S+?):(\d+):\d+:?/.exec(body);
    const message = body.replace(/^thread .* panicked at .*$/m, "");
    const right = /^ *right: (.*)$/m.exec(body)?.[1];
    failures.push(
      failure(parts[index]!, message, {
        file: place?.[1],
        line: place ? Number(place[2]) : undefined,
        actual: /^ *left: (.*)$/m.exec(body)?.[1],
        expected: right,
      }),
    );
  }

  return failures;
}
