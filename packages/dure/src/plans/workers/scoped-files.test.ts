import { execFileSync } from "node:child_process";
import {
  chown,
  link,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeScope } from "../scope.ts";
import { ScopedFiles, MAX_FILE_BYTES } from "./scoped-files.ts";
import { aPlace, type TestPlace } from "./test-worker.ts";

const scope = makeScope({
  writes: ["src/**", "own.txt"],
  exceptions: ["test/**"],
  reads: ["docs/**"],
  forbidden: ["src/secret/**"],
  contracts: ["src/ports/api.ts"],
});
const filesOf = ({ tree }: TestPlace) => new ScopedFiles({ tree, scope });
const textIn = (place: TestPlace, path: string) => readFile(join(place.tree, path), "utf8");

test("reads what may be read, and names the reason for the rest", async () => {
  await using place = await aPlace({
    "src/a.ts": "a",
    "docs/한글.md": "문서",
    "test/a.test.ts": "t",
    "src/secret/key": "k",
    "src/ports/api.ts": "c",
  });
  const files = filesOf(place);
  const read = async (path: string) => {
    const answer = await files.read(path);
    return answer.ok ? answer.text : (answer.because ?? answer.kind);
  };

  expect(
    await Promise.all(["src/a.ts", "docs/한글.md", "src/ports/api.ts", "src/none.ts"].map(read)),
  ).toEqual(["a", "문서", "c", "missing"]);
  expect(
    await Promise.all(
      [
        "test/a.test.ts",
        "src/secret/key",
        "/etc/passwd",
        "src/../test/a.test.ts",
        ".git/config",
        "SRC/a.ts",
        "",
      ].map(read),
    ),
  ).toEqual([
    "not-readable",
    "forbidden",
    "absolute",
    "dot-segment",
    "git-internals",
    "case-variant",
    "empty",
  ]);
});

test("a symbolic link is no way out of the tree, to a file, through a folder, or to what is not there yet", async () => {
  await using place = await aPlace({ "src/a.ts": "a" });
  await writeFile(join(place.scratch, "outside.txt"), "outside");
  await symlink(join(place.scratch, "outside.txt"), join(place.tree, "src/file"));
  await symlink(place.scratch, join(place.tree, "src/folder"));
  await symlink(join(place.scratch, "new.txt"), join(place.tree, "src/dangling"));
  await symlink("../../scratch/new.txt", join(place.tree, "src/relative"));
  const files = filesOf(place);

  for (const path of [
    "src/file",
    "src/folder/outside.txt",
    "src/folder/deep/new.txt",
    "src/dangling",
    "src/relative",
  ]) {
    expect(await files.write(path, "mine"), path).toMatchObject({
      ok: false,
      kind: "violation",
      because: "absolute",
      message: "a symbolic link leads out of the tree",
    });
    expect(await files.read(path), path).toMatchObject({ ok: false, kind: "violation" });
  }
  expect(await readFile(join(place.scratch, "outside.txt"), "utf8")).toBe("outside");
  await expect(readFile(join(place.scratch, "new.txt"))).rejects.toThrow("ENOENT");
});

test("a symbolic link inside of the tree is decided by where it leads", async () => {
  await using place = await aPlace({ "src/a.ts": "a", "test/t.ts": "t", "docs/d.md": "d" });
  await symlink("a.ts", join(place.tree, "src/alias.ts"));
  await symlink("../test/t.ts", join(place.tree, "src/other.ts"));
  await symlink("../docs", join(place.tree, "src/docs"));
  const files = filesOf(place);

  expect(await files.read("src/alias.ts")).toMatchObject({ ok: true, text: "a" });
  expect(await files.write("src/alias.ts", "b")).toEqual({ ok: true, created: false });
  expect(await textIn(place, "src/a.ts")).toBe("b");
  expect(await files.read("src/other.ts")).toMatchObject({
    because: "not-readable",
    message: "a symbolic link leads to test/t.ts",
  });
  expect(await files.read("src/docs/d.md")).toMatchObject({ ok: true });
  expect(await files.write("src/docs/d.md", "x")).toMatchObject({ because: "not-owned" });
});

test("a folder that becomes a link between the look and the opening leads nowhere", async () => {
  await using place = await aPlace({ "src/deep/a.ts": "a" });
  await mkdir(join(place.scratch, "deep"));
  await writeFile(join(place.scratch, "deep/a.ts"), "outside");
  const files = filesOf(place);
  let exchanging = true;
  const [deep, away] = [join(place.tree, "src/deep"), join(place.tree, "src/away")];
  const exchange = (async () => {
    // A write may make the folder anew at any point; then this round exchanges nothing.
    const tolerate = (): void => {};
    while (exchanging) {
      await rename(deep, away).catch(tolerate);
      await symlink(join(place.scratch, "deep"), deep).catch(tolerate);
      await rm(deep, { recursive: true, force: true }).catch(tolerate);
      await rename(away, deep).catch(tolerate);
      await rm(away, { recursive: true, force: true }).catch(tolerate);
      await mkdir(deep, { recursive: true });
    }
  })();

  for (let tries = 0; tries < 300; tries++) {
    const read = await files.read("src/deep/a.ts");
    if (read.ok) expect(read.text).not.toBe("outside");
    await files.write("src/deep/a.ts", "mine", { unread: "allowed" });
  }
  exchanging = false;
  await exchange;

  expect(await files.write("src/deep/b.ts", "mine")).toMatchObject({ ok: true });
  expect(await readFile(join(place.scratch, "deep/a.ts"), "utf8")).toBe("outside");
});

