import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fieldsOf } from "../workspace/listing.ts";
import { pathsOfCommand, shortNamesOf } from "./command-paths.ts";
import type { Repository } from "../workspace/repository.ts";

/** Settings whose value git obeys as it lies: a file, or all files of a folder. */
const OBEYED =
  /^(?:core\.(?:hookspath|attributesfile)|init\.templatedir|include\.path|includeif\..*\.path)$/i;

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
 * drivers, aliases, helpers), and all that is below a folder of hooks. What such a file runs in its
 * turn is not followed.
 */
export async function runByGit(
  repository: Repository,
  reader: Reader,
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
