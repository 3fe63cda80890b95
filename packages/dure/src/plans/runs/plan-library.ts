import { join } from "node:path";
import type { Answerer, Inbox } from "../../escalations/inbox.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type PlanReading } from "../plan-file.ts";
import { networkOf, opensNetwork, type NetworkFacts } from "../network-needs.ts";
import { assertConfined, assertStaysInside, type Reach } from "../plan-reach.ts";
import type { PlanWarning } from "../plan-ownership.ts";
import type { MayLeave, Plan } from "../plan.ts";
import type { SettleSetup } from "../project/settle-setup.ts";
import type { PlanShape } from "../threads/plan-tasks.ts";
import type { PlanThreads, PlanWork } from "../threads/plan-threads.ts";
import type { Git } from "../workspace/git.ts";
import { ownedWarnings } from "../workspace/owned-warnings.ts";
import { Repository } from "../workspace/repository.ts";
import { DraftProposals, type ProposalParts } from "./draft-proposals.ts";
import { PlanDrafts } from "../drafts/plan-drafts.ts";
import type { DraftRows } from "../rows/draft-rows.ts";
import type { HookRequests } from "./hook-requests.ts";
import { checkAnswers } from "./run-answers.ts";
import type { Member } from "../../kernel/plans.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { ShowRepository } from "./shown.ts";
import {
  isTenant,
  NamedRepositories,
  shownRepository,
  type NamedRepositoriesOptions,
} from "./named-repositories.ts";
import { narrowed } from "./narrow-plan.ts";
import { PlanFiles, type PlanFile, type PlanSource } from "./plan-files.ts";
import { MergeGate, type MergeGateParts } from "./merge-gate.ts";
import { RunResults } from "./run-results.ts";
import { type DeliveredMerge } from "./run-delivery.ts";
import { type CleanFor, type CleanRuns } from "./run-cleaner.ts";
import { type Runs, type StartRun } from "./runs.ts";
import type { TeamGuard } from "./team-guard.ts";
import type { PlanRun, RunOrder } from "../rows/run.ts";
import type { TreeDiff } from "../../wire/runs.ts";
import type { Because } from "../../wire/plans.ts";

export interface PlanLibraryOptions
  extends ProposalParts, Pick<NamedRepositoriesOptions, "repositories"> {
  readonly runs: Runs;
  /** Its answers let runs go on. */
  readonly inbox: Pick<Inbox, "announce" | "list" | "onAnswer" | "raise" | "settle">;
  /** What workers ask for from inside of a run. */
  readonly requests: HookRequests;
  /** Plans that are made ready. */
  readonly draftRows: DraftRows;
  readonly git: Git;
  /** Where files of plans are. */
  readonly folder: string;
  /** See {@link Runs}. */
  readonly settle?: SettleSetup | undefined;
  /** How far processes get, beside what plans say. Default: as plans say. */
  readonly network?: NetworkFacts | undefined;
  /** What callers without a tenant work on where nothing else is named: the team's folder. */
  readonly repository: string;
  readonly team: TeamGuard;
  /** Who has to agree before a result leaves its run. */
  readonly approvals: Pick<MergeGateParts, "database" | "rule">;
  readonly clock: Clock;
  /** Everything that dure was started with: a person's logins lead to a remote. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the team lets leave with a result without a person's yes. */
  readonly mayLeave?: readonly MayLeave[] | undefined;
  /** Where the text of plans is read and their shape is found: not on the thread that answers. */
  readonly threads: Pick<PlanThreads, "read" | "run" | "edit" | "ports">;
  /** Imports a plan that is code. */
  readonly importModule: (file: string) => Promise<Record<string, unknown>>;
  /** Lets a model propose the text of a plan. Absent: no model is there. */
}

/** What of a plan runs, where, and from what. */
export interface PlanChoice extends Reach, Pick<StartRun, "only" | "from"> {
  readonly source: PlanSource;
  /** From the folder of the team. Goes before what the plan says, as does `base`. */
  readonly repository?: string | undefined;
  /** A branch, a tag or a commit. */
  readonly base?: string | undefined;
}

