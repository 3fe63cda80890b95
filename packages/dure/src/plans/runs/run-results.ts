import { concealDiff, concealerOf } from "../agents/given-secrets.ts";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { TreeDiff, Approvals } from "../../wire/runs.ts";
import type { Reach } from "../plan-reach.ts";
import type { MayLeave } from "../plan.ts";
import type { PlanRun, PlanStep } from "../rows/run.ts";
import { AUTHOR } from "../workspace/commit-writer.ts";
import type { Git } from "../workspace/git.ts";
import { Repository } from "../workspace/repository.ts";
import { RunStore } from "../workspace/store.ts";
import { isTenant, type NamedRepositories } from "./named-repositories.ts";
import type { MergeGate, MergeGateParts } from "./merge-gate.ts";
import { RunConflicts } from "./run-conflicts.ts";
import {
  RunDelivery,
  type ApprovalRequest,
  type Confirmed,
  type DeliveredMerge,
  type RunLeaving,
  type UndoneMerge,
} from "./run-delivery.ts";
import { runCleaned } from "./run-requests.ts";
import type { Runs } from "./runs.ts";
import type { TeamGuard } from "./team-guard.ts";

/** Bytes of one patch that is shown. */
const PATCH_BYTES = 400_000;

interface RunResultsOptions {
  readonly approvals: Pick<MergeGateParts, "database">;
  readonly inbox: ConstructorParameters<typeof RunConflicts>[0]["inbox"];
  readonly runs: Runs;
  readonly repositories: NamedRepositories;
  readonly team: Pick<TeamGuard, "assertMayChange">;
  readonly gate: MergeGate;
  readonly git: Git;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly mayLeave?: readonly MayLeave[] | undefined;
}

/** Who asks for a result to leave, and what they said yes to. */
type ConfirmedDelivery = Reach &
  Confirmed & { readonly tenant: TenantView; readonly signal: AbortSignal };

/** What runs have made: shown, merged into a branch of the person's, sent where the plan says. */
export class RunResults {
  readonly #options: RunResultsOptions;
  readonly #delivery: RunDelivery;

  constructor(options: RunResultsOptions) {
    this.#options = options;
    this.#delivery = new RunDelivery({
      ...options,
      conflicts: new RunConflicts({ ...options.approvals, ...options }),
      open: async (run, signal) => (await this.#store(run, signal)).repository,
    });
  }

  /**
   * What a port changed, or the whole run, without the secrets that its workers were given. A tenant reads it only where it still has the repository.
   * Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`, `RUN_NO_RESULT`, `REPOSITORY_UNKNOWN`.
   */
  async diff(
    id: string,
    port: string | undefined,
    { tenant, signal }: { tenant: TenantView; signal: AbortSignal },
  ): Promise<TreeDiff> {
    const asked = { tenant, signal };
    const run = isTenant(tenant)
      ? await this.#deliverable(id, asked)
      : await this.#options.runs.get(id, asked);
    const found =
      port === undefined ? undefined : await this.#options.runs.port(id, port, { tenant });
    const [from, to] = found
      ? [found.startCommit, found.resultCommit ?? lastCommit(found.steps)]
      : [run.baseCommit, run.report?.commit];
    if (from === null || to === undefined) {
      const what = port === undefined ? `The run ${id}` : `The port ${port}`;
      throw new DureError("RUN_NO_RESULT", `${what} has changed nothing yet.`, {
        class: "not-found",
        hint: "Look again when a try has ended.",
      });
    }
    const { store } = await this.#store(run, signal);

    const diff = await store.diff(from, to, { patchBytes: PATCH_BYTES, signal });

    return concealDiff(diff, concealerOf(run.plan, this.#options.env));
  }

  /**
   * Takes the result of a run over into a branch of the person's, because a person asks for it.
   * Throws as {@link RunDelivery.merge} and `NamedRepositories`.
   */
  async merge(
    id: string,
    { into, tenant, signal, ...yes }: ConfirmedDelivery & { into?: string | undefined },
  ): Promise<DeliveredMerge> {
    const run = await this.#deliverable(id, { tenant, signal });
    return this.#delivery.merge(run, { into, tenant, signal, ...yes });
  }

  /**
   * Takes a result that was merged out of the branch again, because a person asks for it. Throws as
   * {@link RunDelivery.undo} and `NamedRepositories`.
   */
  async undo(
    id: string,
    { from, ...asked }: ConfirmedDelivery & { from?: string | undefined },
  ): Promise<UndoneMerge> {
    return this.#delivery.undo(await this.#deliverable(id, asked), { from, ...asked });
  }

  /**
   * What a person looks at before a result leaves its run. Throws as {@link RunDelivery.leaving} and
   * `NamedRepositories`.
   */
  async leaving(
    id: string,
    { into, ...asked }: Reach & { into?: string | undefined; signal: AbortSignal },
  ): Promise<RunLeaving> {
    const run = await this.#deliverable(id, asked);
    return this.#delivery.leaving(run, { into, signal: asked.signal });
  }

  /**
   * Sends the result of a run where its plan says, because a person asks for it. Throws as
   * {@link RunDelivery.publish} and `NamedRepositories`.
   */
  async publish(id: string, asked: ConfirmedDelivery): ReturnType<RunDelivery["publish"]> {
    return this.#delivery.publish(await this.#deliverable(id, asked), asked);
  }

  /**
   * A person agrees that the result leaves the run. Throws as {@link RunDelivery.approve} and
   * `NamedRepositories`.
   */
  async approve(id: string, asked: Reach & ApprovalRequest): Promise<Approvals> {
    return this.#delivery.approve(await this.#deliverable(id, asked), asked);
  }

  async #deliverable(id: string, asked: Reach & { signal: AbortSignal }): Promise<PlanRun> {
    const run = await this.#options.runs.get(id, asked);
    await this.#options.repositories.allowed(
      run.repository,
      `The repository of the run ${id}`,
      asked,
    );

    return run;
  }

  async #store(
    run: PlanRun,
    signal: AbortSignal,
  ): Promise<{ repository: Repository; store: RunStore }> {
    if (run.cleanedAt !== null) throw runCleaned(run);
    if (run.host !== this.#options.runs.host) {
      throw new DureError(
        "RUN_ELSEWHERE",
        `The files of the run ${run.id} are on another machine.`,
        { class: "conflict", hint: `Ask a server on ${run.host}.` },
      );
    }
    const repository = await Repository.open(run.repository, { git: this.#options.git, signal });
    const store = await RunStore.open({
      repository,
      folder: join(run.folder, "store.git"),
      run: run.id,
      base: run.baseCommit,
      author: AUTHOR,
      signal,
    });

    return { repository, store };
  }
}

/** The commit of the last step of a port that made one. Pure. */
function lastCommit(steps: readonly PlanStep[]): string | undefined {
  const last = steps.findLast(
    ({ kind, status }) => (kind === "implement" || kind === "test") && status === "done",
  );

  return (last?.output as { commit?: string } | undefined)?.commit;
}
