import { join } from "node:path";
import type { Database } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { Mutex } from "../../kernel/mutex.ts";
import type { CommitFiles } from "../context/gather.ts";
import type { NetworkFacts, NetworkPolicies } from "../network-needs.ts";
import { assertLeavesSecrets } from "../own-secrets.ts";
import { assertSafeWritable, placesOf } from "../safe-writable.ts";
import type { MemberPlace } from "../agents/member-home.ts";
import { variablesOf } from "../agents/given-variables.ts";
import { variablesOfServers } from "../agents/mcp-servers.ts";
import type { Port, WorkerSpec } from "../plan.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Worker } from "../workers/worker.ts";
import { withoutSecrets } from "../workers/without-secrets.ts";
import { AUTHOR } from "../workspace/commit-writer.ts";
import type { Git } from "../workspace/git.ts";
import { RunRemote } from "../workspace/remote.ts";
import { Repository } from "../workspace/repository.ts";
import { RunStore } from "../workspace/store.ts";
import { brief } from "../assign/brief.ts";
import type { RunInbox } from "../rows/outcomes.ts";
import { listenRange, ListenRanges, LISTEN_SLOTS } from "../rows/listen.ts";
import type { MergeParts } from "../merge/merge.ts";
import { TokenMeter } from "../assign/token-meter.ts";
import { RunModules } from "../port/modules.ts";
import { useOfRun } from "../port/port-account.ts";
import type { PairParts } from "../port/pair-parts.ts";
import type { RunRecords } from "../rows/records.ts";
import { CommitReader } from "./commit-reader.ts";
import type { ReadSignatures } from "../context/outlines.ts";
import { KeptSetups } from "../project/kept-setup.ts";
import { Publisher } from "./publisher.ts";
import type { PlanThreads } from "../threads/plan-threads.ts";
import { portFiles, runFiles, type FilesParts } from "./run-files.ts";
import { ORCHESTRATOR, type PlanRun, type PlanStep } from "../rows/run.ts";

/** What runs of one process have in common. */
export interface WorkParts {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly inbox: RunInbox;
  readonly announce: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly git: Git;
  /** Where the shape of large plans is found: not on the thread that answers. */
  readonly threads: Pick<PlanThreads, "mode" | "modules">;
  readonly home: string;
  readonly processId: string;
  /** Opened once per kind of isolation that is asked for. */
  readonly sandbox: (
    wanted: "enforced" | "audit",
    options: { allowSecrets: readonly string[]; signal: AbortSignal },
  ) => Promise<Sandbox>;
  readonly worker: (spec: WorkerSpec, run: PlanRun) => Worker;
  /** `plans.network` of the team's configuration. */
  readonly teamNetwork?: NetworkPolicies | undefined;
  /** Home folder of the user who runs dure; what a plan writes as `~/…`. */
  readonly userHome?: string | undefined;
  /**
   * Of dure's own environment: what every process needs (`PATH`, `LANG`), and what a plan may name.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where tools of a step report tests; undefined while nothing listens there. */
  readonly hookUrl?: () => string | undefined;
  /**
   * Where commits go beside this machine: a remote of the repository, or an address. Absent:
   * nowhere.
   */
  readonly remote?: string | undefined;
  /** First of the TCP ports that are given out. */
  readonly listenFrom?: number;
  /** Of the files that prompts show. Default: of TypeScript and JavaScript alone. */
  readonly signatures?: ReadSignatures | undefined;
  /**
   * A worker without a sign for longer is stalled, milliseconds. Default 10 s. Source:
   * docs/spec/plans §6.
   */
  readonly stalledMs?: number | undefined;
}

/** Whose share of the work on plans it is. Pure. */
export function shareOfRun({ tenant }: Pick<PlanRun, "tenant">): string | undefined {
  return tenant === "" ? undefined : `tenant:${tenant}`;
}

/** The opened repositories of a run, and its sandbox. */
interface RunCheckout {
  readonly repository: Repository;
  readonly store: RunStore;
  readonly publisher: Publisher;
  readonly sandbox: Sandbox;
  readonly reading: (commit: string, signal: AbortSignal) => Promise<CommitFiles>;
}

/** How long it is believed how long steps take, milliseconds. */
const TYPICAL_MS = 60_000;

