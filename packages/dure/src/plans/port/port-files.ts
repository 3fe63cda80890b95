import type { PortResult } from "../rows/outcomes.ts";
import type { Member } from "../../kernel/plans.ts";
import type { MemberPlace } from "../agents/member-home.ts";
import type { WorkerSpec } from "../plan.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import type { WorkerScope } from "../scope.ts";
import type { TreeViolation } from "../workspace/owned-changes.ts";
import type { IgnoredFile } from "../workspace/owned-commits.ts";

/** A change that git found. */
export interface PortFileChange {
  readonly path: string;
  readonly kind: "new" | "modified" | "deleted";
}

/** What was taken of a worker's changes. */
export interface TakenWork {
  /** Undefined: nothing was changed. */
  readonly commit: string | undefined;
  readonly changes: readonly PortFileChange[];
  /** What it changed and does not own; none of it was taken. */
  readonly violations: readonly TreeViolation[];
  /** Some of what it wrote where git does not look; none of it was taken. */
  readonly ignored?: readonly IgnoredFile[] | undefined;
}

/** A path that several ports left differently. */
export interface PathConflict {
  readonly path: string;
  readonly ports: readonly string[];
}

/** The files of one port, on disk and in the run's own repository. */
export interface PortFiles {
  readonly tree: string;
  /** Of the plan's own commands: no worker writes there. */
  readonly commands: MemberPlace;
  /**
   * The folder of one member, made ready for its worker. No member sees another's: what runs in its
   * home is its own alone.
   */
  place(member: Member, spec: WorkerSpec): Promise<MemberPlace>;
  /**
   * The run's start with the results of what the port needs; the same for the same results.
   * `isTrial`: to be looked at, not built on.
   */
  compose(
    results: readonly PortResult[],
    options?: { readonly isTrial?: boolean },
  ): Promise<{ readonly commit: string } | { readonly conflicts: readonly PathConflict[] }>;
  /**
   * What the port began from, with the files of a commit where `takes` says so: to be looked at, not
   * built on.
   */
  beginWith(start: string, commit: string, takes: (path: string) => boolean): Promise<string>;
  /**
   * Makes the tree exactly this commit, with what the set-up left. What a worker left in ignored
   * paths goes: what is tried is what would be merged.
   */
  checkout(commit: string): Promise<void>;
  /**
   * What a process may touch in the tree under this scope; `git status` works there against this
   * commit.
   */
  confinement(commit: string, scope: WorkerScope, place: MemberPlace): Promise<Confinement>;
  /**
   * Of the tree at this commit: may be written everywhere, and nothing of it stays. What lies
   * around it is hidden as from workers.
   */
  disposable(commit: string): Promise<Confinement>;
  /** As `disposable`, and what is written stays: for the set-up alone. */
  open(commit: string): Promise<Confinement>;
  /** Whether the set-up was done in this very tree. */
  isSetUp(): Promise<boolean>;
  /** Brings what the same set-up has made for the same files before. False: it has to run. */
  bringSetup(setup: string, commit: string): Promise<boolean>;
  /** Keeps what a set-up has made for other trees of the repository. */
  keepSetup(setup: string, commit: string): Promise<void>;
  /** Records that the set-up is done. What it left beside ignored files counts as no change. */
  markSetUp(commit: string): Promise<void>;
  /**
   * Takes what the scope owns from the tree; the commit is referenced before this resolves. Done
   * again under the same name it gives the same. Where the worker changed what the set-up made, the
   * set-up has to be done again (`isSetUp`).
   */
  take(work: {
    readonly parent: string;
    readonly scope: WorkerScope;
    readonly message: string;
    readonly name: string;
    readonly at: number;
  }): Promise<TakenWork>;
  /** References the port's result, in the user's repository too. */
  keep(commit: string): Promise<void>;
  /** Symbolic links of a commit. */
  links(commit: string): Promise<readonly string[]>;
  /** Paths of a commit. */
  list(commit: string): Promise<readonly string[]>;
  read(commit: string, path: string): Promise<string | undefined>;
  /** How the files of two commits differ. */
  changes(from: string, to: string): Promise<readonly PortFileChange[]>;
}
