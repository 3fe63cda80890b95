import type { OnViolation } from "../kernel/plans.ts";
import {
  foldPath,
  globMatches,
  globOf,
  indexPatterns,
  literalGlob,
  readGlob,
  type Glob,
} from "./glob.ts";
import { MAX_PATH_LENGTH } from "./glob-text.ts";

/**
 * What one worker of a port may touch, from the plan. Patterns as in glob.ts, from the root of the
 * repository.
 */
export interface ScopeInput {
  /** What it may write: `owns` for the implementer, `tests` for the tester. */
  readonly writes: readonly string[];
  /** Taken out of `writes`: the other member's `tests`. */
  readonly exceptions?: readonly string[] | undefined;
  /** What it may read beside what it may write and the contracts. */
  readonly reads: readonly string[];
  /** What it may read because its role gets it; without `but`, which the role does not get. */
  readonly byRole?: PatternsBut | undefined;
  /** What it must not read or write, whatever else allows it. */
  readonly forbidden?: readonly string[] | undefined;
  /** Paths that every worker may read and only the orchestrator may write. */
  readonly contracts: readonly string[];
  /**
   * Taken out of `writes`, but for those that `but` names: what the orchestrator changes at the
   * merge.
   */
  readonly orchestrators?: PatternsBut | undefined;
  /** Taken out of `writes`, but for those that `but` names: what a person's tools run. */
  readonly tools?: PatternsBut | undefined;
  /** Whether the second request outside of it ends the worker. Default `stop`. */
  readonly onViolation?: OnViolation | undefined;
  /**
   * Other ports' paths and what its role does not get: hidden from the worker's processes too,
   * unless it may read them.
   */
  readonly withheld?: readonly string[] | undefined;
  /**
   * Whether it may read all that its processes see, so that requests and mounts agree. Default no:
   * what it is given alone.
   */
  readonly readsVisible?: boolean | undefined;
  /** What the ports own that it depends on: shown to it first. */
  readonly dependencies?: readonly string[] | undefined;
  /** Seen by processes although it may be withheld: what they build and test with. */
  readonly needed?: readonly string[] | undefined;
}

export interface PatternsBut {
  readonly patterns: readonly string[];
  readonly but: readonly string[];
}

/**
 * A scope whose patterns are compiled: as written, and as a file system sees them that does not
 * tell case apart.
 */
export interface WorkerScope {
  readonly writes: readonly FoldedGlob[];
  readonly exceptions: readonly FoldedGlob[];
  readonly reads: readonly FoldedGlob[];
  readonly byRole: GlobsBut | undefined;
  readonly forbidden: readonly FoldedGlob[];
  readonly contracts: readonly FoldedGlob[];
  readonly orchestrators: GlobsBut | undefined;
  readonly tools: GlobsBut | undefined;
  readonly onViolation: OnViolation;
  readonly readsVisible: boolean;
  /**
   * Folded patterns that may match a folded path: a plan may have thousands. Undefined: nothing is
   * withheld.
   */
  readonly withheld: ((foldedPath: string) => readonly Glob[]) | undefined;
  /** As `withheld`, as written. */
  readonly needed: ((path: string) => readonly Glob[]) | undefined;
}

interface GlobsBut {
  readonly globs: readonly FoldedGlob[];
  readonly but: readonly FoldedGlob[];
}

interface FoldedGlob {
  readonly exact: Glob;
  readonly folded: Glob;
}

/** Why a path cannot be spoken of at all, in words for a person. */
export const PATH_REASONS = {
  empty: "the path is empty",
  "too-long": `the path is longer than ${MAX_PATH_LENGTH} characters`,
  absolute: "the path does not begin at the root of the repository",
  "empty-segment": "the path has an empty segment",
  "dot-segment": "the path has a segment . or ..",
  "control-character": "the path has a sign that turns the direction of what follows, or NUL",
  "broken-text": "the path holds half a character",
  "git-internals": "git's own files are neither written nor read",
} as const;

const SCOPE_REASONS = {
  owned: "the path is this worker's own",
  contract: "the path is a contract: everybody reads it, the orchestrator writes it",
  orchestrators: [
    "the path is needed by all: the orchestrator changes it at the merge,",
    "and takes requests (request_access)",
  ].join(" "),
  "persons-tools": [
    "a person's tools run what stands there, outside of every sandbox:",
    "a port owns it where its plan names it",
  ].join(" "),
  "others-tests": "the path belongs to the other member of the pair",
  forbidden: "the path is forbidden to this worker",
  "case-variant":
    "on a file system that does not tell case apart the path is another's, or its own under another spelling",
  readable: "the path is in what this worker may read",
  "not-owned": "the path is not this worker's own",
  "not-readable": "the path is outside of what this worker may read",
} as const;

