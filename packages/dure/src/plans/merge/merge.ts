/** The merge of a run: one tree of what succeeded, tried; the port that broke it goes back. */

import type { Database } from "../../durable/database.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { RunReport, TestFeedback } from "../../wire/runs.ts";
import type { Because } from "../../wire/plans.ts";
import type { MergeVerdict, PortResult } from "../rows/outcomes.ts";
import { exitWordsOf, Integration, SETUP_FAILED, type Integrated } from "./integration.ts";
import { MergeTasks, type Merged, type SharedChange } from "./merge-tasks.ts";
import type { OrchestratorParts } from "./orchestrator-task.ts";
import type { PathConflict } from "../port/port-files.ts";
import { failedWith } from "../port/port-steps.ts";
import { ORCHESTRATOR, type PlanPort, type PlanRun } from "../rows/run.ts";
import { sharedRequests, type SharedRequest } from "../ask/shared-requests.ts";
import { HOST_REFUSED, StepLog } from "../rows/step-log.ts";
import { buildGraph } from "../graph.ts";

/** The run's own repository, as far as the merge needs it. */
export interface RunFiles {
  /** The same for the same results. Where ports left a path differently the base's stays. */
  compose(
    base: string,
    results: readonly PortResult[],
  ): Promise<{ readonly commit: string; readonly conflicts: readonly PathConflict[] }>;
  read(commit: string, path: string): Promise<string | undefined>;
  /** Paths of a commit. */
  list(commit: string): Promise<readonly string[]>;
  /** Where two commits parted; undefined: they have nothing in common. */
  mergeBase(one: string, other: string): Promise<string | undefined>;
  /** First lines of the newest commits of `to` that changed a path and that `from` lacks. */
  told(path: string, between: { from: string; to: string }): Promise<readonly string[]>;
  /** The files of one commit, with these of another: a commit under no ref. */
  mix(base: string, other: string, paths: readonly string[]): Promise<string>;
  /** Brings every commit of the run into the user's repository. */
  publish(): Promise<void>;
  /** `refs/dure/<run>/<name>` there is this commit now. */
  point(name: "result" | "tried", commit: string): Promise<void>;
  /**
   * A new branch there, or the one that this run has made before, now at this commit. Gives its
   * name.
   */
  branch(commit: string): Promise<string>;
}

export interface MergeParts extends OrchestratorParts {
  readonly database: Database;
  readonly store: RunFiles;
}

/** Suggestions that the recalled port is told. */
const MAX_SUGGESTIONS = 30;

/** Succeeded ports, put together. */
interface AssembledMerge {
  readonly whole: readonly PortResult[];
  readonly dropped: readonly DroppedPort[];
  readonly merged: Pick<Merged, "commit" | "conflicts">;
  /** Changes of shared files that ports asked for. */
  readonly asked: readonly SharedRequest[];
  /** The changes that the orchestrator made of them. */
  readonly shared?: SharedChange | undefined;
}

/**
 * Makes one tree of what succeeded, tries it, and when it fails finds the port that broke it: that
 * one goes back to its pair once. What is kept is a commit and a branch in the user's repository;
 * nothing that succeeded is rolled back. Source: docs/spec/plans §5, "Merge".
 */
export async function mergeRun(
  run: PlanRun,
  ports: readonly PlanPort[],
  parts: MergeParts,
  { signal, untried }: { signal: AbortSignal; untried?: Because | undefined },
): Promise<MergeVerdict> {
  const work = new MergeWork(run, ports, parts, signal);
  if (untried) return work.untried(untried);
  try {
    return await work.merge();
  } catch (error) {
    const code = codeOf(error);
    if (signal.aborted || (code !== SETUP_FAILED && code !== HOST_REFUSED)) throw error;
    const kept = "What succeeded is kept, and was not tried together.";
    const isRefused = error instanceof DureError && code === HOST_REFUSED;
    const next = isRefused ? error.hint : RUN_SETUP_BY_HAND;
    return work.untried({ code, message: messageOf(error), hint: `${kept} ${next}` });
  }
}

/**
 * What has succeeded so far as one tree, under `refs/dure/<run>/result`. It is not tried yet; where
 * two ports left a file differently, the base's stays.
 */
export async function mergeSoFar(
  run: PlanRun,
  ports: readonly PlanPort[],
  parts: MergeParts,
  options: { signal: AbortSignal },
): Promise<string | undefined> {
  return new MergeWork(run, ports, parts, options.signal).soFar();
}

const RUN_SETUP_BY_HAND = "Run the set-up by hand in a fresh clone.";

class MergeWork {
  readonly #run: PlanRun;
  readonly #ports: readonly PlanPort[];
  readonly #parts: MergeParts;
  readonly #stepLog: StepLog;
  readonly #integration: Integration;
  readonly #tasks: MergeTasks;
  readonly #base: string;

