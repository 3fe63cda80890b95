import { execFile, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { linkPackages } from "../scripts/linked-packages.ts";
import { OWN_TREE } from "./servers.ts";

const run = promisify(execFile);

/** Sources of a commit, with the packages that are installed here. */
export interface Release {
  readonly commit: string;
  readonly subject: string;
  readonly tree: string;
  /** Packages of its lock file that are not here, or in another version, as `name version`. */
  readonly unlike: readonly string[];
}

/** Writes the tree of a commit of this repository into `folder`, which is made. */
export async function unpackRelease(commit: string, folder: string): Promise<Release> {
  await mkdir(folder, { recursive: true });
  const { stdout: subject } = await run("git", ["log", "-1", "--format=%s", commit], {
    cwd: OWN_TREE,
  });
  const archive = join(folder, "release.tar");
  const git = spawn("git", ["archive", "--format=tar", commit], {
    cwd: OWN_TREE,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await pipeline(git.stdout, createWriteStream(archive));
  const tree = join(folder, "tree");
  await mkdir(tree);
  await run("tar", ["-xf", archive, "-C", tree]);
  await linkPackages(join(OWN_TREE, "node_modules"), join(tree, "node_modules"));
  return { commit, subject: subject.trim(), tree, unlike: await unlikePackages(tree) };
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly link?: true }>>;
}

async function unlikePackages(tree: string): Promise<readonly string[]> {
  const [theirs, ours] = await Promise.all([packagesOf(tree), packagesOf(OWN_TREE)]);
  return Object.entries(theirs).flatMap(([name, { version, link }]) =>
    link || ours[name]?.version === version
      ? []
      : [`${name.replace(/^.*node_modules\//, "")} ${version}`],
  );
}

async function packagesOf(tree: string): Promise<LockFile["packages"]> {
  return (JSON.parse(await readFile(join(tree, "package-lock.json"), "utf8")) as LockFile).packages;
}
