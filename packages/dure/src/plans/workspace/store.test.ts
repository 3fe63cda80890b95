// @module-tag slow
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
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
  "readme.md": "hello\n",
  ".gitignore": "node_modules/\n*.log\n",
};
const api = aScope({ writes: ["src/api/**"] });

test("takes what a worker owns: new, changed, deleted, made executable, linked", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, {
    "src/api/a.ts": "changed\n",
    "src/api/deep/new.ts": "new\n",
    "src/api/run.sh": "#!/bin/sh\n",
  });
  chmodSync(join(run.tree.tree, "src/api/run.sh"), 0o755);
  symlinkSync("../core/c.ts", join(run.tree.tree, "src/api/link.ts"));
  unlinkSync(join(run.tree.tree, "src/api/b.ts"));

  const done = await run.commit(api);

  expect(done.violations).toEqual([]);
  expect(done.changes).toEqual([
    { path: "src/api/a.ts", kind: "modified", bytes: 8 },
    { path: "src/api/b.ts", kind: "deleted", bytes: 0 },
    { path: "src/api/deep/new.ts", kind: "new", bytes: 4 },
    { path: "src/api/link.ts", kind: "new", bytes: 12 },
    { path: "src/api/run.sh", kind: "new", bytes: 10 },
  ]);
  expect(readCommit(run.store.folder, done.commit!)).toEqual({
    ".gitignore": "node_modules/\n*.log",
    "readme.md": "hello",
    "src/api/a.ts": "changed",
    "src/api/deep/new.ts": "new",
    "src/api/link.ts": "../core/c.ts",
    "src/api/run.sh": "#!/bin/sh",
    "src/core/c.ts": "c",
  });
  expect(gitIn(run.store.folder, "ls-tree", "-r", done.commit!, "src/api/run.sh")).toMatch(
    /^100755 /,
  );
  expect(
    gitIn(run.store.folder, "show", "-s", "--format=%an <%ae> %at %cn %ct %P", done.commit!),
  ).toBe(`dure <dure@localhost> ${AT / 1000} dure ${AT / 1000} ${run.base}`);
});

test("tells of what is another's, and does not take it", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, {
    "src/api/a.ts": "mine\n",
    "src/core/c.ts": "not mine\n",
    "src/core/new.ts": "not mine\n",
  });
  unlinkSync(join(run.tree.tree, "readme.md"));

  const done = await run.commit(api);

  expect(done.violations).toEqual([
    { path: "readme.md", because: "not-owned" },
    { path: "src/core/c.ts", because: "not-owned" },
    { path: "src/core/new.ts", because: "not-owned" },
  ]);
  expect(done.changes.map(({ path }) => path)).toEqual(["src/api/a.ts"]);
  expect(readCommit(run.store.folder, done.commit!)).toEqual({
    ...readCommit(person.folder, "HEAD"),
    "src/api/a.ts": "mine",
  });
});

test("a step that is asked for again is not done again", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, { "src/api/a.ts": "mine\n", "x.ts": "stray\n" });
  const first = await run.commit(api, { ref: "ports/login/1.1.impl" });
  writeFiles(run.tree.tree, { "src/api/a.ts": "later\n" });

  const second = await run.commit(api, { ref: "ports/login/1.1.impl" });

  expect(second).toEqual(first);
  expect(second.violations).toEqual([{ path: "x.ts", because: "not-owned" }]);
  expect(await run.store.read("ports/login/1.1.impl")).toBe(first.commit);
});

test("no change is no commit, and is remembered", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);

  const first = await run.commit(api, { ref: "ports/login/1.1.impl" });
  writeFiles(run.tree.tree, { "src/api/a.ts": "later\n" });

  expect(first).toEqual({ commit: undefined, changes: [], violations: [] });
  expect(await run.commit(api, { ref: "ports/login/1.1.impl" })).toEqual(first);
  expect(await run.store.has("ports/login/1.1.impl")).toBe(false);
});

test("two processes at the same step come to the same commit", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, { "src/api/a.ts": "mine\n" });

  const [one, other] = await Promise.all([
    run.commit(api, { ref: "ports/login/1.1.impl" }),
    run.commit(api, { ref: "ports/login/1.1.impl" }),
  ]);

  expect(one).toEqual(other);
});

