import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeScope, type WorkerScope, type ScopeInput } from "../scope.ts";
import { Git } from "./git.ts";
import type { CommitLimits } from "./owned-changes.ts";
import { PortTree } from "./port-tree.ts";
import { Repository } from "./repository.ts";
import type { CommitRequest, OwnedCommit } from "./owned-commits.ts";
import { RunStore } from "./store.ts";

/** A real repository in a folder of its own, as a person would have it. Gone at the end. */
export class TestRepository {
  readonly home: string;
  readonly folder: string;

  constructor(
    files: Readonly<Record<string, string>> = { "readme.md": "hello\n" },
    { home = mkdtempSync(join(tmpdir(), "dure-workspace-")) }: { home?: string } = {},
  ) {
    this.home = home;
    this.folder = join(home, "repo");
    mkdirSync(this.folder, { recursive: true });
    this.git("init", "-q", "-b", "main");
    if (Object.keys(files).length > 0) this.commit("first", files);
  }

  /** As the person runs it: settings of the repository hold. */
  git(...args: string[]): string {
    return gitIn(this.folder, ...args);
  }

  write(files: Readonly<Record<string, string>>): void {
    writeFiles(this.folder, files);
  }

  commit(message: string, files: Readonly<Record<string, string>> = {}): string {
    this.write(files);
    this.git("add", "-A");
    this.git("commit", "-q", "--allow-empty", "-m", message);
    return this.git("rev-parse", "HEAD");
  }

  /** Everything that a run must leave alone, bit for bit. */
  snapshot(): unknown {
    const refs = this.git("for-each-ref", "--format=%(refname) %(objectname)")
      .split("\n")
      .filter((line) => !line.startsWith("refs/dure/") && !line.startsWith("refs/heads/dure/"));
    const gitFiles = Object.fromEntries(
      ["HEAD", "index", "config", "packed-refs", "FETCH_HEAD", "ORIG_HEAD", "logs/HEAD"].map(
        (name) => [name, hashOf(join(this.folder, ".git", name))],
      ),
    );
    return {
      refs,
      gitFiles: { ...gitFiles, "packed-refs": undefined },
      files: readTree(this.folder),
    };
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}

export function gitIn(folder: string, ...args: string[]): string {
  const env = {
    PATH: process.env.PATH,
    HOME: "/nonexistent",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Ann",
    GIT_AUTHOR_EMAIL: "ann@example.org",
    GIT_COMMITTER_NAME: "Ann",
    GIT_COMMITTER_EMAIL: "ann@example.org",
    LC_ALL: "C",
  };
  return execFileSync("git", ["-c", "protocol.file.allow=always", ...args], {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).replace(/\n$/, "");
}

export function testGit(): Git {
  return new Git({ env: { PATH: process.env.PATH } });
}

export function writeFiles(folder: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Paths and what they hold, without the top `.git`. */
export function readTree(folder: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(folder, below)).sort()) {
    const path = below === "" ? name : `${below}/${name}`;
    if (path === ".git") continue;
    const stats = lstatSync(join(folder, path));
    if (stats.isDirectory()) Object.assign(found, readTree(folder, path));
    else if (stats.isSymbolicLink()) found[path] = `-> ${readlinkSync(join(folder, path))}`;
    else {
      found[path] = stats.isFile()
        ? `${stats.mode & 0o100 ? "x " : ""}${hashOf(join(folder, path))}`
        : "special";
    }
  }
  return found;
}

/** Of a commit: path → content. */
export function readCommit(folder: string, commit: string): Record<string, string> {
  const lines = gitIn(folder, "ls-tree", "-r", "--full-tree", commit).split("\n").filter(Boolean);
  return Object.fromEntries(
    lines.map((line) => {
      const [, mode, id, path] = /^(\d+) \w+ (\w+)\t(.*)$/.exec(line)!;
      return [
        path!,
        mode === "160000" ? `submodule ${id}` : gitIn(folder, "cat-file", "blob", id!),
      ];
    }),
  );
}

export const AUTHOR = { name: "dure", email: "dure@localhost" };
export const LIMITS: CommitLimits = { files: 20_000, fileBytes: 1_000_000, totalBytes: 50_000_000 };
export const AT = 1_750_000_000_000;

export function aScope(input: Partial<ScopeInput>): WorkerScope {
  return makeScope({ writes: [], reads: ["**"], contracts: [], ...input });
}

/** A run with a checked-out tree of one port. */
export async function startRun(
  person: TestRepository,
  {
    run = "run1",
    port = "login",
    base = "HEAD",
    home = person.home,
  }: { run?: string; port?: string; base?: string; home?: string } = {},
) {
  const repository = await Repository.open(person.folder, { git: testGit() });
  const commit = await repository.resolve(base);
  const store = await RunStore.open({
    repository,
    folder: join(home, run, "store.git"),
    run,
    base: commit,
    author: AUTHOR,
  });
  const tree = await PortTree.open({ folder: join(home, run, "ports", port), port, store });
  await tree.checkout(commit);
  let step = 0;
  return {
    repository,
    store,
    tree,
    base: commit,
    commit: (scope: WorkerScope, more: Partial<CommitRequest> = {}): Promise<OwnedCommit> =>
      store.owned.commit({
        tree: tree.tree,
        parent: commit,
        scope,
        message: "work\n",
        ref: `ports/${port}/1.${++step}.impl`,
        at: AT,
        limits: LIMITS,
        ...more,
      }),
  };
}

function hashOf(path: string): string | undefined {
  return existsSync(path)
    ? createHash("sha1").update(readFileSync(path)).digest("hex").slice(0, 12)
    : undefined;
}
