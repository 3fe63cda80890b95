import type { DraftSource } from "../drafts/material.ts";
import type { Repository } from "../workspace/repository.ts";
import { textOf } from "./commit-reader.ts";

/** Commits whose subjects are read. */
const COMMITS = 20;
/** Bytes of a file that is read, and of the subjects. */
const FILE_BYTES = 200_000;
const LOG_BYTES = 64_000;

/** What stands at the repository's HEAD, for a draft. Files are read when they are asked for. */
export async function sourceOf(repository: Repository, signal: AbortSignal): Promise<DraftSource> {
  const { git, at } = repository;
  const commit = await repository.resolve("HEAD", { signal });
  const files = await repository.listFiles(commit, { signal });
  const plain = new Set(files.filter(({ kind }) => kind === "file").map(({ path }) => path));
  const log = await git.run(
    ["log", "--no-show-signature", "-z", `-n${COMMITS}`, "--format=%s", commit],
    { at, outputBytes: LOG_BYTES, cut: true, signal },
  );

  return {
    files,
    commits: log.stdout.toString("utf8").split("\0").filter(Boolean),
    readFile: async (path) => {
      if (!plain.has(path)) return undefined;
      const call = { at, outputBytes: FILE_BYTES, cut: true, signal };

      return textOf((await git.run(["cat-file", "blob", `${commit}:${path}`], call)).stdout);
    },
  };
}