test("the rules of .gitignore are those of the commit, not the worker's", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, {
    "src/api/.gitignore": "hidden.ts\n",
    "src/api/hidden.ts": "is taken\n",
    "core.log": "ignored\n",
    "node_modules/x/index.js": "ignored\n",
    "src/api/node_modules/y/index.js": "ignored\n",
    "node_modules/x/.git/config": "ignored\n",
    ".git/info/exclude": "*\n",
  });

  const done = await run.commit(api);

  expect(done.violations).toEqual([]);
  expect(done.changes.map(({ path }) => path)).toEqual(["src/api/.gitignore", "src/api/hidden.ts"]);
});

test("a .gitignore of the worker in a place that is not its own hides nothing", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, { ".gitignore": "*\n", "src/core/stray.ts": "x\n" });

  const done = await run.commit(api);

  expect(done.violations.map(({ path }) => path)).toEqual([".gitignore", "src/core/stray.ts"]);
});

test.each<
  [string, (tree: string, person: TestRepository) => void, { path: string; because: string }[]]
>([
  [
    "a link that leaves the tree",
    (tree) => symlinkSync("/etc/passwd", `${tree}/src/api/x`),
    [{ path: "src/api/x", because: "link-outside" }],
  ],
  [
    "a link that leaves the tree by ..",
    (tree) => symlinkSync("../../../outside", `${tree}/src/api/x`),
    [{ path: "src/api/x", because: "link-outside" }],
  ],
  [
    "a link that leaves the tree through another link",
    (tree) => (
      symlinkSync("..", `${tree}/src/api/up`),
      symlinkSync("up/../../..", `${tree}/src/api/x`)
    ),
    [{ path: "src/api/x", because: "link-outside" }],
  ],
  [
    "a link into git's own files",
    (tree) => symlinkSync("../../.git/config", `${tree}/src/api/x`),
    [{ path: "src/api/x", because: "link-outside" }],
  ],
  [
    "links that lead to each other",
    (tree) => symlinkSync("x", `${tree}/src/api/x`),
    [{ path: "src/api/x", because: "link-outside" }],
  ],
  [
    "a second name of another's file",
    (tree) => linkSync(`${tree}/src/core/c.ts`, `${tree}/src/api/x`),
    [{ path: "src/api/x", because: "hard-link" }],
  ],
  [
    "a second name of a file outside",
    (tree, person) => linkSync(join(person.folder, "readme.md"), `${tree}/src/api/x`),
    [{ path: "src/api/x", because: "hard-link" }],
  ],
  [
    "writing to another's file through a second name",
    (tree) => (
      linkSync(`${tree}/src/core/c.ts`, `${tree}/src/api/x`),
      writeFileSync(`${tree}/src/api/x`, "evil")
    ),
    [
      { path: "src/api/x", because: "hard-link" },
      { path: "src/core/c.ts", because: "not-owned" },
    ],
  ],
  [
    "a rename over another's file",
    (tree) => renameSync(`${tree}/src/api/a.ts`, `${tree}/src/core/c.ts`),
    [{ path: "src/core/c.ts", because: "not-owned" }],
  ],
  [
    "another spelling of its folder",
    (tree) => writeFiles(tree, { "src/API/x.ts": "x" }),
    [{ path: "src/API/x.ts", because: "case-variant" }],
  ],
  [
    "another spelling of a file that is there",
    (tree) => writeFiles(tree, { "src/api/A.ts": "x" }),
    [{ path: "src/api/A.ts", because: "case-variant" }],
  ],
  [
    "two new files that differ by case",
    (tree) => writeFiles(tree, { "src/api/N.ts": "x", "src/api/n.ts": "y" }),
    [{ path: "src/api/n.ts", because: "case-variant" }],
  ],
  [
    "a repository in its folder",
    (tree) =>
      writeFiles(tree, { "src/api/.git/config": "[core]\n\tfsmonitor = touch /tmp/owned\n" }),
    [{ path: "src/api/.git", because: "nested-repository" }],
  ],
  [
    "a repository without working files, whatever its name",
    (tree) => {
      execFileSync("git", ["init", "-q", "--bare", `${tree}/src/api/data`]);
      writeFiles(tree, { "src/api/data/config": "[core]\n\tfsmonitor = touch /tmp/owned\n" });
    },
    [{ path: "src/api/data", because: "nested-repository" }],
  ],
  [
    "what makes a repository of a folder that is there",
    (tree) =>
      writeFiles(tree, {
        "src/api/HEAD": "ref: refs/heads/x\n",
        "src/api/objects/info/x": "x",
        "src/api/refs/heads/x": "x",
      }),
    [
      { path: "src/api/HEAD", because: "nested-repository" },
      { path: "src/api/objects", because: "nested-repository" },
      { path: "src/api/refs", because: "nested-repository" },
    ],
  ],
  [
    "git's folder under another spelling",
    (tree) => writeFiles(tree, { "src/api/.GIT/config": "x" }),
    [{ path: "src/api/.GIT", because: "nested-repository" }],
  ],
  [
    "a file that points to a repository elsewhere",
    (tree) => writeFiles(tree, { "src/api/.git": "gitdir: /elsewhere\n" }),
    [{ path: "src/api/.git", because: "nested-repository" }],
  ],
  [
    "a pipe",
    (tree) => execFileSync("mkfifo", [`${tree}/src/api/x`]),
    [{ path: "src/api/x", because: "not-regular" }],
  ],
  [
    "a pipe in the place of a file",
    (tree) => (
      unlinkSync(`${tree}/src/core/c.ts`),
      execFileSync("mkfifo", [`${tree}/src/core/c.ts`])
    ),
    [
      { path: "src/core/c.ts", because: "not-owned" },
      { path: "src/core/c.ts", because: "not-owned" },
    ],
  ],
  [
    "a name that is no text",
    (tree) =>
      writeFileSync(
        Buffer.concat([Buffer.from(`${tree}/src/api/`), Buffer.from([0x66, 0xff])]),
        "x",
      ),
    [{ path: String.raw`src/api/f\xff`, because: "broken-text" }],
  ],
  [
    "the mode of another's file",
    (tree) => chmodSync(`${tree}/src/core/c.ts`, 0o755),
    [{ path: "src/core/c.ts", because: "not-owned" }],
  ],
  [
    "a folder in the place of another's file",
    (tree) => (unlinkSync(`${tree}/readme.md`), writeFiles(tree, { "readme.md/x": "x" })),
    [
      { path: "readme.md", because: "not-owned" },
      { path: "readme.md/x", because: "not-owned" },
    ],
  ],
  [
    "a link in the place of another's folder",
    (tree) => (
      rmSync(`${tree}/src/core`, { recursive: true }),
      symlinkSync("api", `${tree}/src/core`)
    ),
    [
      { path: "src/core", because: "not-owned" },
      { path: "src/core/c.ts", because: "not-owned" },
    ],
  ],
  [
    "a folder without rights",
    (tree) => (mkdirSync(`${tree}/src/core/closed`), chmodSync(`${tree}/src/core/closed`, 0)),
    [],
  ],
])("does not take %s", FULL, async (_, attack, violations) => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  attack(run.tree.tree, person);

  const done = await run.commit(api);

  expect(done.violations).toEqual(violations);
  const refused = violations.map(({ path }) => path);
  const taken = done.commit === undefined ? {} : readCommit(run.store.folder, done.commit);
  for (const [path, text] of Object.entries(readCommit(person.folder, "HEAD"))) {
    if (!path.startsWith("src/api/")) {
      expect(done.commit === undefined ? text : taken[path]).toBe(text);
    }
  }
  for (const path of refused.filter((path) => path.startsWith("src/api/"))) {
    expect(Object.keys(taken)).not.toContain(path);
  }
});

