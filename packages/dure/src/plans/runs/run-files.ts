/** Where the files of a run are on this machine, and what is done with them. */

import { cp, lstat, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import type { Listing } from "../workspace/listing.ts";
import { textOf as pathText } from "../workspace/paths.ts";
import { PortTree } from "../workspace/port-tree.ts";
import type { Repository } from "../workspace/repository.ts";
import type { RunStore } from "../workspace/store.ts";
import type { RunFiles } from "../merge/merge.ts";
import {
  memberPlace,
  prepareHome,
  type MemberPlace,
  type PersonsPlace,
} from "../agents/member-home.ts";
import type { WorkerSpec } from "../plan.ts";
import type { PortFileChange, PortFiles, TakenWork } from "../port/port-files.ts";
import type { Member } from "../../kernel/plans.ts";
import type { PlanRun } from "../rows/run.ts";
import { READ_BYTES, textOf } from "./commit-reader.ts";
import type { KeptSetups } from "../project/kept-setup.ts";
import type { Publisher } from "./publisher.ts";

/** Of one turn of a worker. A port that changes more is more than one unit of work. */
const COMMIT_LIMITS = { files: 5_000, fileBytes: 32_000_000, totalBytes: 256_000_000 } as const;

/** Commits that are named for one path. */
const MAX_TOLD = 5;

export interface FilesParts {
  readonly run: PlanRun;
  readonly repository: Repository;
  readonly store: RunStore;
  readonly publisher: Publisher;
  /** What set-ups of earlier trees have made. */
  readonly setups: KeptSetups;
  /** Folder of dure's own data; no worker sees what is in it beside its own tree. */
  readonly home: string;
  /** Home folder of the person who runs dure. */
  readonly userHome: string | undefined;
  /** dure's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
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
    mergeBase: async (one, other) => {
      const call = { at: store.at, accept: [0, 1], signal };
      const { stdout } = await store.git.run(["merge-base", one, other], call);

      return stdout.toString().trim() || undefined;
    },
    told: async (path, { from, to }) => {
      const list = ["log", `--max-count=${MAX_TOLD}`, "--format=%h %<(200,trunc)%s"];
      const of = [to, `^${from}`, "--", `:(literal)${path}`];
      const said = await store.git.text([...list, ...of], { at: store.at, signal });

      return said.split("\n").flatMap((line) => line.trimEnd() || []);
    },
    mix: (base, other, paths) => {
      const wanted = new Set(paths);
      const takes = (path: string): boolean => wanted.has(path);
      const message = "Take files of one side\n";

      return mixCommits(store, { base, other, takes, message, at: run.createdAt, signal });
    },
    publish: () => parts.publisher.publish(signal),
    point: async (name, commit) => {
      await point(store, name, commit, signal);
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
  const commands = memberPlace(tree.scratch, "commands");
  await prepareHome(commands, {}, { home: undefined });

  return {
    tree: tree.tree,
    commands,
    place: (member, spec) =>
      placeOf(member, spec, { tree, commands, home: parts.userHome, env: parts.env }),
    ...confinementsOf(tree, commands, parts),
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
    beginWith: (start, commit, takes) => {
      const message = `What ${port} began from, with its tests\n`;
      const mix = { base: start, other: commit, takes, message, at: run.createdAt };

      return mixCommits(store, { ...mix, signal });
    },
    checkout: (commit) => tree.checkout(commit, { keep: "setup", signal }),
    ...setupsOf(tree, parts),
    isSetUp: async () => (await tree.setup()) !== undefined,
    markSetUp: async (commit) => void (await tree.markSetup(commit, { signal })),
    take: (work) => takeFrom(tree, work, parts),
    keep: async (commit) => {
      await point(store, `ports/${port}/result`, commit, signal);
      await parts.publisher.publish(signal);
    },
    read: async (commit, path) =>
      textOf(await store.readFile(commit, path, { bytes: READ_BYTES, signal })),
    list: async (commit) => [...(await store.listing(commit, { signal })).keys()].map(pathText),
    links: async (commit) =>
      [...(await store.listing(commit, { signal }))].flatMap(([key, { mode }]) =>
        mode === "120000" ? [pathText(key)] : [],
      ),
    changes: async (from, to) => {
      const before = await store.listing(from, { signal });
      return changesBetween(before, await store.listing(to, { signal }));
    },
  };
}

function setupsOf(
  { tree }: PortTree,
  { setups, store, signal }: FilesParts,
): Pick<PortFiles, "bringSetup" | "keepSetup"> {
  const placeOf = async (setup: string, commit: string): Promise<string | undefined> => {
    const listing = await store.listing(commit, { signal });
    const files = [...listing].map(([key, { id }]) => ({ path: pathText(key), id }));
    return setups.placeOf(setup, files, async (path) =>
      textOf(await store.readFile(commit, path, { bytes: READ_BYTES, signal })),
    );
  };

  return {
    bringSetup: async (setup, commit) => {
      const place = await placeOf(setup, commit);
      return place !== undefined && (await setups.bring(place, tree));
    },
    keepSetup: async (setup, commit) => {
      const place = await placeOf(setup, commit);
      if (place !== undefined) await setups.keep(place, tree);
    },
  };
}

/** Paths that differ, in git's order. Pure. */
function changesBetween(before: Listing, after: Listing): readonly PortFileChange[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key): PortFileChange[] => {
    const [old, now] = [before.get(key), after.get(key)];
    if (old?.id === now?.id && old?.mode === now?.mode) return [];
    const kind = old === undefined ? "new" : now === undefined ? "deleted" : "modified";

    return [{ path: pathText(key), kind }];
  });
}