interface ChosenPlan {
  readonly plan: Plan;
  readonly file: string;
  readonly repository: string;
  /** What it may reach is its caller's, or the team's, to say. */
  readonly reachesOut: boolean;
}

/** Whose share of the work on plans it is, and until when. */
type AskedWork = PlanWork & { readonly signal: AbortSignal };

/** The caller may start what takes protection away from this machine. Default false. */
interface Unconfined {
  readonly mayRunUnconfined?: boolean | undefined;
}

/** What a person wants to know of a plan before it runs. */
export interface PlanView extends PlanShape {
  readonly plan: Plan;
  readonly file: string;
  readonly baseCommit: string;
  /** How far its processes get. */
  readonly network: ReturnType<typeof networkOf>;
}

/**
 * Orders after which less is done than before. A caller who may give orders at all may give them,
 * wherever the run works.
 */
const STOPS: ReadonlySet<RunOrder["type"]> = new Set(["pause", "cancel"]);
/** Plans as files, and what is done with them: look, check, begin a run, take its result over. */
export class PlanLibrary {
  readonly runs: Runs;
  readonly requests: HookRequests;
  readonly proposals: DraftProposals;
  readonly drafts: PlanDrafts;
  readonly #options: PlanLibraryOptions;
  readonly #repositories: NamedRepositories;
  readonly #files: PlanFiles;
  readonly #results: RunResults;

