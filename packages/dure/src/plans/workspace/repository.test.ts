// @module-tag slow
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { Git } from "./git.ts";
import type { BranchMerge, MergeOptions } from "./merge-into-branch.ts";
import { Repository } from "./repository.ts";
import { ownedWarnings } from "./owned-warnings.ts";
import { findOwnedSubmodule } from "./listed-files.ts";
import { freeBranchName } from "./result-branch.ts";
import {
  AT,
  aScope,
  AUTHOR,
  gitIn,
  readCommit,
  readTree,
  startRun,
  testGit,
  TestRepository,
  writeFiles,
} from "./test-repository.ts";

const open = (folder: string): Promise<Repository> => Repository.open(folder, { git: testGit() });

test("opens a repository from any folder of it, and tells what it found", async () => {
  using person = new TestRepository({ "src/a.ts": "a\n" });
  writeFiles(person.folder, { "src/a.ts": "changed\n" });

  const repository = await open(join(person.folder, "src"));

  expect(repository.root).toBe(person.folder);
  expect(repository.facts).toEqual({
    branch: "main",
    head: person.git("rev-parse", "HEAD"),
    isDirty: true,
    isBare: false,
    isShallow: false,
  });
  expect(await repository.listFiles("HEAD")).toEqual([
    { path: "src/a.ts", bytes: 2, kind: "file" },
  ]);
});

test("says what is wrong with a place that cannot be worked on", async () => {
  using person = new TestRepository({});
  mkdirSync(join(person.home, "plain"));

  await expect(open(join(person.home, "nowhere"))).rejects.toMatchObject({
    code: "NOT_A_REPOSITORY",
  });
  await expect(open(join(person.home, "plain"))).rejects.toMatchObject({
    code: "NOT_A_REPOSITORY",
    message: "plain is not in a git repository.", // not where it lies on this machine
  });
  await expect(open(join(person.folder, ".git"))).rejects.toMatchObject({
    code: "NOT_A_REPOSITORY",
  });
  await expect(open(person.folder)).rejects.toMatchObject({ code: "REPOSITORY_EMPTY" });
  await expect(
    Repository.open(person.folder, { git: new Git({ env: { PATH: join(person.home, "plain") } }) }),
  ).rejects.toMatchObject({ code: "GIT_MISSING" });
  writeFileSync(join(person.home, "plain/git"), "#!/bin/sh\necho git version 2.30.2\n");
  chmodSync(join(person.home, "plain/git"), 0o755);
  await expect(
    Repository.open(person.folder, {
      git: new Git({ env: { PATH: `${join(person.home, "plain")}:/bin` } }),
    }),
  ).rejects.toMatchObject({ code: "GIT_TOO_OLD" });
});

test(
  "a base is a branch, a tag or a commit; anything else is told with the branches there are",
  FULL,
  async () => {
    using person = new TestRepository();
    person.git("tag", "-a", "v1", "-m", "one");
    const repository = await open(person.folder);
    const head = person.git("rev-parse", "HEAD");

    expect(
      await Promise.all(
        ["main", "v1", "HEAD", head.slice(0, 8)].map((name) => repository.resolve(name)),
      ),
    ).toEqual([head, head, head, head]);
    await expect(repository.resolve("--all")).rejects.toMatchObject({ code: "BASE_UNKNOWN" });
    await expect(repository.resolve("mian")).rejects.toMatchObject({
      code: "BASE_UNKNOWN",
      hint: "Its newest branches: main.",
    });
    await expect(repository.resolve("HEAD:readme.md")).rejects.toMatchObject({
      code: "BASE_UNKNOWN",
    });
  },
);