test("a change that keeps size and time is found", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const path = join(run.tree.tree, "src/core/c.ts");
  const { atime, mtime } = statSync(path);
  await run.commit(api);
  writeFileSync(path, "C\n");
  utimesSync(path, atime, mtime);

  const done = await run.commit(api);

  expect(done.violations).toEqual([{ path: "src/core/c.ts", because: "not-owned" }]);
});

test("a file that became a folder and a file again is a changed file", FULL, async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const path = join(run.tree.tree, "src/api/a.ts");
  unlinkSync(path);
  writeFiles(run.tree.tree, { "src/api/a.ts/inner.ts": "inner\n" });
  const asFolder = await run.commit(api, { ref: "ports/login/1.1.impl" });
  rmSync(path, { recursive: true });
  writeFileSync(path, "back\n");

  const asFile = await run.commit(api, { parent: asFolder.commit!, ref: "ports/login/1.2.impl" });

  expect(asFolder.changes).toEqual([
    { path: "src/api/a.ts", kind: "deleted", bytes: 0 },
    { path: "src/api/a.ts/inner.ts", kind: "new", bytes: 6 },
  ]);
  expect(asFile.changes).toEqual([
    { path: "src/api/a.ts", kind: "new", bytes: 5 },
    { path: "src/api/a.ts/inner.ts", kind: "deleted", bytes: 0 },
  ]);
  expect(asFile.violations).toEqual([]);
});

