// @module-tag slow
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { systemClock } from "../../kernel/clock.ts";
import { globMatches, globOf } from "../glob.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { coverOf, placesOf, withheldOf } from "./confinement.ts";
import { isReadClosed, isWriteClosed } from "./confined-paths.ts";
import {
  AT,
  aScope,
  gitIn,
  LIMITS,
  readCommit,
  readTree,
  startRun,
  TestRepository,
  writeFiles,
} from "./test-repository.ts";

const FILES = {
  "src/api/a.ts": "a\n",
  "src/api/b.ts": "b\n",
  "src/core/c.ts": "c\n",
  "secret/key.txt": "k\n",
  "secret/deep/x.txt": "x\n",
  "readme.md": "hello\n",
  ".gitignore": "node_modules/\n",
};

test("a checkout makes the files exactly those of the commit, whatever was there", async () => {
  using person = new TestRepository({ ...FILES, ".gitattributes": "* text eol=crlf\n" });
  chmodSync(join(person.folder, "readme.md"), 0o755);
  symlinkSync("api/a.ts", join(person.folder, "src/link.ts"));
  person.commit("more");
  const run = await startRun(person);
  const clean = readTree(run.tree.tree);
  const { tree } = run.tree;
  rmSync(join(tree, "src/core"), { recursive: true });
  symlinkSync("/etc", join(tree, "src/core"));
  rmSync(join(tree, "readme.md"));
  writeFiles(tree, {
    "readme.md/x/y": "folder",
    "src/api/.git/config": "[core]",
    "node_modules/x.js": "x",
    "new/deep/file": "x",
    "src/api/a.ts": "changed\n",
  });
  writeFileSync(Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff])]), "no text");
  execFileSync("mkfifo", [join(tree, "src/api/pipe")]);
  chmodSync(join(tree, "new/deep"), 0);
  rmSync(join(tree, "src/link.ts"));
  writeFileSync(join(tree, "src/link.ts"), "api/a.ts");

  await run.tree.checkout(run.base);

  expect(readTree(tree)).toEqual(clean);
  expect(existsSync(join(tree, "new"))).toBe(false);
  expect(readFileSync(join(tree, "src/api/b.ts"), "utf8")).toBe("b\n");
  expect(existsSync("/etc/passwd")).toBe(true);
});

test("a folder deeper than any path is removed", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const name = "d".repeat(200);
  execFileSync(process.execPath, [
    "-e",
    `process.chdir(${JSON.stringify(run.tree.tree)}); for (let i = 0; i < 40; i++) { require("fs").mkdirSync("${name}"); process.chdir("${name}"); } require("fs").writeFileSync("end", "x")`,
  ]);

  const done = await run.commit(aScope({ writes: ["src/**"] }));
  await run.tree.checkout(run.base);

  expect(done.violations.map(({ because }) => because)).toEqual(["too-long"]);
  expect(Object.keys(readTree(run.tree.tree))).toEqual(Object.keys(FILES).sort());
});

test("what a setup made stays through checkouts and is no change of a worker", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const { tree } = run.tree;
  writeFiles(tree, {
    "node_modules/x.js": "x\n",
    "generated/types.ts": "types\n",
    "readme.md": "touched by setup\n",
  });
  execFileSync("git", ["init", "-q", `${tree}/generated`]);
  execFileSync("git", ["init", "-q", "--bare", `${tree}/mirror`]);
  rmSync(join(tree, "src/core/c.ts"));
  expect(await run.tree.setup()).toBeUndefined();

  const setup = await run.tree.markSetup(run.base);
  writeFiles(tree, { "src/api/a.ts": "mine\n" });
  const done = await run.commit(aScope({ writes: ["src/api/**"] }), { setup });
  await run.tree.checkout(done.commit!, { keep: "setup" });

  expect(done.violations).toEqual([]);
  expect(done.changes.map(({ path }) => path)).toEqual(["src/api/a.ts"]);
  expect(await run.tree.setup()).toEqual(setup);
  const there = Object.keys(readTree(tree));
  expect(there.filter((path) => !/^generated\/\.git|^mirror\//.test(path))).toEqual(
    [...Object.keys(FILES), "generated/types.ts", "node_modules/x.js"].sort(),
  );
  expect(there).toContain("mirror/HEAD");
  expect(there).toContain("generated/.git/HEAD");
  expect(readFileSync(join(tree, "readme.md"), "utf8")).toBe("hello\n");
  await run.tree.checkout(done.commit!);
  expect(Object.keys(readTree(tree))).toEqual(Object.keys(FILES).sort());
});

