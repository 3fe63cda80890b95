/** Files by which git itself would run a command. */

import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fieldsOf } from "../workspace/listing.ts";
import type { Repository } from "../workspace/repository.ts";

/** Settings whose value git obeys as it lies: a file, or all files of a folder. */
const OBEYED =
  /^(?:core\.(?:hookspath|attributesfile)|init\.templatedir|include\.path|includeif\..*\.path)$/i;

interface CommandReader {
  /** Everything that dure was started with: it leads to the person's settings. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

interface GitSetting {
  readonly key: string;
  readonly value: string;
  /** The file that it stands in. */
  readonly origin: string;
}

interface CommandPlace {
  /** Absolute. */
  readonly at: string;
  /** All files below it count too. */
  readonly isWhole: boolean;
}

/**
 * Whether git itself runs or obeys a path of the repository, by the settings of the repository, the
 * person and the machine: a path that any setting names, as a file or within a command (filters,
 * drivers, aliases, helpers), and all that is below a folder of hooks. What such a file runs in its
 * turn is not followed.
 */
export async function runByGit(
  repository: Repository,
  reader: CommandReader,
): Promise<(file: string) => boolean> {
  const { root } = repository;
  const settings = await settingsOf(repository, reader);
  const home = reader.env["HOME"];
  const places = settings.flatMap((setting) => placesOf(setting, { root, home }));
  const [named, above, folders] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { at, isWhole } of places) {
    const real = await realpath(at).catch(() => at);
    for (const place of [below(root, at), below(root, real)]) {
      if (place === undefined) continue;
      named.add(place);
      // A file in place of a folder above it may be a link to another one.
      foldersAbove(place).forEach((path) => above.add(path));
      if (isWhole) folders.add(`${place}/`);
    }
  }

  return (file) => {
    const name = file.toLowerCase();
    const isNamed = [name, ...shortNamesOf(name)].some((path) => named.has(path));
    return isNamed || above.has(name) || [...folders].some((folder) => name.startsWith(folder));
  };
}

/** Pure. */
function foldersAbove(place: string): readonly string[] {
  const parts = place.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

async function settingsOf(
  { git, at }: Repository,
  { env, signal }: CommandReader,
): Promise<readonly GitSetting[]> {
  const listing = ["config", "--list", "-z", "--show-scope", "--show-origin", "--includes"];
  const { stdout } = await git.run(listing, { at, network: env, signal });
  // Three fields of each: scope, origin, key and value.
  const fields = fieldsOf(stdout).map((field) => Buffer.from(field, "latin1").toString());

  return fields.flatMap((scope, index) => {
    if (index % 3 !== 0 || scope === "command") return [];
    const [origin = "", entry = ""] = fields.slice(index + 1, index + 3);
    const [key = "", ...lines] = entry.split("\n");
    const file = resolve(at.cwd, origin.replace(/^file:/, ""));

    return [{ key, value: lines.join("\n"), origin: file }];
  });
}

/** Pure. */
function placesOf(
  { key, value, origin }: GitSetting,
  { root, home }: { readonly root: string; readonly home: string | undefined },
): readonly CommandPlace[] {
  const isObeyed = OBEYED.test(key);
  // What is included is named from the file of settings, all else from the root.
  const from = /^include/i.test(key) ? dirname(origin) : root;
  const paths = isObeyed ? [{ path: value, isWhole: true }] : pathsOfCommand(value);
  const places = paths
    .filter(({ path }) => path !== "")
    .map(({ path, isWhole }) => ({ at: absolute(path, from, home), isWhole }));

  return [{ at: origin, isWhole: false }, ...places];
}

function absolute(word: string, from: string, home: string | undefined): string {
  const isOfHome = word.startsWith("~/") && home !== undefined;
  return isOfHome ? join(home, word.slice(2)) : resolve(from, word);
}

/** From the root of the repository, in small letters; undefined: it lies elsewhere. Pure. */
function below(root: string, at: string): string | undefined {
  const place = relative(root, at);
  if (place === "" || place.startsWith("..") || isAbsolute(place)) return undefined;

  return place.split(sep).join("/").toLowerCase();
}

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
function pathsOfCommand(command: string): readonly CommandPath[] {
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
function shortNamesOf(file: string): readonly string[] {
  const bare = file.replace(/\.(?:[cm]?[jt]s|json|py|rb|sh|pl|php)$/, "");
  if (bare === file) return [];

  return [bare, bare.replace(/\/(?:index|__main__|__init__)$/, "")];
}
