import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { Because } from "../../wire/plans.ts";
import type { PlanReading } from "../plan-file.ts";
import { planFilesIn } from "../plan-folder.ts";
import type { Plan } from "../plan.ts";
import { becauseOf } from "../rows/outcomes.ts";
import type { PlanRun } from "../rows/run.ts";
import { isWithin } from "../sandbox/mount-plan.ts";
import type { Git } from "../workspace/git.ts";
import { folderName } from "../workspace/repository-facts.ts";
import type { MergeRule } from "./merge-gate.ts";
import { teamFolderIsTarget, type TeamGuard } from "./team-guard.ts";

/** A repository that the configuration names. */
export interface RepositorySetting {
  /** Absolute. */
  readonly path: string;
  /** Whose it is; absent: of callers without a tenant. */
  readonly tenants?: readonly string[] | undefined;
  readonly merge?: MergeRule | undefined;
}

export interface NamedRepositoriesOptions {
  /** What a caller without a tenant works on where nothing else is named: the team's folder. */
  readonly repository: string;
  /** Where files of plans are. */
  readonly folder: string;
  /** `repositories` of the configuration, by name. */
  readonly repositories?: Readonly<Record<string, RepositorySetting>> | undefined;
  readonly git: Git;
  readonly readPlan: (name: string) => Promise<PlanReading>;
  readonly team: Pick<TeamGuard, "isTarget">;
}

interface RepositoryCaller {
  readonly tenant: TenantView;
  readonly signal: AbortSignal;
}

/**
 * Which repository a plan works on, and whether its caller may have it. A tenant has those that the
 * configuration names for it. A caller without a tenant has those that are no tenant's, those of
 * plan files, and the one around the team's folder. An administrator without a tenant has all. The
 * team's own folder is no plan's target, unless the configuration says so. Source: docs/spec/platform §6.
 */
export class NamedRepositories {
  readonly #options: NamedRepositoriesOptions;

  constructor(options: NamedRepositoriesOptions) {
    this.#options = options;
  }

  /**
   * Where a plan works. What a person names goes before what the plan names. A name of the
   * configuration goes before a path. Throws `REPOSITORY_NEEDED`.
   */
  locate(given: string | undefined, plan: Plan | undefined, tenant: TenantView): string {
    const { repository, folder } = this.#options;
    if (given !== undefined) return this.#pathOf(given) ?? resolve(repository, given);
    const named = plan?.repository;
    if (named !== undefined) return this.#pathOf(named) ?? resolve(folder, named);

    const own = this.#of(tenant);
    const [only] = own;
    if (only !== undefined && own.length === 1) return only[1].path;
    if (isTenant(tenant)) throw repositoryNeeded(own.map(([name]) => name));

    return repository;
  }

