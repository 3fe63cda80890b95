/**
 * Reads TypeScript and JavaScript without a parser: comments, texts and regular expressions are
 * blanked out, brackets are matched, and words are looked for in what remains. Enough to find a key
 * in an object literal and a call in a function.
 */

/**
 * The source with every comment, text and regular expression replaced by blanks; offsets and lines
 * stay as they were.
 */
export function maskSource(source: string): string {
  return masksOf(source).code;
}

/** `code` as `maskSource` gives it; in `words` only comments are blank. */
function masksOf(source: string): { readonly code: string; readonly words: string } {
  const out = source.split("");
  const words = source.split("");
  const blank = (from: number, to: number, text = out): void => {
    for (let index = from; index < to; index++) if (text[index] !== "\n") text[index] = " ";
  };
  const blankComment = (from: number, to: number): void => {
    blank(from, to);
    blank(from, to, words);
  };
  /**
   * Where a template literal was left for the code inside `${}`: the bracket depth to come back at.
   */
  const templates: number[] = [];
  let depth = 0;
  let index = 0;
  while (index < source.length) {
    const char = source[index]!;
    const two = source.slice(index, index + 2);
    if (two === "//") {
      const end = endOr(source.indexOf("\n", index), source.length);
      blankComment(index, end);
      index = end;
    } else if (two === "/*") {
      const end = endOr(source.indexOf("*/", index + 2) + 2, source.length, 1);
      blankComment(index, end);
      index = end;
    } else if (char === '"' || char === "'") {
      const end = endOfText(source, index, char);
      blank(index, end);
      index = end;
    } else if (char === "`" || (char === "}" && templates.at(-1) === depth)) {
      if (char === "}") templates.pop();
      const { end, opens } = endOfTemplate(source, index + 1);
      blank(index, end);
      if (opens) templates.push(depth);
      index = end;
    } else if (char === "/" && startsRegExp(out, index)) {
      const end = endOfRegExp(source, index);
      blank(index, end);
      index = end;
    } else {
      if (char === "{") depth++;
      if (char === "}") depth--;
      index++;
    }
  }
  return { code: out.join(""), words: words.join("") };
}

/** 1-based line and column of an offset. */
export function positionAt(source: string, offset: number): { line: number; column: number } {
  const before = source.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/**
 * Offset just behind the bracket that closes the one at `open`; the end of the source when it is
 * never closed.
 */
export function closingOf(masked: string, open: number): number {
  let depth = 0;
  for (let index = open; index < masked.length; index++) {
    const char = masked[index]!;
    if ("([{".includes(char)) depth++;
    if (")]}".includes(char) && --depth === 0) return index + 1;
  }
  return masked.length;
}

/**
 * Where the key at the end of `path` stands in the object literal of `defineTeam({…})` or
 * `export default {…}`; of its nearest parent where it is not written out there. Undefined when
 * there is no such literal.
 */
export function keyPosition(
  source: string,
  path: readonly PropertyKey[],
): { line: number; column: number } | undefined {
  const { code: masked, words } = masksOf(source);
  const start = /\bdefineTeam\s*\(|\bexport\s+default\b/.exec(masked)?.index;
  let open = start === undefined ? -1 : masked.indexOf("{", start);
  if (open < 0) return undefined;
  let found = open;
  for (const segment of path) {
    const key = memberAt(words, masked, open, segment);
    if (key === undefined) break;
    found = key.at;
    if (key.value === undefined) break;
    open = key.value;
  }
  return positionAt(source, found);
}

/**
 * The member of the literal that opens at `open`: where it begins, and where the bracket of its
 * value opens, if it is a literal.
 */
function memberAt(
  source: string,
  masked: string,
  open: number,
  segment: PropertyKey,
): { at: number; value?: number | undefined } | undefined {
  const end = closingOf(masked, open) - 1;
  const isList = masked[open] === "[";
  let position = 0;
  for (let index = open + 1; index < end;) {
    const begin = skipBlanks(source, masked, index, end);
    let stop = begin;
    while (stop < end && masked[stop] !== ",") {
      stop = "([{".includes(masked[stop]!) ? closingOf(masked, stop) : stop + 1;
    }
    if (
      isList
        ? String(position) === String(segment)
        : nameAt(source, begin) === wordsOf(String(segment))
    ) {
      const colon = isList ? begin - 1 : masked.indexOf(":", begin);
      const value =
        colon >= 0 && colon < stop ? skipBlanks(source, masked, colon + 1, stop) : undefined;
      const opens = value !== undefined && (masked[value] === "{" || masked[value] === "[");
      return { at: begin, value: opens ? value : undefined };
    }
    position++;
    index = stop + 1;
  }
  return undefined;
}

/** The next place with something written: code, or a quoted key (blank in `masked`). */
function skipBlanks(source: string, masked: string, from: number, end: number): number {
  let index = from;
  while (index < end && masked[index]!.trim() === "" && !"\"'".includes(source[index]!)) index++;
  return index;
}

/** A key as both spellings have it: letters only, lower case. */
function nameAt(source: string, at: number): string {
  const match = /^(?:"([^"]*)"|'([^']*)'|([\p{ID_Start}$_][\p{ID_Continue}$]*))\s*[:,}(\n]?/u.exec(
    source.slice(at, at + 200),
  );
  return wordsOf(match?.[1] ?? match?.[2] ?? match?.[3] ?? "\0");
}

function wordsOf(key: string): string {
  return key.replaceAll("_", "").toLowerCase();
}

function endOr(found: number, otherwise: number, missing = -1): number {
  return found <= missing ? otherwise : found;
}

function endOfText(source: string, start: number, quote: string): number {
  let index = start + 1;
  while (index < source.length && source[index] !== quote && source[index] !== "\n") {
    index += source[index] === "\\" ? 2 : 1;
  }
  return Math.min(index + 1, source.length);
}

function endOfTemplate(source: string, start: number): { end: number; opens: boolean } {
  let index = start;
  while (index < source.length) {
    if (source[index] === "`") return { end: index + 1, opens: false };
    if (source.startsWith("${", index)) return { end: index + 2, opens: true };
    index += source[index] === "\\" ? 2 : 1;
  }
  return { end: source.length, opens: false };
}

/** A slash divides behind a value and begins a regular expression anywhere else. */
function startsRegExp(out: readonly string[], at: number): boolean {
  let index = at - 1;
  while (index >= 0 && out[index]!.trim() === "") index--;
  if (index < 0) return true;
  const before = out[index]!;
  if (/[\])}]/.test(before)) return false;
  if (!/[\p{ID_Continue}$]/u.test(before)) return true;
  let word = "";
  for (let letter = index; letter >= 0 && /[\p{ID_Continue}$]/u.test(out[letter]!); letter--) {
    word = out[letter]! + word;
  }
  return /^(return|typeof|case|in|of|do|else|void|delete|throw|new|yield|await)$/.test(word);
}

function endOfRegExp(source: string, start: number): number {
  let inClass = false;
  for (let index = start + 1; index < source.length && source[index] !== "\n"; index++) {
    const char = source[index]!;
    if (char === "\\") index++;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return index + 1;
  }
  return start + 1;
}
