/** What a leader works with: the pair, the merge, and trials of what is merged. */

import type { Lease } from "../../durable/leases.ts";
import { mayPass } from "../../durable/passing.ts";
import { DureError, codeOf, messageOf } from "../../kernel/errors.ts";
import type { RunWork } from "../lead/leader-parts.ts";
import { concurrencyOf, type Port } from "../plan.ts";
import { endProcess } from "../sandbox/sandbox.ts";
import { removeRun, whyKept, type CleanParts } from "./clean.ts";
import { writeContracts } from "../merge/contracts.ts";
import { type Tried, Integration, type Check } from "../merge/integration.ts";
import { MergeTasks } from "../merge/merge-tasks.ts";
import type { MovedConflict, MovedSolution } from "../merge/moved-conflict.ts";
import { mergeRun, mergeSoFar, type MergeParts } from "../merge/merge.ts";
import { buildPort } from "../port/pair.ts";
import type { RunRecords } from "../rows/records.ts";
import { removeTree, runFiles } from "./run-files.ts";
import { AUTHOR } from "../workspace/commit-writer.ts";
import { remoteOf, RunSite, shareOfRun, type WorkParts } from "./run-site.ts";
import { ORCHESTRATOR, type PlanPort, type PlanRun } from "../rows/run.ts";
import type { Because, RunMode } from "../../wire/plans.ts";
import { StepLog } from "../rows/step-log.ts";

/** The work of one run under one lease. */
export function runWork(
  parts: WorkParts,
  led: { records: RunRecords; lease: Lease; run: PlanRun },
): RunWork {
  const site = new RunSite(parts, led);
  const cleaning = (signal: AbortSignal): CleanParts => ({
    git: parts.git,
    author: AUTHOR,
    remote: remoteOf(parts),
    signal,
  });
  return {
    whyKept: (run, ports, steps, { signal }) => whyKept(run, ports, steps, cleaning(signal)),
    remove: (run, { signal }) => remove(run, site, cleaning(signal)),
    clear: (run) => endStrays(run, site),
    prepare: (run, { signal }) => prepare(run, site, signal),
    tidy: (run, ports, { signal }) => tidy(run, ports, site, signal),
    build: async (run, port, { signal }) => {
      const pair = await site.pairParts(run, signal);
      try {
        return await buildPort(run, port, pair, { signal });
      } finally {
        site.releasePorts(port.id);
      }
    },
    mergeReady: (run, ports, { signal }) => mergeReady(run, ports, site, signal),
    merge: async (run, ports, { signal, untried }) =>
      mergeRun(run, ports, await site.mergeParts(run, signal), { signal, untried }),
    tryMerged: (run, commit, { signal }) => tryMergedThere(run, commit, site, signal),
    solveMoved: (run, conflict, { signal }) => solveMovedThere(run, conflict, site, signal),
  };
}

/** The tree is gone afterwards; the commit is kept, so that a repeat finds it. */
async function tryMergedThere(
  run: PlanRun,
  commit: string,
  site: RunSite,
  signal: AbortSignal,
): Promise<Tried> {
  const files = await site.filesParts(run, signal);
  await runFiles(files).point("tried", commit);
  const tried = await tryMerged(run, commit, await site.mergeParts(run, signal), { signal });
  await removeTree(ORCHESTRATOR, commit, files);

  return tried;
}

/** What was solved is in the person's repository then; the tree is gone where nothing was. */
async function solveMovedThere(
  run: PlanRun,
  conflict: MovedConflict,
  site: RunSite,
  signal: AbortSignal,
): Promise<MovedSolution> {
  const files = await site.filesParts(run, signal);
  const store = runFiles(files);
  const { commit, takes, ours } = conflict;
  await store.point("tried", commit);
  if (takes !== undefined) {
    const taken = await store.mix(commit, conflict[takes], conflict.files);
    await store.point("tried", taken);

    return { commit: taken, open: [], words: undefined };
  }
  const parts = await site.mergeParts(run, signal);
  const stepLog = new StepLog(run, ORCHESTRATOR, parts, signal);
  const integration = new Integration(run, parts, stepLog, ours);
  const tasks = new MergeTasks({ run, parts, stepLog, integration, signal });
  const solution = await tasks.solveMoved(conflict);
  await store.point("tried", solution.commit);
  if (solution.open.length > 0) await removeTree(ORCHESTRATOR, solution.commit, files);

  return solution;
}

async function remove(run: PlanRun, { parts }: RunSite, cleaning: CleanParts): Promise<void> {
  const { warning } = await removeRun(run, cleaning);
  if (warning === undefined) return;
  parts.logger.warn({ run: run.id }, `run ${run.id} was cleaned, but ${warning}`);
}

