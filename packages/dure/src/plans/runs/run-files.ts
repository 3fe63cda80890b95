import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import type { CommitFiles } from "../context/gather.ts";
import { fieldsOf } from "../workspace/listing.ts";
import { textOf as pathText, type PathKey } from "../workspace/paths.ts";
import { PortTree } from "../workspace/port-tree.ts";
import type { RunRemote } from "../workspace/remote.ts";
import type { Repository } from "../workspace/repository.ts";
import type { RunStore } from "../workspace/store.ts";
import type { RunFiles } from "../merge/merge.ts";
import type { PortFiles, TakenWork } from "../port/port-files.ts";
import type { PlanRun } from "../rows/run.ts";

/** Of one turn of a worker. A port that changes more is more than one unit of work. */
const COMMIT_LIMITS = { files: 5_000, fileBytes: 32_000_000, totalBytes: 256_000_000 } as const;
/** Bytes of a file that is read for a prompt. */
const READ_BYTES = 1_000_000;
/** Of a reader. A run of fifty ports fits. */
const MAX_LISTINGS = 64;
const MAX_TEXTS = 32_000_000;

export interface FilesParts {
  readonly run: PlanRun;
  readonly repository: Repository;
  readonly store: RunStore;
  readonly publisher: Publisher;
  /** Folder of dure's own data; no worker sees what is in it beside its own tree. */
  readonly home: string;
  /** Of the lease of the run: the higher one wins. */
  readonly lease: { readonly processId: string; readonly epoch: number };
  readonly signal: AbortSignal;
}

/** The run's own repository and the person's, in the words of the merge. */
export function runFiles(parts: FilesParts): RunFiles {
  const { run, repository, store, signal } = parts;
  return {
    compose: (base, results) =>
      store.compose(base, results, {
        message: `Lay the results of ${results.length} ports over ${base.slice(0, 12)}\n`,
        at: run.createdAt,
        signal,
      }),
    read: async (commit, path) =>
      textOf(await store.readFile(commit, path, { bytes: READ_BYTES, signal })),
    list: async (commit) => [...(await store.listing(commit, { signal })).keys()].map(pathText),
    publish: () => parts.publisher.publish(signal),
    point: async (commit) => {
      await point(store, "result", commit, signal);
      await parts.publisher.publish(signal);
    },
    branch: async (commit) => {
      await point(store, "result", commit, signal);
      await parts.publisher.publish(signal);
      return repository.createResultBranch(`dure/${run.plan.name}`, commit, run.id, { signal });
    },
  };
}

/** The files of one port: its tree on disk, and its commits in the run's repository. */
export async function portFiles(port: string, parts: FilesParts): Promise<PortFiles> {
  const { run, store, signal } = parts;
  const tree = await PortTree.open({ folder: join(run.folder, "ports", port), port, store });
  await tree.lease({ run: run.id, ...parts.lease });
  for (const name of ["home", "tmp", "answers"]) {
    await mkdir(join(tree.scratch, name), { recursive: true });
  }
  return {
    tree: tree.tree,
    scratch: tree.scratch,
    answers: join(tree.scratch, "answers"),
    ...confinementsOf(tree, parts),
    compose: async (results, { isTrial } = {}) => {
      const composed = await store.compose(run.startCommit ?? run.baseCommit, results, {
        message: `What ${port} ${isTrial ? "is tried with" : "starts from"}\n`,
        at: run.createdAt,
        isTrial,
        signal,
      });
      const { commit, conflicts } = composed;
      return conflicts.length > 0 ? { conflicts } : { commit };
    },
    checkout: (commit) => tree.checkout(commit, { keep: "ignored", signal }),
    isSetUp: async () => (await tree.setup()) !== undefined,
    markSetUp: async (commit) => void (await tree.markSetup(commit, { signal })),
    take: (work) => takeFrom(tree, work, parts),
    keep: async (commit) => {
      await point(store, `ports/${port}/result`, commit, signal);
      await parts.publisher.publish(signal);
    },
    read: async (commit, path) =>
      textOf(await store.readFile(commit, path, { bytes: READ_BYTES, signal })),
  };
}

/**
 * What processes of a port may touch. Of all that dure keeps (the database, its password, trees of
 * other runs) they see their own tree and scratch folder.
 */
