/**
 * Titles that people read: those of tests and of commits. The check `titles` of `npm test` holds
 * them. Limits: STYLE.md, "And plain words".
 */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor, type CallExpression, type Expression } from "oxc-parser";
import { root, run } from "./processes.ts";

/** A title of a test or of a group, as the source says it: placeholders are not filled. */
export interface TestTitle {
  /** Path from the root. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

export interface Commit {
  /** Abbreviated. */
  readonly id: string;
  readonly subject: string;
}

const MAX_TEST_TITLE = 100;
const MAX_SUBJECT = 72;
/** Commits whose subjects are looked at. A shallow clone may have fewer. */
const RECENT_COMMITS = 50;
const VAGUE = /\b(?:whoever|somebody|nobody)\b/i;
const TEST_FILES = ["*.test.ts", "*.test.tsx", "*.test.mjs"];
/** Functions whose first argument is a title, also as `test.for(rows)(title, run)`. */
const TITLED = new Set(["test", "it", "describe"]);

/** Reads the titles of the tests that git knows. */
export async function readTestTitles(folder: string = root): Promise<TestTitle[]> {
  const listed = await run("git", ["ls-files", ...TEST_FILES], { cwd: folder });
  const files = listed.stdout.split("\n").filter(Boolean);
  const titles: TestTitle[] = [];
  for (const file of files) {
    const text = await readFile(path.join(folder, file), "utf8");
    titles.push(...titlesOf(file, text));
  }
  return titles;
}

/** Pure. */
export function titlesOf(file: string, text: string): TestTitle[] {
  const titles: TestTitle[] = [];
  const visitor = new Visitor({
    CallExpression(node) {
      const title = node.arguments[0];
      if (title === undefined || !TITLED.has(functionOf(node) ?? "")) return;
      const words = wordsOf(title as Expression, text);
      if (words === undefined) return;
      const line = text.slice(0, title.start).split("\n").length;
      titles.push({ file, line, text: words });
    },
  });
  visitor.visit(parseSync(file, text).program);
  return titles;
}

/** The name at the beginning of a call: `test` of `test.for(rows)(…)`. */
function functionOf(call: CallExpression): string | undefined {
  let at: Expression = call.callee;
  for (;;) {
    if (at.type === "Identifier") return at.name;
    if (at.type === "MemberExpression") at = at.object;
    else if (at.type === "CallExpression") at = at.callee;
    else if (at.type === "TaggedTemplateExpression") at = at.tag;
    else return undefined;
  }
}

/** The text of a literal, of a template, or of several added up; absent where it is computed. */
function wordsOf(title: Expression, text: string): string | undefined {
  if (title.type === "Literal") return typeof title.value === "string" ? title.value : undefined;
  if (title.type === "TemplateLiteral") return text.slice(title.start + 1, title.end - 1);
  if (title.type !== "BinaryExpression" || title.operator !== "+") return undefined;
  const [left, right] = [wordsOf(title.left, text), wordsOf(title.right, text)];
  return left === undefined || right === undefined ? undefined : left + right;
}

/** Reads the newest commits that can be reached, without merges. */
export async function readCommits(folder: string = root): Promise<Commit[]> {
  const options = ["log", "--no-merges", `-${RECENT_COMMITS}`, "--format=%h%x09%s"];
  const { stdout } = await run("git", options, { cwd: folder });
  const lines = stdout.split("\n").filter(Boolean);
  return lines.map((line) => {
    const [id = "", ...subject] = line.split("\t");
    return { id, subject: subject.join("\t") };
  });
}

/** Pure. Titles that break a rule, each with where it stands. */
export function troubleWithTitles(
  titles: readonly TestTitle[],
  commits: readonly Commit[],
): string[] {
  const long = titles
    .filter(({ text }) => text.length > MAX_TEST_TITLE)
    .map(({ file, line, text }) => {
      return `${file}:${line}: a test title of ${text.length} characters, at most ${MAX_TEST_TITLE}`;
    });
  const vague = titles
    .filter(({ text }) => VAGUE.test(text))
    .map(({ file, line }) => `${file}:${line}: whoever, somebody or nobody in a test title`);
  const subjects = commits.flatMap(({ id, subject }) => {
    const why = faultOfSubject(subject);
    return why === undefined ? [] : [`commit ${id}: ${why}: ${subject}`];
  });
  return [...long, ...vague, ...subjects];
}

/** What is wrong with the subject of a commit; the first rule that it breaks. */
function faultOfSubject(subject: string): string | undefined {
  if (subject.length > MAX_SUBJECT) {
    return `the subject has ${subject.length} characters, at most ${MAX_SUBJECT}`;
  }
  if (!/^(?:[a-z][\w-]*: |\p{Lu})/u.test(subject)) {
    return "the subject does not begin with what it is about, such as `rooms: `";
  }
  if (subject.endsWith(".")) return "the subject ends with a full stop";
  if (subject !== subject.trimEnd()) return "the subject ends with a space";
  return undefined;
}