export type PathReason = keyof typeof PATH_REASONS;
export type ScopeReason = keyof typeof SCOPE_REASONS | PathReason;

/** `because` is stored with a violation and shown; `sayReason` puts it in words. */
export interface ScopeDecision {
  readonly allowed: boolean;
  readonly because: ScopeReason;
}

export interface RenameDecision extends ScopeDecision {
  /** The end that was refused. */
  readonly at?: "from" | "to";
}

export function sayReason(reason: ScopeReason): string {
  return { ...PATH_REASONS, ...SCOPE_REASONS }[reason];
}

/**
 * Compiles patterns that the check of a plan has accepted. Throws `TypeError` for one that it has
 * not.
 */
export function makeScope(input: ScopeInput): WorkerScope {
  const compile = (patterns: readonly string[] = []): FoldedGlob[] =>
    patterns.map((pattern) => ({ exact: globOf(pattern), folded: foldedGlob(pattern) }));
  const compileBut = (given: PatternsBut | undefined): GlobsBut | undefined =>
    given && { globs: compile(given.patterns), but: compile(given.but) };
  return {
    writes: compile(input.writes),
    exceptions: compile(input.exceptions),
    reads: compile(input.reads),
    byRole: compileBut(input.byRole),
    forbidden: compile(input.forbidden),
    contracts: input.contracts.map((path) => ({
      exact: literalGlob(path),
      folded: literalGlob(foldPath(path)),
    })),
    orchestrators: compileBut(input.orchestrators),
    tools: compileBut(input.tools),
    onViolation: input.onViolation ?? "stop",
    readsVisible: input.readsVisible === true,
    withheld: input.withheld?.length
      ? indexPatterns([...new Set(input.withheld)].map((pattern) => foldedGlob(pattern)))
      : undefined,
    needed: input.needed?.length
      ? indexPatterns([...new Set(input.needed)].map((pattern) => globOf(pattern)))
      : undefined,
  };
}

/**
 * Whether a worker may write, create or delete a path. Pure; the first rule that applies wins. The
 * path is posix, from the root of the repository. Symbolic links are for the caller to resolve:
 * where the real path differs, both are asked. What refuses is compared without case, what allows
 * with it, so that no spelling gets around a refusal. Source: docs/spec/plans §5.
 */
export function decideWrite(scope: WorkerScope, path: string): ScopeDecision {
  const problem = pathProblem(path);
  if (problem) return { allowed: false, because: problem };
  const folded = foldPath(path);
  if (refuses(scope.contracts, folded)) return { allowed: false, because: "contract" };
  if (refuses(scope.exceptions, folded)) return { allowed: false, because: "others-tests" };
  if (refuses(scope.forbidden, folded)) return { allowed: false, because: "forbidden" };
  const isTakenOut = (some: GlobsBut | undefined): boolean =>
    some !== undefined && refuses(some.globs, folded) && !allows(some.but, path);
  if (isTakenOut(scope.orchestrators)) return { allowed: false, because: "orchestrators" };
  if (isTakenOut(scope.tools) && refuses(scope.writes, folded)) {
    return { allowed: false, because: "persons-tools" };
  }
  if (allows(scope.writes, path)) return { allowed: true, because: "owned" };
  return { allowed: false, because: refuses(scope.writes, folded) ? "case-variant" : "not-owned" };
}

/**
 * Whether a worker may read a path. As `decideWrite`; a contract is readable even where a pattern
 * forbids its folder. Where all that is seen may be read, nothing else is refused than what
 * `isHiddenFrom` hides.
 */