test("ignored files of a worker are named with their rule, and the next checkout takes them away", async () => {
  using person = new TestRepository({ ...FILES, "src/.gitignore": "# made\ngen/\n" });
  const run = await startRun(person);
  const { tree } = run.tree;
  writeFiles(tree, { "node_modules/tool.js": "1\n" });
  const setup = await run.tree.markSetup(run.base);
  writeFiles(tree, {
    "src/gen/deep/g.txt": "g\n",
    "src/__pycache__/a.pyc": "p\n",
    "src/api/node_modules/x.js": "x\n",
  });

  const done = await run.commit(aScope({ writes: ["src/**"] }), { setup });
  await run.tree.checkout(run.base, { keep: "setup" });

  expect(done.ignored).toEqual([
    { path: "src/gen/deep/g.txt", by: "src/.gitignore:2", pattern: "gen/" },
    { path: "src/api/node_modules/x.js", by: ".gitignore:1", pattern: "node_modules/" },
  ]);
  const there = Object.keys(readTree(tree));
  expect(there.filter((path) => path.startsWith("src/gen") || path.includes(".js"))).toEqual([
    "node_modules/tool.js",
  ]);
});

test.each([
  ["adds to it", { "node_modules/more.js": "2\n" }, true],
  ["changes it", { "node_modules/tool.js": "2\n" }, false],
])("what the setup made is as it was after a worker that %s", async (_what, files, isKept) => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const { tree } = run.tree;
  writeFiles(tree, { "node_modules/tool.js": "1\n" });
  await run.tree.markSetup(run.base);
  await run.tree.confinement(run.base, aScope({ writes: ["**"] }), { repository: run.repository });

  writeFiles(tree, files);
  await run.tree.mendSetup();
  await run.tree.checkout(run.base, { keep: "setup" });

  expect((await run.tree.setup()) !== undefined).toBe(isKept);
  const made = isKept ? ["node_modules/tool.js"] : [];
  expect(Object.keys(readTree(tree)).filter((path) => path.startsWith("node_"))).toEqual(made);
});

test("what a worker cannot write of the setup's files is not looked at", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, { "node_modules/tool.js": "1\n" });
  await run.tree.markSetup(run.base);
  const scope = aScope({ writes: ["src/api/**"] });

  await run.tree.confinement(run.base, scope, { repository: run.repository });

  expect(existsSync(join(dirname(run.tree.tree), "setup-watch.json"))).toBe(false);
});

test("the private repository shows what a worker may see, and nothing else", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const scope = aScope({ writes: ["src/api/**"], forbidden: ["secret/**"] });

  await run.tree.makePrivateGit(run.base, scope);
  const { tree } = run.tree;

  expect(gitIn(tree, "status", "--porcelain")).toBe("");
  expect(gitIn(tree, "ls-files").split("\n")).toEqual([
    ".gitignore",
    "readme.md",
    "src/api/a.ts",
    "src/api/b.ts",
    "src/core/c.ts",
  ]);
  expect(gitIn(tree, "rev-list", "--count", "--all")).toBe("1");
  expect(() =>
    gitIn(tree, "cat-file", "-e", gitIn(person.folder, "rev-parse", "HEAD:secret/key.txt")),
  ).toThrow("cat-file");
  writeFiles(tree, { "src/api/a.ts": "mine\n" });
  expect(gitIn(tree, "diff", "--stat")).toContain("src/api/a.ts");
});

test("one process holds a tree; a higher epoch takes it", async () => {
  using person = new TestRepository(FILES);
  const { tree } = await startRun(person);
  const first = { run: "run1", processId: "one", epoch: 1 };
  await tree.lease(first);
  await tree.lease(first);

  await expect(tree.lease({ run: "run1", processId: "two", epoch: 1 })).rejects.toMatchObject({
    code: "TREE_LEASED",
  });
  await tree.lease({ run: "run1", processId: "two", epoch: 2 });
  await expect(tree.lease(first)).rejects.toMatchObject({ code: "TREE_LEASED" });
  await tree.release(first);
  expect(await tree.holder()).toMatchObject({ processId: "two" });
});

