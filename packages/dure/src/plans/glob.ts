/**
 * Globs of ownership. One algorithm answers both "does this path match?" and "can one path match
 * both?", so that what the check of a plan calls disjoint is disjoint for the enforcement too.
 * (`path.matchesGlob` and the usual matchers answer the first only, leave out dot files, and follow
 * the case rules of the machine they run on.)
 *
 * - `*`: any run inside a segment, dot files included
 * - `?`: one character
 * - `**`: any number of segments, alone between slashes, at the end at least one
 * - `[a-z]`, `[!a]`, `{a,b}`
 * - `\`: takes the next character as it is
 */
import {
  type CharSet,
  expandBraces,
  MAX_ALTERNATIVES,
  only,
  readSegment,
  type Segment,
  splitSegments,
  STAR,
  unreadable,
} from "./glob-text.ts";

/**
 * Globs of ownership. One algorithm answers both "does this path match?" and "can one path match
 * both?", so that what the check of a plan calls disjoint is disjoint for the enforcement too.
 * (`path.matchesGlob` and the usual matchers answer the first only, leave out dot files, and follow
 * the case rules of the machine they run on.)
 *
 * - `*`: any run inside a segment, dot files included
 * - `?`: one character
 * - `**`: any number of segments, alone between slashes, at the end at least one
 * - `[a-z]`, `[!a]`, `{a,b}`
 * - `\`: takes the next character as it is
 */
export interface Glob {
  readonly text: string;
  /** One per combination of braces. */
  readonly alternatives: readonly GlobPath[];
}

/** Segments of a pattern; `**` stands for any number of them. */
export type GlobPath = readonly (typeof GLOBSTAR | Segment)[];

const GLOBSTAR = "**";

export type GlobReading =
  | { readonly ok: true; readonly glob: Glob }
  | { readonly ok: false; readonly message: string; readonly hint?: string };

/**
 * Reads a pattern. Pure. Patterns and paths are compared in Unicode normal form C: macOS writes names
 * decomposed, and git keeps them so.
 */
export function readGlob(written: string): GlobReading {
  const text = written.normalize("NFC");
  const failure = unreadable(text);
  if (failure) return { ok: false, ...failure };
  const expanded = expandBraces(text);
  if (expanded === undefined) {
    return {
      ok: false,
      message: "has a brace that is not closed",
      hint: "Write \\{ for the character itself.",
    };
  }
  if (expanded.length > MAX_ALTERNATIVES) {
    return {
      ok: false,
      message: `has more than ${MAX_ALTERNATIVES} combinations of braces`,
      hint: "Write several patterns.",
    };
  }
  const alternatives: GlobPath[] = [];
  for (const alternative of expanded) {
    const segments = splitSegments(alternative);
    if (segments.some((segment) => segment === "")) {
      return {
        ok: false,
        message: "has an empty segment",
        hint: 'A folder with all that is in it is "folder/**".',
      };
    }
    if (segments.some((segment) => segment === "." || segment === "..")) {
      return {
        ok: false,
        message: "has a segment . or ..",
        hint: "Write it from the root of the repository.",
      };
    }
    if (segments.some((segment) => segment !== GLOBSTAR && segment.includes(GLOBSTAR))) {
      return {
        ok: false,
        message: "has ** beside other characters",
        hint: "Write ** alone between slashes.",
      };
    }
    const read = segments.map((segment) =>
      segment === GLOBSTAR ? GLOBSTAR : readSegment(segment),
    );
    if (read.some((segment) => segment === undefined)) {
      return {
        ok: false,
        message: "has a [ that is not closed, or a range that runs backwards",
        hint: "Write \\[ for the character itself.",
      };
    }
    if (read.at(-1) === GLOBSTAR) read.push([STAR]);
    alternatives.push(read as GlobPath);
  }
  return { ok: true, glob: { text, alternatives } };
}

/** A pattern that was checked before. Throws `TypeError` when it was not. */
export function globOf(text: string): Glob {
  const reading = readGlob(text);
  if (!reading.ok) throw new TypeError(`"${text}" ${reading.message}`);
  return reading.glob;
}

/** The pattern that matches this path alone, whatever signs are in it. */
export function literalGlob(path: string): Glob {
  return { text: path, alternatives: [literalPath(path)] };
}

/** The pattern of all that is in a folder, whatever signs are in its name. */
export function folderGlob(folder: string): GlobPath {
  return [...(folder === "" ? [] : literalPath(folder)), GLOBSTAR, [STAR]];
}

function literalPath(path: string): Segment[] {
  const segments = path.normalize("NFC").split("/");
  return segments.map((segment) => Array.from(segment, (char) => only(char)));
}

