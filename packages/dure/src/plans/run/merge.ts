import { createHash } from "node:crypto";
import type { Database } from "../../durable/database.ts";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { buildGraph } from "../graph.ts";
import { isLockFile, orchestratorsFiles } from "../plan-ownership.ts";
import { workerOf, type Port } from "../plan.ts";
import { readTestOutput } from "../results/read-output.ts";
import { makeScope } from "../scope.ts";
import type { TreeViolation } from "../workspace/owned-changes.ts";
import { feedbackOf, type TestFeedback } from "../workers/feedback.ts";
import { escaped } from "./grants.ts";
import type { MergeVerdict } from "./leader.ts";
import type { PairParts, PortFiles } from "./pair.ts";
import type { Because, PlanPort, PlanRun, PlanStep, RunReport } from "./run.ts";
import { letWork, workEnd } from "./let-work.ts";
import { sharedRequests, sharedRequestsRead, type SharedRequest } from "./shared-requests.ts";
import { exitWords, StepLog, type StepLogParts, type StepEnd, SETUP_HINT } from "./step-log.ts";

/** What one port has changed, against what it started from. */
export interface PortResult {
  readonly port: string;
  readonly commit: string;
  readonly base: string;
}

/** The run's own repository, as far as the merge needs it. */
export interface RunFiles {
  /** The same for the same results. Where ports left a path differently the base's stays. */
  compose(
    base: string,
    results: readonly PortResult[],
  ): Promise<{
    readonly commit: string;
    readonly conflicts: readonly { readonly path: string; readonly ports: readonly string[] }[];
  }>;
  read(commit: string, path: string): Promise<string | undefined>;
  /** Paths of a commit. */
  list(commit: string): Promise<readonly string[]>;
  /** Brings every commit of the run into the user's repository. */
  publish(): Promise<void>;
  /** `refs/dure/<run>/result` there is this commit now. */
  point(commit: string): Promise<void>;
  /**
   * A new branch there, or the one that this run has made before, now at this commit. Gives its
   * name.
   */
  branch(commit: string): Promise<string>;
}

export interface MergeParts extends StepLogParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: RunFiles;
  /** A tree for the merged result. */
  readonly tree: () => Promise<PortFiles>;
  readonly worker: PairParts["worker"];
  readonly brief: PairParts["brief"];
  readonly environment: PairParts["environment"];
  readonly stalledMs?: number | undefined;
}

/** Steps of the merge belong to this name, which no port may have. */
export const ORCHESTRATOR = "orchestrator";
/** Time of the integration command, milliseconds, unless ports have more. Source: our choice. */
const INTEGRATION_MS = 30 * 60_000;

const SETUP_FAILED = "SETUP_FAILED";

/** What the orchestrator made of files that several ports changed. */
interface Solved {
  readonly commit: string;
  readonly summary: string;
  readonly violations: readonly TreeViolation[];
  /** Of the files those that it did not write; all of them when it failed. */
  readonly left: readonly string[];
}

interface Merged {
  readonly commit: string;
  readonly conflicts: RunReport["conflicts"];
  /** Why files are still open although there is an orchestrator. */
  readonly words?: string;
}

type Dropped = readonly { readonly port: string; readonly because: Because }[];

/** What the orchestrator changed of the files that all share, against what was merged. */
interface SharedChange extends PortResult {
  readonly paths: readonly string[];
}

interface Integrated {
  readonly commit: string;
  readonly feedback: TestFeedback;
  readonly exitCode: number | null;
  readonly output: string;
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
    if (signal.aborted || codeOf(error) !== SETUP_FAILED) throw error;
    return work.untried({
      code: SETUP_FAILED,
      message: messageOf(error),
      hint: "What succeeded is kept, and was not tried together. Run the set-up by hand in a fresh clone.",
    });
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

class MergeWork {
  readonly #run: PlanRun;
  readonly #ports: readonly PlanPort[];
  readonly #parts: MergeParts;
  readonly stepLog: StepLog;
  readonly #signal: AbortSignal;
  readonly #base: string;
  /** Known outcomes, by commit: a tree is tried once. */
  readonly #tried = new Map<string, Integrated>();
  #files: PortFiles | undefined;

  constructor(run: PlanRun, ports: readonly PlanPort[], parts: MergeParts, signal: AbortSignal) {
    this.#run = run;
    this.#ports = ports;
    this.#parts = parts;
    this.#signal = signal;
    this.#base = run.startCommit ?? run.baseCommit;
    this.stepLog = new StepLog(run, ORCHESTRATOR, parts, signal);
  }