test("a file of its own cannot push out another's folder, nor the other way round", async () => {
  using person = new TestRepository({ "src/a/x.ts": "x\n", "src/b": "b\n" });
  const run = await startRun(person);
  rmSync(join(run.tree.tree, "src/a"), { recursive: true });
  unlinkSync(join(run.tree.tree, "src/b"));
  writeFiles(run.tree.tree, { "src/a": "file", "src/b/y.ts": "y" });

  const done = await run.commit(aScope({ writes: ["src/a", "src/b/**"] }));

  expect(done.commit).toBeUndefined();
  expect(done.violations).toEqual(
    expect.arrayContaining([
      { path: "src/a", because: "in-the-way" },
      { path: "src/a/x.ts", because: "not-owned" },
      { path: "src/b", because: "not-owned" },
      { path: "src/b/y.ts", because: "in-the-way" },
    ]),
  );
});

test(
  "a link to what the worker must not read is not taken, one to its own folder is",
  FULL,
  async () => {
    using person = new TestRepository({ ...FILES, "secret/key.txt": "k\n" });
    const run = await startRun(person);
    const scope = aScope({
      writes: ["src/api/**"],
      reads: ["src/core/**"],
      forbidden: ["secret/**"],
    });
    symlinkSync("../../secret/key.txt", join(run.tree.tree, "src/api/key"));
    symlinkSync("../../secret", join(run.tree.tree, "src/api/secrets"));
    symlinkSync("../../secret/later.txt", join(run.tree.tree, "src/api/later"));
    symlinkSync("../core", join(run.tree.tree, "src/api/core"));
    symlinkSync("..", join(run.tree.tree, "src/api/up"));

    const done = await run.commit(scope);

    expect(done.violations).toEqual(
      ["key", "later", "secrets"].map((name) => ({
        path: `src/api/${name}`,
        because: "link-unreadable",
      })),
    );
    expect(done.changes.map(({ path }) => path)).toEqual(["src/api/core", "src/api/up"]);
  },
);

test("too large and too many: nothing is taken", async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  writeFiles(run.tree.tree, { "src/api/a.ts": "small\n", "src/api/huge.bin": "" });
  truncateSync(join(run.tree.tree, "src/api/huge.bin"), 5_000_000_000);
  const huge = await run.commit(api);
  unlinkSync(join(run.tree.tree, "src/api/huge.bin"));
  writeFiles(
    run.tree.tree,
    Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`src/api/n${index}.ts`, "0123456789"]),
    ),
  );

  const many = await run.commit(api, { limits: { ...LIMITS, files: 20 } });
  const total = await run.commit(api, { limits: { ...LIMITS, totalBytes: 100 } });

  expect(huge).toEqual({
    commit: undefined,
    changes: [],
    violations: [{ path: "src/api/huge.bin", because: "too-large" }],
  });
  expect(many).toEqual({
    commit: undefined,
    changes: [],
    violations: [{ path: ".", because: "too-many" }],
  });
  expect(total).toEqual({
    commit: undefined,
    changes: [],
    violations: [{ path: ".", because: "total-too-large" }],
  });
});

/** Files of one port; DURE_TEST_LONG=1 takes as many as a large repository has. */
const MANY = process.env["DURE_TEST_LONG"] === "1" ? 10_000 : 2_000;

