import { join } from "node:path";
import type { Database } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError, codeOf, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { NetworkFacts, NetworkPolicies } from "../network-needs.ts";
import { concurrencyOf, workerOf, type Port, type WorkerSpec } from "../plan.ts";
import { endProcess, type Sandbox } from "../sandbox/sandbox.ts";
import { decideWrite, makeScope } from "../scope.ts";
import type { Worker } from "../workers/worker.ts";
import type { Git } from "../workspace/git.ts";
import type { TreeViolation } from "../workspace/owned-changes.ts";
import { RunRemote } from "../workspace/remote.ts";
import { Repository } from "../workspace/repository.ts";
import { RunStore } from "../workspace/store.ts";
import type { CommitFiles } from "../context/gather.ts";
import { brief } from "./brief.ts";
import { removeRun, whyKept } from "./clean.ts";
import { escaped } from "./grants.ts";
import { letWork, workEnd } from "./let-work.ts";
import { listenRange, ListenRanges, LISTEN_SLOTS } from "./listen.ts";
import type { LeaderParts } from "./leader.ts";
import { mergeRun, mergeSoFar, ORCHESTRATOR, type MergeParts } from "./merge.ts";
import { decideMode, modeFacts } from "./mode.ts";
import { makeTurn, RunModules } from "./modules.ts";
import { buildPort, type PairParts, type PortFiles } from "./pair.ts";
import type { RunWork } from "./runs.ts";
import type { RunRecords } from "./records.ts";
import type { Because, PlanRun, PlanStep } from "./run.ts";
import {
  CommitReader,
  portFiles,
  Publisher,
  READ_BYTES,
  removeTree,
  runFiles,
  textOf,
} from "./run-files.ts";
import { StepLog } from "./step-log.ts";

/** What runs of one process have in common. */
export interface WorkParts {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly inbox: LeaderParts["inbox"];
  readonly announce: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly git: Git;
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
  /** Home folder of whoever runs dure; what a plan writes as `~/…`. */
  readonly userHome?: string;
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
  /**
   * A worker without a sign for longer is stalled, milliseconds. Default 10 s. Source:
   * docs/spec/plans §6.
   */
  readonly stalledMs?: number | undefined;
}

/** Who commits. The address is nobody's. */
export const AUTHOR = { name: "dure", email: "dure@localhost" };
/** Variables that every process gets when dure has them. */
const PASSED = ["PATH", "LANG", "LC_ALL", "TZ"] as const;
const CONTRACTS_MS = 30 * 60_000;