test("a tree is removed only when nothing in it can be lost", FULL, async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, { "src/api/a.ts": "mine\n", "stray.txt": "x\n" });
  const done = await run.commit(aScope({ writes: ["src/api/**"] }));
  const lease = { run: "run1", processId: "one", epoch: 1 };
  const proof = {
    repository: run.repository,
    commit: done.commit!,
    keptBy: ["refs/dure/run1/ports/login/1.1.impl"],
  };
  await run.tree.lease(lease);

  await expect(run.tree.remove(proof)).rejects.toMatchObject({
    code: "TREE_NOT_SAFE",
    message: expect.stringContaining("one holds it") as string,
  });
  await run.tree.release(lease);
  await expect(run.tree.remove(proof)).rejects.toMatchObject({
    code: "TREE_NOT_SAFE",
    message: expect.stringContaining("reachable") as string,
  });
  await run.repository.publish(run.store, "run1");
  await expect(run.tree.remove({ ...proof, keptBy: [] })).rejects.toMatchObject({
    code: "TREE_NOT_SAFE",
  });
  await expect(
    run.tree.remove({ ...proof, keptBy: ["refs/dure/run1/base"] }),
  ).rejects.toMatchObject({ code: "TREE_NOT_SAFE" });
  await expect(run.tree.remove(proof)).rejects.toMatchObject({
    code: "TREE_NOT_SAFE",
    message: expect.stringContaining("stray.txt") as string,
  });
  await run.tree.checkout(done.commit!);
  await run.tree.remove(proof);
  expect(existsSync(run.tree.tree)).toBe(false);
});

test("a file system that is mounted into a tree is never emptied", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const mount = join(run.tree.tree, "src/api/mounted");
  mkdirSync(mount);
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", mount]);
  try {
    writeFileSync(join(mount, "precious"), "x");

    await expect(run.tree.checkout(run.base)).rejects.toMatchObject({ code: "TREE_MOUNTED" });

    expect((await run.commit(aScope({ writes: ["src/api/**"] }))).violations).toEqual([
      { path: "src/api/mounted", because: "other-device" },
    ]);
    expect(existsSync(join(mount, "precious"))).toBe(true);
  } finally {
    execFileSync("umount", ["-l", mount]);
  }
});

test("a scope becomes folders and files that a sandbox can be told of", async () => {
  using person = new TestRepository({
    ...FILES,
    "src/api/tests/t.ts": "t\n",
    "src/api/contract.ts": "c\n",
  });
  const run = await startRun(person);
  const scope = aScope({
    writes: ["src/api/**", "docs/api/**", "readme.md"],
    exceptions: ["src/api/tests/**", "src/api/later/**"],
    contracts: ["src/api/contract.ts"],
    forbidden: ["secret/**"],
  });

  const confinement = await run.tree.confinement(run.base, scope, { repository: run.repository });
  const inTree = (paths: readonly string[]): string[] =>
    paths.map((path) => path.replace(`${run.tree.tree}/`, ""));

  expect(confinement.cwd).toBe(run.tree.tree);
  expect(inTree(confinement.writable)).toEqual([
    "docs/api",
    "readme.md",
    "src/api",
    run.tree.scratch,
  ]);
  expect(inTree(confinement.readOnly)).toEqual([
    "src/api/contract.ts",
    "src/api/later",
    "src/api/tests",
  ]);
  expect(inTree(confinement.hidden)).toEqual([
    "secret",
    person.folder,
    join(person.folder, ".git"),
    run.store.folder,
    dirname(run.store.folder),
    dirname(dirname(run.tree.tree)),
  ]);
  for (const path of [...confinement.writable, ...confinement.readOnly, ...confinement.hidden]) {
    expect(existsSync(path)).toBe(true);
  }
});