function confinementsOf(
  tree: PortTree,
  { repository, home, signal }: FilesParts,
): Pick<PortFiles, "confinement" | "disposable" | "open"> {
  const confined = (confinement: Confinement): Confinement => ({
    ...confinement,
    hidden: [...confinement.hidden, home],
  });
  const around = async (commit: string) => ({
    ...(await tree.surroundings(commit, { repository, signal })),
    cwd: tree.tree,
  });
  return {
    confinement: async (commit, scope) => {
      await tree.makePrivateGit(commit, scope, { signal });
      return confined(await tree.confinement(commit, scope, { repository, signal }));
    },
    disposable: async (commit) =>
      confined({
        ...(await around(commit)),
        writable: [tree.scratch],
        disposable: [tree.tree],
      }),
    open: async (commit) =>
      confined({
        ...(await around(commit)),
        writable: [tree.tree, tree.scratch],
        disposable: [],
      }),
  };
}

/** Commits what the scope owns. */
async function takeFrom(
  tree: PortTree,
  { parent, scope, message, name, at }: Parameters<PortFiles["take"]>[0],
  { store, publisher, signal }: FilesParts,
): Promise<TakenWork> {
  const work = {
    tree: tree.tree,
    parent,
    scope,
    message,
    ref: `ports/${name}`,
    at,
    limits: COMMIT_LIMITS,
    signal,
  };
  const setup = await tree.setup();
  const residue = setup?.residue;
  const taken = await store.commitOwned(residue ? { ...work, residue } : work);
  // Before the step has its end: what is done is where another machine finds it.
  if (publisher.isRemote) await publisher.publish(signal);
  return taken;
}

/** Moves a ref of the run. What it pointed to before stays reachable. */
async function point(
  store: RunStore,
  ref: string,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  const expected = await store.read(ref, { signal });
  await store.write(ref, commit, expected === undefined ? { signal } : { expected, signal });
}

/** The process that held a lock of git this old was killed: writing a ref takes milliseconds. */
const LOCK_STALE_MS = 10_000;
const PUBLISH_TRIES = 8;
const PUBLISH_WAIT_MS = 400;

/** One publishing, and how many callers wait for it. */
interface Publishing {
  callers: number;
  /** Aborted when the last caller has left. */
  readonly abandoned: AbortController;
  readonly done: Promise<void>;
}

interface PublisherParts {
  readonly repository: Repository;
  readonly store: RunStore;
  readonly run: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From there another machine goes on. Absent: the commits stay on this one. */
  readonly remote?: Pick<RunRemote, "push"> | undefined;
}

/**
 * Brings the commits of a run into the person's repository, and from there to the remote: one at a
 * time, for git locks each name that it writes. What a remote did not take goes there with the next
 * publishing; no work waits for it.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  #running: Promise<void> = Promise.resolve();
  #next: Publishing | undefined;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when everything that is committed now has arrived. Callers at the same time share one
   * publishing: an aborted caller leaves, and the work ends with the last one.
   */
  async publish(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#next ??= this.#begin();
    const shared = this.#next;
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      shared.callers--;
      if (shared.callers === 0) {
        shared.abandoned.abort(signal.reason);
        if (this.#next === shared) this.#next = undefined; // the next caller begins anew
      }
      left.reject(signal.reason as Error);
    };
    shared.callers++;
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([shared.done, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      // What it began in the repository has to end first.
      if (signal.aborted && shared.callers === 0) await shared.done.catch(() => {});
    }
  }

  #begin(): Publishing {
    const abandoned = new AbortController();
    const done = this.#running.then(() => {
      if (this.#next?.abandoned === abandoned) this.#next = undefined;
      const now = this.#publish(abandoned.signal);
      this.#running = now.catch(() => {});
      return now;
    });
    done.catch(() => {});
    return { callers: 0, abandoned, done };
  }

  async #publish(signal: AbortSignal): Promise<void> {
    const { repository, store, run, clock } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        await repository.publish(store, run, { signal });
        return await this.#push(signal);
      } catch (error) {
        if (
          signal.aborted ||
          tries >= PUBLISH_TRIES ||
          !/\.lock'?: File exists/.test(messageOf(error))
        ) {
          throw error;
        }
        await clock.sleep(PUBLISH_WAIT_MS * tries, { signal });
        await this.removeStaleLocks();
      }
    }
  }

  /** Whether every publishing goes further than this machine. */
  get isRemote(): boolean {
    return this.#parts.remote !== undefined;
  }

  async #push(signal: AbortSignal): Promise<void> {
    const { remote, run, logger } = this.#parts;
    try {
      await remote?.push(run, { signal });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn(
        { run, code: codeOf(error), error: messageOf(error) },
        `the commits of ${run} are on this machine alone; the next publishing tries again`,
      );
    }
  }

  /** Removes locks that a killed git left on names of this run, which no other process writes. */
  async removeStaleLocks(): Promise<void> {
    const { repository, store, run, clock } = this.#parts;
    for (const folder of [
      join(repository.commonDir, "refs", "dure", run),
      join(store.folder, "refs"),
    ]) {
      const names = await readdir(folder, { recursive: true }).catch(() => []);
      for (const name of names.filter((one) => one.endsWith(".lock"))) {
        const found = await stat(join(folder, name)).catch(() => undefined);
        if (found && clock.now() - found.mtimeMs > LOCK_STALE_MS) {
          await rm(join(folder, name), { force: true });
        }
      }
    }
  }
}

