import { basename, join, relative } from "node:path";
import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type YAMLMap,
} from "yaml";
import type { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { camelCase } from "../../kernel/wire.ts";
import { keyPosition } from "./load-service-scan.ts";

/** Something in a file that a person has to change. */
export interface Problem {
  /** Names the finding for machines; absent for what is wrong in a definition. */
  readonly code?: string | undefined;
  /** Absent: it has to be changed. A warning may be meant as it is. */
  readonly level?: "warning" | undefined;
  /** As the person wrote or started it: relative where possible. */
  readonly file: string;
  /** 1-based; absent where only the file is known. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** The key's path, `agents.helper.card`; empty for the file as a whole. */
  readonly key: string;
  /** What is wrong, without a full stop. */
  readonly message: string;
  /** The value that stands there, as JSON; secrets are masked. */
  readonly found?: string | undefined;
  /** What may stand there, in words. */
  readonly allowed?: string | undefined;
  /** What to do about it, where the allowed values do not say it. */
  readonly hint?: string | undefined;
}

/**
 * Paths as a person sees them: from the service's own folder's parent, so that `faq/service.yaml`
 * names the service too.
 */
export function shower(root: string): (file: string) => string {
  return (file) => {
    const fromHere = relative(process.cwd(), file);
    return fromHere.startsWith("..") ? join(basename(root), relative(root, file)) : fromHere;
  };
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

export type KeyPath = readonly PropertyKey[];

/** A file of settings: its value, and where each of its keys stands. */
export interface SettingsDocument {
  readonly file: string;
  readonly value: unknown;
  /**
   * Of the key at the end of `path`, in either spelling; of its nearest parent where the key itself
   * is missing.
   */
  locate(path: KeyPath): Position | undefined;
}

/** Problems of one file that are listed; the others are counted. Source: docs/spec/platform §6. */
export const MAX_PROBLEMS = 50;

/** What `readYaml` found. */
export interface YamlReading {
  readonly document: SettingsDocument;
  /** At most `MAX_PROBLEMS`. */
  readonly problems: Problem[];
  /** All problems, the listed ones included. */
  readonly problemCount: number;
}

/**
 * Reads YAML, and JSON as a part of it. What cannot be read at all is in `problems`, and `value` is
 * then undefined.
 *
 * @param linesBefore lines of the file that stand before `text`
 */
export function readYaml(file: string, text: string, linesBefore = 0): YamlReading {
  const lines = new LineCounter();
  // The check of the library compares each key with all before it: 10,000 keys took 4 s. Ours is
  // linear.
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const errors = [...yaml.errors, ...repeatedKeys(yaml)];
  const positionOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: linesBefore + Math.max(1, line), column: Math.max(1, col) };
  };
  const problems = errors.slice(0, MAX_PROBLEMS).map((error): Problem => ({
    file,
    ...positionOf(error.pos[0]),
    key: "",
    message: error.message.replace(/\.$/, ""),
    hint: file.endsWith(".json")
      ? "Check commas, quotes and braces."
      : "Check the indentation, and quote texts that hold : or #.",
  }));
  const value = problems.length === 0 ? (yaml.toJS() as unknown) : undefined;
  return {
    document: { file, value, locate: (path) => locateInYaml(yaml, path, positionOf) },
    problems,
    problemCount: errors.length,
  };
}

interface YamlError {
  readonly message: string;
  /** Offsets in the text, from and to. */
  readonly pos: readonly [number, number];
}

/** Keys that stand twice in one map. Pure; walks without recursion, for a document may be deep. */
function repeatedKeys(yaml: Document): YamlError[] {
  const errors: YamlError[] = [];
  const open: unknown[] = [yaml.contents];
  while (open.length > 0) {
    const node = open.pop();
    if (isSeq(node)) for (const item of node.items) open.push(item);
    if (isMap(node)) for (const error of repeatedIn(node, open)) errors.push(error);
  }
  return errors.sort((one, other) => one.pos[0] - other.pos[0]);
}

/** Keys of one map that stand twice in it. What stands below them is added to `open`. */
function repeatedIn(map: YAMLMap, open: unknown[]): YamlError[] {
  const seen = new Set<unknown>();
  const errors: YamlError[] = [];
  for (const { key, value } of map.items) {
    open.push(value);
    if (!isScalar(key)) {
      open.push(key);
      continue;
    }
    const at = startOf(key) ?? 0;
    if (seen.has(key.value)) errors.push({ message: "Map keys must be unique", pos: [at, at] });
    seen.add(key.value);
  }
  return errors;
}

/**
 * A value that a module gave, and the text of that module: keys are found by reading its object
 * literals.
 */
export function codeDocument(file: string, value: unknown, text: string): SettingsDocument {
  return { file, value, locate: (path) => keyPosition(text, path) };
}

/**
 * The issues of a schema as problems at their place in the document. `under` is the path that the
 * schema was applied to.
 */
export function problemsOf(
  error: Pick<z.ZodError, "issues">,
  document: SettingsDocument,
  under: KeyPath = [],
): Problem[] {
  return error.issues.map((issue) => {
    const path = [...under, ...issue.path];
    const found = valueAt(document.value, path);
    const allowed = allowedBy(issue);
    const complaint =
      allowed === undefined
        ? issue.message.replace(/\.$/, "")
        : found === undefined
          ? "is missing"
          : "cannot be used";
    // The message of an unknown key names the key; printing what stands behind it would bury the
    // suggestion.
    const showsFound = found !== undefined && !/^unknown key|are one setting/.test(complaint);
    return {
      file: document.file,
      ...document.locate(path),
      key: keyText(path),
      message: complaint,
      found: showsFound ? shown(found, path) : undefined,
      allowed,
    };
  });
}

