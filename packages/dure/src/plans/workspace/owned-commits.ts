/** Commits of what workers left in their folders, each stored once. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import type { WorkerScope } from "../scope.ts";
import type { CommitWriter } from "./commit-writer.ts";
import { onDisk } from "./files.ts";
import {
  decideChanges,
  mayTake,
  type ChangeKind,
  type CommitLimits,
  type TreeViolation,
} from "./owned-changes.ts";
import { textOf, type PathKey } from "./paths.ts";
import { outcomeRef, workRef } from "./refs.ts";
import type { RunStore } from "./store.ts";
import { PackWriter } from "./pack-writer.ts";
import type { IgnoredPath } from "./scan.ts";
import { filesBelow, ofSetup, type SetupRecord } from "./tree-setup.ts";

/** What a worker's turn left, as it was committed. */
export interface OwnedCommit {
  /** Undefined: nothing of its own changed, or too much. */
  readonly commit: string | undefined;
  readonly changes: readonly FileChange[];
  readonly violations: readonly TreeViolation[];
  /** Some of what it wrote where git does not look; none of it was taken. */
  readonly ignored?: readonly IgnoredFile[] | undefined;
}

/** A file that no commit will have, and the rule that says so. */
export interface IgnoredFile {
  readonly path: string;
  /** Such as `.gitignore:3`. */
  readonly by: string;
  readonly pattern: string;
}

export interface FileChange {
  readonly path: string;
  readonly kind: ChangeKind;
  /** Of the new content; 0 when deleted. */
  readonly bytes: number;
}

export interface CommitRequest {
  /** The folder with the worker's files. Its whole process tree must have ended. */
  readonly tree: string;
  /** The commit that the folder was checked out from. */
  readonly parent: string;
  readonly scope: WorkerScope;
  readonly message: string;
  /** Of the step, such as `ports/login/1.1.impl`. */
  readonly ref: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly limits: CommitLimits;
  /** Of the setup: none of the worker's doing. */
  readonly setup?: Pick<SetupRecord, "residue" | "ignored"> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Commits of what workers left in their folders, each stored once with its outcome. */
export class OwnedCommits {
  readonly #parts: {
    readonly store: Pick<
      RunStore,
      "git" | "at" | "folder" | "hash" | "listing" | "scan" | "readNote"
    >;
    readonly commits: CommitWriter;
  };

  constructor(store: RunStore, commits: CommitWriter) {
    this.#parts = { store, commits };
  }

  /**
   * Commits what a worker changed and owns; tells what it changed and does not. Files are compared
   * with the parent by reading them. A step that has an outcome is not done again: it is given back
   * as it was. An abort leaves nothing behind but objects.
   */
  async commit(request: CommitRequest): Promise<OwnedCommit> {
    const { signal } = request;
    const { folder } = this.#parts.store;
    const recorded = await this.#outcome(request.ref, { signal });
    if (recorded) return recorded;
    try {
      return await onDisk(folder, () => this.#commitNow(request));
    } catch (error) {
      if (codeOf(error) === "DISK_FULL") await removeHalfPacks(folder);
      throw error;
    }
  }

  async #commitNow(request: CommitRequest): Promise<OwnedCommit> {
    const { signal, parent, scope, limits } = request;
    const listing = await this.#parts.store.listing(parent, { signal });
    await using pack = new PackWriter(this.#parts.store);
    let bytes = 0;
    const onContent = async (key: PathKey, content: Buffer): Promise<void> => {
      if (!mayTake(scope, key)) return;
      bytes += content.length;
      if (bytes <= limits.totalBytes) await pack.add("blob", content);
    };
    const most = limits.files + (request.setup?.residue.size ?? 0) + 1;
    const scan = await this.#parts.store.scan(request.tree, listing, {
      fileBytes: limits.fileBytes,
      most,
      ignore: "ignored",
      onContent,
      signal,
    });
    const { taken, violations } = decideChanges(scan, {
      listing,
      scope,
      limits,
      residue: request.setup?.residue,
    });
    const { message, at } = request;
    const about = { parents: [parent], message, at, signal };
    const commit =
      taken.length === 0 ? undefined : await this.#parts.commits.add(pack, parent, taken, about);
    const outcome = {
      commit,
      changes: taken.map(({ key, kind, bytes }) => ({ path: textOf(key), kind, bytes })),
      violations,
      ignored: await ignoredFiles(scan.ignored, request),
    };
    return await this.#record(request.ref, outcome, pack, signal);
  }

  /**
   * Stores the outcome of a step together with its commit; the refs of both appear at once, last.
   */
  async #record(
    ref: string,
    outcome: OwnedCommit,
    pack: PackWriter,
    signal: AbortSignal | undefined,
  ): Promise<OwnedCommit> {
    const note = await pack.add("blob", Buffer.from(JSON.stringify(outcome)));
    const lines = [`create ${outcomeRef(ref)} ${note}`];
    if (outcome.commit !== undefined) lines.unshift(`create ${workRef(ref)} ${outcome.commit}`);
    await pack.end({ signal });
    try {
      await this.#parts.store.git.run(["update-ref", "--stdin"], {
        at: this.#parts.store.at,
        input: `${lines.join("\n")}\n`,
        signal,
      });
    } catch (error) {
      const other =
        codeOf(error) === "GIT_FAILED" ? await this.#outcome(ref, { signal }) : undefined;
      if (!other) throw error;
      return other;
    }
    return outcome;
  }

  async #outcome(
    ref: string,
    { signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<OwnedCommit | undefined> {
    const note = await this.#parts.store.readNote(outcomeRef(ref), { signal });
    if (note === undefined) return undefined;
    const stored = JSON.parse(note) as OwnedCommit;
    return { ...stored, commit: stored.commit };
  }
}

/** Ignored files that are named: one is the same mistake as hundred. */
const MAX_IGNORED_FILES = 10;
/** Of one ignored folder. */
const MAX_IN_FOLDER = 3;
/** Caches of tools, which no test and no build needs. */
const CACHES = /(?:^|\/)(?:__pycache__|\.[a-z]+_cache|\.cache|\.vite|\.DS_Store)$|\.pyc$/;

/** Files that a worker has written where git does not look, caches left out. */
async function ignoredFiles(
  ignored: readonly IgnoredPath[],
  { tree, setup }: CommitRequest,
): Promise<IgnoredFile[] | undefined> {
  const files: IgnoredFile[] = [];
  const isMade = setup && ofSetup(setup);
  for (const { key, rule } of ignored) {
    if (files.length >= MAX_IGNORED_FILES) break;
    if (CACHES.test(key) || isMade?.(key)) continue;
    const by = `${rule.file}:${rule.line}`;
    const names = await filesBelow(tree, key, MAX_IN_FOLDER);
    files.push(...names.map((name) => ({ path: textOf(name), by, pattern: rule.pattern })));
  }

  return files.length > 0 ? files.slice(0, MAX_IGNORED_FILES) : undefined;
}

/**
 * Removes what git left of packs when the disk was full: they hold room and are never read. A git
 * that writes one now fails, and is done again.
 */
async function removeHalfPacks(folder: string): Promise<void> {
  const packs = join(folder, "objects", "pack");
  for (const name of await readdir(packs)) {
    if (name.startsWith("tmp_")) await rm(join(packs, name), { force: true });
  }
}