  constructor(options: PlanLibraryOptions) {
    this.#options = options;
    this.runs = options.runs;
    this.requests = options.requests;
    this.#files = new PlanFiles(options);
    this.#repositories = new NamedRepositories({
      ...options,
      readPlan: (name) => this.#files.readFile(name),
    });
    this.proposals = new DraftProposals({ ...options, repositories: this.#repositories });
    this.drafts = new PlanDrafts({ ...options, proposals: this.proposals });
    checkAnswers(options.inbox, (run, by) => this.#assertMayGoOn(run, by));
    const gate = new MergeGate({ ...options.approvals, repositories: this.#repositories });
    this.#results = new RunResults({ ...options, gate, repositories: this.#repositories });
  }

  /** Every plan of the folder, those that cannot be read too; by name. */
  list(work: PlanWork = {}): Promise<readonly PlanFile[]> {
    return this.#files.list(work);
  }

  /** Reads a plan by its name or file and checks it. Throws `PLAN_UNKNOWN`. */
  read(name: string): ReturnType<PlanFiles["read"]> {
    return this.#files.read(name);
  }

  /** Checks unsaved plan text. Throws as {@link PlanThreads.read}. */
  check(file: string, text: string, work: PlanWork): Promise<PlanReading> {
    return this.#files.check(file, text, work);
  }

  /**
   * A plan against its repository. Throws `PLAN_UNKNOWN`, `PLAN_INVALID`, as `NamedRepositories`,
   * and what is wrong with the repository.
   */
  async show(name: string, asked: Reach & AskedWork): Promise<PlanView> {
    const chosen = await this.#chosen({ ...asked, source: { name } }, asked);
    return this.#view(chosen, asked);
  }

  /**
   * Begins a run of a plan; `dryRun` shows what would be done. Throws `PLAN_UNKNOWN`,
   * `PLAN_INVALID`, `PLAN_REACHES_OUT`, `PLAN_UNCONFINED`, as `NamedRepositories`, and as {@link
   * Plans.run}.
   */
  async start(
    request: Omit<PlanChoice, "tenant"> &
      Partial<Reach> &
      Unconfined &
      Pick<StartRun, "by" | "key">,
    work: AskedWork,
  ): Promise<PlanRun> {
    const choice = { tenant: "", ...request };
    const { plan, file, repository, reachesOut } = await this.#chosen(choice, work);
    if (request.mayRunUnconfined !== true) assertConfined(plan);
    const { only, from, tenant, by, key } = request;

    return this.runs.run(
      {
        only,
        from,
        tenant: tenant ?? "",
        by,
        key,
        plan,
        file: join(this.#options.folder, file),
        repository,
        reachesOut,
      },
      { signal: work.signal },
    );
  }

  /** The parts of a plan whose network is open to every public host, as the plan names them. */
  opensNetwork({ plan }: Pick<PlanRun, "plan">): readonly string[] {
    return opensNetwork(plan, this.#options.network?.team ?? {});
  }

  async dryRun(request: PlanChoice, work: AskedWork): Promise<PlanView> {
    const chosen = await this.#chosen(request, work);
    const plan = narrowed({ plan: chosen.plan, only: request.only, from: request.from });
    return this.#view({ ...chosen, plan }, work);
  }

  /**
   * What a port changed, or the whole run. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`,
   * `RUN_NO_RESULT`.
   */
  diff(...asked: Parameters<RunResults["diff"]>): Promise<TreeDiff> {
    return this.#results.diff(...asked);
  }

  /** As {@link RunResults.leaving}. */
  leaving(...asked: Parameters<RunResults["leaving"]>): ReturnType<RunResults["leaving"]> {
    return this.#results.leaving(...asked);
  }

  /**
   * Takes the result of a run over into a branch of the person's, because a person asks for it.
   * Throws as {@link RunDelivery.merge} and `NamedRepositories`.
   */
  merge(...asked: Parameters<RunResults["merge"]>): Promise<DeliveredMerge> {
    return this.#results.merge(...asked);
  }

  /** Takes a result that was merged out of the branch again. Throws as {@link RunResults.undo}. */
  undo(...asked: Parameters<RunResults["undo"]>): ReturnType<RunResults["undo"]> {
    return this.#results.undo(...asked);
  }

  /**
   * Sends the result of a run where its plan says, because a person asks for it. Throws as
   * {@link RunDelivery.publish} and `NamedRepositories`.
   */
  publish(...asked: Parameters<RunResults["publish"]>): ReturnType<RunResults["publish"]> {
    return this.#results.publish(...asked);
  }

  /** A person agrees that the result leaves its run. Throws as {@link RunResults.approve}. */
  approve(...asked: Parameters<RunResults["approve"]>): ReturnType<RunResults["approve"]> {
    return this.#results.approve(...asked);
  }

  /**
   * As {@link Runs.order}. Only a caller that may have its repository lets work go on there. Every
   * caller may stop it. Throws as `NamedRepositories` too.
   */
  async order(
    id: string,
    order: RunOrder,
    by: Reach & { by: string; signal: AbortSignal },
  ): Promise<{ readonly carriedOut: boolean }> {
    if (!STOPS.has(order.type)) await this.#assertAllowed(id, by);
    return this.runs.commands.order(id, order, by);
  }

  /**
   * As {@link Runs.say}, for callers that may let work go on there. Throws as `NamedRepositories`
   * too.
   */
  async say(
    id: string,
    port: string,
    words: { to: Member; text: string },
    { tenant, by, signal }: Reach & { by: string; signal: AbortSignal },
  ): Promise<{ readonly id: number }> {
    await this.#assertAllowed(id, { tenant, signal });
    return this.runs.commands.say(id, port, words, { tenant, by });
  }

  /**
   * As {@link Runs.clean}. Runs of repositories that the caller may not have are kept, unless it is
   * an administrator of all.
   */
  async clean(
    wanted: CleanRuns,
    how: Reach & Omit<CleanFor, "whyRefused" | "tenant"> & { readonly signal: AbortSignal },
  ): ReturnType<Runs["clean"]> {
    const known = new Map<string, Promise<Because | undefined>>();
    const whyRefused = (run: PlanRun): Promise<Because | undefined> => {
      const refused = known.get(run.repository) ?? this.#repositories.whyNotAllowed(run, how);
      known.set(run.repository, refused);

      return refused;
    };

    const isOfAll = how.tenant === null;
    return this.runs.clean(wanted, { ...how, whyRefused: isOfAll ? undefined : whyRefused });
  }

  /** How a reader is shown the repository of a run. */
  repositoryFor(reader: TenantView): ShowRepository {
    return (run) => this.#repositories.shownTo(reader, run);
  }

  /**
   * Why a run may not go on: its tenant no longer has its repository. A run of no tenant was begun
   * by a caller who may have all.
   */
  whyRefused(run: PlanRun, { signal }: { signal: AbortSignal }): Promise<Because | undefined> {
    const tenant = run.tenant === "" ? null : run.tenant;
    return this.#repositories.whyNotAllowed(run, { tenant, signal });
  }

  /** Throws `RUN_UNKNOWN`, and as `NamedRepositories`. */
  async #assertAllowed(id: string, asked: Reach & { signal: AbortSignal }): Promise<void> {
    const run = await this.runs.get(id, asked);
    await this.#repositories.allowed(run.repository, `The repository of the run ${id}`, asked);
  }

  /**
   * As above, for an answer to a question of the run; one that was removed has nothing to go on. In
   * a room, and among agents, those answer whom an operator has chosen: where no tenant began the
   * run, they reach what an operator reaches.
   */
  async #assertMayGoOn(id: string, { tenant }: Pick<Answerer, "tenant">): Promise<void> {
    const run = await this.runs.records.run(id);
    if (run === undefined) return;
    const reach = run.tenant === "" && tenant === "" ? null : tenant;
    const { signal } = new AbortController(); // an answer is taken also when its sender has left
    const shown = `The repository of the run ${id}`;
    await this.#repositories.allowed(run.repository, shown, { tenant: reach, signal });
  }

  async #chosen(
    { source, base, repository: given, tenant }: PlanChoice,
    work: AskedWork,
  ): Promise<ChosenPlan> {
    const { signal } = work;
    const { plan, file } = await this.#files.valid(source, work);
    const folder = this.#repositories.locate(given, plan, tenant);
    const reachesOut = tenant === null || this.#isAsWritten(plan, { source, base, tenant, folder });
    if (!reachesOut) assertStaysInside(plan);
    const shown = shownRepository(given ?? plan.repository);
    const repository = await this.#repositories.allowed(folder, shown, { tenant, signal });
    const from = base === undefined ? plan : { ...plan, base };
    return { plan: from, file, repository, reachesOut };
  }

  /**
   * What a file of the team may reach counts for the code that the file names. The repository or the
   * branch that a caller chooses instead is other code, which would run with it.
   */
  #isAsWritten(
    plan: Plan,
    { source, base, tenant, folder }: Omit<PlanChoice, "repository"> & { readonly folder: string },
  ): boolean {
    if ("text" in source) return false;
    if (base !== undefined && base !== plan.base) return false;
    if (plan.repository === undefined) return !isTenant(tenant);
    return folder === this.#repositories.locate(undefined, plan, tenant);
  }

  async #view(chosen: ChosenPlan, work: AskedWork): Promise<PlanView> {
    const { file, reachesOut } = chosen;
    const { signal } = work;
    const { git, settle } = this.#options;
    const repository = await Repository.open(chosen.repository, { git, signal });
    const baseCommit = await repository.resolve(chosen.plan.base, { signal });
    const ground = { repository: repository.root, commit: baseCommit, reachesOut };
    const plan = (await settle?.(chosen.plan, ground, { signal })) ?? chosen.plan;
    const files = (await repository.listFiles(baseCommit, { signal })).map(({ path }) => path);
    const shape = await this.#options.threads.run("shape", [plan, files], work);
    const facts = this.#options.network ?? { team: {}, env: {} };
    const ofRepository = await repository.warnings(baseCommit, { signal });
    const { ports } = plan;
    const ignored = await ownedWarnings(repository, { commit: baseCommit, ports, signal });
    const open = openWarnings(plan, facts);
    const warnings = [...shape.warnings, ...ignored, ...open, ...ofRepository];

    return { ...shape, plan, file, baseCommit, network: networkOf(plan, facts), warnings };
  }
}

/** An open network is said out loud. */
function openWarnings(plan: Plan, { team }: NetworkFacts): readonly PlanWarning[] {
  const open = opensNetwork(plan, team);
  if (open.length === 0) return [];
  const reach =
    "What runs there reaches every public host, and can send there whatever it can read.";
  return [
    {
      code: "NETWORK_OPEN",
      facts: { for: open },
      message: `network: open for ${open.join(", ")}. ${reach}`,
    },
  ];
}
