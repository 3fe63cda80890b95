/** A contract as a prompt shows it. */
export interface Signatures {
  readonly text: string;
  /**
   * `whole`: the file as it is, because its language is another one, it is short, or it could not
   * be read surely.
   */
  readonly form: "signatures" | "whole";
}

/**
 * Files up to this many characters are shown whole: there is nothing to win. Source: our choice.
 */
const SHORT = 400;
/**
 * Characters of a constant's value that is shown. Source: our choice; a table of names fits, a
 * table of data does not.
 */
const MAX_VALUE = 600;

/**
 * The declarations of a TypeScript file without their bodies: types, interfaces and enums whole
 * (exported ones speak of the others), exported functions, classes and constants as signatures,
 * with their comments. Everything else is left out.
 *
 * It reads tokens and brackets, not the whole grammar, so that no compiler is needed where dure
 * runs; what does not come out even is shown whole.
 */
export function signaturesOf(path: string, text: string): Signatures {
  if (!/\.[cm]?tsx?$/.test(path) || text.length <= SHORT) return { text, form: "whole" };
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

interface Token {
  readonly kind: "word" | "mark" | "text" | "comment";
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Open brackets around it; a bracket itself stands at the depth of what is around the pair. */
  readonly depth: number;
  /** The first token of its line. */
  readonly isFirst: boolean;
}

interface Statement {
  /** Without comments. */
  readonly tokens: readonly Token[];
  readonly comments: readonly Token[];
}

/** Undefined when brackets or texts do not come out even. */
function tokenize(source: string): Token[] | undefined {
  const tokens: Token[] = [];
  const open: string[] = [];
  let isFirst = true;
  let at = 0;
  const put = (kind: Token["kind"], end: number, depth = open.length): void => {
    tokens.push({ kind, text: source.slice(at, end), start: at, end, depth, isFirst });
    isFirst = false;
    at = end;
  };
  while (at < source.length) {
    const char = source[at]!;
    if (char === "\n") isFirst = true;
    if (/\s/.test(char)) at++;
    else if (source.startsWith("//", at)) {
      put("comment", endOr(source.indexOf("\n", at), source.length));
    } else if (source.startsWith("/*", at)) {
      const end = source.indexOf("*/", at + 2);
      if (end < 0) return undefined;
      put("comment", end + 2);
    } else if (char === '"' || char === "'" || char === "`") {
      const end = endOfText(source, at);
      if (end === undefined) return undefined;
      put("text", end);
    } else if (char === "/" && beginsRegex(tokens)) {
      const end = endOfRegex(source, at);
      if (end === undefined) return undefined;
      put("text", end);
    } else if (/[\p{L}\p{N}_$#]/u.test(char)) {
      put("word", at + /^[\p{L}\p{N}_$#]+/u.exec(source.slice(at, at + 500))![0].length);
    } else if ("([{".includes(char)) {
      put("mark", at + 1);
      open.push({ "(": ")", "[": "]", "{": "}" }[char]!);
    } else if (")]}".includes(char)) {
      if (open.pop() !== char) return undefined;
      put("mark", at + 1);
    } else {
      put("mark", at + (source.startsWith("=>", at) ? 2 : source.startsWith("...", at) ? 3 : 1));
    }
  }
  return open.length === 0 ? tokens : undefined;
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

function statementsOf(tokens: readonly Token[]): Statement[] {
  const statements: Statement[] = [];
  let current: Token[] = [];
  let comments: Token[] = [];
  const end = (): void => {
    if (current.length > 0) statements.push({ tokens: current, comments });
    if (current.length > 0) comments = [];
    current = [];
  };
  for (const token of tokens) {
    if (token.depth === 0 && token.kind === "comment") {
      // Behind a statement on its line it belongs to that one; on a line of its own it begins the
      // next.
      if (token.isFirst) {
        if (!GOES_ON.has(current.at(-1)?.text ?? "")) end();
        if (current.length === 0) comments.push(token);
      }
      continue;
    }
    if (token.kind === "comment") continue;
    if (
      token.depth === 0 &&
      token.isFirst &&
      STATEMENT_WORDS.has(token.text) &&
      !GOES_ON.has(current.at(-1)?.text ?? "")
    ) {
      end();
    }
    current.push(token);
    if (token.depth === 0 && token.text === ";") end();
  }
  end();
  return statements;
}

/** Undefined: nothing that others can see. */
function signatureOf({ tokens }: Statement, source: string): string | undefined {
  const isExported = tokens[0]!.text === "export";
  const words = tokens.filter(
    ({ text }, index) =>
      index < 6 && !["export", "default", "declare", "async", "abstract"].includes(text),
  );
  const kind = words[0]?.text ?? "";
  const whole = source.slice(tokens[0]!.start, tokens.at(-1)!.end);
  if (
    ["import", "interface", "type", "enum", "namespace", "module"].includes(kind) ||
    (kind === "const" && words[1]?.text === "enum")
  ) {
    return whole;
  }
  if (!isExported) return undefined;
  switch (kind) {
    case "function": {
      const body = bodyOf(tokens, 0);
      return body === undefined
        ? whole
        : declared(source.slice(tokens[0]!.start, tokens[body]!.start), ";");
    }
    case "class":
      return classOf(tokens, source);
    case "const":
    case "let":
    case "var":
      return constantOf(tokens, whole, source);
    case "{":
    case "*":
      return whole;
    default:
      return tokens.some(({ text }) => text === "default") ? cut(whole) : undefined;
  }
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

/** The position of the brace that opens a body: the first one at this depth that can be no type. */
function bodyOf(tokens: readonly Token[], depth: number, from = 0): number | undefined {
  for (let index = from + 1; index < tokens.length; index++) {
    const { text, depth: at } = tokens[index]!;
    if (text === "{" && at === depth && !BEFORE_TYPE.has(tokens[index - 1]!.text)) return index;
  }
  return undefined;
}

function constantOf(tokens: readonly Token[], whole: string, source: string): string {
  const isAtTop = (text: string) => (token: Token) => token.depth === 0 && token.text === text;
  const equals = tokens.findIndex(isAtTop("="));
  if (equals < 0 || whole.length <= MAX_VALUE / 3) return whole;
  const isTyped = tokens.slice(0, equals).some(isAtTop(":"));
  if (isTyped) return declared(source.slice(tokens[0]!.start, tokens[equals]!.start), ";");
  const arrow = tokens.findIndex(
    (token, index) => index > equals && token.depth === 0 && token.text === "=>",
  );
  if (arrow > 0) {
    return `${source.slice(tokens[0]!.start, tokens[arrow]!.end)} undefined as never; // …`;
  }
  return cut(whole);
}

/** A value that is long is told by its beginning, as a comment would. */
function cut(whole: string): string {
  return whole.length <= MAX_VALUE
    ? whole
    : `/* ${whole.slice(0, MAX_VALUE).replaceAll("*/", "* /")} … */`;
}

function classOf(tokens: readonly Token[], source: string): string {
  const body = bodyOf(tokens, 0);
  if (body === undefined) return source.slice(tokens[0]!.start, tokens.at(-1)!.end);
  const members: string[] = [];
  const inside = tokens.slice(
    body + 1,
    tokens.findLastIndex(({ text, depth }) => text === "}" && depth === 0),
  );
  for (let index = 0; index < inside.length;) {
    const { end, signature } = memberAt(inside, index, source);
    if (signature !== undefined) members.push(`  ${signature}`);
    index = end;
  }
  return declared(
    source.slice(tokens[0]!.start, tokens[body]!.start),
    ` {\n${members.join("\n")}\n}`,
  );
}

/** One member of a class, and where the next one begins. */
function memberAt(
  tokens: readonly Token[],
  start: number,
  source: string,
): { end: number; signature: string | undefined } {
  const isHidden =
    /^#|^private$/.test(tokens[start]!.text) ||
    tokens.slice(start, start + 4).some(({ text, depth }) => depth === 1 && text.startsWith("#"));
  const signature = (until: number): string | undefined => {
    const text = source
      .slice(tokens[start]!.start, until)
      .trim()
      .replace(/^async /, "")
      .replace(/\basync (?=\*?\s*[\w$[])/, "")
      .replace(/^((?:static |override )*)\*/, "$1");
    return isHidden || text === "" ? undefined : `${text.replace(/;$/, "")};`;
  };
  for (let index = start; index < tokens.length; index++) {
    const token = tokens[index]!;
    if (token.depth !== 1) continue;
    if (token.text === ";") return { end: index + 1, signature: signature(token.start) };
    if (token.text === "{" && !(index > start && BEFORE_TYPE.has(tokens[index - 1]!.text))) {
      const close = tokens.findIndex(
        (one, position) => position > index && one.depth === 1 && one.text === "}",
      );
      const isBlock = index === start || (index === start + 1 && tokens[start]!.text === "static");
      return { end: close + 1, signature: isBlock ? undefined : signature(token.start) };
    }
    // Inside of < > it is the default of a type parameter.
    const angles = tokens
      .slice(start, index)
      .reduce((open, { text }) => open + (text === "<" ? 1 : text === ">" ? -1 : 0), 0);
    if (token.text === "=" && angles === 0) {
      const close = tokens.findIndex(
        (one, position) => position > index && one.depth === 1 && one.text === ";",
      );
      return { end: close < 0 ? tokens.length : close + 1, signature: signature(token.start) };
    }
  }
  return { end: tokens.length, signature: signature(tokens.at(-1)!.end) };
}

function commentBefore({ comments }: Statement): string {
  const last = comments.findLast(({ text }) => text.startsWith("/**"));
  return last ? `${last.text}\n` : "";
}

function endOr(index: number, otherwise: number): number {
  return index < 0 ? otherwise : index;
}

/** The position behind a text that begins here; templates may hold code that holds texts. */
function endOfText(source: string, start: number): number | undefined {
  const quote = source[start]!;
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at]!;
    if (char === "\\") at++;
    else if (char === quote) return at + 1;
    else if (char === "\n" && quote !== "`") return undefined;
    else if (quote === "`" && char === "$" && source[at + 1] === "{") {
      let depth = 1;
      for (at += 2; at < source.length && depth > 0; at++) {
        const inner = source[at]!;
        if (inner === "{") depth++;
        else if (inner === "}") depth--;
        else if (inner === '"' || inner === "'" || inner === "`") {
          const end = endOfText(source, at);
          if (end === undefined) return undefined;
          at = end - 1;
        }
      }
      at--;
    }
  }
  return undefined;
}

/** A slash divides behind a value, and begins a pattern everywhere else. */
function beginsRegex(tokens: readonly Token[]): boolean {
  const last = tokens.findLast(({ kind }) => kind !== "comment");
  if (!last || last.kind === "text") return !last;
  if (last.kind === "word") {
    return [
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
    ].includes(last.text);
  }
  return ![")", "]", "}"].includes(last.text);
}

function endOfRegex(source: string, start: number): number | undefined {
  let inSet = false;
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at]!;
    if (char === "\n") return undefined;
    if (char === "\\") at++;
    else if (char === "[") inSet = true;
    else if (char === "]") inSet = false;
    else if (char === "/" && !inSet) {
      return at + 1 + /^[a-z]*/.exec(source.slice(at + 1, at + 20))![0].length;
    }
  }
  return undefined;
}