test(
  `${MANY.toLocaleString("en")} new files are taken, and compared again they are no change`,
  { ...FULL, timeout: 120_000 },
  async () => {
    const files = Object.fromEntries(
      Array.from({ length: MANY }, (_, index) => [
        `src/api/d${index % 100}/f${index}.ts`,
        `file ${index}\n`,
      ]),
    );
    using person = new TestRepository({ "readme.md": "hello\n" });
    const run = await startRun(person);
    writeFiles(run.tree.tree, files);

    const done = await run.commit(api);
    const begun = process.hrtime.bigint();
    const again = await run.commit(api, { parent: done.commit! });
    const took = Number(process.hrtime.bigint() - begun) / 1e6;
    const warmBegun = process.hrtime.bigint();
    const third = await run.commit(api, { parent: done.commit! });
    const warm = Number(process.hrtime.bigint() - warmBegun) / 1e6;

    expect(done.changes).toHaveLength(MANY);
    expect([again, third].map(({ commit, changes }) => [commit, changes])).toEqual([
      [undefined, []],
      [undefined, []],
    ]);
    console.info(`${MANY} files compared: ${Math.round(took)} ms, then ${Math.round(warm)} ms`);
  },
);

test("what lies in a submodule belongs to no port, and the submodule stays", FULL, async () => {
  using library = new TestRepository({ "lib.ts": "lib\n" });
  using person = new TestRepository(FILES);
  person.git("submodule", "add", "-q", library.folder, "src/api/vendor");
  person.commit("submodule");
  const run = await startRun(person);
  const clean = await run.commit(api);
  writeFiles(run.tree.tree, { "src/api/vendor/x.ts": "x\n", "src/api/a.ts": "mine\n" });

  const done = await run.commit(api);
  rmSync(join(run.tree.tree, "src/api/vendor"), { recursive: true });
  writeFiles(run.tree.tree, { "src/api/vendor": "a file\n" });
  const replaced = await run.commit(api);

  expect(clean).toEqual({ commit: undefined, changes: [], violations: [] });
  expect(done.violations).toEqual([{ path: "src/api/vendor", because: "in-submodule" }]);
  expect(readCommit(run.store.folder, done.commit!)["src/api/vendor"]).toMatch(/^submodule /);
  expect(readCommit(run.store.folder, replaced.commit!)["src/api/vendor"]).toMatch(/^submodule /);
  expect(replaced.violations.map(({ path }) => path)).toContain("src/api/vendor");
});

test("nothing of the worker's or the person's settings runs, whatever they plant", async () => {
  using person = new TestRepository({
    ...FILES,
    ".gitattributes": "*.ts filter=evil diff=evil merge=evil text eol=crlf ident\n",
    "src/core/id.ts": "$Id$\n",
  });
  const witness = join(person.home, "witness");
  const bad = `sh -c 'echo ran >> ${witness}; cat'`;
  for (const name of [
    "reference-transaction",
    "post-checkout",
    "pre-commit",
    "post-commit",
    "post-index-change",
    "post-merge",
    "fsmonitor-watchman",
  ]) {
    writeFiles(person.folder, {
      [`.git/hooks/${name}`]: `#!/bin/sh\necho ${name} >> ${witness}\n`,
    });
    chmodSync(join(person.folder, ".git/hooks", name), 0o755);
  }
  writeFiles(person.home, { "evil.config": `[alias]\n\tstatus = !touch ${witness}\n` });
  const config = [
    ["core.fsmonitor", bad],
    ["filter.evil.clean", bad],
    ["filter.evil.smudge", bad],
    ["filter.evil.required", "true"],
    ["diff.evil.textconv", bad],
    ["diff.evil.command", bad],
    ["diff.external", bad],
    ["merge.evil.driver", bad],
    ["core.sshCommand", bad],
    ["core.alternateRefsCommand", bad],
    ["includeIf.gitdir:/.path", join(person.home, "evil.config")],
    ["core.hooksPath", join(person.folder, ".git/hooks")],
    ["commit.gpgSign", "true"],
    ["gpg.program", bad],
    ["core.pager", bad],
    ["fetch.prune", "true"],
    ["core.editor", bad],
    ["protocol.file.allow", "never"],
  ];
  for (const [key, value] of config) {
    execFileSync("git", ["config", key!, value!], {
      cwd: person.folder,
      env: { PATH: process.env.PATH, HOME: "/nonexistent" },
    });
  }
  const run = await startRun(person);
  await run.tree.makePrivateGit(run.base, api);
  for (const [key, value] of config) {
    execFileSync("git", ["config", key!, value!], {
      cwd: run.tree.tree,
      env: { PATH: process.env.PATH, HOME: "/nonexistent" },
    });
  }
  writeFiles(run.tree.tree, {
    "src/api/a.ts": "mine\n",
    "src/api/.gitattributes": "* filter=evil\n",
    ".git/hooks/post-checkout": `#!/bin/sh\necho tree >> ${witness}\n`,
    ".git/commondir": "/elsewhere\n",
  });
  execFileSync("git", [
    "config",
    "-f",
    join(run.tree.tree, ".git/config"),
    "core.worktree",
    person.folder,
  ]);

  const done = await run.commit(api);
  await run.store.diff(run.base, done.commit!);
  await run.tree.checkout(done.commit!);
  await run.repository.warnings(run.base);
  await run.repository.publish(run.store, "run1");
  await run.repository.createResultBranch("dure/login", done.commit!, "run1");

  expect(() => lstatSync(witness)).toThrow("ENOENT");
  expect(readFileSync(join(run.tree.tree, "src/core/id.ts"), "utf8")).toBe("$Id$\n");
  expect(done.changes.map(({ path }) => path)).toEqual(["src/api/.gitattributes", "src/api/a.ts"]);
  expect((await run.repository.refsOf("run1")).get("base")).toBe(run.base);
});

