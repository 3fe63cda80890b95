import type { EntryChange } from "../workspace/listing.ts";
import { changesIn, fieldsOf } from "../workspace/listing.ts";
import type { Repository } from "../workspace/repository.ts";

/** A path that a commit writes, among those that would leave. */
export interface LeavingFile extends EntryChange {
  readonly new: NonNullable<EntryChange["new"]>;
  readonly commit: string;
}

export interface OutgoingChange {
  /** Each content of each path once, the oldest commit first. */
  readonly files: readonly LeavingFile[];
  /** There is more than is looked at. */
  readonly isCut: boolean;
}

/** Commits of one result that are looked at. A result of 10,000 ports has some 20,000. */
const MAX_COMMITS = 50_000;
/** Output of git about them: some 500,000 changed paths. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Leaving {
  readonly commit: string;
  /** Commits that are at the target already; their histories stay out. */
  readonly known: readonly string[];
  readonly signal: AbortSignal;
}

/**
 * What commits bring that the target has not: also what one of them writes and a later one takes
 * away. Each is compared with its first parent: what comes from another one is in a commit of its
 * own.
 */
export async function outgoingFiles(
  { git, at }: Repository,
  { commit, known, signal }: Leaving,
): Promise<OutgoingChange> {
  const listing = ["rev-list", "--parents", `--max-count=${MAX_COMMITS + 1}`, commit];
  const listed = await git.text([...listing, "--not", ...known], { at, signal });
  const lines = listed.split("\n").filter(Boolean).toReversed();
  if (lines.length === 0) return { files: [], isCut: false };

  const pairs = lines.slice(-MAX_COMMITS).map((line) => line.split(" ").slice(0, 2).join(" "));
  const how = ["-r", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--no-ext-diff"];
  const { stdout, cut } = await git.run(["diff-tree", "--stdin", ...how], {
    at,
    input: `${pairs.join("\n")}\n`,
    outputBytes: MAX_BYTES,
    cut: true,
    signal,
  });

  return { files: writtenIn(fieldsOf(stdout)), isCut: cut || lines.length > MAX_COMMITS };
}

/** Fields of git: the id of a commit, then its changes. Pure. */
function writtenIn(fields: readonly string[]): LeavingFile[] {
  const files = new Map<string, LeavingFile>();
  let first = 0;
  while (first < fields.length) {
    const commit = fields[first]!;
    let end = first + 1;
    while (end < fields.length && fields[end]!.startsWith(":")) end += 2;
    for (const change of changesIn(fields.slice(first + 1, end))) {
      const written = change.new;
      if (written === undefined) continue;
      const name = `${written.mode} ${written.id} ${change.key}`;
      if (!files.has(name)) files.set(name, { ...change, new: written, commit });
    }
    first = end;
  }

  return [...files.values()];
}
