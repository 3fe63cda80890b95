/**
 * How readable the tree is, as figures: `node scripts/air.ts` prints them, and the check `air` of
 * `npm test` holds them. Limits: STYLE.md, "Before all rules". Exceptions:
 * scripts/air-exceptions.json, a list that only shrinks.
 */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor, type Expression } from "oxc-parser";
import { root, run, runTool } from "./processes.ts";

/** One rule that may be broken in one file. */
export interface AirException {
  readonly rule: AirRule;
  /** Path from the root. */
  readonly file: string;
  /**
   * Functions or classes of the file that break the rule. The check fails above it and below it.
   */
  readonly count: number;
  /** Why the code is better so. */
  readonly because: string;
}

export type AirRule =
  | "complexity"
  | "max-params"
  | "max-lines-per-function"
  | "max-lines-per-class";

export interface AirFigures {
  readonly files: number;
  readonly lines: number;
  /** Mean over all lines, empty ones included. */
  readonly charactersPerLine: number;
  /** Share of lines over 110 columns, in percent. */
  readonly longLinesPercent: number;
  readonly longestLine: number;
  /** Share of lines that are a comment, in percent. */
  readonly commentPercent: number;
  /** Members that stand there or not: `...(x && { x })`, `...(x ? { x } : {})`. */
  readonly conditionalSpreads: number;
  /** Lines that name no actor: whoever, somebody, nobody. */
  readonly vagueLines: number;
  /** The same in tests and what is for tests alone, where "nobody" is also a name that is unknown. */
  readonly vagueTestLines: number;
  readonly broken: readonly BrokenRule[];
}

/** How often one file breaks one rule. */
export interface BrokenRule {
  readonly rule: AirRule;
  readonly file: string;
  readonly count: number;
  /** What the linter says, for the reader of a failed check. */
  readonly messages: readonly string[];
}

/** Limits of the house style. Source: STYLE.md. */
const MAX_COMPLEXITY = 15;
const MAX_PARAMS = 4;
const MAX_FUNCTION_LINES = 80;
const MAX_CLASS_LINES = 350;
const LONG_LINE = 110;
const EXCEPTIONS = path.join(root, "scripts/air-exceptions.json");

/**
 * Of the whole tree, a little above what it has: a bound that a table of words breaks is none. What
 * is left of vague words in tests: ids of unknown agents and sessions, the user `nobody`, and words
 * to find.
 */
const LIMITS = {
  charactersPerLine: 35,
  longLinesPercent: 0.5,
  conditionalSpreads: 9,
  vagueLines: 1,
  vagueTestLines: 64,
} as const satisfies Partial<Record<keyof AirFigures, number>>;

/** Whose functions and members are held. */
const PRODUCT = /^(?:packages\/[^/]+\/src|examples)\//;
const SOURCES =
  /^(?:packages\/[^/]+\/(?:src|templates)|examples|chaos|bench)\/.*\.(?:ts|tsx|mjs|js)$/;
const TESTS = /\.test\.[a-z]+$/;
/** What is for tests alone. */
const TEST_SOURCES =
  /^packages\/testing\/|^packages\/[^/]+\/test\/|\.test\.[a-z]+$|\/test-[^/]+\.ts$/;
/** Tests of these checks: they quote the words. */
const ABOUT_WORDS = /^scripts\//;
const CODE = /\.(?:ts|tsx|mjs|js)$/;
const COMMENT = /^\s*(?:\/\/|\/\*|\*)/;
const VAGUE = /\b(?:whoever|somebody|nobody)\b/i;

/**
 * Reads the sources: what git knows under `packages/<name>/src` and `templates`, in examples, chaos
 * and bench, without tests. Functions and spreads are looked at in the product and the examples.
 */