test("composes results of ports path by path, the same every time", FULL, async () => {
  using person = new TestRepository(FILES);
  const run = await startRun(person);
  const result = async (name: string, files: Record<string, string>) => {
    await run.tree.checkout(run.base);
    writeFiles(run.tree.tree, files);
    const { commit } = await run.commit(aScope({ writes: ["**"] }), {
      ref: `ports/${name}/result`,
    });
    return { port: name, commit: commit!, base: run.base };
  };
  const one = await result("one", {
    "src/api/a.ts": "one\n",
    "new/one.ts": "1\n",
    "same.ts": "same\n",
    "both.ts": "1\n",
  });
  const two = await result("two", {
    "src/core/c.ts": "two\n",
    "new/two.ts": "2\n",
    "same.ts": "same\n",
    "both.ts": "2\n",
    "src/api/b.ts": "b2\n",
  });
  const about = { message: "start of three\n", at: AT };

  const ran: string[] = [];
  const git = run.store.git.run.bind(run.store.git);
  run.store.git.run = (args, options) => (ran.push(args[0]!), git(args, options));

  const composed = await run.store.compose(run.base, [one, two], about);
  const again = await run.store.compose(run.base, [two, one], about);

  expect(ran.filter((name) => name === "diff-tree")).toHaveLength(2); // a result is read once, however many are laid over it
  expect(gitIn(run.store.folder, "rev-parse", `${again.commit}^{tree}`)).toBe(
    gitIn(run.store.folder, "rev-parse", `${composed.commit}^{tree}`),
  );

  expect(composed.conflicts).toEqual([{ path: "both.ts", ports: ["one", "two"] }]);
  expect(readCommit(run.store.folder, composed.commit)).toEqual({
    ...readCommit(person.folder, "HEAD"),
    "src/api/a.ts": "one",
    "src/api/b.ts": "b2",
    "src/core/c.ts": "two",
    "new/one.ts": "1",
    "new/two.ts": "2",
    "same.ts": "same",
  });
  expect(gitIn(run.store.folder, "show", "-s", "--format=%P", composed.commit)).toBe(
    `${one.commit} ${two.commit}`,
  );
  expect((await run.store.compose(run.base, [one, two], about)).commit).toBe(composed.commit);
  expect((await run.store.compose(run.base, [], about)).commit).toBe(run.base);
  expect((await run.store.compose(run.base, [one], about)).commit).toBe(one.commit);
  expect((await run.store.diff(run.base, one.commit)).patch).toContain("+one");
  expect(await run.store.diff(run.base, one.commit, { patchBytes: 20 })).toMatchObject({
    isCut: true,
  });
});