test("warns of filters, submodules and what is not committed", async () => {
  using library = new TestRepository();
  using person = new TestRepository({
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
  });
  person.git("submodule", "add", "-q", library.folder, "vendor/lib");
  person.commit("submodule");
  writeFiles(person.folder, { ".gitattributes": "changed\n" });
  const repository = await open(person.folder);

  const warnings = await repository.warnings(await repository.resolve("HEAD"));

  expect(warnings.map(({ code }) => code)).toEqual([
    "UNCOMMITTED",
    "SUBMODULES_EMPTY",
    "FILTERS_OFF",
  ]);
  await expect(
    repository.refuseOwnedSubmodules("HEAD", ["src/**", "vendor/lib/src/**"]),
  ).rejects.toMatchObject({ code: "SUBMODULE_OWNED" });
  await repository.refuseOwnedSubmodules("HEAD", ["vendor/**"]);
});

test("warns of what a port owns and a .gitignore leaves out, with the line", async () => {
  using person = new TestRepository({
    ".gitignore": "# made\nlib/\nsrc/gen/\n*.log\n",
    "src/.gitignore": "/kept\n",
    "src/api/a.ts": "a\n",
  });
  writeFiles(person.folder, { "src/kept/k.ts": "k\n", ".git/info/exclude": "docs/\n" });
  person.git("add", "-f", "src/kept/k.ts");
  const commit = person.commit("more");
  const ports = [
    { id: "api", owns: ["src/api/**", "src/gen/**", "src/kept/**", "docs/**"], tests: [] },
    { id: "py", owns: ["lib/{a,b}/**"], tests: ["test/**/*.log"] },
  ];

  const warnings = await ownedWarnings(await open(person.folder), { commit, ports });

  expect(warnings.map(({ facts }) => facts)).toEqual([
    { port: "api", pattern: "src/gen/**", by: ".gitignore:3", rule: "src/gen/" },
    { port: "py", pattern: "lib/{a,b}/**", by: ".gitignore:2", rule: "lib/" },
    { port: "py", pattern: "test/**/*.log", by: ".gitignore:4", rule: "*.log" },
  ]);
});

test("warns of names that no port can change, and of no others", async () => {
  using person = new TestRepository({ "src/a\nb ?.ts": "a\n" });
  writeFileSync(Buffer.concat([Buffer.from(`${person.folder}/f`), Buffer.from([0xff])]), "x");
  const commit = person.commit("more");

  const warnings = await ownedWarnings(await open(person.folder), { commit, ports: [] });

  expect(warnings).toEqual([
    {
      code: "NAMES_CLOSED",
      facts: { paths: [String.raw`f\xff`], because: "broken-text" },
      message: String.raw`No port can change f\xff: the path holds half a character.`,
    },
  ]);
});

test("knows when a pattern lies in a submodule", () => {
  expect(findOwnedSubmodule(["src/**", "Vendor/LIB/x.ts"], ["vendor/lib"])).toEqual({
    pattern: "Vendor/LIB/x.ts",
    submodule: "vendor/lib",
  });
  expect(findOwnedSubmodule(["vendor/lib"], ["vendor/lib"])).toBeDefined();
  expect(
    findOwnedSubmodule(["vendor/**", "**/x.ts", "vendor/lib2/**"], ["vendor/lib"]),
  ).toBeUndefined();
});

test(
  "works from a detached HEAD, a linked worktree, a bare, a shallow and a borrowing repository",
  FULL,
  async () => {
    using person = new TestRepository({ "a.txt": "1\n" });
    person.commit("second", { "a.txt": "2\n" });
    person.git("worktree", "add", "-q", "--detach", join(person.home, "linked"));
    gitIn(person.home, "clone", "-q", "--bare", person.folder, "bare.git");
    gitIn(person.home, "clone", "-q", "--depth", "1", `file://${person.folder}`, "shallow");
    gitIn(person.home, "clone", "-q", "--shared", person.folder, "borrowing");

    for (const name of ["linked", "bare.git", "shallow", "borrowing"]) {
      const folder = join(person.home, name);
      const repository = await open(folder);
      const at = { folder, home: join(person.home, `home-${name}`) } as TestRepository;
      const run = await startRun(at, { run: `run-${name}` });
      writeFiles(run.tree.tree, { "a.txt": "3\n" });
      const done = await run.commit(aScope({ writes: ["a.txt"] }));
      await run.repository.publish(run.store, `run-${name}`);

      expect(readCommit(folder, `refs/dure/run-${name}/ports/login/1.1.impl`)).toEqual({
        "a.txt": "3",
      });
      expect(gitIn(folder, "fsck", "--no-dangling")).toBe("");
      expect(repository.facts.isShallow).toBe(name === "shallow");
      expect(done.violations).toEqual([]);
    }
  },
);