test("what another port owns is hidden by whole folders, but not what may be read or is needed to build", () => {
  const paths = [
    "lib/a.ts",
    "lib/deep/b.ts",
    "src/api/a.ts",
    "src/core/a.ts",
    "src/core/read.ts",
    "src/core/deep/b.ts",
    "src/core/deep/contract.ts",
    "src/both/theirs.ts",
    "src/both/package.json",
    "test/a.test.ts",
  ];
  const scope = aScope({
    writes: ["src/api/**", "src/both/new.ts"],
    reads: ["src/core/read.ts"],
    contracts: ["src/core/deep/contract.ts"],
    withheld: ["lib/**", "SRC/core/**", "src/both/**", "**/*.test.ts"],
    needed: ["**/package.json"],
  });

  expect(withheldOf(scope, paths)).toEqual([
    "lib",
    "src/both/theirs.ts",
    "src/core/a.ts",
    "src/core/deep/b.ts",
    "test",
  ]);
  expect(
    withheldOf(aScope({ writes: ["src/api/**"], reads: ["**"], withheld: ["**"] }), paths),
  ).toEqual([]);
});

test("a person's working tree is hidden but for its software; the private repository holds none of it", async () => {
  using person = new TestRepository(FILES);
  writeFiles(person.folder, { ".env": "KEY=1\n", "node_modules/tool/index.js": "1\n" });
  const run = await startRun(person);
  const scope = aScope({ writes: ["src/api/**"], reads: [], withheld: ["src/core/**"] });

  await run.tree.makePrivateGit(run.base, scope);
  const { hidden, readOnly } = await run.tree.confinement(run.base, scope, {
    repository: run.repository,
  });

  expect(hidden).toContain(person.folder);
  expect(hidden).toContain(join(run.tree.tree, "src/core"));
  expect(readOnly).toEqual([join(person.folder, "node_modules")]);
  expect(gitIn(run.tree.tree, "ls-tree", "-r", "--name-only", "HEAD").split("\n")).not.toContain(
    "src/core/c.ts",
  );
  expect(gitIn(run.tree.tree, "status", "--porcelain")).toBe("");
});

test("a file that is not there yet opens its folder, and closes what is beside it", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);

  const one = await run.tree.confinement(run.base, aScope({ writes: ["src/api/new.ts"] }), {
    repository: run.repository,
  });
  const all = await run.tree.confinement(run.base, aScope({ writes: ["*.md"] }), {
    repository: run.repository,
  });

  expect(one.writable).toEqual([join(run.tree.tree, "src/api"), run.tree.scratch]);
  expect(one.readOnly).toEqual(
    ["src/api/a.ts", "src/api/b.ts"].map((path) => join(run.tree.tree, path)),
  );
  expect(all.readOnly).toEqual(
    [".git", ".gitignore", "secret", "src"].map((path) => join(run.tree.tree, path)),
  );
});

test("a file that is there opens its folder too, and closes all that is beside it", async () => {
  using person = new TestRepository({ ...FILES, "src/api/deep/d.ts": "d\n" });
  const run = await startRun(person);
  // No commit has these.
  writeFiles(run.tree.tree, { "src/api/made.txt": "m\n", "src/api/cache/x.bin": "x\n" });

  const { writable, readOnly } = await run.tree.confinement(
    run.base,
    aScope({ writes: ["src/api/a.ts", "src/api/deep/d.ts"] }),
    { repository: run.repository },
  );

  expect(writable).toEqual([join(run.tree.tree, "src/api"), run.tree.scratch]);
  expect(readOnly).toEqual(
    ["src/api/b.ts", "src/api/cache", "src/api/made.txt"].map((path) => join(run.tree.tree, path)),
  );
});

test("the root, and a folder with a link, are not opened for a file that is there", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  symlinkSync("/elsewhere", join(run.tree.tree, "src/core/link"));

  const { writable, readOnly } = await run.tree.confinement(
    run.base,
    aScope({ writes: ["readme.md", "src/core/c.ts"] }),
    { repository: run.repository },
  );

  const files = ["readme.md", "src/core/c.ts"].map((path) => join(run.tree.tree, path));
  expect(writable).toEqual([...files, run.tree.scratch]);
  expect(readOnly).toEqual([]);
});

