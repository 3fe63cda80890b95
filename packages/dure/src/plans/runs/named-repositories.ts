import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { becauseOf } from "../rows/outcomes.ts";
import type { PlanReading } from "../plan-file.ts";
import { planFilesIn } from "../plan-folder.ts";
import type { Plan } from "../plan.ts";
import { isWithin } from "../sandbox/mount-plan.ts";
import type { Git } from "../workspace/git.ts";
import type { PlanRun } from "../rows/run.ts";
import type { Because } from "../../wire/plans.ts";

/** Repositories that the team has named: its own, and those of plans in its folder. */
export class NamedRepositories {
  readonly #options: NamedRepositoriesOptions;

  constructor(options: NamedRepositoriesOptions) {
    this.#options = options;
  }

  /**
   * Where a plan works. What a person names goes before what the plan names, and that before the
   * folder of the team.
   */
  locate(given: string | undefined, plan?: Plan): string {
    const { repository, folder } = this.#options;
    if (given !== undefined) return resolve(repository, given);
    return plan?.repository === undefined ? repository : resolve(folder, plan.repository);
  }

  /**
   * The root of a repository that the team has named. Throws `REPOSITORY_NOT_NAMED`. `shown`: in
   * the words of the caller.
   */
  async named(folder: string, shown: string, signal: AbortSignal): Promise<string> {
    const { folder: plans, repository, git, readPlan } = this.#options;
    const named = [repository];
    for (const name of await planFilesIn(plans)) {
      const { plan } = await readPlan(name);
      if (plan?.repository !== undefined) named.push(resolve(plans, plan.repository));
    }
    const root = await namedRepository(folder, named, { git, signal });
    if (root !== undefined) return root;
    // It is gone, or is none: that is said where it is opened.
    if (named.includes(folder)) return folder;
    throw new DureError("REPOSITORY_NOT_NAMED", `${shown} is not one that the team has named.`, {
      class: "forbidden",
      hint: NOT_NAMED_HINT,
    });
  }

  /** Undefined: the team has named the run's repository. */
  async whyNotNamed(run: PlanRun, signal: AbortSignal): Promise<Because | undefined> {
    try {
      await this.named(run.repository, "Its repository", signal);
      return undefined;
    } catch (error) {
      if (codeOf(error) !== "REPOSITORY_NOT_NAMED") throw error;
      return becauseOf(error);
    }
  }
}

interface NamedRepositoriesOptions {
  /** The team's own. */
  readonly repository: string;
  /** Where files of plans are. */
  readonly folder: string;
  readonly git: Git;
  readonly readPlan: (name: string) => Promise<PlanReading>;
}

const NOT_NAMED_HINT = [
  "Ask an operator to put a plan with this `repository` into the team's folder plans,",
  "or use a token with the scope admin.",
].join(" ");

/** Where a repository is. Real paths. */
interface RepositoryLocation {
  /** The top of the working tree; of a bare repository its git directory. */
  readonly root: string;
  /** Where branches and objects are. */
  readonly commonDir: string;
}

/**
 * The repository of `folder` where it is one of those that the team has named, else undefined.
 * Nothing is looked into that lies elsewhere: a caller does not learn whether there is anything. A
 * repository of its own within a named one (a dependency, a tree of a run) is another one.
 *
 * @param named folders in repositories; those that are none are passed over
 * @returns its root, a real path: what a link leads to later is not asked again
 */
async function namedRepository(
  folder: string,
  named: Iterable<string>,
  { git, signal }: { git: Git; signal: AbortSignal },
): Promise<string | undefined> {
  const wanted = await real(folder);
  if (wanted === undefined) return undefined;
  for (const one of new Set(named)) {
    const repository = await locationOf(one, git, signal);
    if (!repository || !isWithin(wanted, repository.root)) continue;
    const found = await locationOf(wanted, git, signal);
    if (found?.commonDir === repository.commonDir) return found.root;
  }
  return undefined;
}

async function locationOf(
  folder: string,
  git: Git,
  signal: AbortSignal,
): Promise<RepositoryLocation | undefined> {
  const cwd = await real(folder);
  if (cwd === undefined) return undefined;
  const { stdout } = await git.run(
    ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel"],
    { at: { cwd }, accept: [0, 128], signal },
  );
  const [commonDir = "", top = ""] = stdout.toString().split("\n");
  const [common, root] = [await real(commonDir), await real(top || commonDir)];
  return common === undefined || root === undefined ? undefined : { root, commonDir: common };
}

function real(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}
