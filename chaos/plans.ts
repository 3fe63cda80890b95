import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Violation } from "./violations.ts";

const run = promisify(execFile);

/**
 * The file that each port of `team/plans/garden.yaml` owns, and what stands in it when the port
 * has succeeded.
 */
const WORK: Readonly<Record<string, { readonly path: string; readonly content: string }>> = {
  soil: { path: "src/soil/soil.txt", content: "dark soil\n" },
  path: { path: "src/path/path.txt", content: "flat stones\n" },
  beds: { path: "src/beds/beds.txt", content: "two beds\n" },
  seed: { path: "src/seed/seed.txt", content: "peas\n" },
};

/** A small repository with one commit on `main`; gives that commit. */
export async function makeRepository(folder: string): Promise<string> {
  await mkdir(join(folder, "src"), { recursive: true });
  await writeFile(join(folder, "README.md"), "A garden.\n");
  await writeFile(join(folder, "src/notes.txt"), "Nothing is planted yet.\n");
  const git = (...args: string[]): Promise<unknown> =>
    run(
      "git",
      [
        "-c",
        "user.name=Chaos",
        "-c",
        "user.email=chaos@example.com",
        "-c",
        "commit.gpgSign=false",
        ...args,
      ],
      { cwd: folder },
    );
  await git("init", "--quiet", "--initial-branch=main");
  await git("add", "--all");
  await git("commit", "--quiet", "-m", "Begin a garden");
  return commitOf(folder, "main");
}

/** A run as it is stored at the end. */
export interface StoredRun {
  readonly id: string;
  readonly status: string;
  readonly report: { readonly commit?: string; readonly branch?: string } | null;
  /** Ports that have succeeded. */
  readonly succeeded: readonly string[];
}

/**
 * A run has ended; its branch holds the work of every port that succeeded and no file beside their
 * ownership; `main` and the person's tree stand as they stood.
 */
export async function checkRun(
  stored: StoredRun,
  folder: string,
  base: string,
): Promise<readonly Violation[]> {
  const { id, status, report, succeeded } = stored;
  const wrong = (text: string): Violation => ({
    invariant: "plan",
    text: `${id} (${status}): ${text}`,
    ids: [id],
  });
  const found: Violation[] = [];
  if ((await commitOf(folder, "main")) !== base) found.push(wrong("main has moved"));
  const changed = await lines(folder, "status", "--porcelain");
  if (changed.length > 0) found.push(wrong(`the person's tree was changed: ${changed.join(", ")}`));
  if (!report?.commit) {
    return status === "success" ? [...found, wrong("it succeeded without a commit")] : found;
  }

  if (report.branch && (await commitOf(folder, report.branch)) !== report.commit) {
    found.push(wrong(`the branch ${report.branch} does not stand at ${report.commit}`));
  }
  const owned = new Set(Object.values(WORK).map(({ path }) => path));
  for (const path of await lines(folder, "diff", "--name-only", base, report.commit)) {
    if (!owned.has(path)) found.push(wrong(`${path} was changed, which no port owns`));
  }
  for (const port of succeeded) {
    const { path = "", content } = WORK[port] ?? {};
    const { stdout } = await run("git", ["show", `${report.commit}:${path}`], {
      cwd: folder,
    }).catch(() => ({ stdout: undefined }));
    if (stdout !== content) found.push(wrong(`the work of ${port} is not in ${report.commit}`));
  }
  return found;
}

async function commitOf(folder: string, name: string): Promise<string> {
  const [commit = ""] = await lines(folder, "rev-parse", "--verify", "--quiet", `${name}^{commit}`);
  return commit;
}

async function lines(folder: string, ...args: string[]): Promise<readonly string[]> {
  const { stdout } = await run("git", args, { cwd: folder }).catch(() => ({ stdout: "" }));
  return stdout.split("\n").filter((line) => line !== "");
}