export async function measureAir(folder: string = root): Promise<AirFigures> {
  const listed = await run("git", ["ls-files"], { cwd: folder });
  const code = listed.stdout.split("\n").filter((file) => CODE.test(file));
  const files = code.filter((file) => SOURCES.test(file) && !TESTS.test(file));
  const tests = code.filter((file) => TEST_SOURCES.test(file) && !ABOUT_WORDS.test(file));
  const texts = new Map<string, string>();
  for (const file of files) texts.set(file, await readFile(path.join(folder, file), "utf8"));

  const product = new Map([...texts].filter(([file]) => PRODUCT.test(file)));
  const lines = [...texts.values()].flatMap((text) => text.trimEnd().split("\n"));
  const characters = lines.reduce((sum, line) => sum + line.length, 0);
  return {
    files: files.length,
    lines: lines.length,
    charactersPerLine: characters / lines.length,
    longLinesPercent: percent(lines.filter((line) => line.length > LONG_LINE).length, lines.length),
    longestLine: lines.reduce((longest, line) => Math.max(longest, line.length), 0),
    commentPercent: percent(lines.filter((line) => COMMENT.test(line)).length, lines.length),
    conditionalSpreads: conditionalSpreads(product),
    vagueLines: vagueLines(lines),
    vagueTestLines: vagueLines(await linesOf(folder, tests)),
    broken: [...(await brokenRules(folder, [...product.keys()])), ...longClasses(product)],
  };
}

async function linesOf(folder: string, files: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const file of files) {
    lines.push(...(await readFile(path.join(folder, file), "utf8")).split("\n"));
  }
  return lines;
}

function vagueLines(lines: readonly string[]): number {
  return lines.filter((line) => VAGUE.test(line)).length;
}

function percent(part: number, whole: number): number {
  return (100 * part) / whole;
}

/** The functions that the linter calls too complex, too long or too wide. */
async function brokenRules(folder: string, files: readonly string[]): Promise<BrokenRule[]> {
  const known = new Set(files);
  const config = path.join(root, "scripts/air-lint.json");
  const { stdout } = await runTool("oxlint", ["-c", config, "-f", "json"], { cwd: folder });
  const report = JSON.parse(stdout) as {
    diagnostics: { code?: string; filename: string; message: string }[];
  };
  const found = report.diagnostics.map((diagnostic) => ({
    rule: diagnostic.code?.replace(/^eslint\((.*)\)$/, "$1") as AirRule,
    file: diagnostic.filename,
    message: diagnostic.message,
  }));
  return grouped(found.filter(({ file }) => known.has(file)));
}

function conditionalSpreads(texts: ReadonlyMap<string, string>): number {
  let count = 0;
  const visitor = new Visitor({
    ObjectExpression({ properties }) {
      count += properties.filter(
        (member) => member.type === "SpreadElement" && isConditional(member.argument),
      ).length;
    },
  });
  for (const [file, text] of texts) visitor.visit(parseSync(file, text).program);
  return count;
}

function isConditional(spread: Expression): boolean {
  if (spread.type === "ParenthesizedExpression") return isConditional(spread.expression);
  if (spread.type === "LogicalExpression") return spread.operator === "&&";
  if (spread.type !== "ConditionalExpression") return false;
  return isEmptyObject(spread.consequent) || isEmptyObject(spread.alternate);
}

function isEmptyObject(value: Expression): boolean {
  if (value.type === "ParenthesizedExpression") return isEmptyObject(value.expression);
  return value.type === "ObjectExpression" && value.properties.length === 0;
}

/** Classes over the limit; the linter has no rule for them. */
function longClasses(texts: ReadonlyMap<string, string>): BrokenRule[] {
  const found: { rule: AirRule; file: string; message: string }[] = [];
  for (const [file, text] of texts) {
    const note = (name: string, { start, end }: { start: number; end: number }): void => {
      const lines = text.slice(start, end).split("\n").length;
      if (lines <= MAX_CLASS_LINES) return;
      const message = `class \`${name}\` has ${lines} lines. Maximum allowed is ${MAX_CLASS_LINES}.`;
      found.push({ rule: "max-lines-per-class", file, message });
    };
    const visitor = new Visitor({
      ClassDeclaration: (node) => note(node.id?.name ?? "", node),
      ClassExpression: (node) => note(node.id?.name ?? "", node),
    });
    visitor.visit(parseSync(file, text).program);
  }
  return grouped(found);
}

