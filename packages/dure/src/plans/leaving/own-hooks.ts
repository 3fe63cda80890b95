import path from "node:path";
import type { Repository } from "../workspace/repository.ts";

const SETTINGS = String.raw`^(core\.hookspath|include\.path|includeif\..*\.path)$`;

/**
 * Whether git itself runs or obeys a path of the repository, by the settings there: as a hook
 * (`core.hooksPath`), or as settings that it includes.
 */
export async function ownHooks(
  repository: Repository,
  signal: AbortSignal,
): Promise<(file: string) => boolean> {
  const { git, at, root } = repository;
  const call = { at, accept: [0, 1], signal };
  const found = await git.run(["config", "--local", "-z", "--get-regexp", SETTINGS], call);
  const common = await git.text(["rev-parse", "--path-format=absolute", "--git-common-dir"], {
    at,
    signal,
  });
  const named = found.stdout
    .toString()
    .split("\0")
    .flatMap((entry) => placeOf(entry, { root, common }) ?? []);

  return (file) => named.some((place) => file === place || file.startsWith(`${place}/`));
}

/** From the root of the repository; undefined: it lies elsewhere. Pure. */
function placeOf(
  entry: string,
  { root, common }: { readonly root: string; readonly common: string },
): string | undefined {
  const [key = "", value] = entry.split("\n", 2);
  if (value === undefined || value.startsWith("~")) return undefined;
  // What is included is named from the file of settings, hooks from the root.
  const from = key.startsWith("include") ? common : root;
  const place = path.relative(root, path.resolve(from, value));
  if (place === "" || place.startsWith("..") || path.isAbsolute(place)) return undefined;

  return place.split(path.sep).join("/");
}
