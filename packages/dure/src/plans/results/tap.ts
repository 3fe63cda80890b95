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
    const bad = [...leaves.filter(isFailed), ...points.flatMap(brokenGroups)];
    const failures = bad.map(failureOf);
    if (bailedOut !== undefined) failures.push(failure("Bail out!", bailedOut));
    const counts = {
      passed: leaves.filter(({ ok, directive }) => ok && directive === undefined).length,
      failed: failures.length,
      skipped: leaves.filter(({ directive }) => directive !== undefined).length,
    };

    const isCutOff = isOpen || planned === undefined || points.length < planned;
    const isAsPlanned = planned === undefined || points.length === planned;
    const trailer = /^# fail (\d+)$/m.exec(text)?.[1];
    const isAsTold = trailer === undefined || Number(trailer) <= failures.length;
    return report(frameworkOf(text), counts, failures, {
      truncated: bailedOut === undefined && isCutOff,
      certain: (isAsPlanned || bailedOut !== undefined) && isAsTold,
    });
  },
};

/** Node's own runner tells how long each test took. */
function frameworkOf(text: string): "node" | "tap" {
  return /^ *# duration_ms /m.test(text) || /^ *duration_ms: /m.test(text) ? "node" : "tap";
}

/** Tests that are skipped or to be done may fail. */
function isFailed({ ok, directive }: Point): boolean {
  return !ok && directive === undefined;
}

interface ReadPoints {
  readonly points: readonly Point[];
  readonly planned: number | undefined;
  readonly bailedOut: string | undefined;
  readonly isOpen: boolean;
}

function readPoints(text: string): ReadPoints {
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
    const title = titleOf(match[4]!);
    open.push({ indent, ok: match[2] === "ok", ...title, details, children });
    index = next - 1;
  }
  return {
    points: open.filter(({ indent }) => indent === 0),
    planned,
    bailedOut,
    isOpen: isOpen || open.some(({ indent }) => indent > 0),
  };
}

/** The words behind the number of a point: its name, and `# skip` or `# todo`. */
function titleOf(words: string): Pick<Point, "name" | "directive"> {
  const directive = /(?:^|[^\\])#\s*(skip|todo)\b/i.exec(words)?.[1]?.toLowerCase();
  const name = words.replace(/(?:^|\s)#\s*(?:skip\b|todo\b|time=).*$/i, "");
  return {
    name: name.replaceAll("\\#", "#"),
    directive: directive as Point["directive"],
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
  return point.children.length === 0 ? [point] : namedChildren(point).flatMap(leavesOf);
}

/** With the name of their group before their own. */
function namedChildren({ name, children }: Point): Point[] {
  return children.map((child) => ({ ...child, name: `${name} > ${child.name}` }));
}

/**
 * Groups that failed by themselves, as when a hook fails: nothing in them has, or the writer says
 * so.
 */
function brokenGroups(point: Point): Point[] {
  if (point.children.length === 0) return [];
  const below = namedChildren(point).flatMap(brokenGroups);
  const type = point.details["failureType"];
  const saysWhy = type !== undefined && type !== "subtestsFailed";
  const hasFailedBelow = below.length > 0 || leavesOf(point).some(isFailed);
  const isBroken = isFailed(point) && (saysWhy || !hasFailedBelow);
  return isBroken ? [...below, point] : below;
}

function failureOf({ name, details }: Point): TestFailure {
  const text = (key: string): string | undefined => textOf(details[key]);
  const diff = text("diff");
  return failure(name, text("error") ?? text("message") ?? diff ?? "", {
    ...placeOf(details),
    expected: text("expected") ?? text("wanted") ?? inDiff(diff, "-"),
    actual: text("actual") ?? text("found") ?? inDiff(diff, "+"),
  });
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The details name the file in three ways; the stack may tell a closer line of it. */
function placeOf(details: Point["details"]): { file: string | undefined; line: number } {
  const at = isObject(details["at"]) ? details["at"] : {};
  const location = placeIn(textOf(details["location"]) ?? "");
  const inStack = placeIn(textOf(details["stack"]) ?? "");
  const named = [at["file"], at["fileName"]].find((one) => typeof one === "string");
  const file = location.file ?? named ?? inStack.file;
  if (inStack.file === file && inStack.line !== undefined) return { file, line: inStack.line };
  const line = location.line ?? Number(at["line"] ?? at["lineNumber"] ?? Number.NaN);
  return { file, line };
}

/** The lines of one side of a unified diff. */
function inDiff(diff: string | undefined, side: "-" | "+"): string | undefined {
  const lines = diff
    ?.split("\n")
    .filter((line) => line.startsWith(side) && !line.startsWith(side.repeat(3)));
  return lines && lines.length > 0 ? lines.map((line) => line.slice(1)).join("\n") : undefined;
}
