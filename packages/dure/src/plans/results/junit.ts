import {
  failure,
  placeIn,
  report,
  valuesIn,
  type ResultParser,
  type TestFailure,
} from "./report.ts";

const MARK = /<testsuites?[\s>]/;

/**
 * JUnit XML as the common writers have it. Read tag by tag, so that a file that was cut off still
 * gives what it has; counted by test cases, not by the attributes of a suite, on which the writers
 * do not agree.
 */
export const junit: ResultParser = {
  framework: "junit",
  recognises: (text) => MARK.test(text),
  read(text) {
    const root = MARK.exec(text)!;
    const closing = `</${root[0].slice(1).trim().replace(">", "")}>`;
    const failures: TestFailure[] = [];
    let [passed, skipped, failed] = [0, 0, 0];
    let test: OpenCase | undefined;
    let suites: string[] = [];
    const close = (): void => {
      if (!test) return;
      if (test.problem) failures.push(caseFailure(test));
      if (test.problem) failed++;
      else if (test.isSkipped) skipped++;
      else passed++;
      test = undefined;
    };
    for (const tag of tagsIn(text.slice(root.index))) {
      if (tag.name === "testsuite" && tag.kind === "open") {
        suites = [...suites, tag.attributes["file"] ?? ""];
      }
      if (tag.name === "testsuite" && tag.kind === "close") suites = suites.slice(0, -1);
      if (tag.name === "testcase" && tag.kind !== "close") {
        test = {
          attributes: tag.attributes,
          suiteFile: suites.findLast((file) => file !== ""),
          isSkipped: false,
          problem: undefined,
        };
      }
      if (tag.name === "testcase" && tag.kind !== "open") close();
      if (tag.name === "skipped" && test) test.isSkipped = true;
      if ((tag.name === "failure" || tag.name === "error") && tag.kind !== "close") {
        const problem = { message: tag.attributes["message"] ?? "", text: tag.text };
        if (test) test.problem ??= problem;
        else {
          failures.push(
            caseFailure({
              attributes: { name: "(the suite could not be run)" },
              suiteFile: suites.at(-1),
              isSkipped: false,
              problem,
            }),
          );
        }
        if (!test) failed++;
      }
    }
    const truncated =
      test !== undefined ||
      (!text.trimEnd().includes(closing) && !/<testsuites?[^>]*\/>\s*$/.test(text));
    const declared = Number(/<testsuites?[^>]*\bfailures="(\d+)"/.exec(text)?.[1] ?? 0);
    return report("junit", { passed, failed, skipped }, failures, {
      truncated,
      certain: declared === 0 || failed > 0,
    });
  },
};

interface OpenCase {
  readonly attributes: Readonly<Record<string, string>>;
  readonly suiteFile: string | undefined;
  isSkipped: boolean;
  problem: { readonly message: string; readonly text: string } | undefined;
}

interface Tag {
  readonly name: string;
  readonly kind: "open" | "close" | "empty";
  readonly attributes: Readonly<Record<string, string>>;
  /** What stands between this tag and the next one. */
  readonly text: string;
}

function caseFailure({ attributes, suiteFile, problem }: OpenCase): TestFailure {
  const { name = "", classname = "", file, line } = attributes;
  const { message, text } = problem!;
  const inText = placeIn(text);
  const classFile = /\.[a-z]+$/i.test(classname) && classname.includes("/") ? classname : undefined;
  const place = file ?? suiteFile ?? classFile ?? inText.file;
  const isSame =
    inText.file !== undefined &&
    place !== undefined &&
    (inText.file.endsWith(place) || place.endsWith(inText.file));
  const title =
    classname === "" ||
    classname === name ||
    classname === "test" ||
    /\.[cm]?[jt]sx?$/.test(classname)
      ? name
      : `${classname} > ${name}`;
  return failure(title, message || text, {
    file: place,
    line: isSame ? inText.line : line === undefined ? undefined : Number(line),
    ...valuesOf(message, text),
  });
}

function valuesOf(message: string, text: string): { expected?: string; actual?: string } {
  const named = valuesIn(message);
  return named.expected === undefined ? valuesIn(text) : named;
}

function* tagsIn(xml: string): Generator<Tag> {
  const pattern =
    /<!\[CDATA\[[\s\S]*?\]\]>|<!--[\s\S]*?-->|<[?!][^>]*>|<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/g;
  let current: { tag: Omit<Tag, "text">; text: string } | undefined;
  let end = 0;
  for (const match of xml.matchAll(pattern)) {
    const between = decoded(xml.slice(end, match.index));
    end = match.index + match[0].length;
    if (current) current.text += between;
    if (match[0].startsWith("<![CDATA[")) {
      if (current) current.text += match[0].slice(9, -3);
      continue;
    }
    const [, slash, name, attributes = "", empty] = match;
    if (name === undefined) continue;
    if (current) yield { ...current.tag, text: current.text };
    current = {
      tag: {
        name,
        kind: slash === "/" ? "close" : empty === "/" ? "empty" : "open",
        attributes: attributesOf(attributes),
      },
      text: "",
    };
  }
  if (current) yield { ...current.tag, text: current.text + decoded(xml.slice(end)) };
}

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(
      ([, name, double, single]) => [name!, decoded(double ?? single ?? "")],
    ),
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
};

function decoded(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi,
    (whole, hex: string | undefined, number: string | undefined, name: string | undefined) => {
      if (name !== undefined) return ENTITIES[name] ?? whole;
      const code = hex === undefined ? Number(number) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