test(
  "results of many ports are reachable from what is laid over them, by few parents that others share",
  { ...FULL, timeout: 60_000 },
  async () => {
    using person = new TestRepository(FILES);
    const run = await startRun(person);
    const MANY = 70;
    const tree = gitIn(run.store.folder, "rev-parse", `${run.base}^{tree}`);
    const blob = gitIn(run.store.folder, "rev-parse", `${run.base}:src/api/a.ts`);
    const file = (number: number): string => `M 100644 ${blob} made/${number}.ts`;
    const one = (number: number): string =>
      `commit refs/work/ports/p${number}/1.implement\ncommitter dure <dure@example.com> 1 +0000\ndata 0\nfrom ${run.base}\n${file(number)}\n\n`;
    await run.store.git.run(["fast-import", "--quiet"], {
      at: run.store.at,
      input: Array.from({ length: MANY }, (_, number) => one(number)).join(""),
    });
    const commits = await run.store.list("ports/");
    const results = Array.from({ length: MANY }, (_, number) => ({
      port: `p${number}`,
      commit: commits.get(`ports/p${number}/1.implement`)!,
      base: run.base,
    }));
    const about = { message: "all\n", at: AT };

    const all = await run.store.compose(run.base, results, about);
    const fewer = await run.store.compose(run.base, results.slice(0, 66), about);
    const tried = await run.store.compose(run.base, results, { ...about, isTrial: true });

    const parentsOf = (commit: string): string[] =>
      gitIn(run.store.folder, "show", "-s", "--format=%P", commit).split(" ");
    expect(
      gitIn(run.store.folder, "ls-tree", "--name-only", all.commit, "made/").split("\n"),
    ).toHaveLength(MANY);
    expect(
      await run.store.hasReachable(
        results.map(({ commit }) => commit),
        [all.commit],
      ),
    ).toBe(true);
    expect(parentsOf(all.commit)).toHaveLength(2); // one that holds 64, one that holds the rest
    expect(parentsOf(fewer.commit)[0]).toBe(parentsOf(all.commit)[0]);
    expect(gitIn(run.store.folder, "rev-parse", `${parentsOf(all.commit)[0]}^{tree}`)).toBe(tree);
    expect((await run.store.compose(run.base, results, about)).commit).toBe(all.commit);
    expect(parentsOf(tried.commit)).toEqual([run.base]);
    expect(gitIn(run.store.folder, "rev-parse", `${tried.commit}^{tree}`)).toBe(
      gitIn(run.store.folder, "rev-parse", `${all.commit}^{tree}`),
    );
    const packed = gitIn(
      run.store.folder,
      "cat-file",
      "--batch-all-objects",
      "--batch-check=%(objectname)",
    );
    for (const parent of parentsOf(all.commit)) expect(packed).toContain(parent);
  },
);

test("merges two commits line by line, or tells which files cannot be", FULL, async () => {
  using person = new TestRepository({ "list.md": "one\ntwo\nthree\nfour\nfive\n" });
  const run = await startRun(person);
  const all = aScope({ writes: ["**"] });
  const change = async (text: string) => {
    await run.tree.checkout(run.base);
    writeFiles(run.tree.tree, { "list.md": text });
    return (await run.commit(all)).commit!;
  };
  const first = await change("ONE\ntwo\nthree\nfour\nfive\n");
  const last = await change("one\ntwo\nthree\nfour\nFIVE\n");
  const other = await change("uno\ntwo\nthree\nfour\nfive\n");

  const merged = await run.store.mergeCommits(first, last, { message: "merge\n", at: AT });

  expect(merged.ok && readCommit(run.store.folder, merged.commit)).toEqual({
    "list.md": "ONE\ntwo\nthree\nfour\nFIVE",
  });
  expect(await run.store.mergeCommits(first, other, { message: "merge\n", at: AT })).toEqual({
    ok: false,
    conflicts: ["list.md"],
  });
});

test("a ref moves only from where it was seen, and what it left stays", async () => {
  using person = new TestRepository(FILES);
  const second = person.commit("second");
  const run = await startRun(person);
  const first = person.git("rev-parse", "HEAD~1");
  await run.store.write("merge/1", first);

  await run.store.write("merge/1", first);
  await run.store.write("merge/1", second, { expected: first });

  expect(await run.store.list("")).toEqual(
    new Map([
      [`kept/${first}`, first],
      ["merge/1", second],
    ]),
  );
  await expect(run.store.write("merge/1", first)).rejects.toMatchObject({ code: "REF_MOVED" });
  await expect(run.store.write("merge/1", first, { expected: first })).rejects.toMatchObject({
    code: "REF_MOVED",
  });
  await expect(run.store.write("base", first)).rejects.toMatchObject({ code: "REF_INVALID" });
  await expect(run.store.write("a..b", first)).rejects.toMatchObject({ code: "REF_INVALID" });
});