/** A problem of one key, written by hand. */
export function problemAt(
  document: SettingsDocument,
  path: KeyPath,
  message: string,
  more: { allowed?: string | undefined; hint?: string | undefined } = {},
): Problem {
  const found = valueAt(document.value, path);
  return {
    file: document.file,
    ...document.locate(path),
    key: keyText(path),
    message,
    found: found === undefined ? undefined : shown(found, path),
    allowed: more.allowed,
    hint: more.hint,
  };
}

/**
 * `dure.yaml:3:9 server.port: cannot be used; found "abc"; allowed: a whole number from 0 to 65535`
 */
export function problemText(problem: Problem): string {
  const place = [problem.file, problem.line, problem.column]
    .filter((part) => part !== undefined)
    .join(":");
  const facts = [
    problem.message,
    problem.found === undefined ? undefined : `found ${problem.found}`,
    problem.allowed === undefined ? undefined : `allowed: ${problem.allowed}`,
    problem.hint,
  ].filter((part) => part !== undefined);
  return `${place} ${problem.key === "" ? "" : `${problem.key}: `}${facts.join("; ")}`;
}

/**
 * All problems as one error, in the order of their lines; `details.problems` holds them for
 * machines.
 */
export function problemsError(code: string, what: string, problems: readonly Problem[]): DureError {
  const sorted = inFileOrder(problems);
  const count = sorted.length === 1 ? "a problem" : `${sorted.length} problems`;
  return new DureError(
    code,
    `${what} has ${count}:\n${sorted.map((problem) => `  ${problemText(problem)}`).join("\n")}`,
    {
      class: "input",
      hint: "Change the lines named above, then try again.",
      details: { problems: sorted },
    },
  );
}

export function inFileOrder(problems: readonly Problem[]): Problem[] {
  const rank = (problem: Problem): number => (problem.line ?? 0) * 10_000 + (problem.column ?? 0);
  const files = [...new Set(problems.map((problem) => problem.file))];
  return [...problems].sort(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || rank(a) - rank(b),
  );
}

/** The value at a path, in whichever spelling its keys are written. */
export function valueAt(value: unknown, path: KeyPath): unknown {
  let current = value;
  for (const segment of path) {
    if (Array.isArray(current)) current = current[Number(segment)] as unknown;
    else if (isObject(current)) current = current[writtenKey(current, String(segment)) ?? ""];
    else return undefined;
  }
  return current;
}

function writtenKey(value: Readonly<Record<string, unknown>>, key: string): string | undefined {
  if (Object.hasOwn(value, key)) return key;
  return Object.keys(value).find((written) => camelCase(written) === camelCase(key));
}

function keyText(path: KeyPath): string {
  return path.map(String).join(".");
}

const SECRET_KEY = /token|secret|password|api_?key/i;
const SHOWN_LENGTH = 80;

function shown(value: unknown, path: KeyPath): string {
  if (path.some((segment) => SECRET_KEY.test(String(segment)))) return "a value that is not shown";
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  const text = safeJson(value);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "an object"; // circular: an object instance was given as a setting
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a group of keys",
  record: "a group of keys",
};

/**
 * What an issue of zod allows, in words; undefined where its message says it already. A message of
 * ours begins "must be".
 */
function allowedBy(issue: z.core.$ZodIssue): string | undefined {
  const ours = /^must be (.+)$/.exec(issue.message);
  if (ours) return ours[1];
  switch (issue.code) {
    case "invalid_type":
      return TYPE_WORDS[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.map((value) => String(value)).join(", ");
    case "too_small":
      return issue.origin === "string"
        ? `a text of at least ${issue.minimum} characters`
        : `at least ${issue.minimum}`;
    case "too_big":
      return issue.origin === "string"
        ? `a text of at most ${issue.maximum} characters`
        : `at most ${issue.maximum}`;
    case "invalid_union":
      return [
        ...new Set(issue.errors.flat().map((inner) => allowedBy(inner) ?? inner.message)),
      ].join(" or ");
    case "invalid_format":
      return issue.format === "url" ? "an address that begins with http:// or https://" : undefined;
    default:
      return undefined;
  }
}

function locateInYaml(
  yaml: Document,
  path: KeyPath,
  positionOf: (offset: number) => Position,
): Position | undefined {
  let node: unknown = yaml.contents;
  let offset = isNode(node) ? startOf(node) : undefined;
  for (const segment of path) {
    if (isAlias(node)) node = node.resolve(yaml);
    let next: unknown;
    if (isMap(node)) {
      const pairs = node.items.filter((item) => isPair(item) && isNode(item.key));
      const keyOf = (pair: (typeof pairs)[number]): string =>
        String((pair.key as { value?: unknown }).value);
      const pair =
        pairs.find((item) => keyOf(item) === String(segment)) ??
        pairs.find((item) => camelCase(keyOf(item)) === camelCase(String(segment)));
      if (!pair) break;
      offset = startOf(pair.key as Node) ?? offset;
      next = pair.value;
    } else if (isSeq(node)) {
      next = node.items[Number(segment)];
      if (!isNode(next)) break;
      offset = startOf(next) ?? offset;
    } else break;
    node = next;
  }
  return offset === undefined ? undefined : positionOf(offset);
}

function startOf(node: Node): number | undefined {
  return node.range?.[0];
}
