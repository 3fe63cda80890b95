import { parse } from "yaml";
import { isObject } from "../../kernel/json.ts";
import { failure, placeIn, report, type ResultParser, type TestFailure } from "./report.ts";

/** One line `ok` or `not ok`, with what stands below it. */
interface Point {
  readonly indent: number;
  readonly ok: boolean;
  readonly name: string;
  readonly directive: "skip" | "todo" | undefined;
  /** The YAML between `---` and `...`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Points of its subtest, which stand above it. */
  readonly children: readonly Point[];
}

const POINT = /^( *)(not ok|ok)\b(?: +(\d+))?(?: +-)? *(.*)$/;
const PLAN = /^( *)1\.\.(\d+)/;

/** TAP 12 to 14, and what `node --test --test-reporter=tap` writes. */
export const tap: ResultParser = {
  framework: "tap",
  recognises: (text) =>
    /^TAP version \d+$/m.test(text) ||
    (/^1\.\.\d+/m.test(text) && /^(?:not )?ok\b/m.test(text)) ||
    /^Bail out!/m.test(text),
  read(text) {
    const { points, planned, bailedOut, isOpen } = readPoints(text);
    const leaves = points.flatMap(leavesOf);
    const skipped = leaves.filter(({ directive }) => directive !== undefined).length;
    const bad = [
      ...leaves.filter(({ ok, directive }) => !ok && directive === undefined),
      ...points.flatMap(brokenGroups),
    ];
    const failures = bad.map(failureOf);
    if (bailedOut !== undefined) failures.push(failure("Bail out!", bailedOut));
    const passed = leaves.filter(({ ok, directive }) => ok && directive === undefined).length;
    const truncated =
      bailedOut === undefined && (isOpen || planned === undefined || points.length < planned);
    const framework =
      /^ *# duration_ms /m.test(text) || /^ *duration_ms: /m.test(text) ? "node" : "tap";
    const trailer = /^# fail (\d+)$/m.exec(text)?.[1];
    const certain =
      (planned === undefined || points.length === planned || bailedOut !== undefined) &&
      (trailer === undefined || Number(trailer) <= failures.length);
    return report(framework, { passed, failed: failures.length, skipped }, failures, {
      truncated,
      certain,
    });
  },
};

function readPoints(text: string): {
  points: Point[];
  planned: number | undefined;
  bailedOut: string | undefined;
  isOpen: boolean;
} {
  const lines = text.split("\n");
  /** Points that no parent has taken yet, by their indent. */
  let open: Point[] = [];
  let planned: number | undefined;
  let bailedOut: string | undefined;
  let isOpen = false;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    bailedOut ??= /^\s*Bail out!\s*(.*)$/.exec(line)?.[1];
    const plan = PLAN.exec(line);
    if (plan?.[1] === "") planned = Number(plan[2]);
    const match = POINT.exec(line);
    if (!match) continue;
    const indent = match[1]!.length;
    const { details, next, isComplete } = readDetails(lines, index + 1);
    isOpen = !isComplete;
    const children = open.filter((point) => point.indent > indent);
    open = open.filter((point) => point.indent <= indent);
    const directive = /(?:^|[^\\])#\s*(skip|todo)\b/i
      .exec(match[4]!)?.[1]
      ?.toLowerCase() as Point["directive"];
    const name = match[4]!
      .replace(/(?:^|\s)#\s*(?:skip\b|todo\b|time=).*$/i, "")
      .replaceAll("\\#", "#");
    open.push({ indent, ok: match[2] === "ok", name, directive, details, children });
    index = next - 1;
  }
  return {
    points: open.filter(({ indent }) => indent === 0),
    planned,
    bailedOut,
    isOpen: isOpen || open.some(({ indent }) => indent > 0),
  };
}

function readDetails(
  lines: readonly string[],
  from: number,
): { details: Readonly<Record<string, unknown>>; next: number; isComplete: boolean } {
  const begin = /^( +)---\s*$/.exec(lines[from] ?? "");
  if (!begin) return { details: {}, next: from, isComplete: true };
  const indent = begin[1]!;
  let end = from + 1;
  while (end < lines.length && lines[end]!.trimEnd() !== `${indent}...`) end++;
  const block = lines.slice(from + 1, end).map((line) => line.slice(indent.length));
  return { details: yamlOf(block.join("\n")), next: end + 1, isComplete: end < lines.length };
}

/**
 * Characters of the details of one test that are read as YAML. Longer ones are the error's text.
 */
const DETAILS_READ = 20_000;

function yamlOf(text: string): Readonly<Record<string, unknown>> {
  if (text.length > DETAILS_READ) return { error: text };
  try {
    const value: unknown = parse(text, { logLevel: "silent", uniqueKeys: false });
    return isObject(value) ? value : {};
  } catch {
    return { error: text };
  }
}

function leavesOf(point: Point): Point[] {
  return point.children.length === 0
    ? [point]
    : point.children.flatMap((child) =>
        leavesOf({ ...child, name: `${point.name} > ${child.name}` }),
      );
}

/**
 * Groups that failed by themselves, as when a hook fails: nothing in them has, or the writer says
 * so.
 */
function brokenGroups(point: Point): Point[] {
  if (point.children.length === 0) return [];
  const below = point.children.flatMap((child) =>
    brokenGroups({ ...child, name: `${point.name} > ${child.name}` }),
  );
  const saysWhy =
    point.details["failureType"] !== undefined && point.details["failureType"] !== "subtestsFailed";
  const hasFailed =
    !saysWhy &&
    (below.length > 0 ||
      leavesOf(point).some(({ ok, directive }) => !ok && directive === undefined));
  return point.ok || point.directive !== undefined || hasFailed ? below : [...below, point];
}

function failureOf({ name, details }: Point): TestFailure {
  const text = (key: string): string | undefined =>
    details[key] === undefined || details[key] === null
      ? undefined
      : typeof details[key] === "string"
        ? details[key]
        : JSON.stringify(details[key]);
  const at = isObject(details["at"]) ? details["at"] : {};
  const stack = text("stack") ?? "";
  const location = placeIn(text("location") ?? "");
  const inStack = placeIn(stack);
  const file =
    location.file ??
    [at["file"], at["fileName"]].find((one) => typeof one === "string") ??
    inStack.file;
  const line =
    inStack.file === file && inStack.line !== undefined
      ? inStack.line
      : (location.line ?? Number(at["line"] ?? at["lineNumber"] ?? Number.NaN));
  const diff = text("diff");
  const values = {
    expected: text("expected") ?? text("wanted") ?? inDiff(diff, "-"),
    actual: text("actual") ?? text("found") ?? inDiff(diff, "+"),
  };
  return failure(name, text("error") ?? text("message") ?? diff ?? "", { file, line, ...values });
}

/** The lines of one side of a unified diff. */
function inDiff(diff: string | undefined, side: "-" | "+"): string | undefined {
  const lines = diff
    ?.split("\n")
    .filter((line) => line.startsWith(side) && !line.startsWith(side.repeat(3)));
  return lines && lines.length > 0 ? lines.map((line) => line.slice(1)).join("\n") : undefined;
}