/** The work of one run under one lease: its repository, its trees, its workers. */
export function runWork(
  parts: WorkParts,
  { records, lease, run: opened }: { records: RunRecords; lease: Lease; run: PlanRun },
): RunWork {
  let checkout: Promise<RunCheckout> | undefined;
  const ranges = new ListenRanges(ORCHESTRATOR);
  const network: NetworkFacts = { team: parts.teamNetwork ?? {}, env: parts.env };

  const open = (run: PlanRun, signal: AbortSignal): Promise<RunCheckout> => {
    checkout ??= openCheckout(parts, run, lease, signal).catch((error: unknown) => {
      checkout = undefined; // a machine that lacks something now may have it later
      throw error;
    });
    return checkout;
  };
  const environment = (
    port: Port,
    spec: WorkerSpec | undefined,
    files: PortFiles,
    step: PlanStep,
  ): Readonly<Record<string, string>> => {
    const given = Object.fromEntries(
      [...PASSED, ...(spec?.env ?? [])].flatMap((name) =>
        parts.env[name] === undefined ? [] : [[name, parts.env[name]]],
      ),
    );
    const listen = listenRange(
      opened.listenSlot ?? LISTEN_SLOTS - 1,
      ranges.take(port.id),
      parts.listenFrom,
    );
    // Only a try has a loop that reports could feed.
    const hookUrl = step.try > 0 && port.id !== ORCHESTRATOR ? parts.hookUrl?.() : undefined;
    return {
      ...given,
      HOME:
        spec?.writable?.length || spec?.allowHome?.length
          ? (parts.userHome ?? join(files.scratch, "home"))
          : join(files.scratch, "home"),
      TMPDIR: join(files.scratch, "tmp"),
      CI: "1",
      NO_COLOR: "1",
      TERM: "dumb",
      GIT_OPTIONAL_LOCKS: "0",
      DURE_RUN: opened.id,
      DURE_PORT_ID: port.id,
      DURE_WORKER: `${opened.id}/${port.id}`,
      DURE_LISTEN: listen,
      ...(hookUrl !== undefined &&
        step.hookToken !== undefined && {
          DURE_HOOK_URL: hookUrl,
          DURE_HOOK_TOKEN: step.hookToken,
        }),
    };
  };
  const worker = (spec: WorkerSpec): Worker => parts.worker(spec, opened);
  const surroundings = (spec: WorkerSpec | undefined): readonly string[] =>
    (spec?.writable ?? []).map((place) => place.replace(/^~(?=\/|$)/, parts.userHome ?? "~"));
  const orchestratorTurn = makeTurn();
  let modules: Promise<RunModules> | undefined;
  const modulesOf = (
    run: PlanRun,
    { repository }: RunCheckout,
    signal: AbortSignal,
  ): Promise<RunModules> => {
    modules ??= repository.listFiles(run.baseCommit, { signal }).then(
      (files) =>
        new RunModules(
          run.plan,
          files.map(({ path }) => path),
        ),
    );
    modules.catch(() => (modules = undefined));
    return modules;
  };

  const mergeParts = async (run: PlanRun, signal: AbortSignal): Promise<MergeParts> => {
    const there = await open(run, signal);
    const files = {
      ...there,
      run,
      home: parts.home,
      lease: { processId: parts.processId, epoch: lease.epoch },
      signal,
    };
    return {
      ...parts,
      network,
      records,
      lease,
      sandbox: there.sandbox,
      store: runFiles(files),
      tree: () => portFiles(ORCHESTRATOR, files),
      worker,
      brief: async (request, commit) =>
        brief(request, await there.reading(commit, signal), { signal }),
      environment,
    };
  };

  const cleaning = (signal: AbortSignal) => ({
    git: parts.git,
    author: AUTHOR,
    remote:
      parts.remote === undefined
        ? undefined
        : (repository: Repository) =>
            new RunRemote({ repository, remote: parts.remote!, env: parts.env }),
    signal,
  });

  return {
    whyKept: (run, ports, steps, { signal }) => whyKept(run, ports, steps, cleaning(signal)),
    remove: async (run, { signal }) => {
      const { warning } = await removeRun(run, cleaning(signal));
      if (warning !== undefined) {
        parts.logger.warn({ run: run.id }, `run ${run.id} was cleaned, but ${warning}`);
      }
    },
    clear: async (run) => {
      for (const { process } of await records.strayProcesses(run.id)) {
        const end = await endProcess(process, { clock: parts.clock });
        parts.logger.warn(
          { run: run.id, pid: process.pid, end },
          `a process of run ${run.id} was left by a leader that is gone: ${end}`,
        );
      }
    },
    prepare: async (run, { signal }) => {
      try {
        const there = await open(run, signal);
        const startCommit =
          run.startCommit ??
          (await writeContracts(
            run,
            there,
            { ...parts, network },
            { records, lease, environment, worker, signal },
          ));
        const files = await there.repository.listFiles(run.baseCommit, { signal });
        await there.repository.refuseOwnedSubmodules(
          run.baseCommit,
          run.plan.ports.flatMap(({ owns, tests }) => [...owns, ...tests]),
          { signal },
        );
        const scopes = new Map(
          run.plan.ports.map((port) => [
            port.id,
            makeScope({ writes: [...port.owns, ...port.tests], reads: [], contracts: [] }),
          ]),
        );
        const mode =
          run.mode ??
          decideMode(
            modeFacts(
              run.plan,
              files.map(({ path }) => path),
              (port, path) => decideWrite(scopes.get(port.id)!, path).allowed,
            ),
          );
        await records.write(lease, (tx) =>
          records.changeRun(tx, run.id, {
            startCommit,
            mode,
            isolation: there.sandbox.kind,
            promises: there.sandbox.promises,
          }),
        );
        return { maxConcurrency: mode.mode === "parallel" ? concurrencyOf(run.plan.limits) : 1 };
      } catch (error) {
        if (
          signal.aborted ||
          !(error instanceof DureError) ||
          codeOf(error) === "FENCED" ||
          (error.class === "unavailable" && codeOf(error) !== "ISOLATION_UNAVAILABLE")
        ) {
          throw error;
        }
        return {
          failed: {
            code: codeOf(error)!,
            message: messageOf(error),
            ...(error.hint !== undefined && { hint: error.hint }),
          } satisfies Because,
        };
      }
    },
    tidy: async (run, ports, { signal }) => {
      try {
        const there = await open(run, signal);
        const files = {
          ...there,
          run,
          home: parts.home,
          lease: { processId: parts.processId, epoch: lease.epoch },
          signal,
        };
        await there.publisher.publish(signal);
        for (const port of ports.filter(({ resultCommit }) => resultCommit !== null)) {
          await removeTree(port.id, port.resultCommit!, files);
        }
        if (run.report?.commit !== undefined) {
          await removeTree(ORCHESTRATOR, run.report.commit, files);
        }
      } catch (error) {
        if (!signal.aborted) {
          parts.logger.warn(
            { run: run.id, code: codeOf(error), error: messageOf(error) },
            `trees of run ${run.id} could not be tidied away; they stay`,
          );
        }
      }
    },
    build: async (run, port, { signal }) => {
      const there = await open(run, signal);
      const pair: PairParts = {
        ...parts,
        network,
        records,
        lease,
        sandbox: there.sandbox,
        files: (definition) =>
          portFiles(definition.id, {
            ...there,
            run,
            home: parts.home,
            lease: { processId: parts.processId, epoch: lease.epoch },
            signal,
          }),
        worker,
        brief: async (request, commit) =>
          brief(request, await there.reading(commit, signal), { signal }),
        environment,
        surroundings,
        orchestratorTurn,
        modules: await modulesOf(run, there, signal),
      };
      try {
        return await buildPort(run, port, pair, { signal });
      } finally {
        ranges.release(port.id);
      }
    },
    mergeReady: async (run, ports, { signal }) => {
      try {
        await mergeSoFar(run, ports, await mergeParts(run, signal), { signal });
      } catch (error) {
        if (!signal.aborted) {
          parts.logger.warn(
            { run: run.id, code: codeOf(error), error: messageOf(error) },
            `what has succeeded of run ${run.id} could not be merged yet; the end will tell`,
          );
        }
      }
    },
    merge: async (run, ports, { signal, untried }) =>
      mergeRun(run, ports, await mergeParts(run, signal), { signal, untried }),
  };
}

