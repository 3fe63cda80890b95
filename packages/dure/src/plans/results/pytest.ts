import { countOf, failure, report, type ResultParser, type TestFailure } from "./report.ts";

/** `=== 2 failed, 1 passed in 0.12s ===`, with `-q` without its rule. */
const SUMMARY = new RegExp(
  [
    String.raw`^(?:=+ )?((?:\d+ `,
    "(?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun)",
    String.raw`(?:, )?)+|no tests ran) in [\d.]+s?\b.*$`,
  ].join(""),
  "gm",
);

export const pytest: ResultParser = {
  framework: "pytest",
  recognises: (text) =>
    /^=+ test session starts =+$/m.test(text) ||
    new RegExp(SUMMARY, "m").test(text) ||
    /^=+ short test summary info =+$/m.test(text),
  read(text) {
    const summaries = [...text.matchAll(SUMMARY)].map(([, line]) => line!);
    const sessions = [...text.matchAll(/^=+ test session starts =+$/gm)].length;
    const total = (word: string): number =>
      summaries.reduce((sum, line) => sum + countOf(line, word), 0);
    const failures = failuresIn(text);
    const truncated = summaries.length < Math.max(1, sessions);
    const counts = {
      passed: total("passed") + total("xpassed"),
      failed: total("failed") + total("errors?"),
      skipped: total("skipped") + total("xfailed"),
    };
    const failed = truncated ? Math.max(counts.failed, failures.length) : counts.failed;
    return report("pytest", { ...counts, failed }, failures, {
      truncated,
      certain: !/^INTERNALERROR>/m.test(text),
    });
  },
};

/** Names from the short summary, which `-rN` leaves out; then from the headings of the sections. */
function failuresIn(text: string): TestFailure[] {
  const sections = sectionsIn(text);
  const summary = [
    ...text.matchAll(/^(FAILED|ERROR) (\S+?\.py)(?:::(\S+(?: \S+)*?))?(?: - (.*))?$/gm),
  ];
  if (summary.length === 0) {
    return [...sections].map(([name, section]) => failure(name, section.message, section));
  }
  return summary.map(([, , file = "", path = "", said = ""]) => {
    const section = sections.get(path.replaceAll("::", ".")) ?? sections.get(file);
    return failure(
      path === "" ? file : path.replaceAll("::", " > "),
      said || (section?.message ?? ""),
      { file, line: section?.file === file ? section.line : undefined },
    );
  });
}

interface ReportSection {
  readonly message: string;
  readonly file: string | undefined;
  readonly line: number | undefined;
}

/** `____ name ____`, the lines `E   …`, and `file.py:7: AssertionError`. */
function sectionsIn(text: string): Map<string, ReportSection> {
  const sections = new Map<string, ReportSection>();
  const parts = text.split(/^_{3,} (.+?) _{3,}$/m);
  for (let index = 1; index + 1 < parts.length; index += 2) {
    const name = parts[index]!.replace(/^ERROR (?:at \w+ of|collecting) /, "");
    const body = parts[index + 1]!.split(/^=+ .* =+$/m)[0]!;
    const place = [...body.matchAll(/^(\S+\.py):(\d+): /gm)].at(-1);
    const message = [...body.matchAll(/^E {2,}(.*)$/gm)].map(([, line]) => line!).join("\n");
    sections.set(name, { message, file: place?.[1], line: place && Number(place[2]) });
  }
  return sections;
}