export function globMatches(glob: Glob, path: string): boolean {
  return globsMeet(glob, literalGlob(path));
}

/** Whether some path matches both. */
export function globsMeet(a: Glob, b: Glob): boolean {
  return a.alternatives.some((one) => b.alternatives.some((other) => pathsMeet(one, other)));
}

export function pathsMeet(a: GlobPath, b: GlobPath): boolean {
  // Most pairs part at the root.
  const [first, other] = [a[0], b[0]];
  if (
    first !== undefined &&
    other !== undefined &&
    first !== GLOBSTAR &&
    other !== GLOBSTAR &&
    !segmentsMeet(first, other)
  ) {
    return false;
  }
  return sequencesMeet(
    a,
    b,
    (item) => item === GLOBSTAR,
    (one, other) => segmentsMeet(one as Segment, other as Segment),
  );
}

/** The segments before the first one that holds a wildcard, as text. */
export function literalPrefix(path: GlobPath): readonly string[] {
  const prefix: string[] = [];
  for (const segment of path) {
    if (
      segment === GLOBSTAR ||
      segment.some((item) => item === STAR || item.length !== 1 || item[0]![0] !== item[0]![1])
    ) {
      break;
    }
    prefix.push(segment.map((item) => String.fromCodePoint((item as CharSet)[0]![0])).join(""));
  }
  return prefix;
}

/**
 * Many patterns, found by the folders that they begin with: of thousands a path meets those few
 * that lie on its way. Pure.
 *
 * @returns the entries that may match a path, each once; whether they do is for the caller to ask.
 */
export function indexPatterns<Entry extends { readonly alternatives: readonly GlobPath[] }>(
  entries: Iterable<Entry>,
): (path: string) => readonly Entry[] {
  const byPrefix = new Map<string, Set<Entry>>();
  for (const entry of entries) {
    for (const alternative of entry.alternatives) {
      const prefix = literalPrefix(alternative).join("/");
      const there = byPrefix.get(prefix);
      if (there) there.add(entry);
      else byPrefix.set(prefix, new Set([entry]));
    }
  }
  return (path) => {
    const found = new Set(byPrefix.get(""));
    for (let end = path.indexOf("/"); ; end = path.indexOf("/", end + 1)) {
      for (const entry of byPrefix.get(end < 0 ? path : path.slice(0, end)) ?? []) found.add(entry);
      if (end < 0) return [...found];
    }
  };
}

/** A path or pattern as a file system sees it that tells neither case nor composition apart. */
export function foldPath(text: string): string {
  return text.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}

function segmentsMeet(a: Segment, b: Segment): boolean {
  // Without a run they meet character by character, and most pairs differ in the first one.
  if (!a.includes(STAR) && !b.includes(STAR)) {
    return (
      a.length === b.length &&
      a.every((item, index) => setsMeet(item as CharSet, b[index] as CharSet))
    );
  }
  return sequencesMeet(
    a,
    b,
    (item) => item === STAR,
    (one, other) => setsMeet(one as CharSet, other as CharSet),
  );
}

/**
 * Whether two sequences with runs (which stand for any number of items) have a common reading. Row
 * by row over both: lengths multiplied.
 */
function sequencesMeet<Item>(
  a: readonly Item[],
  b: readonly Item[],
  isRun: (item: Item) => boolean,
  meet: (a: Item, b: Item) => boolean,
): boolean {
  /** `reached[j]`: the first i items of a and the first j of b have a common reading. */
  let reached = Array.from<boolean>({ length: b.length + 1 }).fill(false);
  reached[0] = true;
  for (let j = 0; j < b.length && isRun(b[j]!); j++) reached[j + 1] = true;
  for (const item of a) {
    const next = Array.from<boolean>({ length: b.length + 1 }).fill(false);
    const runs = isRun(item);
    next[0] = runs && reached[0]!;
    for (let j = 0; j < b.length; j++) {
      const other = b[j]!;
      if (runs) next[j + 1] = reached[j + 1]! || next[j]!;
      if (isRun(other)) next[j + 1] ||= next[j]! || reached[j + 1]!;
      else if (!runs) next[j + 1] = reached[j]! && meet(item, other);
    }
    if (!next.includes(true)) return false;
    reached = next;
  }
  return reached[b.length]!;
}

function setsMeet(a: CharSet, b: CharSet): boolean {
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [from, to] = a[i]!;
    const [otherFrom, otherTo] = b[j]!;
    if (from <= otherTo && otherFrom <= to) return true;
    if (to < otherTo) i++;
    else j++;
  }
  return false;
}