interface RunCheckout {
  readonly repository: Repository;
  readonly store: RunStore;
  readonly publisher: Publisher;
  readonly sandbox: Sandbox;
  readonly reading: (commit: string, signal: AbortSignal) => Promise<CommitFiles>;
}

async function openCheckout(
  parts: WorkParts,
  run: PlanRun,
  _lease: Lease,
  signal: AbortSignal,
): Promise<RunCheckout> {
  const { workers } = run.plan;
  const specs = [workers.default, workers.orchestrator, ...Object.values(workers.byRole)];
  const sandbox = await parts.sandbox(run.plan.isolation, {
    allowSecrets: [...new Set(specs.flatMap((spec) => spec?.allowHome ?? []))].sort(),
    signal,
  });
  const repository = await Repository.open(run.repository, { git: parts.git, signal });
  const store = await RunStore.open({
    repository,
    folder: join(run.folder, "store.git"),
    run: run.id,
    base: run.baseCommit,
    author: AUTHOR,
    signal,
  });
  const remote =
    parts.remote === undefined
      ? undefined
      : new RunRemote({ repository, remote: parts.remote, env: parts.env });
  const publisher = new Publisher({
    repository,
    store,
    run: run.id,
    clock: parts.clock,
    logger: parts.logger,
    remote,
  });
  await publisher.removeStaleLocks();
  const reader = new CommitReader(store);
  const reading = (commit: string, asking: AbortSignal): Promise<CommitFiles> =>
    reader.files(commit, asking);
  return { repository, store, publisher, sandbox, reading };
}

