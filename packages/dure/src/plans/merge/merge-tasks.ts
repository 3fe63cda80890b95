import { createHash } from "node:crypto";
import type { PortResult } from "../rows/outcomes.ts";
import { isLockFile, orchestratorsFiles } from "../plan-ownership.ts";
import { workerOf, type WorkerSpec } from "../plan.ts";
import { escaped } from "../ask/grants.ts";
import { hashNumber, MERGE_PORT, type Integration } from "./integration.ts";
import type { MergeParts } from "./merge.ts";
import {
  doTask,
  outputOf,
  taskEnd,
  type OrchestratorTask,
  type TaskOutput,
} from "./orchestrator-task.ts";
import { movedGoal, stillOpen, type MovedConflict, type MovedSolution } from "./moved-conflict.ts";
import type { PathConflict } from "../port/port-files.ts";
import { ORCHESTRATOR, type PlanRun } from "../rows/run.ts";
import { sharedRequestsRead, type SharedRequest } from "../ask/shared-requests.ts";
import type { StepLog } from "../rows/step-log.ts";
import type { RunReport } from "../../wire/runs.ts";

/** A merged tree. */
export interface Merged {
  readonly commit: string;
  readonly conflicts: RunReport["conflicts"];
  /** Why files are still open although there is an orchestrator. */
  readonly words?: string;
}

/** What the orchestrator changed of the files that all share, against what was merged. */
export interface SharedChange extends PortResult {
  readonly paths: readonly string[];
}

/** What the orchestrator made of files that several ports changed or asked for. */
interface Solved extends TaskOutput {
  readonly commit: string;
  readonly summary: string;
  /** Of the files those that it did not write; all of them when it failed. */
  readonly left: readonly string[];
}

/** A task of the orchestrator at the merge. */
interface MergeTask extends OrchestratorTask {
  readonly kind: "merge" | "shared";
  /** Tells the step from others of its kind. */
  readonly number: number;
  readonly paths: readonly string[];
}

/** What the orchestrator writes at the merge: conflicting files, and files that all share. */
export class MergeTasks {
  readonly #run: PlanRun;
  readonly #parts: MergeParts;
  readonly #stepLog: StepLog;
  readonly #integration: Integration;
  readonly #signal: AbortSignal;

  constructor(work: {
    run: PlanRun;
    parts: MergeParts;
    stepLog: StepLog;
    integration: Integration;
    signal: AbortSignal;
  }) {
    this.#run = work.run;
    this.#parts = work.parts;
    this.#stepLog = work.stepLog;
    this.#integration = work.integration;
    this.#signal = work.signal;
  }

