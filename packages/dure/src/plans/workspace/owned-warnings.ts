/** What ports cannot change although their patterns say so: ignored paths, and names of no text. */

import { tmpdir } from "node:os";
import { expandBraces } from "../glob-text.ts";
import { globMatches, globOf } from "../glob.ts";
import type { Port } from "../plan.ts";
import { temporaryFolder } from "./files.ts";
import { IgnoreRules } from "./ignore-rules.ts";
import { listTree, type Listing } from "./listing.ts";
import { pathProblem, sayReason, type PathReason } from "../scope.ts";
import { isText, someOf, textOf, type PathKey } from "./paths.ts";
import type { Repository } from "./repository.ts";
import type { RepositoryWarning } from "./repository-warnings.ts";

/** Patterns that are asked about; a plan with more is not looked at to its end. */
const MAX_PATTERNS = 2_000;

/** Of which commit, and for which ports. */
interface OwnedOf {
  readonly commit: string;
  readonly ports: readonly Pick<Port, "id" | "owns" | "tests">[];
  readonly signal?: AbortSignal | undefined;
}

/** What a person should know of the paths that ports own. */
export async function ownedWarnings(
  repository: Repository,
  owned: OwnedOf,
): Promise<RepositoryWarning[]> {
  const { git, commonDir } = repository;
  const at = { cwd: commonDir, gitDir: commonDir };
  const { files: listing } = await listTree(git, at, owned.commit, { signal: owned.signal });

  return [...(await ignoredWarnings(repository, listing, owned)), ...nameWarnings(listing)];
}

/** Names that no pattern can speak of: they stay as they are. Pure. */
function nameWarnings(listing: Listing): RepositoryWarning[] {
  const byReason = new Map<PathReason, string[]>();
  for (const key of listing.keys()) {
    const because = isText(key) ? pathProblem(textOf(key)) : "broken-text";
    if (because) byReason.set(because, [...(byReason.get(because) ?? []), textOf(key)]);
  }

  return [...byReason].map(([because, paths]) => ({
    code: "NAMES_CLOSED",
    facts: { paths: paths.slice(0, 20), because },
    message: `No port can change ${someOf(paths)}: ${sayReason(because)}.`,
  }));
}

/**
 * What ports own and a `.gitignore` of the commit leaves out, with its line. A pattern of which the
 * commit has files in spite of that is not meant.
 */
async function ignoredWarnings(
  { git, commonDir }: Repository,
  listing: Listing,
  { ports, signal }: OwnedOf,
): Promise<RepositoryWarning[]> {
  const at = { cwd: commonDir, gitDir: commonDir };
  const files = [...listing.keys()].map(textOf);
  const asked = ports.flatMap(({ id, owns, tests }) =>
    [...owns, ...tests].map((pattern) => ({ port: id, pattern, example: exampleOf(pattern) })),
  );
  const few = asked.slice(0, MAX_PATTERNS);
  await using scratch = await temporaryFolder(tmpdir(), "dure-ignore-");
  await using rules = await IgnoreRules.open(git, at, { listing, scratch: scratch.path, signal });
  const keys = few.map(({ example }) => ({ key: keyOf(example), isFolder: false }));
  const ignored = await rules.ignored(keys);

  return few.flatMap(({ port, pattern, example }): RepositoryWarning[] => {
    const rule = ignored.get(keyOf(example));
    // Settings of this machine alone (.git/info/exclude) leave nothing out of a run's commits.
    if (!rule || !/(?:^|\/)\.gitignore$/.test(rule.file)) return [];
    const glob = globOf(pattern);
    if (files.some((path) => globMatches(glob, path))) return [];
    const by = `${rule.file}:${rule.line}`;
    const facts = { port, pattern, by, rule: rule.pattern };
    const message =
      `Port ${port} owns ${pattern}, which ${by} (${rule.pattern}) leaves out: ` +
      "no commit takes what is written there. Own another path, or change that line first.";
    return [{ code: "OWNED_IGNORED", facts, message }];
  });
}

/** A path that a pattern matches, as far as its folders are names. Pure. */
function exampleOf(pattern: string): string {
  const [first = pattern] = expandBraces(pattern) ?? [];
  return first.replace(/\*+|\?|\[[^\]]*\]/g, "x").replace(/\\(.)/g, "$1");
}

function keyOf(path: string): PathKey {
  return Buffer.from(path).toString("latin1") as PathKey;
}
