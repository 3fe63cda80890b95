/** A path from the root of the repository that a command of git's settings may run. */
interface CommandPath {
  readonly path: string;
  /** All files below it count too. */
  readonly isWhole: boolean;
}

/** Between the words of a command. */
const BETWEEN_WORDS = /[\s"'`;|&<>(){}=,!]+/;

/** Files that a program runs by itself, from the folder in which it is called. */
const RUN_BY: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    ["npm", "npx", "pnpm", "yarn", "bun", "bunx"].map((program) => [program, ["package.json"]]),
  ),
  make: ["GNUmakefile", "Makefile", "makefile"],
  just: ["justfile"],
};

/** Words before a folder in which the rest of a command is run. */
const INTO_FOLDER: ReadonlySet<string> = new Set(["cd", "-C", "--prefix", "--cwd"]);

/**
 * What a command names: whole, within quotes, by its words, by a module of Python, and what a
 * program or a folder stands for. Variables count as the root. Pure.
 */
export function pathsOfCommand(command: string): readonly CommandPath[] {
  const words = command.split(BETWEEN_WORDS).filter(Boolean);
  const named = [command, ...quotedIn(command), ...words].flatMap(fromRootToo);
  const run = words.flatMap((word) => RUN_BY[word] ?? []);
  const modules = wordsAfter(words, (word) => word === "-m").flatMap(packagesOf);
  const folders = wordsAfter(words, (word) => INTO_FOLDER.has(word)).flatMap(fromRootToo);

  return [
    ...[...named, ...run, ...modules].map((path) => ({ path, isWhole: false })),
    ...folders.map((path) => ({ path, isWhole: true })),
  ];
}

const quotedIn = (value: string): readonly string[] =>
  [...value.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, double, single]) => double ?? single!);

/** Behind a variable or a command in its place stands the root: `$PWD/bin`, `$(…)/bin`. Pure. */
function fromRootToo(word: string): readonly string[] {
  const [, below] = /^(?:\$\w+)?\/(.+)$/.exec(word) ?? [];
  return below === undefined ? [word] : [word, below];
}

function wordsAfter(
  words: readonly string[],
  isMeant: (word: string) => boolean,
): readonly string[] {
  return words.filter((_, index) => index > 0 && isMeant(words[index - 1]!));
}

/** Of `a.b` the packages `a` and `a/b`: both are run. Pure. */
function packagesOf(module: string): readonly string[] {
  const parts = module.split(".");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Names under which a program finds a file without saying all of its name. Pure. */
export function shortNamesOf(file: string): readonly string[] {
  const bare = file.replace(/\.(?:[cm]?[jt]s|json|py|rb|sh|pl|php)$/, "");
  if (bare === file) return [];

  return [bare, bare.replace(/\/(?:index|__main__|__init__)$/, "")];
}
