import { access } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Git } from "../workspace/git.ts";
import { RunRemote } from "../workspace/remote.ts";
import { Repository } from "../workspace/repository.ts";
import { commitsThere, type NewPlace } from "./adopt.ts";
import type { PlanRun } from "../rows/run.ts";

/** How this machine can go on with a run of one that is gone. */
export interface Elsewhere {
  /**
   * Brings what was pushed of the run here, and says which of the commits are there. Undefined: the
   * repository here is another one. Throws `REMOTE_FAILED`.
   */
  open(
    run: PlanRun,
    commits: readonly string[],
    options: { signal: AbortSignal },
  ): Promise<{ readonly place: NewPlace; readonly there: ReadonlySet<string> } | undefined>;
}

export interface ElsewhereParts {
  readonly git: Git;
  /** Folders here that the run may work in. One is a clone of the repository of the run. */
  readonly repositories: (run: Pick<PlanRun, "tenant">) => readonly string[];
  readonly remote: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folder of data of this machine, and its name. */
  readonly home: string;
  readonly host: string;
  /** Folder of the team's plans, here. */
  readonly plans: string;
}

/** Goes on from the refs that a run has pushed. */
export function elsewhere(parts: ElsewhereParts): Elsewhere {
  return {
    open: async (run, commits, { signal }) => {
      const failures: Error[] = [];
      for (const folder of parts.repositories(run)) {
        try {
          const found = await openIn(folder, run, commits, { ...parts, signal });
          if (found !== undefined) return found;
        } catch (error) {
          signal.throwIfAborted();
          failures.push(error as Error); // another repository may be the one
        }
      }
      const [failure] = failures;
      if (failure !== undefined) throw failure;

      return undefined;
    },
  };
}

async function openIn(
  folder: string,
  run: PlanRun,
  commits: readonly string[],
  { git, remote, env, home, host, plans, signal }: ElsewhereParts & { signal: AbortSignal },
): ReturnType<Elsewhere["open"]> {
  const repository = await Repository.open(folder, { git, signal });
  await new RunRemote({ repository, remote, env }).fetch(run.id, { signal });
  const there = await commitsThere(repository, commits, { signal });
  if (!there.has(run.baseCommit)) return undefined;
  const file =
    run.file === null ? undefined : await firstThat([run.file, join(plans, basename(run.file))]);

  return {
    there,
    place: {
      host,
      repository: repository.root,
      folder: join(home, "plans", run.id),
      file: file ?? null,
    },
  };
}

async function firstThat(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    ) {
      return file;
    }
  }
  return undefined;
}
