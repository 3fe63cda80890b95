import { foldPath } from "../glob.ts";
import {
  decideRead,
  decideWrite,
  sayReason,
  type WorkerScope,
  type ScopeReason,
} from "../scope.ts";
import { sameEntry, type Listing, type TreeEntry } from "./listing.ts";
import { foldersAbove, isText, textOf, type PathKey } from "./paths.ts";
import { meets } from "./confined-paths.ts";
import type { Scan } from "./scan.ts";
import type { FoundPath, OddReason } from "./look-at.ts";

/** What a commit would take of a worker's files, and what not. */
export interface OwnedChanges {
  /** `entry` undefined: deleted. */
  readonly taken: readonly {
    readonly key: PathKey;
    readonly entry: TreeEntry | undefined;
    readonly kind: ChangeKind;
    readonly bytes: number;
  }[];
  readonly violations: readonly TreeViolation[];
}

export type ChangeKind = "new" | "modified" | "deleted";

export interface TreeViolation {
  /** For people: bytes that are no text are written `\xNN`. */
  readonly path: string;
  readonly because: ViolationReason;
}

export type ViolationReason = ScopeReason | OddReason | keyof typeof FILE_REASONS;

/** Source of all: docs/spec/plans §5. */
export interface CommitLimits {
  /** Changed paths of one commit. */
  readonly files: number;
  /** Of one file. */
  readonly fileBytes: number;
  /** Of all changed files of one commit. */
  readonly totalBytes: number;
}

/**
 * State that the setup of a tree left beside the commit: no change of the worker. `missing`: it took
 * the file away. `repository`: git's own files, or a repository as a whole.
 */
export type Residue = ReadonlyMap<PathKey, TreeEntry | "missing" | "repository">;

const FILE_REASONS = {
  "hard-link": "the file has a second name elsewhere, so what it holds may be another's",
  "link-outside": "the symbolic link leads out of the tree or into git's own files",
  "link-unreadable": "the symbolic link leads to what this worker must not read",
  "in-the-way":
    "a file stands where the path needs a folder, or the other way round, and it is another's",
  "too-many": "more paths changed than one commit takes",
  "too-large": "the file is larger than a commit takes",
  "total-too-large": "the changed files together are larger than a commit takes",
  "not-regular": "only files and symbolic links can be committed",
  "nested-repository":
    "this is a git repository of its own, which no commit takes; it is left out, all else is kept",
  "in-submodule": "the path lies in a submodule, whose content is not part of the plan",
  "other-device": "another file system is mounted here",
  unreadable: "the path cannot be read",
} as const;

export function sayViolation(reason: ViolationReason): string {
  return reason in FILE_REASONS
    ? FILE_REASONS[reason as keyof typeof FILE_REASONS]
    : sayReason(reason as ScopeReason);
}

/** Violations that are told at most; one flood of files is one mistake. */
const MAX_VIOLATIONS = 1_000;

/**
 * Decides about each difference between a worker's files and the commit that it started from. Pure.
 * Too many or too large: nothing is taken at all, since half a change is none.
 */
export function decideChanges(
  { found, isComplete }: Pick<Scan, "found" | "isComplete">,
  rules: ChangeRules,
): OwnedChanges {
  const { listing, scope, limits, residue = new Map() } = rules;
  const taken = new Map<PathKey, OwnedChanges["taken"][number]>();
  const violations: { key: PathKey; because: ViolationReason }[] = [];
  for (const one of found) {
    if (isResidue(one, residue)) continue;
    const because = refusal(one, scope, listing);
    if (because) violations.push({ key: one.key, because });
    else taken.set(one.key, changeOf(one, listing));
  }
  for (const { key, because } of collisions(taken, listing)) {
    taken.delete(key);
    violations.push({ key, because });
  }

  const changes = [...taken.values()];
  const refused = isComplete ? violations.length : Infinity;
  const tooMuch = beyondLimits(changes, refused, limits);
  const hasTooLarge = violations.some(({ because }) => because === "too-large");
  const told = violations
    .slice(0, MAX_VIOLATIONS)
    .map(({ key, because }) => ({ path: textOf(key), because }));
  return {
    taken: tooMuch.length > 0 || hasTooLarge ? [] : changes,
    violations: [...told, ...tooMuch],
  };
}

/** By what a difference is judged. */
export interface ChangeRules {
  /** Of the commit that the worker started from. */
  readonly listing: Listing;
  readonly scope: WorkerScope;
  readonly limits: CommitLimits;
  readonly residue?: Residue | undefined;
}

/**
 * Whether the content of a path is wanted at all; so what is another's is read, but not kept. Pure.
 */
export function mayTake(scope: WorkerScope, key: PathKey): boolean {
  return isText(key) && decideWrite(scope, textOf(key)).allowed;
}

