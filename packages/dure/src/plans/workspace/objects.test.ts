import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { CommitLists } from "./commit-lists.ts";
import { CommitWriter } from "./commit-writer.ts";
import { listTree, type TreeEntry } from "./listing.ts";
import { ObjectReader } from "./object-reader.ts";
import { objectId, PackWriter, type PackStore } from "./pack-writer.ts";
import type { PathKey } from "./paths.ts";
import { AUTHOR, gitIn, testGit } from "./test-repository.ts";
import type { EntryWrite } from "./tree-builder.ts";

async function emptyStore(hash: "sha1" | "sha256" = "sha1"): Promise<PackStore> {
  const folder = await mkdtemp(join(tmpdir(), "dure-objects-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  gitIn(folder, "init", "-q", "--bare", `--object-format=${hash}`);
  await mkdir(join(folder, "temporary"));
  return { git: testGit(), folder, hash };
}

function writerOf(store: PackStore, lists = listsOf(store)): CommitWriter {
  return new CommitWriter(store, AUTHOR, lists);
}

function listsOf({ git, folder }: PackStore): CommitLists {
  return new CommitLists(git, { cwd: folder, gitDir: folder });
}

const EMPTY = { sha1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904" } as const;
const ABOUT = { parents: [], message: "Changes", at: 1_000_000 };

/** What git's own index makes of the same: the id of the tree. */
function treeByGit(folder: string, from: string, changes: readonly EntryWrite[]): string {
  const env = { PATH: process.env.PATH, GIT_INDEX_FILE: join(folder, "temporary", "index") };
  const run = (args: string[], input = ""): string =>
    execFileSync("git", args, { cwd: folder, env, input: Buffer.from(input, "latin1") }).toString();
  run(["read-tree", from]);
  const gone = changes.filter(({ entry }) => entry === undefined);
  const there = changes.flatMap(({ key, entry }) => (entry ? [{ key, ...entry }] : []));
  run(
    ["update-index", "-z", "--index-info"],
    [
      ...gone.map(({ key }) => `0 ${"0".repeat(40)}\t${key}\0`),
      ...there.map(({ mode, id, key }) => `${mode} ${id}\t${key}\0`),
    ].join(""),
  );
  return run(["write-tree"]).trim();
}

const name = fc.constantFrom("a", "a.b", "a-b", "b", "B", "lib", "한", "\u00ff", "a b");
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));

test("files laid over a commit give the tree that git's own index makes of them", async () => {
  const store = await emptyStore();
  const at = { cwd: store.folder, gitDir: store.folder };
  const lists = listsOf(store);
  const writer = writerOf(store, lists);
  await using pack = new PackWriter(store);
  const ids = [
    await pack.add("blob", Buffer.from("one")),
    await pack.add("blob", Buffer.from("two")),
  ];
  await pack.add("tree", Buffer.alloc(0));
  await pack.end({});
  const entry = fc.record({
    mode: fc.constantFrom<TreeEntry["mode"]>("100644", "100755", "120000"),
    id: fc.constantFrom(...ids),
  });
  const changed = fc.uniqueArray(
    fc.record({
      key: path.map((text) => Buffer.from(text).toString("latin1") as PathKey),
      entry: fc.option(entry, { nil: undefined, freq: 3 }),
    }),
    { maxLength: 12, selector: ({ key }) => key },
  );
  // Two files, one of which would have to lie in the other, are never given together.
  const fits = (changes: readonly EntryWrite[]): boolean =>
    !changes.some(
      ({ key, entry: one }) =>
        one !== undefined &&
        changes.some(({ key: other, entry: two }) => two && other.startsWith(`${key}/`)),
    );

  await fc.assert(
    fc.asyncProperty(
      fc.array(changed.filter(fits), { minLength: 1, maxLength: 3 }),
      async (steps) => {
        let commit = gitIn(store.folder, "commit-tree", EMPTY.sha1, "-m", "empty");
        for (const changes of steps) {
          const expected = treeByGit(store.folder, commit, changes);
          commit = await writer.write(commit, changes, ABOUT);
          expect(gitIn(store.folder, "rev-parse", `${commit}^{tree}`)).toBe(expected);
          const kept = await lists.listed(commit, undefined);
          const read = await listTree(store.git, at, commit);
          expect([...kept.files]).toEqual([...read.files]);
          expect(kept.folders).toEqual(read.folders);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test("a commit is the one that git makes of the same files, message and author", async () => {
  const store = await emptyStore();
  await using pack = new PackWriter(store);
  const id = await pack.add("blob", Buffer.from("hello\n"));
  await pack.add("tree", Buffer.alloc(0));
  await pack.end({});
  const base = gitIn(store.folder, "commit-tree", EMPTY.sha1, "-m", "empty");
  const key = "src/a.txt" as PathKey;

  const commit = await writerOf(store).write(base, [{ key, entry: { mode: "100644", id } }], {
    parents: [base],
    message: "하나\n\n둘",
    at: 1_700_000_000_000,
  });

  expect(gitIn(store.folder, "cat-file", "commit", commit)).toBe(
    [
      `tree ${gitIn(store.folder, "rev-parse", `${commit}^{tree}`)}`,
      `parent ${base}`,
      "author dure <dure@localhost> 1700000000 +0000",
      "committer dure <dure@localhost> 1700000000 +0000",
      "",
      "하나",
      "",
      "둘",
    ].join("\n"),
  );
  expect(gitIn(store.folder, "fsck", "--strict", "--no-dangling")).toBe("");
});

test.each(["sha1", "sha256"] as const)(
  "objects beyond what is held in memory are all there, in a store of %s",
  async (hash) => {
    const store = await emptyStore(hash);
    await using pack = new PackWriter(store);
    const contents = Array.from({ length: 5 }, () => randomBytes(1_500_000));

    const ids = [];
    for (const content of contents) ids.push(await pack.add("blob", content));
    await pack.end({});

    for (const [index, id] of ids.entries()) {
      expect(id).toBe(objectId(hash, "blob", contents[index]!));
      expect(gitIn(store.folder, "cat-file", "-s", id)).toBe("1500000");
    }
    expect(gitIn(store.folder, "fsck", "--full", "--no-dangling")).toBe("");
  },
);

test("a pack that is given up leaves no object", async () => {
  const store = await emptyStore();
  const gone = new AbortController();
  await using pack = new PackWriter(store);
  const id = await pack.add("blob", randomBytes(100));
  gone.abort(new Error("enough"));

  await expect(pack.end({ signal: gone.signal })).rejects.toThrow("enough");

  expect(() => gitIn(store.folder, "cat-file", "-e", id)).toThrow();
});

test("one git answers what is there, what came later, where a ref moved to, and what is missing", async () => {
  const store = await emptyStore();
  const reader = new ObjectReader(store.git, { cwd: store.folder, gitDir: store.folder });
  const add = async (text: string): Promise<string> => {
    await using pack = new PackWriter(store);
    const id = await pack.add("blob", Buffer.from(text));
    await pack.end({});
    return id;
  };
  const first = await add("line\nwithout an end");
  const text = async (name: string) => (await reader.read(name, undefined))?.toString();

  expect(await text(first)).toBe("line\nwithout an end");
  expect(await text("refs/notes/one")).toBeUndefined();
  gitIn(store.folder, "update-ref", "refs/notes/one", first);
  expect(await text("refs/notes/one")).toBe("line\nwithout an end");
  const second = await add("");
  gitIn(store.folder, "update-ref", "refs/notes/one", second);
  expect(await reader.find("refs/notes/one", undefined)).toEqual({ id: second, bytes: 0 });
  expect(await Promise.all([text(second), text(first)])).toEqual(["", "line\nwithout an end"]);
});

test("a question that is given up leaves the reader to the others", async () => {
  const store = await emptyStore();
  const reader = new ObjectReader(store.git, { cwd: store.folder, gitDir: store.folder });
  await using pack = new PackWriter(store);
  const content = randomBytes(3_000_000);
  const id = await pack.add("blob", content);
  await pack.end({});
  const gone = new AbortController();

  const given = reader.read(id, gone.signal);
  const other = reader.read(id, undefined);
  gone.abort(new Error("enough"));

  await expect(given).rejects.toThrow("enough");
  expect(Buffer.compare((await other)!, content)).toBe(0);
});