  /** Lets the orchestrator write each conflicting file once. */
  async solve(
    composed: { readonly commit: string; readonly conflicts: readonly PathConflict[] },
    results: readonly PortResult[],
  ): Promise<Merged> {
    const spec = this.#spec();
    if (!spec) return composed;
    const { commit: from, conflicts } = composed;
    const paths = conflicts.map(({ path }) => path);
    const goal = await this.#conflictGoal(conflicts, results);
    const solved = await this.#do(spec, {
      kind: "merge",
      number: hashNumber(from),
      paths,
      from,
      title: "Merge what several ports changed",
      name: `merge-${from.slice(0, 12)}`,
      ...this.#portFor(paths, goal),
    });
    const left = new Set(solved.left);
    const said = solved.summary.slice(0, 300);
    return {
      commit: solved.commit,
      conflicts: conflicts.map((conflict) =>
        left.has(conflict.path) ? conflict : { ...conflict, solvedBy: ORCHESTRATOR },
      ),
      words: `the orchestrator did not write it once. It said: ${said}`,
    };
  }

  /**
   * Lets one agent write once what the result and a branch that moved both changed: the orchestrator,
   * else the plan's default worker.
   */
  async solveMoved(conflict: MovedConflict): Promise<MovedSolution> {
    const { commit: from, files, number, target } = conflict;
    const spec = workerOf(this.#run.plan.workers, ORCHESTRATOR);
    if (!spec) return { commit: from, open: files, words: undefined };
    const goal = await movedGoal(conflict, this.#run.plan, this.#parts.store);
    const solved = await this.#do(spec, {
      kind: "merge",
      number,
      paths: files,
      from,
      title: `Merge what ${target} and the result changed`,
      name: `moved-${number}`,
      ...this.#portFor(files, goal),
    });
    const isReady = solved.status === "ready";
    const open = isReady ? await stillOpen(conflict, solved, this.#parts.store) : files;

    return { commit: solved.commit, open, words: solved.summary.slice(0, 300) };
  }

  /**
   * The orchestrator changes the files that are its own, once for all ports that asked. Undefined
   * when no port did, or it made nothing of it. The same merged tree and requests give the same
   * change.
   */
  async changeShared(
    from: string,
    asked: readonly SharedRequest[],
  ): Promise<SharedChange | undefined> {
    const spec = this.#spec();
    if (asked.length === 0 || !spec) return undefined;
    const paths = await this.#sharedPaths(from, asked);
    const key = createHash("sha256")
      .update([from, ...asked.map(({ id }) => id)].join("\n"))
      .digest("hex");
    const number = hashNumber(key);
    const { port, scope } = this.#portFor(paths, sharedGoal(asked));
    const made = await this.#do(spec, {
      kind: "shared",
      number,
      paths,
      from,
      title: "Change what ports share",
      name: `shared-${key.slice(0, 12)}`,
      port: { ...port, title: "Shared files" },
      scope,
    });
    await this.#parts.records.write(this.#parts.lease, (tx) => sharedRequestsRead(tx, asked));
    if (made.commit === from) return undefined;
    const left = new Set(made.left);
    await this.#integration.setUpAgain(made.commit, number);
    return {
      port: ORCHESTRATOR,
      commit: made.commit,
      base: from,
      paths: paths.filter((path) => !left.has(path)),
    };
  }

  /** Undefined: the plan has no orchestrator. */
  #spec(): WorkerSpec | undefined {
    const { workers } = this.#run.plan;
    return workers.orchestrator ? workerOf(workers, ORCHESTRATOR) : undefined;
  }

  async #do(spec: WorkerSpec, task: MergeTask): Promise<Solved> {
    const { kind, number, paths, from } = task;
    return this.#stepLog.step<Solved>(
      { try: number, kind, member: "orchestrator", worker: spec.kind },
      async (step) => {
        const files = await this.#integration.tree();
        const { worked, taken } = await doTask(task, {
          run: this.#run,
          spec,
          step,
          stepLog: this.#stepLog,
          files,
          parts: this.#parts,
          signal: this.#signal,
        });
        const { result, counted, log } = worked;
        const isReady = result.status === "ready";
        // Of conflicting files what was not finished is kept too; they stay open.
        const isKept = isReady || kind === "merge";
        const written = new Set(isReady ? taken.changes.map(({ path }) => path) : []);
        const output: Solved = {
          commit: isKept ? (taken.commit ?? from) : from,
          summary: result.summary,
          ...outputOf({ worked, taken }),
          left: paths.filter((path) => !written.has(path)),
        };
        return { output, tokens: result.tokens, calls: result.calls, counted, log };
      },
      taskEnd(this.#run, number, this.#parts),
    );
  }

  #portFor(paths: readonly string[], goal: string): Pick<OrchestratorTask, "port" | "scope"> {
    const owns = paths.map(escaped);
    const acceptance = this.#run.plan.integration ?? "true";
    return {
      port: { ...MERGE_PORT, goal, owns, acceptance },
      scope: { writes: owns, reads: ["**"], contracts: [] },
    };
  }

  /** Every conflicting file, as each port left it. */
  async #conflictGoal(
    conflicts: readonly PathConflict[],
    results: readonly PortResult[],
  ): Promise<string> {
    const commits = new Map(results.map(({ port, commit }) => [port, commit]));
    const versionOf = async (path: string, port: string): Promise<string> => {
      const text = await this.#parts.store.read(commits.get(port)!, path);
      return `### as ${port} left it\n${text ?? "(deleted)"}`;
    };
    const versions = await Promise.all(
      conflicts.map(async ({ path, ports }) => {
        const texts = await Promise.all(ports.map((port) => versionOf(path, port)));
        return `## ${path}\n${texts.join("\n")}`;
      }),
    );
    const wanted = [
      "Several ports changed the same files.",
      "Write each of them once, so that what all of them wanted holds.",
    ];
    return `${wanted.join(" ")}\n\n${versions.join("\n\n")}`;
  }

  /** The files that were asked for. A port that changes dependencies changes their lock files. */
  async #sharedPaths(from: string, asked: readonly SharedRequest[]): Promise<string[]> {
    const named = new Set(asked.map(({ path }) => path));
    const folders = new Set([...named].map(folderOf));
    const isOrchestrators = orchestratorsFiles(this.#run.plan);
    const locks = (await this.#parts.store.list(from)).filter(
      (path) => isLockFile(path) && folders.has(folderOf(path)) && isOrchestrators(path),
    );
    return [...new Set([...named, ...locks])].sort();
  }
}

function sharedGoal(asked: readonly SharedRequest[]): string {
  const wanted = [
    "Ports asked for changes of files that all share.",
    "Make each change once, so that all get what they need, and change nothing else.",
  ];
  const requests = asked.map(({ port, path, why }) => `- ${port}, ${path}: ${why}`);
  return `${wanted.join(" ")}\n\n${requests.join("\n")}`;
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