/** Why a difference is not taken; undefined when it is. The first rule that applies wins. */
function refusal(
  one: FoundPath,
  scope: WorkerScope,
  listing: Listing,
): ViolationReason | undefined {
  if (!isText(one.key)) return "broken-text";
  const write = decideWrite(scope, textOf(one.key));
  if (isNestedInOwned(one, scope)) return "nested-repository";
  // The owner of the path is told what is odd about the file; every other worker, that the path is
  // not its own.
  const isGits = one.kind === "odd" && ["in-submodule", "git-internals"].includes(one.because);
  if (one.kind === "odd" && (write.allowed || isGits)) return one.because;
  if (!write.allowed) return write.because;
  if (listing.get(one.key)?.mode === "160000") return "in-submodule";
  if (one.kind === "file" && one.isHardLink) return "hard-link";
  if (one.kind !== "link") return undefined;
  if (!one.leadsTo.within) return "link-outside";
  return mayFollow(one.leadsTo, scope, listing) ? undefined : "link-unreadable";
}

/** The worker may write where the repository stands, or around it. */
function isNestedInOwned(one: FoundPath, scope: WorkerScope): boolean {
  if (!isNested(one)) return false;
  const around = one.key.slice(0, Math.max(0, one.key.lastIndexOf("/")));

  return meets(scope.writes, textOf(around as PathKey));
}

/** A link to a folder opens all that is in it. */
function mayFollow(
  end: { readonly key: PathKey; readonly isFolder: boolean },
  scope: WorkerScope,
  listing: Listing,
): boolean {
  const mayRead = (key: PathKey): boolean => isText(key) && decideRead(scope, textOf(key)).allowed;
  if (!end.isFolder) return mayRead(end.key);
  const inside = [...listing.keys()].filter(
    (key) => end.key === "" || key.startsWith(`${end.key}/`),
  );
  return inside.length > 0
    ? inside.every(mayRead)
    : mayRead(end.key) || mayRead(`${end.key}/x` as PathKey);
}

function changeOf(one: FoundPath, listing: Listing): OwnedChanges["taken"][number] {
  if (one.kind === "file" || one.kind === "link") {
    return {
      key: one.key,
      entry: one.entry,
      kind: listing.has(one.key) ? "modified" : "new",
      bytes: one.bytes,
    };
  }
  return { key: one.key, entry: undefined, kind: "deleted", bytes: 0 };
}

/** Git's own files below the root, or a repository without working files. */
export function isNested(one: FoundPath): boolean {
  return one.kind === "odd" && ["git-internals", "nested-repository"].includes(one.because);
}

/**
 * Of these violations those that cost more than their own path: a repository within what the worker
 * owns is left out, and that is all. Pure.
 */
export function isGrave({ because }: TreeViolation): boolean {
  return because !== "nested-repository";
}

function isResidue(one: FoundPath, residue: Residue): boolean {
  const left = residue.get(one.key);
  if (left === undefined) return false;
  if (one.kind === "missing") return left === "missing";
  if (left === "repository") return isNested(one);
  return left !== "missing" && one.entry !== undefined && sameEntry(left, one.entry);
}

/**
 * New paths that cannot stand beside what stays: a file where a folder must be, or a name that
 * differs by case alone.
 */
function collisions(
  taken: ReadonlyMap<PathKey, OwnedChanges["taken"][number]>,
  listing: Listing,
): { key: PathKey; because: ViolationReason }[] {
  const fresh = [...taken.values()].filter(({ kind }) => kind === "new").map(({ key }) => key);
  if (fresh.length === 0) return [];
  const isDeleted = (key: PathKey): boolean => taken.get(key)?.kind === "deleted";
  const { folders, spellings } = placesOf([...listing.keys()].filter((key) => !isDeleted(key)));
  const isFile = (folder: string): boolean =>
    listing.has(folder as PathKey) && !isDeleted(folder as PathKey);

  return fresh.flatMap((key): { key: PathKey; because: ViolationReason }[] => {
    const above = foldersAbove(key);
    if (folders.has(key) || above.some(isFile)) return [{ key, because: "in-the-way" }];
    for (const part of [...above, key]) {
      const spelling = spellings.get(fold(part));
      if (spelling !== undefined && spelling !== part) return [{ key, because: "case-variant" }];
      spellings.set(fold(part), part);
    }
    return [];
  });
}

/** The folders around paths, and how each path and folder is spelt, by its folded name. */
function placesOf(keys: readonly PathKey[]): {
  folders: Set<string>;
  spellings: Map<string, string>;
} {
  const folders = new Set<string>();
  const spellings = new Map<string, string>();
  for (const key of keys) {
    for (const folder of foldersAbove(key)) {
      if (folders.has(folder)) continue;
      folders.add(folder);
      spellings.set(fold(folder), folder);
    }
    spellings.set(fold(key), key);
  }
  return { folders, spellings };
}

function fold(key: string): string {
  return foldPath(textOf(key as PathKey));
}

function beyondLimits(
  taken: OwnedChanges["taken"],
  violations: number,
  limits: CommitLimits,
): TreeViolation[] {
  const bytes = taken.reduce((sum, change) => sum + change.bytes, 0);
  const beyond: TreeViolation[] = [];
  if (taken.length + violations > limits.files) beyond.push({ path: ".", because: "too-many" });
  if (bytes > limits.totalBytes) beyond.push({ path: ".", because: "total-too-large" });
  return beyond;
}