/** Ends processes that a dead leader of the run has left. */
async function endStrays(run: PlanRun, { parts, records }: RunSite): Promise<void> {
  for (const { process } of await records.steps.strayProcesses(run.id)) {
    const end = await endProcess(process, { clock: parts.clock });
    parts.logger.warn(
      { run: run.id, pid: process.pid, end },
      `a process of run ${run.id} was left by a leader that is gone: ${end}`,
    );
  }
}

/** Contracts, mode, isolation. What is wrong with the plan or the machine is a value. */
async function prepare(
  run: PlanRun,
  site: RunSite,
  signal: AbortSignal,
): Promise<{ maxConcurrency: number } | { failed: Because }> {
  try {
    const { sandbox } = await site.open(run, signal);
    const startCommit =
      run.startCommit ??
      (await writeContracts(run, await site.mergeParts(run, signal), { signal }));
    const mode = await modeOf(run, site, signal);
    await site.records.write(site.lease, (tx) =>
      site.records.changeRun(tx, run.id, {
        startCommit,
        mode,
        isolation: sandbox.kind,
        promises: sandbox.promises,
      }),
    );
    return { maxConcurrency: mode.mode === "parallel" ? concurrencyOf(run.plan.limits) : 1 };
  } catch (error) {
    if (signal.aborted || !(error instanceof DureError) || isPassing(error)) throw error;
    return { failed: { code: error.code, message: messageOf(error), hint: error.hint } };
  }
}

/** Whether another leader, or the same one later, may succeed. Pure. */
function isPassing(error: DureError): boolean {
  return mayPass(error) && error.code !== "ISOLATION_UNAVAILABLE";
}

/** Throws what is wrong with submodules of the repository. */
async function modeOf(run: PlanRun, site: RunSite, signal: AbortSignal): Promise<RunMode> {
  const { repository } = await site.open(run, signal);
  const { ports } = run.plan;
  const files = await repository.listFiles(run.baseCommit, { signal });
  const owned = ports.flatMap(({ owns, tests }) => [...owns, ...tests]);
  await repository.refuseOwnedSubmodules(run.baseCommit, owned, { signal });
  if (run.mode) return run.mode;

  const paths = files.map(({ path }) => path);
  return site.parts.threads.mode(run.plan, paths, { share: shareOfRun(run), signal });
}

/** Removes trees whose commits are safe. Never rejects. */
async function tidy(
  run: PlanRun,
  ports: readonly PlanPort[],
  site: RunSite,
  signal: AbortSignal,
): Promise<void> {
  try {
    const files = await site.filesParts(run, signal);
    await files.publisher.publish(signal);
    for (const { id, resultCommit } of ports) {
      if (resultCommit !== null) await removeTree(id, resultCommit, files);
    }
    const merged = run.report?.commit;
    if (merged !== undefined) await removeTree(ORCHESTRATOR, merged, files);
  } catch (error) {
    if (signal.aborted) return;
    site.parts.logger.warn(
      { run: run.id, code: codeOf(error), error: messageOf(error) },
      `trees of run ${run.id} could not be tidied away; they stay`,
    );
  }
}

/** Never rejects. */
async function mergeReady(
  run: PlanRun,
  ports: readonly PlanPort[],
  site: RunSite,
  signal: AbortSignal,
): Promise<void> {
  try {
    await mergeSoFar(run, ports, await site.mergeParts(run, signal), { signal });
  } catch (error) {
    if (signal.aborted) return;
    site.parts.logger.warn(
      { run: run.id, code: codeOf(error), error: messageOf(error) },
      `what has succeeded of run ${run.id} could not be merged yet; the end will tell`,
    );
  }
}

/**
 * Tries a merge of a run's result and a branch that has moved: the integration command, then the
 * acceptance of every port that is in it. Done again after a crash, and not again once it has
 * passed. Source: docs/spec/plans §5, "Delivery".
 */
async function tryMerged(
  run: PlanRun,
  commit: string,
  parts: MergeParts,
  { signal }: { signal: AbortSignal },
): Promise<Tried> {
  const stepLog = new StepLog(run, ORCHESTRATOR, parts, signal);
  const integration = new Integration(run, parts, stepLog, commit);
  await integration.load();

  return integration.tryAll(checksOf(run), commit);
}

/** Each command once, in the order of the plan. Pure. */
function checksOf({ plan, report }: Pick<PlanRun, "plan" | "report">): readonly Check[] {
  const { integration, ports } = plan;
  const kept = ports.filter(({ id }) => report?.kept.includes(id));
  const byCommand = new Map<string, Port>();
  for (const port of kept) {
    if (!byCommand.has(port.acceptance)) byCommand.set(port.acceptance, port);
  }
  const accepted = [...byCommand].map(([command, port]) => ({ command, port }));

  return integration === undefined ? accepted : [{ command: integration }, ...accepted];
}
