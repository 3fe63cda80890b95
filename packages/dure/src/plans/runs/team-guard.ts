import { DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { someOf } from "../workspace/paths.ts";
import { teamPathsIn, type RepositoryTrees, type TeamFiles } from "../workspace/team-files.ts";

interface TeamGuardParts {
  readonly files: Pick<TeamFiles, "within">;
  /** `plans.ownFolder` of the configuration. */
  readonly ownFolder: boolean;
}

interface GuardedCaller {
  readonly tenant: TenantView;
  readonly signal: AbortSignal;
}

/** Who may run a plan may not change the team. Source: docs/spec/platform §6. */
export class TeamGuard {
  readonly #parts: TeamGuardParts;

  constructor(parts: TeamGuardParts) {
    this.#parts = parts;
  }

  /**
   * Whether a repository is too much the team's to be worked on by this caller. For a tenant one
   * file of the team is enough; for others it is the team's own folder.
   */
  async isTarget(repository: RepositoryTrees, { tenant, signal }: GuardedCaller): Promise<boolean> {
    const within = await this.#parts.files.within(repository, signal);
    if (tenant !== null && tenant !== "") return within.length > 0;

    return within.includes("") && !this.#parts.ownFolder;
  }

  /**
   * Looks at what a merge or a push would change. Throws `TEAM_FILES_CHANGED` where a file of the
   * team is among it, unless the configuration allows it and the caller is an administrator of all.
   */
  async assertMayChange(
    paths: readonly string[],
    repository: RepositoryTrees,
    { tenant, signal }: GuardedCaller,
  ): Promise<void> {
    const { files, ownFolder } = this.#parts;
    if (ownFolder && tenant === null) return;
    const changed = teamPathsIn(paths, await files.within(repository, signal));
    if (changed.length > 0) throw teamFilesChanged(changed, ownFolder);
  }
}

/** Who may run a plan may not change the team. */
export function teamFolderIsTarget(shown: string, tenant: TenantView): DureError {
  if (tenant !== null && tenant !== "") {
    return new DureError(
      "REPOSITORY_IS_TEAM",
      `${shown} holds files of the team itself; no plan works on it.`,
      { class: "forbidden", hint: "An operator moves the team's folder out of it." },
    );
  }

  return new DureError(
    "REPOSITORY_IS_TEAM",
    `${shown} is the team's own folder; no plan works on it.`,
    { class: "forbidden", hint: NO_TARGET_HINT },
  );
}

const NO_TARGET_HINT = [
  "Name another repository: in the plan, with --repo, or in the configuration (repositories).",
  "An operator allows the team's own folder with plans: { ownFolder: true } in the configuration.",
].join(" ");

function teamFilesChanged(paths: readonly string[], ownFolder: boolean): DureError {
  return new DureError(
    "TEAM_FILES_CHANGED",
    `The result changes files of the team itself: ${someOf(paths)}. Nothing was changed.`,
    {
      class: "forbidden",
      hint: ownFolder
        ? "Use a token with the scope admin and without a tenant."
        : MERGE_BY_HAND_HINT,
      details: { paths: paths.slice(0, 50) },
    },
  );
}

const MERGE_BY_HAND_HINT = [
  "Look at the result branch and merge it by hand with git,",
  "or allow it in the configuration: plans: { ownFolder: true }.",
].join(" ");