test(
  "in the sandbox a program may replace its file by another, and no file beside it",
  FULL,
  async () => {
    using person = new TestRepository(FILES);
    const run = await startRun(person);
    const scope = aScope({ writes: ["src/api/a.ts"] });
    const confinement = await run.tree.confinement(run.base, scope, { repository: run.repository });
    const folder = join(dirname(run.tree.scratch), "sandbox");
    const sandbox = await openSandbox({ wanted: "enforced", folder, clock: systemClock });
    const script = [
      "sed -i s/a/mine/ src/api/a.ts",
      "sed -i s/b/mine/ src/api/b.ts",
      "mv src/api/a.ts src/api/b.ts",
      "rm -f src/api/b.ts",
      "echo mine > src/core/new.ts",
      "true",
    ].join("; ");

    const end = await sandbox.run(confinement, {
      command: ["/bin/sh", "-c", script],
      env: {},
      input: "",
      limits: { timeMs: 20_000, outputBytes: 10_000, fileBytes: 1_000_000, processes: 100 },
    });

    expect(end).toMatchObject({ because: "exited", exitCode: 0 });
    const at = (path: string): string => join(run.tree.tree, path);
    expect(readFileSync(at("src/api/a.ts"), "utf8")).toBe("mine\n");
    expect(readFileSync(at("src/api/b.ts"), "utf8")).toBe("b\n");
    expect(existsSync(at("src/core/new.ts"))).toBe(false);
  },
);

test("a link is no way into another folder", async () => {
  using person = new TestRepository({ ...FILES });
  symlinkSync("core", join(person.folder, "src/link"));
  person.commit("link");
  const run = await startRun(person);

  await expect(
    run.tree.confinement(run.base, aScope({ writes: ["src/link/**"] }), {
      repository: run.repository,
    }),
  ).rejects.toMatchObject({ code: "SCOPE_THROUGH_LINK" });
  await expect(
    run.tree.confinement(run.base, aScope({ writes: ["src/link"] }), {
      repository: run.repository,
    }),
  ).rejects.toMatchObject({ code: "SCOPE_THROUGH_LINK" });
});

test("patterns that make too many places are refused with a hint", FULL, async () => {
  using person = new TestRepository(
    Object.fromEntries(Array.from({ length: 2_100 }, (_, index) => [`src/f${index}.txt`, "x"])),
  );
  const run = await startRun(person);

  await expect(
    run.tree.confinement(run.base, aScope({ writes: ["**/*.ts"] }), { repository: run.repository }),
  ).rejects.toMatchObject({ code: "SCOPE_TOO_SCATTERED" });
});

const segment = fc.constantFrom("a", "b", "c", "A");
const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const glob = fc.oneof(
  path,
  path.map((text) => `${text}/**`),
  path.map((text) => `${text}/*`),
  fc.constant("**"),
  segment.map((name) => `**/${name}`),
);
const scopes = fc.record({
  writes: fc.array(glob, { minLength: 1, maxLength: 3 }),
  exceptions: fc.array(glob, { maxLength: 2 }),
  forbidden: fc.array(glob, { maxLength: 1 }),
  contracts: fc.array(path, { maxLength: 1 }),
});
const LONG = process.env.DURE_TEST_LONG === "1";

test("a folder that is said to be closed holds no path that could be allowed", () => {
  fc.assert(
    fc.property(scopes, path, path, (input, folder, rest) => {
      const scope = aScope(input);
      const inside = `${folder}/${rest}`;
      const isWritable =
        input.writes.some((text) => globMatches(globOf(text), inside)) &&
        ![...input.exceptions, ...input.forbidden].some((text) =>
          globMatches(globOf(text.toLowerCase()), inside.toLowerCase()),
        );
      if (
        isWriteClosed(scope, folder) &&
        !input.contracts.some((text) => text.toLowerCase() === inside.toLowerCase())
      ) {
        expect(isWritable).toBe(false);
      }
      if (isReadClosed(scope, folder)) {
        expect(
          input.forbidden.some((text) =>
            globMatches(globOf(text.toLowerCase()), inside.toLowerCase()),
          ),
        ).toBe(true);
      }
      for (const place of placesOf(scope).folders) {
        expect(
          placesOf(scope).folders.some(
            (other) => other !== place && (other === "" || place.startsWith(`${other}/`)),
          ),
        ).toBe(false);
      }
    }),
    { numRuns: LONG ? 20_000 : 2_000 },
  );
});