  async merge(): Promise<MergeVerdict> {
    const { records } = this.#parts;
    for (const step of await records.steps(this.#run.id, ORCHESTRATOR)) {
      if (step.kind === "integrate" && step.status === "done") {
        this.#tried.set((step.output as Integrated).commit, step.output as Integrated);
      }
    }
    const { whole, dropped } = this.#whole();
    if (whole.length === 0) return { report: { kept: [], missing: [], conflicts: [] }, dropped };
    const merged = await this.#compose(whole);
    const open = merged.conflicts.find(({ solvedBy }) => solvedBy === undefined);
    if (open) {
      const loser = whole.findLast(({ port }) => open.ports.includes(port))!;
      const because: Because = {
        code: "CONFLICT",
        message: `${open.ports.join(" and ")} both changed ${open.path}, and ${merged.words ?? "there is no orchestrator to write it once."}`,
        hint: "Give the file to one of them, or name workers.orchestrator.",
      };
      return {
        without: {
          port: loser.port,
          because,
          feedback: {
            success: false,
            failedTests: [],
            suggestions: [because.message],
            metrics: { total: 0, passed: 0, failed: 0, durationMs: 0 },
          } satisfies TestFeedback,
        },
      };
    }
    const asked = (await sharedRequests(this.#parts.database, this.#run.id)).filter(({ port }) =>
      whole.some((result) => result.port === port),
    );
    const shared = await this.#changeShared(merged.commit, asked);
    const { integration } = this.#run.plan;
    if (integration === undefined) {
      return { report: await this.#keep(whole, merged, undefined, asked, shared), dropped };
    }
    if (!shared) return this.#tryOut(integration, whole, dropped, merged, asked);

    const integrated = await this.#integrate(integration, shared.commit);
    if (integrated.feedback.success) {
      return { report: await this.#keep(whole, merged, integrated, asked, shared), dropped };
    }
    const { blamed } = await this.#bisect(integration, [shared, ...whole], integrated);
    if (blamed !== shared) return this.#tryOut(integration, whole, dropped, merged, asked, shared);
    // The orchestrator's own change broke it: the ports are tried, and kept, without.
    const outcome = await this.#tryOut(integration, whole, dropped, merged, asked);
    if (!("report" in outcome)) return outcome;
    const because: Because = {
      code: "SHARED_CHANGES_FAILED",
      message: `With what was changed of ${shared.paths.slice(0, 3).join(", ")} the integration command fails: ${exitWordsOf(integrated)}.`,
      hint: "What succeeded is kept without these changes. Make them by hand, and merge it again.",
    };
    return { ...outcome, because: outcome.because ?? because };
  }

  /**
   * Runs the integration command on what was merged; what it fails with goes back to the port that
   * brought it.
   */
  async #tryOut(
    integration: string,
    whole: readonly PortResult[],
    dropped: Dropped,
    merged: Merged,
    asked: readonly SharedRequest[],
    shared?: SharedChange,
  ): Promise<MergeVerdict> {
    const integrated = await this.#integrate(integration, shared?.commit ?? merged.commit);
    if (integrated.feedback.success) {
      return { report: await this.#keep(whole, merged, integrated, asked, shared), dropped };
    }
    const { blamed, feedback } = await this.#bisect(
      integration,
      [...(shared ? [shared] : []), ...whole],
      integrated,
    );
    if (!blamed) {
      const because: Because = {
        code: "INTEGRATION_FAILED",
        message: `The integration command fails without any port too: ${exitWordsOf(integrated)}.`,
        hint: "What succeeded is kept. Mend the base, or what the command needs, and merge it again.",
      };
      return {
        report: await this.#keep(whole, merged, integrated, asked, shared),
        dropped,
        because,
      };
    }
    if (!(await this.#wasRecalled(blamed))) {
      await this.#parts.store.publish();
      return {
        recalled: {
          port: blamed.port,
          feedback: {
            ...feedback,
            suggestions: [
              `Together with the other ports the integration command failed: ${integration}`,
              ...feedback.suggestions,
            ].slice(0, 30),
          },
        },
      };
    }
    const because: Because = {
      code: "INTEGRATION_FAILED",
      message: `With it the integration command fails: ${exitWordsOf({ ...integrated, feedback })}.`,
      hint: "Look at the output in the report; retry it with a hint.",
    };
    return { without: { port: blamed.port, because, feedback } };
  }

  /**
   * What succeeded, as one tree that nobody could try. Of two ports that left a file differently
   * the later one is left out, and what needs it.
   */
  async untried(because: Because): Promise<MergeVerdict> {
    const left = new Map<string, Because>();
    for (;;) {
      const { whole, dropped } = this.#whole(left);
      if (whole.length === 0) {
        return { report: { kept: [], missing: [], conflicts: [] }, dropped, because };
      }
      const composed = await this.#parts.store.compose(this.#base, whole);
      const [open] = composed.conflicts;
      if (!open) {
        return {
          report: await this.#keep(
            whole,
            composed,
            undefined,
            await sharedRequests(this.#parts.database, this.#run.id),
          ),
          dropped,
          because,
        };
      }
      const loser = whole.findLast(({ port }) => open.ports.includes(port))!;
      left.set(loser.port, {
        code: "CONFLICT",
        message: `${open.ports.join(" and ")} both changed ${open.path}, and nobody could write it once.`,
        hint: "Its own commit is kept. Merge it again, or give the file to one of them.",
      });
    }
  }

  async soFar(): Promise<string | undefined> {
    const { whole } = this.#whole();
    if (whole.length === 0) return undefined;
    const { commit } = await this.#parts.store.compose(this.#base, whole);
    await this.#parts.store.point(commit);
    await this.stepLog.tell([
      { type: "merge.ready", data: { commit, ports: whole.map(({ port }) => port) } },
    ]);
    return commit;
  }

  /**
   * Ports whose own work and all that it needs has succeeded, what is needed first. `left`: those
   * that are left out, and why.
   */
  #whole(left: ReadonlyMap<string, Because> = new Map()): {
    whole: PortResult[];
    dropped: { port: string; because: Because }[];
  } {
    const byId = new Map(this.#ports.map((port) => [port.id, port]));
    const graph = buildGraph(this.#run.plan.ports);
    const isWhole = new Map<string, boolean>();
    const whole: PortResult[] = [];
    const dropped: { port: string; because: Because }[] = [];
    for (const index of graph.order) {
      const id = graph.ids[index]!;
      const port = byId.get(id)!;
      const lacking = graph.dependencies[index]!.map((other) => graph.ids[other]!).filter(
        (other) => !isWhole.get(other),
      );
      const because = left.get(id);
      isWhole.set(id, port.status === "succeeded" && lacking.length === 0 && !because);
      if (port.status !== "succeeded") continue;
      if (because) dropped.push({ port: id, because });
      else if (lacking.length > 0) {
        dropped.push({
          port: id,
          because: {
            code: "DEPENDENCY_FAILED",
            message: `It succeeded, but needs ${lacking.join(", ")}, which did not.`,
            hint: "Retry what failed; its own work is kept.",
          },
        });
      } else if (port.resultCommit !== null && port.startCommit !== null) {
        whole.push({ port: id, commit: port.resultCommit, base: port.startCommit });
      }
    }
    return { whole, dropped };
  }

  /** The merged tree; files that two ports left differently go to the orchestrator. */
  async #compose(results: readonly PortResult[]): Promise<Merged> {
    const composed = await this.#parts.store.compose(this.#base, results);
    if (composed.conflicts.length === 0) return composed;
    await this.stepLog.tell([
      {
        type: "merge.conflict",
        data: { paths: composed.conflicts.slice(0, 50).map(({ path }) => path) },
      },
    ]);
    const spec = workerOf(this.#run.plan.workers, ORCHESTRATOR);
    const paths = composed.conflicts.map(({ path }) => path);
    if (!this.#run.plan.workers.orchestrator || !spec) return composed;
    const number = hashNumber(composed.commit);
    const step = { try: number, kind: "merge", member: "orchestrator", worker: spec.kind } as const;
    const solved = await this.stepLog.step<Solved>(
      step,
      async (step) => {
        const files = await this.#tree();
        await files.checkout(composed.commit);
        const scope = { writes: paths.map(escaped), reads: ["**"], contracts: [] };
        const versions = await Promise.all(
          composed.conflicts.map(
            async ({ path, ports }) =>
              `## ${path}\n${(await Promise.all(ports.map(async (port) => `### as ${port} left it\n${(await this.#parts.store.read(results.find((result) => result.port === port)!.commit, path)) ?? "(deleted)"}`))).join("\n")}`,
          ),
        );
        const briefing = await this.#parts.brief(
          {
            run: this.#run,
            port: {
              ...MERGE_PORT,
              goal: `Several ports changed the same files. Write each of them once, so that what all of them wanted holds.\n\n${versions.join("\n\n")}`,
              owns: scope.writes,
              acceptance: this.#run.plan.integration ?? "true",
            },
            member: "orchestrator",
            scope,
            try: 1,
            triesMost: 1,
          },
          composed.commit,
        );
        const worked = await letWork({
          run: this.#run,
          port: ORCHESTRATOR,
          spec,
          step,
          prompt: briefing.prompt,
          scope: makeScope(scope),
          files,
          commit: composed.commit,
          stepLog: this.stepLog,
          parts: this.#parts,
          env: this.#parts.environment(MERGE_PORT, spec, files, step),
          timeMs: INTEGRATION_MS,
          signal: this.#signal,
        });
        const taken = await files.take({
          parent: composed.commit,
          scope: makeScope(scope),
          message: `Merge what several ports changed\n\n${worked.result.summary}`,
          name: `${ORCHESTRATOR}/merge-${composed.commit.slice(0, 12)}`,
          at: step.startedAt,
        });
        const written = new Set(
          worked.result.status === "ready" ? taken.changes.map(({ path }) => path) : [],
        );
        return {
          output: {
            commit: taken.commit ?? composed.commit,
            summary: worked.result.summary,
            violations: taken.violations,
            left: paths.filter((path) => !written.has(path)),
          },
          tokens: worked.result.tokens,
          counted: worked.counted,
          log: worked.log,
        };
      },
      workEnd({ run: this.#run, port: ORCHESTRATOR, try: number, parts: this.#parts }),
    );
    const left = new Set(solved.left);
    return {
      commit: solved.commit,
      conflicts: composed.conflicts.map((conflict) =>
        left.has(conflict.path) ? conflict : { ...conflict, solvedBy: ORCHESTRATOR },
      ),
      words: `the orchestrator did not write it once. It said: ${solved.summary.slice(0, 300)}`,
    };
  }

  /**
   * The orchestrator changes the files that are its own, once for all ports that asked; undefined
   * when nobody did or it made nothing of it. The same merged tree and requests give the same
   * change.
   */
  async #changeShared(
    from: string,
    asked: readonly SharedRequest[],
  ): Promise<SharedChange | undefined> {
    const spec = workerOf(this.#run.plan.workers, ORCHESTRATOR);
    if (asked.length === 0 || !this.#run.plan.workers.orchestrator || !spec) return undefined;
    const { records, store } = this.#parts;
    const named = new Set(asked.map(({ path }) => path));
    // Who changes what is depended on changes the lock beside it.
    const isOrchestrators = orchestratorsFiles(this.#run.plan);
    const folders = new Set([...named].map(folderOf));
    const locks = (await store.list(from)).filter(
      (path) => isLockFile(path) && folders.has(folderOf(path)) && isOrchestrators(path),
    );
    const paths = [...new Set([...named, ...locks])].sort();
    const key = createHash("sha256")
      .update([from, ...asked.map(({ id }) => id)].join("\n"))
      .digest("hex");
    const number = hashNumber(key);
    const step = {
      try: number,
      kind: "shared",
      member: "orchestrator",
      worker: spec.kind,
    } as const;
    const made = await this.stepLog.step<Solved>(
      step,
      async (step) => {
        const files = await this.#tree();
        await files.checkout(from);
        const scope = { writes: paths.map(escaped), reads: ["**"], contracts: [] };
        const port = {
          ...MERGE_PORT,
          title: "Shared files",
          goal: `Ports asked for changes of files that all share. Make each change once, so that all get what they need, and change nothing else.\n\n${asked.map((request) => `- ${request.port}, ${request.path}: ${request.why}`).join("\n")}`,
          owns: scope.writes,
          acceptance: this.#run.plan.integration ?? "true",
        };
        const briefing = await this.#parts.brief(
          { run: this.#run, port, member: "orchestrator", scope, try: 1, triesMost: 1 },
          from,
        );
        const worked = await letWork({
          run: this.#run,
          port: ORCHESTRATOR,
          spec,
          step,
          prompt: briefing.prompt,
          scope: makeScope(scope),
          files,
          commit: from,
          stepLog: this.stepLog,
          parts: this.#parts,
          env: this.#parts.environment(MERGE_PORT, spec, files, step),
          timeMs: INTEGRATION_MS,
          signal: this.#signal,
        });
        const taken = await files.take({
          parent: from,
          scope: makeScope(scope),
          message: `Change what ports share\n\n${worked.result.summary}`,
          name: `${ORCHESTRATOR}/shared-${key.slice(0, 12)}`,
          at: step.startedAt,
        });
        const isMade = worked.result.status === "ready" && taken.commit !== undefined;
        const written = new Set(isMade ? taken.changes.map(({ path }) => path) : []);
        return {
          output: {
            commit: isMade ? taken.commit : from,
            summary: worked.result.summary,
            violations: taken.violations,
            left: paths.filter((path) => !written.has(path)),
          },
          tokens: worked.result.tokens,
          counted: worked.counted,
          log: worked.log,
        };
      },
      workEnd({ run: this.#run, port: ORCHESTRATOR, try: number, parts: this.#parts }),
    );
    await records.write(this.#parts.lease, (tx) => sharedRequestsRead(tx, asked));
    if (made.commit === from) return undefined;
    const left = new Set(made.left);
    await this.#setUpAgain(made.commit, number);
    return {
      port: ORCHESTRATOR,
      commit: made.commit,
      base: from,
      paths: paths.filter((path) => !left.has(path)),
    };
  }

  /** What everything is built with has changed: the tree is set up for it. */
  async #setUpAgain(commit: string, number: number): Promise<void> {
    const { setup } = this.#run.plan;
    if (setup === undefined) return;
    const files = await this.#tree();
    await this.stepLog.step({ try: number, kind: "setup", again: true }, async (step) =>
      this.#setUp(files, setup, commit, step),
    );
  }

  async #setUp(
    files: PortFiles,
    setup: string,
    commit: string,
    step: PlanStep,
  ): Promise<StepEnd<{ exitCode: number | null }>> {
    await files.checkout(commit);
    const ran = await this.stepLog.command(step, setup, await files.open(commit), {
      env: this.#parts.environment(MERGE_PORT, undefined, files, step),
      timeMs: INTEGRATION_MS,
    });
    if (ran.exitCode !== 0) {
      throw new DureError(
        SETUP_FAILED,
        `The set-up of the merged tree ended with ${exitWords(ran)}: ${ran.output.slice(-500)}`,
        { hint: SETUP_HINT },
      );
    }
    await files.markSetUp(commit);
    return { output: { exitCode: ran.exitCode }, log: ran.output };
  }

  async #integrate(command: string, commit: string): Promise<Integrated> {
    const known = this.#tried.get(commit);
    if (known) return known;
    const integrated = await this.stepLog.step<Integrated>(
      { try: hashNumber(commit), kind: "integrate" },
      async (step) => {
        const files = await this.#tree();
        await files.checkout(commit);
        const began = this.#parts.clock.monotonic();
        const ran = await this.stepLog.command(step, command, await files.disposable(commit), {
          env: this.#parts.environment(MERGE_PORT, undefined, files, step),
          timeMs: INTEGRATION_MS,
        });
        const report = readTestOutput(ran.output);
        const feedback = feedbackOf({
          report,
          exitCode: ran.exitCode,
          output: ran.output,
          durationMs: this.#parts.clock.monotonic() - began,
          isComplete: !ran.outputTruncated,
        });
        return {
          output: { commit, feedback, exitCode: ran.exitCode, output: ran.output.slice(-8_000) },
          log: ran.output,
        };
      },
    );
    this.#tried.set(commit, integrated);
    return integrated;
  }

  /**
   * The first result, in their order, that brings a failure which the base does not have: tests
   * that fail there already, such as those that a port is to mend, are held against nobody.
   * Undefined when nothing new fails. `feedback`: of the whole, without what fails at the base.
   */
  async #bisect<Result extends PortResult>(
    command: string,
    results: readonly Result[],
    whole: Integrated,
  ): Promise<{ readonly blamed: Result | undefined; readonly feedback: TestFeedback }> {
    const upTo = async (many: number): Promise<Integrated> => {
      const { commit } = await this.#parts.store.compose(this.#base, results.slice(0, many));
      return this.#integrate(command, commit);
    };
    const fresh = newFailures(whole, await upTo(0));
    const feedback = {
      ...whole.feedback,
      failedTests: whole.feedback.failedTests.filter(({ name }) => fresh.has(name)),
    };
    if (fresh.size === 0) return { blamed: undefined, feedback };
    let [good, bad] = [0, results.length];
    while (bad - good > 1) {
      const middle = (good + bad) >> 1;
      if (failuresOf((await upTo(middle)).feedback).some((name) => fresh.has(name))) bad = middle;
      else good = middle;
    }
    return { blamed: results[bad - 1], feedback };
  }

  async #wasRecalled({ port }: PortResult): Promise<boolean> {
    return (await this.#parts.records.steps(this.#run.id, port)).some(
      ({ kind }) => kind === "integrate",
    );
  }

  async #keep(
    results: readonly PortResult[],
    merged: Pick<Merged, "commit" | "conflicts">,
    integrated: Integrated | undefined,
    asked: readonly SharedRequest[] = [],
    shared?: SharedChange,
  ): Promise<RunReport> {
    const { store } = this.#parts;
    const commit = shared?.commit ?? merged.commit;
    await store.publish();
    const branch = await store.branch(commit);
    const applied = new Set(shared?.paths);
    const wishes = [...Map.groupBy(asked, ({ path }) => path)].map(([path, requests]) => ({
      path,
      ports: [...new Set(requests.map(({ port }) => port))],
      applied: applied.has(path),
    }));
    return {
      commit,
      branch,
      kept: results.map(({ port }) => port),
      missing: [],
      conflicts: merged.conflicts,
      ...(wishes.length > 0 && { shared: wishes }),
      ...(integrated && { integration: told(integrated, []) }),
    };
  }

  /** The tree of the merge, set up once. */
  async #tree(): Promise<PortFiles> {
    if (this.#files) return this.#files;
    const files = await this.#parts.tree();
    const { setup } = this.#run.plan;
    if (setup !== undefined && !(await files.isSetUp())) {
      await this.stepLog.step({ try: 0, kind: "setup", again: true }, async (step) =>
        this.#setUp(files, setup, this.#base, step),
      );
    }
    this.#files = files;
    return files;
  }
}

const MERGE_PORT: Port = {
  id: ORCHESTRATOR,
  title: ORCHESTRATOR,
  goal: "",
  role: ORCHESTRATOR,
  owns: [],
  tests: [],
  dependsOn: [],
  acceptance: "true",
  timeoutMs: INTEGRATION_MS,
};

/** The failure of a command that names no test. */
const NO_TEST = "";

/** What a run of tests failed with, by name. Pure. */
function failuresOf({
  success,
  failedTests,
}: Pick<TestFeedback, "success" | "failedTests">): readonly string[] {
  if (success) return [];
  return failedTests.length === 0 ? [NO_TEST] : failedTests.map(({ name }) => name);
}

/**
 * What fails in a tree and not at the base. Pure. There may be no test yet at the base: a command
 * that names none there has failed alike only if it ends with the same words.
 */
function newFailures(whole: Integrated, base: Integrated): ReadonlySet<string> {
  const namesNone = base.feedback.metrics.total === 0 && base.feedback.failedTests.length === 0;
  const known = new Set(namesNone && !endsAlike(whole, base) ? [] : failuresOf(base.feedback));
  return new Set(failuresOf(whole.feedback).filter((name) => !known.has(name)));
}

/** Last lines of an output by which two failures are told apart. Source: our choice. */
const LAST_LINES = 5;

/** The same exit code, and the same last words but for numbers: times and counts. Pure. */
function endsAlike(one: Integrated, other: Integrated): boolean {
  const wordsOf = ({ output }: Integrated): string =>
    output.replaceAll(/\d+/g, "0").trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  return one.exitCode === other.exitCode && wordsOf(one) === wordsOf(other);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function told(
  { feedback, exitCode, output }: Integrated,
  blamed: readonly string[],
): NonNullable<RunReport["integration"]> {
  return { passed: feedback.success, exitCode, output, ...(blamed.length > 0 && { blamed }) };
}

function exitWordsOf({ exitCode, feedback }: Integrated): string {
  const failing = feedback.failedTests.slice(0, 3).map(({ name }) => name);
  return failing.length > 0 ? failing.join("; ") : `exit code ${exitCode ?? "none"}`;
}

/** Steps are told apart by a number; a commit gives the same one for ever. */
function hashNumber(commit: string): number {
  return Number.parseInt(commit.slice(0, 7), 16) + 1;
}