/** A file's content where it is text. */
function textOf(content: Buffer | undefined): string | undefined {
  return content === undefined || content.includes(0) ? undefined : content.toString("utf8");
}

/**
 * Reads commits of a run for prompts. What is read is kept, by commit and by content: many prompts
 * are made from few files. Bounded: 64 commits, 32 MB of text; beyond it the oldest is read again
 * when it is needed.
 */
export class CommitReader {
  readonly #store: RunStore;
  readonly #listings = new Map<string, Promise<readonly ListedBlob[]>>();
  readonly #texts = new Map<string, Promise<string | undefined>>();
  #kept = 0;

  constructor(store: RunStore) {
    this.#store = store;
  }

  async files(commit: string, signal: AbortSignal): Promise<CommitFiles> {
    const listing = await this.#listing(commit, signal);
    const byPath = new Map(listing.map((file) => [file.path, file]));
    return {
      files: listing,
      readFile: async (path) => {
        const file = byPath.get(path);
        return file && file.bytes <= READ_BYTES ? this.#text(file, signal) : undefined;
      },
    };
  }

  #listing(commit: string, signal: AbortSignal): Promise<readonly ListedBlob[]> {
    const known = this.#listings.get(commit);
    if (known) return known;
    const listing = listBlobs(this.#store, commit, signal);
    listing.catch(() => this.#listings.delete(commit));
    this.#listings.set(commit, listing);
    if (this.#listings.size > MAX_LISTINGS) {
      this.#listings.delete(this.#listings.keys().next().value!);
    }
    return listing;
  }

  #text({ id, bytes }: ListedBlob, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#texts.get(id);
    if (known) return known;
    const text = this.#store.git
      .run(["cat-file", "blob", id], { at: this.#store.at, signal })
      .then(({ stdout }) => textOf(stdout));
    text.catch(() => this.#texts.delete(id));
    if (this.#kept + bytes > MAX_TEXTS) {
      this.#texts.clear();
      this.#kept = 0;
    }
    this.#kept += bytes;
    this.#texts.set(id, text);
    return text;
  }
}

interface ListedBlob {
  readonly path: string;
  /** 0 for what is no file. */
  readonly bytes: number;
  readonly id: string;
}

async function listBlobs(
  store: RunStore,
  commit: string,
  signal: AbortSignal,
): Promise<readonly ListedBlob[]> {
  const { stdout } = await store.git.run(["ls-tree", "-r", "-l", "-z", "--full-tree", commit], {
    at: store.at,
    signal,
  });
  return fieldsOf(stdout).map((line) => {
    const tab = line.indexOf("\t");
    const [, , id, bytes] = line.slice(0, tab).split(/ +/);
    return { path: pathText(line.slice(tab + 1) as PathKey), bytes: Number(bytes) || 0, id: id! };
  });
}

/**
 * Removes the tree of a port, if nothing goes with it: a dirty one, one that is held, and one whose
 * commits are not safe stay.
 */
export async function removeTree(
  port: string,
  commit: string,
  parts: FilesParts,
): Promise<"removed" | "kept"> {
  const { run, repository, store, signal } = parts;
  const folder = join(run.folder, "ports", port);
  if (!(await stat(folder).catch(() => undefined))) return "removed";
  const tree = await PortTree.open({ folder, port, store });
  const ours = { run: run.id, ...parts.lease };
  await tree.lease(ours); // a leader that died may still stand in it
  await tree.release(ours);
  try {
    await tree.remove({
      repository,
      commit,
      keptBy: [...(await repository.refsOf(run.id, { signal })).keys()].map(
        (name) => `refs/dure/${run.id}/${name}`,
      ),
      signal,
    });
    return "removed";
  } catch (error) {
    if (codeOf(error) === "TREE_NOT_SAFE") return "kept";
    throw error;
  }
}