  /**
   * The folder, where the caller may have its repository. Throws `REPOSITORY_UNKNOWN`,
   * `REPOSITORY_NOT_NAMED`, `REPOSITORY_IS_TEAM`. `shown`: in the words of the caller.
   */
  async allowed(
    folder: string,
    shown: string,
    { tenant, signal }: RepositoryCaller,
  ): Promise<string> {
    const root = tenant === null ? folder : await this.#named(folder, shown, { tenant, signal });
    const location = await locationOf(root, this.#options.git, signal);
    if (location && (await this.#options.team.isTarget(location, { tenant, signal }))) {
      throw teamFolderIsTarget(shown, tenant);
    }

    return root;
  }

  /** Undefined: the caller may have the run's repository. */
  async whyNotAllowed(run: PlanRun, asked: RepositoryCaller): Promise<Because | undefined> {
    try {
      await this.allowed(run.repository, "Its repository", asked);
      return undefined;
    } catch (error) {
      if (!REFUSALS.has(codeOf(error) ?? "")) throw error;
      return becauseOf(error);
    }
  }

  /**
   * A run's repository as a reader is shown it. A tenant sees its name in the configuration, else
   * that of its folder: where it lies on the machine is not theirs to know.
   */
  shownTo(tenant: TenantView, { repository }: Pick<PlanRun, "repository">): string {
    if (!isTenant(tenant)) return repository;
    const named = this.#of(tenant).find(([, { path }]) => path === repository);

    return named?.[0] ?? folderName(repository);
  }

  /** What the configuration says of the repository that a folder lies in; it may name it twice. */
  async settingsOf(folder: string, signal: AbortSignal): Promise<readonly RepositorySetting[]> {
    const { git, repositories = {} } = this.#options;
    const [there, settings] = [await locationOf(folder, git, signal), Object.values(repositories)];
    const named = await Promise.all(settings.map(({ path }) => locationOf(path, git, signal)));

    return settings.filter(
      (_, index) => there !== undefined && named[index]?.commonDir === there.commonDir,
    );
  }

  async #named(
    folder: string,
    shown: string,
    { tenant, signal }: RepositoryCaller,
  ): Promise<string> {
    const { git } = this.#options;
    const own = this.#of(tenant).map(([, { path }]) => path);
    const named = isTenant(tenant) ? own : [...own, ...(await this.#namedByFiles())];
    const root = await namedRepository(folder, named, { git, signal });
    if (root !== undefined) return root;
    // It is gone, or is none: that is said where it is opened.
    if (named.includes(folder)) return folder;
    throw isTenant(tenant) ? repositoryUnknown(shown) : notNamed(shown);
  }

  /** The team's own, and those of plans in its folder. */
  async #namedByFiles(): Promise<readonly string[]> {
    const { folder: plans, repository, readPlan } = this.#options;
    const named = [repository];
    for (const name of await planFilesIn(plans)) {
      const { plan } = await readPlan(name);
      const found = plan?.repository;
      if (found !== undefined) named.push(this.#pathOf(found) ?? resolve(plans, found));
    }

    return named;
  }

  /** Those of a tenant; for a caller without one those that are no tenant's. */
  #of(tenant: TenantView): readonly (readonly [string, RepositorySetting])[] {
    return Object.entries(this.#options.repositories ?? {}).filter(([, { tenants }]) =>
      isTenant(tenant) ? tenants?.includes(tenant) : tenants === undefined,
    );
  }

  #pathOf(name: string): string | undefined {
    const { repositories = {} } = this.#options;
    return Object.hasOwn(repositories, name) ? repositories[name]!.path : undefined;
  }
}

/** A repository in the words of its caller; undefined: the caller named none. */
export function shownRepository(named: string | undefined): string {
  return named === undefined ? "The repository of the team" : `The repository ${named}`;
}

const REFUSALS: ReadonlySet<string> = new Set([
  "REPOSITORY_UNKNOWN",
  "REPOSITORY_NOT_NAMED",
  "REPOSITORY_IS_TEAM",
]);

/** Whether a caller is a tenant's, also as its administrator. */
export function isTenant(tenant: TenantView): tenant is string {
  return tenant !== null && tenant !== "";
}

/** What a tenant is told of a repository that is not its own, and of one that does not exist. */
function repositoryUnknown(shown: string): DureError {
  return new DureError("REPOSITORY_UNKNOWN", `${shown} is not known to this tenant.`, {
    class: "not-found",
    hint: "An operator names it for the tenant in the configuration: repositories.",
  });
}

function repositoryNeeded(names: readonly string[]): DureError {
  if (names.length === 0) {
    return new DureError("REPOSITORY_UNKNOWN", "This tenant has no repository.", {
      class: "not-found",
      hint: "An operator names one for the tenant in the configuration: repositories.",
    });
  }

  return new DureError(
    "REPOSITORY_NEEDED",
    `This tenant has several repositories: ${names.join(", ")}.`,
    { class: "input", hint: "Name one of them as `repository`." },
  );
}

function notNamed(shown: string): DureError {
  return new DureError("REPOSITORY_NOT_NAMED", `${shown} is not one that the team has named.`, {
    class: "forbidden",
    hint: NOT_NAMED_HINT,
  });
}

const NOT_NAMED_HINT = [
  "Ask an operator to name it in the configuration (repositories) or in a plan of the team's",
  "folder plans, or use a token with the scope admin and without a tenant.",
].join(" ");

/** Where a repository is. Real paths. */
interface RepositoryLocation {
  /** The top of the working tree; of a bare repository its git directory. */
  readonly root: string;
  /** Where branches and objects are. */
  readonly commonDir: string;
  readonly isBare: boolean;
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
  const repositories: RepositoryLocation[] = [];
  for (const one of new Set(named)) {
    const repository = await locationOf(one, git, signal);
    if (repository) repositories.push(repository);
  }
  // Only then: how long a refusal takes does not tell whether there is anything either.
  const wanted = await real(folder);
  if (wanted === undefined) return undefined;
  for (const repository of repositories) {
    if (!isWithin(wanted, repository.root)) continue;
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
  if (common === undefined || root === undefined) return undefined;

  return { root, commonDir: common, isBare: top === "" };
}

/** Undefined: no folder is there. */
async function real(path: string): Promise<string | undefined> {
  const found = await realpath(path).catch(() => undefined);
  if (found === undefined) return undefined;

  return (await stat(found)).isDirectory() ? found : undefined;
}