/** Contracts are written and checked before the first port starts. Gives what ports start from. */
async function writeContracts(
  run: PlanRun,
  there: RunCheckout,
  parts: WorkParts & { readonly network: NetworkFacts },
  {
    records,
    lease,
    environment,
    worker,
    signal,
  }: {
    records: RunRecords;
    lease: Lease;
    environment: PairParts["environment"];
    worker: PairParts["worker"];
    signal: AbortSignal;
  },
): Promise<string> {
  const { contracts } = run.plan;
  if (contracts.length === 0) return run.baseCommit;
  const paths = contracts.map(({ path }) => path);
  const spec = workerOf(run.plan.workers, ORCHESTRATOR);
  const read = async (commit: string, path: string): Promise<string | undefined> =>
    textOf(await there.store.readFile(commit, path, { bytes: READ_BYTES, signal }));
  const missingAt = async (commit: string): Promise<string[]> =>
    (
      await Promise.all(
        paths.map(async (path) => (((await read(commit, path)) ?? "").trim() === "" ? [path] : [])),
      )
    ).flat();
  const missing = await missingAt(run.baseCommit);
  if (!run.plan.workers.orchestrator || !spec) {
    if (missing.length === 0) return run.baseCommit;
    throw new DureError(
      "CONTRACTS_MISSING",
      `These contracts are not in the base, and there is no orchestrator to write them: ${missing.join(", ")}.`,
      { class: "input", hint: "Write them by hand and commit them, or name workers.orchestrator." },
    );
  }
  const stepLog = new StepLog(
    run,
    ORCHESTRATOR,
    { ...parts, records, lease, sandbox: there.sandbox },
    signal,
  );
  const made = await stepLog.step<{
    commit: string;
    summary: string;
    violations: readonly TreeViolation[];
  }>(
    { try: 1, kind: "contracts", member: "orchestrator", worker: spec.kind },
    async (step) => {
      const files = await portFiles(ORCHESTRATOR, {
        ...there,
        run,
        home: parts.home,
        lease: { processId: parts.processId, epoch: lease.epoch },
        signal,
      });
      await files.checkout(run.baseCommit);
      const scopeInput = { writes: paths.map(escaped), reads: ["**"], contracts: [] };
      const scope = makeScope(scopeInput);
      const port: Port = {
        id: ORCHESTRATOR,
        title: "Contracts",
        goal: `Write the interfaces that the ports share, and nothing else: ${paths.join(", ")}.\n\n${run.plan.ports.map(({ id, goal }) => `- ${id}: ${goal}`).join("\n")}`,
        role: ORCHESTRATOR,
        owns: paths,
        tests: [],
        dependsOn: [],
        acceptance: "every contract is there and not empty",
        timeoutMs: CONTRACTS_MS,
      };
      const briefing = await brief(
        { run, port, member: "orchestrator", scope: scopeInput, try: 1, triesMost: 1 },
        await there.reading(run.baseCommit, signal),
        { signal },
      );
      const worked = await letWork({
        run,
        port: ORCHESTRATOR,
        spec,
        step,
        prompt: briefing.prompt,
        scope,
        files,
        commit: run.baseCommit,
        stepLog,
        parts: { ...parts, records, lease, sandbox: there.sandbox, worker },
        env: environment(port, spec, files, step),
        timeMs: CONTRACTS_MS,
        signal,
      });
      const taken = await files.take({
        parent: run.baseCommit,
        scope,
        message: `Write the contracts\n\n${worked.result.summary}`,
        name: `${ORCHESTRATOR}/contracts`,
        at: step.startedAt,
      });
      return {
        output: {
          commit: taken.commit ?? run.baseCommit,
          summary: worked.result.summary,
          violations: taken.violations,
        },
        tokens: worked.result.tokens,
        counted: worked.counted,
        log: worked.log,
      };
    },
    workEnd({ run, port: ORCHESTRATOR, try: 1, parts: { records } }),
  );
  const left = await missingAt(made.commit);
  if (left.length > 0) {
    throw new DureError(
      "CONTRACTS_MISSING",
      `The orchestrator has not written ${left.join(", ")}. It said: ${made.summary.slice(0, 300)}`,
      { class: "conflict", hint: "Write them by hand and commit them, or try another worker." },
    );
  }
  return made.commit;
}
