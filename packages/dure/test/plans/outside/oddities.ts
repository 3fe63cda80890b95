import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { program, type Outside, type Workshop } from "./repositories.ts";

/** Bytes of a file that no worker reads. */
const HUGE = 40_000_000;
const POINTER =
  "version https://git-lfs.github.com/spec/v1\n" +
  "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
/** Hooks that stop each git command that runs them. */
const HOOKS = [
  "pre-commit",
  "commit-msg",
  "pre-merge-commit",
  "post-checkout",
  "post-index-change",
];
/** Passes when the value is right, and the tree has what git has. */
const TEST = `set -e
test "$(cat src/value.txt)" = 2
test "$(cat -A crlf.txt)" = 'one^M$'
test -x bin/run
test -L link
test -f 'with blank.txt' && test -f '"quoted".txt' && test -f "$(printf 'tab\\there.txt')"
test -f "$(printf 'e\\314\\201.txt')" && test -f Readme && test -f readme
echo "ok 1 - all is there"
`;

async function submoduleOf({ folder, git, write }: Workshop): Promise<void> {
  const cwd = path.join(folder, "part");
  await mkdir(cwd);
  await git(cwd, "init", "--quiet", "--initial-branch=main", "--object-format=sha256");
  await write(cwd, { "part.txt": "A part.\n" });
  await git(cwd, "add", "--all");
  await git(cwd, "commit", "--quiet", "-m", "Part");
}

/** The repository that all others come from: sha256, odd names, filters, a submodule. */
async function originOf(at: Workshop): Promise<string> {
  const { folder, git, write } = at;
  await submoduleOf(at);
  const cwd = path.join(folder, "origin");
  await mkdir(cwd);
  await git(cwd, "init", "--quiet", "--initial-branch=feature/odd/one", "--object-format=sha256");
  await write(cwd, { "old.txt": "Old.\n" });
  await git(cwd, "add", "--all");
  await git(cwd, "commit", "--quiet", "-m", "Old");
  await write(cwd, {
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt merge=ours\nHUGE -diff\n",
    ".gitignore": "ignored/\n",
    "test.sh": TEST,
    "src/value.txt": "1\n",
    "large.bin": POINTER,
    "crlf.txt": "one\r\n",
    "with blank.txt": "blank\n",
    '"quoted".txt': "quoted\n",
    "tab\there.txt": "tab\n",
    "e\u0301.txt": "NFD\n",
    "한글 이름.txt": "Korean\n",
    Readme: "upper\n",
    readme: "lower\n",
    "outside/sparse.txt": "left out\n",
  });
  await writeFile(path.join(cwd, "HUGE"), Buffer.alloc(HUGE, 7));
  await symlink("src/value.txt", path.join(cwd, "link"));
  await program(path.join(cwd, "bin", "run"), "#!/bin/sh\n");
  await git(cwd, "submodule", "--quiet", "add", "../part", "part");
  await git(cwd, "add", "--all");
  await git(cwd, "commit", "--quiet", "-m", "All that is odd");

  return cwd;
}

/**
 * At once: submodule with a relative address, LFS pointer, sha256, CRLF, NFD, shallow, hooks,
 * signing, names with blanks, quotes and tabs, detached HEAD in a worktree, alternates, filters,
 * merge drivers, names that differ by case, symbolic link, executable bit, empty, ignored and nested
 * folders, huge file, replaced object, sparse checkout, slashes in branches, autocrlf, fsmonitor;
 * and the locale C of the test.
 */
export const oddities: Outside = {
  name: "26 oddities",
  build: async (workshop) => {
    const folder = path.join(await realpath(workshop.folder), "odd");
    await mkdir(folder);
    const at = { ...workshop, folder };
    const { git, write } = at;
    const origin = await originOf(at);
    const bare = path.join(folder, "bare.git");
    await git(folder, "clone", "--quiet", "--bare", origin, bare);
    const cwd = path.join(folder, "clone");
    await git(folder, "clone", "--quiet", "--depth=1", `file://${origin}`, cwd);
    await writeFile(path.join(cwd, ".git", "objects", "info", "alternates"), `${bare}/objects\n`);
    await git(cwd, "submodule", "--quiet", "update", "--init");
    const blob = await git(cwd, "rev-parse", "HEAD:readme");
    await git(cwd, "replace", blob, await git(cwd, "rev-parse", "HEAD:Readme"));
    await mkdir(path.join(cwd, "empty"));
    await write(cwd, { "ignored/kept.txt": "mine\n" });
    await mkdir(path.join(cwd, "ignored", "nested"));
    await git(path.join(cwd, "ignored", "nested"), "init", "--quiet");
    await git(cwd, "branch", "other/branch/name");
    await git(cwd, "worktree", "add", "--quiet", "--detach", path.join(folder, "linked"));
    await git(cwd, "sparse-checkout", "set", "--no-cone", "/*", "!/outside/");
    for (const hook of HOOKS) {
      await program(path.join(cwd, ".git", "hooks", hook), "#!/bin/sh\nexit 1\n");
    }
    const never = "#!/bin/sh\nexit 1\n";
    await program(path.join(folder, "monitor"), never);
    const settings = {
      "commit.gpgSign": "true",
      "gpg.program": "/bin/false",
      "core.autocrlf": "true",
      "core.fsmonitor": path.join(folder, "monitor"),
      "filter.lfs.clean": "false",
      "filter.lfs.smudge": "false",
      "filter.lfs.required": "true",
      "merge.ours.driver": "false",
    };
    for (const [key, value] of Object.entries(settings)) await git(cwd, "config", key, value);

    return {
      cwd: path.join(folder, "linked"),
      checkout: cwd,
      args: ["Make it two.", "--own", "src/**", "--accept", "sh test.sh"],
      worker: "echo 2 > src/value.txt",
      into: "feature/odd/one",
      changed: ["src/value.txt", "2"],
    };
  },
};
