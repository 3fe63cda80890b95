/** What a task may change, guessed from its words and the files of its repository. */

export interface GuessedOwn {
  readonly own: readonly string[];
  /** The words that led there; none: it is where code usually stands. */
  readonly from: readonly string[];
}

/** Patterns that are proposed at most: more is no guess. */
const MAX_OWN = 4;
/** Files of a repository that are looked through. */
const MAX_PATHS = 100_000;
/** Where code stands, if nothing else is known. */
const USUAL = ["src", "lib", "app", "packages"];
/** Folders and files in which a task seldom writes. */
const PASSED_OVER =
  /(?:^|\/)(?:\.[^/]+|node_modules|vendor|dist|build|docs?|tests?|__tests__|spec)(?:\/|$)/i;
const TEST_FILE = /(?:[._-](?:test|spec)\.[a-z]+|(?:^|\/)test_[^/]+)$/i;
/** Words that name no part of a program. */
const COMMON = new Set(
  "add and all any are bug but can code fix file files for from has have into its let make mend new not now one out put src test tests that the them then they this use when where with write".split(
    " ",
  ),
);

/**
 * Files and folders that the words name; else those that are called like one of the words; else
 * where code usually stands. Undefined: nothing of that is there. Pure.
 */
export function guessOwn(words: string, paths: readonly string[]): GuessedOwn | undefined {
  const files = paths.slice(0, MAX_PATHS);
  const candidates = [namedIn(words, files), likeIn(words, files)];
  const found = candidates.find(({ own }) => own.length > 0 && own.length <= MAX_OWN);
  if (found !== undefined) return found;
  const usual = USUAL.find((folder) => files.some((file) => file.startsWith(`${folder}/`)));

  return usual === undefined ? undefined : { own: [`${usual}/**`], from: [] };
}

/** A path, or its end: `src/cart/total.ts`, `cart/total.ts`, `total.ts`, `src/cart`. */
function namedIn(words: string, files: readonly string[]): GuessedOwn {
  const tokens = words.match(/[\w@][\w@./-]*[\w/]/g) ?? [];
  const own = new Set<string>();
  const from = new Set<string>();
  for (const token of tokens.filter((one) => /[./]/.test(one))) {
    const bare = token.replace(/^\.?\/|\/$/g, "");
    const exact = files.filter((file) => file === bare);
    const ends = files.filter((file) => file.endsWith(`/${bare}`));
    const [file] = exact.length > 0 ? exact : ends.length === 1 ? ends : [];
    const isFolder = file === undefined && files.some((one) => one.startsWith(`${bare}/`));
    if (file === undefined && !isFolder) continue;
    own.add(escaped(file ?? bare) + (isFolder ? "/**" : ""));
    from.add(token);
  }

  return { own: [...own], from: [...from] };
}

/** The highest folders, else the files, that are called like a word. */
function likeIn(words: string, files: readonly string[]): GuessedOwn {
  const wanted = new Map(
    (words.toLowerCase().match(/[\p{L}\d]{3,}/gu) ?? [])
      .filter((word) => !COMMON.has(word))
      .map((word) => [stemOf(word), word]),
  );
  const folders = new Map<string, string>();
  const single = new Map<string, string>();
  for (const file of files) {
    if (PASSED_OVER.test(file) || TEST_FILE.test(file)) continue;
    const parts = file.split("/");
    const at = parts.slice(0, -1).findIndex((part) => wanted.has(stemOf(part.toLowerCase())));
    const [name = ""] = parts.at(-1)!.toLowerCase().split(".");
    const folder = parts.slice(0, at + 1).join("/");
    if (at >= 0) folders.set(`${escaped(folder)}/**`, wordOf(parts[at]!, wanted));
    else if (wanted.has(stemOf(name))) single.set(escaped(file), wordOf(name, wanted));
  }
  const found = folders.size > 0 ? folders : single;

  return { own: [...found.keys()], from: [...new Set(found.values())] };
}

function wordOf(part: string, wanted: ReadonlyMap<string, string>): string {
  return wanted.get(stemOf(part.toLowerCase()))!;
}

/** One of `prices` and `price`. */
function stemOf(word: string): string {
  return word.replace(/(?<=[a-z]{3})s$/, "");
}

/** As a pattern that means this path alone. */
function escaped(path: string): string {
  return path.replaceAll(/[\\*?[\]{}!]/g, "\\$&");
}