test("a file that has changed since it was read, or was never read, is not written", async () => {
  await using place = await aPlace({ "src/a.ts": "one" });
  const files = filesOf(place);

  expect(await files.write("src/a.ts", "blind")).toMatchObject({
    kind: "stale",
    message: "src/a.ts exists. Read it before you change it.",
  });
  await files.read("src/a.ts");
  await writeFile(join(place.tree, "src/a.ts"), "two");
  expect(await files.edit("src/a.ts", "one", "three")).toMatchObject({ kind: "stale" });
  expect(await files.delete("src/a.ts")).toMatchObject({ kind: "stale" });
  await files.read("src/a.ts");
  expect(await files.edit("src/a.ts", "two", "three")).toMatchObject({ ok: true });
  expect(await files.edit("src/a.ts", "three", "four")).toMatchObject({ ok: true });
  expect(await textIn(place, "src/a.ts")).toBe("four");
  expect(await files.delete("src/a.ts")).toMatchObject({ ok: true });
  expect(await files.write("src/new/deep/b.ts", "b")).toEqual({ ok: true, created: true });
});

test("an edit fits exactly once or not at all", async () => {
  await using place = await aPlace({ "src/a.ts": "x x" });
  const files = filesOf(place);
  await files.read("src/a.ts");

  expect(await files.edit("src/a.ts", "x", "y")).toMatchObject({
    ok: false,
    message: expect.stringContaining("more than once") as string,
  });
  expect(await files.edit("src/a.ts", "z", "y")).toMatchObject({
    ok: false,
    message: expect.stringContaining("does not stand in") as string,
  });
  expect(await files.edit("src/a.ts", "", "y")).toMatchObject({ ok: false });
  expect(await textIn(place, "src/a.ts")).toBe("x x");
});

test("a file with another name on the disk is not written, since that would be written too", async () => {
  await using place = await aPlace({ "src/a.ts": "a", "test/t.ts": "theirs" });
  await link(join(place.tree, "test/t.ts"), join(place.tree, "src/linked.ts"));
  const files = filesOf(place);

  expect(await files.write("src/linked.ts", "mine", { unread: "allowed" })).toMatchObject({
    ok: false,
    kind: "failed",
  });
  expect(await textIn(place, "test/t.ts")).toBe("theirs");
});

test("pipes, folders, bytes and huge files are answers, and nothing waits for them", async () => {
  await using place = await aPlace({ "src/big.txt": "x".repeat(MAX_FILE_BYTES + 1) });
  execFileSync("/bin/sh", ["-c", 'mkfifo "$0"', join(place.tree, "src/pipe")]);
  await writeFile(join(place.tree, "src/bytes.bin"), Buffer.from([0xff, 0xfe, 0]));
  const files = filesOf(place);
  const kindOf = async (path: string) => {
    const answer = await files.read(path);
    return answer.ok ? "text" : answer.kind;
  };

  expect(
    await Promise.all(["src/big.txt", "src/pipe", "src/bytes.bin", "src/ports"].map(kindOf)),
  ).toEqual(["too-large", "not-a-file", "not-text", "missing"]);
  expect(await files.write("src/pipe", "x", { unread: "allowed" })).toMatchObject({
    kind: "not-a-file",
  });
  expect(await files.write("src/new.txt", "x".repeat(MAX_FILE_BYTES + 1))).toMatchObject({
    kind: "too-large",
  });
});

test("lists and searches name nothing that may not be read", async () => {
  await using place = await aPlace({
    "src/a.ts": "needle",
    "src/secret/key": "needle",
    "test/t.ts": "needle",
    "docs/d.md": "no\nNeedle here",
    "src/node_modules/x/i.js": "needle",
    ".git/config": "needle",
  });
  await symlink("/etc", join(place.tree, "docs/etc"));
  const files = filesOf(place);

  expect(await files.list()).toEqual({ paths: ["docs/d.md", "docs/etc", "src/a.ts"], more: false });
  expect(await files.list("src")).toEqual({ paths: ["src/a.ts"], more: false });
  expect((await files.list("docs/etc")).paths).toEqual([]);
  expect((await files.list("../..")).paths).toEqual([]);
  expect(await files.search("needle")).toEqual({
    hits: [{ path: "src/a.ts", line: 1, text: "needle" }],
    more: false,
  });
  expect((await files.search("NEEDLE", { ignoreCase: true })).hits).toHaveLength(2);
  expect(await files.list("", { most: 1 })).toMatchObject({ more: true });
});

test("a yes of the operator goes before the scope, for that path and below it", async () => {
  await using place = await aPlace({ "test/t.ts": "t", "lib/a/b.ts": "b" });
  const files = filesOf(place);

  files.grant("test/t.ts", "read");
  files.grant("lib/a", "own");

  expect(await files.read("test/t.ts")).toMatchObject({ ok: true });
  expect(await files.write("test/t.ts", "x")).toMatchObject({ kind: "violation" });
  await files.read("lib/a/b.ts");
  expect(await files.write("lib/a/b.ts", "x")).toMatchObject({ ok: true });
  expect(await files.read("lib/ab.ts")).toMatchObject({ kind: "violation" });
  expect(await files.read("lib/a/../../../etc/passwd")).toMatchObject({ kind: "violation" });
});

test("folders and files that root makes for a worker belong to the owner of the folder around them", async () => {
  await using place = await aPlace({ "src/a.ts": "a" });
  const own = process.getuid!();
  const owner = own === 0 ? 60_600 : own; // only root works for another user
  await chown(join(place.tree, "src"), owner, owner);
  const files = filesOf(place);

  await files.write("src/made/deep/new.ts", "new");
  await files.write("own.txt", "mine");

  const ownerOf = async (path: string) => (await stat(join(place.tree, path))).uid;
  const made = ["src/made", "src/made/deep", "src/made/deep/new.ts", "own.txt"];
  expect(await Promise.all(made.map(ownerOf))).toEqual([owner, owner, owner, own]);
});
