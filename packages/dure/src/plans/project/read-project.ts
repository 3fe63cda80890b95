import type { Repository } from "../workspace/repository.ts";
import { type Project, projectOf, READ_FILES } from "./project.ts";
import type { MachineSetting } from "./tools.ts";

/** Bytes of one file; of a longer one nothing is read. */
const MOST_BYTES = 262_144;

/** What the files of a commit say. Throws `PROJECT_INVALID`. */
export async function readProject(
  repository: Repository,
  commit: string,
  { settings, signal }: { settings?: readonly MachineSetting[]; signal?: AbortSignal | undefined },
): Promise<Project> {
  const files = await repository.listFiles(commit, { signal });
  const texts = new Map<string, string>();
  for (const { path, kind, bytes } of files) {
    if (kind !== "file" || bytes > MOST_BYTES || !READ_FILES.includes(path)) continue;
    const { git, at } = repository;
    const { stdout } = await git.run(["cat-file", "blob", `${commit}:${path}`], { at, signal });
    texts.set(path, stdout.toString("utf8"));
  }
  const paths = files.map(({ path }) => path);

  return projectOf({ paths, texts }, settings);
}
