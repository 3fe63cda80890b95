/** The plans of a team, with repository, sandbox and workers. */

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { BudgetKeeper } from "../engine/money/budgets.ts";
import { importModule } from "../engine/files/import-module.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { parseModelName, type Llm } from "../models/card.ts";
import type { LlmRef } from "../models/model.ts";
import type { Price } from "../models/prices.ts";
import type { Models } from "../models/models.ts";
import type { AttemptPatience } from "../models/patient-attempts.ts";
import { NO_MODEL } from "../models/no-model.ts";
import { paidModels } from "../models/paid.ts";
import { draftPlan, reviewDraft } from "../plans/drafts/draft.ts";
import { agentsOnPath, teamWorkers, type TeamWorkers } from "../plans/drafts/team-workers.ts";
import { Outlines, type ReadSignatures } from "../plans/context/outlines.ts";
import { HookRequests } from "../plans/runs/hook-requests.ts";
import { elsewhere } from "../plans/lead/elsewhere.ts";
import { TeamGuard } from "../plans/runs/team-guard.ts";
import { PlanLibrary, type PlanLibraryOptions } from "../plans/runs/plan-library.ts";
import { Runs, type RunsOptions } from "../plans/runs/runs.ts";
import { DraftRows } from "../plans/rows/draft-rows.ts";
import type { PlanRun } from "../plans/rows/run.ts";
import { runWork } from "../plans/runs/work.ts";
import type { WorkParts } from "../plans/runs/run-site.ts";
import type { NetworkFacts } from "../plans/network-needs.ts";
import type { WorkerSpec } from "../plans/plan.ts";
import { throughDoor } from "../plans/calls/through-door.ts";
import { openWorker, type OwnWorkers } from "../plans/workers/open-worker.ts";
import type { Worker } from "../plans/workers/worker.ts";
import { readOfflineScript, type OfflineScript } from "../plans/workers/offline-script.ts";
import { PlanThreads } from "../plans/threads/plan-threads.ts";
import { Git } from "../plans/workspace/git.ts";
import { TeamFiles } from "../plans/workspace/team-files.ts";
import { type SettleSetup, settleSetup } from "../plans/project/settle-setup.ts";
import { Repository } from "../plans/workspace/repository.ts";
import { paidAgent } from "../plans/agents/paid-agent.ts";
import { costScopeOf, payForAgent } from "./agent-pay.ts";
import { payForDraft, payForRun } from "./plan-pay.ts";
import { DURE_VERSION } from "./version.ts";
import type { LoadedTeam } from "./config.ts";
import { PlanSandboxes, type WorkerBounds } from "./plan-sandboxes.ts";
import { foldersForRun, repositoriesOf, runsFromElsewhere } from "./repositories.ts";

export interface PlanParts {
  /** `plans.workers` of the configuration. */
  readonly workers: OwnWorkers | undefined;
  readonly database: Database;
  readonly notifications: Notifications;
  readonly events: EventLog;
  readonly lease: ProcessLease;
  readonly leases: Leases;
  readonly inbox: Inbox;
  readonly models: () => Models;
  /** Of workers and drafts while a model is away. */
  readonly patience: AttemptPatience;
  /** `plans.remote` of the configuration. */
  readonly remote: string | undefined;
  /** What the configuration says that one worker may take and see of the machine. */
  readonly bounds: WorkerBounds;
  /** `server.limits.planTime` of the configuration. */
  readonly planMs: number;
  /** The team's; what workers and drafts use counts. */
  readonly budgets: Pick<BudgetKeeper, "charge" | "chargeUnknown">;
  /** The team's model; it proposes plans, unless it only stands in for one. */
  readonly llm: Llm;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folder of dure's data. */
  readonly home: string;
  /** Names that folder, for every process that shares it. */
  readonly host: string;
  /** Everything that dure was started with; plans name what of it their workers get. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Address of this process's server; undefined before it listens. */
  readonly url: () => string | undefined;
}

/** Plans of a team: the files in its folder `plans`, and their runs on this machine. */
export function openPlans(
  team: LoadedTeam,
  parts: PlanParts,
): { library: PlanLibrary; runs: Runs; threads: PlanThreads } {
  const { clock, env, planMs } = parts;
  const git = new Git({ env });
  const network: NetworkFacts = { team: team.config.plans?.network ?? {}, env };
  const signatures = new Outlines({ logger: parts.logger, clock: parts.clock }).of;
  const limits = { taskMs: planMs, waitMs: 2 * planMs };
  const threads = new PlanThreads({ clock, limits });
  const settle = settleSetup({ git, network, npmrc: ownNpmrc });
  const shared = { git, network, signatures, threads, settle };
  // Runs are led only later, when the library is there.
  const runs = runsOf(team, parts, shared, (run, how) => library.whyRefused(run, how));

  const library: PlanLibrary = new PlanLibrary({
    runs,
    inbox: parts.inbox,
    threads,
    requests: new HookRequests(parts),
    git,
    folder: plansFolder(team),
    repository: team.folder,
    repositories: repositoriesOf(team),
    team: new TeamGuard({
      files: new TeamFiles({ folder: team.folder, git, runs: runsFromElsewhere(team) }),
      ownFolder: team.config.plans?.ownFolder ?? false,
    }),
    approvals: { database: parts.database, rule: team.config.plans?.merge },
    network,
    settle,
    mayLeave: team.config.plans?.mayLeave,
    clock,
    env,
    importModule,
    draftRows: new DraftRows(parts.database),
    review: (text, files, work) =>
      reviewDraft(text, files, { threads, workers: workersOf(parts) }, work),
    draft: draftOf(parts, threads, signatures),
  });

  return { library, runs, threads };
}

