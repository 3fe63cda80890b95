import { tokenize, type CodeToken } from "./typescript-tokens.ts";

/** A contract as a prompt shows it. */
export interface Signatures {
  readonly text: string;
  /**
   * `whole`: the file as it is, because its language is another one, it is short, or it could not
   * be read surely.
   */
  readonly form: "signatures" | "whole";
}

/** Files up to this many characters are shown whole: there is nothing to win. */
export const SHORT = 400;
/** Characters of a constant's value that is shown: a table of names fits, one of data does not. */
const MAX_VALUE = 600;

/**
 * The declarations of a TypeScript or JavaScript file without their bodies: types, interfaces and enums whole
 * (exported ones speak of the others), exported functions, classes and constants as signatures,
 * with their comments. Everything else is left out. What cannot be read is shown whole.
 */
export function signaturesOf(path: string, text: string): Signatures {
  if (!/\.[cm]?[jt]sx?$/.test(path) || text.length <= SHORT) return { text, form: "whole" };
  const tokens = tokenize(text);
  if (!tokens) return { text, form: "whole" };
  const shown = statementsOf(tokens).flatMap((statement) => {
    const signature = signatureOf(statement, text);
    return signature === undefined ? [] : [commentBefore(statement) + signature];
  });
  const short = `${shown.join("\n\n")}\n`;

  return shown.length > 0 && short.length < text.length
    ? { text: short, form: "signatures" }
    : { text, form: "whole" };
}

interface CodeStatement {
  /** Without comments. */
  readonly tokens: readonly CodeToken[];
  readonly comments: readonly CodeToken[];
}

const STATEMENT_WORDS = new Set([
  "export",
  "import",
  "function",
  "const",
  "let",
  "var",
  "class",
  "interface",
  "type",
  "enum",
  "declare",
  "abstract",
  "async",
  "namespace",
  "module",
  "if",
  "for",
  "await",
  "throw",
  "try",
]);
/** Behind these a statement is not at its end, whatever the line. */
const GOES_ON = new Set([
  "export",
  "default",
  "declare",
  "abstract",
  "async",
  "=",
  "=>",
  ",",
  ":",
  "|",
  "&",
  "?",
  "<",
  "extends",
  "implements",
  ".",
  "+",
  "(",
  "typeof",
  "keyof",
  "new",
  "await",
]);

function statementsOf(tokens: readonly CodeToken[]): CodeStatement[] {
  const statements: CodeStatement[] = [];
  let current: CodeToken[] = [];
  let comments: CodeToken[] = [];
  const end = (): void => {
    if (current.length === 0) return;
    statements.push({ tokens: current, comments });
    comments = [];
    current = [];
  };

  for (const token of tokens) {
    const isOver = !GOES_ON.has(current.at(-1)?.text ?? "");
    if (token.kind === "comment") {
      // Behind a statement on its line it belongs to that one; on a line of its own it begins the
      // next.
      const isOnItsOwn = token.depth === 0 && token.isFirst;
      if (isOnItsOwn && isOver) end();
      if (isOnItsOwn && current.length === 0) comments.push(token);
      continue;
    }
    if (isOver && beginsStatement(token)) end();
    current.push(token);
    if (token.depth === 0 && token.text === ";") end();
  }
  end();

  return statements;
}

function beginsStatement({ depth, isFirst, text }: CodeToken): boolean {
  return depth === 0 && isFirst && STATEMENT_WORDS.has(text);
}

/** Words before the one that names the kind of a statement. */
const MODIFIERS = new Set(["export", "default", "declare", "async", "abstract"]);
/** Kinds that have no body to leave out. */
const SHOWN_WHOLE = new Set(["import", "interface", "type", "enum", "namespace", "module"]);

/** Undefined: nothing that others can see. */
function signatureOf({ tokens }: CodeStatement, source: string): string | undefined {
  const words = tokens.slice(0, 6).filter(({ text }) => !MODIFIERS.has(text));
  const kind = words[0]?.text ?? "";
  const isConstEnum = kind === "const" && words[1]?.text === "enum";
  if (SHOWN_WHOLE.has(kind) || isConstEnum) return wholeOf(tokens, source);
  if (tokens[0]!.text !== "export") return undefined;

  switch (kind) {
    case "function":
      return functionOf(tokens, source);
    case "class":
      return classOf(tokens, source);
    case "const":
    case "let":
    case "var":
      return constantOf(tokens, source);
    case "{":
    case "*":
      return wholeOf(tokens, source);
    default:
      return defaultOf(tokens, source);
  }
}

/** A value that is the module's default. */
function defaultOf(tokens: readonly CodeToken[], source: string): string | undefined {
  const isDefault = tokens.some(({ text }) => text === "default");
  return isDefault ? cut(wholeOf(tokens, source)) : undefined;
}

function wholeOf(tokens: readonly CodeToken[], source: string): string {
  return source.slice(tokens[0]!.start, tokens.at(-1)!.end);
}

function functionOf(tokens: readonly CodeToken[], source: string): string {
  const body = bodyOf(tokens);
  if (body === undefined) return wholeOf(tokens, source);

  return declared(source.slice(tokens[0]!.start, tokens[body]!.start), ";");
}

