import { basename, extname, join, resolve, sep } from "node:path";
import type { Problem } from "../../engine/files/load-service-document.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { unreadable, type PlanReading } from "../plan-file.ts";
import { planFilesIn, readPlanFile } from "../plan-folder.ts";
import { networkOf, opensNetwork, type NetworkFacts } from "../network-needs.ts";
import { assertConfined, assertStaysInside } from "../plan-reach.ts";
import type { PlanWarning } from "../plan-ownership.ts";
import type { Plan } from "../plan.ts";
import type { PlanShape } from "../threads/plan-tasks.ts";
import type { PlanThreads } from "../threads/plan-threads.ts";
import type { Git } from "../workspace/git.ts";
import { Repository } from "../workspace/repository.ts";
import { RunStore } from "../workspace/store.ts";
import { DraftProposals, type ProposalParts } from "./draft-proposals.ts";
import { PlanDrafts } from "../drafts/plan-drafts.ts";
import type { DraftRows } from "../rows/draft-rows.ts";
import type { HookRequests } from "./hook-requests.ts";
import type { Member } from "../../kernel/plans.ts";
import { NamedRepositories } from "./named-repositories.ts";
import { narrowed } from "./narrow-plan.ts";
import { RunDelivery, type DeliveredMerge } from "./run-delivery.ts";
import { runCleaned } from "./run-requests.ts";
import { type CleanFor, type CleanRuns } from "./run-cleaner.ts";
import { type Runs, type StartRun } from "./runs.ts";
import type { PlanRun, PlanStep, RunOrder } from "../rows/run.ts";
import { AUTHOR } from "../workspace/commit-writer.ts";
import type { TreeDiff } from "../../wire/runs.ts";
import type { Because } from "../../wire/plans.ts";

export interface PlanLibraryOptions extends ProposalParts {
  readonly runs: Runs;
  /** What workers ask for from inside of a run. */
  readonly requests: HookRequests;
  /** Plans that are made ready. */
  readonly draftRows: DraftRows;
  readonly git: Git;
  /** Where files of plans are. */
  readonly folder: string;
  /** How far processes get, beside what plans say. Default: as plans say. */
  readonly network?: NetworkFacts | undefined;
  /** What plans work on when neither the caller nor the plan names another one. */
  readonly repository: string;
  readonly clock: Clock;
  /** Everything that dure was started with: a person's logins lead to a remote. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the text of plans is read and their shape is found: not on the thread that answers. */
  readonly threads: Pick<PlanThreads, "read" | "run">;
  /** Imports a plan that is code. */
  readonly importModule: (file: string) => Promise<Record<string, unknown>>;
  /** Lets a model propose the text of a plan. Absent: no model is there. */
}

/**
 * A plan of the folder by its name or file, or the text of one that is no file there; its file's
 * ending chooses the reader.
 */
export type PlanSource =
  | { readonly name: string }
  | { readonly file: string; readonly text: string };

/** What of a plan runs, where, and from what. */
export interface PlanChoice extends Reach, Pick<StartRun, "only" | "from"> {
  readonly source: PlanSource;
  /** From the folder of the team. Goes before what the plan says, as does `base`. */
  readonly repository?: string | undefined;
  /** A branch, a tag or a commit. */
  readonly base?: string | undefined;
}

/**
 * The caller may do at this machine what the team may: name what lies outside of a text's tree, and
 * repositories that the team does not name. Default false.
 */
interface Reach {
  readonly mayReachOut?: boolean | undefined;
}

/** The caller may start what takes protection away from this machine. Default false. */
interface Unconfined {
  readonly mayRunUnconfined?: boolean | undefined;
}