/** A member's folder. Its home begins as the set-up left its own: caches that its tools look for. */
async function placeOf(
  member: Member,
  spec: WorkerSpec,
  from: {
    readonly tree: PortTree;
    readonly commands: MemberPlace;
  } & PersonsPlace,
): Promise<MemberPlace> {
  const { tree, commands } = from;
  const place = memberPlace(tree.scratch, member);
  if ((await lstat(place.home).catch(() => undefined)) === undefined) {
    await mkdir(place.folder, { recursive: true });
    await cp(commands.home, place.home, { recursive: true, verbatimSymlinks: true });
  }
  await prepareHome(place, spec, from);

  return place;
}

/**
 * What processes of a port may touch. Of all that dure keeps (the database, its password, trees of
 * other runs) they see their own tree and scratch folder.
 */
function confinementsOf(
  tree: PortTree,
  commands: MemberPlace,
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
    confinement: async (commit, scope, { folder }) => {
      await tree.makePrivateGit(commit, scope, { signal });
      const where = { repository, scratch: folder, signal };

      return confined(await tree.confinement(commit, scope, where));
    },
    disposable: async (commit) =>
      confined({
        ...(await around(commit)),
        writable: [commands.tmp],
        // What a worker's code leaves in a home must not work on in the next try.
        disposable: [tree.tree, commands.home],
      }),
    open: async (commit) =>
      confined({
        ...(await around(commit)),
        writable: [tree.tree, commands.folder],
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
  const taken = await store.owned.commit({ ...work, setup: await tree.setup() });
  await tree.mendSetup();
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

/** Two commits of which a third one is made. */
interface Mix {
  readonly base: string;
  readonly other: string;
  /** Of which paths the other one's files are taken. */
  readonly takes: (path: string) => boolean;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly signal: AbortSignal | undefined;
}

/** The files of one commit, with some of another: to be looked at, not built on. No ref is written. */
async function mixCommits(store: RunStore, mix: Mix): Promise<string> {
  const { base, other, takes, message, at, signal } = mix;
  const [before, after] = [
    await store.listing(base, { signal }),
    await store.listing(other, { signal }),
  ];
  const keys = new Set([...before.keys(), ...after.keys()]);
  const changed = [...keys].filter((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    return (old?.id !== now?.id || old?.mode !== now?.mode) && takes(pathText(key));
  });
  if (changed.length === 0) return base;

  const changes = changed.map((key) => ({ key, entry: after.get(key) }));
  return store.lay(base, changes, { parents: [base], message, at, signal });
}