/** `declare` where there is none, since what follows has no body. */
function declared(head: string, end: string): string {
  const plain = head
    .trimEnd()
    .replace(/^(export (?:default )?)(?:declare )?(?:async )?/, (_all, first: string) =>
      first.includes("default") ? first : `${first}declare `,
    );
  return `${plain}${end}`;
}

/** Behind these a brace opens a type. */
const BEFORE_TYPE = new Set([
  ":",
  "|",
  "&",
  "=>",
  "<",
  ",",
  "?",
  "(",
  "extends",
  "implements",
  "is",
  "keyof",
  "readonly",
  "=",
  "infer",
]);

/** The position of the brace that opens a body: the first one at the top that can be no type. */
function bodyOf(tokens: readonly CodeToken[]): number | undefined {
  const body = tokens.findIndex(
    ({ text, depth }, index) =>
      index > 0 && depth === 0 && text === "{" && !BEFORE_TYPE.has(tokens[index - 1]!.text),
  );

  return body < 0 ? undefined : body;
}

function constantOf(tokens: readonly CodeToken[], source: string): string {
  const whole = wholeOf(tokens, source);
  const isAtTop = (text: string) => (token: CodeToken) => token.depth === 0 && token.text === text;
  const equals = tokens.findIndex(isAtTop("="));
  if (equals < 0 || whole.length <= MAX_VALUE / 3) return whole;

  const isTyped = tokens.slice(0, equals).some(isAtTop(":"));
  if (isTyped) return declared(source.slice(tokens[0]!.start, tokens[equals]!.start), ";");
  const arrow = tokens.slice(equals).find(isAtTop("=>"));
  if (!arrow) return cut(whole);

  return `${source.slice(tokens[0]!.start, arrow.end)} undefined as never; // …`;
}

/** Of a long value only the beginning is shown, as a comment. */
function cut(whole: string): string {
  return whole.length <= MAX_VALUE
    ? whole
    : `/* ${whole.slice(0, MAX_VALUE).replaceAll("*/", "* /")} … */`;
}

function classOf(tokens: readonly CodeToken[], source: string): string {
  const body = bodyOf(tokens);
  if (body === undefined) return wholeOf(tokens, source);
  const close = tokens.findLastIndex(({ text, depth }) => text === "}" && depth === 0);
  const inside = tokens.slice(body + 1, close);
  const members: string[] = [];
  for (let index = 0; index < inside.length;) {
    const member = memberAt(inside, index);
    if (member.until !== undefined && !isHidden(inside, index)) {
      const text = memberText(source.slice(inside[index]!.start, member.until));
      if (text !== "") members.push(`  ${text.replace(/;$/, "")};`);
    }
    index = member.next;
  }

  return declared(
    source.slice(tokens[0]!.start, tokens[body]!.start),
    ` {\n${members.join("\n")}\n}`,
  );
}

/** One member of a class. */
interface ClassMember {
  /** The token with which the next one begins. */
  readonly next: number;
  /** Where its signature ends in the source; undefined: it has none. */
  readonly until: number | undefined;
}

function memberAt(tokens: readonly CodeToken[], start: number): ClassMember {
  let angles = 0;
  for (let index = start; index < tokens.length; index++) {
    const token = tokens[index]!;
    if (token.text === "<") angles++;
    else if (token.text === ">") angles--;
    if (token.depth !== 1) continue;

    if (token.text === ";") return { next: index + 1, until: token.start };
    if (token.text === "{" && (index === start || !BEFORE_TYPE.has(tokens[index - 1]!.text))) {
      return bodyMember(tokens, start, index);
    }
    // Inside of < > it is the default of a type parameter.
    if (token.text === "=" && angles === 0) {
      return { next: behind(tokens, index, ";") ?? tokens.length, until: token.start };
    }
  }

  return { next: tokens.length, until: tokens.at(-1)!.end };
}

/** A member with a body that opens at `brace`: a method, or a block that has no signature. */
function bodyMember(tokens: readonly CodeToken[], start: number, brace: number): ClassMember {
  const isStaticBlock = brace === start + 1 && tokens[start]!.text === "static";
  const isBlock = brace === start || isStaticBlock;

  return {
    // `tokenize` gave every brace its end.
    next: behind(tokens, brace, "}")!,
    until: isBlock ? undefined : tokens[brace]!.start,
  };
}

/** The position behind the next such token of a class's body. */
function behind(tokens: readonly CodeToken[], from: number, text: string): number | undefined {
  for (let index = from + 1; index < tokens.length; index++) {
    const token = tokens[index]!;
    if (token.depth === 1 && token.text === text) return index + 1;
  }

  return undefined;
}

function isHidden(tokens: readonly CodeToken[], start: number): boolean {
  if (/^#|^private$/.test(tokens[start]!.text)) return true;
  const first = tokens.slice(start, start + 4);

  return first.some(({ text, depth }) => depth === 1 && text.startsWith("#"));
}

/** Without what only a body allows: `async`, the star of a generator. */
function memberText(source: string): string {
  return source
    .trim()
    .replace(/^async /, "")
    .replace(/\basync (?=\*?\s*[\w$[])/, "")
    .replace(/^((?:static |override )*)\*/, "$1");
}

function commentBefore({ comments }: CodeStatement): string {
  const last = comments.findLast(({ text }) => text.startsWith("/**"));
  return last ? `${last.text}\n` : "";
}
