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
    const { passed, failed, skipped, failures, isOpen } = readCases(text.slice(root.index));
    const isClosed = text.trimEnd().includes(closing) || /<testsuites?[^>]*\/>\s*$/.test(text);
    const declared = Number(/<testsuites?[^>]*\bfailures="(\d+)"/.exec(text)?.[1] ?? 0);
    return report("junit", { passed, failed, skipped }, failures, {
      truncated: isOpen || !isClosed,
      certain: declared === 0 || failed > 0,
    });
  },
};

interface Cases {
  passed: number;
  failed: number;
  skipped: number;
  readonly failures: TestFailure[];
  /** The last test case has no end. */
  isOpen: boolean;
}

function readCases(xml: string): Cases {
  const cases: Cases = { passed: 0, failed: 0, skipped: 0, failures: [], isOpen: false };
  /** Files of the suites that are open, outer before inner. */
  const suites: string[] = [];
  let test: OpenCase | undefined;
  for (const tag of tagsIn(xml)) {
    switch (tag.name) {
      case "testsuite":
        if (tag.kind === "open") suites.push(tag.attributes["file"] ?? "");
        if (tag.kind === "close") suites.pop();
        break;
      case "testcase":
        if (tag.kind !== "close") test = openCase(tag, suites);
        if (tag.kind === "open") break;
        if (test) settle(cases, test);
        test = undefined;
        break;
      default: {
        const about = test ?? openCaseOfSuite(suites.at(-1));
        note(about, tag);
        if (!test && about.problem) settle(cases, about);
      }
    }
  }
  cases.isOpen = test !== undefined;
  return cases;
}

/** Notes what a tag says of a test case. */
function note(test: OpenCase, tag: Tag): void {
  if (tag.name === "skipped") test.isSkipped = true;
  if (tag.name !== "failure" && tag.name !== "error") return;
  if (tag.kind !== "close") test.problem ??= problemOf(tag);
}

function openCase({ attributes }: Tag, suites: readonly string[]): OpenCase {
  const suiteFile = suites.findLast((file) => file !== "");
  return { attributes, suiteFile, isSkipped: false, problem: undefined };
}

/** A failure outside of a test case counts as one. */
function openCaseOfSuite(suiteFile: string | undefined): OpenCase {
  const attributes = { name: "(the suite could not be run)" };
  return { attributes, suiteFile, isSkipped: false, problem: undefined };
}

function problemOf({ attributes, text }: Tag): OpenCase["problem"] {
  return { message: attributes["message"] ?? "", text };
}

function settle(cases: Cases, test: OpenCase): void {
  if (test.problem) {
    cases.failures.push(caseFailure(test));
    cases.failed++;
  } else if (test.isSkipped) cases.skipped++;
  else cases.passed++;
}

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

function caseFailure(test: OpenCase): TestFailure {
  const { file, line } = test.attributes;
  const { message, text } = test.problem!;
  const inText = placeIn(text);
  const place = file ?? test.suiteFile ?? classFile(test) ?? inText.file;
  const lineOfCase = line === undefined ? undefined : Number(line);
  return failure(titleOf(test), message || text, {
    file: place,
    line: isSameFile(inText.file, place) ? inText.line : lineOfCase,
    ...valuesOf(message, text),
  });
}

/** Some writers put the test's file where others put its class. */
function classFile({ attributes: { classname = "" } }: OpenCase): string | undefined {
  return /\.[a-z]+$/i.test(classname) && classname.includes("/") ? classname : undefined;
}

function titleOf({ attributes: { name = "", classname = "" } }: OpenCase): string {
  const isPlain = classname === "" || classname === name || classname === "test";
  return isPlain || /\.[cm]?[jt]sx?$/.test(classname) ? name : `${classname} > ${name}`;
}

function isSameFile(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.endsWith(other) || other.endsWith(one);
}

function valuesOf(message: string, text: string): { expected?: string; actual?: string } {
  const named = valuesIn(message);
  return named.expected === undefined ? valuesIn(text) : named;
}

const ATTRIBUTE = String.raw`\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*')`;
/** CDATA, a comment, a declaration, or a tag with its slashes, name and attributes. */
const TAG = new RegExp(
  [
    String.raw`<!\[CDATA\[[\s\S]*?\]\]>`,
    String.raw`<!--[\s\S]*?-->`,
    "<[?!][^>]*>",
    String.raw`<(\/?)([\w:.-]+)((?:${ATTRIBUTE})*)\s*(\/?)>`,
  ].join("|"),
  "g",
);

function* tagsIn(xml: string): Generator<Tag> {
  let current: { tag: Omit<Tag, "text">; text: string } | undefined;
  let end = 0;
  for (const match of xml.matchAll(TAG)) {
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
        kind: slash === "/" ? "close" : kindOfStart(empty),
        attributes: attributesOf(attributes),
      },
      text: "",
    };
  }
  if (current) yield { ...current.tag, text: current.text + decoded(xml.slice(end)) };
}

function kindOfStart(slashAtEnd: string | undefined): Tag["kind"] {
  return slashAtEnd === "/" ? "empty" : "open";
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