/** A file of the folder of plans. */
export interface PlanFile {
  /** The key `plan` of it; of a file that cannot be read, its name without the ending. */
  readonly name: string;
  readonly file: string;
  readonly ports: number;
  /** At most 50. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
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
/** Bytes of one patch that is shown. */
const PATCH_BYTES = 400_000;

/** Plans as files, and what is done with them: look, check, begin a run, take its result over. */
export class PlanLibrary {
  readonly runs: Runs;
  readonly requests: HookRequests;
  readonly proposals: DraftProposals;
  readonly drafts: PlanDrafts;
  readonly #options: PlanLibraryOptions;
  readonly #repositories: NamedRepositories;
  readonly #delivery: RunDelivery;

  constructor(options: PlanLibraryOptions) {
    this.#options = options;
    this.runs = options.runs;
    this.requests = options.requests;
    this.#repositories = new NamedRepositories({
      ...options,
      readPlan: (name) => this.#read(name),
    });
    this.proposals = new DraftProposals({ ...options, repositories: this.#repositories });
    this.drafts = new PlanDrafts({ ...options, proposals: this.proposals });
    this.#delivery = new RunDelivery({
      runs: options.runs,
      open: async (run, signal) => (await this.#store(run, signal)).repository,
      env: options.env,
      clock: options.clock,
    });
  }