function grouped(found: readonly { rule: AirRule; file: string; message: string }[]): BrokenRule[] {
  const groups = Object.groupBy(found, ({ rule, file }) => `${rule} ${file}`);
  return Object.values(groups).map((group) => ({
    rule: group![0]!.rule,
    file: group![0]!.file,
    count: group!.length,
    messages: group!.map(({ message }) => message),
  }));
}

/** Figures above their limit. The limits are lowered whenever the tree gets below them. */
export function figuresOver(figures: AirFigures): string[] {
  return Object.entries(LIMITS).flatMap(([name, limit]) => {
    const value = figures[name as keyof typeof LIMITS];
    return value > limit ? [`${name} is ${value.toFixed(2)}, at most ${limit}`] : [];
  });
}

/**
 * What stands in the way of a green check: rules broken outside the list, and entries that are no
 * longer needed.
 */
export function troubleWith(
  broken: readonly BrokenRule[],
  allowed: readonly AirException[],
): string[] {
  const trouble: string[] = [];
  for (const { rule, file, count, messages } of broken) {
    const most = allowed.find((entry) => entry.rule === rule && entry.file === file)?.count ?? 0;
    if (count > most) {
      trouble.push(`${file}: ${rule}, ${count} of at most ${most}\n  ${messages.join("\n  ")}`);
    }
  }
  for (const { rule, file, count, because } of allowed) {
    if (because === "") trouble.push(`${file}: ${rule} is in the list without a reason`);
    const left = broken.find((entry) => entry.rule === rule && entry.file === file)?.count ?? 0;
    if (left < count) {
      trouble.push(`${file}: ${rule} is broken ${left} times, the list says ${count}; lower it`);
    }
  }
  return trouble;
}

export async function readExceptions(): Promise<readonly AirException[]> {
  const text = await readFile(EXCEPTIONS, "utf8");
  return JSON.parse(text) as AirException[];
}

/** The table, one figure a line. */
export function describeAir(figures: AirFigures): string {
  const count = (rule: AirRule): number =>
    figures.broken.reduce((sum, entry) => sum + (entry.rule === rule ? entry.count : 0), 0);
  const rows: readonly (readonly [string, string])[] = [
    ["files; lines", `${figures.files}; ${figures.lines}`],
    ["characters per line", figures.charactersPerLine.toFixed(1)],
    [
      `lines over ${LONG_LINE} columns; longest`,
      `${figures.longLinesPercent.toFixed(2)} %; ${figures.longestLine}`,
    ],
    [`functions of complexity over ${MAX_COMPLEXITY}`, String(count("complexity"))],
    [`functions of more than ${MAX_PARAMS} parameters`, String(count("max-params"))],
    [`functions over ${MAX_FUNCTION_LINES} lines`, String(count("max-lines-per-function"))],
    [`classes over ${MAX_CLASS_LINES} lines`, String(count("max-lines-per-class"))],
    ["conditional spreads", String(figures.conditionalSpreads)],
    ["comment lines", `${figures.commentPercent.toFixed(1)} %`],
    ["lines with whoever, somebody, nobody", String(figures.vagueLines)],
    ["the same in tests", String(figures.vagueTestLines)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(42)}${value}`).join("\n");
}

/** The list for the tree as it is: reasons are kept, new entries have none yet. */
function listFor(broken: readonly BrokenRule[], known: readonly AirException[]): AirException[] {
  const entries = broken.map(({ rule, file, count }): AirException => {
    const before = known.find((entry) => entry.rule === rule && entry.file === file);
    return { rule, file, count, because: before?.because ?? "" };
  });
  return entries.toSorted((a, b) =>
    `${a.file} ${a.rule}`.localeCompare(`${b.file} ${b.rule}`, "en"),
  );
}

if (import.meta.main) {
  const figures = await measureAir();
  console.log(describeAir(figures));
  if (process.argv.includes("--files")) {
    for (const { messages, file } of figures.broken) {
      console.log(`${file}\n  ${messages.join("\n  ")}`);
    }
  }
  if (process.argv.includes("--list")) {
    const list = listFor(figures.broken, await readExceptions());
    await writeFile(EXCEPTIONS, `${JSON.stringify(list, null, 2)}\n`);
  }
}