test("refuses a partial clone", async () => {
  using person = new TestRepository();
  person.git("config", "uploadpack.allowFilter", "true");
  gitIn(
    person.home,
    "clone",
    "-q",
    "--filter=blob:none",
    "--no-checkout",
    `file://${person.folder}`,
    "partial",
  );

  await expect(open(join(person.home, "partial"))).rejects.toMatchObject({
    code: "REPOSITORY_PARTIAL",
  });
});

test("a git that fails, hangs or floods is told with its command", async () => {
  using person = new TestRepository();
  const git = testGit();
  const at = { cwd: person.folder };
  const aborted = new AbortController();
  writeFiles(person.home, { "slow/git": "#!/bin/sh\nexec sleep 60\n" });
  chmodSync(join(person.home, "slow/git"), 0o755);
  const slow = new Git({ env: { PATH: `${join(person.home, "slow")}:/bin:/usr/bin` } });

  await expect(git.run(["cat-file", "blob", "nothing"], { at })).rejects.toMatchObject({
    code: "GIT_FAILED",
    details: {
      exitCode: 128,
      command: ["git", "cat-file", "blob", "nothing"],
      stderr: expect.stringContaining("Not a valid object name") as string,
    },
  });
  await expect(
    git.run(["cat-file", "--batch"], { at, input: "HEAD\n".repeat(100), outputBytes: 100 }),
  ).rejects.toMatchObject({
    code: "GIT_FAILED",
    message: expect.stringContaining("said too much") as string,
  });
  await expect(slow.run(["status"], { at, timeMs: 100 })).rejects.toMatchObject({
    code: "GIT_FAILED",
    message: expect.stringContaining("git status took too long") as string,
  });
  const waiting = slow.run(["status"], { at, signal: aborted.signal });
  aborted.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("pins a commit once, and never another one under that name", async () => {
  using person = new TestRepository();
  const first = person.git("rev-parse", "HEAD");
  const second = person.commit("second");
  const repository = await open(person.folder);
  await repository.pin("run1", "base", first);

  await repository.pin("run1", "base", first);

  await expect(repository.pin("run1", "base", second)).rejects.toMatchObject({
    code: "REF_EXISTS",
  });
  await expect(repository.pin("../heads", "main", first)).rejects.toMatchObject({
    code: "REF_INVALID",
  });
});

test.each([
  ["dure/login", [], "dure/login"],
  ["dure/login", ["dure/login", "main"], "dure/login-2"],
  ["dure/login", ["DURE/Login", "dure/login-2"], "dure/login-3"],
  ["dure/login", ["dure/login/old"], "dure/login-2"],
  ["dure/login", ["Dure"], "dure-login"],
  ["dure/login", ["dure", "dure-login"], "dure-login-2"],
])("the branch wanted as %s beside %j is %s", (wanted, taken, name) => {
  expect(freeBranchName(wanted, taken)).toBe(name);
});

test("makes a result branch, gives it back to the same run, and moves none of others", async () => {
  using person = new TestRepository();
  const first = person.git("rev-parse", "HEAD");
  const second = person.commit("second");
  person.git("branch", "dure/login", first);
  const repository = await open(person.folder);

  const name = await repository.createResultBranch("dure/login", first, "run1");
  const again = await repository.createResultBranch("dure/login", first, "run1");
  person.git("branch", "-f", "dure/login-2", second);
  const moved = await repository.createResultBranch("dure/login", first, "run1");
  const later = await repository.createResultBranch("dure/login", second, "run2");

  expect([name, again, moved, later]).toEqual([
    "dure/login-2",
    "dure/login-2",
    "dure/login-2",
    "dure/login-3",
  ]);
  expect(person.git("rev-parse", "dure/login", "dure/login-2", "dure/login-3").split("\n")).toEqual(
    [first, second, second],
  );
});

test("a later result of a run takes its branch along, unless a person has it", FULL, async () => {
  using person = new TestRepository();
  const first = person.git("rev-parse", "HEAD");
  const second = person.commit("second");
  person.git("reset", "--quiet", "--hard", first);
  const other = person.commit("other");
  const repository = await open(person.folder);
  const make = (commit: string): Promise<string> =>
    repository.createResultBranch("dure/login", commit, "run1");
  const tips = (...names: string[]): string[] => person.git("rev-parse", ...names).split("\n");

  await make(second);
  const along = await make(other);
  const moved = tips("dure/login");
  person.git("checkout", "--quiet", "dure/login");
  const checkedOut = await make(second);
  person.git("checkout", "--quiet", "main");
  person.git("branch", "-f", "dure/login", first);
  person.git("branch", "-f", "dure/login-2", first);
  const touched = await make(other);

  expect([along, checkedOut, touched]).toEqual(["dure/login", "dure/login-2", "dure/login-3"]);
  expect(moved).toEqual([other]);
  expect(tips("dure/login", "dure/login-2")).toEqual([first, first]);
  expect(tips(`refs/dure/run1/before/${second}`)).toEqual([second]);
});

/** A repository with `main`, and a result that changed b.txt from there. */
function withResult(): {
  person: TestRepository;
  base: string;
  result: string;
  merge: (more?: Partial<MergeOptions>) => Promise<BranchMerge>;
} {
  const person = new TestRepository({ "a.txt": "a\n", "b.txt": "b\n", "gone.txt": "x\n" });
  const base = person.git("rev-parse", "HEAD");
  person.git("checkout", "-q", "-b", "dure/login");
  rmSync(join(person.folder, "gone.txt"));
  const result = person.commit("result", { "b.txt": "result\n", "new/c.txt": "c\n" });
  person.git("checkout", "-q", "main");
  const merge = async (more: Partial<MergeOptions> = {}): Promise<BranchMerge> =>
    (await open(person.folder)).mergeInto({
      target: "main",
      result,
      message: "Merge dure/login\n",
      identity: { ...AUTHOR, at: AT },
      scratch: join(person.home, "scratch"),
      ...more,
    });
  return { person, base, result, merge };
}

test("merges into a branch that is checked out nowhere", FULL, async () => {
  const { person, result, merge } = withResult();
  using _ = person;
  person.git("checkout", "-q", "-b", "else");
  const before = person.snapshot() as { files: unknown; gitFiles: unknown };

  expect(await merge()).toMatchObject({ kind: "fast-forward", commit: result, updated: undefined });
  expect(await merge()).toEqual({ kind: "already", commit: result, updated: undefined });
  expect(person.snapshot()).toMatchObject({ files: before.files, gitFiles: before.gitFiles });
  expect(person.git("rev-parse", "main")).toBe(result);
});

test("merges into a branch that moved on, with its files where it is checked out", async () => {
  const { person, result, merge } = withResult();
  using _ = person;
  const tip = person.commit("moved on", { "a.txt": "moved\n" });
  writeFiles(person.folder, { "untracked.txt": "mine\n" });

  const done = await merge();

  expect(done).toMatchObject({ kind: "merged", updated: person.folder });
  expect(person.git("show", "-s", "--format=%P|%an|%s", "main")).toBe(
    `${tip} ${result}|dure|Merge dure/login`,
  );
  expect(person.git("status", "--porcelain")).toBe("?? untracked.txt");
  expect(
    readFileSync(join(person.folder, "a.txt"), "utf8") +
      readFileSync(join(person.folder, "b.txt"), "utf8"),
  ).toBe("moved\nresult\n");
  expect(existsSync(join(person.folder, "gone.txt"))).toBe(false);
});

test.each<[string, string, (person: TestRepository) => void]>([
  [
    "the same lines changed",
    "MERGE_CONFLICT",
    (person) => person.commit("other", { "b.txt": "other\n" }),
  ],
  ["a file is changed", "TARGET_DIRTY", (person) => person.write({ "a.txt": "dirty\n" })],
  [
    "a file is changed that the merge changes",
    "TARGET_DIRTY",
    (person) => person.write({ "b.txt": "dirty\n" }),
  ],
  [
    "a change is staged",
    "TARGET_DIRTY",
    (person) => (person.write({ "a.txt": "dirty\n" }), person.git("add", "-A")),
  ],
  ["a file is gone", "TARGET_DIRTY", (person) => rmSync(join(person.folder, "a.txt"))],
  [
    "an untracked file would be overwritten",
    "TARGET_DIRTY",
    (person) => person.write({ "new/c.txt": "mine\n" }),
  ],
  [
    "an ignored file would be overwritten",
    "TARGET_DIRTY",
    (person) => person.write({ ".git/info/exclude": "new\n", "new/c.txt": "mine\n" }),
  ],
  [
    "an untracked file stands where a folder comes",
    "TARGET_DIRTY",
    (person) => person.write({ new: "mine\n" }),
  ],
  [
    "a merge is half done",
    "TARGET_BUSY",
    (person) => person.write({ ".git/MERGE_HEAD": `${person.git("rev-parse", "HEAD")}\n` }),
  ],
  ["git works there", "TARGET_BUSY", (person) => person.write({ ".git/index.lock": "" })],
  [
    "the branch is being rebased",
    "TARGET_BUSY",
    (person) => (
      person.git("checkout", "-q", "--detach"),
      person.write({ ".git/rebase-merge/head-name": "refs/heads/main\n" })
    ),
  ],
  [
    "a file has a filter",
    "TARGET_FILTERED",
    (person) => person.commit("attributes", { ".gitattributes": "b.txt filter=lfs\n" }),
  ],
])("changes nothing when %s", async (_title, code, prepare) => {
  const { person, merge } = withResult();
  using _ = person;
  prepare(person);
  const before = person.snapshot();

  await expect(merge()).rejects.toMatchObject({ code });

  expect(person.snapshot()).toEqual(before);
});

test.each<[string, (person: TestRepository, result: string) => void]>([
  ["after the files", (person, result) => person.git("read-tree", "-m", "-u", "HEAD", result)],
  [
    "in the middle of the files",
    (person) => (person.write({ "b.txt": "result\n", "new/c.txt": "c\n" }), void 0),
  ],
  ["with one file gone", (person) => rmSync(join(person.folder, "gone.txt"))],
])("a merge that died %s is finished by the next one", async (_title, die) => {
  const { person, result, merge } = withResult();
  using _ = person;
  die(person, result);

  expect(await merge()).toMatchObject({ kind: "fast-forward", updated: person.folder });
  expect(person.git("status", "--porcelain")).toBe("");
  expect(person.git("rev-parse", "HEAD")).toBe(result);
  expect(Object.keys(readTree(person.folder))).toEqual(["a.txt", "b.txt", "new/c.txt"]);
});

test("merges where the branch is checked out in another worktree", FULL, async () => {
  const { person, result, merge } = withResult();
  using _ = person;
  person.git("checkout", "-q", "-b", "else");
  person.git("worktree", "add", "-q", join(person.home, "other"), "main");

  expect(await merge()).toMatchObject({
    kind: "fast-forward",
    commit: result,
    updated: join(person.home, "other"),
  });
  expect(gitIn(join(person.home, "other"), "status", "--porcelain")).toBe("");
  expect(readFileSync(join(person.home, "other/b.txt"), "utf8")).toBe("result\n");
  for (const target of [
    "nothing",
    "main~0",
    "main^{/.}",
    "main@{0}",
    "../tags/v1",
    "main\nabort",
  ]) {
    await expect(merge({ target }), target).rejects.toMatchObject({ code: "BRANCH_UNKNOWN" });
  }
});
