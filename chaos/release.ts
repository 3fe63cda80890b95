import { execFile, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { linkPackages } from "../scripts/linked-packages.ts";
import { OWN_TREE } from "./servers.ts";

const run = promisify(execFile);

/** Sources of a commit, with the packages of its lock file. */
export interface Release {
  readonly commit: string;
  readonly subject: string;
  readonly tree: string;
  /** Packages that were installed for it, as `name@version`; the others are those of this tree. */
  readonly installed: readonly string[];
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
  const installed = await unlikePackages(tree);
  if (installed.length > 0) await install(installed, join(folder, "more"), tree);
  return { commit, subject: subject.trim(), tree, installed };
}

interface LockedPackage {
  readonly version?: string;
  readonly link?: true;
  readonly dev?: true;
  readonly optional?: true;
}

interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** What its server may need at the top of its lock file, and ours has not, or in another version. */
async function unlikePackages(tree: string): Promise<readonly string[]> {
  const [theirs, ours] = await Promise.all([packagesOf(tree), packagesOf(OWN_TREE)]);
  return Object.entries(theirs).flatMap(([path, { version, link, dev, optional }]) => {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1];
    const isNeeded = name !== undefined && !link && !dev && !optional;
    return isNeeded && ours[path]?.version !== version ? [`${name}@${version}`] : [];
  });
}

/** Installs them apart, and links them over those of this tree. */
async function install(packages: readonly string[], apart: string, tree: string): Promise<void> {
  await mkdir(apart);
  await writeFile(join(apart, "package.json"), "{}");
  const quiet = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", ["install", ...quiet, ...packages], { cwd: apart });
  for (const one of packages) {
    const name = one.slice(0, one.lastIndexOf("@"));
    const target = join(tree, "node_modules", name);
    await rm(target, { force: true });
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(apart, "node_modules", name), target);
  }
}

async function packagesOf(tree: string): Promise<LockFile["packages"]> {
  return (JSON.parse(await readFile(join(tree, "package-lock.json"), "utf8")) as LockFile).packages;
}