test(
  "a clean-up of the person's repository in the middle loses nothing, not even what it had by chance",
  FULL,
  async () => {
    using person = new TestRepository(FILES);
    const run = await startRun(person);
    // The person's repository happens to hold the very content, unreachable.
    writeFiles(person.home, { stray: "by chance\n" });
    person.git("hash-object", "-w", join(person.home, "stray"));
    writeFiles(run.tree.tree, { "src/api/a.ts": "by chance\n" });
    const done = await run.commit(api);
    person.git("checkout", "-q", "--orphan", "other");
    person.commit("another story");
    person.git("branch", "-D", "main");
    person.git("reflog", "expire", "--expire=now", "--all");
    person.git("gc", "-q", "--prune=now");

    await run.repository.publish(run.store, "run1");
    person.git("gc", "-q", "--prune=now");

    expect(readCommit(run.store.folder, done.commit!)["src/api/a.ts"]).toBe("by chance");
    expect(readCommit(person.folder, "refs/dure/run1/ports/login/1.1.impl")).toEqual({
      ...readCommit(person.folder, "refs/dure/run1/base"),
      "src/api/a.ts": "by chance",
    });
    expect(gitIn(run.store.folder, "fsck", "--full", "--no-dangling")).toBe("");
  },
);

test("a whole run leaves the person's repository as it was, bit for bit", FULL, async () => {
  using person = new TestRepository(FILES);
  writeFiles(person.folder, { "readme.md": "not committed\n", "untracked.txt": "x\n" });
  person.git("add", "readme.md");
  writeFiles(person.folder, { "readme.md": "not even added\n" });
  const before = person.snapshot();
  const run = await startRun(person);
  await run.tree.makePrivateGit(run.base, api);
  await run.tree.confinement(run.base, api, { repository: run.repository });
  writeFiles(run.tree.tree, { "src/api/a.ts": "mine\n" });

  const done = await run.commit(api);
  await run.repository.publish(run.store, "run1");
  await run.repository.publish(run.store, "run1");
  await run.repository.createResultBranch("dure/login", done.commit!, "run1");
  await run.tree.checkout(done.commit!);
  await run.tree.remove({
    repository: run.repository,
    commit: done.commit!,
    keptBy: ["refs/dure/run1/ports/login/1.1.impl"],
  });

  expect(person.snapshot()).toEqual(before);
  expect(readTree(person.home)).not.toHaveProperty("run1/ports");
});

test(
  "a file system that is full is told as such, and nothing is half committed",
  FULL,
  async () => {
    using person = new TestRepository(FILES);
    const small = join(person.home, "small");
    mkdirSync(small);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", small]); // as root; elsewhere this test says that it cannot
    try {
      const run = await startRun(person, { home: small });
      const noise = randomBytes(700_000); // cannot be compressed
      writeFiles(run.tree.tree, { "src/api/noise.bin": noise });
      writeFiles(small, { filler: Buffer.alloc(3_000_000) });

      await expect(run.commit(api)).rejects.toMatchObject({ code: "DISK_FULL" });
      expect(await run.store.list("")).toEqual(new Map());
      rmSync(join(small, "filler"));
      const done = await run.commit(api, { ref: "ports/login/1.1.impl" });
      expect(done.changes).toHaveLength(1);
      rmSync(join(run.tree.tree, "src/api/noise.bin"));
      execFileSync("sh", ["-c", 'cat /dev/zero > "$0" || true', join(small, "filler")], {
        stdio: "ignore",
      });
      await expect(run.tree.checkout(done.commit!)).rejects.toMatchObject({ code: "DISK_FULL" });
      await expect(run.tree.lease({ run: "run1", processId: "p", epoch: 1 })).rejects.toMatchObject(
        {
          code: "DISK_FULL",
        },
      );
      expect(await run.tree.holder()).toBeUndefined();
    } finally {
      execFileSync("umount", ["-l", small]);
    }
  },
);