/** Where one run is worked on under one lease: its repository, its trees, its workers. */
export class RunSite {
  readonly parts: WorkParts;
  readonly records: RunRecords;
  readonly lease: Lease;
  readonly #run: PlanRun;
  readonly #network: NetworkFacts;
  readonly #ranges = new ListenRanges(ORCHESTRATOR);
  readonly #orchestratorTurn = new Mutex();
  readonly #tokens = new TokenMeter("run");
  readonly #typical = new Map<
    string,
    { readonly askedAt: number; readonly ms: Promise<number | undefined> }
  >();
  #checkout: Promise<RunCheckout> | undefined;
  #modules: Promise<RunModules> | undefined;

  constructor(
    parts: WorkParts,
    { records, lease, run }: { records: RunRecords; lease: Lease; run: PlanRun },
  ) {
    this.parts = parts;
    this.records = records;
    this.lease = lease;
    this.#run = run;
    this.#network = { team: parts.teamNetwork ?? {}, env: parts.env };
    this.#tokens.known(useOfRun(run));
  }

  /** Opens the repositories once. */
  open(run: PlanRun, signal: AbortSignal): Promise<RunCheckout> {
    this.#checkout ??= openCheckout(this.parts, run, signal).catch((error: unknown) => {
      // A machine that lacks something now may have it later.
      this.#checkout = undefined;
      throw error;
    });

    return this.#checkout;
  }

  async filesParts(run: PlanRun, signal: AbortSignal): Promise<FilesParts> {
    const { repository, store, publisher } = await this.open(run, signal);
    const { home, userHome, processId, env, clock, logger } = this.parts;
    const lease = { processId, epoch: this.lease.epoch };
    const folder = join(home, "setups");
    const setups = new KeptSetups({ folder, repository: repository.commonDir, clock, logger });

    return { repository, store, publisher, setups, run, home, userHome, env, lease, signal };
  }

  async mergeParts(run: PlanRun, signal: AbortSignal): Promise<MergeParts> {
    const files = await this.filesParts(run, signal);
    return {
      ...(await this.#workerParts(run, signal)),
      store: runFiles(files),
      tree: () => portFiles(ORCHESTRATOR, files),
    };
  }

  async pairParts(run: PlanRun, signal: AbortSignal): Promise<PairParts> {
    const files = await this.filesParts(run, signal);
    return {
      ...(await this.#workerParts(run, signal)),
      notifications: this.parts.notifications,
      typicalMs: (step) => this.#typicalMs(step),
      files: ({ id }) => portFiles(id, files),
      orchestratorTurn: this.#orchestratorTurn,
      modules: await this.#modulesOf(run, signal),
    };
  }

  /** Asked once in a while for all steps that are alike. */
  #typicalMs(step: PlanStep): Promise<number | undefined> {
    const { clock } = this.parts;
    const key = `${step.kind} ${step.worker}`;
    const known = this.#typical.get(key);
    if (known && clock.monotonic() - known.askedAt < TYPICAL_MS) return known.ms;
    const ms = this.records.steps.typicalMs(this.#run.id, step);
    this.#typical.set(key, { askedAt: clock.monotonic(), ms });
    ms.catch(() => this.#typical.delete(key));

    return ms;
  }

  /** The port is not worked on any more: others may have its TCP ports. */
  releasePorts(port: string): void {
    this.#ranges.release(port);
  }

  /** What every worker of the run needs. */
  async #workerParts(run: PlanRun, signal: AbortSignal) {
    const { sandbox, reading } = await this.open(run, signal);
    const { database, inbox, announce, clock, logger, stalledMs, signatures } = this.parts;
    const briefOf: PairParts["brief"] = async (request, commit) =>
      brief(request, await reading(commit, signal), { signal, signatures });
    const environment: PairParts["environment"] = (port, spec, place, step) =>
      this.#environment({ port, spec, place, step });
    return {
      database,
      inbox,
      announce,
      clock,
      logger,
      stalledMs,
      network: this.#network,
      records: this.records,
      lease: this.lease,
      tokens: this.#tokens,
      sandbox,
      worker: (spec: WorkerSpec) => this.#worker(spec),
      brief: briefOf,
      environment,
      surroundings: (spec: WorkerSpec) => placesOf(spec, this.parts.userHome),
    };
  }

  /** What it says is stored without the secrets that dure gave it. */
  #worker(spec: WorkerSpec): Worker {
    const { env, worker } = this.parts;
    const ofServers = variablesOfServers(spec).map((name) => [name, env[name] ?? ""] as const);

    return withoutSecrets(worker(spec, this.#run), ofServers);
  }

  #modulesOf(run: PlanRun, signal: AbortSignal): Promise<RunModules> {
    this.#modules ??= this.#readModules(run, signal).catch((error: unknown) => {
      this.#modules = undefined;
      throw error;
    });

    return this.#modules;
  }

  async #readModules(run: PlanRun, signal: AbortSignal): Promise<RunModules> {
    const { repository } = await this.open(run, signal);
    const files = await repository.listFiles(run.baseCommit, { signal });
    const paths = files.map(({ path }) => path);

    const share = shareOfRun(run);
    const modules = await this.parts.threads.modules(run.plan, paths, { share, signal });

    return new RunModules(run.plan, modules);
  }

  /** Variables of a process of a step; complete. */
  #environment({
    port,
    spec,
    place,
    step,
  }: {
    port: Port;
    spec: WorkerSpec | undefined;
    place: MemberPlace;
    step: PlanStep;
  }): Readonly<Record<string, string>> {
    const run = this.#run.id;
    return {
      ...variablesOf(spec, this.parts.env),
      HOME: this.#homeOf(spec, place),
      TMPDIR: place.tmp,
      CI: "1",
      NO_COLOR: "1",
      TERM: "dumb",
      GIT_OPTIONAL_LOCKS: "0",
      DURE_RUN: run,
      DURE_PORT_ID: port.id,
      DURE_WORKER: `${run}/${port.id}`,
      DURE_LISTEN: this.#listenRange(port),
      ...this.#hookVariables(port, step),
    };
  }

  /** A worker that is lent parts of the person's home has that one; all others have their own. */
  #homeOf(spec: WorkerSpec | undefined, { home }: MemberPlace): string {
    const { agent, copyHome, allowHome = [], writable = [] } = spec ?? {};
    if (agent !== undefined || copyHome !== undefined) return home;
    const isLent = allowHome.length > 0 || writable.some((place) => place.startsWith("~/"));

    return isLent ? (this.parts.userHome ?? home) : home;
  }

  #listenRange(port: Port): string {
    const slot = this.#run.listenSlot ?? LISTEN_SLOTS - 1;
    return listenRange(slot, this.#ranges.take(port.id), this.parts.listenFrom);
  }

  /** Where tools report tests. Only a try has a loop that reports could feed. */
  #hookVariables(port: Port, { try: number, hookToken }: PlanStep): Record<string, string> {
    if (number === 0 || port.id === ORCHESTRATOR) return {};
    const url = this.parts.hookUrl?.();
    if (url === undefined || hookToken === undefined) return {};

    return { DURE_HOOK_URL: url, DURE_HOOK_TOKEN: hookToken };
  }
}

