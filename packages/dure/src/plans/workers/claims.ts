/**
 * Where what a worker says it changed and what git found part. Paths from the root of the
 * repository, sorted.
 */
export interface ClaimDifference {
  /** Said to be changed, and not: the change failed, was undone, or was not taken. */
  readonly failedFiles: readonly string[];
  /** Changed, and not said. */
  readonly unclaimedFiles: readonly string[];
}

/** A program says nothing of single files. */
const SAYS_NOTHING: readonly (string | null)[] = ["command", null];

/**
 * Compares the claim of a worker with its changes. Pure. Undefined where nothing was claimed: by a
 * program, and by a worker that failed before it could.
 */
export function compareClaim(
  kind: string | null,
  { claimedFiles, error }: { readonly claimedFiles: readonly string[]; readonly error?: unknown },
  changes: readonly { readonly path: string }[],
): ClaimDifference | undefined {
  if (SAYS_NOTHING.includes(kind) || error !== undefined) return undefined;
  const claimed = new Set(claimedFiles.map((path) => path.replace(/^(?:\.\/)+/, "")));
  const changed = new Set(changes.map(({ path }) => path));
  return {
    failedFiles: [...claimed].filter((path) => !changed.has(path)).sort(),
    unclaimedFiles: [...changed].filter((path) => !claimed.has(path)).sort(),
  };
}