test("a cover holds all refused paths and no allowed one", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(path, { maxLength: 20 }),
      fc.array(path, { maxLength: 10 }),
      (drawn, refused) => {
        const paths = drawn.filter((one) => !drawn.some((other) => other.startsWith(`${one}/`))); // a file has nothing in it
        const isRefused = (one: string): boolean => refused.includes(one);
        const cover = coverOf(paths, isRefused, (folder) =>
          paths.filter((one) => one.startsWith(`${folder}/`)).every(isRefused),
        );
        const isCovered = (one: string): boolean =>
          cover.some((top) => one === top || one.startsWith(`${top}/`));
        for (const one of paths.filter(isRefused)) expect(isCovered(one)).toBe(true);
        for (const one of paths.filter((one) => !isRefused(one) && !cover.includes(one))) {
          expect(isCovered(one)).toBe(false);
        }
      },
    ),
  );
});

/** What a worker may do to a path: anything that a file system lets it. */
const deeds = fc.array(
  fc.record({
    kind: fc.constantFrom(
      "write",
      "remove",
      "rename",
      "link",
      "hardlink",
      "folder",
      "mode",
      "fifo",
    ),
    at: path,
    to: path,
    text: fc.string({ maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 12 },
);

test.each(LONG ? Array.from({ length: 20 }, (_, index) => index) : [1, 2, 3])(
  "no write outside ownership ever lands (seed %i)",
  { ...FULL, timeout: LONG ? 600_000 : 120_000 },
  async (seed) => {
    const base = { "a/a": "1\n", "a/b/c": "2\n", "b/a/b": "3\n", "c/c": "4\n", "c/a": "5\n" };
    using person = new TestRepository(base);
    const run = await startRun(person);
    const before = readCommit(person.folder, "HEAD");
    await fc.assert(
      fc.asyncProperty(scopes, deeds, fc.uuid(), async (input, work, id) => {
        await run.tree.checkout(run.base);
        const clean = readTree(run.tree.tree);
        for (const deed of work) doIt(run.tree.tree, deed);
        const scope = aScope(input);
        const done = await run.store.owned.commit({
          tree: run.tree.tree,
          parent: run.base,
          scope,
          message: "x\n",
          ref: `ports/login/${id}`,
          at: AT,
          limits: LIMITS,
        });
        const after =
          done.commit === undefined ? before : readCommit(run.store.folder, done.commit);
        const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
          (one) => before[one] !== after[one],
        );
        // Decided by the patterns alone, apart from the code under test.
        const matches = (texts: readonly string[], one: string): boolean =>
          texts.some((text) => globMatches(globOf(text), one));
        for (const one of changed) {
          expect(matches(input.writes, one)).toBe(true);
          expect(matches([...input.exceptions, ...input.forbidden, ...input.contracts], one)).toBe(
            false,
          );
        }
        if (done.commit !== undefined) {
          expect(
            gitIn(run.store.folder, "ls-tree", "-r", done.commit)
              .split("\n")
              .filter(Boolean)
              .every((line) => /^(100644|100755|120000) /.test(line)),
          ).toBe(true);
        }
        const onDisk = readTree(run.tree.tree);
        const differs = [...new Set([...Object.keys(clean), ...Object.keys(onDisk)])].filter(
          (one) => !matches(input.writes, one) && clean[one] !== onDisk[one],
        ); // made, changed or gone
        for (const one of differs) expect(done.violations.map(({ path }) => path)).toContain(one);
      }),
      { seed, numRuns: LONG ? 60 : 12, endOnFailure: true },
    );
  },
);

function doIt(
  tree: string,
  { kind, at, to, text }: { kind: string; at: string; to: string; text: string },
): void {
  const [from, target] = [join(tree, at), join(tree, to)];
  try {
    if (kind === "write") writeFiles(tree, { [at]: text });
    else if (kind === "remove") rmSync(from, { recursive: true });
    else if (kind === "rename") execFileSync("mv", ["-T", from, target], { stdio: "ignore" });
    else if (kind === "link") symlinkSync(text.length > 1 ? target : to, from);
    else if (kind === "hardlink") execFileSync("ln", [from, target], { stdio: "ignore" });
    else if (kind === "folder") mkdirSync(from, { recursive: true });
    else if (kind === "mode") chmodSync(from, 0o755);
    else execFileSync("mkfifo", [from], { stdio: "ignore" });
  } catch {
    // A deed that the file system refuses is no deed.
  }
}