export function decideRead(scope: WorkerScope, path: string): ScopeDecision {
  const problem = pathProblem(path);
  if (problem) return { allowed: false, because: problem };
  const folded = foldPath(path);
  if (allows(scope.contracts, path)) return { allowed: true, because: "contract" };
  if (refuses(scope.forbidden, folded)) return { allowed: false, because: "forbidden" };
  if (allows(scope.reads, path)) return { allowed: true, because: "readable" };
  if (allows(scope.writes, path) && !refuses(scope.exceptions, folded)) {
    return { allowed: true, because: "owned" };
  }
  if (scope.readsVisible && !isWithheldFrom(scope, path)) {
    return { allowed: true, because: "readable" };
  }
  if (scope.byRole && refuses(scope.byRole.but, folded)) {
    return { allowed: false, because: "not-readable" };
  }
  if (scope.byRole && allows(scope.byRole.globs, path)) {
    return { allowed: true, because: "readable" };
  }
  return {
    allowed: false,
    because: isCaseVariant(scope, folded) ? "case-variant" : "not-readable",
  };
}

/** Whether only the case of a path keeps it from being readable. */
function isCaseVariant(scope: WorkerScope, folded: string): boolean {
  if (refuses(scope.exceptions, folded)) return false;
  const readable = [scope.contracts, scope.reads, scope.byRole?.globs ?? [], scope.writes];
  return readable.some((globs) => refuses(globs, folded));
}

/**
 * Whether processes of a worker do not even see a path: it is forbidden, or it is withheld and
 * neither readable nor needed to build. A request to read is refused for more than that
 * (`decideRead`). Pure.
 */
export function isHiddenFrom(scope: WorkerScope, path: string): boolean {
  const isWithheld = isWithheldFrom(scope, path);
  // Nearly all files, and deciding takes a tenth of a millisecond.
  if (!isWithheld && scope.forbidden.length === 0) return false;
  const { allowed, because } = decideRead(scope, path);
  return !allowed && (isWithheld || because === "forbidden");
}

function isWithheldFrom(scope: WorkerScope, path: string): boolean {
  if (scope.withheld === undefined) return false;
  const folded = foldPath(path);
  return (
    scope.withheld(folded).some((glob) => globMatches(glob, folded)) &&
    !scope.needed?.(path.normalize("NFC")).some((glob) => globMatches(glob, path))
  );
}

/** Whether a worker may move a path. It writes both ends: one disappears, one appears. */
export function decideRename(scope: WorkerScope, from: string, to: string): RenameDecision {
  const old = decideWrite(scope, from);
  if (!old.allowed) return { ...old, at: "from" };
  const next = decideWrite(scope, to);
  return next.allowed ? next : { ...next, at: "to" };
}

/**
 * Why a text cannot be a path of the repository; undefined when it can. Every name is one that git
 * takes and that does not lead elsewhere. Pure; the first rule that applies wins.
 */
export function pathProblem(path: string): PathReason | undefined {
  if (path === "") return "empty";
  if (path.length > MAX_PATH_LENGTH) return "too-long";
  if (!path.isWellFormed()) return "broken-text";
  if (MISLEADING.test(path)) return "control-character";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path) || path.startsWith("~")) return "absolute";
  const segments = path.split("/");
  if (segments.includes("")) return "empty-segment";
  if (segments.some((segment) => segment === "." || segment === "..")) return "dot-segment";
  if (path.split(/[\\/]/).some(isGitName)) return "git-internals";
  return undefined;
}

/** What makes a path look like another one, and NUL. Source: Unicode, bidirectional controls. */
const MISLEADING = /[\0\u202A-\u202E\u2066-\u2069]/;
/** What is not drawn. HFS+ leaves some of it out of names. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * `.git` as any file system may read it: case, what is not drawn, trailing dots and blanks, a stream
 * behind a colon, the short name of 8.3.
 */
export function isGitName(segment: string): boolean {
  const name = foldPath(segment).normalize("NFKC").replace(UNSEEN, "");
  return /^(?:\.git|git~\d+)[. ]*(?::.*)?$/.test(name);
}

/** A pattern as a file system reads it that tells neither case nor composition apart. */
export function foldedGlob(pattern: string): Glob {
  const folded = readGlob(foldPath(pattern));
  if (folded.ok) return folded.glob;
  // A range such as [Z-a] runs backwards when folded; any character is more than it means, and so
  // refuses enough.
  return globOf(foldPath(pattern.replace(/\[(?:\\.|[^\]])+\]/g, "?")));
}

function allows(globs: readonly FoldedGlob[], path: string): boolean {
  return globs.some(({ exact }) => globMatches(exact, path));
}

function refuses(globs: readonly FoldedGlob[], foldedPath: string): boolean {
  return globs.some(({ folded }) => globMatches(folded, foldedPath));
}
