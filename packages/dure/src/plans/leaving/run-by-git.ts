import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fieldsOf } from "../workspace/listing.ts";
import type { Repository } from "../workspace/repository.ts";

/** Settings whose value git obeys as it lies: a file, or all files of a folder. */
const OBEYED =
  /^(?:core\.(?:hookspath|attributesfile)|init\.templatedir|include\.path|includeif\..*\.path)$/i;
/** Between the words of a command. */
const BETWEEN_WORDS = /[\s"'`;|&<>(){}=,!]+/;

interface Reader {
  /** Everything that dure was started with: it leads to the person's settings. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

interface Setting {
  readonly key: string;
  readonly value: string;
  /** The file that it stands in. */
  readonly origin: string;
}

interface Place {
  /** Absolute. */
  readonly at: string;
  /** All files below it count too. */
  readonly isWhole: boolean;
}

/**
 * Whether git itself runs or obeys a path of the repository, by the settings of the repository, the
 * person and the machine: a path that any setting names, as a file or within a command (filters,
 * drivers, aliases, helpers), and all that is below a folder of hooks.
 */
export async function runByGit(
  repository: Repository,
  reader: Reader,
): Promise<(file: string) => boolean> {
  const { root } = repository;
  const settings = await settingsOf(repository, reader);
  const home = reader.env["HOME"];
  const places = settings.flatMap((setting) => placesOf(setting, { root, home }));
  const exact = new Set<string>();
  const folders = new Set<string>();
  for (const { at, isWhole } of places) {
    const real = await realpath(at).catch(() => at);
    for (const place of [below(root, at), below(root, real)]) {
      // A file in place of a folder above it may be a link to another one.
      withParents(place).forEach((path) => exact.add(path));
      if (isWhole && place !== undefined) folders.add(`${place}/`);
    }
  }

  return (file) => {
    const name = file.toLowerCase();
    return exact.has(name) || [...folders].some((folder) => name.startsWith(folder));
  };
}

/** Pure. */
function withParents(place: string | undefined): readonly string[] {
  const parts = place?.split("/") ?? [];
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

async function settingsOf(
  { git, at }: Repository,
  { env, signal }: Reader,
): Promise<readonly Setting[]> {
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
  { key, value, origin }: Setting,
  { root, home }: { readonly root: string; readonly home: string | undefined },
): readonly Place[] {
  const isWhole = OBEYED.test(key);
  // What is included is named from the file of settings, all else from the root.
  const from = /^include/i.test(key) ? dirname(origin) : root;
  const words = isWhole ? [value] : [value, ...quotedIn(value), ...value.split(BETWEEN_WORDS)];
  const places = words.filter(Boolean).map((word) => ({ at: absolute(word, from, home), isWhole }));

  return [{ at: origin, isWhole: false }, ...places];
}

function absolute(word: string, from: string, home: string | undefined): string {
  const isOfHome = word.startsWith("~/") && home !== undefined;
  return isOfHome ? join(home, word.slice(2)) : resolve(from, word);
}

const quotedIn = (value: string): readonly string[] =>
  [...value.matchAll(/"([^"]+)"|'([^']+)'/g)].map(([, double, single]) => double ?? single!);

/** From the root of the repository, in small letters; undefined: it lies elsewhere. Pure. */
function below(root: string, at: string): string | undefined {
  const place = relative(root, at);
  if (place === "" || place.startsWith("..") || isAbsolute(place)) return undefined;

  return place.split(sep).join("/").toLowerCase();
}
