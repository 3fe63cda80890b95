import { type NetworkFacts } from "../network-needs.ts";
import type { Plan } from "../plan.ts";
import type { Git } from "../workspace/git.ts";
import { Repository } from "../workspace/repository.ts";
import { type Project } from "./project.ts";
import { readProject } from "./read-project.ts";
import { machineSettings } from "./tools.ts";

/** What a plan says whose repository knows how it is set up. */
export const AUTO_SETUP = "auto";

/** Where a plan begins, and for whom. */
export interface PlanGround {
  /** A folder in the repository. */
  readonly repository: string;
  readonly commit: string;
  /** Its setup may reach the hosts that it needs, because its caller may say so. */
  readonly reachesOut: boolean;
}

/** A plan as it will run: with the setup of its repository where it says `auto`. */
export type SettleSetup = (
  plan: Plan,
  ground: PlanGround,
  options: { signal?: AbortSignal | undefined },
) => Promise<Plan>;

export function settleSetup({
  git,
  network,
  npmrc,
}: {
  readonly git: Git;
  readonly network: NetworkFacts;
  /** The person's own file of that name. */
  readonly npmrc: () => string | undefined;
}): SettleSetup {
  return async (plan, { repository, commit, reachesOut }, { signal }) => {
    if (plan.setup !== AUTO_SETUP) return plan;
    const opened = await Repository.open(repository, { git, signal });
    const settings = machineSettings(network.env, npmrc());
    const project = await readProject(opened, commit, { settings, signal });

    return withProject(plan, project, { reachesOut, team: network.team });
  };
}

/** The plan with the setup of its repository. What plan or team say of its network stands. Pure. */
export function withProject(
  { setup: _auto, ...plan }: Plan,
  { setup, hosts }: Pick<Project, "setup" | "hosts">,
  { reachesOut, team }: { readonly reachesOut: boolean } & Pick<NetworkFacts, "team">,
): Plan {
  if (setup === undefined) return plan;
  const isSaid = (plan.network?.setup ?? team.setup) !== undefined;
  if (isSaid || !reachesOut || hosts.length === 0) return { ...plan, setup };
  const policy = { kind: "provider", hosts } as const;

  return { ...plan, setup, network: { ...plan.network, setup: policy } };
}