async function openCheckout(
  parts: WorkParts,
  run: PlanRun,
  signal: AbortSignal,
): Promise<RunCheckout> {
  assertLeavesSecrets(run.plan);
  assertSafeWritable(run.plan, parts.userHome);
  const { git, clock, logger } = parts;
  const sandbox = await openSandboxOf(run, parts, signal);
  const repository = await Repository.open(run.repository, { git, signal });
  const store = await RunStore.open({
    repository,
    folder: join(run.folder, "store.git"),
    run: run.id,
    base: run.baseCommit,
    author: AUTHOR,
    signal,
  });
  const remote = remoteOf(parts)?.(repository);
  const publisher = new Publisher({ repository, store, run: run.id, clock, logger, remote });
  await publisher.removeStaleLocks();
  const reader = new CommitReader(store);
  const reading = (commit: string, asking: AbortSignal): Promise<CommitFiles> =>
    reader.files(commit, asking);
  return { repository, store, publisher, sandbox, reading };
}

function openSandboxOf({ plan }: PlanRun, parts: WorkParts, signal: AbortSignal): Promise<Sandbox> {
  const { default: standard, orchestrator, byRole } = plan.workers;
  const specs = [standard, orchestrator, ...Object.values(byRole)];
  const secrets = new Set(specs.flatMap((spec) => spec?.allowHome ?? []));

  return parts.sandbox(plan.isolation, { allowSecrets: [...secrets].sort(), signal });
}

/** Undefined: commits stay on this machine. */
export function remoteOf({
  remote,
  env,
}: Pick<WorkParts, "remote" | "env">): ((repository: Repository) => RunRemote) | undefined {
  if (remote === undefined) return undefined;
  return (repository) => new RunRemote({ repository, remote, env });
}
