/**
 * Reads TypeScript as tokens and brackets, not by its grammar. The only tokenizer of our own.
 *
 * Why not a parser: the files are written by workers, so they may be hostile. oxc-parser 0.156.0
 * recurses on the native stack; 20 kB of `[` end the whole process with SIGSEGV, also behind a bound
 * on bytes. Source: docs/decisions/0003-dependencies.md.
 */
export interface CodeToken {
  readonly kind: "word" | "mark" | "text" | "comment";
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Open brackets around it; a bracket itself stands at the depth of what is around the pair. */
  readonly depth: number;
  /** The first token of its line. */
  readonly isFirst: boolean;
}

/** Templates that stand inside of each other. More are written by no person, and cost stack. */
const MAX_TEMPLATES = 100;

const CLOSED_BY: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const QUOTES = "\"'`";
const WORD = /^[\p{L}\p{N}_$#]+/u;

/** Undefined when brackets or texts do not come out even. */
export function tokenize(source: string): CodeToken[] | undefined {
  const tokens: CodeToken[] = [];
  const open: string[] = [];
  let isFirst = true;
  let at = 0;
  while (at < source.length) {
    const char = source[at]!;
    if (char === "\n") isFirst = true;
    if (/\s/.test(char)) {
      at++;
      continue;
    }

    const read = tokenAt(source, at, tokens);
    if (read === undefined) return undefined;
    if (isClosing(char, read) && open.pop() !== char) return undefined;
    const text = source.slice(at, read.end);
    tokens.push({ kind: read.kind, text, start: at, end: read.end, depth: open.length, isFirst });
    const closedBy = read.kind === "mark" ? CLOSED_BY[char] : undefined;
    if (closedBy !== undefined) open.push(closedBy);
    isFirst = false;
    at = read.end;
  }
  return open.length === 0 ? tokens : undefined;
}

interface ReadToken {
  readonly kind: CodeToken["kind"];
  readonly end: number;
}

/** What begins here and where it ends; undefined when it has no end. */
function tokenAt(source: string, at: number, before: readonly CodeToken[]): ReadToken | undefined {
  const char = source[at]!;
  if (source.startsWith("//", at)) {
    return { kind: "comment", end: endOr(source.indexOf("\n", at), source.length) };
  }
  if (source.startsWith("/*", at)) {
    const end = source.indexOf("*/", at + 2);
    return end < 0 ? undefined : { kind: "comment", end: end + 2 };
  }
  if (QUOTES.includes(char)) return asText(endOfText(source, at));
  if (char === "/" && beginsRegex(before)) return asText(endOfRegex(source, at));

  const word = WORD.exec(source.slice(at, at + 500));
  if (word) return { kind: "word", end: at + word[0].length };
  return { kind: "mark", end: at + markLength(source, at) };
}

function asText(end: number | undefined): ReadToken | undefined {
  return end === undefined ? undefined : { kind: "text", end };
}

function markLength(source: string, at: number): number {
  if (source.startsWith("=>", at)) return 2;
  return source.startsWith("...", at) ? 3 : 1;
}

function isClosing(char: string, { kind }: ReadToken): boolean {
  return kind === "mark" && ")]}".includes(char);
}

function endOr(index: number, otherwise: number): number {
  return index < 0 ? otherwise : index;
}

/** The position behind a text that begins here. */
function endOfText(source: string, start: number, depth = 0): number | undefined {
  const quote = source[start]!;
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at]!;
    if (char === quote) return at + 1;
    if (char === "\n" && quote !== "`") return undefined;
    if (char === "\\") at++;
    else if (quote === "`" && source.startsWith("${", at)) {
      const end = endOfInsertion(source, at, depth);
      if (end === undefined) return undefined;
      at = end - 1;
    }
  }
  return undefined;
}

/** The position behind the code in a template that begins here; it may hold texts. */
function endOfInsertion(source: string, start: number, depth: number): number | undefined {
  if (depth >= MAX_TEMPLATES) return undefined;
  let braces = 1;
  let at = start + 2;
  for (; at < source.length && braces > 0; at++) {
    const char = source[at]!;
    if (char === "{") braces++;
    else if (char === "}") braces--;
    else if (QUOTES.includes(char)) {
      const end = endOfText(source, at, depth + 1);
      if (end === undefined) return undefined;
      at = end - 1;
    }
  }
  return at;
}

/** Words behind which a value begins. */
const BEFORE_VALUE = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "delete",
  "void",
  "throw",
  "new",
  "else",
  "do",
  "await",
  "yield",
]);

/** A slash divides behind a value, and begins a pattern everywhere else. */
function beginsRegex(tokens: readonly CodeToken[]): boolean {
  const last = tokens.findLast(({ kind }) => kind !== "comment");
  if (!last) return true;
  if (last.kind === "text") return false;
  if (last.kind === "word") return BEFORE_VALUE.has(last.text);
  return ![")", "]", "}"].includes(last.text);
}

function endOfRegex(source: string, start: number): number | undefined {
  let isInSet = false;
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at]!;
    if (char === "\n") return undefined;
    if (char === "\\") at++;
    else if (char === "[") isInSet = true;
    else if (char === "]") isInSet = false;
    else if (char === "/" && !isInSet) {
      return at + 1 + /^[a-z]*/.exec(source.slice(at + 1, at + 20))![0].length;
    }
  }
  return undefined;
}
