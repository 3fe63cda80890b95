export type Segment = readonly (typeof STAR | CharSet)[];
/** Inclusive ranges of code points, sorted, apart from each other. */
export type CharSet = readonly (readonly [number, number])[];
export const STAR = "*";
const ANY_CHAR: CharSet = [[0, 0x10ffff]];

/** Combinations of braces in one pattern. */
export const MAX_ALTERNATIVES = 64;
/** Characters of one pattern or path. Linux takes paths up to 4,096 bytes. */
export const MAX_PATH_LENGTH = 1_024;

export function unreadable(text: string): { message: string; hint?: string } | undefined {
  if (text === "") return { message: "is empty" };
  if (text.length > MAX_PATH_LENGTH) {
    return { message: `is longer than ${MAX_PATH_LENGTH} characters` };
  }
  if (/\p{Cc}/u.test(text)) return { message: "has a control character" };
  if (text.startsWith("/") || /^[A-Za-z]:/.test(text)) {
    return { message: "is absolute", hint: "Write it from the root of the repository." };
  }
  if (text.startsWith("!")) {
    return { message: "begins with !", hint: "Patterns only add; name what is meant." };
  }
  if (/(?<!\\)(?:\\\\)*[?*+@!]\(/.test(text)) {
    return {
      message: "has an extended pattern such as +(…)",
      hint: "Known are * ? ** [a-z] {a,b}.",
    };
  }
  if (/(?:^|[^\\])(?:\\\\)*\\$/.test(text)) {
    return { message: "ends with a \\", hint: "Segments are parted by /." };
  }
  if (/(?:^|\/)\.git(?:\/|$)/i.test(text)) {
    return { message: "reaches into .git", hint: "Git's own files have no owner." };
  }
  return undefined;
}

/** `a{b,c}` as `ab`, `ac`; undefined when a brace is not closed. Stops soon after the bound. */
/** A text as the texts that its braces stand for; undefined where one is not closed. Pure. */
export function expandBraces(text: string): string[] | undefined {
  const open = indexOutside(text, "{", 0);
  if (open < 0) return [text];
  const parts: string[] = [];
  let depth = 0;
  let begin = open + 1;
  for (let index = open; index < text.length; index++) {
    const char = text[index]!;
    if (char === "\\") index++;
    else if (char === "{") depth++;
    else if (char === "," && depth === 1) {
      parts.push(text.slice(begin, index));
      begin = index + 1;
    } else if (char === "}" && --depth === 0) {
      parts.push(text.slice(begin, index));
      const expanded: string[] = [];
      for (const part of parts) {
        const rest = expandBraces(`${part}${text.slice(index + 1)}`);
        if (rest === undefined) return undefined;
        for (const one of rest) expanded.push(`${text.slice(0, open)}${one}`);
        if (expanded.length > MAX_ALTERNATIVES) return expanded;
      }
      return expanded;
    }
  }
  return undefined;
}

function indexOutside(text: string, char: string, from: number): number {
  for (let index = from; index < text.length; index++) {
    if (text[index] === "\\") index++;
    else if (text[index] === char) return index;
  }
  return -1;
}

/** A slash parts segments also where it stands in brackets. */
export function splitSegments(pattern: string): string[] {
  return pattern.split("/");
}

export function readSegment(text: string): Segment | undefined {
  const items: (typeof STAR | CharSet)[] = [];
  const chars = Array.from(text);
  for (let index = 0; index < chars.length; index++) {
    const char = chars[index]!;
    if (char === "\\") items.push(only(chars[++index] ?? "\\"));
    else if (char === "*") items.push(STAR);
    else if (char === "?") items.push(ANY_CHAR);
    else if (char === "[") {
      const end = closingBracket(chars, index);
      const set = end === undefined ? undefined : readSet(chars.slice(index + 1, end));
      if (set === undefined) return undefined;
      items.push(set);
      index = end!;
    } else items.push(only(char));
  }
  return items;
}

/** `]` directly behind `[` or `[!` is a character. */
function closingBracket(chars: readonly string[], open: number): number | undefined {
  let index = open + 1;
  if (chars[index] === "!" || chars[index] === "^") index++;
  for (index++; index < chars.length; index++) {
    if (chars[index] === "\\") index++;
    else if (chars[index] === "]") return index;
  }
  return undefined;
}

function readSet(chars: readonly string[]): CharSet | undefined {
  const isNegated = chars[0] === "!" || chars[0] === "^";
  const members = isNegated ? chars.slice(1) : chars;
  const ranges: [number, number][] = [];
  for (let index = 0; index < members.length; index++) {
    if (members[index] === "\\") index++;
    const from = members[index]?.codePointAt(0);
    if (from === undefined) return undefined;
    let to = from;
    if (members[index + 1] === "-" && index + 2 < members.length) {
      index += 2;
      if (members[index] === "\\") index++;
      to = members[index]?.codePointAt(0) ?? -1;
      if (to < from) return undefined;
    }
    ranges.push([from, to]);
  }
  const merged = mergeRanges(ranges);
  return isNegated ? complement(merged) : merged;
}

function mergeRanges(ranges: readonly [number, number][]): [number, number][] {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function complement(ranges: readonly [number, number][]): CharSet {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of ranges) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= 0x10ffff) rest.push([next, 0x10ffff]);
  return rest;
}

export function only(char: string): CharSet {
  const code = char.codePointAt(0)!;
  return [[code, code]];
}