/** Undefined: there is none, or it cannot be read. */
function ownNpmrc(): string | undefined {
  try {
    return readFileSync(path.join(homedir(), ".npmrc"), "utf8").slice(0, 65_536);
  } catch {
    return undefined;
  }
}

function plansFolder({ folder }: LoadedTeam): string {
  return path.join(folder, "plans");
}

function runsOf(
  team: LoadedTeam,
  parts: PlanParts,
  shared: Pick<WorkParts, "git" | "threads"> & {
    readonly network: NetworkFacts;
    readonly signatures: ReadSignatures;
    readonly settle: SettleSetup;
  },
  whyRefused: RunsOptions["whyRefused"],
): Runs {
  const { git, threads, network, signatures, settle } = shared;
  const { database, notifications, events, lease, leases, inbox, clock, logger } = parts;
  const { home, host, env, remote } = parts;
  const common = { database, notifications, inbox, clock, logger, home };
  const plans = plansFolder(team);
  const repositories = (run: Pick<PlanRun, "tenant">): readonly string[] =>
    foldersForRun(team, run);
  const away = { git, repositories, env, home, host, plans };
  const sandboxes = new PlanSandboxes(team.folder, parts);

  const work: WorkParts = {
    ...common,
    announce: () => events.announce(),
    git,
    threads,
    signatures,
    processId: lease.id,
    env,
    remote,
    sandbox: (wanted, options) => sandboxes.open(wanted, options),
    worker: (spec, run) => workerOf(spec, run, parts),
    teamNetwork: network.team,
    userHome: homedir(),
    hookUrl: () => {
      const url = parts.url();
      return url === undefined ? undefined : `${url}/v1/hooks/test-feedback`;
    },
  };

  return new Runs({
    ...common,
    env,
    events,
    lease,
    leases,
    host,
    whyRefused,
    settle,
    elsewhere: remote === undefined ? undefined : elsewhere({ ...away, remote }),
    resolveBase: async (folder, base, { signal }) => {
      const opened = await Repository.open(folder, { git, signal });
      return { commit: await opened.resolve(base, { signal }), repository: opened.root };
    },
    work: (about) => runWork(work, about),
  });
}

function workerOf(spec: WorkerSpec, run: PlanRun, parts: PlanParts): Worker {
  const { clock, budgets, database, leases, models, patience } = parts;
  const confirm = (): Promise<void> => leases.confirm(`run:${run.id}`);
  const pay = payForRun(run, budgets, confirm);
  const opened = openWorker(spec, {
    clock,
    own: parts.workers,
    model: { models: paidModels(models(), pay), patience },
    script: (script) => scriptOf(run, script),
    version: DURE_VERSION,
    env: parts.env,
  });
  if (!SPEND_BY_THEMSELVES.has(spec.kind)) return opened;
  const worker = throughDoor(opened, spec, { env: parts.env, home: homedir(), clock });
  const scope = costScopeOf(spec);
  const priceOf = (llm: Pick<LlmRef, "model"> & { provider: string }): Price | undefined =>
    models().priceOf(llm as LlmRef);

  return paidAgent(worker, {
    pay: payForAgent(run, spec, { budgets, database, clock, priceOf, confirm }),
    scope,
  });
}

/** Workers whose calls of a model are not dure's own. */
const SPEND_BY_THEMSELVES: ReadonlySet<WorkerSpec["kind"]> = new Set(["acp", "command", "own"]);

/** Undefined: the team has no model. */
function draftOf(
  parts: PlanParts,
  threads: PlanThreads,
  signatures: ReadSignatures,
): PlanLibraryOptions["draft"] {
  const { llm, clock, patience, budgets, lease } = parts;
  const { model: echo } = parseModelName("offline");
  if (llm.provider === "offline" && [echo, NO_MODEL].includes(llm.model)) return undefined;

  return (wish, source, { signal }) => {
    const pay = payForDraft(budgets, () => lease.confirm());
    const models = paidModels(parts.models(), pay);
    const workers = workersOf(parts);

    const known = { models, llm, clock, patience, threads, workers, signatures };
    return draftPlan(known, wish, source, { signal });
  };
}

/** Workers that a draft may name. */
function workersOf({ workers, llm, env }: PlanParts): TeamWorkers {
  return teamWorkers(Object.keys(workers ?? {}), llm, agentsOnPath(env["PATH"]));
}

/** Scripts stand beside the plan that names them. */
function scriptOf(run: PlanRun, script: string): OfflineScript {
  const file = path.resolve(path.dirname(run.file ?? "."), script);
  let text: string;

  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new DureError(
      "OFFLINE_SCRIPT_MISSING",
      `The script ${script} of the offline worker cannot be read.`,
      { class: "input", hint: "Its path begins at the folder of the plan.", cause: error },
    );
  }

  return readOfflineScript(script, text);
}