  /** Every plan of the folder, those that cannot be read too; by name. */
  async list(): Promise<readonly PlanFile[]> {
    const files: PlanFile[] = [];
    // One after the other: no folder fills the threads' queue, or the memory.
    for (const name of await planFilesIn(this.#options.folder)) {
      const { plan, problems, problemCount } = await this.#read(name);
      files.push({
        name: plan?.name ?? basename(name, extname(name)),
        file: name,
        ports: plan?.ports.length ?? 0,
        problems,
        problemCount,
      });
    }

    return files;
  }

  /** Reads a plan by its name or file and checks it. Throws `PLAN_UNKNOWN`. */
  async read(name: string): Promise<PlanReading & { readonly file: string }> {
    const files = await this.list();
    const found = files.find(({ file }) => file === name) ?? files.find((one) => one.name === name);
    if (!found) {
      throw new DureError("PLAN_UNKNOWN", `There is no plan ${name} in ${this.#options.folder}.`, {
        class: "not-found",
        hint:
          files.length > 0
            ? `There are ${files.map((file) => file.name).join(", ")}.`
            : "Make one with: dure new plan NAME",
      });
    }

    return { ...(await this.#read(found.file)), file: found.file };
  }

  /** Checks unsaved plan text. Throws as {@link PlanThreads.read}. */
  check(file: string, text: string, { signal }: { signal: AbortSignal }): Promise<PlanReading> {
    return this.#options.threads.read(file, text, { signal });
  }

  /**
   * A plan against its repository. Throws `PLAN_UNKNOWN`, `PLAN_INVALID`, and what is wrong with
   * the repository.
   */
  async show(name: string, { signal }: { signal: AbortSignal }): Promise<PlanView> {
    const { plan, file } = await this.#valid({ name }, signal);
    return this.#view(plan, file, this.#repositories.locate(undefined, plan), signal);
  }

  /**
   * Begins a run of a plan; `dryRun` shows what would be done. Throws `PLAN_UNKNOWN`,
   * `PLAN_INVALID`, `PLAN_REACHES_OUT`, `PLAN_UNCONFINED`, `REPOSITORY_NOT_NAMED`, and as {@link
   * Plans.run}.
   */
  async start(
    request: PlanChoice & Unconfined & Pick<StartRun, "tenant" | "by" | "key">,
    { signal }: { signal: AbortSignal },
  ): Promise<PlanRun> {
    const { plan, file, repository } = await this.#chosen(request, signal);
    if (request.mayRunUnconfined !== true) assertConfined(plan);
    const { only, from, tenant, by, key } = request;

    return this.runs.run(
      { only, from, tenant, by, key, plan, file: join(this.#options.folder, file), repository },
      { signal },
    );
  }

  /** The parts of a plan whose network is open to every public host, as the plan names them. */
  opensNetwork({ plan }: Pick<PlanRun, "plan">): readonly string[] {
    return opensNetwork(plan, this.#options.network?.team ?? {});
  }

  async dryRun(request: PlanChoice, { signal }: { signal: AbortSignal }): Promise<PlanView> {
    const { plan, file, repository } = await this.#chosen(request, signal);
    return this.#view(
      narrowed({ plan, only: request.only, from: request.from }),
      file,
      repository,
      signal,
    );
  }

  /**
   * What a port changed, or the whole run. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`,
   * `RUN_NO_RESULT`.
   */
  async diff(
    id: string,
    port: string | undefined,
    { tenant, signal }: { tenant: TenantView; signal: AbortSignal },
  ): Promise<TreeDiff> {
    const run = await this.runs.get(id, { tenant });
    const found = port === undefined ? undefined : await this.runs.port(id, port, { tenant });
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

    return store.diff(from, to, { patchBytes: PATCH_BYTES, signal });
  }

  /**
   * Takes the result of a run over into a branch of the person's, because a person asks for it.
   * Throws as {@link RunDelivery.merge} and `REPOSITORY_NOT_NAMED`.
   */
  async merge(
    id: string,
    {
      into,
      tenant,
      mayReachOut,
      signal,
    }: Reach & { into?: string | undefined; tenant: TenantView; signal: AbortSignal },
  ): Promise<DeliveredMerge> {
    const run = await this.#deliverable(id, { tenant, mayReachOut, signal });
    return this.#delivery.merge(run, { into, signal });
  }

  /**
   * Sends the result of a run where its plan says, because a person asks for it. Throws as
   * {@link RunDelivery.publish} and `REPOSITORY_NOT_NAMED`.
   */
  async publish(
    id: string,
    { tenant, mayReachOut, signal }: Reach & { tenant: TenantView; signal: AbortSignal },
  ): ReturnType<RunDelivery["publish"]> {
    const run = await this.#deliverable(id, { tenant, mayReachOut, signal });
    return this.#delivery.publish(run, signal);
  }

  async #deliverable(
    id: string,
    { tenant, mayReachOut = false, signal }: Reach & { tenant: TenantView; signal: AbortSignal },
  ): Promise<PlanRun> {
    const run = await this.runs.get(id, { tenant });
    if (mayReachOut) return run;
    await this.#repositories.named(run.repository, `The repository of the run ${id}`, signal);

    return run;
  }

  /**
   * As {@link Runs.order}. Only a caller that may reach out lets work go on in a repository that the
   * team has not named. Every caller may stop it. Throws `REPOSITORY_NOT_NAMED` too.
   */
  async order(
    id: string,
    order: RunOrder,
    { mayReachOut = false, ...by }: Reach & { tenant: TenantView; by: string; signal: AbortSignal },
  ): Promise<{ readonly carriedOut: boolean }> {
    if (!mayReachOut && !STOPS.has(order.type)) await this.#assertNamed(id, by);
    return this.runs.order(id, order, by);
  }

  /**
   * As {@link Runs.say}, for callers that may let work go on there. Throws `REPOSITORY_NOT_NAMED`
   * too.
   */
  async say(
    id: string,
    port: string,
    words: { to: Member; text: string },
    {
      mayReachOut = false,
      tenant,
      by,
      signal,
    }: Reach & { tenant: TenantView; by: string; signal: AbortSignal },
  ): Promise<{ readonly id: number }> {
    if (!mayReachOut) await this.#assertNamed(id, { tenant, signal });
    return this.runs.say(id, port, words, { tenant, by });
  }

  /**
   * As {@link Runs.clean}. Runs of repositories that the team has not named are kept, unless the
   * caller may reach out.
   */
  async clean(
    wanted: CleanRuns,
    {
      mayReachOut = false,
      ...how
    }: Reach & Omit<CleanFor, "whyRefused"> & { readonly signal: AbortSignal },
  ): ReturnType<Runs["clean"]> {
    const known = new Map<string, Promise<Because | undefined>>();
    const whyRefused = (run: PlanRun): Promise<Because | undefined> => {
      const refused = known.get(run.repository) ?? this.#repositories.whyNotNamed(run, how.signal);
      known.set(run.repository, refused);

      return refused;
    };

    return this.runs.clean(wanted, { ...how, whyRefused: mayReachOut ? undefined : whyRefused });
  }

  /** Throws `RUN_UNKNOWN`, `REPOSITORY_NOT_NAMED`. */
  async #assertNamed(
    id: string,
    { tenant, signal }: { tenant: TenantView; signal: AbortSignal },
  ): Promise<void> {
    const run = await this.runs.get(id, { tenant });
    await this.#repositories.named(run.repository, `The repository of the run ${id}`, signal);
  }

  async #store(
    run: PlanRun,
    signal: AbortSignal,
  ): Promise<{ repository: Repository; store: RunStore }> {
    if (run.cleanedAt !== null) throw runCleaned(run);
    if (run.host !== this.runs.host) {
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

  async #chosen(
    { source, base, repository: given, mayReachOut = false }: PlanChoice,
    signal: AbortSignal,
  ): Promise<{ plan: Plan; file: string; repository: string }> {
    const { plan, file } = await this.#valid(source, signal);
    if ("text" in source && !mayReachOut) assertStaysInside(plan);
    const asked = given ?? ("text" in source ? plan.repository : undefined);
    const folder = this.#repositories.locate(given, plan);
    const repository =
      asked === undefined || mayReachOut
        ? folder
        : await this.#repositories.named(folder, `The repository ${asked}`, signal);
    return { plan: base === undefined ? plan : { ...plan, base }, file, repository };
  }

  async #valid(source: PlanSource, signal: AbortSignal): Promise<{ plan: Plan; file: string }> {
    const { plan, problems, problemCount, file } =
      "text" in source
        ? {
            ...(await this.check(source.file, source.text, { signal })),
            file: basename(source.file),
          }
        : await this.read(source.name);
    if (plan) return { plan, file };
    const count = problemCount === 1 ? "a problem" : `${problemCount} problems`;
    const first = problems.slice(0, 3).map(problemWords).join("; ");
    throw new DureError("PLAN_INVALID", `The plan ${file} has ${count}: ${first}.`, {
      class: "input",
      hint: `See all of them with: dure plan check ${"text" in source ? file : source.name}`,
      details: { problems, problemCount },
    });
  }

  async #view(plan: Plan, file: string, folder: string, signal: AbortSignal): Promise<PlanView> {
    const repository = await Repository.open(folder, { git: this.#options.git, signal });
    const baseCommit = await repository.resolve(plan.base, { signal });
    const files = (await repository.listFiles(baseCommit, { signal })).map(({ path }) => path);
    const shape = await this.#options.threads.run("shape", [plan, files], { signal });
    const facts = this.#options.network ?? { team: {}, env: {} };
    const ofRepository = await repository.warnings(baseCommit, { signal });
    const warnings = [...shape.warnings, ...openWarnings(plan, facts), ...ofRepository];

    return { ...shape, plan, file, baseCommit, network: networkOf(plan, facts), warnings };
  }

  async #read(name: string): Promise<PlanReading> {
    const { folder, importModule, threads } = this.#options;
    const file = join(folder, name);
    if (!resolve(file).startsWith(resolve(folder) + sep)) {
      return unreadable(name, "lies outside of the folder of plans");
    }

    return readPlanFile(file, name, {
      importModule,
      read: (shown, text) => threads.read(shown, text),
    });
  }
}

/** The commit of the last step of a port that made one. Pure. */
function lastCommit(steps: readonly PlanStep[]): string | undefined {
  const last = steps.findLast(
    ({ kind, status }) => (kind === "implement" || kind === "test") && status === "done",
  );

  return (last?.output as { commit?: string } | undefined)?.commit;
}

/** A problem of a plan in a sentence about several. Pure. */
function problemWords({ line, key, message }: Problem): string {
  const where = line === undefined ? "" : `line ${line}, `;
  return `${where}${key} ${message}`.trim();
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