  constructor(run: PlanRun, ports: readonly PlanPort[], parts: MergeParts, signal: AbortSignal) {
    this.#run = run;
    this.#ports = ports;
    this.#parts = parts;
    this.#base = run.startCommit ?? run.baseCommit;
    const stepLog = new StepLog(run, ORCHESTRATOR, parts, signal);
    const integration = new Integration(run, parts, stepLog);
    this.#stepLog = stepLog;
    this.#integration = integration;
    this.#tasks = new MergeTasks({ run, parts, stepLog, integration, signal });
  }

  async merge(): Promise<MergeVerdict> {
    await this.#integration.load();
    const { whole, dropped } = completePorts(this.#run, this.#ports);
    if (whole.length === 0) return { report: EMPTY_REPORT, dropped };
    const merged = await this.#compose(whole);
    const open = merged.conflicts.find(({ solvedBy }) => solvedBy === undefined);
    if (open) return withoutLast(whole, open, conflictOf(open, merged));

    const asked = (await this.#asked()).filter(({ port }) =>
      whole.some((result) => result.port === port),
    );
    const shared = await this.#tasks.changeShared(merged.commit, asked);
    const assembled = { whole, dropped, merged, asked };
    const { integration } = this.#run.plan;
    if (integration === undefined) return this.#keep({ ...assembled, shared });
    if (!shared) return this.#tryOut(integration, assembled);
    return this.#tryShared(integration, assembled, shared);
  }

  /**
   * What succeeded, as one tree that was not tried. Of two ports that left a file differently the
   * later one is left out, and what needs it.
   */
  async untried(because: Because): Promise<MergeVerdict> {
    const left = new Map<string, Because>();
    for (;;) {
      const { whole, dropped } = completePorts(this.#run, this.#ports, left);
      if (whole.length === 0) return { report: EMPTY_REPORT, dropped, because };
      const merged = await this.#parts.store.compose(this.#base, whole);
      const [open] = merged.conflicts;
      if (!open) {
        const asked = await this.#asked();
        return { ...(await this.#keep({ whole, dropped, merged, asked })), because };
      }
      left.set(loserOf(whole, open), {
        code: "CONFLICT",
        message: `${open.ports.join(" and ")} both changed ${open.path}, and no worker could write it once.`,
        hint: "Its own commit is kept. Merge it again, or give the file to one of them.",
      });
    }
  }

  async soFar(): Promise<string | undefined> {
    const { whole } = completePorts(this.#run, this.#ports);
    if (whole.length === 0) return undefined;
    const { commit } = await this.#parts.store.compose(this.#base, whole);
    await this.#parts.store.point("result", commit);
    const ports = whole.map(({ port }) => port);
    await this.#stepLog.tell([{ type: "merge.ready", data: { commit, ports } }]);
    return commit;
  }

  #asked(): Promise<readonly SharedRequest[]> {
    return sharedRequests(this.#parts.database, this.#run.id);
  }

  /** The merged tree; files that two ports left differently go to the orchestrator. */
  async #compose(results: readonly PortResult[]): Promise<Merged> {
    const composed = await this.#parts.store.compose(this.#base, results);
    if (composed.conflicts.length === 0) return composed;
    const paths = composed.conflicts.slice(0, 50).map(({ path }) => path);
    await this.#stepLog.tell([{ type: "merge.conflict", data: { paths } }]);
    return this.#tasks.solve(composed, results);
  }

  /** Tries the ports with the orchestrator's own change; when that broke it, without. */
  async #tryShared(
    integration: string,
    assembled: AssembledMerge,
    shared: SharedChange,
  ): Promise<MergeVerdict> {
    const integrated = await this.#integration.run(integration, shared.commit);
    if (integrated.feedback.success) return this.#keep({ ...assembled, shared }, integrated);
    const results = [shared, ...assembled.whole];
    const { blamed } = await this.#integration.bisect(integration, results, integrated);
    if (blamed !== shared) return this.#tryOut(integration, { ...assembled, shared });

    const outcome = await this.#tryOut(integration, assembled);
    if (!("report" in outcome)) return outcome;
    const paths = shared.paths.slice(0, 3).join(", ");
    const failure = exitWordsOf(integrated);
    const because: Because = {
      code: "SHARED_CHANGES_FAILED",
      message: `With what was changed of ${paths} the integration command fails: ${failure}.`,
      hint: "What succeeded is kept without these changes. Make them by hand, and merge it again.",
    };
    return { ...outcome, because: outcome.because ?? because };
  }

  /**
   * Runs the integration command on what was merged; what it fails with goes back to the port that
   * brought it.
   */
  async #tryOut(integration: string, assembled: AssembledMerge): Promise<MergeVerdict> {
    const { whole, merged, shared } = assembled;
    const integrated = await this.#integration.run(integration, shared?.commit ?? merged.commit);
    if (integrated.feedback.success) return this.#keep(assembled, integrated);
    const results: readonly PortResult[] = shared ? [shared, ...whole] : whole;
    const found = await this.#integration.bisect(integration, results, integrated);
    const { blamed, feedback } = found;
    if (!blamed) {
      const because: Because = {
        code: "INTEGRATION_FAILED",
        message: `The integration command fails without any port too: ${exitWordsOf(integrated)}.`,
        hint: "What succeeded is kept. Mend the base, or what the command needs, and merge it again.",
      };
      return { ...(await this.#keep(assembled, integrated)), because };
    }
    if (await this.#wasRecalled(blamed)) {
      const failure = exitWordsOf({ ...integrated, feedback });
      const because: Because = {
        code: "INTEGRATION_FAILED",
        message: `With it the integration command fails: ${failure}.`,
        hint: "Look at the output in the report; retry it with a hint.",
      };
      return { without: { port: blamed.port, because, feedback } };
    }
    await this.#parts.store.publish();
    const first = `Together with the other ports the integration command failed: ${integration}`;
    const suggestions = [first, ...feedback.suggestions].slice(0, MAX_SUGGESTIONS);
    return { recalled: { port: blamed.port, feedback: { ...feedback, suggestions } } };
  }

  async #wasRecalled({ port }: PortResult): Promise<boolean> {
    const steps = await this.#parts.records.steps.of(this.#run.id, port);
    return steps.some(({ kind }) => kind === "integrate");
  }

  /** Keeps the tree as a branch in the user's repository. */
  async #keep(
    assembled: AssembledMerge,
    integrated?: Integrated,
  ): Promise<{ readonly report: RunReport; readonly dropped: readonly DroppedPort[] }> {
    const { store } = this.#parts;
    const { whole, dropped, merged, shared } = assembled;
    const commit = shared?.commit ?? merged.commit;
    await store.publish();
    const branch = await store.branch(commit);
    const wishes = wishesOf(assembled);
    const report: RunReport = {
      commit,
      branch,
      kept: whole.map(({ port }) => port),
      missing: [],
      conflicts: merged.conflicts,
      shared: wishes.length > 0 ? wishes : undefined,
      integration: integrated && {
        passed: integrated.feedback.success,
        exitCode: integrated.exitCode,
        output: integrated.output,
      },
    };
    return { report, dropped };
  }
}

const EMPTY_REPORT: RunReport = { kept: [], missing: [], conflicts: [] };

/** Of the ports that changed a path, the last one. Pure. */
function loserOf(whole: readonly PortResult[], { ports }: PathConflict): string {
  return whole.findLast(({ port }) => ports.includes(port))!.port;
}

function conflictOf(open: PathConflict, { words }: Merged): Because {
  const why = words ?? "there is no orchestrator to write it once.";
  return {
    code: "CONFLICT",
    message: `${open.ports.join(" and ")} both changed ${open.path}, and ${why}`,
    hint: "Give the file to one of them, or name workers.orchestrator.",
  };
}

function withoutLast(
  whole: readonly PortResult[],
  open: PathConflict,
  because: Because,
): MergeVerdict {
  const feedback: TestFeedback = failedWith(because.message);
  return { without: { port: loserOf(whole, open), because, feedback } };
}

/** Changes of shared files that were asked for, by their path. Pure. */
function wishesOf({ asked, shared }: AssembledMerge): NonNullable<RunReport["shared"]> {
  const applied = new Set(shared?.paths);
  const byPath = Map.groupBy(asked, ({ path }) => path);
  return [...byPath].map(([path, requests]) => ({
    path,
    ports: [...new Set(requests.map(({ port }) => port))],
    applied: applied.has(path),
  }));
}

/** A port that succeeded and is left out all the same. */
interface DroppedPort {
  readonly port: string;
  readonly because: Because;
}

/** What of a run can be put together. */
interface CompletePorts {
  /** What is needed comes first. */
  readonly whole: readonly PortResult[];
  readonly dropped: readonly DroppedPort[];
}

/**
 * Ports whose own work and all that it needs has succeeded. Pure. `left`: those that are left out,
 * and why.
 */
function completePorts(
  run: PlanRun,
  ports: readonly PlanPort[],
  left: ReadonlyMap<string, Because> = new Map(),
): CompletePorts {
  const byId = new Map(ports.map((port) => [port.id, port]));
  const graph = buildGraph(run.plan.ports);
  const complete = new Set<string>();
  const whole: PortResult[] = [];
  const dropped: DroppedPort[] = [];
  for (const index of graph.order) {
    const id = graph.ids[index]!;
    const port = byId.get(id)!;
    if (port.status !== "succeeded") continue;
    const needed = graph.dependencies[index]!.map((other) => graph.ids[other]!);
    const lacking = needed.filter((other) => !complete.has(other));
    const because = left.get(id) ?? (lacking.length > 0 ? lacks(lacking) : undefined);
    if (because) {
      dropped.push({ port: id, because });
      continue;
    }
    complete.add(id);
    const { resultCommit, startCommit } = port;
    if (resultCommit === null || startCommit === null) continue;
    whole.push({ port: id, commit: resultCommit, base: startCommit });
  }
  return { whole, dropped };
}

function lacks(lacking: readonly string[]): Because {
  return {
    code: "DEPENDENCY_FAILED",
    message: `It succeeded, but needs ${lacking.join(", ")}, which did not.`,
    hint: "Retry what failed; its own work is kept.",
  };
}
